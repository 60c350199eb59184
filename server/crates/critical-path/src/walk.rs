//! The walk back through a step.

use ledger::Ns;
use profile::{DeviceEventId, Profile};
use recorded::{KERNEL_GAP, Launches};
use run_summary::{CollectiveEvent, RecordedCollective, StepSpan};
use rustc_hash::FxHashMap;

use crate::device_orders::DeviceOrders;
use crate::joins::Joins;
use crate::nodes::{PathNode, PathTarget};

/// A collective of the host that began within this time after another one ended was queued behind it.
const QUEUED: Ns = Ns(20_000);

/// When a rank went on that waited for a collective of the host; its end where none waited.
fn done_at(it: &RecordedCollective) -> Ns {
    match it.blocked.from < it.blocked.until {
        true => it.start + it.blocked.until,
        false => it.end.max(it.start),
    }
}

/// What is walked over.
pub(crate) struct WalkedRecording<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) launches: &'a Launches,
    pub(crate) events: DeviceOrders,
    pub(crate) joins: Joins,
    pub(crate) collectives: Collectives<'a>,
}

/// The collectives of a recording in the orders in which they are looked for.
pub(crate) struct Collectives<'a> {
    all: &'a [RecordedCollective],
    /// By span, the rows of those launched in it.
    by_span: Vec<Vec<usize>>,
    /// Those of the host by when they were done, with their rows.
    on_host: Vec<(Ns, usize)>,
}

impl<'a> Collectives<'a> {
    /// Of a recording with the steps `spans`.
    pub(crate) fn new(all: &'a [RecordedCollective], spans: &[StepSpan]) -> Self {
        let mut found = Self { all, by_span: vec![Vec::new(); spans.len()], on_host: Vec::new() };
        for (row, it) in all.iter().enumerate() {
            let span = spans.partition_point(|span| span.start <= it.launched).checked_sub(1);
            if let Some(span) = span.filter(|&span| it.launched < spans[span].end) {
                found.by_span[span].push(row);
            }
            if let CollectiveEvent::Host(..) = it.event {
                found.on_host.push((done_at(it), row));
            }
        }
        found.on_host.sort_unstable();
        found
    }

    /// The last collective of the host that was done at `time`.
    fn done_before(&self, time: Ns) -> Option<(Ns, usize)> {
        let done = self.on_host.partition_point(|it| it.0 <= time);
        self.on_host[..done].last().copied()
    }
}

/// The nodes of the step with the place `index`, which is on `thread`: the first is what it ended with.
pub(crate) fn walk(
    recorded: &WalkedRecording<'_>,
    (index, span): (usize, &StepSpan),
    thread: usize,
) -> Vec<PathNode> {
    let profile = recorded.profile;
    let last = recorded.events.last_ended(profile, span.end);
    let is_last = |it: &DeviceEventId| profile.device.end(*it) == span.end;
    let last = last.filter(is_last).map_or(PathTarget::Host(thread, span.end), PathTarget::Device);
    let mut walk = Walk { recorded, span, rows: FxHashMap::default(), nodes: Vec::new() };
    walk.add(last);
    for &row in &recorded.collectives.by_span[index] {
        walk.add(match recorded.collectives.all[row].event {
            CollectiveEvent::Device(event) => PathTarget::Device(event),
            CollectiveEvent::Host(..) => PathTarget::HostCollective(row),
        });
    }
    let mut row = 0;
    while row < walk.nodes.len() {
        walk.look_before(row);
        row += 1;
    }
    walk.cut_threads();
    walk.nodes
}

struct Walk<'a> {
    recorded: &'a WalkedRecording<'a>,
    span: &'a StepSpan,
    rows: FxHashMap<PathTarget, usize>,
    nodes: Vec<PathNode>,
}

