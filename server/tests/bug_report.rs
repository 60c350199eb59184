//! What `perfline bug-report` writes shows the same numbers as the recording, and no word of its user.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use bug_report::{Outline, ReplacedNames, cut_trace};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use regex::Regex;
use serde_json::Value;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").canonicalize().unwrap()
}

fn perfline(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_perfline"))
        .current_dir(folder)
        .args(arguments)
        .env("PERFLINE_CACHE_DIR", "")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn report(folder: &Path, arguments: &[&str]) -> String {
    let output = perfline(folder, &[&["bug-report"], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn unzipped(path: &Path) -> String {
    let mut text = String::new();
    GzDecoder::new(File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text
}

fn zip(path: &Path, text: &str) {
    let mut gzip = GzEncoder::new(File::create(path).unwrap(), Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    gzip.finish().unwrap();
}

/// Numbers by file and line.
type Lines = BTreeMap<(String, u64), Vec<String>>;

/// The lines of `steps` with their numbers, without sources; files are what `rename` makes of them.
fn lines(trace: &Path, steps: &str, rename: &mut dyn FnMut(&str) -> String) -> Lines {
    let output = perfline(
        trace.parent().unwrap(),
        &[
            "lines",
            trace.to_str().unwrap(),
            "--step",
            steps,
            "--root",
            "/nonexistent",
            "--site",
            "/nonexistent",
        ],
    );
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut lines = Lines::new();
    for mut line in printed["lines"].as_array().unwrap().iter().cloned() {
        let line = line.as_object_mut().unwrap();
        let file = line.remove("file").unwrap();
        // Without sources, which function a line is in is what the recorded functions suggest.
        line.remove("function");
        let number = line.remove("line").and_then(|it| it.as_u64()).unwrap_or(0);
        // How a line is known is said over all steps of a recording.
        line.remove("evidence");
        // Passes of a server have other numbers in a part.
        line.retain(|key, _| !key.ends_with("_max_step"));
        let file = rename(file.as_str().unwrap_or_default());
        lines.entry((file, number)).or_default().push(serde_json::to_string(&line).unwrap());
    }
    lines.values_mut().for_each(|it| it.sort());
    lines.insert(("totals".to_owned(), 0), vec![printed["totals"].to_string()]);
    lines
}

/// Checks that the lines of a part with some steps of `trace` have the same numbers in it as in the whole. `change` makes another trace
/// of the fixture's text, and `steps_of_part` are the numbers that the steps have in the part.
fn check_lines(trace: &str, change: impl Fn(&str) -> String, steps: &str, steps_of_part: &str) {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.json.gz");
    let cut = folder.path().join("cut.json.gz");
    let text = change(&unzipped(&fixtures().join(format!("{trace}.json.gz"))));
    zip(&whole, &text);
    // The texts of sources are not in the part: what is inferred from them is not compared.
    let side_car = unzipped(&fixtures().join(format!("{trace}.callers.json.gz")));
    let mut side_car: Value = serde_json::from_str(&side_car).unwrap();
    side_car.as_object_mut().unwrap().remove("sources");
    zip(&folder.path().join("whole.callers.json.gz"), &side_car.to_string());

    report(folder.path(), &["whole.json.gz", "-o", "cut.json.gz", "--steps", steps]);

    // The same names again.
    let asked = [steps.parse().unwrap()];
    let window = Outline::read(text.as_bytes()).unwrap().window(&asked).unwrap();
    let mut names = ReplacedNames::default();
    cut_trace(text.as_bytes(), &window, "{}", &mut names, &mut Vec::new()).unwrap();
    let expected = lines(&whole, steps, &mut |file| names.path(file));
    let found = lines(&cut, steps_of_part, &mut str::to_owned);
    assert!(40 < found.len(), "{trace}");
    let differing: Vec<_> = expected.iter().filter(|it| found.get(it.0) != Some(it.1)).collect();
    assert_eq!(differing, [], "{trace}");
    assert_eq!(found.len(), expected.len(), "{trace}");
}

#[test]
fn lines_have_the_numbers_of_the_whole_recording() {
    for (trace, steps) in [
        ("simulated_cuda/torch2.15.0/slow_model", "2"),
        ("simulated_cuda/torch2.15.0/starved", "1-2"),
        ("lines/torch2.15.0-python3.13/slow_model", "3"),
        ("cpu/torch2.15.0/idle_threads", "2"),
        ("cpu/torch2.1.2/optimizer", "1"),
        ("cpu/torch1.13.1/gnn", "1"),
    ] {
        check_lines(trace, str::to_owned, steps, steps);
    }
}

#[test]
fn passes_of_a_server_have_the_numbers_of_the_whole_recording() {
    let as_passes = |text: &str| {
        let steps = Regex::new("\"ProfilerStep#[0-9]+\"").unwrap();
        steps.replace_all(text, "\"step[DECODE bs=4]\"").into_owned()
    };
    for (trace, steps, steps_of_part) in [
        ("simulated_cuda/torch2.15.0/slow_model", "2", "1"),
        ("simulated_cuda/torch2.15.0/starved", "2-3", "1-2"),
    ] {
        check_lines(trace, as_passes, steps, steps_of_part);
    }
}

/// A trace and a side-car in which every text that can be a user's has the word "secret" in it.
const TRACE: &str = r#"{
"schemaVersion": 1, "traceName": "/home/secret/trace.json", "host_name": "secrethost", "secret_meta": {"secret": ["secret"]},
"deviceProperties": [{"id": 0, "name": "Secret GPU", "secret": "secret"}],
"distributedInfo": {"backend": "secretbackend", "rank": 0, "world_size": 1, "pg_config": [{"pg_name": "secret_pg", "pg_desc": "secret", "ranks": [0]}]},
"traceEvents": [
{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 1.0, "args": {"name": "secret_program"}},
{"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "ts": 1.0, "args": {"name": "thread 1 (secret thread)"}},
{"ph": "M", "name": "secret_metadata", "pid": "secret", "tid": "secret 1", "ts": 1.0, "args": {"secret": {"secret": "secret"}}},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 10.0, "dur": 100.0},
{"ph": "X", "cat": "user_annotation", "name": "the secret range", "pid": 1, "tid": 1, "ts": 11.0, "dur": 80.0},
{"ph": "X", "cat": "user_annotation", "name": "Optimizer.step#SecretAdam.step", "pid": 1, "tid": 1, "ts": 11.5, "dur": 1.0},
{"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)#SecretLoader.__next__", "pid": 1, "tid": 1, "ts": 11.6, "dur": 0.5},
{"ph": "X", "cat": "user_annotation", "name": "nccl:secret", "pid": 1, "tid": 1, "ts": 11.7, "dur": 0.1},
{"ph": "X", "cat": "python_function", "name": "/home/secret/secret.py(3): secret", "pid": 1, "tid": 1, "ts": 13.0, "dur": 60.0, "args": {"Python id": 1, "CallFrom": "/home/secret/secret.py:4", "Secret": "secret"}},
{"ph": "X", "cat": "python_function", "name": "C:\\Users\\secret\\secret.py(3): Secret.forward", "pid": 1, "tid": 1, "ts": 13.5, "dur": 1.0, "args": {"Python id": 2, "Python parent id": 1}},
{"ph": "X", "cat": "python_function", "name": "/opt/secret/lib/python3.11/site-packages/secretpkg/x.py(3): secret", "pid": 1, "tid": 1, "ts": 15.0, "dur": 1.0},
{"ph": "X", "cat": "python_function", "name": "/opt/secret/lib/python3.11/site-packages/torch/nn/modules/module.py(3): _call_impl", "pid": 1, "tid": 1, "ts": 16.5, "dur": 1.0},
{"ph": "X", "cat": "python_function", "name": "transformers/secret/secret.py(3): secret", "pid": 1, "tid": 1, "ts": 18.0, "dur": 1.0},
{"ph": "X", "cat": "python_function", "name": "test/secret.py(3): secret", "pid": 1, "tid": 1, "ts": 19.5, "dur": 1.0},
{"ph": "X", "cat": "python_function", "name": "<secret>(3): secret", "pid": 1, "tid": 1, "ts": 21.0, "dur": 1.0},
{"ph": "X", "cat": "python_function", "name": "nn.Module: SecretNet_0", "pid": 1, "tid": 1, "ts": 22.5, "dur": 1.0},
{"ph": "X", "cat": "python_function", "name": "<built-in method secret of secret.Secret object at 0x7f00>", "pid": 1, "tid": 1, "ts": 24.0, "dur": 1.0},
{"ph": "X", "cat": "python_function", "name": "<built-in method secret of PyCapsule object at 0x7f00>", "pid": 1, "tid": 1, "ts": 25.5, "dur": 1.0},
{"ph": "X", "cat": "python_function", "name": "<built-in function secret>", "pid": 1, "tid": 1, "ts": 27.0, "dur": 1.0},
{"ph": "X", "cat": "python_function", "name": "secret", "pid": 1, "tid": 1, "ts": 28.5, "dur": 1.0},
{"ph": "X", "cat": "python_function", "name": "s\u0065cret \"quoted\"", "pid": 1, "tid": 1, "ts": 29.6, "dur": 0.1},
{"ph": "X", "cat": "cpu_op", "name": "secretlib::secret", "pid": 1, "tid": 1, "ts": 30.0, "dur": 1.0, "args": {"External id": 1, "Call stack": "secret.py(3): secret;/home/secret/secret.py(4): secret;<built-in function secret>", "Concrete Inputs": ["secret", "0.5", "[1, 2]"], "Input type": ["SecretType", "float"], "Input Dims": [[2, 3], []]}},
{"ph": "X", "cat": "cpu_op", "name": "SecretFnBackward", "pid": 1, "tid": 1, "ts": 31.5, "dur": 1.0},
{"ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: SecretFnBackward", "pid": 1, "tid": 1, "ts": 33.0, "dur": 1.0},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 34.5, "dur": 1.0, "args": {"Process Group Name": "secret", "Process Group Description": "secret", "Collective name": "secret", "dtype": "secret", "Module Hierarchy": "secret.Secret"}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 36.0, "dur": 1.0, "args": {"correlation": 7, "kernel": "secret_kernel"}},
{"ph": "X", "cat": "cuda_runtime", "name": "the secret call", "pid": 1, "tid": 1, "ts": 37.5, "dur": 1.0},
{"ph": "X", "cat": "kernel", "name": "void at::native::elementwise_kernel<128, 4, secret::Secret<float> >(int)", "pid": 0, "tid": 7, "ts": 40.0, "dur": 2.0, "args": {"correlation": 7, "stream": 7, "stack": ["File \"/home/secret/secret.py\", line 3, in secret", "secret.py(3): secret", "secret.py:3"]}},
{"ph": "X", "cat": "kernel", "name": "secret_gemm_kernel(float*)", "pid": 0, "tid": 7, "ts": 43.0, "dur": 2.0, "args": {"kernel_file": "/tmp/torchinductor_secret/ab/cab.py"}},
{"ph": "X", "cat": "kernel", "name": "triton_poi_fused_secret_0", "pid": 0, "tid": "stream 7 (secret)", "ts": 46.0, "dur": 2.0},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy secret", "pid": 0, "tid": 7, "ts": 49.0, "dur": 2.0},
{"ph": "X", "cat": "secret_runtime", "name": "secret", "pid": 1, "tid": 1, "ts": 50.0, "dur": 1.0},
{"ph": "X", "cat": "secret", "name": "secret", "secret": "secret", "id": "secret", "pid": 1, "tid": 1, "ts": 52.0, "dur": 1.0},
{"ph": "secret", "cat": "secret", "name": "secret", "pid": 1, "tid": 1, "ts": 52.0},
{"ph": "i", "s": "secret", "cat": "cpu_instant_event", "name": "secret", "pid": 1, "tid": 1, "ts": 53.0},
{"ph": "s", "id": 3, "cat": "secretflow", "name": "secret", "pid": 1, "tid": 1, "ts": 54.0}
]}"#;

const SIDE_CAR: &str = r#"{"schema": "perfline.callers/1", "torch": "2.11.0+secret", "python": "3.11.7", "secret": "secret",
"strings": ["/home/secret/secret.py(3): secret", "/home/secret/secret.py", "secret", "nn.Module: SecretNet_0", "layers.3.secret", "unused secret"],
"threads": [{"tid": 1, "name": [0], "start_ns": [13000], "file": [1], "line": [4], "secret": "secret"}],
"lines": {"until_ns": 100000, "codes": {"file": [1], "function": [2], "first": [3], "last": [9]}, "threads": [{"tid": 1, "time_ns": [13100, 10], "code": [0, 0], "line": [0, 4]}]},
"modules": {"event": [3], "name": [4], "parameters": [12], "bytes": [48]},
"sources": {"git": {"revision": "secret", "dirty": true}, "files": [{"file": 1, "sha256": "secret", "text": "secret = 1\n"}]}}"#;

#[test]
fn no_text_of_the_user_is_in_the_part() {
    let folder = tempfile::Builder::new().prefix("secret").tempdir().unwrap();
    fs::write(folder.path().join("secret.json"), TRACE).unwrap();
    zip(&folder.path().join("secret.callers.json.gz"), SIDE_CAR);
    let said = report(folder.path(), &["secret.json", "-o", "cut.json.gz"]);
    assert!(!said.to_lowercase().contains("secret"), "{said}");
    for part in ["cut.json.gz", "cut.callers.json.gz"] {
        let text = unzipped(&folder.path().join(part));
        assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
        let found = text.to_lowercase().find("secret").map(|at| &text[at.saturating_sub(80)..]);
        assert_eq!(found, None, "{part}");
    }
    let cut: Value = serde_json::from_str(&unzipped(&folder.path().join("cut.json.gz"))).unwrap();
    assert_eq!(cut["traceEvents"].as_array().unwrap().len(), TRACE.matches("\"ph\":").count());
    let side_car = unzipped(&folder.path().join("cut.callers.json.gz"));
    assert!(side_car.contains("\"python\":\"3.11.7\""), "{side_car}");
}

/// The name of a workload, and of its functions and classes.
fn words_of_workload(name: &str) -> Vec<String> {
    let mut words = vec![name.to_owned()];
    let text = fs::read_to_string(fixtures().join(format!("workloads/{name}.py"))).unwrap();
    for line in text.lines() {
        let line = line.trim_start();
        let name = line.strip_prefix("def ").or_else(|| line.strip_prefix("class "));
        let end = |it: &str| it.find(|it: char| !(it.is_alphanumeric() || it == '_'));
        words.extend(name.map(|it| it[..end(it).unwrap_or(it.len())].to_owned()));
    }
    words.sort();
    words.dedup();
    words
}

#[test]
fn no_name_of_a_workload_is_in_its_part() {
    // ReplacedNames that PyTorch and Python have, too.
    const PUBLIC: [&str; 5] = ["Transformer", "backward", "forward", "main", "step"];
    for trace in [
        "simulated_cuda/torch2.15.0/slow_model",
        "cpu/torch2.15.0/losses_of_time",
        "cpu/torch2.1.2/transformer",
        "lines/torch2.15.0-python3.13/transformer",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let input = fixtures().join(format!("{trace}.json.gz"));
        let cut = folder.path().join("cut.json.gz");
        report(folder.path(), &[input.to_str().unwrap(), "-o", cut.to_str().unwrap()]);
        let side_car = folder.path().join("cut.callers.json.gz");
        let text = format!("{}{}", unzipped(&cut), unzipped(&side_car));
        let whole = unzipped(&input);
        let is_in = |text: &str, word: &str| {
            text.match_indices(word).any(|(at, _)| {
                let is_part =
                    |it: Option<char>| it.is_some_and(|it| it.is_alphanumeric() || it == '_');
                !is_part(text[..at].chars().next_back())
                    && !is_part(text[at + word.len()..].chars().next())
            })
        };
        let words = words_of_workload(trace.rsplit('/').next().unwrap());
        let own = words.iter().filter(|it| !it.starts_with("__") && !PUBLIC.contains(&it.as_str()));
        let own: Vec<&String> = own.filter(|it| is_in(&whole, it)).collect();
        assert!(3 < own.len(), "{trace}: {own:?}");
        let left: Vec<&&String> = own.iter().filter(|it| is_in(&text, it)).collect();
        assert!(left.is_empty(), "{trace}: {left:?}");
    }
}

#[test]
fn what_cannot_be_written_or_cut_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("trace.json"), TRACE).unwrap();
    fs::write(folder.path().join("there.json.gz"), "mine").unwrap();
    fs::write(folder.path().join("beside.callers.json.gz"), "mine").unwrap();
    fs::write(folder.path().join("empty.json"), "").unwrap();
    let snapshot = fixtures().join("simulated_snapshots/torch2.15.0/slow_model.snapshot.pickle.gz");
    let snapshot = snapshot.to_str().unwrap();
    let rows: [(&[&str], &str); 7] = [
        (&["trace.json", "-o", "there.json.gz"], "there.json.gz: is there already"),
        (&["trace.json", "-o", "beside.json.gz"], "beside.callers.json.gz: is there already"),
        (&["trace.json", "-o", "cut.txt"], "cut.txt: must end in .json.gz or .json"),
        (
            &["trace.json", "-o", "cut.json", "--steps", "7-9"],
            "trace.json: has none of these steps; it has 1",
        ),
        (&[snapshot], "is a memory snapshot, of which no part can be cut"),
        (&["empty.json"], "empty.json: is no trace of torch.profiler"),
        (&["missing.json"], "missing.json: "),
    ];
    for (arguments, expected) in rows {
        let output = perfline(folder.path(), &[&["bug-report"], arguments].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected) && said.lines().count() == 1, "{expected}: {said}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("there.json.gz")).unwrap(), "mine");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
}

#[test]
fn a_damaged_recording_gives_the_part_before_and_behind_the_damage() {
    let folder = tempfile::tempdir().unwrap();
    let damaged = TRACE.replacen("\"name\": \"the secret range\"", "\"name\": \u{1}", 1);
    fs::write(folder.path().join("trace.json"), &damaged[..damaged.len() - 400]).unwrap();
    let said = report(folder.path(), &["trace.json", "-o", "cut.json"]);
    assert!(said.contains("the recording is damaged in "), "{said}");
    let cut = fs::read_to_string(folder.path().join("cut.json")).unwrap();
    let cut: Value = serde_json::from_str(&cut).unwrap();
    assert!(20 < cut["traceEvents"].as_array().unwrap().len());
    assert_eq!(cut["perflineBugReport"]["complete"], false);
    assert!(!cut["perflineBugReport"]["warnings"].as_array().unwrap().is_empty());
}
