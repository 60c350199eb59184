//! The timeline pass: one walk over all host events in time order that fixes the line stack of each event and charges
//! every instant of thread time.

use std::collections::BTreeMap;

use call_sites::{Costs, infer};
use critical_path::{CriticalPaths, HostPart};
use ledger::{Evidence, Ns};
use line_stacks::{LineId, Lines, Node, Stacks, grow_to};
use profile::{FrameLines, HostEventId, HostKind, Profile};
use rustc_hash::FxHashMap;

use crate::checkpoints::CheckpointFrame;
use crate::compiler_backends::CompilerBackends;
use crate::compute_pass::ComputePass;
use crate::event_stacks::{EventStacks, line_in_frame};
use crate::host_charges::{EventCharges, EventSpan, HostCharges, Kept, ThreadTime};
use crate::inferred::Inferred;
use crate::input_elements::InputElements;
use crate::names::{CallStacks, Names, PythonName};
use crate::options::AttributionOptions;
use crate::origins::Origins;
use crate::slack::{Slack, Sync};
use recorded::{
    IdleGap, IdleGaps, Launches, RecordedSources, Steps, helper_threads, idle_threads, in_order,
    is_asynchronous_copy, is_blocking_call, order_key,
};

/// What the pass found.
pub(crate) struct TimelinePass<'a> {
    pub(crate) events: EventStacks<'a>,
    pub(crate) charges: HostCharges,
    /// The syncs in order.
    pub(crate) syncs: Vec<HostEventId>,
    /// Events that several lines of a function explain equally well, by the line of its definition.
    pub(crate) readings: FxHashMap<LineId, BTreeMap<Vec<u32>, u64>>,
}

/// Walks `profile` for the lines of its events alone.
pub(crate) fn lines_pass<'a>(
    profile: &'a Profile,
    sources: &'a RecordedSources,
    options: AttributionOptions,
) -> TimelinePass<'a> {
    let names = Names::new(profile, sources, options);
    let gaps = IdleGaps::new(profile, &Launches::new(profile));
    let steps = Steps::new(profile);
    let (paths, main_thread) = (&CriticalPaths::default(), main_thread(profile, &steps));
    let known = KnownTimes { gaps: &gaps, paths, main_thread };
    timeline_pass(profile, names, sources, &steps, &known, &[], Kept::Lines)
}

/// What is known of times before the walk.
#[derive(Clone, Copy)]
pub(crate) struct KnownTimes<'a> {
    pub(crate) gaps: &'a IdleGaps,
    pub(crate) paths: &'a CriticalPaths,
    /// Where there are no steps, the thread whose time counts as elapsed.
    pub(crate) main_thread: Option<usize>,
}

/// Walks `profile`. `memory_events` are rows of its memory table in order of time. `kept` says what whole stacks and
/// timelines need.
pub(crate) fn timeline_pass<'a>(
    profile: &'a Profile,
    mut names: Names<'a>,
    sources: &RecordedSources,
    steps: &Steps,
    known: &KnownTimes<'_>,
    memory_events: &[u32],
    kept: Kept,
) -> TimelinePass<'a> {
    let host = &profile.host;
    let order = in_order(profile);
    let mut lines = Lines::default();
    let sites = infer(profile, sources, &order, names.uses_callers(), &Costs::default());
    let inferred = Inferred::new(sites, &mut names, &mut lines);
    let origins = Origins::new(profile, sources, &mut names, &mut lines);
    let has_device = !profile.device.is_empty();
    let n_threads = profile.threads.len();
    let column = if has_device { host.len() } else { 0 };
    let idle_count = idle_threads(profile, &order);
    let events = EventStacks {
        names,
        stacks: Stacks::new(lines),
        order: Vec::new(),
        stack_of: vec![Node::EMPTY; host.len()],
        operator: vec![HostEventId::NONE; column],
        passes: Vec::new(),
        backward_node: vec![0; column],
        backward_nodes: Vec::new(),
        memory_stacks: Vec::with_capacity(memory_events.len()),
    };
    let charges = HostCharges {
        threads: vec![Ns::ZERO; n_threads],
        by_thread: vec![FxHashMap::default(); n_threads],
        idle_count,
        idle_threads: vec![Ns::ZERO; n_threads],
        by_event: (kept != Kept::Lines)
            .then(|| EventCharges::new(host.len(), n_threads, kept == Kept::Times)),
        ..HostCharges::default()
    };
    let threads = (0..n_threads).map(|_| ThreadState::default()).collect();
    let waiters = Waiters {
        open: Vec::new(),
        call_stack: vec![None; n_threads],
        handed_over: FxHashMap::default(),
    };
    let is_autograd = autograd_threads(profile);
    let main_thread = known.main_thread;
    let mut leads = vec![false; n_threads];
    main_thread.into_iter().for_each(|it| leads[it] = true);
    steps.0.iter().for_each(|it| leads[it.thread.index()] = true);
    let is_helper = helper_threads(profile, &order, &leads);
    let mut pass = Pass {
        profile,
        steps,
        gaps: known.gaps,
        paths: known.paths,
        inferred,
        elements: InputElements::default(),
        origins,
        backends: CompilerBackends::default(),
        events,
        charges,
        syncs: Vec::new(),
        threads,
        waiters,
        is_autograd,
        is_helper,
        main_thread,
        python_ids: None,
    };

    let mut memory = memory_events.iter().copied().peekable();
    for &id in &order {
        let start = host.start[id.index()];
        while let Some(row) = memory.next_if(|&row| profile.memory.at[row as usize] < start) {
            pass.memory_event(row);
        }
        pass.open(id);
    }
    memory.for_each(|row| pass.memory_event(row));
    (0..n_threads).for_each(|thread| pass.end(thread));
    let Pass { mut events, mut charges, syncs, inferred, .. } = pass;
    let is_charged = |it: &ThreadTime| it.cpu != Ns::ZERO || it.elapsed != Ns::ZERO;
    for (node, _) in charges.time.iter().enumerate().filter(|(_, it)| is_charged(it)) {
        *grow_to(&mut charges.is_charged, node) = true;
    }
    events.order = order;
    TimelinePass { events, charges, syncs, readings: inferred.readings }
}

