//! The critical path of `docs/accounting.md`, worked out by hand on small traces, and on ranks of which the late one is known.

#![expect(clippy::unwrap_used, reason = "a test may fail anywhere")]

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use attribution::{AttributionOptions, attribute};
use ledger::{Ledger, Ns, PathTime, RankPaths};
use loader::{LoadOptions, Watch, load};
use ranks::{Comparison, CriticalPath};
use recorded::RecordedSources;
use tests::builder::render;
use tests::fixtures::{repository, traces};
use trace_reader::TraceReader;

fn ledger(text: &str) -> Ledger {
    let mut reader = TraceReader::new();
    reader.feed(render(text).unwrap().as_bytes());
    let profile = reader.finish().profile;
    let ledger = attribute(profile, &RecordedSources::default(), AttributionOptions::default(), 0);
    assert!(ledger.adds_up());
    ledger
}

/// Each line of the path, in microseconds, in order of the lines: `m.py:1 host=40`.
fn path(text: &str) -> String {
    let ledger = ledger(text);
    let Some(path) = CriticalPath::new(&ledger, None).unwrap() else {
        return String::new();
    };
    let mut lines: Vec<String> = path
        .lines
        .iter()
        .map(|it| {
            let line =
                it.line.as_ref().map_or("?".to_owned(), |it| format!("{}:{}", it.file, it.line));
            format!("{line} {}", parts(&it.time))
        })
        .collect();
    lines.sort();
    lines.join("\n")
}

fn parts(it: &PathTime) -> String {
    let parts = [
        ("host", it.host),
        ("launch", it.launch),
        ("device", it.device),
        ("communication", it.communication),
        ("gap", it.gap),
    ];
    let parts = parts.into_iter().filter(|(_, time)| *time != Ns::ZERO);
    let parts: Vec<String> =
        parts.map(|(name, time)| format!("{name}={}", time.as_f64() / 1e3)).collect();
    parts.join(" ")
}

#[test]
fn a_kernel_that_begins_when_it_is_launched_waited_for_the_host() {
    let it = path(
        "
        step 1 0..100
        py m.py:1 a 0..40
        py m.py:5 b 40..100
        run cudaLaunchKernel 10..12 corr=1
        kernel first 15..25 corr=1
        run cudaLaunchKernel 50..52 corr=2
        kernel second 58..130 corr=2
        ",
    );
    assert_eq!(it, "m.py:1 host=40\nm.py:5 host=10 launch=8 device=72");
}

#[test]
fn a_thread_that_waits_for_a_device_goes_on_when_that_is_done() {
    let it = path(
        "
        step 1 0..110
        py m.py:1 a 0..25
        py m.py:5 b 25..110
        run cudaLaunchKernel 10..12 corr=1
        kernel first 15..60 corr=1
        run cudaLaunchKernel 20..22 corr=2
        kernel second 61..100 corr=2
        run cudaStreamSynchronize 30..102
        ",
    );
    assert_eq!(it, "m.py:1 host=10 launch=5 device=84 gap=1\nm.py:5 host=10");
}

#[test]
fn a_kernel_that_was_launched_long_ago_waited_for_another_stream() {
    let it = path(
        "
        step 1 0..110
        py m.py:1 a 0..13
        py m.py:5 b 13..110
        run cudaLaunchKernel 10..11 corr=1
        kernel first 15..70 corr=1 stream=7
        run cudaLaunchKernel 13..14 corr=2
        kernel second 72..109 corr=2 stream=8
        run cudaDeviceSynchronize 20..110
        ",
    );
    assert_eq!(it, "m.py:1 host=10 launch=5 device=55\nm.py:5 host=1 device=37 gap=2");
}

#[test]
fn what_a_launch_waited_for_that_is_not_known_is_a_gap() {
    let it = path(
        "
        step 1 0..100
        py m.py:1 a 0..100
        run cudaLaunchKernel 10..12 corr=1
        kernel only 60..120 corr=1
        ",
    );
    assert_eq!(it, "m.py:1 host=10 device=60 gap=50");
}

#[test]
fn a_copy_from_pageable_memory_is_waited_for() {
    let it = path(
        "
        step 1 0..100
        py m.py:1 a 0..100
        run cudaMemcpyAsync 10..60 corr=1
        copy \"Memcpy HtoD (Pageable -> Device)\" 20..65 corr=1
        ",
    );
    assert_eq!(it, "m.py:1 host=45 launch=10 device=45");
}

#[test]
fn threads_of_the_autograd_engine_work_for_the_one_that_waits_for_them() {
    let it = path(
        "
        thread main
        step 1 0..200
        py m.py:1 a 0..20
        py m.py:5 b 20..200
        call \"<built-in method run_backward of torch._C._EngineBase object at 0x7f>\" 30..180
        thread autograd
        op autograd::engine::evaluate_function:MulBackward0 40..80 seq=1 fwd=1 ext=1
        run cudaLaunchKernel 50..52 corr=1 ext=1
        kernel first 53..60 corr=1
        op autograd::engine::evaluate_function:MmBackward0 90..150 seq=0 fwd=1 ext=2
        run cudaLaunchKernel 140..142 corr=2 ext=2
        kernel second 145..260 corr=2
        ",
    );
    // To the second launch, on whichever thread: all of the backward pass is on the line that runs it.
    assert_eq!(it, "m.py:1 host=20\nm.py:5 host=120 launch=5 device=115");
}

