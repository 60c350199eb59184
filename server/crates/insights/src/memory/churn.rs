//! Rule `memory-churn`: a line for which the allocator reserves memory from the device again and again.

use ledger::{LineKey, Ns};
use metrics::{Period, Scale};

use super::detail::MemoryKind;
use super::device::{MemoryDraft, MemoryOfDevice, each};
use crate::rule::{Area, Rule, RuleLimits, Threshold, ThresholdUnit};
use crate::{Finding, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "memory-churn",
    area: Area::Memory,
    title: "Memory is reserved and given back over and over",
    summary: "For this line the allocator asks the device for memory again and again instead of using what it has.",
    severity: Severity::Warning,
    trigger: "Memory is reserved from the device for the line at least as often as the threshold says, on a device that gave memory \
              back as often.",
    measure: "From a memory snapshot: `segment_alloc` events on the line, `segment_free` events of the device. From a trace of the \
              same run, where one is loaded: the host time of `cudaMalloc`, `cudaFree` and their like on the line.",
    thresholds: &[MINIMUM],
    remedy: "Keep sizes fixed from step to step (pad to a few lengths), take `torch.cuda.empty_cache()` out of the loop, or set \
             `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`.",
    before: "for batch in loader:\n    train(batch)\n    torch.cuda.empty_cache()",
    after: "for batch in loader:\n    train(batch)",
    sources: &[
        "[PyTorch: CUDA memory management](https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management)",
    ],
    limits: "Without a trace it says how often, not how long: each time is a `cudaMalloc`, and a `cudaFree` that waits for the device.",
    find: |ledger, _, limits| each(ledger, limits, find),
};

/// A first step reserves what it needs.
const MINIMUM: Threshold = Threshold {
    name: "times",
    unit: ThresholdUnit::Count,
    default: 4.0,
    meaning: "times that memory has to be reserved for the line, and given back by the device",
};

fn find(device: &MemoryOfDevice<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let least = limits.get(&MINIMUM) as u64;
    let returned = device.memory.segments.frees;
    // Without memory given back, reserving is growth and not churn.
    if returned < least {
        return Vec::new();
    }
    let scale = Scale::new(device.ledger, Period::Mean);
    let lines = device.memory.lines.iter().filter(|(_, it)| least <= it.segments.allocs);
    lines
        .map(|(place, books)| {
            let draft = MemoryDraft {
                kind: MemoryKind::Churn {
                    reserved_times: books.segments.allocs,
                    reserved: books.segments.alloc,
                    returned_times: returned,
                    time: time(device, place, &scale),
                    is_per_step: 0 < scale.n_steps(),
                },
                share: device.of_peak(books.segments.alloc).min(1.0),
                severity: None,
                remedy: "Each time is a cudaMalloc, and a cudaFree that waits for the device. Sizes that change from \
                         step to step, torch.cuda.empty_cache() in the loop, and memory close to its limit cause it; \
                         fixed sizes, or PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, avoid it.",
            };
            device.finding(&RULE, place, draft)
        })
        .collect()
}

/// Host time of what the line reserves and gives back; `None` where no trace has it.
fn time(device: &MemoryOfDevice<'_>, place: &LineKey, scale: &Scale<'_>) -> Option<Ns> {
    let segments = device.ledger.lines.get(place)?.segments;
    let time = Ns(scale.mean(segments.time.as_f64()).round() as i64);
    (0 < segments.calls).then_some(time)
}
