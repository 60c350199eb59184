//! The lines of a site in each version of Python.

/// The line of a site in Python up to 3.9, in 3.10, 3.11, 3.12, and from 3.13 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LinesByVersion([u32; 5]);

impl LinesByVersion {
    /// The same line in all versions.
    pub(super) fn same(line: u32) -> Self {
        Self([line; 5])
    }

    /// The line up to Python 3.`last`, and that of all later versions.
    pub(super) fn until(last: u8, line: u32, later: u32) -> Self {
        Self::same(later).with(0..=last, line)
    }

    /// These lines, but `line` in the versions named.
    pub(super) fn with(mut self, minors: std::ops::RangeInclusive<u8>, line: u32) -> Self {
        for (row, minor) in (9..=13).enumerate() {
            if minors.contains(&minor) {
                self.0[row] = line;
            }
        }
        self
    }

    pub(super) fn of(self, minor: u8) -> u32 {
        self.0[usize::from(minor.clamp(9, 13) - 9)]
    }
}
