//! Rule `memory-peak-line`: a single line that holds much of the peak.

use super::detail::MemoryKind;
use super::device::{MemoryDraft, MemoryOfDevice, each};
use crate::rule::{Area, Rule, RuleLimits, Threshold, ThresholdUnit};
use crate::{Finding, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "memory-peak-line",
    area: Area::Memory,
    title: "One line holds much of the peak",
    summary: "A single line holds a large part of the memory in use at the peak.",
    severity: Severity::Information,
    trigger: "The blocks that the line allocated and that are alive at the peak reach the threshold.",
    measure: "From a memory snapshot: every allocation and release is replayed; the peak is the moment with most bytes in use.",
    thresholds: &[MINIMUM, WARNING],
    remedy: "A smaller peak begins here: smaller batches, a narrower dtype, in-place or fused operators, freeing what is no longer \
             needed before this point.",
    before: "scores = q @ k.transpose(-1, -2)\nout = scores.softmax(-1) @ v",
    after: "out = F.scaled_dot_product_attention(q, k, v)",
    sources: &[],
    limits: "A line that has to hold it (the weights of the model) is reported like any other.",
    find: |ledger, _, limits| each(ledger, limits, find),
};

const MINIMUM: Threshold = Threshold {
    name: "share",
    unit: ThresholdUnit::Percent,
    default: 25.0,
    meaning: "share of the peak from which a line is reported",
};

const WARNING: Threshold = Threshold {
    name: "warning",
    unit: ThresholdUnit::Percent,
    default: 50.0,
    meaning: "share of the peak from which it is a warning",
};

fn find(device: &MemoryOfDevice<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let (least, warning) = (limits.get(&MINIMUM), limits.get(&WARNING));
    let peak = device.memory.peak;
    let lines = device.memory.lines.iter().filter(|(_, it)| least <= device.of_peak(it.peak));
    lines
        .map(|(place, books)| {
            let share = device.of_peak(books.peak);
            let draft = MemoryDraft {
                kind: MemoryKind::PeakLine { bytes: books.peak, allocs: books.peak_allocs, peak },
                share,
                severity: (warning <= share).then_some(Severity::Warning),
                remedy: "A smaller peak begins here: smaller batches, a narrower dtype, in-place or fused operators, \
                         freeing what is no longer needed before this point.",
            };
            device.finding(&RULE, place, draft)
        })
        .collect()
}
