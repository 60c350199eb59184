//! The amounts of the ledger by whole stacks: the lines of each, with the calls, operators and kernels below them.

use std::collections::BTreeSet;

use ledger::{Metric, Ns, Reason, share_of};
use line_stacks::{BookedStacks, Node};
use profile::{Bytes, DeviceEventId, HostEventId, HostKind, Profile, StrId, Thread};
use recorded::{Frame, IdleGaps, Launches, RecordedSources, Steps};
use rustc_hash::FxHashMap;
use stack_books::{FrameRow, SizedOperator, StackAmount, StackBooks, StackFrame, StackRow};

use super::device::DeviceStacks;
use super::modules::are_in_modules;
use crate::event_stacks::EventStacks;
use crate::host_charges::{AmountsByEvent, EventAmounts, EventCharges, EventSpan, HostCharges};
use crate::options::StackOptions;

/// What stacks are made from.
pub(crate) struct StackSources<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) sources: &'a RecordedSources,
    pub(crate) steps: &'a Steps,
    /// The numbers of the steps that count.
    pub(crate) chosen_steps: &'a BTreeSet<u32>,
    pub(crate) events: &'a EventStacks<'a>,
    pub(crate) host: &'a HostCharges,
    pub(crate) by_event: &'a EventCharges,
    pub(crate) gaps: &'a IdleGaps,
    /// The syncs in order.
    pub(crate) syncs: &'a [HostEventId],
    pub(crate) launches: &'a Launches,
    pub(crate) stacks: &'a DeviceStacks,
    /// Rows of the memory table in the order of time, and whether what they allocated is in use at the peak.
    pub(crate) memory_events: (&'a [u32], &'a [bool]),
    pub(crate) options: &'a StackOptions,
}

/// Books every amount of [`StackBooks::METRICS`] on its stack. The sums are those of the ledger, by metric, line and reason.
pub(crate) fn stack_books<'a>(from: &'a StackSources<'a>) -> StackCharging<'a> {
    let no_line =
        if from.events.names.has_stacks { Reason::NoPythonFrame } else { Reason::NoStacks };
    let mut booked = BookedStacks::new(&from.events.stacks, from.sources);
    if from.options.by_step {
        booked.books.keep_steps();
    }
    let leaves = Leaves::new(from, &mut booked.books);
    let chosen = ChosenEvents::new(from);
    let rows = FxHashMap::default();
    let mut charging = StackCharging { from, no_line, booked, leaves, chosen, rows };
    charging.add_host();
    charging.add_devices();
    charging.add_memory();
    charging.add_without_stack();
    charging
}

/// Which events count.
struct ChosenEvents {
    /// By thread: whether what happens on it counts.
    threads: Vec<bool>,
    /// By host event, whether it is in a module that counts; `None` where all events are.
    are_in_modules: Option<Vec<bool>>,
    /// What host events have in the steps that count; `None` where all time counts.
    in_steps: Option<AmountsByEvent>,
    /// What host events have on each stack in each step that counts, in the order of events, stacks and steps; empty unless it
    /// is asked for.
    by_step: Vec<(HostEventId, Node, u32, EventAmounts)>,
    /// Whether what happens on the host counts.
    has_host: bool,
    /// Whether what happens while nothing is open on the host counts, in steps that do.
    has_rest: bool,
    /// Whether everything counts.
    is_all: bool,
}

impl ChosenEvents {
    fn new(from: &StackSources<'_>) -> Self {
        let (strings, events) = (&from.profile.strings, &from.options.events);
        let threads = from.profile.threads.iter();
        let is_chosen = |it: &Thread| events.has_thread(strings.get(it.tid), strings.get(it.name));
        Self {
            threads: threads.map(is_chosen).collect(),
            are_in_modules: (!events.modules.is_empty())
                .then(|| are_in_modules(from.profile, from.events, events)),
            in_steps: (!events.steps.is_empty()).then(|| amounts_in_steps(from)),
            by_step: if from.options.by_step { amounts_by_step(from) } else { Vec::new() },
            has_host: events.streams.is_empty(),
            has_rest: events.is_by_step_alone(),
            is_all: events.is_all(),
        }
    }

    /// Whether what happens in a host event counts, in steps that do.
    fn has_host(&self, profile: &Profile, event: HostEventId) -> bool {
        self.has_host && self.has_launcher(profile, event)
    }