/// Which threads run autograd nodes.
fn autograd_threads(profile: &Profile) -> Vec<bool> {
    let is_engine_name: Vec<bool> = profile
        .strings
        .iter()
        .map(|(_, name)| {
            name.starts_with("autograd::engine::") || name.starts_with("torch::autograd::")
        })
        .collect();
    let host = &profile.host;
    let mut is_autograd = vec![false; profile.threads.len()];
    for id in host.ids().filter(|id| host.kind[id.index()] == HostKind::Operator) {
        let is_backward = host.operators.forward_thread[host.detail_row(id)] != 0;
        if is_backward || is_engine_name.get(host.name[id.index()].index()).is_some_and(|&it| it) {
            is_autograd[host.thread[id.index()].index()] = true;
        }
    }
    is_autograd
}

/// Where there are no `steps`, the thread with the most Python events or, without any, with the most host events; the first of several.
pub(crate) fn main_thread(profile: &Profile, steps: &Steps) -> Option<usize> {
    if !steps.0.is_empty() {
        return None;
    }
    let host = &profile.host;
    let mut weight = vec![(0_usize, 0_usize); profile.threads.len()];
    for id in host.ids() {
        let (python, events) = &mut weight[host.thread[id.index()].index()];
        *python += usize::from(host.kind[id.index()] == HostKind::Python);
        *events += 1;
    }
    (0..weight.len()).max_by_key(|&thread| (weight[thread], std::cmp::Reverse(thread)))
}

/// An event on the stack of a thread. It may have ended while a later one goes on: events overlap.
#[derive(Debug, Clone, Copy)]
struct OpenEvent {
    end: Ns,
    line_stack: Node,
    id: HostEventId,
    kind: HostKind,
    is_frame: bool,
    is_sync: bool,
    /// An annotation that began while nothing but annotations was open.
    is_bare: bool,
    /// A call that waits.
    is_waiting: bool,
    /// A call that waits for the autograd engine, whose threads may work for it meanwhile.
    waits_for_backward: bool,
    pass: ComputePass,
    /// What it does for computing again.
    checkpoint: CheckpointFrame,
    /// The backward node that it is in.
    backward_node: Option<BackwardNode>,
    /// The operator that is outermost between here and the innermost Python event below; none without device events.
    operator: HostEventId,
}

/// A backward node that is open.
#[derive(Debug, Clone, Copy)]
struct BackwardNode {
    /// Row in [`EventStacks::backward_nodes`].
    row: u32,
    end: Ns,
}

/// Where the walk is in a backward pass.
#[derive(Debug, Clone, Copy, Default)]
struct BackwardPass {
    /// End of the last open operator that belongs to it.
    operators_end: Ns,
    /// The outermost of these.
    node: Option<BackwardNode>,
}

/// Where the walk is on one thread.
#[derive(Debug, Default)]
struct ThreadState {
    clock: Ns,
    /// The charged line since `charged_since`: that time, up to `charged_until`, is charged when the line changes.
    line: LineId,
    charged_since: Ns,
    charged_until: Ns,
    stack: Vec<OpenEvent>,
    /// The step in which the time since `charged_since` begins, and that in which `clock` is.
    step_cursor: usize,
    clock_cursor: usize,
    gap_cursors: Vec<usize>,
    path_cursor: usize,
    /// Whether what is on the stack goes on the stack of another thread.
    has_adopted: bool,
    /// Its syncs in order, and by device how far it would be ahead without them.
    syncs: Vec<Sync>,
    slacks: Vec<Slack>,
    backward: BackwardPass,
    /// Those that nodes of it run for what they computed again, innermost last, with the ends of their frames.
    inner_backward: Vec<(Ns, BackwardPass)>,
}

