//! What threads and devices of one rank did when, as a Chrome trace that Perfetto opens: the JSON of
//! <https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU>, with complete events (`X`), flows (`s`,
//! `f`) and names of tracks (`M`).

use std::io::{self, Write};

use event_timeline::{Lane, LaneKind, LaneSpan, SpanName};
use ledger::Ns;
use loader::EventTimeline;
use serde_json::{Map, Value, json};
use stack_books::{FrameRow, StackFrame, StackRow};

use super::names::{FrameName, of_frames};
use crate::fields::FieldValue;
use crate::recording::Recording;

/// Writes the lanes of a timeline: of each thread its annotations, and its stacks as slices within each other, the lines of user
/// code outermost; of each device its idle time by the line that is charged with it, and its streams, with a flow from what
/// launched them. Slices of stacks and of idle time that touch each other and are the same, below the same slices, are one.
///
/// Returns how many slices were written.
pub(super) fn write(
    out: &mut dyn Write,
    recording: &Recording<'_>,
    timeline: &EventTimeline,
) -> io::Result<usize> {
    let names = of_frames(recording, &timeline.stacks);
    let mut trace = ChromeTrace::new(out, timeline, &names);
    trace.begin()?;
    for (lane, track) in timeline.lanes.iter().zip(Track::of_lanes(timeline)) {
        trace.name_track(&track)?;
        match lane.kind {
            LaneKind::Thread(_) => trace.thread(lane, &track)?,
            LaneKind::Idle(_) => trace.idle(lane, &track)?,
            _ => trace.spans(lane, &track, timeline)?,
        }
    }
    trace.end()
}

/// Where a lane is shown: a thread of a process, in terms of the format.
#[derive(Clone)]
struct Track {
    process: i64,
    process_name: String,
    thread: i64,
    name: String,
    /// The place among the tracks of the process.
    order: i64,
}

impl Track {
    fn of_lanes(timeline: &EventTimeline) -> Vec<Self> {
        let rank = timeline.rank;
        let tracks = (1_i64..).zip(&timeline.lanes).map(|(row, lane)| {
            let host = |name: String| (0, format!("rank {rank}"), name);
            let device = |device: i32, name: String| {
                (1 + i64::from(device), format!("rank {rank}, device {device}"), name)
            };
            let (process, process_name, name) = match &lane.kind {
                LaneKind::Annotations(thread) => host(format!("{thread}: annotations")),
                LaneKind::Thread(thread) => host(thread.clone()),
                LaneKind::Idle(it) => device(*it, "idle".to_owned()),
                LaneKind::Stream { device: it, stream } => device(*it, format!("stream {stream}")),
            };
            Self { process, process_name, thread: row, name, order: row }
        });
        tracks.collect()
    }
}

impl Track {
    /// A further track for what does not fit on this one.
    fn further(&self, number: usize, timeline: &EventTimeline) -> Self {
        let lanes = timeline.lanes.len() * number;
        Self {
            thread: self.thread + i64::try_from(lanes).unwrap_or(0),
            name: format!("{}, overlapping", self.name),
            ..self.clone()
        }
    }
}

/// A track whose slices lie within each other.
struct NestedTrack {
    track: Track,
    /// The ends of the slices that a further one may lie in, the innermost last.
    open: Vec<Ns>,
}

impl NestedTrack {
    /// Whether `span`, which begins no earlier than those before it, lies beside them, or within them where it may.
    fn has_room_for(&mut self, span: &LaneSpan, may_nest: bool) -> bool {
        while self.open.pop_if(|end| *end <= span.start).is_some() {}
        self.open.last().is_none_or(|end| may_nest && span.end <= *end)
    }
}

/// An entry of a stack with the innermost line up to it: a line itself, or the line that an operator or a call is below.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FrameWithLine {
    frame: FrameRow,
    line: Option<FrameRow>,
}

/// A slice of a thread that has begun.
struct OpenSlice {
    frame: FrameWithLine,
    start: Ns,
}

/// A trace while it is written.
struct ChromeTrace<'a> {
    out: &'a mut dyn Write,
    timeline: &'a EventTimeline,
    /// By frame.
    names: &'a [FrameName],
    /// By frame.
    categories: Vec<&'static str>,
    /// What times count from: the first span.
    origin: Ns,
    has_events: bool,
    slices: usize,
    flows: usize,
}

