//! What the allocator of one device did, by line: the books that a memory snapshot fills.

use std::collections::BTreeMap;

use crate::amount::Amount;
use crate::{Bytes, LineKey, Ns};

/// The memory of one device over a recording.
///
/// Σ [`LineMemory::peak`] over `lines` + `unattributed_peak` = `peak`, and Σ [`LineMemory::live`] + `unattributed_end` =
/// `end`. Bytes are those of blocks, as the allocator counts them; of a block that is gone, a snapshot says only what
/// was asked for.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct DeviceMemory {
    /// Most bytes in use at once.
    pub peak: Bytes,
    /// When that was: after which event, and in what.
    pub peak_moment: Moment,
    /// The peak in bytes asked for, which is how PyTorch's memory_viz counts.
    pub requested_peak: Bytes,
    /// Bytes in use before recording began, of which no line is known.
    pub before: Bytes,
    /// Of these, bytes still in use at the peak.
    pub before_at_peak: Bytes,
    /// Bytes in use at the peak that have no line, `before_at_peak` included.
    pub unattributed_peak: Bytes,
    /// Bytes in use at the end that have no line.
    pub unattributed_end: Bytes,
    /// Bytes in use at the end.
    pub end: Bytes,
    /// Bytes reserved from the device at the end.
    pub reserved: Bytes,
    /// Most bytes reserved at once.
    pub reserved_peak: Bytes,
    /// Bytes that the device has, where something says.
    pub capacity: Option<Bytes>,
    /// Allocator events in the recording; 0 where it holds nothing but the state at its end.
    pub events: u64,
    /// Whether the recording lost its oldest events (`max_entries`): something in use was allocated while recording, and
    /// its event is gone.
    pub is_history_cut: bool,
    /// Whether releases cannot be matched to allocations (traces of torch 1.9), so that no line is known of what is in use.
    pub has_no_addresses: bool,
    /// What the reserved memory looks like at the end.
    pub fragmentation: Fragmentation,
    /// `cudaMalloc`, `cudaFree` and their like.
    pub segments: SegmentCalls,
    /// Requests that failed, in order.
    pub out_of_memory: Vec<OutOfMemory>,
    /// Bytes at the peak by part of the step, those without a line included; `before` is in none.
    pub peak_by_phase: BTreeMap<Phase, Bytes>,
    /// What the bytes in use are for, where the recording says so.
    pub purposes: Option<MemoryPurposes>,
    /// Whether all events have times: samples are then by time, else by event.
    pub has_times: bool,
    /// In use and reserved over time, in order; at most [`DeviceMemory::MAX_SAMPLES`].
    pub timeline: Vec<Sample>,
    /// The steps that could be reported, in order.
    pub steps: Vec<StepMemory>,
    /// What each line allocated.
    pub lines: BTreeMap<LineKey, LineMemory>,
}

impl DeviceMemory {
    /// Two reports of one device are of different moments, so they are not added: the one with the higher peak is kept.
    /// Of equal peaks, the one with more events, then with more bytes in use at the end, then with more reserved.
    /// Reports that agree in all of these are distinguished by the rest of them, in any fixed order, so that the order of
    /// merging does not matter.
    pub(crate) fn merge(&mut self, other: &Self) {
        let key = |it: &Self| (it.peak, it.events, it.end, it.reserved_peak);
        if key(self).cmp(&key(other)).then_with(|| (*self).cmp(other)).is_lt() {
            self.clone_from(other);
        }
    }

    /// Samples of a timeline at most: as many columns as a wide screen has.
    pub const MAX_SAMPLES: usize = 512;
}

/// A point in a recording.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct Moment {
    /// Events of the device that came before, or up to it.
    pub event: u64,
    /// Nanoseconds since the first event; `None` where the recording has no times.
    pub at: Option<Ns>,
    /// Place in [`DeviceMemory::steps`]; `None` where no steps could be reported.
    pub step: Option<u32>,
    /// Names of the annotated ranges that were open, outermost first.
    pub annotations: Vec<String>,
}

