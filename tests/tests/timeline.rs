//! What threads and devices did when: its sums are those of the books of stacks and of the devices, and a picture of a part of
//! it loses nothing.

#![expect(clippy::unwrap_used, reason = "a test may fail anywhere")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use event_timeline::{EventTimeline, Lane, LaneKind, LaneSpan, SpanName, TimelineBox};
use ledger::{LineKey, Metric, Ns};
use loader::{LoadOptions, Run, StackChoice, TimelineChoice, Watch};
use report::Recording;
use report::timeline::{TimelineRange, timeline};
use serde_json::Value;
use stack_books::StackFrame;
use tests::fixtures::{repository, traces};

fn options() -> LoadOptions {
    let fixtures = repository().join("fixtures");
    let sites = vec![fixtures.join("workloads/site-packages")];
    LoadOptions {
        stacks: StackChoice::Always,
        timeline: TimelineChoice::First,
        ..LoadOptions::new(fixtures.join("workloads"), Some(sites))
    }
}

fn load(input: PathBuf) -> Run {
    let watch = Watch { progress: &|_| (), cancelled: &AtomicBool::new(false) };
    loader::load(&[input], &options(), &watch).unwrap()
}

fn slow_model() -> Run {
    load(repository().join("fixtures/simulated_cuda/torch2.15.0/slow_model.json.gz"))
}

fn sum(lane: &Lane) -> i64 {
    lane.spans.iter().map(|it| (it.end - it.start).0).sum()
}

/// The sums of the lanes of one kind.
fn total(timeline: &EventTimeline, is_wanted: impl Fn(&LaneKind) -> bool) -> i64 {
    timeline.lanes.iter().filter(|it| is_wanted(&it.kind)).map(sum).sum()
}

#[test]
fn spans_have_the_sums_of_the_books() {
    let mut devices = 0;
    for input in traces().unwrap() {
        let run = load(input.clone());
        let (books, timeline) = (run.stacks.as_ref().unwrap(), run.timeline.as_ref().unwrap());
        let thread = total(timeline, |it| matches!(it, LaneKind::Thread(_)));
        let idle = total(timeline, |it| matches!(it, LaneKind::Idle(_)));
        let device = total(timeline, |it| matches!(it, LaneKind::Stream { .. }));
        let expected = [Metric::Cpu, Metric::GpuIdle, Metric::Cuda].map(|it| books.total(it));
        assert_eq!([thread, idle, device], expected, "{}", input.display());
        for (key, of_device) in &run.merged.devices {
            let time = total(
                timeline,
                |it| matches!(it, LaneKind::Stream { device, .. } if *device == key.device),
            );
            assert_eq!(time, of_device.time.0, "{} {key:?}", input.display());
            devices += 1;
        }
    }
    assert!(devices > 0, "no recording has a device");
}

fn place(line: &LineKey) -> String {
    format!("{}:{}", line.file, line.line)
}

/// Idle time by reason, for what has no line, and on lines, is that of the books.
#[test]
fn idle_time_is_on_the_lines_of_the_books() {
    let run = slow_model();
    let timeline = run.timeline.as_ref().unwrap();
    let mut by_line: BTreeMap<String, i64> = BTreeMap::new();
    for lane in timeline.lanes.iter().filter(|it| matches!(it.kind, LaneKind::Idle(_))) {
        for LaneSpan { start, end, name } in &lane.spans {
            let SpanName::Stack(mut stack) = *name else { panic!("an annotation is idle") };
            let line = loop {
                match timeline.stacks.frame_of(stack) {
                    StackFrame::Line(line) => break place(&line.key),
                    StackFrame::NoLine(reason) => break reason.name().to_owned(),
                    _ => stack = timeline.stacks.parent(stack),
                }
            };
            *by_line.entry(line).or_default() += (*end - *start).0;
        }
    }
    let lines = run.merged.lines.iter();
    let mut expected: BTreeMap<String, i64> = lines
        .map(|(key, line)| (place(key), line.own(Metric::GpuIdle)))
        .filter(|(_, it)| *it != 0)
        .collect();
    for (reason, books) in run.merged.unattributed.iter() {
        if books.get(Metric::GpuIdle) != 0 {
            expected.insert(reason.name().to_owned(), books.get(Metric::GpuIdle));
        }
    }
    assert_eq!(by_line, expected);
}

/// What of a lane lies in a range, counted span by span.
fn within(lane: &Lane, from: Ns, to: Ns) -> i64 {
    let inside = lane.spans.iter().map(|it| (it.end.min(to) - it.start.max(from)).0.max(0));
    inside.sum()
}

