//! The annotations of a rank: `record_function`, `ProfilerStep`, ranges that PyTorch and other libraries open.

use std::collections::{BTreeMap, HashSet};
use std::io;

use event_timeline::{Lane, LaneKind, LaneSpan, SpanName};
use ledger::{LineKey, Metric, Ns, Unit};
use loader::{EventTimeline, work_of_server};
use metrics::{Period, Scale};
use stack_books::{FramedLine, StackFrame, StackRow, TrainingPhase};

use super::NamedTable;
use super::lines_of::LinesOf;
use crate::model::{Cell, Column, Note, Section, Subject};
use crate::recording::Recording;
use crate::summary;

/// The columns that a narrow terminal can do without, the first of them first.
const DISPENSABLE: [&str; 4] = ["shortest", "longest", "self", "mean"];

/// What is known of the annotations of one name.
#[derive(Debug, Default)]
struct RangeSum<'a> {
    calls: u64,
    /// Of all calls, those within another one included.
    durations: Ns,
    time: Ns,
    own: Ns,
    shortest: Option<Ns>,
    longest: Ns,
    cuda: Ns,
    lines: BTreeMap<&'a LineKey, i64>,
    /// The least and the largest of each number that is left out of the name.
    numbers: Vec<(u64, u64)>,
}

/// The name of a row that an annotation is in.
#[derive(Debug, Default)]
struct RowName {
    /// With a `*` for each number that is left out.
    pattern: String,
    /// The numbers that are left out and shown.
    numbers: Vec<u64>,
}

/// An annotation that is open.
struct OpenAnnotation<'a> {
    name: &'a str,
    end: Ns,
}

/// The annotations of the rank whose timeline was loaded, those that took longest first. Names that differ by a number at the end
/// alone (`ProfilerStep#3`) are one row, and so are those of a server that differ by their sizes, which are shown (`step[DECODE bs=1..32]`).
///
/// # Errors
/// If the recording was loaded without a timeline, or is none of a trace.
pub fn build(recording: &Recording<'_>) -> io::Result<NamedTable> {
    let timeline = recording
        .run
        .timeline
        .as_ref()
        .ok_or_else(|| io::Error::other("the recording was loaded without a timeline"))?;
    let names: Vec<RowName> = timeline.names.iter().map(|it| row_name(it)).collect();
    let mut rows: BTreeMap<&str, RangeSum<'_>> = BTreeMap::new();
    for (index, lane) in timeline.lanes.iter().enumerate() {
        if let LaneKind::Annotations(thread) = &lane.kind {
            let of_thread = |it: &Lane| matches!(&it.kind, LaneKind::Thread(it) if it == thread);
            // The stacks of a thread stand behind its annotations.
            let stacks = timeline.lanes[index..].iter().position(of_thread).map(|it| it + index);
            add_thread(timeline, &names, lane, stacks, &mut rows);
        }
    }
    let mut sorted: Vec<(&str, RangeSum<'_>)> = rows.into_iter().collect();
    sorted.sort_by(|a, b| b.1.time.cmp(&a.1.time).then(a.0.cmp(b.0)));
    let (from, to) = timeline.whole();
    let whole = to.saturating_sub(from);
    let mut section = Section::new(
        "ranges",
        "Ranges",
        Subject::Run,
        [
            Column::number("share", Unit::Share),
            Column::number("time", Unit::Ns),
            Column::number("self", Unit::Ns),
            Column::number("cuda", Unit::Ns),
            Column::number("calls", Unit::Count),
            Column::number("mean", Unit::Ns),
            Column::number("shortest", Unit::Ns),
            Column::number("longest", Unit::Ns),
            Column::text("range"),
            Column::text("lines"),
        ],
    );
    section.rows = sorted.into_iter().map(|(name, it)| cells(recording, name, it, whole)).collect();
    let ranks = recording.run.ranks.len();
    if 1 < ranks {
        let rank = timeline.rank;
        section.notes.push(Note::plain(format!(
            "of rank {rank} of the {ranks} that were read; --rank N chooses another"
        )));
    }
    let scale = Scale::new(&recording.run.merged, Period::Mean);
    Ok(NamedTable {
        summary: summary::summary(recording.run, &scale),
        section,
        dispensable: &DISPENSABLE,
        filter: serde_json::Value::Null,
    })
}

fn cells(recording: &Recording<'_>, name: &str, it: RangeSum<'_>, whole: Ns) -> Vec<Cell> {
    let lines: LinesOf<'_> = it.lines.into_iter().collect();
    vec![
        Cell::part(it.time.0, whole.0),
        Cell::duration(it.time),
        Cell::duration(it.own),
        Cell::amount(Metric::Cuda, it.cuda.0).unless_zero(),
        Cell::integer(it.calls),
        Cell::real(it.durations.as_f64() / it.calls.max(1) as f64, Unit::Ns),
        it.shortest.map(Cell::duration).unwrap_or_default(),
        Cell::duration(it.longest),
        Cell::text(with_numbers(name, &it.numbers)),
        lines.cell(recording),
    ]
}

/// `ProfilerStep#*` of `ProfilerStep#3`; of a range of a server all numbers but 0, which says what it does not do.
fn row_name(name: &str) -> RowName {
    if work_of_server(name).is_some() {
        return name_with_sizes(name);
    }
    let pattern = match name.rsplit_once('#') {
        Some((start, number))
            if !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit()) =>
        {
            format!("{start}#*")
        }
        _ => name.to_owned(),
    };
    RowName { pattern, numbers: Vec::new() }
}