/// What a line allocated on one device.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct LineMemory {
    /// The function that the line is in.
    pub function: String,
    /// Bytes allocated.
    pub alloc: Bytes,
    /// How many allocations.
    pub allocs: u64,
    /// Of these, bytes released before the end.
    pub freed: Bytes,
    /// How many were.
    pub frees: u64,
    /// Bytes in use at the peak.
    pub peak: Bytes,
    /// In how many allocations.
    pub peak_allocs: u64,
    /// Bytes in use at the end.
    pub live: Bytes,
    /// In how many allocations.
    pub live_allocs: u64,
    /// The largest single allocation.
    pub largest: Bytes,
    /// Σ of the time between allocation and release, over `timed_frees`.
    pub lifetime: Ns,
    /// Released allocations of which both times are known.
    pub timed_frees: u64,
    /// Bytes of blocks in use at the end that were not requested: block size − requested size.
    pub rounding: Bytes,
    /// Bytes allocated and released within one step (anywhere, where no steps could be reported).
    pub churn: Bytes,
    /// How many allocations.
    pub churns: u64,
    /// Bytes allocated by part of the step.
    pub alloc_by_phase: BTreeMap<Phase, Bytes>,
    /// Bytes at the peak by part of the step.
    pub peak_by_phase: BTreeMap<Phase, Bytes>,
    /// Bytes allocated in the forward pass and given back by the backward pass: activations that were saved for it.
    pub saved: Bytes,
    /// Of these, bytes in use at the peak.
    pub saved_at_peak: Bytes,
    /// Of these, bytes that were allocated below `torch.utils.checkpoint`: what is within is computed again already.
    pub checkpointed_at_peak: Bytes,
    /// Memory that had to be reserved from the device for the line, and given back.
    pub segments: SegmentCalls,
    /// What was in use at the end of each step, of the line's allocations; empty for lines with nothing in use at the end.
    pub live_by_step: Vec<Held>,
    /// The line stack with the most bytes at the peak (else allocated), outermost first.
    pub stack: Vec<StackLine>,
}

/// A line of a stack.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct StackLine {
    /// Which line.
    pub line: LineKey,
    /// The function that it is in, as recorded.
    pub function: String,
}

/// Bytes in use, in how many allocations.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct Held {
    /// Bytes.
    pub bytes: Bytes,
    /// Allocations.
    pub allocs: u64,
}

/// A part of a training step, as far as the frames of an allocation show.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum Phase {
    /// Anything that is neither of the others; in a training step that is the forward pass.
    Forward,
    /// Below autograd's engine.
    Backward,
    /// Below an optimizer's `step`.
    Optimizer,
}

impl Phase {
    /// All of them, in the order of a step.
    pub const ALL: [Self; 3] = [Self::Forward, Self::Backward, Self::Optimizer];

    /// Stable name in machine-readable output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Optimizer => "optimizer",
        }
    }
}

/// What the bytes in use at one moment are for. Tensors are known by object; the rest by what happens to it.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct MemoryPurposes {
    /// The moment with the most bytes in use since the last recorded step began.
    pub moment: Moment,
    /// By purpose; adds up to what was in use then.
    pub bytes: BTreeMap<MemoryPurpose, Bytes>,
}

/// What device memory is for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum MemoryPurpose {
    /// Parameters of modules and optimizers.
    Parameter,
    /// Gradients of parameters.
    Gradient,
    /// What optimizers keep for their parameters.
    OptimizerState,
    /// Buffers of modules.
    Buffer,
    /// Made in the forward pass and given back in the backward pass.
    Activation,
    /// All else: batches, what is at work, the profiler's own, and what nothing is known of.
    Other,
}

impl MemoryPurpose {
    /// Stable name in machine-readable output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Parameter => "parameter",
            Self::Gradient => "gradient",
            Self::OptimizerState => "optimizer_state",
            Self::Buffer => "buffer",
            Self::Activation => "activation",
            Self::Other => "other",
        }
    }
}

/// Calls that reserve memory from the device and give it back.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct SegmentCalls {
    /// How often memory was reserved or mapped.
    pub allocs: u64,
    /// Bytes reserved or mapped.
    pub alloc: Bytes,
    /// How often it was given back or unmapped.
    pub frees: u64,
    /// Bytes given back or unmapped.
    pub freed: Bytes,
}

