//! The timeline: what the threads and devices of one rank did, as the object `perfline.timeline/1` (docs/pictures.md), which
//! the page of the report and editors draw.

mod rank_lanes;

use event_timeline::{Boxes, LaneKind, SpanName, TimelineBox};
use ledger::{Evidence, Ns};
use loader::EventTimeline;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use stack_books::{FramedLine, StackFrame, StackRow};

use crate::frame_table::{FrameTable, KINDS};
use crate::recording::Recording;
use crate::terminal::clean;
use rank_lanes::{CollectivePart, RankLanes, RankSpan};

/// The kinds of frames that are no part of a stack, after those that are: names of annotations, collectives, and waits for
/// other ranks in them.
const FURTHER_KINDS: [&str; 3] = ["annotation", "collective", "wait"];
const ANNOTATION: usize = KINDS.len();
const COLLECTIVE: usize = ANNOTATION + 1;
const WAIT: usize = COLLECTIVE + 1;
/// The finest that is drawn of a range without being asked for: a quarter of a pixel of a wide screen.
pub const PARTS_OF_RANGE: i64 = 16_000;
/// In how many parts the range is divided for how busy devices are, and how much memory is in use.
const PARTS: i64 = 400;
/// Of the boxes of a run of several ranks, one in this many is for the lanes of ranks.
const RANK_SHARE: usize = 4;

/// Which part of a timeline is drawn, and how finely. Times count from its first span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelineRange {
    /// When it begins and ends; `None` is the step.
    pub range: Option<(Ns, Ns)>,
    /// The number of the step; `None` is the one of median duration. Without steps it is the whole recording.
    pub step: Option<u32>,
    /// What is shorter is merged; `None` is a [`PARTS_OF_RANGE`]th of the range.
    pub resolution: Option<Ns>,
    /// The most boxes. What is shorter than a coarser resolution is merged, too, until there are no more.
    pub most: usize,
}

impl TimelineRange {
    /// The step of median duration, in a page, which is one file that is sent around.
    pub const PAGE: Self = Self { range: None, step: None, resolution: None, most: 4_000 };
    /// The same for an editor, which asks for parts of it in more detail: boxes that are drawn again with every frame.
    pub const EDITOR: Self = Self { most: 20_000, ..Self::PAGE };

    /// The same of what is between two times in nanoseconds, if there are any.
    #[must_use]
    pub fn between(self, range: Option<(i64, i64)>) -> Self {
        Self { range: range.map(|(from, to)| (Ns(from), Ns(to))), ..self }
    }
}

/// A range of the timeline of a recording. `None` if there is no such step, or the range is empty.
#[must_use]
pub fn timeline(
    recording: &Recording<'_>,
    timeline: &EventTimeline,
    title: &str,
    wanted: &TimelineRange,
) -> Option<Value> {
    let (origin, end) = timeline.whole();
    let step = match wanted.step {
        Some(number) => Some(*timeline.steps.iter().find(|it| it.number == number)?),
        None => timeline.median_step(),
    };
    let of_step = || step.map_or((origin, end), |it| (it.start, it.end));
    let range = wanted.range.map(|(from, to)| (origin + from, origin + to));
    let (from, to) = range.unwrap_or_else(of_step);
    let (from, to) = (from.max(origin), to.min(end));
    if to <= from {
        return None;
    }
    let resolution = wanted.resolution.unwrap_or(Ns((to - from).0 / PARTS_OF_RANGE));
    let ranks = RankLanes::new(&recording.run.merged, timeline);
    let n_rank_boxes = if ranks.is_some() { wanted.most / RANK_SHARE } else { 0 };
    let boxes = timeline.boxes((from, to), resolution, wanted.most - n_rank_boxes);
    let mut nodes = ShownNodes::new(recording, timeline);
    let mut lanes: Vec<Value> = timeline
        .lanes
        .iter()
        .zip(&boxes.lanes)
        .map(|(lane, boxes)| {
            let (kind, label, device) = match &lane.kind {
                LaneKind::Annotations(thread) => ("annotations", thread.clone(), None),
                LaneKind::Thread(thread) => ("thread", thread.clone(), None),
                LaneKind::Idle(device) => ("idle", String::new(), Some(device)),
                LaneKind::Stream { device, stream } => ("stream", stream.to_string(), Some(device)),
            };
            let mut value = columns(boxes, from, |it| nodes.node(it));
            value["kind"] = json!(kind);
            value["label"] = json!(clean(&label));
            value["device"] = json!(device);
            value
        })
        .collect();
    if let Some(ranks) = &ranks {
        lanes.extend(of_ranks(ranks, (from, to), (boxes.resolution, n_rank_boxes), &mut nodes));
    }
    let ranks = ranks
        .map(|it| json!({"leftOut": it.left_out, "uncertainty": it.uncertainty().map(|it| it.0)}));
    let memory = timeline.memory.iter().map(|it| {
        let parts = it.most_in_parts((from, to), PARTS as usize);
        json!({"device": it.device, "parts": parts.iter().map(|it| it.0).collect::<Vec<_>>()})
    });
    let step = if wanted.range.is_none() { step } else { None };
    let steps = timeline.steps.iter();
    let steps = steps.map(|it| json!([it.number, (it.start - origin).0, (it.end - origin).0]));
    let kinds: Vec<&str> = KINDS.into_iter().chain(FURTHER_KINDS).collect();
    Some(json!({
        "schema": "perfline.timeline/1",
        "title": clean(title),
        "rank": timeline.rank,
        "steps": steps.collect::<Vec<_>>(),
        "step": step.map(|it| it.number),
        "duration": (end - origin).0,
        "from": (from - origin).0,
        "to": (to - origin).0,
        "resolution": boxes.resolution.0,
        "kinds": kinds,
        "strings": nodes.frames.strings(),
        "frames": nodes.frames.columns(),
        "nodes": {"parent": nodes.parent, "frame": nodes.frame},
        "lanes": lanes,
        "busy": busy(timeline, from, to),
        "memory": memory.collect::<Vec<_>>(),
        "ranks": ranks,
    }))
}

