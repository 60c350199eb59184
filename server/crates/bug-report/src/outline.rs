//! What has to be known of a trace before a part of it can be cut out: when its steps are, and what belongs to them.

use std::io::{self, Read};

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

fn is_step(head: &EventHead<'_>) -> bool {
    head.name.starts_with(b"ProfilerStep#")
}

fn is_flow(head: &EventHead<'_>) -> bool {
    matches!(head.phase, b"s" | b"t" | b"f")
}

fn flow(head: &EventHead<'_>) -> FlowKey {
    (head.category.into(), head.id.into())
}

/// A step of the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceStep {
    /// The number that the recording gives it.
    pub number: u32,
    start: i64,
    end: i64,
}

/// What a first pass over a trace finds.
#[derive(Debug, Default)]
pub struct Outline {
    steps: Vec<TraceStep>,
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
                        outline.add(&head);
                    }
                }
            }
        }
        outline.steps.sort_by_key(|it| (it.start, it.end));
        for index in 1..outline.steps.len() {
            let next = outline.steps[index].start;
            outline.steps[index - 1].end = outline.steps[index - 1].end.min(next);
        }
        outline.device.sort_by_key(|it| it.start);
        Ok(outline)
    }

    fn add(&mut self, head: &EventHead<'_>) {
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
                let number = head.name.strip_prefix(b"ProfilerStep#");
                let number = number.and_then(|it| std::str::from_utf8(it).ok()?.parse().ok());
                if let Some(number) = number {
                    self.steps.push(TraceStep { number, start, end: head.end() });
                }
                self.starts.push(start);
                if let Some(correlation) = head.correlation {
                    self.launches.entry(correlation).or_insert_with(|| (thread(head), start));
                }
                if head.category != b"python_function" && !is_step(head) {
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
        let (witnesses, base) = (self.witnesses.clone(), self.base);
        let mut window = TraceWindow { witnesses, base, ..TraceWindow::default() };
        let chosen = self.steps.iter().filter(|it| steps.iter().any(|of| of.contains(it.number)));
        let chosen: Vec<&TraceStep> = chosen.collect();
        match (chosen.iter().map(|it| it.start).min(), chosen.iter().map(|it| it.end).max()) {
            (Some(start), Some(end)) => (window.start, window.end) = (start, end),
            _ if !self.steps.is_empty() => return None,
            _ => {
                let mut starts = self.starts.clone();
                starts.sort_unstable();
                window.start = i64::MIN;
                window.end = starts.get(MAX_EVENTS).copied().unwrap_or(i64::MAX);
            }
        }
        let inside = |it: &&TraceStep| window.start <= it.start && it.start < window.end;
        window.steps = self.steps.iter().filter(inside).map(|it| it.number).collect();
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
            let launch = span.correlation.and_then(|it| self.launches.get(&it));
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
            let launch = span.correlation.and_then(|it| self.launches.get(&it));
            if let Some((thread, start)) = launch.filter(|it| !window.holds(it.1)) {
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
            // A step that is not in the part is none of it, although something was launched in it.
            EventSide::Host => !is_step(head) && self.is_open_then(head, start),
            EventSide::Device => self.device.contains(&(thread(head), start)),
            EventSide::Neither => false,
        }
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
