//! Recordings of several runs that are read as one are said to be of several.

#![expect(clippy::expect_used, reason = "a test may fail anywhere")]

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use loader::{LoadOptions, Run, SourceFolders, Watch, discover, load, to_ledger_file};

/// The first second of 2026, in seconds since the Unix epoch.
const SINCE_2026: u64 = 1_767_225_600;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures")
}

/// The files of `names`, which are files or folders below the recordings.
fn files(names: &[&str]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for name in names {
        let path = fixtures().join(name);
        if path.is_dir() {
            let entries = path.read_dir().expect("a folder").map(|it| it.expect("an entry").path());
            files.extend(entries.filter(|it| it.is_file()));
        } else {
            files.push(path);
        }
    }
    files
}

fn loaded(inputs: &[PathBuf]) -> Run {
    let options = LoadOptions::new(fixtures().join("workloads"), Some(Vec::new()));
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    load(inputs, &options, &watch).expect("loads")
}

/// The name of the file that is of another run, and why.
fn other_run(run: &Run) -> Option<(String, String)> {
    let (input, warning) = run.of_other_run()?;
    let name = input.path.file_name().expect("a name").to_string_lossy().into_owned();
    let (_, why) = warning.message.split_once(": ").expect("a reason");
    let (why, _) = why.split_once("; ").expect("what is shown");
    Some((name, why.to_owned()))
}

#[test]
fn ranks_of_one_run_belong_together() {
    let runs: [&[&str]; 6] = [
        &["cpu/torch2.15.0/late_rank.balanced"],
        &["cpu/torch2.15.0/late_rank.slow_data"],
        &["cpu/torch2.15.0/late_rank.slow_line"],
        &["cpu/torch2.15.0/pipeline.slow_stage"],
        &["cpu/torch2.15.0/scheduled.0.json.gz", "cpu/torch2.15.0/scheduled.1.json.gz"],
        &["cuda/torch2.11.0/resnet.json.gz", "cuda/torch2.11.0/resnet.snapshot.pickle.gz"],
    ];
    for names in runs {
        assert_eq!(other_run(&loaded(&files(names))), None, "{names:?}");
    }
}

#[test]
fn traces_of_two_programs_are_of_two_runs() {
    // Both were started by the same script.
    let run =
        loaded(&files(&["cpu/torch2.15.0/resnet.json.gz", "cpu/torch2.15.0/transformer.json.gz"]));
    let why = "hardly any function of your code is in both".to_owned();
    assert_eq!(other_run(&run), Some(("transformer.json.gz".to_owned(), why)));
}

#[test]
fn snapshots_of_two_programs_are_of_two_runs() {
    let run = loaded(&files(&[
        "cuda/torch2.11.0/resnet.snapshot.pickle.gz",
        "cuda/torch2.11.0/diffusion.snapshot.pickle.gz",
    ]));
    let why = "hardly any function of your code is in both".to_owned();
    assert_eq!(other_run(&run), Some(("diffusion.snapshot.pickle.gz".to_owned(), why)));
}

#[test]
fn a_step_of_a_rank_is_in_one_run_alone() {
    let mut inputs = files(&["cpu/torch2.15.0/late_rank.balanced"]);
    let n_first = inputs.len();
    inputs.extend(files(&["cpu/torch2.15.0/late_rank.slow_line"]));
    let run = loaded(&inputs);
    let (name, why) = other_run(&run).expect("another run");
    assert!(inputs[n_first..].iter().any(|it| it.ends_with(&name)), "{name}");
    assert!(why.starts_with("both have step 1 of rank "), "{why}");
    // What is no sum of a run is not written as one.
    let error = to_ledger_file(&run, &SourceFolders::default()).expect_err("two runs");
    assert!(error.contains("is of another run than"), "{error}");
}

#[test]
fn jobs_of_different_numbers_of_ranks_are_different_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = |name: &str, rank: u32, world_size: u32, step: u32| {
        let text = format!(
            r#"{{"distributedInfo": {{"rank": {rank}, "world_size": {world_size}, "backend": "gloo"}}, "traceEvents": [
                {{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#{step}", "pid": 1, "tid": 1, "ts": 0, "dur": 9}}
            ]}}"#
        );
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path
    };
    let inputs = [
        trace("a.json", 0, 2, 1),
        trace("b.json", 1, 2, 1),
        trace("c.json", 0, 4, 7),
        trace("d.json", 1, 2, 2),
    ];
    let (name, why) = other_run(&loaded(&inputs)).expect("another run");
    assert_eq!(name, "c.json");
    assert!(why.starts_with("its job has 4 ranks, that of "), "{why}");
    assert!(why.ends_with("a.json has 2"), "{why}");
    assert_eq!(other_run(&loaded(&[&inputs[..2], &inputs[3..]].concat())), None);
}

