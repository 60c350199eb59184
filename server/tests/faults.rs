//! What the system refuses while inputs are read and outputs are written: what was read counts, what is written is whole or not there, and
//! one line says which file it is.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// Bytes that a process may write to a file, where the disk is to be full.
const BLOCKS_OF_512: u32 = 8;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").canonicalize().unwrap()
}

fn trace() -> String {
    fixtures().join("simulated_cuda/torch2.15.0/slow_model.json.gz").to_str().unwrap().to_owned()
}

fn snapshot() -> String {
    let path = "simulated_snapshots/torch2.15.0/slow_model.snapshot.pickle.gz";
    fixtures().join(path).to_str().unwrap().to_owned()
}

fn perfline(arguments: &[&str], stdout: Stdio) -> Output {
    Command::new(env!("CARGO_BIN_EXE_perfline"))
        .args(arguments)
        .env("PERFLINE_CACHE_DIR", "")
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap()
}

/// Runs a command that may write files of 4 KiB at most, as if the disk were full then.
fn on_full_disk(arguments: &[&str], cache: &str) -> Output {
    // A signal that is ignored stays ignored in the program that takes the place of the shell.
    let script = format!("trap '' XFSZ; ulimit -f {BLOCKS_OF_512}; exec \"$@\"");
    Command::new("sh")
        .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_perfline")])
        .args(arguments)
        .env("PERFLINE_CACHE_DIR", cache)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// The last line of what was said, which must be about the fault; lines before it are what each command says.
fn last_line(output: &Output) -> String {
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    said.lines().last().unwrap_or_default().to_owned()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|it| it.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_standard_output_that_takes_nothing_is_named_in_one_line() {
    let (trace, snapshot) = (trace(), snapshot());
    let commands: [&[&str]; 8] = [
        &["lines", &trace],
        &["report", &trace],
        &["report", &trace, "--format", "json"],
        &["annotate", &trace, "--root", "workloads"],
        &["ops", &trace],
        &["export", &trace, "--format", "folded"],
        &["memory", &snapshot],
        &["explain", "sync"],
    ];
    for command in commands {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = perfline(command, full.into());
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        let line = last_line(&output);
        let expected = "perfline: cannot write the output: No space left on device";
        assert!(line.starts_with(expected), "{command:?}: {line}");
    }
}

#[test]
fn a_file_that_cannot_be_written_whole_is_not_written() {
    let (trace, snapshot) = (trace(), snapshot());
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let commands: [(&str, &[&str]); 6] = [
        ("run.perfline", &["ledger", &trace, "--output"]),
        ("stacks.json", &["export", &trace, "--format", "speedscope", "--output"]),
        ("stacks.pb.gz", &["export", &trace, "--format", "pprof", "--output"]),
        ("report.html", &["report", &trace, "--html"]),
        ("memory.svg", &["memory", &snapshot, "--svg"]),
        ("part.json.gz", &["bug-report", &trace, "--output"]),
    ];
    for (name, command) in commands {
        for has_old in [false, true] {
            if has_old && command[0] == "bug-report" {
                // It replaces nothing.
                continue;
            }
            if has_old {
                fs::write(at(name), "old").unwrap();
            }
            let path = at(name);
            let arguments: Vec<&str> = command.iter().copied().chain([path.as_str()]).collect();
            let output = on_full_disk(&arguments, "");
            assert_eq!(output.status.code(), Some(2), "{name}: {}", last_line(&output));
            let line = last_line(&output);
            assert!(line.contains(&path) && line.contains("File too large"), "{name}: {line}");
            let expected: &[&str] = if has_old { &[name] } else { &[] };
            assert_eq!(names(folder.path()), expected, "{name}");
            if has_old {
                assert_eq!(fs::read_to_string(&path).unwrap(), "old");
                fs::remove_file(&path).unwrap();
            }
        }
    }
}

#[test]
fn a_cache_that_cannot_be_written_changes_nothing() {
    let trace = trace();
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let expected = perfline(&["lines", &trace], Stdio::piped()).stdout;
    let output = on_full_disk(&["lines", &trace], cache.to_str().unwrap());
    assert!(output.status.success());
    assert!(output.stdout == expected);
    let kept = names(&cache);
    // What is small enough may be there; what is there is whole.
    for name in &kept {
        let file = File::open(cache.join(name)).unwrap();
        std::io::copy(&mut MultiGzDecoder::new(file), &mut std::io::sink()).unwrap();
    }
    assert!(kept.iter().all(|it| !it.ends_with(".ledger.gz")), "{kept:?}");
}

#[test]
fn a_file_that_cannot_be_read_is_named_in_one_line() {
    // Reading it fails with EIO, as that of a disk that is defect.
    let output = perfline(&["lines", "/proc/self/mem"], Stdio::piped());
    assert_eq!(output.status.code(), Some(2));
    let line = last_line(&output);
    assert!(line.contains("/proc/self/mem") && line.contains("Input/output error"), "{line}");
    assert_eq!(String::from_utf8(output.stderr).unwrap().lines().count(), 1);
    // With another one beside it that can, that one is printed.
    let trace = trace();
    let output = perfline(&["lines", "/proc/self/mem", &trace], Stdio::piped());
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.starts_with(b"{\"schema\""));
}

#[test]
fn a_pipe_that_ends_early_counts_as_far_as_it_goes() {
    let text = fs::read(trace()).unwrap();
    let mut plain = Vec::new();
    std::io::copy(&mut MultiGzDecoder::new(&*text), &mut plain).unwrap();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&plain).unwrap();
    let packed = packed.finish().unwrap();
    for (bytes, expected) in
        [(plain, "the file ends inside"), (packed, "breaks off at compressed byte")]
    {
        for strict in [false, true] {
            let mut child = Command::new(env!("CARGO_BIN_EXE_perfline"))
                .args(["lines", "-"])
                .args(strict.then_some("--strict"))
                .env("PERFLINE_CACHE_DIR", "")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            // The writer dies in the middle.
            child.stdin.take().unwrap().write_all(&bytes[..bytes.len() / 2]).unwrap();
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(if strict { 2 } else { 0 }));
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(said.contains(expected), "{said}");
            let printed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            let input = &printed["inputs"][0];
            assert_eq!(input["complete"], false);
            assert!(5_000 < input["events"].as_u64().unwrap(), "{input}");
        }
    }
}

