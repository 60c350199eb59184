//! What a picture of a range of time shows: boxes, of which those that are too short to be seen are merged.

use ledger::Ns;
use stack_books::StackRow;

use crate::lanes::{EventTimeline, Lane, LaneKind, LaneSpan, Launch, SpanName};

/// What is drawn of a range of time.
#[derive(Debug, Clone)]
pub struct Boxes {
    /// What is shorter is merged with what is beside it.
    pub resolution: Ns,
    /// By lane of the timeline.
    pub lanes: Vec<Vec<TimelineBox>>,
}

/// A box, or several of one depth that are too short to be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelineBox {
    /// How many boxes are around it.
    pub depth: u32,
    /// When it begins, within the range.
    pub start: Ns,
    /// When it ends, within the range.
    pub end: Ns,
    /// What it is; of several the longest.
    pub name: SpanName,
    /// How many boxes it stands for.
    pub count: u32,
    /// The time of these boxes, without that between them.
    pub busy: Ns,
    /// What launched it, if that is known; of several that of the longest.
    pub launch: Option<Launch>,
    /// The time of the longest of them.
    longest: Ns,
}

impl TimelineBox {
    fn new(depth: usize, (start, end): (Ns, Ns), name: SpanName, launch: Option<Launch>) -> Self {
        let depth = u32::try_from(depth).unwrap_or(u32::MAX);
        let time = end - start;
        Self { depth, start, end, name, count: 1, busy: time, launch, longest: time }
    }

    fn merge(&mut self, other: &Self) {
        if self.longest < other.longest {
            (self.name, self.launch, self.longest) = (other.name, other.launch, other.longest);
        }
        self.end = self.end.max(other.end);
        self.count = self.count.saturating_add(other.count);
        self.busy += other.busy;
    }
}

impl EventTimeline {
    /// What is drawn of `from..to`: no more than `most` boxes where a coarser resolution than `resolution` can bring that about.
    /// Nothing is left out: what is short is merged with what is beside it at its depth.
    #[must_use]
    pub fn boxes(&self, (from, to): (Ns, Ns), resolution: Ns, most: usize) -> Boxes {
        let lanes = self.lanes.iter().map(|lane| self.boxes_of(lane, from, to)).collect();
        Boxes::fitting(lanes, to - from, resolution, most)
    }

    /// The boxes of a lane in order of start, outer ones first.
    fn boxes_of(&self, lane: &Lane, from: Ns, to: Ns) -> Vec<TimelineBox> {
        let spans = lane.spans.iter().enumerate().filter_map(|(row, it)| {
            let launch = lane.launches.get(row).copied().flatten();
            Some((it.within(from, to)?, launch))
        });
        let boxes = match lane.kind {
            LaneKind::Thread(_) => self.nested(spans.map(|(span, _)| span)),
            _ => stacked(spans),
        };
        in_order(boxes)
    }

    /// The entries of the stacks of spans that do not overlap: an entry is one box for as long as it and all around it stay.
    fn nested(&self, spans: impl Iterator<Item = LaneSpan>) -> Vec<TimelineBox> {
        let mut boxes: Vec<TimelineBox> = Vec::new();
        // By depth, the box that is open, in `boxes`.
        let mut open: Vec<(StackRow, usize)> = Vec::new();
        let mut clock = Ns(i64::MIN);
        let mut path = Vec::new();
        for LaneSpan { start, end, name } in spans {
            let SpanName::Stack(stack) = name else { continue };
            path.clear();
            let mut at = stack;
            while at != StackRow::ROOT {
                path.push(at);
                at = self.stacks.parent(at);
            }
            path.reverse();
            let is_same = |(&a, &(b, _)): (&StackRow, &(StackRow, usize))| a == b;
            let n_same = match clock == start {
                true => path.iter().zip(&open).take_while(|it| is_same(*it)).count(),
                false => 0,
            };
            open.truncate(n_same);
            for &(_, row) in &open {
                (boxes[row].end, boxes[row].busy) = (end, end - boxes[row].start);
                boxes[row].longest = boxes[row].busy;
            }
            for &row in &path[n_same..] {
                let name = SpanName::Stack(row);
                boxes.push(TimelineBox::new(open.len(), (start, end), name, None));
                open.push((row, boxes.len() - 1));
            }
            clock = end;
        }
        boxes
    }
}

impl Boxes {
    /// What is drawn of `from..to` of lanes whose spans are in order of start and may overlap: see [`EventTimeline::boxes`].
    #[must_use]
    pub fn of_spans(
        lanes: &[Vec<LaneSpan>],
        (from, to): (Ns, Ns),
        resolution: Ns,
        most: usize,
    ) -> Self {
        let boxes_of = |spans: &Vec<LaneSpan>| {
            let spans = spans.iter().filter_map(|it| it.within(from, to));
            in_order(stacked(spans.map(|it| (it, None))))
        };
        Self::fitting(lanes.iter().map(boxes_of).collect(), to - from, resolution, most)
    }

    /// No more than `most` of `lanes`, which are of a range of this `length`.
    fn fitting(mut lanes: Vec<Vec<TimelineBox>>, length: Ns, resolution: Ns, most: usize) -> Self {
        let mut resolution = Ns(resolution.0.max(1));
        loop {
            for lane in &mut lanes {
                *lane = merged(lane, resolution);
            }
            let n_boxes: usize = lanes.iter().map(Vec::len).sum();
            if n_boxes <= most || length <= resolution {
                return Self { resolution, lanes };
            }
            // In small steps, so that no more is merged than must be.
            resolution = Ns(resolution.0.saturating_add(resolution.0 / 4 + 1));
        }
    }
}

