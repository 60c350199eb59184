//! Rule `checkpoint-candidate`: activations that wait for the backward pass while memory is at its peak.

use ledger::{Bytes, LineKey, Ns};
use metrics::Scale;

use super::detail::MemoryKind;
use super::device::{MemoryDraft, MemoryOfDevice, each};
use crate::rule::{Area, Rule, RuleLimits, Threshold, ThresholdUnit};
use crate::{Finding, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "checkpoint-candidate",
    area: Area::Memory,
    title: "Activations wait for the backward pass",
    summary: "Activations of this line are kept until the backward pass while memory is at its peak.",
    severity: Severity::Information,
    trigger: "Of what the line allocated in the forward pass, several allocations are alive at the peak and are released by the \
              backward pass; without the largest of them they are at least the threshold. What was allocated below \
              `torch.utils.checkpoint` does not count: it is computed again already.",
    measure: "From a memory snapshot: bytes of blocks alive at the peak whose release came from a backward stack. The largest one is \
              taken off, because one at a time is needed again while it is computed anew. From a trace of the same run: what \
              the line takes in the forward pass, which is what computing it again takes, and what it \
              [takes again](../accounting.md#recomputation) already.",
    thresholds: &[MINIMUM],
    remedy: "`torch.utils.checkpoint.checkpoint` around the module computes them again in the backward pass: memory for time.",
    before: "for block in self.blocks:\n    x = block(x)",
    after: "for block in self.blocks:\n    x = checkpoint(block, x, use_reentrant=False)",
    sources: &["[torch.utils.checkpoint](https://docs.pytorch.org/docs/stable/checkpoint.html)"],
    limits: "What is freed is an upper bound: other tensors may become the peak then. The stacks of releases are needed.",
    find: |ledger, scale, limits| each(ledger, limits, |it, limits| find(it, scale, limits)),
};

const MINIMUM: Threshold = Threshold {
    name: "share",
    unit: ThresholdUnit::Percent,
    default: 10.0,
    meaning: "share of the peak that recomputing has to free",
};

fn find(device: &MemoryOfDevice<'_>, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let least = limits.get(&MINIMUM);
    let peak = device.memory.peak;
    // One allocation at a time is still needed while it is computed again.
    let frees = |it: &ledger::LineMemory| {
        (it.saved_at_peak - it.checkpointed_at_peak - it.largest).max(Bytes::ZERO)
    };
    let lines = device.memory.lines.iter();
    lines
        .filter(|(_, it)| 1 < it.peak_allocs && least <= device.of_peak(frees(it)))
        .map(|(place, books)| {
            let frees = frees(books);
            let [forward, recompute] = times(device, scale, place);
            let draft = MemoryDraft {
                kind: MemoryKind::Checkpoint { frees, peak, forward, recompute },
                share: device.of_peak(frees),
                severity: None,
                remedy: "torch.utils.checkpoint.checkpoint around the module computes them again in the backward pass \
                         instead of keeping them: memory for time.",
            };
            device.finding(&RULE, place, draft)
        })
        .collect()
}

/// What a line takes in the forward pass of the mean step, and what it takes again: on the device where anything runs there.
fn times(device: &MemoryOfDevice<'_>, scale: &Scale<'_>, line: &LineKey) -> [Ns; 2] {
    let Some(books) = device.ledger.lines.get(line) else { return [Ns::ZERO; 2] };
    let (own, again, backward) = if device.ledger.totals.cuda == Ns::ZERO {
        (books.cpu_own, books.recompute.cpu, books.own_backward.cpu)
    } else {
        (books.cuda_own, books.recompute.cuda, books.own_backward.cuda)
    };
    [own - again - backward, again]
        .map(|it| Ns(scale.mean(it.max(Ns::ZERO).as_f64()).round() as i64))
}
