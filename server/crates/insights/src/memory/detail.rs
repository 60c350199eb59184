//! What the rules over memory find.

use ledger::{Bytes, DeviceKey, Ns};

use crate::Severity;

/// What a memory rule found. Bytes are those of the device named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryDetail {
    /// The device.
    pub device: DeviceKey,
    /// What was found.
    pub kind: MemoryKind,
}

impl MemoryKind {
    /// Whether it is about less memory than is worth a warning. What grows is not judged by how much that is so far.
    pub(crate) fn is_small(&self) -> bool {
        let bytes = match *self {
            Self::PeakLine { bytes, .. } => bytes,
            Self::Fragmentation { failed: None, free, .. } => free,
            Self::Checkpoint { frees, .. } => frees,
            Self::Churn { reserved, .. } => reserved,
            Self::Leak { .. }
            | Self::Retained { .. }
            | Self::Fragmentation { .. }
            | Self::NearLimit { .. } => return false,
        };
        bytes < Severity::MIN_WARNING_BYTES
    }
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
        /// What the line takes in the forward pass of a step, and would take again; zero without a trace of the same run.
        forward: Ns,
        /// What it takes again already, where a part of what it runs is checkpointed.
        recompute: Ns,
    },
}
