//! Holds inference to the accuracy that the README states, on the recordings of the repository: their exact evidence is
//! hidden, and what is inferred is held against it. (`examples/accuracy.rs` prints the table, also for library code.)

#![allow(clippy::expect_used)] // A test that cannot go on says why.

mod measure;

use std::path::{Path, PathBuf};

use measure::{Score, beside, measure};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

/// Measures all traces of a folder: calls made by your code, and operators.
fn measure_all(folder: &str, ignore_exact: bool) -> (Score, Score) {
    let (mut calls, mut operators) = (Score::default(), Score::default());
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
    for trace in traces {
        let truth = beside(&trace, ".truth.json");
        let accuracy = measure(
            &trace,
            truth.is_file().then_some(truth.as_path()),
            &fixtures().join("workloads"),
            &[],
            ignore_exact,
        );
        calls.add(&accuracy.own);
        operators.add(&accuracy.operators);
    }
    (calls, operators)
}

fn permille(n: u64, score: &Score) -> u64 {
    n * 1000 / score.events.max(1)
}

#[test]
fn calls_of_your_code_are_found() {
    for version in ["1.13.1", "2.1.2", "2.11.0", "2.15.0"] {
        let (calls, _) = measure_all(&format!("cpu/torch{version}"), true);
        assert!(calls.events > 2_000, "{version}: {calls:?}");
        assert!(permille(calls.right, &calls) >= 990, "{version}: {calls:?}");
        assert!(permille(calls.wrong, &calls) < 5, "{version}: {calls:?}");
    }
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
