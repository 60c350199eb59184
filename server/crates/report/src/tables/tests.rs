use std::sync::Arc;

use event_timeline::{Lane, LaneKind, LaneSpan, Launch, SpanName};
use ledger::{CompilePhases, CompiledFunction, Evidence, LineBooks, LineKey, Ns, PerStep, Reason};
use loader::{EventTimeline, Rank, Run};
use stack_books::StackFrame::{self, Device, Line, NoLine, Operator, Runtime};
use stack_books::{FramedLine, StackRow};

use super::*;
use crate::model::Cell;
use crate::terminal::{Colours, Terminal};
use crate::testing::{recording, sources, training};

fn line(line: u32) -> StackFrame {
    let key = LineKey { file: "train.py".to_owned(), line };
    Line(FramedLine { key, function: "step".to_owned(), is_user_code: true })
}

fn operator(name: &str) -> StackFrame {
    Operator(name.to_owned())
}

/// Adds events with an amount each to a stack.
fn add(books: &mut StackBooks, frames: &[StackFrame], metric: Metric, amounts: &[i64]) {
    let mut stack = StackRow::ROOT;
    for frame in frames {
        let frame = books.frame(frame.clone());
        books.add_evidence(frame, Evidence::Exact);
        stack = books.push(stack, frame);
    }
    for &amount in amounts {
        books.add(metric, stack, amount);
        books.count(stack, 1);
    }
}

/// Two products of matrices on two lines, a copy that calls itself, and an operator without a line.
fn books() -> StackBooks {
    let mut books = StackBooks::default();
    let (linear, addmm) = (operator("aten::linear"), operator("aten::addmm"));
    let gemm = Device("void gemm<float>(int)".to_owned());
    for at in [17, 18] {
        let outer = [line(25), line(at), linear.clone()];
        add(&mut books, &outer, Metric::Cpu, &[1_000, 1_000]);
        let inner = [&outer[..], std::slice::from_ref(&addmm)].concat();
        add(&mut books, &inner, Metric::Cpu, &[4_000, 6_000]);
        let launch = Runtime("cudaLaunchKernel".to_owned());
        add(&mut books, &[&inner[..], &[launch]].concat(), Metric::Cpu, &[500, 500]);
        let times = if at == 17 { [30_000, 30_000] } else { [10_000, 10_000] };
        add(&mut books, &[&inner[..], std::slice::from_ref(&gemm)].concat(), Metric::Cuda, &times);
    }
    let copy = operator("aten::copy_");
    add(&mut books, &[line(18), copy.clone()], Metric::Cpu, &[100]);
    add(&mut books, &[line(18), copy.clone(), copy], Metric::Cpu, &[50]);
    add(&mut books, &[NoLine(Reason::NoStacks), operator("aten::add")], Metric::Cpu, &[7]);
    let fill = Device("Memset (Device)".to_owned());
    add(&mut books, &[NoLine(Reason::NoLaunch), fill], Metric::Cuda, &[20_000]);
    books
}

/// The rows as text, a cell after the other.
fn rows(table: &NamedTable) -> Vec<String> {
    let text = |row: &Vec<Cell>| row.iter().map(|it| it.text.clone()).collect::<Vec<_>>().join("|");
    table.section.rows.iter().map(text).collect()
}

#[test]
fn operators_are_counted_with_and_without_what_is_below_them() {
    let (mut run, sources) = (training(), sources());
    run.stacks = Some(books());
    let recording = recording(&run, &sources);
    let of = |order| rows(&operators(&recording, Some(order), false).unwrap());
    assert_eq!(
        of(OperatorOrder::CpuTotal),
        [
            "99.4 %|4 µs|26 µs||80 µs||4|aten::linear||train.py:17, :18",
            "84.1 %|20 µs|22 µs|80 µs|80 µs||4|aten::addmm||train.py:17, :18",
            "0.57 %|150 ns|150 ns||||2|aten::copy_||train.py:18",
            "0.03 %|7 ns|7 ns||||1|aten::add||",
        ]
    );
    // The kernels of line 17 run longer.
    assert_eq!(
        of(OperatorOrder::CudaSelf)[0],
        "80 %|20 µs|22 µs|80 µs|80 µs||4|aten::addmm||train.py:17, :18"
    );
    assert_eq!(of(OperatorOrder::Calls)[0].split('|').next_back(), Some("train.py:17, :18"));
    assert_eq!(
        operators(&recording, None, false).unwrap().section,
        operators(&recording, Some(OperatorOrder::CudaSelf), false).unwrap().section
    );
}

#[test]
fn kernels_are_added_up_with_those_that_have_no_line() {
    let (mut run, sources) = (training(), sources());
    run.stacks = Some(books());
    let recording = recording(&run, &sources);
    assert_eq!(
        rows(&kernels(&recording, true).unwrap()),
        [
            "80 %|80 %|80 µs|4|20 µs|||||||void gemm<float>(int)|train.py:17, :18",
            "20 %|100 %|20 µs|1|20 µs|||||||Memset (Device)|",
        ]
    );
}

