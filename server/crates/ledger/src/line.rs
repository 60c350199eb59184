//! What one line was charged with.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::amount::Amount;
use crate::{
    Arithmetic, Bytes, KernelClass, Launching, LineKey, Ns, Pattern, PatternBooks, Precision,
    RankShares, SegmentTime, TensorCores,
};

/// How a line is known, best first. Where several kinds meet on one line, the weakest is reported.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub enum Evidence {
    /// The recording names the line.
    #[default]
    Exact,
    /// Worked out from the source and the order of events.
    Inferred,
    /// Only the function is known; the line is the one where it is defined.
    Function,
}

impl Evidence {
    /// Stable name in machine-readable output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Inferred => "inferred",
            Self::Function => "function",
        }
    }
}

/// Whether the source on disk is the one that ran.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub enum SourceFit {
    /// It is, as far as is known: the same text, or one in which the functions that ran are defined on the lines that
    /// the recording names.
    #[default]
    Fits,
    /// A file was found, but it was changed since. The text that ran may be known nevertheless.
    Edited,
    /// No file was found.
    Missing,
}

/// A source file that the recording names.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SourceFile {
    /// The path as recorded.
    pub recorded: String,
    /// Where it is on this machine, if it was found.
    pub path: Option<PathBuf>,
    /// Whether it is your code (rather than a library's, the standard library's or generated).
    pub is_user_code: bool,
    /// Whether the text on disk is the one that ran.
    pub fit: SourceFit,
    /// Files of your code, relative to the root, that go with the recorded path and functions as well as that at `path` does. A ledger file has none: on
    /// another machine they say nothing.
    #[serde(skip)]
    pub others: Vec<PathBuf>,
}