impl ThreadState {
    /// The innermost backward pass at `at`.
    fn backward(&mut self, at: Ns) -> &mut BackwardPass {
        while self.inner_backward.last().is_some_and(|(end, _)| *end <= at) {
            self.inner_backward.pop();
        }
        self.inner_backward.last_mut().map_or(&mut self.backward, |(_, it)| it)
    }
}

/// Host events that wait for the autograd engine.
struct Waiters {
    /// `run_backward` calls in order of start.
    open: Vec<HostEventId>,
    /// Where there are only call stacks: the operator of each thread that shows it waiting.
    call_stack: Vec<Option<HostEventId>>,
    /// By `run_backward` call, when other threads worked for it, in order.
    handed_over: FxHashMap<HostEventId, Vec<(Ns, Ns)>>,
}

struct Pass<'a, 'b> {
    profile: &'a Profile,
    steps: &'b Steps,
    gaps: &'b IdleGaps,
    paths: &'b CriticalPaths,
    inferred: Inferred,
    elements: InputElements,
    origins: Origins,
    backends: CompilerBackends,
    events: EventStacks<'a>,
    charges: HostCharges,
    /// The syncs in order.
    syncs: Vec<HostEventId>,
    threads: Vec<ThreadState>,
    waiters: Waiters,
    is_autograd: Vec<bool>,
    /// Threads that run something now and then, and wait else.
    is_helper: Vec<bool>,
    /// Where there are no steps, the thread whose time counts as elapsed.
    main_thread: Option<usize>,
    /// Python events by `Python id`; filled when the first event looks for a parent on another thread.
    python_ids: Option<FxHashMap<i64, HostEventId>>,
}