#[test]
fn memory_that_is_refused_ends_the_process_and_leaves_no_half_of_a_file() {
    let trace = trace();
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("run.perfline");
    let cache = folder.path().join("cache");
    let whole = |command: &mut Command| {
        let ended =
            command.env("PERFLINE_CACHE_DIR", &cache).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        (ended.status, said)
    };
    let binary = env!("CARGO_BIN_EXE_perfline");
    // With a limit by default reading would end before memory does.
    let limit = ["--memory-limit", "8G"];
    let arguments = ["ledger", &trace, "--output", output.to_str().unwrap(), limit[0], limit[1]];
    let (status, said) = whole(Command::new(binary).args(arguments));
    assert!(status.success(), "{said}");
    let expected = fs::read(&output).unwrap();
    fs::remove_dir_all(&cache).unwrap();
    let (mut n_refused, mut n_done) = (0, 0);
    // From less than the program itself needs to enough. What is refused differs: a block of a table, the stack of a thread, a
    // buffer of the output.
    for mib in (16..400).step_by(8) {
        fs::write(&output, "old").unwrap();
        let script = format!("ulimit -v {}; exec \"$@\"", mib << 10);
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh", binary]).args(arguments);
        let (status, said) = whole(&mut command);
        let found = fs::read(&output).unwrap();
        if status.success() {
            assert!(found == expected, "{mib} MiB: {said}");
            n_done += 1;
        } else {
            assert_eq!(found, b"old", "{mib} MiB: {said}");
            n_refused += 1;
        }
        // What was kept before memory ended is whole.
        for name in if cache.exists() { names(&cache) } else { Vec::new() } {
            if name.ends_with(".gz") {
                let file = File::open(cache.join(&name)).unwrap();
                let mut unpacked = MultiGzDecoder::new(file);
                std::io::copy(&mut unpacked, &mut std::io::sink()).unwrap();
            }
        }
        if n_done == 3 {
            break;
        }
        let _ = fs::remove_dir_all(&cache);
    }
    assert!(n_refused > 3 && n_done == 3, "refused with {n_refused} amounts, done with {n_done}");
}