    /// Whether what a host event launches counts, in steps that do.
    fn has_launcher(&self, profile: &Profile, event: HostEventId) -> bool {
        let thread = profile.host.thread[event.index()];
        self.threads.get(thread.index()).copied().unwrap_or(false)
            && self.are_in_modules.as_ref().is_none_or(|it| it[event.index()])
    }
}

/// What host events have in the steps that count.
fn amounts_in_steps(from: &StackSources<'_>) -> AmountsByEvent {
    let StackSources { profile, events, by_event, .. } = from;
    let mut amounts = AmountsByEvent::new(profile.host.len());
    let own = |span: &EventSpan| events.stack_of[span.event.index()];
    let Some(times) = &by_event.times else { return amounts };
    let in_steps = |span: &EventSpan| time_in_steps(from, span.start, span.end);
    for span in times.threads.iter().flatten() {
        let time = in_steps(span);
        let amounts = amounts.at(span.event, span.node, own(span));
        amounts.cpu += time;
        // A call waits all the time or never.
        if by_event.amounts.on_own[span.event.index()].waiting != Ns::ZERO {
            amounts.waiting += time;
        }
    }
    for span in times.idle.values().flatten() {
        amounts.at(span.event, span.node, own(span)).idle += in_steps(span);
    }
    amounts
}

/// What host events have on each stack in each step that counts, in the order of events, stacks and steps.
fn amounts_by_step(from: &StackSources<'_>) -> Vec<(HostEventId, Node, u32, EventAmounts)> {
    let Some(times) = &from.by_event.times else { return Vec::new() };
    let mut amounts: FxHashMap<(HostEventId, Node, u32), EventAmounts> = FxHashMap::default();
    for span in times.threads.iter().flatten() {
        let waits = from.by_event.amounts.on_own[span.event.index()].waiting != Ns::ZERO;
        split_by_step(from, span.start, span.end, |step, time| {
            let amounts = amounts.entry((span.event, span.node, step)).or_default();
            amounts.cpu += time;
            amounts.waiting += if waits { time } else { Ns::ZERO };
        });
    }
    for span in times.idle.values().flatten() {
        split_by_step(from, span.start, span.end, |step, time| {
            amounts.entry((span.event, span.node, step)).or_default().idle += time;
        });
    }
    let amounts = amounts.into_iter();
    let mut sorted: Vec<_> =
        amounts.map(|((event, node, step), it)| (event, node, step, it)).collect();
    sorted.sort_unstable_by_key(|&(event, node, step, _)| (event, node, step));
    sorted
}

/// Calls `charge` with each step that counts and what of `start..end` lies in it.
fn split_by_step(from: &StackSources<'_>, start: Ns, end: Ns, mut charge: impl FnMut(u32, Ns)) {
    let steps = from.steps;
    let mut cursor = steps.0.partition_point(|it| it.end <= start);
    steps.split(start, end, &mut cursor, |step, time| {
        if from.chosen_steps.contains(&step) {
            charge(step, time);
        }
    });
}

/// What of `start..end` lies in the steps that count; all of it where steps do not matter.
fn time_in_steps(from: &StackSources<'_>, start: Ns, end: Ns) -> Ns {
    if from.options.events.steps.is_empty() {
        return end - start;
    }
    let mut sum = Ns::ZERO;
    split_by_step(from, start, end, |_, time| sum += time);
    sum
}

/// The calls, operators and runtime calls between the innermost frame and each host event, as a tree.
struct Leaves {
    /// By host event.
    of_event: Vec<Leaf>,
    parent: Vec<Leaf>,
    frame: Vec<FrameRow>,
}

/// A node of [`Leaves`], one more than its row; 0 is no leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Leaf(u32);

impl Leaf {
    const NONE: Self = Self(0);

    fn row(self) -> Option<usize> {
        (self.0 as usize).checked_sub(1)
    }
}

