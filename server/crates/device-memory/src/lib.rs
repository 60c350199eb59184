//! Memory of devices, from snapshots, from the memory events of traces, and from exported timelines.
//!
//! *Owns*: the replay of what an allocator did; peaks, what held memory at them, phases, steps, fragmentation, failed
//! requests (`snapshot`); who held how much when, and what of it a picture shows (`history`); which addresses are free (`space`), and how segments are laid out (`segments`); bytes by line of a trace (`trace`, `trace_report`), what was in use over time (`curve`), and what its lines held when (`trace_history`); memory by category over time
//! (`categories`).
//!
//! *Never*: assigns a line to an event of a trace (it is given them); reads a file; formats a number.
//!
//! *The test that says so*: the unit tests of `snapshot` hold snapshots built by hand against their numbers;
//! `tests/memory_viz` holds peaks and timelines against PyTorch's own page; `tests/tests/accounting.rs` holds the bytes of traces.

mod categories;
mod curve;
mod device_name;
mod history;
mod samples;
mod segments;
mod snapshot;
mod space;
mod trace;
mod trace_history;
mod trace_replay;
mod trace_report;

pub use categories::attribute_timeline;
pub use curve::memory_curves;
pub use history::{
    HeldAllocation, HistoryLevels, HistoryRange, Holder, HolderPhase, MemoryHistory,
};
pub use segments::{SegmentBlock, SegmentMap};
pub use snapshot::{SnapshotBooks, SnapshotParts, attribute_snapshot};
pub use trace::{LineBytes, MemoryCharges, TraceMemory, TracedDevices};
pub use trace_history::MemoryHolders;
pub use trace_report::reports;
