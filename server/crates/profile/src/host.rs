//! What ran on the host, as columns.

use crate::{HostEventId, MessageId, Ns, StrId, ThreadId, keep_rows};

/// What a host event is. The order is the nesting order of events that start and end together: a range holds a
/// Python call, a Python call holds an operator, an operator holds a runtime call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum HostKind {
    /// `user_annotation`: `record_function` ranges, `ProfilerStep#N`, NVTX ranges.
    Annotation,
    /// `python_function`: a Python frame, an `nn.Module` call or a built-in call.
    Python,
    /// `cpu_op`: a dispatcher operator or an autograd node.
    Operator,
    /// `cuda_runtime`, `cuda_driver` and their HIP, XPU, MTIA and NPU relatives.
    Runtime,
}

/// A thread of the recording. Kineto writes process and thread ids as integers or strings, so both are kept as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// Process id as recorded.
    pub pid: StrId,
    /// Thread id as recorded.
    pub tid: StrId,
    /// Name from a `thread_name` metadata event, or [`StrId::NONE`].
    pub name: StrId,
}

/// All host events, in file order: one row each in the common columns, and one row of the kind's own table at
/// `detail`.
#[derive(Debug, Default)]
pub struct HostEvents {
    /// What the event is.
    pub kind: Vec<HostKind>,
    /// The thread it ran on.
    pub thread: Vec<ThreadId>,
    /// Name as recorded.
    pub name: Vec<StrId>,
    /// Start, relative to [`Meta::base`](crate::Meta::base).
    pub start: Vec<Ns>,
    /// Duration, not negative.
    pub duration: Vec<Ns>,
    /// Row in [`Self::annotations`], [`Self::python`], [`Self::operators`] or [`Self::runtime`].
    pub detail: Vec<u32>,
    /// Details of [`HostKind::Annotation`] events.
    pub annotations: Annotations,
    /// Details of [`HostKind::Python`] events.
    pub python: PythonCalls,
    /// Details of [`HostKind::Operator`] events.
    pub operators: Operators,
    /// Details of [`HostKind::Runtime`] events.
    pub runtime: RuntimeCalls,
}

impl HostEvents {
    /// Number of host events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }

    /// Handles of all host events in file order.
    pub fn ids(&self) -> impl Iterator<Item = HostEventId> + use<> {
        (0..self.len()).map(HostEventId::from_index)
    }

    /// End of an event, saturating.
    #[must_use]
    pub fn end(&self, id: HostEventId) -> Ns {
        self.start[id.index()].saturating_add(self.duration[id.index()])
    }

    /// Adds the common columns of one event whose own row, if its kind has one, is the last of that kind's table.
    pub fn push(
        &mut self,
        kind: HostKind,
        thread: ThreadId,
        name: StrId,
        start: Ns,
        duration: Ns,
    ) -> HostEventId {
        let rows = match kind {
            HostKind::Annotation => self.annotations.input_dims.len(),
            HostKind::Python => self.python.id.len(),
            HostKind::Operator => self.operators.external_id.len(),
            HostKind::Runtime => self.runtime.correlation.len(),
        };
        let id = HostEventId::from_index(self.len());
        self.kind.push(kind);
        self.thread.push(thread);
        self.name.push(name);
        self.start.push(start);
        self.duration.push(duration);
        self.detail.push(u32::try_from(rows.saturating_sub(1)).unwrap_or(u32::MAX));
        id
    }

    /// The row of an event in the columns of its kind: [`Self::annotations`], [`Self::python`], [`Self::operators`] or
    /// [`Self::runtime`].
    #[must_use]
    #[inline]
    pub fn detail_row(&self, id: HostEventId) -> usize {
        self.detail[id.index()] as usize
    }

