//! What has to be known of a trace before a part of it can be cut out: when its steps are, and what belongs to them.

use std::io::{self, Read};

use ledger::Ns;
use recorded::{NumberedRange, StepRangeKind, step_range_kind, step_ranges};
use rustc_hash::{FxHashMap, FxHashSet};
use stack_books::StepNumbers;
use trace_reader::raw::{self, EventHead, EventSide};

use crate::pieces::{Pieces, TracePiece};

/// Host events that are kept of a trace without steps.
const MAX_EVENTS: usize = 20_000;

/// Events of a thread that ran nothing but Python, all of which are kept: whether it was idle depends on all of them.
const MAX_OF_PYTHON_THREAD: usize = 5_000;

/// A process and a thread, as the trace spells them.
pub(crate) type TraceThread = (Box<[u8]>, Box<[u8]>);

/// The category and the id of a flow.
type FlowKey = (Box<[u8]>, Box<[u8]>);

/// The thread that an event was on, or the stream.
fn thread(head: &EventHead<'_>) -> TraceThread {
    (head.pid.into(), head.tid.into())
}

/// Of which kind of step an event is the range.
fn step_kind(head: &EventHead<'_>) -> Option<StepRangeKind> {
    let name = std::str::from_utf8(head.name).ok()?;
    step_range_kind(name).filter(|_| head.is_annotation())
}

fn is_flow(head: &EventHead<'_>) -> bool {
    matches!(head.phase, b"s" | b"t" | b"f")
}

fn flow(head: &EventHead<'_>) -> FlowKey {
    (head.category.into(), head.id.into())
}

/// A step of the recording.
pub type TraceStep = NumberedRange<StepInTrace>;

/// What else is known of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepInTrace {
    /// As in `ledger::StepWork::kind`: `decode`. Only of a server's.
    pub kind: Option<String>,
    /// The thread that its range is on.
    thread: TraceThread,
}

/// What a first pass over a trace finds.
#[derive(Debug, Default)]
pub struct Outline {
    steps: Vec<TraceStep>,
    /// Whether they are passes of a server, and not those of a profiler's schedule.
    is_of_server: bool,
    /// Of the host events.
    starts: Vec<i64>,
    launches: FxHashMap<i64, (TraceThread, i64)>,
    device: Vec<DeviceSpan>,
    flows: Vec<(FlowKey, i64)>,
    /// The first event of each thread that is not Python's.
    witnesses: FxHashMap<TraceThread, i64>,
    /// How many events of Python each thread has.
    python: FxHashMap<TraceThread, usize>,
    events: u64,
    /// What times count from, in nanoseconds since 1970.
    base: i64,
}

#[derive(Debug)]
struct DeviceSpan {
    stream: TraceThread,
    start: i64,
    end: i64,
    correlation: Option<i64>,
}

/// The part of a trace that is kept.
#[derive(Debug, Default)]
pub struct TraceWindow {
    /// The steps that it has, by number; empty where the recording has none.
    pub steps: Vec<u32>,
    /// Whether they are passes of a server, which are numbered from 1 in the part.
    pub is_of_server: bool,
    /// The pass behind the last, if that lasts until it begins, although devices were not done by then.
    next_pass: Option<(TraceThread, i64)>,
    /// In nanoseconds as the trace has them; `end` is not in it.
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) base: i64,
    /// Moments of a thread of which all events are kept that are open then.
    anchors: FxHashMap<TraceThread, Vec<i64>>,
    /// Starts of device events that are kept.
    device: FxHashSet<(TraceThread, i64)>,
    flows: FxHashSet<FlowKey>,
    witnesses: FxHashMap<TraceThread, i64>,
    /// Threads of which everything is kept.
    whole: FxHashSet<TraceThread>,
}