#[test]
fn steps_have_paths_of_their_own() {
    let it = ledger(
        "
        step 1 0..100
        step 2 100..200
        py m.py:1 a 0..200
        run cudaLaunchKernel 10..12 corr=1
        kernel first 15..120 corr=1
        run cudaLaunchKernel 110..112 corr=2
        kernel second 121..180 corr=2
        ",
    );
    let path = CriticalPath::new(&it, None).unwrap().unwrap();
    // The first step ends with what it launched, and the second begins then.
    assert_eq!((path.steps, path.time.sum()), (2, Ns(200_000)));
    assert_eq!(parts(&path.time), "host=90 launch=5 device=105");
}

#[test]
fn without_a_device_there_is_nothing_to_choose_from() {
    assert_eq!(path("step 1 0..100\npy m.py:1 a 0..100\nop aten::mm 10..20"), "");
}

/// The path of a run of `fixtures/cpu/torch2.15.0`, all ranks together, and how long its mean step is.
fn of_ranks(name: &str) -> (Ledger, CriticalPath) {
    let folder = repository().join("fixtures/cpu/torch2.15.0").join(name);
    let inputs = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let mut inputs: Vec<_> = inputs.filter(|it| it.is_file()).collect();
    inputs.sort();
    let options = LoadOptions::new(repository().join("fixtures/workloads"), Some(Vec::new()));
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    let run = load(&inputs, &options, &watch).unwrap();
    assert!(run.adds_up(&run.merged.balances()));
    let compared = Comparison::new(&run.merged).unwrap();
    let path = CriticalPath::new(&run, Some(&compared)).unwrap().unwrap();
    // What is read rank by rank is what whole paths give.
    let mut whole = run.merged.clone();
    for rank in &run.ranks {
        whole.critical_paths.extend(run.ledger_of(rank).unwrap().into_owned().critical_paths);
    }
    assert_eq!(CriticalPath::of_ranks(&whole, &whole).unwrap().as_ref(), Some(&path));
    (run.merged, path)
}

#[test]
fn the_path_of_several_ranks_is_on_the_late_one() {
    let (ledger, path) = of_ranks("late_rank.slow_line");
    let first = &path.lines[0];
    let text =
        std::fs::read_to_string(repository().join("fixtures/workloads/late_rank.py")).unwrap();
    let line = first.line.as_ref().unwrap().line as usize;
    assert_eq!(text.lines().nth(line - 1).unwrap().trim(), "scores = torch.tanh(scores @ scores)");
    assert_eq!(first.by_rank.keys().collect::<Vec<_>>(), [&1]);
    assert!(path.time.sum().0 * 6 / 10 < path.by_rank[&1].0, "{:?}", path.by_rank);
    // The path goes from the begin of a step on one rank to its end on another, by clocks that may differ.
    let steps: Ns = ledger.steps.values().copied().sum();
    let ratio = path.time.sum().as_f64() / steps.as_f64();
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
}

/// The ranges of sends last until their requests are waited for, which is not what a stage waits for.
#[test]
fn the_path_through_a_pipeline_is_on_the_slow_stage() {
    let (_, path) = of_ranks("pipeline.slow_stage");
    let (first, workload) = (&path.lines[0], repository().join("fixtures/workloads/pipeline.py"));
    let text = std::fs::read_to_string(workload).unwrap();
    let line = first.line.as_ref().unwrap().line as usize;
    assert_eq!(text.lines().nth(line - 1).unwrap().trim(), "scores = torch.tanh(scores @ scores)");
    assert_eq!(first.by_rank.keys().collect::<Vec<_>>(), [&1]);
    assert!(path.time.sum().0 / 3 < first.time.sum().0, "{:?}", first.time);
}

#[test]
fn every_instant_of_a_step_is_on_its_path_once() {
    let mut paths = 0;
    // Those of a CPU alone have no path, but for ranks that communicate.
    let has_path = |it: &PathBuf| {
        let path = it.to_string_lossy();
        path.contains("cuda") || ["ranks", "rank.", "pipeline"].iter().any(|it| path.contains(it))
    };
    for trace in traces().unwrap().into_iter().filter(has_path) {
        let options = LoadOptions::new(repository().join("fixtures/workloads"), Some(Vec::new()));
        let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
        let Ok(run) = load(std::slice::from_ref(&trace), &options, &watch) else { continue };
        assert!(run.merged.adds_up(), "{}", trace.display());
        for path in run.merged.critical_paths.values().flat_map(|it| it.steps.values()) {
            let path = Ledger {
                critical_paths: [(
                    0,
                    RankPaths { steps: [(None, path.clone())].into(), ..RankPaths::default() },
                )]
                .into(),
                ..Ledger::default()
            };
            let begin =
                path.critical_paths[&0].steps[&None].pieces.iter().map(|it| it.time.start).min();
            let end = path.critical_paths[&0].steps[&None].pieces[0].time.end;
            let path = CriticalPath::new(&path, None).unwrap().unwrap();
            assert_eq!(path.time.sum(), end - begin.unwrap(), "{}", trace.display());
            paths += 1;
        }
    }
    assert!(50 < paths, "{paths}");
}
