//! Holds inference to the accuracy that the README states, on the recordings of the repository: their exact evidence is
//! hidden, and what is inferred is held against it. (`examples/accuracy.rs` prints the table, also for library code.)

#![allow(clippy::expect_used)] // A test that cannot go on says why.

mod measure;

use expect_test::expect_file;
use std::path::{Path, PathBuf};

use measure::{Accuracy, OwnTime, Score, beside, measure};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

/// The traces of a folder, by name.
fn traces(folder: &str) -> Vec<PathBuf> {
    let mut traces: Vec<PathBuf> = std::fs::read_dir(fixtures().join(folder))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            let name = path.to_string_lossy();
            name.ends_with(".json.gz") && !name.ends_with(".callers.json.gz")
        })
        .collect();
    traces.sort();
    assert!(!traces.is_empty(), "no recordings in {folder}");
    traces
}

/// Measures a trace; its libraries are those of the workloads.
fn accuracy(trace: &Path, ignore_exact: bool) -> Accuracy {
    let truth = beside(trace, ".truth.json");
    let truth = truth.is_file().then_some(truth.as_path());
    let workloads = fixtures().join("workloads");
    let sites = [workloads.join("site-packages")];
    measure(trace, truth, &workloads, &sites, ignore_exact)
}

/// Measures all traces of a folder: calls made by your code, and operators.
fn measure_all(folder: &str, ignore_exact: bool) -> (Score, Score) {
    let (mut calls, mut operators) = (Score::default(), Score::default());
    for trace in traces(folder) {
        let accuracy = accuracy(&trace, ignore_exact);
        calls.add(&accuracy.own);
        operators.add(&accuracy.operators);
    }
    (calls, operators)
}

/// Right / wrong of all.
fn cell(score: &Score) -> String {
    format!("{:>5} / {:>2} of {:>5}", score.right, score.wrong, score.events)
}

fn permille(n: u64, score: &Score) -> u64 {
    n * 1000 / score.events.max(1)
}

/// Every recording, with the exact numbers in `table.txt`: a change of inference shows there as a difference.
#[test]
fn every_recording_has_the_accuracy_that_is_written_down() {
    let folders = [
        "cpu/torch1.13.1",
        "cpu/torch2.1.2",
        "cpu/torch2.1.2-python3.9",
        "cpu/torch2.11.0",
        "cpu/torch2.15.0",
        "cuda/torch2.11.0",
        "truth/torch2.11.0",
        "truth/torch2.15.0",
        "truth/torch2.15.0-python3.13",
    ];
    let mut table = format!(
        "{:<52} {:>19} {:>19} {:>19}\n",
        "right / wrong of all", "your code's calls", "libraries' calls", "operators"
    );
    for folder in folders {
        let mut calls = Score::default();
        let [mut time, mut device_time] = [OwnTime::default(); 2];
        for trace in traces(folder) {
            let it = accuracy(&trace, true);
            calls.add(&it.own);
            time.add(&it.time);
            device_time.add(&it.device_time);
            let name = trace.file_name().unwrap_or_default().to_string_lossy();
            let name = format!("{folder}/{}", name.trim_end_matches(".json.gz"));
            let [own, library, operators] = [&it.own, &it.library, &it.operators].map(cell);
            table += &format!("{name:<52} {own:>19} {library:>19} {operators:>19}\n");
        }
        // Whole microseconds do not show which call holds another.
        if !folder.contains("torch1.13") && !folder.contains("torch2.1.") {
            assert!(time.wrong.0 * 2_000 <= time.right.0, "{folder}: {time:?}");
        }
        assert!(device_time.wrong.0 * 1_000 <= device_time.right.0, "{folder}: {device_time:?}");
        if folder.starts_with("cpu") {
            assert!(permille(calls.right, &calls) >= 985, "{folder}: {calls:?}");
            assert!(permille(calls.wrong, &calls) < 15, "{folder}: {calls:?}");
        }
    }
    expect_file!["table.txt"].assert_eq(&table);
}

#[test]
fn operators_are_found() {
    for folder in ["truth/torch2.11.0", "truth/torch2.15.0", "truth/torch2.15.0-python3.13"] {
        let (calls, operators) = measure_all(folder, true);
        assert!(operators.events > 1_000, "{folder}: {operators:?}");
        assert!(permille(operators.right, &operators) >= 990, "{folder}: {operators:?}");
        assert!(permille(operators.wrong, &operators) < 5, "{folder}: {operators:?}");
        assert!(permille(calls.right, &calls) >= 990, "{folder}: {calls:?}");
    }
}

#[test]
fn what_the_recording_names_is_never_changed() {
    let (calls, operators) = measure_all("truth/torch2.15.0", false);
    assert_eq!(calls.right, calls.events);
    assert!(permille(operators.right, &operators) >= 990, "{operators:?}");
    assert!(permille(operators.wrong, &operators) < 5, "{operators:?}");
}