impl<'a> Pass<'a, '_> {
    /// Puts an event on its thread's stack.
    fn open(&mut self, id: HostEventId) {
        let host = &self.profile.host;
        let (kind, thread) = (host.kind[id.index()], host.thread[id.index()].index());
        let start = host.start[id.index()];
        self.advance(thread, start);
        let below = innermost_base(&self.threads[thread].stack, start);
        if let (Some(by_event), Some(below)) = (&mut self.charges.by_event, below) {
            by_event.below[id.index()] = below.id;
        }
        let lines = &self.profile.frame_lines;
        let stacks = &mut self.events.stacks;
        let below = below.map(|it| (stack_at(lines, stacks, it, start).0, it.operator, it.pass));
        let (parent_stack, pass) = match below {
            Some((line_stack, _, pass)) => (line_stack, pass),
            None => {
                let adopted = self.adopted(id, kind, thread, start);
                let stack = adopted.map_or(Node::EMPTY, |it| self.events.stack_of[it.index()]);
                self.threads[thread].has_adopted = !stack.is_empty();
                if let Some(adopted) = adopted {
                    self.waiters.hand_over(adopted, (start, host.end(id)));
                }
                (stack, adopted.map(|it| self.events.pass(it)).unwrap_or_default())
            }
        };
        let mut open = OpenEvent {
            end: host.end(id),
            line_stack: parent_stack,
            id,
            kind,
            is_frame: false,
            is_sync: false,
            is_bare: kind == HostKind::Annotation && below.is_none(),
            is_waiting: false,
            waits_for_backward: false,
            pass,
            checkpoint: CheckpointFrame::Other,
            backward_node: None,
            operator: HostEventId::NONE,
        };
        match kind {
            HostKind::Annotation => {}
            HostKind::Python => self.open_python(&mut open, parent_stack, thread, start),
            HostKind::Operator => self.open_operator(&mut open, thread, start),
            HostKind::Runtime => self.open_runtime(&mut open, thread, start),
        }
        self.events.stack_of[id.index()] = open.line_stack;
        if open.pass != ComputePass::Forward {
            *grow_to(&mut self.events.passes, id.index()) = open.pass;
        }
        if open.pass != ComputePass::Recompute {
            let node = self.threads[thread].backward(start).node;
            open.backward_node = node.filter(|it| start < it.end);
        }
        if !self.events.operator.is_empty() {
            let around = below.map_or(HostEventId::NONE, |(_, operator, _)| operator).get();
            let around = around.and_then(|operator| {
                // Where operators overlap without nesting, the outermost may end before those in it.
                let outermost = || outermost_operator(&self.threads[thread].stack, start);
                if host.end(operator) > start { Some(operator) } else { outermost() }
            });
            open.operator = match kind {
                HostKind::Python => HostEventId::NONE,
                HostKind::Operator => around.unwrap_or(id),
                HostKind::Annotation | HostKind::Runtime => around.unwrap_or(HostEventId::NONE),
            };
            self.events.operator[id.index()] = open.operator;
            self.events.backward_node[id.index()] = open.backward_node.map_or(0, |it| it.row + 1);
        }
        self.threads[thread].stack.push(open);
    }

    fn open_python(&mut self, open: &mut OpenEvent, parent_stack: Node, thread: usize, start: Ns) {
        let host = &self.profile.host;
        let row = host.detail_row(open.id);
        let name = host.name[open.id.index()];
        let EventStacks { names, stacks, .. } = &mut self.events;
        let exact = names
            .caller(host.python.caller[row], &mut stacks.lines)
            .map(|line| (line, Evidence::Exact));
        let caller = exact.or_else(|| self.inferred.line(open.id));
        let below = innermost_python(&self.threads[thread].stack, start).copied();
        let call_stack = match (below, caller) {
            (Some(below), Some((line, evidence))) => {
                open.pass = self.origins.pass(&stacks.lines, line).unwrap_or(open.pass);
                let stack = stacks.with_line(parent_stack, below.is_frame, line, evidence);
                self.origins.below(stack, stacks)
            }
            _ => parent_stack,
        };
        match names.python(name, &mut stacks.lines) {
            PythonName::Frame { line, evidence, checkpoint, is_generated } => {
                open.is_frame = true;
                open.checkpoint = checkpoint;
                let caller = below.map_or(CheckpointFrame::Other, |it| it.checkpoint);
                open.pass = checkpoint.pass(caller, open.pass);
                if checkpoint == CheckpointFrame::Backward {
                    let inner = &mut self.threads[thread].inner_backward;
                    inner.push((open.end, BackwardPass::default()));
                }
                let call_stack = match is_generated {
                    true => self.backends.left_out(call_stack, stacks),
                    false => call_stack,
                };
                open.line_stack = stacks.push(call_stack, line, evidence);
            }
            PythonName::Call { waits_for_backward, is_waiting, is_unnamed } => {
                open.line_stack = match is_unnamed && !call_stack.is_empty() {
                    // What it does is done on lines of its own, or on that of the call.
                    true => stacks.push(
                        stacks.parent(call_stack),
                        stacks.line(call_stack),
                        Evidence::Function,
                    ),
                    false => call_stack,
                };
                open.is_waiting = is_waiting;
                open.waits_for_backward = waits_for_backward;
                if waits_for_backward {
                    self.waiters.push(self.profile, open.id, start);
                }
            }
        }
        if self.charges.idle_count[thread] != 0 {
            return;
        }
        let stacks = &self.events.stacks;
        let (line, evidence) = match caller {
            Some(caller) => caller,
            None => (stacks.line(parent_stack), stacks.evidence(parent_stack)),
        };
        if let Some(line) = line.get() {
            let (calls, weakest) = grow_to(&mut self.charges.calls, line.index());
            *calls += 1;
            *weakest = (*weakest).max(evidence);
            let callee = self.charges.callees.entry((line, name)).or_default();
            callee.calls += 1;
            callee.cpu += host.duration[open.id.index()];
        }
    }

    fn open_operator(&mut self, open: &mut OpenEvent, thread: usize, start: Ns) {
        let host = &self.profile.host;
        let row = host.detail_row(open.id);
        if self.events.names.call_stacks != CallStacks::Unused {
            let EventStacks { names, stacks, .. } = &mut self.events;
            if let Some(stack) = names.call_stack(host.operators.call_stack[row], stacks) {
                open.line_stack = stack.node;
                self.waiters.call_stack[thread] = stack.waits_for_backward.then_some(open.id);
            }
        }
        let stack = &self.threads[thread].stack;
        let mut inner = stack.iter().rev().filter(|it| it.end > start);
        let first = inner.find(|it| matches!(it.kind, HostKind::Operator | HostKind::Python));
        let is_outermost = first.is_none_or(|it| it.kind == HostKind::Python);
        let EventStacks { names, stacks, .. } = &mut self.events;
        let exact = names.caller(host.operators.line(row), &mut stacks.lines);
        let line = exact.map(|line| (line, Evidence::Exact));
        if let (Some(frame), Some((line, evidence))) =
            (first.filter(|_| is_outermost), line.or_else(|| self.inferred.line(open.id)))
        {
            let stacks = &mut self.events.stacks;
            // What a call on such a line runs has its lines from the call.
            if frame.is_frame || !self.origins.is_kernel_line(&stacks.lines, line) {
                open.pass = self.origins.pass(&stacks.lines, line).unwrap_or(open.pass);
                let stack = stacks.with_line(open.line_stack, frame.is_frame, line, evidence);
                open.line_stack = self.origins.below(stack, stacks);
            }
        }
        if is_outermost && let Some(line) = self.events.stacks.line(open.line_stack).get() {
            *grow_to(&mut self.charges.ops, line.index()) += 1;
            *grow_to(&mut self.charges.is_charged, open.line_stack.index()) = true;
            let charged = self.events.stacks.charged_line(open.line_stack);
            let operator =
                self.charges.operators.entry((charged, host.name[open.id.index()])).or_default();
            operator.calls += 1;
            operator.cpu += host.duration[open.id.index()];
            let elements = self.elements.of(self.profile, host.operators.input_dims[row]);
            let sum = grow_to(&mut self.charges.elements, charged.index());
            *sum = sum.saturating_add(elements);
        }
        let is_backward =
            host.operators.forward_thread[row] != 0 && host.operators.sequence[row] >= 0;
        if is_backward && open.pass != ComputePass::Recompute {
            let pass = self.threads[thread].backward(start);
            if pass.operators_end <= start {
                let row = u32::try_from(self.events.backward_nodes.len()).unwrap_or(u32::MAX - 1);
                pass.node = Some(BackwardNode { row, end: open.end });
                self.events.backward_nodes.push(open.id);
            }
            pass.operators_end = pass.operators_end.max(open.end);
        }
    }

    fn open_runtime(&mut self, open: &mut OpenEvent, thread: usize, start: Ns) {
        let name = self.profile.strings.get(self.profile.host.name[open.id.index()]);
        let row = self.profile.host.detail_row(open.id);
        let correlation = self.profile.host.runtime.correlation[row];
        open.is_sync = is_blocking_call(name)
            || (is_asynchronous_copy(name) && self.gaps.is_pageable_copy(correlation));
        if open.is_sync && !self.threads[thread].stack.iter().any(|it| it.is_sync && it.end > start)
        {
            let charged = self.events.stacks.charged_line(open.line_stack);
            let sync = Sync { start, end: open.end, line: charged, row: self.syncs.len() };
            self.threads[thread].syncs.push(sync);
            self.syncs.push(open.id);
            if let Some(charged) = charged.get() {
                *grow_to(&mut self.charges.is_charged, open.line_stack.index()) = true;
                let mut cursor = self.threads[thread].step_cursor;
                let steps = &mut self.charges.steps;
                self.steps.split(start, open.end, &mut cursor, |step, time| {
                    steps.entry((charged, step)).or_default().sync += time;
                });
            }
        }
    }

    /// The event on another thread with whose line stack the outermost event of a thread starts.
    fn adopted(
        &mut self,
        id: HostEventId,
        kind: HostKind,
        thread: usize,
        start: Ns,
    ) -> Option<HostEventId> {
        let host = &self.profile.host;
        if kind == HostKind::Python
            && let parent = host.python.parent[host.detail_row(id)]
            && parent >= 0
            && let Some(parent) = self.python_event(parent)
            && host.thread[parent.index()] != host.thread[id.index()]
            && order_key(self.profile, parent) < order_key(self.profile, id)
        {
            return Some(parent);
        }
        if !self.is_autograd[thread] {
            return None;
        }
        self.waiters.latest(self.profile, thread, start)
    }

    fn python_event(&mut self, python_id: i64) -> Option<HostEventId> {
        let host = &self.profile.host;
        let ids = self.python_ids.get_or_insert_with(|| {
            let mut ids = FxHashMap::default();
            for id in host.ids().filter(|id| host.kind[id.index()] == HostKind::Python) {
                ids.entry(host.python.id[host.detail_row(id)]).or_insert(id);
            }
            ids
        });
        ids.get(&python_id).copied()
    }

    fn memory_event(&mut self, row: u32) {
        let memory = &self.profile.memory;
        let (thread, at_time) = (memory.thread[row as usize].index(), memory.at[row as usize]);
        self.advance(thread, at_time);
        let open = innermost_at(&self.threads[thread].stack, at_time);
        let (lines, stacks) = (&self.profile.frame_lines, &mut self.events.stacks);
        let stack = open.map_or(Node::EMPTY, |open| stack_at(lines, stacks, open, at_time).0);
        self.events.memory_stacks.push(stack);
        if let Some(by_event) = &mut self.charges.by_event {
            by_event.memory.push(open.map_or(HostEventId::NONE, |open| open.id));
        }
    }

    /// Charges the time of `thread` up to `until` and takes ended events off its stack.
    fn advance(&mut self, thread: usize, until: Ns) {
        let (state, mut charge) = self.charge(thread);
        while let Some(top) = state.stack.last() {
            let (top_end, last) = (top.end, top.end.min(until));
            // Below an annotation, what is innermost may end before the annotation does.
            while state.clock < last {
                let start = state.clock;
                // An annotation alone says nothing of the thread: recording ends before the ranges that it finds open.
                let Some(&open) = innermost_at(&state.stack, start) else {
                    state.clock = last;
                    continue;
                };
                // A frame whose lines are known is on one after the other.
                let (node, until) = stack_at(charge.lines, charge.stacks, &open, start);
                let until = open.end.min(last).min(until);
                let (is_handed_over, until) = match open.waits_for_backward {
                    true => charge.waiters.at(open.id, start, until),
                    false => (false, until),
                };
                state.clock = until;
                charge.add(state, (start, until), &open, node, is_handed_over);
            }
            if top_end > until {
                return;
            }
            state.stack.pop();
        }
        state.clock = until;
    }

    /// Charges what is left of the time of `thread`.
    fn end(&mut self, thread: usize) {
        self.advance(thread, Ns::MAX);
        let (state, mut charge) = self.charge(thread);
        charge.flush(state);
        let ThreadState { slacks, syncs, .. } = state;
        for (gaps, slack) in charge.gaps.iter().zip(slacks) {
            for gap in &gaps[slack.len()..] {
                slack.look_at(gap, syncs, &mut charge.charges.avoidable);
            }
        }
    }

    fn charge(&mut self, thread: usize) -> (&mut ThreadState, OpenCharge<'_>) {
        let Self {
            profile,
            events,
            charges,
            steps,
            gaps,
            paths,
            threads,
            main_thread,
            waiters,
            is_helper,
            ..
        } = self;
        let charge = OpenCharge {
            is_idle: charges.idle_count[thread] != 0,
            lines: &profile.frame_lines,
            stacks: &mut events.stacks,
            waiters,
            charges,
            steps,
            gaps: gaps.of_thread(thread),
            path: paths.of_thread(thread),
            thread,
            is_helper: is_helper[thread],
            is_main: *main_thread == Some(thread),
        };
        (&mut threads[thread], charge)
    }
}

