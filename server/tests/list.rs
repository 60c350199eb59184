//! `perfline list` on folders.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

use std::fs::File;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

fn list(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_perfline"));
    command.arg("list").args(arguments).env("PERFLINE_CACHE_DIR", "").current_dir(folder);
    command.output().unwrap()
}

/// Copies a fixture, as if it had been written so many seconds ago.
fn record(fixture: &str, to: &Path, seconds: u64) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    std::fs::copy(fixtures.join(fixture), to).unwrap();
    let file = File::options().append(true).open(to).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
}

#[test]
fn recordings_are_listed_the_newest_first() {
    let folder = tempfile::tempdir().unwrap();
    let ranks = "cpu/torch2.15.0/two_ranks.rank";
    record("cpu/torch2.15.0/uploads.json.gz", &folder.path().join("old/a.json.gz"), 200_000);
    record(
        "simulated_snapshots/torch2.15.0/slow_model.snapshot.pickle.gz",
        &folder.path().join("b.pickle.gz"),
        4_000,
    );
    for rank in 0..2 {
        let name = format!("run/two_ranks.rank{rank}.json.gz");
        record(&format!("{ranks}{rank}.json.gz"), &folder.path().join(name), 100);
    }
    let output = list(folder.path(), &["--format", "json"]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |row: &Value, column: usize| row[column]["text"].as_str().unwrap().to_owned();
    let rows = value["table"]["rows"].as_array().unwrap().iter();
    let found: Vec<[String; 5]> =
        rows.map(|it| [0, 2, 3, 7, 8].map(|column| text(it, column))).collect();
    let expected = [
        ["1 min", "2", "2", "kineto", "./run/two_ranks.rank0.json.gz"],
        ["1 h", "1", "1", "snapshot", "./b.pickle.gz"],
        ["2 d", "1", "1", "kineto", "./old/a.json.gz"],
    ];
    assert_eq!(found, expected);

    let output = list(folder.path(), &["--top", "1"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("two_ranks") && text.contains("and 2 more (--top)"), "{text}");
    assert!(!text.contains("b.pickle.gz"), "{text}");
}

#[test]
fn steps_and_commit_are_known_of_what_was_looked_at_before() {
    let (folder, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // It is made by Perfline: nothing is kept in a folder that others may read.
    let cache = kept.path().join("cache");
    let trace = "cpu/torch2.15.0/transformer.json.gz";
    for (name, seconds) in [("new.json.gz", 100), ("old.json.gz", 4_000)] {
        record(trace, &folder.path().join(name), seconds);
    }
    let git = json!({"revision": "1a2b3c4d".repeat(5), "dirty": true});
    let sources = json!({"git": git, "files": []});
    let callers =
        json!({"schema": "perfline.callers/1", "strings": [], "threads": [], "sources": sources});
    std::fs::write(folder.path().join("old.callers.json"), callers.to_string()).unwrap();
    // A file that was written a moment ago is not kept.
    std::thread::sleep(Duration::from_millis(700));
    let perfline = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_perfline"));
        command.args(arguments).env("PERFLINE_CACHE_DIR", &cache).current_dir(folder.path());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let listed = || {
        let value: Value =
            serde_json::from_slice(&perfline(&["list", "--format", "json"])).unwrap();
        let columns = value["table"]["columns"].as_array().unwrap();
        let at = |name: &str| columns.iter().position(|it| it["name"] == name).unwrap();
        let columns = ["recording", "steps", "commit"].map(at);
        let rows = value["table"]["rows"].as_array().unwrap().iter();
        rows.map(|row| columns.map(|it| row[it]["text"].as_str().unwrap_or("-").to_owned()))
            .collect::<Vec<_>>()
    };
    let [new, old] = ["./new.json.gz", "./old.json.gz"];
    assert_eq!(listed(), [[new, "-", "-"], [old, "-", "-"]]);
    perfline(&["report", "old.json.gz"]);
    assert_eq!(listed(), [[new, "-", "-"], [old, "2", "1a2b3c4-dirty"]]);
    perfline(&["report", "new.json.gz"]);
    assert_eq!(listed(), [[new, "2", "-"], [old, "2", "1a2b3c4-dirty"]], "one without a side-car");
}

#[test]
fn a_folder_without_recordings_says_what_to_name() {
    let folder = tempfile::tempdir().unwrap();
    let output = list(folder.path(), &["."]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(error.lines().count(), 1);
    assert!(error.starts_with("perfline: .: no recording below this folder"), "{error}");
    assert_eq!(output.status.code(), Some(2));
}
