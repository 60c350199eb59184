//! `perfline check` on recordings of a program before and after edits that are known (`tests/tests/comparison.rs`).

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

fn recordings() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/comparison");
    folder.canonicalize().unwrap()
}

/// Runs `perfline check` in the folder of the recordings, with a budget of this text.
fn check(budget: &str, arguments: &[&str]) -> Output {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("perfline.toml");
    fs::write(&path, budget).unwrap();
    Command::new(env!("CARGO_BIN_EXE_perfline"))
        .current_dir(recordings())
        .arg("check")
        .args(arguments)
        .arg("--budget")
        .arg(&path)
        .args(["--site", "base"])
        .env("PERFLINE_CACHE_DIR", "")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// The exit status and the lines of the output, without the folder of the budget.
fn result(budget: &str, arguments: &[&str]) -> (Option<i32>, Vec<String>) {
    let output = check(budget, arguments);
    let text =
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    let without_folder = |line: &str| {
        let Some(end) = line.find("perfline.toml") else { return line.to_owned() };
        let start = line[..end].rfind([' ', '(']).map_or(0, |it| it + 1);
        format!("{}{}", &line[..start], &line[end..])
    };
    (output.status.code(), text.lines().map(without_folder).collect())
}

const BASE: [&str; 3] = ["base/trace.json.gz", "--root", "base"];
const FASTER: [&str; 4] = ["--baseline", "faster/trace.json.gz", "--baseline-root", "faster"];
const AGAIN: [&str; 4] = ["--baseline", "base/again.json.gz", "--baseline-root", "base"];

#[test]
fn limits_that_are_kept_end_with_0() {
    let budget = "[budget]\nstep = '1 s'\n[budget.code.'train.py:correct']\ncpu_own = '1 s'\n";
    let (status, lines) = result(budget, &BASE);
    assert_eq!(status, Some(0), "{lines:#?}");
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with("2 limits kept: trace.json.gz · 8 steps of "), "{lines:#?}");
}

#[test]
fn each_limit_that_is_exceeded_is_a_line_with_its_place_first() {
    let budget = "[budget]\nstep = '1 ms'\n\n[budget.code.'train.py:correct']\ncpu_own = '1 us'\n";
    let (status, lines) = result(budget, &BASE);
    assert_eq!(status, Some(1));
    assert_eq!(lines[0], "perfline.toml:2: a step takes 9.78 ms, more than 1 ms");
    let expected = "train.py:13: thread time, own of train.py:correct: 1.4 ms per step, more than 1 µs (perfline.toml:5)";
    assert_eq!(lines[1], expected);
    assert!(lines[2].starts_with("2 of 2 limits exceeded: "), "{lines:#?}");
}

#[test]
fn a_line_that_became_slower_is_named_and_two_recordings_of_one_program_keep_their_limits() {
    let budget = "[budget.baseline]\nline = '1 %'\nstep = '3 %'\n";
    let (status, lines) = result(budget, &[&BASE[..], &FASTER].concat());
    assert_eq!(status, Some(1));
    // The line that reads elements one by one, and the part of its function that has no line of its own.
    let slower: Vec<&str> = lines.iter().filter_map(|it| it.split(": ").next()).collect();
    assert_eq!(slower[..2], ["train.py:13", "train.py:9"], "{lines:#?}");
    assert!(lines[2].starts_with("1 of 2 limits exceeded"), "{lines:#?}");
    let (status, lines) = result(budget, &[&BASE[..], &AGAIN].concat());
    assert_eq!(status, Some(0), "{lines:#?}");
}

#[test]
fn findings_that_the_baseline_does_not_have_are_counted() {
    let budget = "[budget.baseline]\nfindings = 0\n";
    let (status, lines) = result(budget, &[&BASE[..], &FASTER].concat());
    assert_eq!(status, Some(1));
    assert!(lines[0].starts_with("train.py:13: for-loop-indexing: "), "{lines:#?}");
    let (status, lines) = result(budget, &[&BASE[..], &AGAIN].concat());
    assert_eq!(status, Some(0), "{lines:#?}");
}

#[test]
fn review_tools_get_each_result_at_its_line() {
    let folder = TempDir::new().unwrap();
    let sarif = folder.path().join("out.sarif");
    let budget = "[budget.code.'train.py:correct']\ncpu_own = 0\n";
    let arguments = [&BASE[..], &["--sarif", sarif.to_str().unwrap()]].concat();
    assert_eq!(result(budget, &arguments).0, Some(1));
    let json: Value = serde_json::from_str(&fs::read_to_string(&sarif).unwrap()).unwrap();
    assert_eq!(json["version"], "2.1.0");
    let results = json["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 1);
    let at = &results[0]["locations"][0]["physicalLocation"];
    // From the folder in which the command ran, which in CI is that of the repository.
    assert_eq!(at["artifactLocation"]["uri"], "base/train.py");
    assert_eq!(at["region"]["startLine"], 13);
}

#[test]
fn what_cannot_be_read_is_reported_in_one_line() {
    for (budget, arguments, expected) in [
        (
            "[budget]\nstep = 3\n",
            &BASE[..],
            "perfline.toml:2: `step`: expected a time as in \"4.5 ms\"",
        ),
        (
            "[budget.baseline]\nstep = '3 %'\n",
            &BASE,
            "perfline.toml:1: no recording of the baseline is named; add ",
        ),
        (
            "[budget]\nstep = '1 s'\n",
            &[&BASE[..], &AGAIN].concat(),
            "perfline.toml: there are no limits against a baseline; add ",
        ),
        ("[budget.baseline]\nrecording = 'none.json'\nstep = '3 %'\n", &BASE, "none.json: "),
    ] {
        let (status, lines) = result(budget, arguments);
        assert_eq!((status, lines.len()), (Some(2), 1), "{lines:#?}");
        assert!(lines[0].contains(expected), "{lines:#?}");
    }
}

#[test]
fn the_budget_is_that_of_the_root() {
    let folder = TempDir::new().unwrap();
    fs::copy(recordings().join("base/train.py"), folder.path().join("train.py")).unwrap();
    let run = || {
        Command::new(env!("CARGO_BIN_EXE_perfline"))
            .arg("check")
            .arg(recordings().join("base/trace.json.gz"))
            .arg("--root")
            .arg(folder.path())
            .env("PERFLINE_CACHE_DIR", "")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    let output = run();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(error.contains("perfline.toml: cannot read the budget: "), "{error}");
    fs::write(folder.path().join("perfline.toml"), "[budget]\nstep = '1 s'\n").unwrap();
    assert_eq!(run().status.code(), Some(0));
}