impl Walk<'_> {
    /// The row of the node of `target`.
    fn add(&mut self, target: PathTarget) -> usize {
        if let Some(&row) = self.rows.get(&target) {
            return row;
        }
        let (start, end) = match target {
            PathTarget::Device(event) => (
                self.recorded.profile.device.start[event.index()],
                self.recorded.profile.device.end(event),
            ),
            PathTarget::Host(_, until) => (self.span.start, until),
            PathTarget::HostCollective(row) => {
                let it = &self.recorded.collectives.all[row];
                (it.start, done_at(it))
            }
        };
        let begin = self.span.start;
        let (start, end) = (start.max(begin), end.max(begin));
        let row = self.nodes.len();
        self.nodes.push(PathNode {
            target,
            from: begin,
            start,
            end,
            is_launched: false,
            before: None,
        });
        self.rows.insert(target, row);
        row
    }

    fn look_before(&mut self, row: usize) {
        let node = self.nodes[row];
        let begin = self.span.start;
        if node.start <= begin && !matches!(node.target, PathTarget::Host(..)) {
            return;
        }
        let (before, at, is_launched) = match node.target {
            PathTarget::Device(event) => self.before_device(event),
            PathTarget::Host(thread, until) => {
                let join = self.recorded.joins.before(thread, until);
                (join.map(|it| it.target), join.map_or(begin, |it| it.at), false)
            }
            PathTarget::HostCollective(collective) => self.before_collective(collective),
        };
        let at = at.max(begin).min(node.end);
        // Events of a stream may overlap: then the later one counts from the end of the other.
        let is_host = matches!(node.target, PathTarget::Host(..));
        self.nodes[row].start = if is_host { at } else { node.start.max(at) };
        self.nodes[row].from = at;
        self.nodes[row].is_launched = is_launched;
        if let Some(before) = before.filter(|_| begin < at) {
            self.nodes[row].before = Some(self.add(before));
        }
    }

    /// What a device event waited for, until when, and whether that was its launch.
    fn before_device(&self, event: DeviceEventId) -> (Option<PathTarget>, Ns, bool) {
        let (host, device) = (&self.recorded.profile.host, &self.recorded.profile.device);
        let start = device.start[event.index()];
        let on_stream = self.recorded.events.before_on_stream(event);
        let is_before = |it: &DeviceEventId| {
            device.start[it.index()] < start && device.end(*it) <= device.end(event)
        };
        let on_stream = on_stream.filter(is_before);
        let stream_at = on_stream.map(|it| device.end(it));
        let launch = self.recorded.launches.launch(event);
        let call = launch.map(|it| (host.start[it.index()].min(start), host.end(it).min(start)));
        let is_late = call.is_some_and(|(called, _)| stream_at.is_none_or(|it| it < called));
        // It waited for its stream and its launch at least; if both were long ago, for another stream.
        let ready = if is_late { call.map(|it| it.1) } else { stream_at };
        if ready.is_none_or(|it| it.saturating_add(KERNEL_GAP) <= start)
            && let Some(other) = self.recorded.events.before_on_device(self.recorded.profile, event)
            && ready.is_none_or(|it| it < device.end(other))
        {
            return (Some(PathTarget::Device(other)), device.end(other), false);
        }
        match (launch, call, on_stream, stream_at) {
            (Some(launch), Some((called, _)), ..) if is_late => {
                let thread = host.thread[launch.index()].index();
                let is_prompt = ready.is_some_and(|it| start < it.saturating_add(KERNEL_GAP));
                (Some(PathTarget::Host(thread, called)), called, is_prompt)
            }
            (.., Some(before), Some(at)) => (Some(PathTarget::Device(before)), at, false),
            _ => (None, self.span.start, false),
        }
    }

    /// What a collective of the host waited for: its launch, or another one that it was queued behind.
    fn before_collective(&self, row: usize) -> (Option<PathTarget>, Ns, bool) {
        let none = (None, self.span.start, false);
        let it = &self.recorded.collectives.all[row];
        let queued = self.recorded.collectives.done_before(it.start);
        let queued = queued.filter(|&(done, other)| {
            it.launched < done
                && it.start <= done.saturating_add(QUEUED)
                && self.recorded.collectives.all[other].start < it.start
        });
        if let Some((done, other)) = queued {
            return (Some(PathTarget::HostCollective(other)), done, false);
        }
        let CollectiveEvent::Host(_, Some(launch)) = it.event else { return none };
        let called = it.launched.min(it.start);
        let thread = self.recorded.profile.host.thread[launch.index()].index();
        (Some(PathTarget::Host(thread, called)), called, true)
    }

    /// Several times on one thread with nothing between that it waited for: each goes on from the one before.
    fn cut_threads(&mut self) {
        let mut times: Vec<(usize, Ns, usize)> = Vec::new();
        for (row, node) in self.nodes.iter().enumerate() {
            if let PathTarget::Host(thread, _) = node.target {
                times.push((thread, node.end, row));
            }
        }
        times.sort_unstable();
        for pair in times.windows(2) {
            let [(thread, end, earlier), (other, _, row)] = [pair[0], pair[1]];
            let node = &mut self.nodes[row];
            if thread == other && node.start < end {
                (node.start, node.from, node.before) = (end, end, Some(earlier));
            }
        }
    }
}