/// The lanes of ranks in a range, with boxes of a resolution, or of a larger one where there are too many.
fn of_ranks(
    ranks: &RankLanes,
    (from, to): (Ns, Ns),
    (resolution, most): (Ns, usize),
    nodes: &mut ShownNodes<'_>,
) -> Vec<Value> {
    let (names, spans) = ranks.spans((from, to));
    let boxes = Boxes::of_spans(&spans, (from, to), resolution, most);
    let name_nodes: Vec<usize> = names.iter().map(|it| nodes.rank_span(it)).collect();
    let node = |name| match name {
        SpanName::Named(row) => name_nodes.get(row as usize).copied().unwrap_or(0),
        SpanName::Stack(_) => 0,
    };
    let lane = |(rank, boxes): (&u32, &Vec<TimelineBox>)| {
        let mut value = columns(boxes, from, node);
        value["kind"] = json!("rank");
        value["label"] = json!(rank.to_string());
        value["device"] = Value::Null;
        value
    };
    ranks.ranks.iter().zip(&boxes.lanes).map(lane).collect()
}

/// The boxes of a lane.
fn columns(boxes: &[TimelineBox], from: Ns, node: impl FnMut(SpanName) -> usize) -> Value {
    let mut merged: [Vec<i64>; 3] = Default::default();
    let mut launched: [Vec<i64>; 3] = Default::default();
    for (row, it) in (0_i64..).zip(boxes) {
        if it.count > 1 {
            let values = [row, i64::from(it.count), it.busy.0];
            merged.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        }
        if let Some(launch) = it.launch {
            let values = [row, i64::from(launch.lane), (launch.at - from).0];
            launched.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        }
    }
    let [merged, count, busy] = merged;
    let [launched, lane, at] = launched;
    json!({
        "start": boxes.iter().map(|it| (it.start - from).0).collect::<Vec<_>>(),
        "duration": boxes.iter().map(|it| (it.end - it.start).0).collect::<Vec<_>>(),
        "depth": boxes.iter().map(|it| it.depth).collect::<Vec<_>>(),
        "node": boxes.iter().map(|it| it.name).map(node).collect::<Vec<_>>(),
        "merged": {"box": merged, "count": count, "busy": busy},
        "launch": {"box": launched, "lane": lane, "at": at},
    })
}