#[test]
fn columns_that_do_not_fit_are_named() {
    let (mut run, sources) = (training(), sources());
    run.stacks = Some(books());
    let table = operators(&recording(&run, &sources), None, false).unwrap();
    let text = |width| {
        let mut out = Vec::new();
        let terminal = Terminal { colours: Colours::Plain, width: Some(width) };
        write_text(&mut out, &table, 1, &terminal).unwrap();
        String::from_utf8(out).unwrap()
    };
    let wide = text(100);
    assert!(wide.contains("cpu total  cuda self  cuda total  calls  operator"), "{wide}");
    let narrow = text(70);
    assert!(narrow.contains("share  cpu self  cuda self  calls  operator"), "{narrow}");
    let note = "  too narrow for cpu total, cuda total\n";
    assert!(narrow.contains(note), "{narrow}");
    assert!(narrow.lines().all(|it| it.chars().count() <= 70), "{narrow}");
}

/// Four steps of 10, 10, 14 and 9 ms. Line 25 takes longer in the third on the thread, line 17 on the device, and both take as
/// long as ever otherwise; line 18 takes 0.3 ms more, which is too little to be named.
fn uneven() -> loader::Run {
    let mut run = training();
    let ledger = &mut run.merged;
    let ms = |it: f64| Ns((it * 1e6) as i64);
    ledger.steps = (1..).zip([10.0, 10.0, 14.0, 9.0].map(ms)).collect();
    ledger.overviews.clear();
    let books = |cpu: [f64; 4], cuda: [f64; 4]| {
        let each = std::iter::zip(cpu.map(ms), cuda.map(ms));
        let each = each.map(|(cpu, cuda)| PerStep { cpu, cuda, ..PerStep::default() });
        Box::new(LineBooks { steps: (1..).zip(each).collect(), ..LineBooks::default() })
    };
    let key = |line| LineKey { file: "train.py".to_owned(), line };
    ledger.lines = [
        (key(17), books([2.0; 4], [3.0, 3.0, 5.0, 3.0])),
        (key(18), books([1.0, 1.0, 1.3, 1.0], [0.0; 4])),
        (key(25), books([6.0, 5.0, 9.5, 5.0], [0.0; 4])),
    ]
    .into();
    run.ranks = vec![Rank::only(0, ledger)];
    run
}

#[test]
fn a_step_that_is_longer_than_the_median_names_the_lines_that_make_it_so() {
    let (run, sources) = (uneven(), sources());
    let recording = recording(&run, &sources);
    let of = |order| rows(&steps(&recording, order));
    let parts = "||||||||";
    let longest = format!("|3|14 ms|+4 ms|{parts}train.py:25 +4 ms|train.py:17 +2 ms");
    assert_eq!(
        of(StepOrder::Number),
        [
            format!("|1|10 ms||{parts}|"),
            format!("|2|10 ms||{parts}|"),
            longest.clone(),
            format!("|4|9 ms|-1 ms|{parts}|"),
        ]
    );
    assert_eq!(of(StepOrder::Time)[0], longest);
}

#[test]
fn steps_of_several_ranks_are_held_against_the_median_of_their_rank() {
    let (mut run, sources) = (uneven(), sources());
    let mut slow = run.merged.clone();
    slow.steps.values_mut().for_each(|it| *it = *it * 10);
    let file = Arc::default();
    let books = (0..).zip([run.merged.clone(), slow]);
    run.ranks = books.map(|(rank, it)| Rank::new(rank, it, &file, |_| ())).collect();
    let table = steps(&recording(&run, &sources), StepOrder::Time);
    let first = &rows(&table)[0];
    assert!(first.starts_with("1|3|140 ms|+40 ms|"), "{first}");
    assert!(rows(&table)[7].starts_with("0|4|9 ms|-1 ms|"));
}

#[test]
fn a_recording_without_stacks_is_refused() {
    let (run, sources) = (training(), sources());
    let error = operators(&recording(&run, &sources), None, false).unwrap_err();
    assert_eq!(error.to_string(), "the recording was loaded without stacks");
}

#[test]
fn an_unknown_order_is_reported_with_those_that_there_are() {
    let error = "length".parse::<StepOrder>().unwrap_err().to_string();
    assert_eq!(error, "unknown order `length`, expected one of: number, time");
    let error = "gpu".parse::<OperatorOrder>().unwrap_err().to_string();
    assert_eq!(
        error,
        "unknown order `gpu`, expected one of: cpu_self, cpu_total, cuda_self, cuda_total, alloc, calls"
    );
}

