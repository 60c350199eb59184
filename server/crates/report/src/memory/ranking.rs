//! The order of lines.

use ledger::{DeviceMemory, LineKey, LineMemory};

/// The lines of a device, most bytes at the peak first, then most allocated.
pub(super) fn ranked(memory: &DeviceMemory) -> Vec<(&LineKey, &LineMemory)> {
    let mut lines: Vec<_> = memory.lines.iter().collect();
    lines.sort_by_key(|(_, it)| std::cmp::Reverse((it.peak, it.alloc)));
    lines
}