/// Charges the time of one thread.
struct OpenCharge<'a> {
    lines: &'a FrameLines,
    stacks: &'a mut Stacks,
    waiters: &'a Waiters,
    charges: &'a mut HostCharges,
    steps: &'a Steps,
    gaps: &'a [Vec<IdleGap>],
    path: &'a [HostPart],
    thread: usize,
    /// Whether the thread only waits.
    is_idle: bool,
    /// Whether the thread mostly waits.
    is_helper: bool,
    /// Whether there are no steps and the thread's time counts as elapsed.
    is_main: bool,
}

impl OpenCharge<'_> {
    /// Charges the time `start..end`, during all of which `open` is the innermost, with the line stack `node`. It is handed over if
    /// another thread works for `open` meanwhile, whose thread time it is.
    fn add(
        &mut self,
        state: &mut ThreadState,
        (start, end): (Ns, Ns),
        open: &OpenEvent,
        node: Node,
        is_handed_over: bool,
    ) {
        let (event, is_waiting) = (open.id, open.is_waiting);
        self.add_path(state, (start, end), node);
        if self.is_idle {
            self.charges.idle_threads[self.thread] += end - start;
            return;
        }
        let is_waiting_helper = self.is_helper && is_waiting;
        if is_waiting_helper {
            self.charges.idle_threads[self.thread] += end - start;
        }
        if is_waiting_helper || is_handed_over {
            self.add_without_time(state, (start, end), open, node);
            return;
        }
        let charged = self.stacks.charged_line(node);
        let (in_steps, elapsed) = self.in_steps(state, (start, end));
        if let Some(by_event) = &mut self.charges.by_event {
            let amounts = by_event.amounts.at(event, node, open.line_stack);
            amounts.cpu += end - start;
            amounts.waiting += if is_waiting { end - start } else { Ns::ZERO };
            if let Some(times) = &mut by_event.times {
                times.threads[self.thread].push(EventSpan { start, end, event, node });
            }
        }
        let of_node = grow_to(&mut self.charges.time, node.index());
        of_node.cpu += end - start;
        of_node.in_steps += in_steps;
        if state.has_adopted {
            *grow_to(&mut self.charges.adopted, node.index()) += end - start;
        } else {
            of_node.elapsed += elapsed;
        }
        match open.pass {
            ComputePass::Forward => {}
            ComputePass::Recompute => {
                *grow_to(&mut self.charges.recomputed, node.index()) += end - start
            }
            ComputePass::Backward => {
                *grow_to(&mut self.charges.own_backward, node.index()) += end - start
            }
        }
        self.add_to_node(open, (start, end));
        if is_waiting {
            *grow_to(&mut self.charges.waiting, node.index()) += end - start;
            self.charges.waiting_in_steps += in_steps;
            if let Some(charged) = charged.get() {
                let (mut cursor, per_step) = (state.step_cursor, &mut self.charges.steps);
                self.steps.split(start, end, &mut cursor, |step, time| {
                    per_step.entry((charged, step)).or_default().waiting += time;
                });
            }
        }
        if charged == state.line && start == state.charged_until {
            state.charged_until = end;
        } else {
            self.flush(state);
            (state.line, state.charged_since, state.charged_until) = (charged, start, end);
        }
        if !self.gaps.is_empty() {
            self.add_gaps(state, (start, end), open, node);
        }
    }

    /// Adds the time `start..end` to the backward node that `open` is in.
    fn add_to_node(&mut self, open: &OpenEvent, (start, end): (Ns, Ns)) {
        if let Some(BackwardNode { row, end: node_end }) = open.backward_node {
            // What began in a node may end after it.
            let time = (end.min(node_end) - start).max(Ns::ZERO);
            *grow_to(&mut self.charges.backward, row as usize) += time;
        }
    }

    /// Charges what elapses, how long a backward node lasts, and what devices are idle in the time `start..end`, which is no thread
    /// time.
    fn add_without_time(
        &mut self,
        state: &mut ThreadState,
        (start, end): (Ns, Ns),
        open: &OpenEvent,
        node: Node,
    ) {
        self.add_to_node(open, (start, end));
        let (_, elapsed) = self.in_steps(state, (start, end));
        if !state.has_adopted {
            grow_to(&mut self.charges.time, node.index()).elapsed += elapsed;
        }
        if !self.gaps.is_empty() {
            self.add_gaps(state, (start, end), open, node);
        }
    }

    /// How much of the time `start..end` lies in steps, and in those of this thread.
    fn in_steps(&self, state: &mut ThreadState, (start, end): (Ns, Ns)) -> (Ns, Ns) {
        match self.steps.0.is_empty() {
            true => (end - start, if self.is_main { end - start } else { Ns::ZERO }),
            false => self.steps.within(start, end, self.thread, &mut state.clock_cursor),
        }
    }

    /// Charges the time that the thread has spent on its charged line.
    fn flush(&mut self, state: &mut ThreadState) {
        let Self { charges, steps, thread, .. } = self;
        let (charged, start, end) = (state.line, state.charged_since, state.charged_until);
        state.charged_since = end;
        charges.threads[*thread] += end - start;
        if let Some(charged) = charged.get() {
            *charges.by_thread[*thread].entry(charged).or_default() += end - start;
            steps.split(start, end, &mut state.step_cursor, |step, time| {
                charges.steps.entry((charged, step)).or_default().cpu += time;
            });
        }
    }

    /// Charges what of `start..end` is on a critical path.
    fn add_path(&mut self, state: &mut ThreadState, (start, end): (Ns, Ns), node: Node) {
        let cursor = &mut state.path_cursor;
        while self.path.get(*cursor).is_some_and(|it| it.end <= start) {
            *cursor += 1;
        }
        for part in self.path[*cursor..].iter().take_while(|it| it.start < end) {
            let line = self.stacks.charged_line(node);
            let time = self.charges.paths.entry((part.piece, line)).or_default();
            *time += part.end.min(end) - part.start.max(start);
        }
    }

    /// Charges what of `start..end` devices were idle.
    fn add_gaps(
        &mut self,
        state: &mut ThreadState,
        (start, end): (Ns, Ns),
        open: &OpenEvent,
        node: Node,
    ) {
        let Self { charges, stacks, steps, gaps, .. } = self;
        let charged = stacks.charged_line(node).get();
        state.gap_cursors.resize(gaps.len(), 0);
        state.slacks.resize_with(gaps.len(), Slack::default);
        let ThreadState { gap_cursors, slacks, syncs, .. } = state;
        for ((gaps, cursor), slack) in gaps.iter().zip(gap_cursors).zip(slacks) {
            while gaps.get(*cursor).is_some_and(|gap| gap.end <= start) {
                *cursor += 1;
            }
            for (row, gap) in gaps.iter().enumerate().skip(*cursor) {
                if end <= gap.start {
                    break;
                }
                for gap in &gaps[slack.len().min(row + 1)..=row] {
                    slack.look_at(gap, syncs, &mut charges.avoidable);
                }
                let (from, to) = (gap.start.max(start), gap.end.min(end));
                charges.idle_covered += to - from;
                if let Some(by_event) = &mut charges.by_event {
                    by_event.amounts.at(open.id, node, open.line_stack).idle += to - from;
                    if let Some(times) = &mut by_event.times {
                        let spans = times.idle.entry(gap.device).or_default();
                        spans.push(EventSpan { start: from, end: to, event: open.id, node });
                    }
                }
                match charged {
                    None => charges.idle_without_line += to - from,
                    Some(charged) => {
                        let caused = slack.until(row, gap).min(to) - from;
                        grow_to(&mut charges.idle, node.index()).add(
                            to - from,
                            gap.cause,
                            caused.max(Ns::ZERO),
                        );
                        let mut step_cursor = state.step_cursor;
                        let per_step = &mut charges.steps;
                        steps.split(from, to, &mut step_cursor, |step, time| {
                            per_step.entry((charged, step)).or_default().gpu_idle += time;
                        });
                    }
                }
            }
        }
    }
}