fn name_with_sizes(name: &str) -> RowName {
    let mut row = RowName::default();
    let mut rest = name;
    while let Some(start) = rest.find(|it: char| it.is_ascii_digit()) {
        let (before, digits) = rest.split_at(start);
        let n_digits = digits.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, after) = digits.split_at(n_digits);
        row.pattern.push_str(before);
        match digits.parse() {
            Ok(0) | Err(_) => row.pattern.push_str(digits),
            Ok(number) => {
                row.pattern.push('*');
                row.numbers.push(number);
            }
        }
        rest = after;
    }
    row.pattern.push_str(rest);
    row
}

/// A pattern with the least and the largest number in the place of each `*`; as it is where they are not known.
fn with_numbers(pattern: &str, numbers: &[(u64, u64)]) -> String {
    let mut parts = pattern.split('*');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (at, part) in parts.enumerate() {
        match numbers.get(at) {
            Some((least, largest)) if least == largest => text.push_str(&least.to_string()),
            Some((least, largest)) => text.push_str(&format!("{least}..{largest}")),
            None => text.push('*'),
        }
        text.push_str(part);
    }
    text
}

/// Adds the annotations of a thread, whose stacks are in the lane `stacks`.
fn add_thread<'a>(
    timeline: &'a EventTimeline,
    names: &'a [RowName],
    annotations: &Lane,
    stacks: Option<usize>,
    rows: &mut BTreeMap<&'a str, RangeSum<'a>>,
) {
    let mut launched = launched_by(timeline, stacks).into_iter().peekable();
    let mut open = OpenAnnotations::default();
    for span in &annotations.spans {
        let SpanName::Named(name) = span.name else { continue };
        let Some(RowName { pattern: name, numbers }) = names.get(name as usize) else { continue };
        while let Some((at, time)) = launched.next_if(|(at, _)| *at < span.start) {
            open.charge(rows, at, time);
        }
        open.advance(rows, span.start);
        let duration = span.end.saturating_sub(span.start);
        let is_within_itself = open.ranges.iter().any(|it| it.name == name && span.start < it.end);
        let row = rows.entry(name).or_default();
        row.calls += 1;
        row.numbers.resize(numbers.len(), (u64::MAX, 0));
        for ((least, largest), &number) in row.numbers.iter_mut().zip(numbers) {
            (*least, *largest) = ((*least).min(number), (*largest).max(number));
        }
        row.durations = row.durations.saturating_add(duration);
        if !is_within_itself {
            row.time = row.time.saturating_add(duration);
        }
        row.shortest = Some(row.shortest.map_or(duration, |it| it.min(duration)));
        row.longest = row.longest.max(duration);
        let running = stacks.and_then(|it| running_at(&timeline.lanes[it], span.start));
        if let Some(line) = running.and_then(|it| lines_of(timeline, it).next()) {
            let sum = row.lines.entry(&line.key).or_default();
            *sum = sum.saturating_add(duration.0);
        }
        open.ranges.push(OpenAnnotation { name, end: span.end });
    }
    for (at, time) in launched {
        open.charge(rows, at, time);
    }
    open.advance(rows, Ns::MAX);
}

/// The annotations of a thread that are open, the one that began last at the end.
#[derive(Default)]
struct OpenAnnotations<'a> {
    ranges: Vec<OpenAnnotation<'a>>,
    /// Until when own time was charged.
    clock: Ns,
}

