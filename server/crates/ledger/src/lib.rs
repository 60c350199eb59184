//! The books of a recording, per source line.
//!
//! *Owns*: what was charged to which line, with which evidence, and what could not be charged and why. Merging is
//! associative and commutative, so that ranks and inputs can be added in any order.
//!
//! *Never*: knows where a number came from (a trace, a snapshot), reads a file, formats a number.
//!
//! *The tests that say so*: the property tests in `merge.rs`; `tests/tests/tidy/` holds the dependency list.

mod amount;
mod books;
mod communication;
mod compiled;
mod critical_path;
mod kernel_name;
mod keys;
mod launching;
mod line;
mod loops;
mod memory;
mod merge;
mod modules;
mod overview;
mod packed_list;
mod patterns;
mod portion;
mod rank_list;
mod rank_share;
mod split;
mod step_work;
mod unit;

pub use books::{Balance, Books, Metric, Reason, Unattributed};
pub use communication::{
    Blocked, CollectiveCall, CollectiveKind, CollectiveSite, Direction, GroupMembers, MessageEnd,
    ProcessGroup, RankCommunication, TimeRange,
};
pub use compiled::{CompiledFunction, RecompileCause, RecompileReason};
pub use critical_path::{
    PathCollective, PathLineId, PathOutline, PathPiece, PathTime, PathsByRank, PieceOutline,
    RankPaths, StepPath,
};
pub use kernel_name::shorten_kernel_name;
pub use keys::{DeviceKey, LineKey, ThreadKey};
pub use launching::Launching;
pub use line::{
    Allocation, Call, Evidence, GraphReplays, HostDeviceTime, Kernel, KernelKey, LineBooks,
    Operator, PerStep, ProductSizes, RecordingCost, SourceFile, SourceFit,
};
pub use loops::LoopBooks;
pub use memory::{
    CategoryMemory, DeviceMemory, Fragmentation, Held, LineMemory, MemoryPurpose, MemoryPurposes,
    Moment, OutOfMemory, Phase, Sample, SegmentCalls, SegmentTime, StackLine, StepMemory,
};
pub use modules::{ModuleBooks, ModuleKey};
pub use overview::{
    Arithmetic, Bound, Breakdown, Copies, DeviceOverview, DevicePeak, IdleClasses, Interval,
    KernelClass, LaunchSummary, LoaderWorkers, Overlap, Overview, Precision, StreamQueue,
    TensorCores,
};
pub use packed_list::PackedList;
pub use patterns::{Pattern, PatternBooks};
pub use portion::share_of;
pub use rank_list::RankList;
pub use rank_share::{RankShare, RankShares, TimesByRank};
pub use step_work::StepWork;
pub use unit::Unit;
pub use units::{Bytes, CompilePhases, Ns};

use std::collections::{BTreeMap, BTreeSet};

/// The books of one rank or, after merging, of several.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Ledger {
    /// Every source file that has a line here, by its key in [`LineKey::file`].
    pub files: BTreeMap<String, SourceFile>,
    /// The versions of torch that recorded, as `(major, minor)`, as far as the recordings say; `(2, 14)` may be a later
    /// one.
    pub torch: BTreeSet<(u32, u32)>,
    /// What each line was charged with. There may be a million of them, so that none is moved when the map grows, nor room for
    /// others kept.
    pub lines: BTreeMap<LineKey, Box<LineBooks>>,
    /// What the recording holds in all.
    pub totals: Books,
    /// Of the totals, what happened in steps, device time and bytes by when they were launched and allocated; the totals
    /// where no recording has steps. The time of idle threads is left out of `waiting`.
    pub in_steps: Books,
    /// What no line was charged with, by reason.
    pub unattributed: Unattributed,
    /// The steps: duration by number. Merging keeps the longest of each: ranks run their steps side by side.
    pub steps: BTreeMap<u32, Ns>,
    /// What steps worked on, where the names of their ranges say so: not `ProfilerStep#N`. Merging keeps the last of each, in the
    /// order of their kinds and sizes.
    pub step_work: BTreeMap<u32, StepWork>,
    /// The loops of your code that ran, by the line of their `for` or `while`, where the source was found.
    pub loops: BTreeMap<LineKey, LoopBooks>,
    /// How many recordings were added, so that a mean per step and rank can be given. At least 1 once filled.
    pub ranks: u32,
    /// Device time, idle time and span by device.
    pub devices: BTreeMap<DeviceKey, DeviceBooks>,
    /// Traced time by thread, idle threads left out.
    pub threads: BTreeMap<ThreadKey, Ns>,
    /// The threads that only wait. Their time is not in `totals.cpu`, and on no line.
    pub idle_threads: BTreeMap<ThreadKey, IdleThread>,
    /// What the allocator of a device did, from a memory snapshot. Merging two of one device keeps the one with the higher
    /// peak: they are not of one moment.
    pub memory: BTreeMap<DeviceKey, DeviceMemory>,
    /// Memory by category, by rank, likewise.
    pub categories: BTreeMap<u32, CategoryMemory>,
    /// The run in numbers, by rank.
    pub overviews: BTreeMap<u32, Overview>,
    /// When each rank was in which collective, by rank.
    pub communication: BTreeMap<u32, RankCommunication>,
    /// What had to be done before the steps of each rank could end, by rank.
    pub critical_paths: BTreeMap<u32, RankPaths>,
    /// The modules that ran.
    pub modules: BTreeMap<ModuleKey, ModuleBooks>,
    /// The functions that `torch.compile` compiled, by the first line of their code, where its log was read.
    pub compiled: BTreeMap<LineKey, CompiledFunction>,
    /// Why graphs end at a line, likewise.
    pub graph_breaks: BTreeMap<LineKey, BTreeSet<String>>,
}

/// A thread that only waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct IdleThread {
    /// Its traced time.
    pub time: Ns,
    /// How many threads it stands for: PyTorch merges those that make no call while it records.
    pub threads: u64,
}

/// What one device did.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DeviceBooks {
    /// Device name, where the recording says.
    pub name: String,
    /// Sum of the durations of its events, over all streams.
    pub time: Ns,
    /// Time during which at least one event ran.
    pub busy: Ns,
    /// Time between its first and last event during which none ran: `busy + idle` is the device's span.
    pub idle: Ns,
    /// Bytes of memory that it has; 0 where the recording does not say.
    pub total_memory: Bytes,
}