impl Outline {
    /// Reads a trace once.
    ///
    /// # Errors
    /// Those of `input`.
    pub fn read(input: impl Read) -> io::Result<Self> {
        let mut outline = Self::default();
        let mut ranges = Vec::new();
        let mut pieces = Pieces::new(input);
        while let Some(piece) = pieces.next()? {
            match piece {
                TracePiece::Member(b"baseTimeNanoseconds", value) => {
                    outline.base = raw::number(value, 0).unwrap_or(0);
                }
                TracePiece::Member(..) => {}
                TracePiece::Event(event) => {
                    outline.events += 1;
                    if let Some(head) = EventHead::read(event) {
                        outline.add(&head, &mut ranges);
                    }
                }
            }
        }
        let found = step_ranges(ranges, || {
            let launch = |it: &DeviceSpan| Some((Ns(outline.launch(it)?.1), Ns(it.end)));
            outline.device.iter().filter_map(launch).collect::<Vec<_>>()
        });
        (outline.steps, outline.is_of_server) = (found.steps, !found.is_scheduled);
        outline.device.sort_by_key(|it| it.start);
        Ok(outline)
    }

    fn add(&mut self, head: &EventHead<'_>, ranges: &mut Vec<(StepRangeKind, TraceStep)>) {
        let Some(start) = head.start else { return };
        if is_flow(head) {
            self.flows.push((flow(head), start));
            return;
        }
        if head.phase != b"X" {
            return;
        }
        match head.side() {
            EventSide::Host => {
                let step = step_kind(head);
                let is_step = step.is_some();
                if let Some(step) = step {
                    let kind = match &step {
                        StepRangeKind::OfServer(work) => Some(work.kind.clone()),
                        StepRangeKind::Scheduled(_) => None,
                    };
                    let of = StepInTrace { kind, thread: thread(head) };
                    let (start, end) = (Ns(start), Ns(head.end()));
                    ranges.push((step, NumberedRange { number: 0, start, end, of }));
                }
                self.starts.push(start);
                if let Some(correlation) = head.correlation {
                    self.launches.entry(correlation).or_insert_with(|| (thread(head), start));
                }
                if head.category != b"python_function" && !is_step {
                    let witness = self.witnesses.entry(thread(head)).or_insert(start);
                    *witness = start.min(*witness);
                } else {
                    *self.python.entry(thread(head)).or_default() += 1;
                }
            }
            EventSide::Device => self.device.push(DeviceSpan {
                stream: thread(head),
                start,
                end: head.end(),
                correlation: head.correlation,
            }),
            EventSide::Neither => {}
        }
    }

    /// The thread of the call that launched a device event, and when that was.
    fn launch(&self, event: &DeviceSpan) -> Option<&(TraceThread, i64)> {
        event.correlation.and_then(|it| self.launches.get(&it))
    }

    /// How many events the trace has.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The steps in their order.
    #[must_use]
    pub fn steps(&self) -> &[TraceStep] {
        &self.steps
    }

    /// The step that is taken where none is asked for: of those behind the first, which warms up, the one of median duration.
    #[must_use]
    pub fn typical_step(&self) -> Option<u32> {
        let settled = if self.steps.len() > 1 { &self.steps[1..] } else { &self.steps[..] };
        let mut settled: Vec<&TraceStep> = settled.iter().collect();
        settled.sort_by_key(|it| it.end - it.start);
        settled.get(settled.len().saturating_sub(1) / 2).map(|it| it.number)
    }