/// A trace with one step from `start` to `end`, in seconds since 2026, by the process `pid`.
fn trace_of_process(path: &Path, pid: u32, step: u32, start: u32, end: u32) {
    let text = format!(
        r#"{{"baseTimeNanoseconds": {SINCE_2026}000000000, "traceEvents": [
            {{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#{step}", "pid": {pid}, "tid": 1, "ts": {start}000000, "dur": {}}}
        ]}}"#,
        u64::from(end - start) * 1_000_000
    );
    std::fs::write(path, text).expect("a file");
}

#[test]
fn what_was_recorded_later_is_of_another_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = ["before.json", "after.json"].map(|it| folder.path().join(it));
    let second_from = |start: u32| {
        trace_of_process(&inputs[0], 1, 3, 0, 5);
        trace_of_process(&inputs[1], 2, 3, start, start + 15);
        loaded(&inputs)
    };
    for start in [3, 15, 20] {
        let run = second_from(start);
        assert_eq!(other_run(&run), None, "after {start} s");
        assert_eq!(run.ranks.len(), 2);
    }
    let (name, why) = other_run(&second_from(21)).expect("another run");
    let expected = "one was recorded after the other, and neither names a job of several ranks";
    assert_eq!((&*name, &*why), ("after.json", expected));
}

#[test]
fn what_a_process_records_from_time_to_time_is_of_one_rank() {
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = ["trace_4.json", "trace_8.json"].map(|it| folder.path().join(it));
    trace_of_process(&inputs[0], 7, 4, 0, 5);
    trace_of_process(&inputs[1], 7, 8, 600, 605);
    let run = loaded(&inputs);
    assert_eq!(other_run(&run), None);
    let steps: Vec<Vec<u32>> =
        run.ranks.iter().map(|it| it.steps.keys().copied().collect()).collect();
    assert_eq!(steps, [[4, 8]]);
    // Two containers may give the same number to their processes, which run at the same time.
    trace_of_process(&inputs[1], 7, 8, 4, 9);
    assert_eq!(loaded(&inputs).ranks.len(), 2);
}

/// Writes a trace of a rank, which began at a time in seconds since 2026, to a file that was changed as long after 2026.
fn rank_of_job(path: &Path, rank: u32, began: Option<u64>, changed: u64) {
    let base = began.map_or(0, |it| (SINCE_2026 + it) * 1_000_000_000);
    let text = format!(
        r#"{{"distributedInfo": {{"rank": {rank}, "world_size": 4, "backend": "gloo"}}, "baseTimeNanoseconds": {base}, "traceEvents": [
            {{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 0, "dur": 9}}
        ]}}"#
    );
    std::fs::write(path, text).expect("a file");
    let file = std::fs::File::options().write(true).open(path).expect("a file");
    let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(SINCE_2026 + changed);
    file.set_modified(changed).expect("a time");
}

#[test]
fn files_of_ranks_may_be_written_or_copied_for_long() {
    let found = |began: [Option<u64>; 4], changed: [u64; 4]| {
        let folder = tempfile::tempdir().expect("a folder");
        for (rank, (began, changed)) in (0..).zip(began.into_iter().zip(changed)) {
            rank_of_job(&folder.path().join(format!("rank{rank}.json")), rank, began, changed);
        }
        discover(folder.path()).iter().map(|it| it.inputs.len()).collect::<Vec<_>>()
    };
    // Each within two minutes of the one before it.
    assert_eq!(found([None; 4], [0, 110, 220, 330]), [4]);
    assert_eq!(found([None; 4], [0, 110, 231, 330]), [2, 2]);
    // Where that takes longer, they say when they were recorded.
    assert_eq!(found([Some(7), Some(5), Some(9), Some(8)], [1000, 0, 3000, 5000]), [4]);
    assert_eq!(found([Some(7), Some(205), Some(9), Some(208)], [1000, 0, 3000, 5000]), [2, 2]);
}
