//! What a recording may cost: small files that unfold to gigabytes are read in part, within the memory that was given, and
//! what cannot be read leaves a server as it was. The files are made of one compressed piece many times over.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

mod messages;

use std::fs;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use flate2::Compression;
use flate2::read::GzEncoder;
use serde_json::{Value, json};

use messages::read_message;

/// Longer than anything takes on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Bytes that the repeated part of each file unfolds to: held in memory it would take more than [`ADDRESS_SPACE`].
const UNFOLDED: usize = 3 << 30;

/// KiB that the process may reserve: without a limit of its own it ends here.
const ADDRESS_SPACE: u32 = 3 << 20;

const LIMIT: &str = "128M";

const TRACE: &str = r#"{"schemaVersion":1,"traceEvents":[
{"ph":"X","cat":"python_function","name":"train.py(1): main","pid":1,"tid":1,"ts":0,"dur":90,"args":{"Python id":1}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":10,"dur":50}
]}"#;

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    GzEncoder::new(text, Compression::fast()).read_to_end(&mut packed).unwrap();
    packed
}

/// A file of a few megabytes that begins with `head`, goes on with `part` for gigabytes, and ends with `tail`.
fn bomb(folder: &Path, name: &str, [head, part, tail]: [&[u8]; 3]) -> PathBuf {
    let part = part.repeat((16 << 20) / part.len());
    let packed = gzip(&part);
    let mut bytes = gzip(head);
    (0..UNFOLDED / part.len()).for_each(|_| bytes.extend_from_slice(&packed));
    bytes.extend(gzip(tail));
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

fn events(folder: &Path, name: &str) -> PathBuf {
    let event = br#"{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1},"#;
    let parts = [&b"{\"schemaVersion\":1,\"traceEvents\":[\n"[..], event, b"{}]}"];
    bomb(folder, name, parts)
}

/// A snapshot whose devices have the values `part`.
fn snapshot(folder: &Path, name: &str, part: &[u8]) -> PathBuf {
    let head = [b"\x80\x04}(", &*text("segments"), b"]", &text("device_traces"), b"](]("].concat();
    bomb(folder, name, [&head, part, b"eeu."])
}

fn text(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap();
    [b"X", &length.to_le_bytes()[..], text.as_bytes()].concat()
}

fn snapshot_event() -> Vec<u8> {
    let fields = [("addr", 1), ("size", 1), ("stream", 0)];
    let mut event = [b"}(", &*text("action"), &text("alloc")].concat();
    fields.iter().for_each(|(name, value)| event.extend([&*text(name), &[b'K', *value]].concat()));
    event.push(b'u');
    event
}

fn perfline(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    let script = format!("ulimit -v {ADDRESS_SPACE}; exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_perfline")]).args(arguments);
    command.current_dir(folder).env("PERFLINE_CACHE_DIR", "").stdin(Stdio::null());
    command
}

