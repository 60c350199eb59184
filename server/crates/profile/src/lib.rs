//! The tables of one recording.
//!
//! *Owns*: the columns that every reader fills and that attribution walks: host events, device events, memory
//! events, flows, threads, and the interner behind every piece of text. Struct of arrays with `u32` handles, so
//! that a recording costs what its distinct things cost, not what its text costs.
//!
//! *Never*: does IO, knows what a Python frame or an LSP position is, formats a number. Time is integer
//! nanoseconds ([`Ns`]), size is integer bytes ([`Bytes`]). Event times are relative to [`Meta::base`]; adding the two
//! gives nanoseconds since the Unix epoch.
//!
//! *The test that says so*: `tests/tests/tidy/` holds the dependency list of this crate against the map in
//! ARCHITECTURE.md.

mod callers;
mod captured;
mod device;
mod generated;
mod handle;
mod host;
mod interner;
mod line_log;
mod memory;
mod meta;
mod snapshot;
mod timeline;
mod warning;

pub use callers::{Callers, RecordedModule, RecordedText, RecordedWorkers, ThreadCallers};
pub use captured::{CapturedEvidence, CapturedLine, CapturedStacks, NodeStacks};
pub use device::{
    DeviceEvents, DeviceKind, LaunchShape, LaunchShapeId, LaunchShapes, Message, MessageId,
};
pub use generated::{
    CompileLog, CompiledLine, FunctionCompile, GeneratedCall, GeneratedFile, GraphBreak,
    OriginFrame,
};
pub use handle::{DeviceEventId, HostEventId, StrId, ThreadId};
pub use host::{
    Annotations, FlowPoint, HostEvents, HostKind, Operators, PythonCalls, RuntimeCalls, Thread,
};
pub use interner::Interner;
pub use line_log::{FrameLines, LineLog, LoggedCode, PlaceInFrame, ThreadLines};
pub use memory::{DeviceType, MemoryDevice, MemoryEvents};
pub use meta::{DeviceProperties, Meta, RankGroup};
pub use snapshot::{
    Snapshot, SnapshotAction, SnapshotAnnotation, SnapshotBlock, SnapshotDevice, SnapshotEvent,
    SnapshotFrame, SnapshotPurposes, SnapshotSegment, SnapshotTensor, StackId, TensorPurpose,
};
pub use timeline::MemoryTimeline;
pub use units::{Bytes, CompilePhases, Ns};
pub use warning::{Warning, WarningKind, WarningSeverity, Warnings};

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
    /// Flows between events: forward to backward.
    pub flows: Vec<FlowPoint>,
    /// Files that `torch.compile` generated, with the lines that their kernels were made from; joined from its log.
    pub generated: Vec<GeneratedFile>,
    /// What was compiled, in the order of that log.
    pub compiles: Vec<FunctionCompile>,
    /// Why graphs end, likewise.
    pub graph_breaks: Vec<GraphBreak>,
    /// What the kernels of graphs were captured by; joined from another trace.
    pub captured: CapturedStacks,
    /// What the ranges are called that are steps, as the user says, with a `*` for any text; empty where the recording shall say it.
    pub step_ranges: Vec<String>,
    /// What the model calls its modules, each once, in the order of `event`; joined from a side-car.
    pub modules: Vec<RecordedModule>,
    /// How long steps of the same run took before recording, without the profiler; joined from a side-car.
    pub plain_steps: Vec<Ns>,
    /// The script that was recorded and its arguments; joined from a side-car.
    pub command: Option<String>,
    /// The worker processes of data loaders; joined from a side-car.
    pub loader_workers: RecordedWorkers,
    /// Where the frames of the user's code were when; joined from a side-car.
    pub frame_lines: FrameLines,
}

impl Profile {
    /// What is recorded of the module whose calls are named `event`.
    #[must_use]
    pub fn module(&self, event: StrId) -> Option<&RecordedModule> {
        let at = self.modules.binary_search_by_key(&event, |it| it.event).ok()?;
        self.modules.get(at)
    }

    /// The same without its events: the texts, what was recorded once, and the launch shapes.
    #[must_use]
    pub fn without_events(self) -> Self {
        Self {
            host: HostEvents::default(),
            device: DeviceEvents { shapes: self.device.shapes, ..DeviceEvents::default() },
            memory: MemoryEvents::default(),
            flows: Vec::new(),
            frame_lines: FrameLines::default(),
            ..self
        }
    }
}

/// Leaves the rows of a column that are kept. A column that is not filled stays empty.
fn keep_rows<T>(column: &mut Vec<T>, is_kept: &[bool]) {
    let mut is_kept = is_kept.iter();
    column.retain(|_| is_kept.next().copied().unwrap_or(true));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Annotation, Python call, operator, runtime call, twice.
    fn host() -> HostEvents {
        let mut host = HostEvents::default();
        for number in 0..8 {
            let kind =
                [HostKind::Annotation, HostKind::Python, HostKind::Operator, HostKind::Runtime]
                    [number % 4];
            let id = i64::try_from(number).unwrap_or(0);
            match kind {
                HostKind::Annotation => {}
                HostKind::Python => {
                    host.python.id.push(id);
                    host.python.parent.push(id);
                    host.python.caller.push(StrId::NONE);
                }
                HostKind::Operator => {
                    host.operators.external_id.push(id);
                    host.operators.sequence.push(id);
                    host.operators.forward_thread.push(0);
                    host.operators.call_stack.push(StrId::NONE);
                    host.operators.input_dims.push(StrId::NONE);
                    host.operators.input_types.push(StrId::NONE);
                    host.operators.concrete_inputs.push(StrId::NONE);
                    host.operators.message.push(MessageId::NONE);
                }
                HostKind::Runtime => {
                    host.runtime.correlation.push(id);
                    host.runtime.external_id.push(id);
                    host.runtime.kernel.push(StrId::NONE);
                }
            }
            host.push(kind, ThreadId(0), StrId::NONE, Ns(id), Ns(1));
        }
        host
    }

    #[test]
    fn rows_that_are_left_keep_their_details() {
        let mut host = host();
        host.remove(&[HostEventId(0), HostEventId(2), HostEventId(5), HostEventId(3)]);
        assert_eq!(host.start, [1, 4, 6, 7].map(Ns));
        assert_eq!(host.detail, [0, 0, 0, 0]);
        assert_eq!(host.python.id, [1]);
        assert_eq!(host.operators.external_id, [6]);
        assert_eq!(host.runtime.correlation, [7]);
        assert!(host.operators.line.is_empty());
    }
}
