//! What the timeline pass charges: thread time, idle time of devices, calls and operators.

use std::collections::BTreeMap;

use critical_path::PieceId;
use ledger::{Call, Evidence, Ns, Operator, PerStep};
use line_stacks::{LineId, Node};
use profile::{HostEventId, StrId};
use recorded::IdleCause;
use rustc_hash::FxHashMap;

/// Thread time on critical paths, by piece and charged line.
pub(crate) type PathCharges = FxHashMap<(PieceId, LineId), Ns>;

/// Thread time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ThreadTime {
    pub(crate) cpu: Ns,
    /// What of it lies in steps; all of it where there are none.
    pub(crate) in_steps: Ns,
    /// Of this, that of the thread that runs the step.
    pub(crate) elapsed: Ns,
}

/// Idle time, and what of it has which cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Idle {
    pub(crate) time: Ns,
    pub(crate) host: Ns,
    pub(crate) kernel: Ns,
    /// What a wait of the thread caused that launched what ended the gap.
    pub(crate) after_wait: Ns,
}

impl Idle {
    pub(crate) fn add(&mut self, time: Ns, cause: IdleCause, after_wait: Ns) {
        self.time += time;
        self.after_wait += after_wait;
        match cause {
            IdleCause::Host => self.host += time,
            IdleCause::Kernel => self.kernel += time,
            IdleCause::Other => {}
        }
    }
}

/// What is charged while one host event is the innermost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct EventAmounts {
    pub(crate) cpu: Ns,
    /// Of this, waiting.
    pub(crate) waiting: Ns,
    /// Device idle time.
    pub(crate) idle: Ns,
}

/// What is kept beside the amounts of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kept {
    /// Nothing.
    Lines,
    /// Amounts by event, from which those by whole stacks are made.
    Stacks,
    /// These, and when what happened.
    Times,
}

/// A time during which a host event was the innermost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventSpan {
    pub(crate) start: Ns,
    pub(crate) end: Ns,
    pub(crate) event: HostEventId,
    /// The line stack then.
    pub(crate) node: Node,
}

/// Amounts by host event. A frame whose lines were logged is on several stacks one after the other.
#[derive(Debug, Clone)]
pub(crate) struct AmountsByEvent {
    /// By host event, what it has on its own stack.
    pub(crate) on_own: Vec<EventAmounts>,
    /// What frames have on lines, by event and stack.
    pub(crate) on_lines: BTreeMap<(HostEventId, Node), EventAmounts>,
}

impl AmountsByEvent {
    /// Nothing yet of `n_events` host events.
    pub(crate) fn new(n_events: usize) -> Self {
        Self { on_own: vec![EventAmounts::default(); n_events], on_lines: BTreeMap::new() }
    }

    /// What `event` has on the stack `node`, where `own` is its own.
    pub(crate) fn at(&mut self, event: HostEventId, node: Node, own: Node) -> &mut EventAmounts {
        if node == own {
            &mut self.on_own[event.index()]
        } else {
            self.on_lines.entry((event, node)).or_default()
        }
    }

    /// What `event` has on each stack, its `own` first.
    pub(crate) fn of(
        &self,
        event: HostEventId,
        own: Node,
    ) -> impl Iterator<Item = (Node, EventAmounts)> {
        let on_lines = self.on_lines.range((event, Node::EMPTY)..=(event, Node(u32::MAX)));
        std::iter::once((own, self.on_own[event.index()]))
            .chain(on_lines.map(|(&(_, node), &amounts)| (node, amounts)))
    }
}

/// Times by thread and by device, in the order in which they were charged.
#[derive(Debug, Default)]
pub(crate) struct EventTimes {
    /// Thread time; threads that only wait have none.
    pub(crate) threads: Vec<Vec<EventSpan>>,
    /// Idle time by ordinal of the device.
    pub(crate) idle: BTreeMap<i32, Vec<EventSpan>>,
}