/// Annotations that lie within each other, overlap and repeat, on a thread for which another one launches, too.
fn annotated_timeline() -> EventTimeline {
    let mut stacks = StackBooks::default();
    let mut stack = |frames: &[StackFrame]| {
        frames.iter().fold(StackRow::ROOT, |parent, frame| {
            let frame = stacks.frame(frame.clone());
            stacks.push(parent, frame)
        })
    };
    let kernel = || Device("gemm".to_owned());
    let loop_line = stack(&[line(25)]);
    let forward = stack(&[line(25), line(17)]);
    let launched = stack(&[line(25), line(17), kernel()]);
    let by_autograd = stack(&[line(25), operator("MulBackward0"), kernel()]);
    let elsewhere = FramedLine {
        key: LineKey { file: "prefetch.py".to_owned(), line: 3 },
        function: "fill".to_owned(),
        is_user_code: true,
    };
    let by_prefetch = stack(&[Line(elsewhere), kernel()]);
    let span = |start, end, name| LaneSpan { start: Ns(start), end: Ns(end), name };
    let lane = |kind, spans: &[(i64, i64, StackRow)]| {
        let spans = spans.iter().map(|&(start, end, it)| span(start, end, SpanName::Stack(it)));
        Lane { kind, spans: spans.collect(), launches: Vec::new() }
    };
    let main = || "main (1)".to_owned();
    let annotations = [(0, 100, 0), (10, 40, 1), (20, 30, 1), (90, 120, 2), (130, 150, 3)];
    let annotations = annotations.map(|(start, end, it)| span(start, end, SpanName::Named(it)));
    let mut stream = lane(
        LaneKind::Stream { device: 0, stream: 7 },
        &[(50, 55, launched), (60, 67, by_autograd), (70, 81, by_prefetch)],
    );
    stream.launches =
        [(1, 25), (2, 95), (3, 26)].map(|(lane, at)| Some(Launch { lane, at: Ns(at) })).into();
    EventTimeline {
        names: ["ProfilerStep#1", "forward", "## by hand ##", "ProfilerStep#2"]
            .map(str::to_owned)
            .into(),
        lanes: vec![
            Lane {
                kind: LaneKind::Annotations(main()),
                spans: annotations.into(),
                launches: Vec::new(),
            },
            lane(
                LaneKind::Thread(main()),
                &[(0, 10, loop_line), (10, 40, forward), (40, 150, loop_line)],
            ),
            lane(LaneKind::Thread("autograd".to_owned()), &[(90, 100, by_autograd)]),
            lane(LaneKind::Thread("prefetch".to_owned()), &[(20, 30, by_prefetch)]),
            stream,
        ],
        stacks,
        ..EventTimeline::default()
    }
}

#[test]
fn ranges_have_the_time_between_their_ends_and_what_was_launched_meanwhile() {
    let (mut run, sources) = (training(), sources());
    assert!(ranges(&recording(&run, &sources)).is_err());
    run.timeline = Some(annotated_timeline());
    // `## by hand ##` begins in a step and ends after it: from there on the time is its own.
    assert_eq!(
        rows(&ranges(&recording(&run, &sources)).unwrap()),
        [
            "80 %|120 ns|80 ns|12 ns|2|60 ns|20 ns|100 ns|ProfilerStep#*|train.py:25",
            "20 %|30 ns|30 ns|7 ns|1|30 ns|30 ns|30 ns|## by hand ##|train.py:25",
            "20 %|30 ns|30 ns|5 ns|2|20 ns|10 ns|30 ns|forward|train.py:17",
        ]
    );
}

#[test]
fn compiled_functions_of_libraries_are_added_up() {
    let (mut run, sources) = (training(), sources());
    let function = |file: &str, name: &str, time| {
        let key = LineKey { file: file.to_owned(), line: 15 };
        (key, CompiledFunction { name: name.to_owned(), time: Ns(time), ..Default::default() })
    };
    const LIBRARY: &str = "torch/nn/functional.py";
    let of_library = [function(LIBRARY, "relu", 300)];
    run.merged.compiled =
        [function("train.py", "forward", 700)].into_iter().chain(of_library).collect();
    assert!(!run.merged.files[LIBRARY].is_user_code);
    let table = |run: &Run, all| {
        let table = super::compiled(&recording(run, &sources), all, false);
        let notes: Vec<String> = table.section.notes.iter().map(|it| it.text.clone()).collect();
        (rows(&table), notes)
    };
    let (mine, notes) = table(&run, false);
    assert_eq!(mine, ["700 ns|70 %|0|train.py:15|forward|"]);
    assert_eq!(notes, ["without 1 function of libraries, 300 ns (--all)"]);
    let (all, notes) = table(&run, true);
    assert_eq!(all.len(), 2);
    assert!(notes.is_empty());
    // Where the log says what each phase took, it has a column.
    let phases = CompilePhases { tracing: Ns(100), kernels: Ns(600), ..CompilePhases::default() };
    run.merged.compiled.values_mut().for_each(|it| it.phases = phases);
    assert_eq!(table(&run, false).0, ["700 ns|70 %|0|100 ns|0|0|600 ns|train.py:15|forward|"]);
    run.merged.compiled.values_mut().for_each(|it| it.phases = CompilePhases::default());
    // Without a function of yours there is nothing to leave out.
    run.merged.compiled.retain(|key, _| key.file == LIBRARY);
    assert_eq!(
        table(&run, false),
        (vec!["300 ns|100 %|0|torch/nn/functional.py:15|relu|".to_owned()], Vec::new())
    );
}