/// Everything that one line was charged with, over the whole recording.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LineBooks {
    /// The function that the line is in, qualified where the source was found (`SlowModel.forward`).
    pub function: String,
    /// How the line is known.
    pub evidence: Evidence,
    /// Python and built-in calls made from the line.
    pub calls: u64,
    /// Outermost operators whose innermost Python frame is on the line.
    pub ops: u64,
    /// Thread time while this is the innermost Python line.
    pub cpu_self: Ns,
    /// Thread time while this is the innermost line of your code; a stack without your code counts to its outermost line.
    pub cpu_own: Ns,
    /// Thread time while the line is anywhere on the stack, once per instant.
    pub cpu_total: Ns,
    /// Of `cpu_total`, what lies in steps; all of it where the recording has none.
    pub cpu_in_steps: Ns,
    /// Of `cpu_in_steps`, that of the threads that run the steps, without what such a thread does for another: never more
    /// than the steps last.
    pub elapsed: Ns,
    /// Of `cpu_own`, the time in calls that wait for something else than a device: locks, queues, sockets, sleep.
    pub waiting: Ns,
    /// Host time of the backward nodes that this forward line created.
    pub cpu_backward: Ns,
    /// Device time of what was launched while this was the innermost Python line.
    pub cuda_self: Ns,
    /// Device time by the rule of `cpu_own`.
    pub cuda_own: Ns,
    /// Device time by the rule of `cpu_total`.
    pub cuda_total: Ns,
    /// Device time of the backward nodes that this forward line created.
    pub cuda_backward: Ns,
    /// Kernels, copies and fills launched, by the rule of `cuda_own`. Copies and fills are not in this count.
    pub kernels: u64,
    /// Thread time blocked waiting for a device, by the rule of `cpu_own`.
    pub sync: Ns,
    /// How often.
    pub syncs: u64,
    /// Device idle time that followed the waits of this line.
    pub idle_after_sync: Ns,
    /// Of it, what at most would not be if the line did not wait: the device would have its next work earlier, but by no
    /// more than the wait lasted.
    pub avoidable_idle: Ns,
    /// Of `avoidable_idle`, what waits in steps caused; all of it where the recording has none.
    pub avoidable_in_steps: Ns,
    /// What was computed in the forward pass and, because it was not kept, again for the backward pass: below
    /// `torch.utils.checkpoint`, or by compiled code.
    pub recompute: HostDeviceTime,
    /// What compiled code computed in the backward pass: it is charged to the lines of the forward pass that it is the derivative of.
    pub own_backward: HostDeviceTime,
    /// What the profiler itself did below the line.
    pub recording: RecordingCost,
    /// Device idle time during which the launching thread was here, by the rule of `cpu_own`.
    pub gpu_idle: Ns,
    /// How its kernels were launched, and why the device was idle.
    pub launching: Launching,
    /// Bytes allocated, by the rule of `cpu_own`.
    pub alloc: Bytes,
    /// How many allocations.
    pub allocs: u64,
    /// Of these, bytes released before the end.
    pub freed: Bytes,
    /// Of these, bytes alive at their device's peak.
    pub peak: Bytes,
    /// Of these, bytes alive at the end.
    pub live: Bytes,
    /// `cpu_own`, `cuda_own`, `sync`, `waiting` and `gpu_idle` by step number; steps with nothing are absent.
    pub steps: BTreeMap<u32, PerStep>,
    /// What the line costs on each rank.
    pub by_rank: RankShares,
    /// Device time of collectives launched, by the rule of `cuda_own`.
    pub comm: Ns,
    /// Of this, the time during which no compute kernel ran on the device. An instant at which several collectives ran counts
    /// to the one that started first.
    pub comm_exposed: Ns,
    /// Operators with known FLOPs, by the rule of `cuda_own`, by precision.
    pub arithmetic: BTreeMap<Precision, Arithmetic>,
    /// Device time of products of matrices whose sizes are recorded, by the rule of `cuda_own`.
    pub products: BTreeMap<ProductSizes, Ns>,
    /// What was launched, by the rule of `cuda_own`.
    pub kernel_table: BTreeMap<KernelKey, Kernel>,
    /// Outermost operators by name, by the rule of `cpu_own`.
    pub operators: BTreeMap<String, Operator>,
    /// The lines that this line's function was called from: the share of `cpu_total` below each. Of a line of user code they
    /// are of user code, whatever of libraries is between.
    pub callers: BTreeMap<LineKey, Ns>,
    /// What was called from the line, by name as recorded.
    pub callees: BTreeMap<String, Call>,
    /// What the waits of this line waited for: the line that launched it, with its device time during the waits.
    pub waits: BTreeMap<LineKey, Ns>,
    /// The lines that replayed the graphs which were captured on this line: how often, and the share of `cuda_own` that each
    /// launched.
    pub replayed: BTreeMap<LineKey, GraphReplays>,
    /// The lines of generated files that call what the compiler made of this line, alone or with others: its part of each.
    pub generated: BTreeMap<LineKey, HostDeviceTime>,
    /// Calls and operators for which several lines of the function are equally good: how many, by those lines in
    /// ascending order. Kept on the line of the function's definition, where they count.
    pub readings: BTreeMap<Vec<u32>, u64>,
    /// Allocations by device kind and ordinal, as text (`cpu`, `cuda:0`).
    pub allocations: BTreeMap<String, Allocation>,
    /// Calls that reserved memory from a device or gave it back, by the rule of `cpu_own`.
    pub segments: SegmentTime,
    /// Anti-patterns that cost time, by the rule of `cpu_own`.
    pub patterns: BTreeMap<Pattern, PatternBooks>,
}

impl LineBooks {
    /// Floating-point operations in all precisions, by the rule of `cuda_own`.
    #[must_use]
    pub fn flops(&self) -> u64 {
        Arithmetic::sum(&self.arithmetic).flops
    }

    /// Whether nothing was charged to the line. What is not looked at is a part of what is: own and self time of total
    /// time, what was freed of what was allocated, the tables of the sums.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        // All fields are named, so that the compiler reports a new one that is not thought of.
        let Self {
            function: _,
            evidence: _,
            calls,
            ops,
            cpu_self: _,
            cpu_own: _,
            cpu_total,
            cpu_in_steps: _,
            elapsed: _,
            waiting: _,
            cpu_backward,
            cuda_self: _,
            cuda_own: _,
            cuda_total,
            cuda_backward,
            kernels,
            sync,
            syncs,
            idle_after_sync: _,
            avoidable_idle: _,
            avoidable_in_steps: _,
            recompute: _,
            own_backward: _,
            recording: _,
            gpu_idle,
            launching: _,
            alloc,
            allocs: _,
            freed: _,
            peak: _,
            live: _,
            steps: _,
            by_rank: _,
            comm,
            comm_exposed,
            arithmetic,
            products: _,
            kernel_table: _,
            operators: _,
            callers: _,
            callees: _,
            waits: _,
            replayed: _,
            generated: _,
            readings: _,
            allocations: _,
            segments: _,
            patterns,
        } = self;
        let times = [
            cpu_total,
            cpu_backward,
            cuda_total,
            cuda_backward,
            sync,
            gpu_idle,
            comm,
            comm_exposed,
        ];
        let counts = [calls, ops, kernels, syncs];
        times.into_iter().all(|&it| it == Ns::ZERO)
            && *alloc == Bytes::ZERO
            && counts.into_iter().all(|&it| it == 0)
            && arithmetic.is_empty()
            && patterns.is_empty()
    }
}