impl Leaves {
    fn new(from: &StackSources<'_>, books: &mut StackBooks) -> Self {
        let (profile, host) = (from.profile, &from.profile.host);
        let mut leaves =
            Self { of_event: vec![Leaf::NONE; host.len()], parent: Vec::new(), frame: Vec::new() };
        let mut known: FxHashMap<(Leaf, FrameRow), Leaf> = FxHashMap::default();
        // By kind, name and sizes of the inputs.
        let mut frames: FxHashMap<(HostKind, StrId, StrId), Option<FrameRow>> =
            FxHashMap::default();
        for &id in &from.events.order {
            let (kind, name) = (host.kind[id.index()], host.name[id.index()]);
            let sizes = match kind {
                HostKind::Operator if from.options.operator_sizes => {
                    host.operators.input_dims[host.detail_row(id)]
                }
                _ => StrId::NONE,
            };
            let frame = *frames.entry((kind, name, sizes)).or_insert_with(|| {
                let name = profile.strings.get(name);
                let frame = match kind {
                    HostKind::Annotation => None,
                    HostKind::Python => call_name(name).map(StackFrame::Call),
                    HostKind::Operator => Some(operator(profile, name, sizes)),
                    HostKind::Runtime => Some(StackFrame::Runtime(name.to_owned())),
                };
                frame.map(|frame| books.frame(frame))
            });
            let Some(frame) = frame else { continue };
            // An operator stands for the call of the built-in that ran it, which has the same name most of the time.
            let below = from.by_event.below[id.index()].get();
            let below = below.filter(|below| {
                kind != HostKind::Python && host.kind[below.index()] != HostKind::Python
            });
            let parent = below.map_or(Leaf::NONE, |below| leaves.of_event[below.index()]);
            let leaf = *known.entry((parent, frame)).or_insert_with(|| {
                leaves.parent.push(parent);
                leaves.frame.push(frame);
                Leaf(u32::try_from(leaves.parent.len()).unwrap_or(u32::MAX))
            });
            leaves.of_event[id.index()] = leaf;
        }
        leaves
    }

    /// The frames of a leaf, outermost first.
    fn frames(&self, leaf: Leaf) -> Vec<FrameRow> {
        let (mut frames, mut at) = (Vec::new(), leaf);
        while let Some(row) = at.row() {
            frames.push(self.frame[row]);
            at = self.parent[row];
        }
        frames.reverse();
        frames
    }
}

/// An operator, with the sizes of its inputs unless they are `NONE`.
fn operator(profile: &Profile, name: &str, sizes: StrId) -> StackFrame {
    let name = name.to_owned();
    match sizes.get() {
        Some(sizes) => {
            // Some traces have a line for each number.
            let sizes = profile.strings.get(sizes).split_whitespace().collect::<String>();
            let sizes = sizes.replace(',', ", ");
            StackFrame::SizedOperator(SizedOperator { name, sizes })
        }
        None => StackFrame::Operator(name),
    }
}

/// What a Python event that is no frame is called, without the address of the object that it is a method of: calls of many
/// objects are one. `None` for frames, and for modules, whose frames say more.
fn call_name(name: &str) -> Option<String> {
    if Frame::parse(name).is_some() || name.starts_with("nn.Module: ") {
        return None;
    }
    let address = name.rfind(" at 0x").filter(|_| name.ends_with('>'));
    Some(address.map_or(name.to_owned(), |at| format!("{}>", &name[..at])))
}

/// The books of stacks, and the stack of each event.
pub(crate) struct StackCharging<'a> {
    pub(super) from: &'a StackSources<'a>,
    /// Why something without a line has none.
    no_line: Reason,
    booked: BookedStacks<'a>,
    leaves: Leaves,
    chosen: ChosenEvents,
    /// The place in the books of line stacks with leaves.
    rows: FxHashMap<(Node, usize, Leaf), StackRow>,
}