    /// The part that has these steps, from the first to the last of them; of a recording without steps its beginning. `None` if it has
    /// steps, and none of these.
    #[must_use]
    pub fn window(&self, steps: &[StepNumbers]) -> Option<TraceWindow> {
        let mut window = TraceWindow {
            witnesses: self.witnesses.clone(),
            is_of_server: self.is_of_server,
            base: self.base,
            ..TraceWindow::default()
        };
        let chosen = self.steps.iter().filter(|it| steps.iter().any(|of| of.contains(it.number)));
        let chosen: Vec<&TraceStep> = chosen.collect();
        match (chosen.iter().map(|it| it.start).min(), chosen.iter().map(|it| it.end).max()) {
            (Some(start), Some(end)) => (window.start, window.end) = (start.0, end.0),
            _ if !self.steps.is_empty() => return None,
            _ => {
                let mut starts = self.starts.clone();
                starts.sort_unstable();
                window.start = i64::MIN;
                window.end = starts.get(MAX_EVENTS).copied().unwrap_or(i64::MAX);
            }
        }
        let inside = self.steps.iter().filter(|it| window.holds(it.start.0));
        window.steps = inside.map(|it| it.number).collect();
        if self.is_of_server {
            let next = self.steps.iter().find(|it| it.start.0 == window.end);
            window.next_pass = next.map(|it| (it.of.thread.clone(), it.start.0));
        }
        let is_whole = |it: &(&TraceThread, &usize)| {
            *it.1 <= MAX_OF_PYTHON_THREAD && !self.witnesses.contains_key(it.0)
        };
        window.whole = self.python.iter().filter(is_whole).map(|it| it.0.clone()).collect();
        self.keep_device_events(&mut window);
        for anchors in window.anchors.values_mut() {
            anchors.sort_unstable();
        }
        let flows = self.flows.iter().filter(|it| window.holds(it.1));
        window.flows = flows.map(|it| it.0.clone()).collect();
        Some(window)
    }

    /// What was launched in the window, what ran in it, and the events before and behind it, between which devices were idle.
    fn keep_device_events(&self, window: &mut TraceWindow) {
        let mut before: FxHashMap<&[u8], &DeviceSpan> = FxHashMap::default();
        let mut behind: FxHashMap<&[u8], &DeviceSpan> = FxHashMap::default();
        let mut kept = Vec::new();
        for span in &self.device {
            let launch = self.launch(span);
            let is_launched = launch.is_some_and(|it| window.holds(it.1));
            if is_launched || span.start < window.end && window.start < span.end {
                kept.push(span);
            }
            let device = &*span.stream.0;
            if span.end <= window.start {
                let last = before.entry(device).or_insert(span);
                if last.end <= span.end {
                    *last = span;
                }
            } else if window.end <= span.start {
                behind.entry(device).or_insert(span);
            }
        }
        kept.extend(before.into_values().chain(behind.into_values()));
        for span in kept {
            window.device.insert((span.stream.clone(), span.start));
            if let Some((thread, start)) = self.launch(span).filter(|it| !window.holds(it.1)) {
                window.anchors.entry(thread.clone()).or_default().push(*start);
            }
        }
    }
}

impl TraceWindow {
    /// Whether a moment is in it.
    pub(crate) fn holds(&self, time: i64) -> bool {
        self.start <= time && time < self.end
    }

    /// Whether an event belongs to the part.
    pub(crate) fn keeps(&self, head: &EventHead<'_>) -> bool {
        let Some(start) = head.start else { return head.phase != b"X" };
        if head.phase == b"M" {
            return true;
        }
        if is_flow(head) {
            return self.flows.contains(&flow(head));
        }
        if self.holds(start) {
            return true;
        }
        if head.phase != b"X" {
            return false;
        }
        match head.side() {
            EventSide::Host if self.is_step(head) => {
                self.next_pass.as_ref() == Some(&(thread(head), start))
            }
            EventSide::Host => self.is_open_then(head, start),
            EventSide::Device => self.device.contains(&(thread(head), start)),
            EventSide::Neither => false,
        }
    }

    /// Whether an event is the range of a step: one that is not in the part is none of it, although something was launched in it.
    fn is_step(&self, head: &EventHead<'_>) -> bool {
        step_kind(head)
            .is_some_and(|it| matches!(it, StepRangeKind::OfServer(_)) == self.is_of_server)
    }

    /// Whether a host event is open when the window begins, or when something was launched that is kept; or is the one that shows that
    /// its thread ran something.
    fn is_open_then(&self, head: &EventHead<'_>, start: i64) -> bool {
        if start <= self.start && self.start < head.end() {
            return true;
        }
        let thread = thread(head);
        if self.whole.contains(&thread) {
            return true;
        }
        if head.category != b"python_function" && self.witnesses.get(&thread) == Some(&start) {
            return true;
        }
        let Some(anchors) = self.anchors.get(&thread) else { return false };
        let next = anchors.partition_point(|&it| it < start);
        anchors.get(next).is_some_and(|&it| it <= head.end())
    }
}