    /// Takes out the rows `gone`; the rows behind them move up, so that their handles change.
    pub fn remove(&mut self, gone: &[HostEventId]) {
        let mut is_kept = vec![true; self.len()];
        gone.iter().for_each(|id| is_kept[id.index()] = false);
        let of_kind = |wanted: HostKind| -> Vec<bool> {
            let rows = self.kind.iter().zip(&is_kept).filter(|(kind, _)| **kind == wanted);
            rows.map(|(_, is_kept)| *is_kept).collect()
        };
        let is_annotation_kept = of_kind(HostKind::Annotation);
        let is_python_kept = of_kind(HostKind::Python);
        let is_operator_kept = of_kind(HostKind::Operator);
        let is_runtime_kept = of_kind(HostKind::Runtime);
        let Self {
            kind,
            thread,
            name,
            start,
            duration,
            detail,
            annotations,
            python,
            operators,
            runtime,
        } = self;
        keep_rows(kind, &is_kept);
        keep_rows(thread, &is_kept);
        keep_rows(name, &is_kept);
        keep_rows(start, &is_kept);
        keep_rows(duration, &is_kept);
        keep_rows(detail, &is_kept);
        let Annotations { input_dims, input_types } = annotations;
        keep_rows(input_dims, &is_annotation_kept);
        keep_rows(input_types, &is_annotation_kept);
        let PythonCalls { id, parent, caller } = python;
        keep_rows(id, &is_python_kept);
        keep_rows(parent, &is_python_kept);
        keep_rows(caller, &is_python_kept);
        let Operators {
            external_id,
            sequence,
            forward_thread,
            call_stack,
            input_dims,
            input_types,
            concrete_inputs,
            message,
            line,
        } = operators;
        keep_rows(external_id, &is_operator_kept);
        keep_rows(sequence, &is_operator_kept);
        keep_rows(forward_thread, &is_operator_kept);
        keep_rows(call_stack, &is_operator_kept);
        keep_rows(input_dims, &is_operator_kept);
        keep_rows(input_types, &is_operator_kept);
        keep_rows(concrete_inputs, &is_operator_kept);
        keep_rows(message, &is_operator_kept);
        keep_rows(line, &is_operator_kept);
        let RuntimeCalls { correlation, external_id, kernel } = runtime;
        keep_rows(correlation, &is_runtime_kept);
        keep_rows(external_id, &is_runtime_kept);
        keep_rows(kernel, &is_runtime_kept);
        let mut next = [0; 4];
        for (kind, detail) in kind.iter().zip(detail) {
            let next = &mut next[*kind as usize];
            *detail = *next;
            *next += 1;
        }
    }
}

/// Details of annotations: what those of collectives (`gloo:all_reduce`, `nccl:all_reduce`) communicate.
#[derive(Debug, Default)]
pub struct Annotations {
    /// `Input Dims` as the JSON text of the file, or [`StrId::NONE`].
    pub input_dims: Vec<StrId>,
    /// `Input type` as the JSON text of the file, or [`StrId::NONE`].
    pub input_types: Vec<StrId>,
}

/// Details of Python calls.
#[derive(Debug, Default)]
pub struct PythonCalls {
    /// `Python id`: unique within one profiler window, assigned in start order. -1 when absent.
    pub id: Vec<i64>,
    /// `Python parent id`: may be absent (-1), dangling, or belong to an event of another thread.
    pub parent: Vec<i64>,
    /// Where the call was made, as `file:line` (`CallFrom` of torch 2.14 and later, or the recorder's side-car), or
    /// [`StrId::NONE`].
    pub caller: Vec<StrId>,
}

/// Details of operators.
#[derive(Debug, Default)]
pub struct Operators {
    /// `External id`; -1 when absent.
    pub external_id: Vec<i64>,
    /// `Sequence number` of autograd; -1 when absent. Several operators of one composite share it.
    pub sequence: Vec<i64>,
    /// `Fwd thread id`: 0 in forward, the autograd id of the forward thread in backward.
    pub forward_thread: Vec<u32>,
    /// `Call stack` as recorded, or [`StrId::NONE`].
    pub call_stack: Vec<StrId>,
    /// `Input Dims` (or `Input dims`) as the JSON text of the file, or [`StrId::NONE`].
    pub input_dims: Vec<StrId>,
    /// `Input type` as the JSON text of the file, or [`StrId::NONE`].
    pub input_types: Vec<StrId>,
    /// `Concrete Inputs` (the values of scalars and lists) as the JSON text of the file, or [`StrId::NONE`].
    pub concrete_inputs: Vec<StrId>,
    /// What a `record_param_comms` says of a collective: a row of [`crate::DeviceEvents::messages`], or [`MessageId::NONE`].
    pub message: Vec<MessageId>,
    /// Where the operator was run, as `file:line`, or [`StrId::NONE`]: what a memory snapshot of the same run shows.
    /// Empty without one.
    pub line: Vec<StrId>,
}

impl Operators {
    /// Where the operator of `row` was run, as `file:line`, or [`StrId::NONE`].
    #[must_use]
    pub fn line(&self, row: usize) -> StrId {
        self.line.get(row).copied().unwrap_or(StrId::NONE)
    }
}

/// Details of runtime and driver calls.
#[derive(Debug, Default)]
pub struct RuntimeCalls {
    /// `correlation`: the same number as on the device event it started; -1 when absent.
    pub correlation: Vec<i64>,
    /// `External id` of the operator it ran under; -1 when absent.
    pub external_id: Vec<i64>,
    /// `kernel`: the name of the kernel that it launched (ROCm), or [`StrId::NONE`].
    pub kernel: Vec<StrId>,
}

/// One end of a flow from the forward operator that created an autograd node to the node's backward operator (`fwdbwd`): it
/// touches the event on `thread` that encloses, or starts at, `at`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowPoint {
    /// `true` for the end of the flow (`ph` is `f`), `false` for its beginning (`s`).
    pub is_finish: bool,
    /// Both ends carry the same id.
    pub id: i64,
    /// Thread of this end.
    pub thread: ThreadId,
    /// Time of this end.
    pub at: Ns,
}