impl StackCharging<'_> {
    /// The books.
    pub(crate) fn into_books(self) -> StackBooks {
        self.booked.books
    }

    /// The books so far.
    pub(super) fn books(&self) -> &StackBooks {
        &self.booked.books
    }

    /// The stack of a host event during a span; of several the first.
    pub(super) fn row_of(&mut self, span: &EventSpan) -> StackRow {
        self.row(span.node, 0, self.leaves.of_event[span.event.index()])
    }

    /// The stack of a device event; of several the first.
    pub(super) fn row_on_device(&mut self, event: DeviceEventId) -> StackRow {
        let base = self.launch_row(event, self.from.stacks.node(event), 0);
        let name = self.from.profile.device.name[event.index()];
        let name = self.from.profile.strings.get(name).to_owned();
        let frame = self.booked.books.frame(StackFrame::Device(name));
        self.booked.books.push(base, frame)
    }

    /// The stack of what has no line.
    pub(super) fn row_without_line(&mut self, reason: Reason) -> StackRow {
        self.booked.row(Node::EMPTY, 0, reason)
    }

    /// Adds an amount to a line stack, in equal parts where it belongs to several lines.
    fn add(&mut self, kept: impl Into<StackAmount>, node: Node, leaf: Leaf, amount: i64) {
        let (kept, n_parts) = (kept.into(), self.booked.n_parts(node));
        for part in 0..n_parts {
            let row = self.row(node, part, leaf);
            self.booked.books.add(kept, row, share_of(amount, n_parts, part));
        }
    }

    /// Says that of what is on a line stack an amount was in a step, in parts as [`Self::add`].
    fn add_in_step(&mut self, step: u32, metric: Metric, node: Node, leaf: Leaf, amount: i64) {
        let n_parts = self.booked.n_parts(node);
        for part in 0..n_parts {
            let row = self.row(node, part, leaf);
            let amount = share_of(amount, n_parts, part);
            self.booked.books.add_in_step(step, metric, row, amount);
        }
    }

    fn row(&mut self, node: Node, part: usize, leaf: Leaf) -> StackRow {
        let Self { no_line, booked, leaves, rows, .. } = self;
        *rows.entry((node, part, leaf)).or_insert_with(|| {
            let base = booked.row(node, part, *no_line);
            let frames = leaves.frames(leaf);
            frames.into_iter().fold(base, |parent, frame| booked.books.push(parent, frame))
        })
    }

    /// Whether what happens at a time counts.
    fn is_in_steps(&self, at: Ns) -> bool {
        let StackSources { options, steps, chosen_steps, .. } = self.from;
        options.events.steps.is_empty()
            || steps.at(at).is_some_and(|step| chosen_steps.contains(&step))
    }

    /// Thread time, waiting, idle time of devices, waits for devices.
    fn add_host(&mut self) {
        let StackSources { profile, events, by_event, syncs, .. } = self.from;
        for &id in &events.order {
            if !self.chosen.has_host(profile, id) {
                continue;
            }
            let (own, leaf) = (events.stack_of[id.index()], self.leaves.of_event[id.index()]);
            // A leaf is counted however long it took; frames and ranges are on the stacks of others.
            let is_counted = leaf != Leaf::NONE && self.is_in_steps(profile.host.start[id.index()]);
            if is_counted {
                // An event on several lines counts once, on the first.
                let row = self.row(own, 0, leaf);
                self.booked.books.count(row, 1);
            }
            let in_steps = self.chosen.in_steps.as_ref();
            let on_stacks: Vec<_> = in_steps.unwrap_or(&by_event.amounts).of(id, own).collect();
            // A thread that waits all the time has no time of its own, and can leave a device idle all the same.
            let is_charged = |it: &EventAmounts| it.cpu != Ns::ZERO || it.idle != Ns::ZERO;
            for (node, amounts) in on_stacks.into_iter().filter(|it| is_charged(&it.1)) {
                self.add(Metric::Cpu, node, leaf, amounts.cpu.0);
                self.add(Metric::Waiting, node, leaf, amounts.waiting.0);
                self.add(Metric::GpuIdle, node, leaf, amounts.idle.0);
                self.add_host_by_step(id, node, leaf);
            }
        }
        for &sync in *syncs {
            if !self.chosen.has_host(profile, sync) {
                continue;
            }
            let (node, leaf) = (events.stack_of[sync.index()], self.leaves.of_event[sync.index()]);
            let (start, end) = (profile.host.start[sync.index()], profile.host.end(sync));
            self.add(Metric::Sync, node, leaf, time_in_steps(self.from, start, end).0);
            if self.from.options.by_step {
                split_by_step(self.from, start, end, |step, time| {
                    self.add_in_step(step, Metric::Sync, node, leaf, time.0);
                });
            }
        }
    }

    /// Says what a host event has on a stack in each step.
    fn add_host_by_step(&mut self, event: HostEventId, node: Node, leaf: Leaf) {
        let place = (event, node);
        let mut at = self.chosen.by_step.partition_point(|&(it, on, ..)| (it, on) < place);
        while let Some(&(_, _, step, amounts)) =
            self.chosen.by_step.get(at).filter(|&&(it, on, ..)| (it, on) == place)
        {
            self.add_in_step(step, Metric::Cpu, node, leaf, amounts.cpu.0);
            self.add_in_step(step, Metric::Waiting, node, leaf, amounts.waiting.0);
            self.add_in_step(step, Metric::GpuIdle, node, leaf, amounts.idle.0);
            at += 1;
        }
    }

    /// Device time: each event below the operator that launched it.
    fn add_devices(&mut self) {
        let StackSources { profile, steps, chosen_steps, stacks, launches, options, .. } =
            self.from;
        let device = &profile.device;
        for event in device.ids() {
            let launch = launches.launch(event);
            let is_launch_chosen = launch.map_or(options.events.has_all_on_host(), |it| {
                self.chosen.has_launcher(profile, it)
                    && self.is_in_steps(profile.host.start[it.index()])
            });
            if !is_launch_chosen || !options.events.has_stream(device.stream[event.index()]) {
                continue;
            }
            let node = stacks.node(event);
            let n_parts = self.booked.n_parts(node);
            let name = profile.strings.get(device.name[event.index()]).to_owned();
            let frame = self.booked.books.frame(StackFrame::Device(name));
            let step = launch.filter(|_| options.by_step).and_then(|it| {
                let step = steps.at(profile.host.start[it.index()]);
                step.filter(|it| chosen_steps.contains(it))
            });
            for part in 0..n_parts {
                let base = self.launch_row(event, node, part);
                let books = &mut self.booked.books;
                let row = books.push(base, frame);
                let time = share_of(device.duration[event.index()].0, n_parts, part);
                books.add(Metric::Cuda, row, time);
                books.count(row, u64::from(part == 0));
                if let Some(step) = step {
                    books.add_in_step(step, Metric::Cuda, row, time);
                }
            }
        }
    }

    /// The operator that launched a device event, on the lines that it is charged to.
    fn launch_row(&mut self, event: DeviceEventId, node: Node, part: usize) -> StackRow {
        let StackSources { profile, launches, by_event, .. } = self.from;
        let Some(launch) = launches.launch(event) else {
            let is_in_flight = node.is_empty() && launches.is_in_flight(profile, event);
            let reason = if is_in_flight { Reason::InFlight } else { Reason::NoLaunch };
            return self.booked.row(node, part, reason);
        };
        let kind = |it: HostEventId| profile.host.kind[it.index()];
        let mut outwards =
            std::iter::successors(Some(launch), |it| by_event.below[it.index()].get());
        let around = outwards.find(|it| kind(*it) != HostKind::Runtime);
        let operator = around.filter(|it| kind(*it) == HostKind::Operator);
        let leaf = operator.map_or(Leaf::NONE, |it| self.leaves.of_event[it.index()]);
        self.row(node, part, leaf)
    }

    /// Allocated bytes, and those of them that are in use at the peak.
    fn add_memory(&mut self) {
        let StackSources { profile, events, by_event, memory_events, .. } = self.from;
        let innermost = events.memory_stacks.iter().zip(&by_event.memory);
        let rows = memory_events.0.iter().zip(memory_events.1);
        for ((&row, &is_at_peak), (&node, event)) in rows.zip(innermost) {
            let bytes = profile.memory.bytes[row as usize];
            let is_chosen =
                event.get().map_or(self.chosen.has_rest, |it| self.chosen.has_host(profile, it));
            if bytes > Bytes::ZERO && is_chosen && self.is_in_steps(profile.memory.at[row as usize])
            {
                let leaf = event.get().map_or(Leaf::NONE, |it| self.leaves.of_event[it.index()]);
                self.add(Metric::Alloc, node, leaf, bytes.0);
                if is_at_peak {
                    self.add(StackAmount::Peak, node, leaf, bytes.0);
                }
            }
        }
    }

    /// What happens while nothing is open that has a stack: idle time of devices, and the time of idle threads.
    fn add_without_stack(&mut self) {
        let StackSources { host, gaps, .. } = self.from;
        if !self.chosen.is_all {
            return;
        }
        let uncovered = gaps.with_launch - host.idle_covered;
        let waiting: Ns = host.idle_threads.iter().sum();
        for (reason, metric, time) in [
            (Reason::NoLaunch, Metric::GpuIdle, gaps.without_launch),
            (Reason::IdleThread, Metric::GpuIdle, uncovered),
            (Reason::IdleThread, Metric::Waiting, waiting),
        ] {
            if time != Ns::ZERO {
                let row = self.booked.row(Node::EMPTY, 0, reason);
                self.booked.books.add(metric, row, time.0);
            }
        }
    }
}
