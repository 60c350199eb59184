//! A file that `perfline ledger` wrote says what the recordings say.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").canonicalize().unwrap()
}

/// Runs a command in the folder of the fixtures, against their workloads.
fn run(command: &str, inputs: &[&str], options: &[&str]) -> Output {
    let workloads = fixtures().join("workloads");
    Command::new(env!("CARGO_BIN_EXE_perfline"))
        .current_dir(fixtures())
        .arg(command)
        .args(inputs)
        .args(["--root", workloads.to_str().unwrap(), "--site", workloads.to_str().unwrap()])
        .args(options)
        .env("PERFLINE_CACHE_DIR", "")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn stdout(command: &str, inputs: &[&str], options: &[&str]) -> String {
    let output = run(command, inputs, options);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Writes the ledger of `inputs`; its size.
fn write(inputs: &[&str], file: &Path) -> u64 {
    stdout("ledger", inputs, &["--output", file.to_str().unwrap()]);
    fs::metadata(file).unwrap().len()
}

#[test]
fn a_ledger_says_what_the_recordings_say() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.perfline");
    for inputs in [
        &["cpu/torch2.15.0/late_rank.slow_line"][..],
        &["simulated_cuda/torch2.15.0/slow_model.json.gz"],
        &[
            "simulated_cuda/torch2.15.0/slow_model.json.gz",
            "simulated_snapshots/torch2.15.0/slow_model.snapshot.pickle.gz",
        ],
    ] {
        write(inputs, &file);
        let ledger = [file.to_str().unwrap()];
        for (command, options) in [
            ("lines", &["--format", "json"][..]),
            ("lines", &["--format", "csv"]),
            ("report", &["--format", "json"]),
            ("ranks", &["--format", "json"]),
            ("annotate", &[]),
            ("memory", &["--format", "json"]),
        ] {
            let (there, here) =
                (stdout(command, inputs, options), stdout(command, &ledger, options));
            assert!(there == here, "{command} of {inputs:?}:\n{there}\n{here}");
        }
    }
}

#[test]
fn ledgers_of_ranks_merge_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let traces = fixtures().join("cpu/torch2.15.0/late_rank.slow_line");
    let mut traces: Vec<PathBuf> =
        fs::read_dir(traces).unwrap().map(|it| it.unwrap().path()).collect();
    traces.retain(|it| it.to_string_lossy().ends_with(".pt.trace.json.gz"));
    traces.sort();
    let path = |name: &str| folder.path().join(name);
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    for (rank, trace) in traces.iter().enumerate() {
        write(&[&text(trace)], &path(&format!("{rank}.perfline")));
    }
    let merge = |names: &[&str], into: &str| {
        let names: Vec<String> = names.iter().map(|it| text(&path(it))).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        write(&names, &path(into));
        fs::read(path(into)).unwrap()
    };
    let flat = merge(&["0.perfline", "1.perfline", "2.perfline", "3.perfline"], "flat");
    merge(&["3.perfline", "1.perfline"], "left");
    merge(&["2.perfline", "0.perfline"], "right");
    let tree = merge(&["left", "right"], "tree");
    assert!(flat == tree, "the same ledgers give the same bytes");
    let one = stdout("report", &[&text(&path("tree"))], &["--rank", "1", "--format", "json"]);
    let trace = stdout("report", &[&text(&traces[1])], &["--format", "json"]);
    assert!(one == trace, "a rank can be chosen from a file");
}

#[test]
fn a_ledger_is_small_and_says_where_a_text_was_edited() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.perfline");
    let trace = "simulated_cuda/torch2.15.0/slow_model.json.gz";
    let workload = fs::read_to_string(fixtures().join("workloads/slow_model.py")).unwrap();
    let size = write(&[trace], &file);
    // Of this small recording of three steps; that of a long one is not larger.
    assert!(size < 60_000, "{size}");
    let elsewhere = folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let annotate = || {
        let root = elsewhere.to_str().unwrap();
        let file = file.to_str().unwrap();
        let arguments = ["annotate", file, "--root", root, "--site", root];
        let output = Command::new(env!("CARGO_BIN_EXE_perfline"))
            .args(arguments)
            .env("PERFLINE_CACHE_DIR", "")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(annotate().contains("not found here"), "{}", annotate());
    fs::write(elsewhere.join("slow_model.py"), &workload).unwrap();
    assert!(annotate().contains("loss.backward()"), "the text is found below another root");
    fs::write(elsewhere.join("slow_model.py"), format!("# new\n{workload}")).unwrap();
    assert!(annotate().contains("edited since the recording"), "{}", annotate());
}

#[test]
fn a_damaged_ledger_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.perfline");
    write(&["simulated_cuda/torch2.15.0/slow_model.json.gz"], &file);
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let output = run("lines", &[file.to_str().unwrap()], &[]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[test]
fn recordings_of_two_runs_are_not_written_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.perfline");
    let inputs = ["cpu/torch2.15.0/resnet.json.gz", "cpu/torch2.15.0/transformer.json.gz"];
    let output = run("ledger", &inputs, &["--output", file.to_str().unwrap()]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    let last = message.lines().last().unwrap_or_default();
    assert!(last.starts_with("perfline: cpu/torch2.15.0/transformer.json.gz: "), "{message}");
    assert!(!file.exists());
}