impl Waiters {
    fn push(&mut self, profile: &Profile, id: HostEventId, start: Ns) {
        while self.open.last().is_some_and(|&it| profile.host.end(it) <= start) {
            self.open.pop();
        }
        self.open.push(id);
        self.handed_over.insert(id, Vec::new());
    }

    /// Notes that another thread works during `span` for the event `id`, if that waits for the engine. Spans come in the order of
    /// their starts.
    fn hand_over(&mut self, id: HostEventId, (start, end): (Ns, Ns)) {
        let Some(spans) = self.handed_over.get_mut(&id) else { return };
        match spans.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => spans.push((start, end)),
        }
    }

    /// Whether another thread works at `start` for the call `id`, and how long up to `end` that stays as it is.
    fn at(&self, id: HostEventId, start: Ns, end: Ns) -> (bool, Ns) {
        let spans = self.handed_over.get(&id).map_or(&[][..], Vec::as_slice);
        match spans.get(spans.partition_point(|it| it.1 <= start)) {
            None => (false, end),
            Some(next) if next.0 <= start => (true, end.min(next.1)),
            Some(next) => (false, end.min(next.0)),
        }
    }

    /// The latest-started event on another thread of the same process that waits for the engine at `at`.
    fn latest(&self, profile: &Profile, thread: usize, at: Ns) -> Option<HostEventId> {
        let is_other = |id: HostEventId| {
            let other = profile.host.thread[id.index()].index();
            other != thread && profile.threads[other].pid == profile.threads[thread].pid
        };
        let open =
            self.open.iter().rev().copied().find(|&id| profile.host.end(id) > at && is_other(id));
        let by_call_stack = self.call_stack.iter().flatten().copied().filter(|&id| is_other(id));
        open.or_else(|| by_call_stack.max_by_key(|&id| profile.host.start[id.index()]))
    }
}