impl<'a> OpenAnnotations<'a> {
    /// Charges the time until `to` to the annotation that began last of those that are open, and takes those out that end.
    /// Annotations may overlap: one that is opened and closed by hand may end after the one around it.
    fn advance(&mut self, rows: &mut BTreeMap<&'a str, RangeSum<'a>>, to: Ns) {
        while let Some(last) = self.ranges.last() {
            let until = last.end.min(to);
            if let Some(row) = rows.get_mut(last.name) {
                let time = until.saturating_sub(self.clock).max(Ns::ZERO);
                row.own = row.own.saturating_add(time);
            }
            self.clock = self.clock.max(until);
            if to < last.end {
                break;
            }
            self.ranges.pop();
        }
        self.clock = self.clock.max(to);
    }

    /// Charges device time that was launched at a time to the annotations that are open then, once to each name.
    fn charge(&self, rows: &mut BTreeMap<&'a str, RangeSum<'a>>, at: Ns, time: Ns) {
        let open: Vec<&str> =
            self.ranges.iter().filter(|it| at <= it.end).map(|it| it.name).collect();
        for (index, name) in open.iter().enumerate() {
            if let (false, Some(row)) = (open[..index].contains(name), rows.get_mut(name)) {
                row.cuda = row.cuda.saturating_add(time);
            }
        }
    }
}

/// What a thread launched, or another thread for it, as those of autograd do: when, and for how long it ran. In order of time. What
/// another thread does for it has a stack that begins in a function in which stacks of the thread begin.
fn launched_by(timeline: &EventTimeline, thread: Option<usize>) -> Vec<(Ns, Ns)> {
    let outermost = |span: &LaneSpan| {
        let line = lines_of(timeline, stack_of(span)?).last()?;
        Some((line.key.file.as_str(), line.function.as_str()))
    };
    let stacks = thread.and_then(|it| timeline.lanes.get(it));
    let functions: HashSet<(&str, &str)> =
        stacks.into_iter().flat_map(|it| &it.spans).filter_map(outermost).collect();
    let streams = timeline.lanes.iter().filter(|it| matches!(it.kind, LaneKind::Stream { .. }));
    let spans = streams.flat_map(|it| it.spans.iter().zip(&it.launches));
    let launched = spans.filter_map(|(span, launch)| {
        let launch = (*launch)?;
        let is_for_it = || {
            outermost(span).is_some_and(|it| functions.contains(&it))
                || stack_of(span).is_some_and(|it| is_backward(timeline, it))
        };
        let is_of_it = Some(launch.lane as usize) == thread || is_for_it();
        is_of_it.then(|| (launch.at, span.end.saturating_sub(span.start)))
    });
    let mut launched: Vec<(Ns, Ns)> = launched.collect();
    launched.sort_unstable();
    launched
}

/// Whether a stack is of the backward pass.
fn is_backward(timeline: &EventTimeline, stack: StackRow) -> bool {
    let begins = |it| TrainingPhase::beginning_at(timeline.stacks.frame_of(it));
    timeline.stacks.outwards(stack).any(|it| begins(it) == Some(TrainingPhase::Backward))
}

/// The stack that runs at a time.
fn running_at(lane: &Lane, at: Ns) -> Option<StackRow> {
    let before = lane.spans.partition_point(|it| it.start <= at);
    let last = lane.spans.get(before.checked_sub(1)?);
    stack_of(last.filter(|it| at < it.end)?)
}

fn stack_of(span: &LaneSpan) -> Option<StackRow> {
    match span.name {
        SpanName::Stack(stack) => Some(stack),
        SpanName::Named(_) => None,
    }
}

/// The lines of a stack, innermost first.
fn lines_of(timeline: &EventTimeline, stack: StackRow) -> impl Iterator<Item = &FramedLine> {
    timeline.stacks.outwards(stack).filter_map(|it| match timeline.stacks.frame_of(it) {
        StackFrame::Line(line) => Some(line),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_a_server_are_left_out_and_shown() {
        for (name, pattern, numbers) in [
            ("ProfilerStep#3", "ProfilerStep#*", &[][..]),
            ("batch 3", "batch 3", &[]),
            ("step[DECODE bs=32]", "step[DECODE bs=*]", &[32]),
            (
                "execute_context_0(0)_generation_30(31)",
                "execute_context_0(0)_generation_*(*)",
                &[30, 31],
            ),
        ] {
            let row = row_name(name);
            assert_eq!((&*row.pattern, &row.numbers[..]), (pattern, numbers), "{name}");
        }
        assert_eq!(with_numbers("step[DECODE bs=*]", &[(1, 32)]), "step[DECODE bs=1..32]");
        assert_eq!(with_numbers("a_*(*)", &[(3, 3), (3, 9)]), "a_3(3..9)");
        assert_eq!(with_numbers("ProfilerStep#*", &[]), "ProfilerStep#*");
    }
}