#[test]
fn a_picture_of_a_step_keeps_the_busy_time_of_each_stream() {
    let run = slow_model();
    let timeline = run.timeline.as_ref().unwrap();
    let step = timeline.median_step().unwrap();
    for resolution in [1, 1_000, 100_000, 10_000_000] {
        let boxes = timeline.boxes((step.start, step.end), Ns(resolution), usize::MAX);
        for (lane, boxes) in timeline.lanes.iter().zip(&boxes.lanes) {
            let is_outermost = |it: &&TimelineBox| match lane.kind {
                LaneKind::Thread(_) => it.depth == 0,
                _ => true,
            };
            let busy: i64 = boxes.iter().filter(is_outermost).map(|it| it.busy.0).sum();
            assert_eq!(busy, within(lane, step.start, step.end), "{:?} {resolution}", lane.kind);
            let longest = |it: &TimelineBox| it.count > 1 || it.end - it.start == it.busy;
            assert!(boxes.iter().all(longest), "{:?}", lane.kind);
        }
    }
    let few = timeline.boxes((step.start, step.end), Ns(1), 300);
    assert!(few.lanes.iter().map(Vec::len).sum::<usize>() <= 300);
    assert!(few.resolution > Ns(1));
}

/// All columns of a lane.
fn numbers(lane: &Value, column: &str) -> Vec<i64> {
    lane[column].as_array().unwrap().iter().filter_map(Value::as_i64).collect()
}

#[test]
fn the_object_says_what_the_timeline_says() {
    let run = slow_model();
    let sources = loader::source_folders(&options());
    let names = loader::display_names(&run.merged, &options().root);
    let recording = Recording { run: &run, names, sources: &sources };
    let events = run.timeline.as_ref().unwrap();
    let drawn = timeline(&recording, events, "a title", &TimelineRange::PAGE).unwrap();
    assert!(drawn.to_string().len() < 200_000, "{}", drawn.to_string().len());
    let step = events.median_step().unwrap();
    assert_eq!(drawn["step"], step.number);
    let lanes = drawn["lanes"].as_array().unwrap();
    assert_eq!(lanes.len(), events.lanes.len());
    let mut launched = 0;
    for (lane, of) in lanes.iter().zip(&events.lanes) {
        let (start, duration) = (numbers(lane, "start"), numbers(lane, "duration"));
        assert!(start.iter().all(|it| *it >= 0));
        if let LaneKind::Stream { .. } = of.kind {
            let mut busy: i64 = duration.iter().sum();
            let merged = numbers(&lane["merged"], "box");
            for (row, time) in merged.iter().zip(numbers(&lane["merged"], "busy")) {
                busy += time - duration[usize::try_from(*row).unwrap()];
            }
            assert_eq!(busy, within(of, step.start, step.end));
            launched += numbers(&lane["launch"], "box").len();
        }
    }
    assert!(launched > 10, "{launched}");
    let parts = numbers(&drawn["busy"][0], "parts");
    assert_eq!(parts.len(), 400);
    assert!(parts.iter().all(|it| (0..=1000).contains(it)) && parts.iter().any(|it| *it > 0));
    // Another step, a range, and what there is not.
    let other = TimelineRange { step: Some(events.steps[0].number), ..TimelineRange::PAGE };
    assert_eq!(timeline(&recording, events, "", &other).unwrap()["step"], events.steps[0].number);
    let range = |from, to| TimelineRange { range: Some((Ns(from), Ns(to))), ..TimelineRange::PAGE };
    let part = timeline(&recording, events, "", &range(1_000_000, 2_000_000)).unwrap();
    assert_eq!((&part["from"], &part["to"]), (&1_000_000.into(), &2_000_000.into()));
    assert!(part["step"].is_null());
    assert!(timeline(&recording, events, "", &range(5, 5)).is_none());
    let missing = TimelineRange { step: Some(999), ..TimelineRange::PAGE };
    assert!(timeline(&recording, events, "", &missing).is_none());
}

#[test]
fn the_memory_above_the_lanes_has_the_peak_of_the_books() {
    let mut seen = Vec::new();
    for recording in ["simulated_cuda/torch2.15.0", "cuda/torch2.11.0"] {
        let run = load(repository().join("fixtures").join(recording).join("slow_model.json.gz"));
        let timeline = run.timeline.as_ref().unwrap();
        for (key, memory) in &run.merged.memory {
            let name = format!("cuda:{}", key.device);
            let curve = timeline.memory.iter().find(|it| it.device == name).unwrap();
            for n in [1, 400] {
                let parts = curve.most_in_parts(timeline.whole(), n);
                assert_eq!(parts.into_iter().max(), Some(memory.peak), "{name}, {n} parts");
            }
        }
        seen.push(timeline.memory.iter().map(|it| it.device.clone()).collect::<Vec<_>>());
    }
    assert_eq!(seen, [vec!["cuda:0"], vec!["cuda:0", "cpu"]]);
}