/// By device, what part of each of [`PARTS`] equal parts of the range at least one of its streams ran something, in
/// thousandths.
fn busy(timeline: &EventTimeline, from: Ns, to: Ns) -> Vec<Value> {
    let mut spans: std::collections::BTreeMap<i32, Vec<(i64, i64)>> = Default::default();
    for lane in &timeline.lanes {
        if let LaneKind::Stream { device, .. } = lane.kind {
            let inside = lane.spans.iter().filter(|it| it.start < to && from < it.end);
            let inside =
                inside.map(|it| ((it.start.max(from) - from).0, (it.end.min(to) - from).0));
            spans.entry(device).or_default().extend(inside);
        }
    }
    let length = (to - from).0;
    let edge = |part: i64| i64::try_from(i128::from(length) * i128::from(part) / i128::from(PARTS));
    let edge = |part: i64| edge(part).unwrap_or(length);
    let by_device = spans.into_iter().map(|(device, mut spans)| {
        spans.sort_unstable();
        let mut parts = vec![0_i64; usize::try_from(PARTS).unwrap_or(0)];
        let mut clock = 0;
        let mut part = 0;
        for (start, end) in spans {
            let mut start = start.max(clock);
            clock = clock.max(end);
            while start < end {
                while part + 1 < PARTS && edge(part + 1) <= start {
                    part += 1;
                }
                let until = if part + 1 < PARTS { end.min(edge(part + 1)) } else { end };
                if let Some(sum) = usize::try_from(part).ok().and_then(|it| parts.get_mut(it)) {
                    *sum += until - start;
                }
                start = until;
            }
        }
        let share = |(part, time): (i64, i64)| {
            let size = (edge(part + 1) - edge(part)).max(1);
            (time.saturating_mul(1000) / size).min(1000)
        };
        json!({"device": device, "parts": (0..).zip(parts).map(share).collect::<Vec<_>>()})
    });
    by_device.collect()
}

/// The stacks of boxes and all around them, callers first; node 0 is the root, and its own parent.
struct ShownNodes<'a> {
    recording: &'a Recording<'a>,
    timeline: &'a EventTimeline,
    frames: FrameTable<'a>,
    entries: Vec<(&'a stack_books::StackFrame, Evidence)>,
    parent: Vec<usize>,
    frame: Vec<usize>,
    of_stack: FxHashMap<StackRow, usize>,
    of_name: FxHashMap<u32, usize>,
}

impl<'a> ShownNodes<'a> {
    fn new(recording: &'a Recording<'a>, timeline: &'a EventTimeline) -> Self {
        Self {
            recording,
            timeline,
            frames: FrameTable::new(recording),
            entries: timeline.stacks.frames().collect(),
            parent: vec![0],
            frame: vec![0],
            of_stack: FxHashMap::from_iter([(StackRow::ROOT, 0)]),
            of_name: FxHashMap::default(),
        }
    }

    fn node(&mut self, name: SpanName) -> usize {
        match name {
            SpanName::Stack(stack) => self.stack(stack),
            SpanName::Named(row) => {
                if let Some(node) = self.of_name.get(&row) {
                    return *node;
                }
                let name = self.timeline.names.get(row as usize).map_or("", String::as_str);
                let frame = self.frames.add(name, ANNOTATION, None, Evidence::Exact);
                let node = self.push(0, frame);
                self.of_name.insert(row, node);
                node
            }
        }
    }

    /// The node of what a rank does in a collective: below the line, if it is known, and the collective.
    fn rank_span(&mut self, span: &RankSpan<'_>) -> usize {
        let ledger = &self.recording.run.merged;
        let mut node = 0;
        if let Some(line) = span.line {
            let books = ledger.lines.get(line);
            let evidence = books.map_or(Evidence::Exact, |it| it.evidence);
            let frame = StackFrame::Line(FramedLine {
                key: line.clone(),
                function: books.map_or_else(String::new, |it| it.function.clone()),
                is_user_code: ledger.files.get(&line.file).is_some_and(|it| it.is_user_code),
            });
            let frame = self.frames.push(self.recording, &frame, evidence);
            node = self.push(node, frame);
        }
        let frame = self.frames.add(span.collective, COLLECTIVE, None, Evidence::Exact);
        node = self.push(node, frame);
        if let CollectivePart::WaitsFor(rank) = span.part {
            let name = format!("waits for rank {rank}");
            let frame = self.frames.add(&name, WAIT, None, Evidence::Exact);
            node = self.push(node, frame);
        }
        node
    }

    fn stack(&mut self, stack: StackRow) -> usize {
        let mut missing = Vec::new();
        let mut at = stack;
        while !self.of_stack.contains_key(&at) {
            missing.push(at);
            at = self.timeline.stacks.parent(at);
        }
        let mut node = self.of_stack.get(&at).copied().unwrap_or(0);
        for stack in missing.into_iter().rev() {
            let row = self.timeline.stacks.innermost(stack).index();
            let (entry, evidence) = self.entries[row];
            let frame = self.frames.frame(row, entry, evidence);
            node = self.push(node, frame);
            self.of_stack.insert(stack, node);
        }
        node
    }

    fn push(&mut self, parent: usize, frame: usize) -> usize {
        self.parent.push(parent);
        self.frame.push(frame);
        self.parent.len() - 1
    }
}