/// A part of what a line was charged with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct HostDeviceTime {
    /// Of [`LineBooks::cpu_own`].
    pub cpu: Ns,
    /// Of [`LineBooks::cuda_own`].
    pub cuda: Ns,
}

impl HostDeviceTime {
    pub(crate) fn merge(&mut self, other: &Self) {
        let Self { cpu, cuda } = other;
        self.cpu.gain(*cpu);
        self.cuda.gain(*cuda);
    }
}

/// What the profiler itself did: a cost of recording, which a run without the profiler does not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RecordingCost {
    /// Of [`LineBooks::cpu_own`], the time below calls of `torch.profiler`.
    pub time: Ns,
    /// Of it, what lies in steps; all of it where the recording has none.
    pub in_steps: Ns,
    /// Of [`LineBooks::gpu_idle`], what passed meanwhile and no wait caused.
    pub idle: Ns,
}

impl RecordingCost {
    pub(crate) fn merge(&mut self, other: &Self) {
        let Self { time, in_steps, idle } = other;
        self.time.gain(*time);
        self.in_steps.gain(*in_steps);
        self.idle.gain(*idle);
    }
}

/// What a line was charged with during one step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PerStep {
    /// Share of [`LineBooks::cpu_own`].
    pub cpu: Ns,
    /// Share of [`LineBooks::cuda_own`], by the step during which it was launched.
    pub cuda: Ns,
    /// Share of [`LineBooks::sync`].
    pub sync: Ns,
    /// Share of [`LineBooks::gpu_idle`].
    pub gpu_idle: Ns,
    /// Share of [`LineBooks::waiting`].
    pub waiting: Ns,
}

/// The sizes of a product of matrices, `m × k` times `k × n`, of which there are `batch` at once.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct ProductSizes {
    /// How many products there are.
    pub batch: u64,
    /// Rows of the first matrix, and of the result.
    pub m: u64,
    /// Columns of the second, and of the result.
    pub n: u64,
    /// Columns of the first, and rows of the second.
    pub k: u64,
}

/// What distinguishes kernels of one line.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct KernelKey {
    /// Name as recorded.
    pub name: String,
    /// Blocks in x, y, z; zeros where the recording does not say.
    pub grid: [u32; 3],
    /// Threads per block in x, y, z.
    pub block: [u32; 3],
}

/// A kernel, copy or fill launched from a line.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Kernel {
    /// How often it ran.
    pub calls: u64,
    /// Device time in all.
    pub total: Ns,
    /// Shortest run.
    pub min: Ns,
    /// Longest run.
    pub max: Ns,
    /// Σ (estimated achieved occupancy in tenths of a percent × duration); divide by `total`.
    pub occupancy_time: i128,
    /// Streams it ran on.
    pub streams: std::collections::BTreeSet<i64>,
    /// Bytes moved, for copies and fills.
    pub bytes: Bytes,
    /// What it is for.
    pub class: KernelClass,
    /// Whether it runs on tensor cores.
    pub tensor_cores: TensorCores,
    /// What operators with known FLOPs did of which it was the longest kernel, by precision. Times are those of its own runs.
    pub arithmetic: BTreeMap<Precision, Arithmetic>,
}

/// An outermost operator on a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Operator {
    /// How often it ran.
    pub calls: u64,
    /// Host time from its start to its end.
    pub cpu: Ns,
    /// Device time launched below it.
    pub cuda: Ns,
}

/// Calls from a line to a name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Call {
    /// How many.
    pub calls: u64,
    /// Thread time.
    pub cpu: Ns,
}

/// Launches of CUDA graphs from one line, of graphs with kernels, copies or fills of another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct GraphReplays {
    /// How many, however many kernels of the line each ran; 0 of several lines together, which may be in the same graphs.
    pub replays: u64,
    /// Device time of what they ran of the line.
    pub cuda: Ns,
}

/// Allocations on one memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Allocation {
    /// How many.
    pub allocs: u64,
    /// Bytes allocated.
    pub alloc: Bytes,
    /// Bytes alive at this memory's peak.
    pub peak: Bytes,
    /// Bytes alive at the end.
    pub live: Bytes,
}