fn lines(folder: &Path, input: &Path, more: &[&str]) -> Output {
    let input = input.to_str().unwrap();
    let arguments = [&["lines", input, "--site", ".", "--memory-limit", LIMIT], more].concat();
    perfline(folder, &arguments).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Asserts that an input was read in part, and that this is said.
fn assert_is_cut(folder: &Path, input: &Path, kind: &str) {
    let output = lines(folder, input, &["--strict"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{kind}: {said}");
    let lines: Value = serde_json::from_slice(&output.stdout).unwrap();
    let read = &lines["inputs"][0];
    assert_eq!((&read["kind"], &read["complete"]), (&json!(kind), &json!(false)));
    assert!(read["events"].as_u64().unwrap() > 1000, "{read}");
    let anomalies = read["anomalies"].as_array().unwrap();
    let cut = anomalies.iter().find(|it| it["kind"] == "memory_limit").unwrap();
    assert_eq!(cut["severity"], "data_loss");
    assert!(anomalies.iter().all(|it| it["kind"] != "truncated"), "{anomalies:?}");
    let name = input.file_name().unwrap().to_str().unwrap();
    for part in [name, "is incomplete", "128 MiB", "--memory-limit"] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn a_trace_that_unfolds_to_gigabytes_is_read_in_part() {
    let folder = tempfile::tempdir().unwrap();
    let input = events(folder.path(), "events.json.gz");
    assert_is_cut(folder.path(), &input, "kineto");
}

#[test]
fn reading_ends_before_the_address_space_does() {
    const MIB: u32 = 640;
    let folder = tempfile::tempdir().unwrap();
    let input = events(folder.path(), "events.json.gz");
    let mut command = Command::new("sh");
    let script = format!("ulimit -v {}; exec \"$0\" lines \"$1\" --site . --strict", MIB << 10);
    command.args(["-c", &script, env!("CARGO_BIN_EXE_perfline"), input.to_str().unwrap()]);
    command.current_dir(folder.path()).env("PERFLINE_CACHE_DIR", "").stdin(Stdio::null());
    let output = command.output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let limit = format!("the memory limit of {} MiB was near", MIB / 2 / 4 * 3);
    assert!(said.contains(&limit), "{said}");
}

#[test]
fn a_snapshot_that_unfolds_to_gigabytes_is_read_in_part() {
    let folder = tempfile::tempdir().unwrap();
    let input = snapshot(folder.path(), "events.pickle", &snapshot_event());
    assert_is_cut(folder.path(), &input, "snapshot");
}

#[test]
fn a_timeline_of_times_that_unfolds_to_gigabytes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let parts = [&b"[["[..], b"1700000000000000,", b"1700000000000000],[[0,1,2,3,4,5,6,7,8]]]"];
    let input = bomb(folder.path(), "timeline.json.gz", parts);
    let input = input.to_str().unwrap();
    let arguments = ["lines", input, "--site", ".", "--memory-limit", "64M"];
    let output = perfline(folder.path(), &arguments).output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for part in ["timeline.json.gz", "64 MiB", "--memory-limit"] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn a_snapshot_of_nothing_that_unfolds_to_gigabytes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let input = snapshot(folder.path(), "nothing.pickle", b"}");
    let output = lines(folder.path(), &input, &[]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for part in ["nothing.pickle", "128 MiB", "--memory-limit"] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn a_side_car_that_unfolds_to_gigabytes_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("run.json");
    fs::write(&input, TRACE).unwrap();
    let head = br#"{"schema":"perfline.callers/1","strings":["a"],"threads":[{"tid":1,"name":["#;
    bomb(folder.path(), "run.callers.json.gz", [head, b"0,", b"0]}]}"]);
    let output = lines(folder.path(), &input, &[]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let lines: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(lines["inputs"][0]["complete"], true);
    let said = lines["inputs"][1]["warnings"][0].as_str().unwrap();
    for part in ["not used", "run.callers.json.gz", "8 MiB", "--memory-limit"] {
        assert!(said.contains(part), "{said}");
    }
}

/// A trace of `n` events, each as `event` writes it.
fn trace(folder: &Path, n: usize, event: impl Fn(usize) -> String) -> PathBuf {
    let events: Vec<String> = (0..n).map(event).collect();
    let path = folder.join("trace.json");
    let text = format!("{{\"schemaVersion\":1,\"traceEvents\":[\n{}\n]}}", events.join(",\n"));
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn memory_does_not_grow_with_threads_times_lines() {
    let folder = tempfile::tempdir().unwrap();
    // A column of the lines for each thread had 6 GB.
    let n = 40_000;
    let input = trace(folder.path(), n, |it| {
        let (line, at) = (it + 1, it * 10);
        format!(
            r#"{{"ph":"X","cat":"python_function","name":"train.py({line}): f","pid":1,"tid":{line},"ts":{at},"dur":5,"args":{{"Python id":{line}}}}}"#
        )
    });
    let arguments = ["lines", input.to_str().unwrap(), "--site", ".", "--format", "csv"];
    let output = perfline(folder.path(), &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let lines = String::from_utf8(output.stdout).unwrap();
    assert_eq!(lines.lines().count(), n + 1);
}

#[test]
fn each_of_many_devices_has_its_own_memory() {
    let folder = tempfile::tempdir().unwrap();
    let n = 2000;
    let input = trace(folder.path(), 2 * n, |it| {
        let (device, at, address) = (it % n, it * 10, 4096 * (it + 1));
        format!(
            r#"{{"ph":"i","s":"t","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":1,"ts":{at},"args":{{"Addr":{address},"Bytes":512,"Total Allocated":512,"Total Reserved":2048,"Device Type":1,"Device Id":{device}}}}}"#
        )
    });
    let arguments = ["memory", input.to_str().unwrap(), "--site", ".", "--format", "json"];
    let output = perfline(folder.path(), &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let memory: Value = serde_json::from_slice(&output.stdout).unwrap();
    let devices = memory["devices"].as_array().unwrap();
    assert_eq!(devices.len(), n);
    assert!(devices.iter().all(|it| it["peak_bytes"] == 1024), "{}", devices[0]);
}

/// A server, and what it says.
struct Server {
    process: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    n_requests: u32,
}

impl Server {
    fn start(folder: &Path) -> Self {
        let mut command = perfline(folder, &["lsp"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            while let Some(message) = read_message(&mut output) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let input = process.stdin.take().unwrap();
        let mut server = Self { process, input, messages, n_requests: 0 };
        // Nothing is looked for.
        let settings = json!({"memoryLimit": LIMIT, "recordings": {"include": []}});
        let folders = [json!({"uri": format!("file://{}", folder.display()), "name": "code"})];
        let params = json!({
            "capabilities": {}, "workspaceFolders": folders, "initializationOptions": settings,
        });
        server.request("initialize", params);
        server.send(json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}));
        server
    }

    fn send(&mut self, message: Value) {
        let body = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        self.input.flush().unwrap();
    }

    /// The answer to a request.
    fn request(&mut self, method: &str, params: Value) -> Value {
        self.n_requests += 1;
        let id = self.n_requests;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.messages.recv_timeout(PATIENCE).unwrap();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    fn command(&mut self, name: &str, arguments: Value) -> Value {
        self.request("workspace/executeCommand", json!({"command": name, "arguments": arguments}))
    }
}

impl Server {
    /// Most memory that it had.
    fn peak_kib(&self) -> u64 {
        self.status_kib("VmHWM:")
    }

    fn status_kib(&self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|it| it.strip_prefix(name)).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_server_outlives_recordings_that_are_too_large_and_shows_the_last_one_that_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().canonicalize().unwrap();
    let good = at.join("good.json");
    fs::write(&good, TRACE).unwrap();
    let [nothing, large] = [snapshot(&at, "nothing.pickle", b"}"), events(&at, "events.json.gz")];
    let mut server = Server::start(&at);
    let load = |path: &Path| json!([{"paths": [path]}]);
    let loaded = server.command("perfline.load", load(&good));
    assert_eq!(loaded["result"]["inputs"][0]["complete"], true, "{loaded}");
    let refused = server.command("perfline.load", load(&nothing));
    let said = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(said.contains("memory limit of 128 MiB"), "{refused}");
    let status = server.command("perfline.status", json!([]));
    assert!(status["result"].to_string().contains("good.json"), "{status}");
    let cut = server.command("perfline.load", load(&large));
    assert_eq!(cut["result"]["inputs"][0]["complete"], false, "{cut}");
    let loaded = server.command("perfline.load", load(&good));
    assert_eq!(loaded["result"]["inputs"][0]["complete"], true, "{loaded}");
    // Charging to lines included, without the pages of the program's file, of which a debug build has many.
    let peak = server.peak_kib() - server.status_kib("RssFile:");
    assert!(peak < 176 << 10, "{peak} KiB");
}

#[test]
fn a_server_does_not_grow_with_reloads() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().canonicalize().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let trace = at.join("trace.json.gz");
    fs::copy(fixtures.join("cpu/torch2.15.0/transformer.json.gz"), &trace).unwrap();
    let mut server = Server::start(&at);
    let mut load = || {
        let loaded = server.command("perfline.load", json!([{"paths": [trace]}]));
        assert_eq!(loaded["result"]["inputs"][0]["complete"], true, "{loaded}");
        server.status_kib("VmRSS:")
    };
    let sizes: Vec<u64> = (0..40).map(|_| load()).collect();
    // Sooner or later it settles at up to 6 MiB more than after the first loads, and stays there. With an arena for each thread
    // it was 11 to 20 MiB more.
    let most = |sizes: &[u64]| sizes.iter().max().copied().unwrap();
    let grown = most(&sizes[5..]).saturating_sub(most(&sizes[..5]));
    assert!(grown < 8 << 10, "KiB after each load: {sizes:?}");
}
