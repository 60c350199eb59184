//! What the events of a recording say by themselves, before anything is charged to a line.
//!
//! *Owns*: how frames, callers and call stacks are spelled (`frames`); the files that a recording names (`files`) and what
//! is known about them (`sources`), which of them a compiler wrote (`generated_files`); the order of host events (`order`) and the steps (`steps`); which call launched a
//! device event (`launches`) and which left none (`missing`), which steps of a begin are whole (`first_steps`), whether times are whole microseconds (`microseconds`), when devices were idle and why (`idle_gaps`); what the names of runtime calls
//! (`runtime_calls`), of waiting Python calls (`waiting`) and of kernels (`kernel_classes`, `kernel_names`) mean; the top-level names of known packages (`packages`).
//!
//! *Never*: assigns a line, charges an amount, reads a file.
//!
//! *The test that says so*: `tests/tests/tidy/` holds the dependency list: `call-sites`, `device-memory`,
//! `run-summary` and `attribution` build on this crate, and it knows none of them.

mod files;
mod first_steps;
mod frames;
mod generated_files;
mod idle_gaps;
mod kernel_classes;
mod kernel_names;
mod launches;
mod microseconds;
mod missing;
mod order;
mod packages;
mod runtime_calls;
mod sources;
mod step_ranges;
mod steps;
mod waiting;

pub use files::{
    CallsByFile, RecordedFile, recorded_calls, recorded_files, recorded_snapshot_files,
};
pub use first_steps::end_with_whole_step;
pub use frames::{
    Frame, PROFILER_FILE, UNNAMED, compiled_graph, function_of, is_compiled_range, is_left_unnamed,
    is_path_of, is_python, parse_caller, provenance, unnamed_calls,
};
pub use generated_files::{is_generated, is_generated_file, is_inductor_file};
pub use idle_gaps::{DeviceTime, IdleCause, IdleGap, IdleGaps, KERNEL_GAP};
pub use kernel_classes::KernelClasses;
pub use kernel_names::telling_parts;
pub use launches::Launches;
pub use microseconds::{MICROSECOND, has_whole_microseconds};
pub use missing::launches_without_event;
pub use order::{in_order, order_key};
pub use packages::{KNOWN_PACKAGES, PLUMBING_PACKAGES, STANDARD_LIBRARY};
pub use runtime_calls::{
    begins_capture, ends_capture, is_asynchronous_copy, is_blocking_call, launches_graph,
    launches_kernel, put_on_stream, records_event, reserves_memory, waits_for_event,
};
pub use sources::{
    CommitId, GitBlob, RecordedCommit, RecordedSource, RecordedSources, TextOrigin, TextThatRan,
    TextsByFile,
};
pub use step_ranges::{StepRangeKind, step_range_kind, step_work, work_of_server};
pub use steps::{FoundSteps, NumberedRange, Step, Steps, step_ranges};
pub use waiting::{helper_threads, idle_threads, is_waiting_call, waits_for_backward};