/// In order of start, outer ones first.
fn in_order(mut boxes: Vec<TimelineBox>) -> Vec<TimelineBox> {
    boxes.sort_by_key(|it| (it.start, it.depth));
    boxes
}

/// Spans that may overlap, each in the first row that is free.
fn stacked(spans: impl Iterator<Item = (LaneSpan, Option<Launch>)>) -> Vec<TimelineBox> {
    let mut free_from: Vec<Ns> = Vec::new();
    let place = |(span, launch): (LaneSpan, Option<Launch>)| {
        let free = free_from.iter().position(|it| *it <= span.start);
        let depth = free.unwrap_or_else(|| {
            free_from.push(Ns::ZERO);
            free_from.len() - 1
        });
        free_from[depth] = span.end;
        TimelineBox::new(depth, (span.start, span.end), span.name, launch)
    };
    spans.map(place).collect()
}

/// Boxes in order of start, of which those that are shorter than `resolution` and nearer to each other than that are one.
fn merged(boxes: &[TimelineBox], resolution: Ns) -> Vec<TimelineBox> {
    let mut merged: Vec<TimelineBox> = Vec::new();
    // By depth, the last one in `merged`, if it is short.
    let mut last: Vec<Option<usize>> = Vec::new();
    for it in boxes {
        let depth = it.depth as usize;
        if last.len() <= depth {
            last.resize(depth + 1, None);
        }
        if resolution <= it.longest {
            last[depth] = None;
            merged.push(*it);
            continue;
        }
        match last[depth].map(|row| &mut merged[row]) {
            Some(before) if it.start - before.end < resolution => before.merge(it),
            _ => {
                last[depth] = Some(merged.len());
                merged.push(*it);
            }
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use stack_books::{StackBooks, StackFrame};

    use super::*;

    fn timeline(spans: &[(i64, i64, &[&str])]) -> EventTimeline {
        let mut stacks = StackBooks::default();
        let spans = spans.iter().map(|&(start, end, names)| {
            let stack = names.iter().fold(StackRow::ROOT, |parent, name| {
                let frame = stacks.frame(StackFrame::Operator((*name).to_owned()));
                stacks.push(parent, frame)
            });
            LaneSpan { start: Ns(start), end: Ns(end), name: SpanName::Stack(stack) }
        });
        let spans = spans.collect();
        let kind = LaneKind::Thread(String::new());
        let lanes = vec![Lane { kind, spans, launches: Vec::new() }];
        EventTimeline { stacks, lanes, ..EventTimeline::default() }
    }

    fn shown(timeline: &EventTimeline, range: (i64, i64), resolution: i64, most: usize) -> String {
        let boxes = timeline.boxes((Ns(range.0), Ns(range.1)), Ns(resolution), most);
        let name = |name| match name {
            SpanName::Stack(row) => format!("{:?}", timeline.stacks.frame_of(row)),
            SpanName::Named(row) => row.to_string(),
        };
        let rows = boxes.lanes[0].iter().map(|it| {
            let TimelineBox { depth, start, end, count, busy, .. } = it;
            format!("{depth} {}..{} {} {count}x {}\n", start.0, end.0, name(it.name), busy.0)
        });
        rows.collect()
    }

    #[test]
    fn an_entry_is_one_box_while_it_stays() {
        let timeline = timeline(&[
            (0, 10, &["a"]),
            (10, 20, &["a", "b"]),
            (20, 30, &["a", "c"]),
            (35, 40, &["a", "c"]),
        ]);
        let expected = "0 5..30 Operator(\"a\") 1x 25\n1 10..20 Operator(\"b\") 1x 10\n\
            1 20..30 Operator(\"c\") 1x 10\n0 35..38 Operator(\"a\") 1x 3\n\
            1 35..38 Operator(\"c\") 1x 3\n";
        assert_eq!(shown(&timeline, (5, 38), 1, 100), expected);
    }

    #[test]
    fn what_is_short_is_merged_and_keeps_its_time() {
        let timeline = timeline(&[
            (0, 3, &["a"]),
            (4, 6, &["b"]),
            (10, 30, &["c"]),
            (31, 35, &["d"]),
            (60, 61, &["e"]),
        ]);
        let expected = "0 0..6 Operator(\"a\") 2x 5\n0 10..30 Operator(\"c\") 1x 20\n\
            0 31..35 Operator(\"d\") 1x 4\n0 60..61 Operator(\"e\") 1x 1\n";
        assert_eq!(shown(&timeline, (0, 100), 5, 100), expected);
        // The resolution grows until there are few enough.
        assert_eq!(shown(&timeline, (0, 100), 5, 1), "0 0..61 Operator(\"c\") 5x 30\n");
    }

    #[test]
    fn the_median_step_is_that_of_the_middle_duration() {
        let step = |number, time| crate::StepRange { number, start: Ns(0), end: Ns(time) };
        let steps = vec![step(1, 90), step(2, 10), step(3, 20)];
        let timeline = EventTimeline { steps, ..EventTimeline::default() };
        assert_eq!(timeline.median_step().map(|it| it.number), Some(3));
        assert_eq!(EventTimeline::default().median_step(), None);
    }
}
