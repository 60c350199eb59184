//! Rule `checkpoint-candidate`: activations that wait for the backward pass while memory is at its peak.

use super::{Device, MemoryKind, Told};
use crate::Finding;

/// Id of the rule.
pub(super) const ID: &str = "checkpoint-candidate";

/// Share of the peak from which it is told.
const LEAST: f64 = 0.1;

pub(super) fn find(device: &Device<'_>) -> Vec<Finding> {
    let peak = device.memory.peak;
    // One allocation at a time is still needed while it is computed again.
    let frees = |it: &ledger::LineMemory| (it.saved_at_peak - it.largest).max(0);
    let lines = device.memory.lines.iter();
    lines
        .filter(|(_, it)| 1 < it.peak_allocs && LEAST <= device.of_peak(frees(it)))
        .map(|(place, books)| {
            let frees = frees(books);
            let told = Told {
                kind: MemoryKind::Checkpoint { frees, peak },
                share: device.of_peak(frees),
                is_warning: false,
                remedy: "torch.utils.checkpoint.checkpoint around the module computes them again in the backward pass \
                         instead of keeping them: memory for time.",
            };
            device.finding(ID, place, told)
        })
        .collect()
}
