//! Rule `fragmentation`: reserved memory that is free, but in pieces too small to be used.

use ledger::{Bytes, OutOfMemory};

use super::detail::MemoryKind;
use super::device::{MemoryDraft, MemoryOfDevice, each};
use crate::rule::{Area, Rule, RuleLimits, Threshold, ThresholdUnit};
use crate::{Finding, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "fragmentation",
    area: Area::Memory,
    title: "Free memory is in pieces",
    summary: "Memory is reserved and free, but in pieces that are too small for what is asked for.",
    severity: Severity::Information,
    trigger: "A request failed that would have fitted into what was reserved and free, but into no piece of it (a warning); or much of \
              what is reserved is free in segments that are in use, and the largest piece is less than half of that.",
    measure: "From a memory snapshot: the failed request (`oom` event) and the free blocks at that moment, else those at the end.",
    thresholds: &[MINIMUM, MIN_BYTES],
    remedy: "`PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` lets segments grow instead of leaving gaps. Allocate what lives long \
             before what lives short.",
    before: "import torch",
    after: "import os\nos.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = \"expandable_segments:True\"\nimport torch",
    sources: &[
        "[PyTorch: CUDA memory management](https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management)",
    ],
    limits: "Without a failed request it stands on the line that holds the most at the peak, which need not be the cause.",
    find: |ledger, _, limits| each(ledger, limits, find),
};

const REMEDY: &str = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lets segments grow instead of leaving gaps; so does \
                      allocating what lives long before what lives short.";

const MINIMUM: Threshold = Threshold {
    name: "share",
    unit: ThresholdUnit::Percent,
    default: 20.0,
    meaning: "share of the reserved memory that has to be free, where no request failed",
};

const MIN_BYTES: Threshold = Threshold {
    name: "bytes",
    unit: ThresholdUnit::MiB,
    default: 256.0,
    meaning: "how much has to be free, where no request failed",
};

fn find(device: &MemoryOfDevice<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let failed = device.memory.out_of_memory.iter().rfind(|it| is_fragmented(it));
    if let Some(failed) = failed {
        let heaviest = failed.holders.first().map(|(line, _)| line);
        let Some(place) = failed.line.as_ref().or(heaviest) else { return Vec::new() };
        let free = failed.reserved - failed.active - failed.free_elsewhere;
        let draft = MemoryDraft {
            kind: MemoryKind::Fragmentation {
                failed: Some(failed.requested),
                free,
                largest: failed.largest_free,
                reserved: failed.reserved,
            },
            share: free.as_f64() / failed.reserved.max(Bytes(1)).as_f64(),
            severity: Some(Severity::Warning),
            remedy: REMEDY,
        };
        return vec![device.finding(&RULE, place, draft)];
    }
    let it = device.memory.fragmentation;
    let share = it.held.as_f64() / device.memory.reserved.max(Bytes(1)).as_f64();
    // One large piece is spare, not fragmented.
    let is_fragmented = limits.get(&MINIMUM) <= share
        && limits.get(&MIN_BYTES) <= it.held.as_f64()
        && it.largest_free < it.held / 2;
    let Some((place, _)) = device.heaviest().filter(|_| is_fragmented) else { return Vec::new() };
    let draft = MemoryDraft {
        kind: MemoryKind::Fragmentation {
            failed: None,
            free: it.held,
            largest: it.largest_free,
            reserved: device.memory.reserved,
        },
        share,
        severity: None,
        remedy: REMEDY,
    };
    vec![device.finding(&RULE, place, draft)]
}

/// Whether a request failed that the free memory would have held in one piece.
fn is_fragmented(it: &OutOfMemory) -> bool {
    it.largest_free < it.requested && it.requested <= it.reserved - it.active - it.free_elsewhere
}