/// Amounts by host event, from which whole stacks are made.
#[derive(Debug)]
pub(crate) struct EventCharges {
    pub(crate) amounts: AmountsByEvent,
    /// By host event, the innermost one below it at its start that is no annotation.
    pub(crate) below: Vec<HostEventId>,
    /// The innermost event at each memory event, in their order.
    pub(crate) memory: Vec<HostEventId>,
    /// When what was charged, if that is asked for.
    pub(crate) times: Option<EventTimes>,
}

impl EventCharges {
    /// Nothing yet of `n_events` host events on `n_threads` threads.
    pub(crate) fn new(n_events: usize, n_threads: usize, has_times: bool) -> Self {
        Self {
            amounts: AmountsByEvent::new(n_events),
            below: vec![HostEventId::NONE; n_events],
            memory: Vec::new(),
            times: has_times.then(|| EventTimes {
                threads: vec![Vec::new(); n_threads],
                idle: BTreeMap::new(),
            }),
        }
    }
}

/// Amounts of host events. Vectors "by line" and "by node" are indexed by [`LineId`] and [`line_stacks::Node`] and may be
/// shorter than the tables: what is missing is 0.
#[derive(Default)]
pub(crate) struct HostCharges {
    /// Thread time by node, the empty stack included.
    pub(crate) time: Vec<ThreadTime>,
    /// Whether anything was charged to the node itself.
    pub(crate) is_charged: Vec<bool>,
    /// Traced time by thread.
    pub(crate) threads: Vec<Ns>,
    /// Thread time by thread and charged line: most threads run few of the lines.
    pub(crate) by_thread: Vec<FxHashMap<LineId, Ns>>,
    /// What happened in each step, by charged line and step number. Device time is added later.
    pub(crate) steps: FxHashMap<(LineId, u32), PerStep>,
    /// Calls by caller line, with the evidence of that line.
    pub(crate) calls: Vec<(u64, Evidence)>,
    /// Calls by caller line and name.
    pub(crate) callees: FxHashMap<(LineId, StrId), Call>,
    /// Outermost operators by line.
    pub(crate) ops: Vec<u64>,
    /// Elements of the tensors that outermost operators took, by charged line.
    pub(crate) elements: Vec<u64>,
    /// Outermost operators by charged line and name.
    pub(crate) operators: FxHashMap<(LineId, StrId), Operator>,
    /// Device idle time by node, the empty stack left out.
    pub(crate) idle: Vec<Idle>,
    /// By sync, in their order: idle time of devices that at most would not be without it, in gaps that its thread ended.
    pub(crate) avoidable: Vec<Ns>,
    /// Of the thread time by node, that of threads that adopted the stack of another.
    pub(crate) adopted: Vec<Ns>,
    /// Of the thread time by node, what calls that wait took.
    pub(crate) waiting: Vec<Ns>,
    /// Of the thread time by node, what was computed again.
    pub(crate) recomputed: Vec<Ns>,
    /// Of the thread time by node, what compiled code computed in the backward pass.
    pub(crate) own_backward: Vec<Ns>,
    /// Thread time of backward nodes, by their row, without what was computed again in them.
    pub(crate) backward: Vec<Ns>,
    /// Time in calls that wait that lies in steps, all stacks together.
    pub(crate) waiting_in_steps: Ns,
    /// By thread, how many idle threads it stands for; 0 where it is not idle.
    pub(crate) idle_count: Vec<u64>,
    /// Traced time by thread of those that are idle, which is in none of the other amounts.
    pub(crate) idle_threads: Vec<Ns>,
    /// Device idle time during which the launching thread had no line.
    pub(crate) idle_without_line: Ns,
    /// Device idle time during which the launching thread recorded something.
    pub(crate) idle_covered: Ns,
    /// What of the time of threads is on critical paths.
    pub(crate) paths: PathCharges,
    /// The same amounts by event, if whole stacks are asked for.
    pub(crate) by_event: Option<EventCharges>,
}
