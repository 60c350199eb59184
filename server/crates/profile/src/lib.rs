//! The tables of one recording.
//!
//! *Owns*: the columns that every reader fills and that attribution walks: host events, device events, memory
//! events, flows, threads, and the interner behind every piece of text. Struct of arrays with `u32` handles, so
//! that a recording costs what its distinct things cost, not what its text costs.
//!
//! *Never*: does IO, knows what a Python frame or an LSP position is, formats a number. Time is integer
//! nanoseconds ([`Ns`]), size is integer bytes ([`Bytes`]).
//!
//! *The test that says so*: `tests/tests/tidy.rs` holds the dependency list of this crate against the map in
//! ARCHITECTURE.md.

mod callers;
mod device;
mod handle;
mod host;
mod interner;
mod memory;
mod meta;
mod snapshot;
mod timeline;
mod warning;

pub use callers::{Callers, ThreadCallers};
pub use device::{DeviceEvents, DeviceKind, LaunchShape, LaunchShapeId, LaunchShapes};
pub use handle::{DeviceEventId, HostEventId, StrId, ThreadId};
pub use host::{
    Flow, FlowKind, HostEvents, HostKind, Operators, PythonCalls, RuntimeCalls, Thread,
};
pub use interner::Interner;
pub use memory::{DeviceType, MemoryDevice, MemoryEvents};
pub use meta::{DeviceProperties, Meta};
pub use snapshot::{
    Snapshot, SnapshotAction, SnapshotAnnotation, SnapshotBlock, SnapshotDevice, SnapshotEvent,
    SnapshotFrame, SnapshotSegment, SnapshotSettings, StackId,
};
pub use timeline::MemoryTimeline;
pub use warning::{Warning, WarningKind, Warnings};

/// A point in time or a duration in integer nanoseconds.
///
/// Event times are relative to [`Meta::base`]; adding the two gives nanoseconds since the Unix epoch.
pub type Ns = i64;

/// A size in integer bytes; negative where a recording counts a release.
pub type Bytes = i64;

/// Everything that a Kineto trace says, in columns.
#[derive(Debug, Default)]
pub struct Profile {
    /// The text of every name, path and argument that was kept.
    pub strings: Interner,
    /// What the envelope says about the recording: rank, devices, versions.
    pub meta: Meta,
    /// Threads in the order in which they first appear.
    pub threads: Vec<Thread>,
    /// What ran on the host: Python calls, operators, annotations, runtime calls.
    pub host: HostEvents,
    /// What ran on devices: kernels, copies, memsets.
    pub device: DeviceEvents,
    /// `[memory]` instants.
    pub memory: MemoryEvents,
    /// Arrows between events: forward to backward.
    pub flows: Vec<Flow>,
}
