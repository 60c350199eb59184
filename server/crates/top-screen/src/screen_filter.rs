//! Which part of a recording is shown.

use report::{CodeFilter, Recording, RecordingPart};

/// Which part of a recording is on the screen.
#[derive(Debug, Clone, Copy)]
pub struct ScreenFilter<'a> {
    /// Which lines are listed.
    pub code: &'a CodeFilter,
    /// The part whose amounts are in the place of the whole; `None` for all of the recording.
    pub part: Option<&'a RecordingPart>,
}

impl ScreenFilter<'_> {
    /// All of a recording.
    pub const ALL: Self = Self { code: CodeFilter::ALL, part: None };

    /// Whether nothing is left out.
    pub(crate) fn is_all(&self) -> bool {
        self.part.is_none() && self.code.is_empty()
    }

    /// What is shown, where that is not all.
    pub(crate) fn sentence(&self) -> Option<String> {
        let code = self.code.text();
        match self.part {
            Some(part) if code.is_empty() => Some(part.sentence()),
            Some(part) => {
                Some(format!("with {}, only lines with {code}: {}", part.text, part.extent))
            }
            None => (!code.is_empty()).then(|| format!("only lines with {code}")),
        }
    }

    /// Whether a line of the books is listed.
    pub(crate) fn passes(&self, recording: &Recording<'_>, file: &str, line: u32) -> bool {
        self.code.has_line(recording, file, line)
    }
}