/// What the lanes of ranks say adds up to what the ranks waited, on the lines where they did.
#[test]
fn the_lanes_of_ranks_have_the_waits_of_the_comparison() {
    let folder = repository().join("fixtures/cpu/torch2.15.0/late_rank.slow_line");
    let mut inputs: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    inputs.sort();
    let watch = Watch { progress: &|_| (), cancelled: &AtomicBool::new(false) };
    let run = loader::load(&inputs, &options(), &watch).unwrap();
    let sources = loader::source_folders(&options());
    let names = loader::display_names(&run.merged, &options().root);
    let recording = Recording { run: &run, names, sources: &sources };
    let events = run.timeline.as_ref().unwrap();
    let (origin, end) = events.whole();
    let wanted = TimelineRange {
        range: Some((Ns(0), end - origin)),
        resolution: Some(Ns(1)),
        most: usize::MAX,
        ..TimelineRange::PAGE
    };
    let drawn = timeline(&recording, events, "", &wanted).unwrap();
    assert_eq!(drawn["ranks"], serde_json::json!({"leftOut": 0, "uncertainty": null}));
    let column = |table: &str, name: &str| -> Vec<usize> {
        let column = drawn[table][name].as_array().unwrap().iter();
        column.map(|it| usize::try_from(it.as_u64().unwrap()).unwrap()).collect()
    };
    let (parents, frames) = (column("nodes", "parent"), column("nodes", "frame"));
    let (kinds, lines) = (column("frames", "kind"), column("frames", "line"));
    let compared = ranks::Comparison::new(&run.merged).unwrap();
    let lanes = drawn["lanes"].as_array().unwrap().iter().filter(|it| it["kind"] == "rank");
    let lanes: Vec<&Value> = lanes.collect();
    assert_eq!(lanes.len(), 4);
    let mut waits = 0;
    for lane in lanes {
        let rank: u32 = lane["label"].as_str().unwrap().parse().unwrap();
        let mut found: BTreeMap<(usize, bool), i64> = BTreeMap::new();
        for (node, time) in numbers(lane, "node").into_iter().zip(numbers(lane, "duration")) {
            let node = usize::try_from(node).unwrap();
            let is_wait = drawn["kinds"][kinds[frames[node]]] == "wait";
            let line = std::iter::successors(Some(node), |it| Some(parents[*it]))
                .map(|it| lines[frames[it]])
                .find(|it| *it != 0);
            *found.entry((line.unwrap(), is_wait)).or_default() += time;
        }
        // What of the collectives lies in the recording of the rank that is shown.
        let mut expected: BTreeMap<(usize, bool), i64> = BTreeMap::new();
        for it in &compared.matched {
            for part in it.parts.iter().filter(|it| it.rank == rank) {
                let line = part.line.as_ref().unwrap().line as usize;
                let within = |from: Ns, to: Ns| {
                    let shown = (origin + events.base, end + events.base);
                    (to.min(shown.1) - from.max(shown.0)).0.max(0)
                };
                let all_began = part.start + it.meeting().wait(part);
                for (is_wait, time) in
                    [(true, within(part.start, all_began)), (false, within(all_began, part.end))]
                {
                    if time > 0 {
                        *expected.entry((line, is_wait)).or_default() += time;
                        waits += i64::from(is_wait);
                    }
                }
            }
        }
        assert_eq!(found, expected, "rank {rank}");
    }
    assert!(waits > 20, "{waits}");
}

#[test]
fn a_damaged_trace_has_a_timeline_of_what_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let whole = repository().join("fixtures/simulated_cuda/torch2.15.0/slow_model.json.gz");
    let bytes = std::fs::read(whole).unwrap();
    let path = folder.path().join("cut.json.gz");
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let run = load(path);
    assert!(!run.inputs[0].complete);
    let (books, timeline) = (run.stacks.as_ref().unwrap(), run.timeline.as_ref().unwrap());
    let thread = total(timeline, |it| matches!(it, LaneKind::Thread(_)));
    assert_eq!(thread, books.total(Metric::Cpu));
    assert!(thread > 0);
    let (from, to) = timeline.whole();
    assert!(from < to);
}

#[test]
fn it_is_kept_only_if_it_is_asked_for_and_of_one_rank() {
    let input = repository().join("fixtures/simulated_cuda/torch2.15.0/slow_model.json.gz");
    let watch = Watch { progress: &|_| (), cancelled: &AtomicBool::new(false) };
    let with = |timeline| {
        let options = LoadOptions { timeline, stacks: StackChoice::No, ..options() };
        loader::load(std::slice::from_ref(&input), &options, &watch).unwrap()
    };
    assert!(with(TimelineChoice::No).timeline.is_none());
    assert!(with(TimelineChoice::Rank(7)).timeline.is_none());
    assert!(with(TimelineChoice::First).timeline.is_some());
    assert!(with(TimelineChoice::First).stacks.is_none());
}