/// The line stack of an open event at a time, and until when: of a frame whose lines were logged that with the line it is on.
#[inline]
fn stack_at(lines: &FrameLines, stacks: &mut Stacks, open: &OpenEvent, at: Ns) -> (Node, Ns) {
    let place = if open.is_frame { lines.place(open.id, at) } else { None };
    let definition = stacks.line(open.line_stack).get();
    let (Some((place, until)), Some(definition)) = (place, definition) else {
        return (open.line_stack, Ns::MAX);
    };
    let stack = match line_in_frame(place, definition, &mut stacks.lines) {
        Some(line) => stacks.with_line(open.line_stack, true, line, Evidence::Exact),
        None => open.line_stack,
    };
    (stack, until)
}

/// The innermost event that is open at `at` and hands on its line stack: any but an annotation, whose end does not follow
/// the frames that were open when it began.
#[inline]
fn innermost_base(stack: &[OpenEvent], at: Ns) -> Option<&OpenEvent> {
    stack.iter().rev().find(|it| it.kind != HostKind::Annotation && it.end > at)
}

/// The event whose line stack is that of the instant `at`: the innermost that hands on its own or, where there is none,
/// the innermost annotation that began without one.
#[inline]
fn innermost_at(stack: &[OpenEvent], at: Ns) -> Option<&OpenEvent> {
    let bare = || stack.iter().rev().find(|it| it.is_bare && it.end > at);
    innermost_base(stack, at).or_else(bare)
}

/// The innermost Python event that is open at `at`.
#[inline]
fn innermost_python(stack: &[OpenEvent], at: Ns) -> Option<&OpenEvent> {
    stack.iter().rev().find(|open| open.kind == HostKind::Python && open.end > at)
}

/// The operator that is outermost of those open at `at` above the innermost Python event.
fn outermost_operator(stack: &[OpenEvent], at: Ns) -> Option<HostEventId> {
    let open = stack.iter().rev().filter(|it| it.end > at);
    let above_python = open.take_while(|it| it.kind != HostKind::Python);
    above_python.filter(|it| it.kind == HostKind::Operator).last().map(|it| it.id)
}