/// Host time of the calls behind [`SegmentCalls`], as a trace has them: `cudaMalloc`, `cudaFree`, `cuMemMap`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SegmentTime {
    /// How many.
    pub calls: u64,
    /// Time from their starts to their ends.
    pub time: Ns,
}

impl SegmentTime {
    pub(crate) fn merge(&mut self, other: &Self) {
        let Self { calls, time } = other;
        self.calls.gain(*calls);
        self.time.gain(*time);
    }
}

/// How the reserved memory is cut up.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct Fragmentation {
    /// Segments.
    pub segments: u64,
    /// Reserved bytes that are not in use.
    pub free: Bytes,
    /// The largest range of them without a gap.
    pub largest_free: Bytes,
    /// Of `free`, bytes in segments that are in use elsewhere, so that they cannot be given back to the device.
    pub held: Bytes,
}

/// In use and reserved during a part of a recording.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct Sample {
    /// Where the part begins: nanoseconds since the first event, or events where the recording has no times.
    pub at: i64,
    /// Most bytes in use.
    pub active: Bytes,
    /// Most bytes reserved.
    pub reserved: Bytes,
}

/// One step of a recording.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct StepMemory {
    /// As the recording calls it, or `step N`.
    pub name: String,
    /// Number of its first event.
    pub first_event: u64,
    /// Where it begins, as in [`Sample::at`].
    pub at: i64,
    /// Most bytes in use during it.
    pub peak: Bytes,
    /// Bytes in use at its end.
    pub end: Bytes,
}

/// A request that failed.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct OutOfMemory {
    /// When.
    pub moment: Moment,
    /// The line that asked, if known.
    pub line: Option<LineKey>,
    /// Bytes asked for.
    pub requested: Bytes,
    /// Bytes that the device had left, outside of what was reserved.
    pub device_free: Bytes,
    /// Bytes in use.
    pub active: Bytes,
    /// Bytes reserved.
    pub reserved: Bytes,
    /// The largest range of reserved bytes that was not in use and could have served the request: of its stream, and of no
    /// private pool.
    pub largest_free: Bytes,
    /// Reserved bytes that were not in use, but serve other streams or private pools (CUDA graphs, `MemPool`s) alone.
    pub free_elsewhere: Bytes,
    /// What was in use, by line; those with the most bytes, largest first.
    pub holders: Vec<(LineKey, Held)>,
    /// Bytes in use without a line.
    pub unattributed: Bytes,
}

/// Memory of a rank by category, from a timeline that PyTorch exported. It names neither lines nor the device.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct CategoryMemory {
    /// Most bytes in use at once.
    pub peak: Bytes,
    /// When: nanoseconds since the first change.
    pub peak_at: Ns,
    /// Bytes in use then, by place in [`CategoryMemory::NAMES`].
    pub at_peak: [Bytes; 8],
    /// Bytes in use at the end.
    pub at_end: [Bytes; 8],
    /// Most bytes of each category at once.
    pub most: [Bytes; 8],
    /// In use over time, in parts of equal length; at most [`DeviceMemory::MAX_SAMPLES`]. Of each part, the moment with
    /// the most bytes in use.
    pub timeline: Vec<(Ns, [Bytes; 8])>,
}

impl CategoryMemory {
    /// Two timelines of one rank are of different moments: the one with the higher peak is kept, of equal peaks the
    /// later one. Timelines that agree in both are distinguished by the rest, so that the order of merging does not matter.
    pub(crate) fn merge(&mut self, other: &Self) {
        let key = |it: &Self| (it.peak, it.peak_at);
        if key(self).cmp(&key(other)).then_with(|| (*self).cmp(other)).is_lt() {
            self.clone_from(other);
        }
    }

    /// PyTorch's categories in its order, and the rest; stable names in machine-readable output.
    pub const NAMES: [&str; 8] = [
        "parameter",
        "optimizer_state",
        "input",
        "temporary",
        "activation",
        "gradient",
        "autograd_detail",
        "unknown",
    ];
}