impl<'a> ChromeTrace<'a> {
    fn new(out: &'a mut dyn Write, timeline: &'a EventTimeline, names: &'a [FrameName]) -> Self {
        let (origin, _) = timeline.whole();
        let categories = timeline.stacks.frames().map(|(frame, _)| category(frame)).collect();
        Self { out, timeline, names, categories, origin, has_events: false, slices: 0, flows: 0 }
    }

    fn begin(&mut self) -> io::Result<()> {
        write!(self.out, "{{\"displayTimeUnit\": \"ns\", \"traceEvents\": [")
    }

    fn end(self) -> io::Result<usize> {
        writeln!(self.out, "\n]}}")?;
        Ok(self.slices)
    }

    /// Writes an event: what is in `head`, then `rest`.
    fn event(&mut self, head: &str, rest: &Value) -> io::Result<()> {
        let comma = if std::mem::replace(&mut self.has_events, true) { "," } else { "" };
        write!(self.out, "{comma}\n{{{head}, {}", rest.to_string().trim_start_matches('{'))
    }

    fn name_track(&mut self, track: &Track) -> io::Result<()> {
        let head = format!("\"ph\": \"M\", \"pid\": {}, \"tid\": {}", track.process, track.thread);
        let named = [
            ("process_name", json!({"name": track.process_name})),
            ("thread_name", json!({"name": track.name})),
            ("thread_sort_index", json!({"sort_index": track.order})),
        ];
        named
            .into_iter()
            .try_for_each(|(name, args)| self.event(&head, &json!({"name": name, "args": args})))
    }

    /// The stacks of a thread as slices within each other.
    fn thread(&mut self, lane: &Lane, track: &Track) -> io::Result<()> {
        let mut open: Vec<OpenSlice> = Vec::new();
        let mut clock = Ns::MIN;
        for span in &lane.spans {
            let SpanName::Stack(stack) = span.name else { continue };
            let entries = self.timeline.stacks.entries(stack);
            let shared = if span.start == clock {
                open.iter()
                    .zip(&entries)
                    .take_while(|(slice, entry)| slice.frame.frame == **entry)
                    .count()
            } else {
                0
            };
            for slice in open.drain(shared..).rev() {
                self.slice(track, slice.frame, slice.start, clock)?;
            }
            let mut line = open.last().and_then(|it| it.frame.line);
            for &frame in &entries[shared..] {
                line = if self.is_line(frame) { Some(frame) } else { line };
                open.push(OpenSlice { frame: FrameWithLine { frame, line }, start: span.start });
            }
            clock = span.end;
        }
        for slice in open.into_iter().rev() {
            self.slice(track, slice.frame, slice.start, clock)?;
        }
        Ok(())
    }

    /// The idle time of a device, by the line that is charged with it, or why there is none.
    fn idle(&mut self, lane: &Lane, track: &Track) -> io::Result<()> {
        let mut open: Option<(FrameWithLine, LaneSpan)> = None;
        for span in &lane.spans {
            let SpanName::Stack(stack) = span.name else { continue };
            let entries = self.timeline.stacks.entries(stack);
            let line = entries.iter().rev().copied().find(|it| self.is_line(*it));
            let Some(frame) = line.or(entries.first().copied()) else { continue };
            let frame = FrameWithLine { frame, line };
            match &mut open {
                Some((of, it)) if *of == frame && it.end == span.start => it.end = span.end,
                _ => {
                    if let Some((frame, it)) = open.replace((frame, *span)) {
                        self.slice(track, frame, it.start, it.end)?;
                    }
                }
            }
        }
        open.map_or(Ok(()), |(frame, it)| self.slice(track, frame, it.start, it.end))
    }

    /// The spans of another lane, each a slice. Slices of a track lie beside or within each other, or readers leave them out: a span
    /// that begins in another one and ends after it (kernels overlap where one prepares while the one before it ends) is on a
    /// further track.
    fn spans(&mut self, lane: &Lane, track: &Track, timeline: &EventTimeline) -> io::Result<()> {
        let may_nest = matches!(lane.kind, LaneKind::Annotations(_));
        let mut tracks = vec![NestedTrack { track: track.clone(), open: Vec::new() }];
        for (row, span) in lane.spans.iter().enumerate() {
            let place = tracks.iter_mut().position(|it| it.has_room_for(span, may_nest));
            let place = place.unwrap_or(tracks.len());
            if place == tracks.len() {
                let further = track.further(place, timeline);
                self.name_track(&further)?;
                tracks.push(NestedTrack { track: further, open: Vec::new() });
            }
            tracks[place].open.push(span.end);
            let track = &tracks[place].track;
            match span.name {
                SpanName::Named(name) => {
                    let name = timeline.names.get(name as usize).map_or("", String::as_str);
                    let rest = json!({"name": name, "cat": "annotation"});
                    self.complete(track, span.start, span.end, &rest)?;
                }
                SpanName::Stack(stack) => self.charged(track, span, stack)?,
            }
            if let Some(launch) = lane.launches.get(row).copied().flatten() {
                self.flows += 1;
                let from = i64::from(launch.lane) + 1;
                self.flow("s", 0, from, launch.at)?;
                self.flow("f", track.process, track.thread, span.start)?;
            }
        }
        Ok(())
    }

