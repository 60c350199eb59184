//! Rule `memory-peak-line`: a single line that holds much of the peak.

use super::{Device, MemoryKind, Told};
use crate::Finding;

/// Id of the rule.
pub(super) const ID: &str = "memory-peak-line";

/// Share of the peak from which a line is told.
const LEAST: f64 = 0.25;

/// Share from which it is a warning.
const WARNING: f64 = 0.5;

pub(super) fn find(device: &Device<'_>) -> Vec<Finding> {
    let peak = device.memory.peak;
    let lines = device.memory.lines.iter().filter(|(_, it)| LEAST <= device.of_peak(it.peak));
    lines
        .map(|(place, books)| {
            let share = device.of_peak(books.peak);
            let told = Told {
                kind: MemoryKind::PeakLine { bytes: books.peak, allocs: books.peak_allocs, peak },
                share,
                is_warning: WARNING <= share,
                remedy: "A smaller peak begins here: smaller batches, a narrower dtype, in-place or fused operators, \
                         freeing what is no longer needed before this point.",
            };
            device.finding(ID, place, told)
        })
        .collect()
}
