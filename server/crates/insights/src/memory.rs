//! Rules over the memory of devices: what holds the peak, what grows, what is allocated over and over.
//!
//! They report only what a snapshot shows: growth needs steps, a failed request needs its event, saved activations need
//! the stacks of releases.

mod checkpoint;
mod churn;
mod fragmentation;
mod leak;
mod limit;
mod peak_line;

use ledger::{Bytes, DeviceKey, DeviceMemory, Evidence, Ledger, LineKey, LineMemory, Ns};

use crate::rule::{Limits, Rule};
use crate::{Detail, Finding, Severity};

/// What a memory rule found. Bytes are those of the device named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryDetail {
    /// The device.
    pub device: DeviceKey,
    /// What was found.
    pub kind: MemoryKind,
}

/// What a memory rule found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryKind {
    /// `memory-leak`: the line holds more after every step.
    Leak {
        /// Mean growth from step to step.
        per_step: Bytes,
        /// Steps over which it was seen to grow.
        steps: u64,
        /// What it holds at the end.
        held: Bytes,
    },
    /// `retained-across-steps`: a few small tensors of every step stay alive, as in a list of losses.
    Retained {
        /// Tensors that each step adds.
        tensors_per_step: u64,
        /// Steps over which it was seen to grow.
        steps: u64,
        /// What it holds at the end.
        held: Bytes,
    },
    /// `memory-peak-line`: much of the peak is this line's.
    PeakLine {
        /// Its bytes at the peak.
        bytes: Bytes,
        /// In how many allocations.
        allocs: u64,
        /// The peak.
        peak: Bytes,
    },
    /// `memory-churn`: the line makes the allocator reserve memory and give it back, over and over.
    Churn {
        /// How often memory had to be reserved from the device for the line.
        reserved_times: u64,
        /// Bytes in all.
        reserved: Bytes,
        /// How often the device's memory was given back.
        returned_times: u64,
        /// Host time of the line's `cudaMalloc`s and `cudaFree`s, where a trace has it.
        time: Option<Ns>,
        /// Whether that is the time in the mean step of a rank; else it is over the whole recording.
        is_per_step: bool,
    },
    /// `fragmentation`: reserved memory that is free, but in pieces.
    Fragmentation {
        /// The request that failed for it; `None` where none did.
        failed: Option<Bytes>,
        /// Reserved bytes that are free.
        free: Bytes,
        /// The largest piece.
        largest: Bytes,
        /// Reserved bytes.
        reserved: Bytes,
    },
    /// `near-limit`: the peak of the reserved memory is close to what the device has.
    NearLimit {
        /// Most bytes reserved.
        reserved: Bytes,
        /// Bytes of the device.
        capacity: Bytes,
    },
    /// `checkpoint-candidate`: activations of the line wait for the backward pass while memory is at its peak.
    Checkpoint {
        /// Bytes that recomputing them would free at the peak, at most.
        frees: Bytes,
        /// The peak.
        peak: Bytes,
    },
}

/// The rules.
pub(crate) static RULES: [&Rule; 7] = [
    &leak::LEAK,
    &leak::RETAINED,
    &peak_line::RULE,
    &churn::RULE,
    &fragmentation::RULE,
    &limit::RULE,
    &checkpoint::RULE,
];

/// What `rule` finds on each device.
fn each(
    ledger: &Ledger,
    limits: &Limits<'_>,
    rule: fn(&Device<'_>, &Limits<'_>) -> Vec<Finding>,
) -> Vec<Finding> {
    let devices = ledger.memory.iter().map(|(&key, memory)| Device { ledger, key, memory });
    devices.flat_map(|device| rule(&device, limits)).collect()
}

/// One device.
struct Device<'a> {
    ledger: &'a Ledger,
    key: DeviceKey,
    memory: &'a DeviceMemory,
}

impl Device<'_> {
    /// The line with the most bytes at the peak.
    fn heaviest(&self) -> Option<(&LineKey, &LineMemory)> {
        let lines = self.memory.lines.iter().filter(|(_, it)| it.peak > Bytes::ZERO);
        lines.max_by_key(|&(line, it)| (it.peak, std::cmp::Reverse(line)))
    }

    /// `bytes` as a share of the peak.
    fn of_peak(&self, bytes: Bytes) -> f64 {
        bytes.as_f64() / self.memory.peak.max(Bytes(1)).as_f64()
    }

    fn finding(&self, rule: &'static Rule, place: &LineKey, draft: MemoryDraft) -> Finding {
        let books = self.memory.lines.get(place);
        Finding {
            rule: rule.id,
            place: place.clone(),
            function: books.map(|it| it.function.clone()).unwrap_or_default(),
            evidence: Evidence::Exact,
            severity: draft.severity.unwrap_or(rule.severity),
            cost: Ns::ZERO,
            cost_per_step: None,
            count: books.map_or(0, |it| it.allocs),
            steps: self.memory.steps.len() as u64,
            share: draft.share,
            detail: Detail::Memory(MemoryDetail { device: self.key, kind: draft.kind }),
            related: Vec::new(),
            remedy: draft.remedy,
        }
    }
}

/// What differs from rule to rule.
struct MemoryDraft {
    kind: MemoryKind,
    /// Of 1, of the peak.
    share: f64,
    /// Where it is another than the rule's.
    severity: Option<Severity>,
    remedy: &'static str,
}

#[cfg(test)]
mod tests;