    /// A slice of a thread or of idle time.
    fn slice(&mut self, track: &Track, it: FrameWithLine, start: Ns, end: Ns) -> io::Result<()> {
        let mut args = Map::new();
        if let Some(line) = it.line {
            self.add_line(&mut args, line);
        }
        let name = self.names.get(it.frame.index()).map_or("", |it| &it.whole);
        let rest = json!({"name": name, "cat": self.category(it.frame), "args": args});
        self.complete(track, start, end, &rest)
    }

    /// A span that is named for the innermost entry of its stack, with the line that it is charged to.
    fn charged(&mut self, track: &Track, span: &LaneSpan, stack: StackRow) -> io::Result<()> {
        let entries = self.timeline.stacks.entries(stack);
        let Some(&innermost) = entries.last() else { return Ok(()) };
        let mut args = Map::new();
        let outwards = || entries.iter().rev();
        let operator = outwards().find(|it| self.category(**it) == OPERATOR);
        if let Some(name) = operator.and_then(|it| self.names.get(it.index())) {
            args.insert("operator".to_owned(), json!(name.whole));
        }
        if let Some(&line) = outwards().find(|it| self.is_line(**it)) {
            self.add_line(&mut args, line);
        }
        let name = &self.names[innermost.index()].whole;
        let rest = json!({"name": name, "cat": self.category(innermost), "args": args});
        self.complete(track, span.start, span.end, &rest)
    }

    /// The line of an entry, if it is one.
    fn add_line(&self, args: &mut Map<String, Value>, frame: FrameRow) {
        let Some(FrameName { function, place: Some((file, line)), evidence, .. }) =
            self.names.get(frame.index())
        else {
            return;
        };
        args.insert("function".to_owned(), json!(function));
        args.insert("file".to_owned(), json!(file));
        args.insert("line".to_owned(), json!(line));
        if let Some(evidence) = evidence {
            args.insert("evidence".to_owned(), json!(evidence.name()));
        }
    }

    fn is_line(&self, frame: FrameRow) -> bool {
        self.names.get(frame.index()).is_some_and(|it| it.place.is_some())
    }

    fn category(&self, frame: FrameRow) -> &'static str {
        self.categories.get(frame.index()).copied().unwrap_or_default()
    }

    fn complete(&mut self, track: &Track, start: Ns, end: Ns, rest: &Value) -> io::Result<()> {
        self.slices += 1;
        let head = format!(
            "\"ph\": \"X\", \"pid\": {}, \"tid\": {}, \"ts\": {}, \"dur\": {}",
            track.process,
            track.thread,
            FieldValue::Time(start.saturating_sub(self.origin)).json(),
            FieldValue::Time(end.saturating_sub(start)).json()
        );
        self.event(&head, rest)
    }

    /// One end of an arrow.
    fn flow(&mut self, phase: &str, process: i64, thread: i64, at: Ns) -> io::Result<()> {
        let head = format!(
            "\"ph\": \"{phase}\", \"pid\": {process}, \"tid\": {thread}, \"ts\": {}",
            FieldValue::Time(at.saturating_sub(self.origin)).json()
        );
        let id = self.flows;
        let mut rest = json!({"name": "launch", "cat": "launch", "id": id});
        if phase == "f" {
            // The arrow ends at the slice that is there, not at the next one.
            rest["bp"] = json!("e");
        }
        self.event(&head, &rest)
    }
}

/// What an entry of a stack is, by which tracks can be searched and filtered.
fn category(frame: &StackFrame) -> &'static str {
    match frame {
        StackFrame::Line(line) if line.is_user_code => "your code",
        StackFrame::Line(_) => "library",
        StackFrame::NoLine(_) => "not on a line",
        StackFrame::Call(_) => "call",
        StackFrame::Operator(_) | StackFrame::SizedOperator(_) => OPERATOR,
        StackFrame::Runtime(_) => "runtime",
        StackFrame::Device(_) => "device",
    }
}

/// The category of operators.
const OPERATOR: &str = "operator";
