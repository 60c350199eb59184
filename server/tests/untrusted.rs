//! Recordings from a stranger: what they name is not read, and what they are called is not obeyed.
//!
//! A folder is made in which frames, links, pipes and large files lead to where nothing may be read. The real binary
//! loads it, on the command line and as a language server. Where `strace` is installed, every file that was opened is
//! held against those that a harmless folder needs. A word in all the files that must not be read shows in the output
//! if one of them was read all the same.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

mod messages;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use messages::read_message;

/// Longer than anything takes on the slowest machine: only a server that hangs is waited for so long.
const PATIENCE: Duration = Duration::from_secs(120);

/// Stands in every file that must not be read.
const CANARY: &str = "CANARY";

/// Stands in the file that is to be shown.
const SHOWN: &str = "the text that ran";

/// What files that must not be read say: the function that the recording names, where it names it.
fn stolen() -> String {
    format!("def stolen():  # {CANARY}\n    return 1\n")
}

/// A folder to open, and one beside it.
struct Place {
    /// Holds both.
    _folder: tempfile::TempDir,
    opened: PathBuf,
    outside: PathBuf,
}

impl Place {
    /// A program, its environment, and a recording of it that names `files` besides.
    fn new(files: impl FnOnce(&Path, &Path) -> Vec<String>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        let (opened, outside) = (at.join("opened"), at.join("outside"));
        let site = opened.join(".venv/lib/python3.12/site-packages");
        for it in [&opened, &outside, &site, &opened.join("no-programs")] {
            fs::create_dir_all(it).unwrap();
        }
        let text = format!("def main():\n    return 1  # {SHOWN}\n");
        fs::write(opened.join("train.py"), text).unwrap();
        fs::write(outside.join("secret.py"), stolen()).unwrap();
        let mut frames = vec![("train.py".to_owned(), "main")];
        frames.extend(files(&opened, &outside).into_iter().map(|it| (it, "stolen")));
        fs::write(opened.join("run.json"), trace(&frames)).unwrap();
        fs::write(opened.join("run.pickle"), snapshot(&frames)).unwrap();
        Self { _folder: folder, opened, outside }
    }

    fn harmless() -> Self {
        Self::new(|_, _| Vec::new())
    }

    /// Everything that leads where nothing may be read.
    fn untrusted() -> Self {
        let place = Self::new(|opened, outside| {
            let pipe = outside.join("pipe.py");
            make_pipe(&pipe);
            make_pipe(&opened.join("pipe.py"));
            let mut large = stolen();
            large.push_str(&"#".repeat(17 << 20));
            fs::write(opened.join("large.py"), large).unwrap();
            fs::write(opened.join("weights.pickle"), stolen()).unwrap();
            symlink(outside.join("secret.py"), opened.join("link.py")).unwrap();
            symlink(outside, opened.join("folder")).unwrap();
            // Captures of graphs are looked for in folders of such names.
            symlink(outside, opened.join("cuda_graph_capture")).unwrap();
            symlink("/proc/self/environ", opened.join("environ.py")).unwrap();
            symlink("weights.pickle", opened.join("alias.py")).unwrap();
            // An environment that is another folder.
            let library = opened.join("venv/lib/python3.12");
            fs::create_dir_all(&library).unwrap();
            symlink(outside, library.join("site-packages")).unwrap();
            fs::write(outside.join("package.py"), stolen()).unwrap();
            let (opened, outside) = (opened.display(), outside.display());
            let climbing = "../".repeat(24);
            let mut files = vec![
                "../outside/secret.py".to_owned(),
                r"..\outside\secret.py".to_owned(),
                format!("{outside}/secret.py"),
                format!("{opened}/../outside/secret.py"),
                format!("/elsewhere/../{outside}/secret.py"),
                format!("x/site-packages/{outside}/secret.py"),
                "x/site-packages/../../../../../outside/secret.py".to_owned(),
                format!("/x/lib/python3.12/{outside}/secret.py"),
                "package.py".to_owned(),
                pipe.display().to_string(),
                format!("{opened}/pipe.py"),
            ];
            files.extend(
                ["pipe.py", "large.py", "weights.pickle", "link.py", "folder/secret.py"]
                    .map(str::to_owned),
            );
            files.extend(["environ.py", "alias.py"].map(str::to_owned));
            for file in ["/etc/passwd", "/proc/self/environ", "/proc/kcore", "/dev/zero"] {
                files.extend([
                    file.to_owned(),
                    format!("{climbing}{file}"),
                    format!("x/site-packages/{file}"),
                    format!("{opened}/{climbing}{file}"),
                ]);
            }
            files
        });
        // A recording, and the callers of one, that are links to elsewhere.
        let frames = [("train.py".to_owned(), "linked_trace")];
        fs::write(place.outside.join("newest.json"), trace(&frames)).unwrap();
        symlink(place.outside.join("newest.json"), place.opened.join("newest.json")).unwrap();
        fs::write(place.outside.join("callers.json"), r#"{"schema": "perfline.callers/1"}"#)
            .unwrap();
        symlink(place.outside.join("callers.json"), place.opened.join("run.callers.json")).unwrap();
        place
    }

    /// The binary, in the folder and with nothing of this machine's Python.
    fn perfline(&self, arguments: &[&str], log: Option<&Path>) -> Command {
        let binary = env!("CARGO_BIN_EXE_perfline");
        let mut command = match log.zip(strace()) {
            Some((log, strace)) => {
                let mut command = Command::new(strace);
                command.args(["-f", "-qq", "-s", "4096", "-e", "trace=open,openat,openat2", "-o"]);
                command.arg(log).arg(binary);
                command
            }
            None => Command::new(binary),
        };
        command.args(arguments).current_dir(&self.opened).env_clear();
        command.env("PATH", self.opened.join("no-programs"));
        command
    }
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A Kineto trace: the first frame calls the others, each of which runs an operator.
fn trace(frames: &[(String, &str)]) -> String {
    let event = |category: &str, name: String, at: usize, length: usize, args: Value| json!({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": at, "dur": length, "args": args});
    let name = |(file, function): &(String, &str)| format!("{file}(1): {function}");
    let whole = 100 * (frames.len() + 1);
    let mut events = vec![
        event("user_annotation", "ProfilerStep#1".to_owned(), 0, whole, json!({})),
        event("python_function", name(&frames[0]), 0, whole, json!({"Python id": 1})),
        event("cpu_op", "aten::mm".to_owned(), 10, 50, json!({})),
    ];
    for (index, frame) in frames.iter().enumerate().skip(1) {
        let args = json!({"Python id": index + 1, "Python parent id": 1, "CallFrom": "train.py:2"});
        events.push(event("python_function", name(frame), 100 * index, 90, args));
        events.push(event("cpu_op", "aten::mm".to_owned(), 100 * index + 10, 50, json!({})));
    }
    json!({"schemaVersion": 1, "traceEvents": events}).to_string()
}

/// A memory snapshot in which each frame allocates once.
fn snapshot(frames: &[(String, &str)]) -> Vec<u8> {
    let frame = |(file, function): &(String, &str)| {
        dict(&[("filename", text(file)), ("line", number(1)), ("name", text(function))])
    };
    let event = |(index, it): (usize, &(String, &str))| {
        let place = u32::try_from(index).unwrap();
        dict(&[
            ("action", text("alloc")),
            ("addr", number(0x10000 + 4096 * place)),
            ("size", number(4096)),
            ("stream", number(0)),
            ("time_us", number(1000 + place)),
            ("frames", list(&[frame(it)])),
        ])
    };
    let events: Vec<Vec<u8>> = frames.iter().enumerate().map(event).collect();
    let whole = dict(&[("segments", list(&[])), ("device_traces", list(&[list(&events)]))]);
    [b"\x80\x02".as_slice(), &whole, b"."].concat()
}

fn text(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).unwrap();
    [b"X".as_slice(), &length.to_le_bytes(), text.as_bytes()].concat()
}

fn number(number: u32) -> Vec<u8> {
    [b"J".as_slice(), &number.to_le_bytes()].concat()
}

fn list(items: &[Vec<u8>]) -> Vec<u8> {
    [b"](".as_slice(), &items.concat(), b"e"].concat()
}

fn dict(items: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let items: Vec<u8> =
        items.iter().flat_map(|(key, value)| [text(key), value.clone()].concat()).collect();
    [b"}(".as_slice(), &items, b"u"].concat()
}

/// Ends a process that hangs, so that the test fails instead of hanging too.
fn wait(child: &mut Child, what: &str) -> Option<i32> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if PATIENCE < began.elapsed() {
            child.kill().unwrap();
            panic!("{what} hangs");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Runs to the end: exit status, and stdout and stderr together.
fn run(place: &Place, arguments: &[&str], log: Option<&Path>) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = fs::File::create(folder.path().join("output")).unwrap();
    let mut command = place.perfline(arguments, log);
    command.stdin(Stdio::null()).stderr(file.try_clone().unwrap()).stdout(file);
    let code = wait(&mut command.spawn().unwrap(), &arguments.join(" "));
    (code, fs::read_to_string(folder.path().join("output")).unwrap())
}

/// What the commands are run with. `.` leaves it to them which recording they take.
const COMMANDS: [&[&str]; 7] = [
    &["annotate", "--all", "--threshold", "0", "run.json", "run.pickle"],
    &["annotate", "--all", "--threshold", "0", "."],
    &["lines", "run.json", "run.pickle"],
    &["report", "--html", "report.html", "run.json", "run.pickle"],
    &["memory", "--svg", "memory.svg", "run.json", "run.pickle"],
    &["export", "--format", "folded", "run.json", "run.pickle"],
    &["lines", "run.pickle", "--root", ".", "--site", ".venv/lib/python3.12/site-packages"],
];

/// The tool that shows which files a process opens; `None` where it is missing, or tracing is forbidden.
fn strace() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let strace =
        std::env::split_paths(&path).map(|it| it.join("strace")).find(|it| it.is_file())?;
    let mut trial = Command::new(&strace);
    trial
        .args(["-f", "-qq", "-e", "trace=openat", "-o", "/dev/null", "true"])
        .stderr(Stdio::null());
    trial.status().is_ok_and(|it| it.success()).then_some(strace)
}

/// The files that were opened, links followed, but for those below `place.opened`. Numbers are left out: some are of
/// the process.
fn opened_elsewhere(log: &Path, place: &Place) -> BTreeSet<String> {
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("openat("), "nothing was traced: {log}");
    let named = log.lines().filter_map(|line| line.split('"').nth(1));
    let real = named.map(|name| {
        let path = place.opened.join(name);
        path.canonicalize().unwrap_or(path)
    });
    // The C library counts the cores when threads compete for memory, which differs from run to run.
    let elsewhere = real.filter(|path| {
        !path.starts_with(&place.opened) && !path.starts_with("/sys/devices/system/cpu")
    });
    let without_numbers = |path: PathBuf| {
        path.to_string_lossy().chars().filter(|it| !it.is_ascii_digit()).collect::<String>()
    };
    elsewhere.map(without_numbers).collect()
}

#[test]
fn the_command_line_reads_nothing_outside_the_folder() {
    let (harmless, untrusted) = (Place::harmless(), Place::untrusted());
    let logs = tempfile::tempdir().unwrap();
    for arguments in COMMANDS {
        let (code, output) = run(&untrusted, arguments, None);
        assert_eq!(code, Some(0), "{arguments:?}\n{output}");
        assert!(!output.contains(CANARY) && !output.contains("linked_trace"), "{output}");
        if arguments[0] == "annotate" {
            assert!(output.contains(SHOWN), "{output}");
        }
        if strace().is_some() {
            let [needed, opened] =
                [("harmless", &harmless), ("untrusted", &untrusted)].map(|(name, place)| {
                    let log = logs.path().join(name);
                    run(place, arguments, Some(&log));
                    opened_elsewhere(&log, place)
                });
            let more: Vec<_> = opened.difference(&needed).collect();
            assert!(more.is_empty(), "{arguments:?} opens {more:?}");
        }
    }
    for written in ["report.html", "memory.svg"] {
        let text = fs::read_to_string(untrusted.opened.join(written)).unwrap();
        assert!(!text.contains(CANARY), "{text}");
    }
}

/// What a session with the language server shows.
struct Session {
    /// All that the server said.
    said: String,
    /// Most memory that it had, in KiB, where the system shows.
    peak_kib: Option<u64>,
}

/// Opens the folder and `train.py`, waits until a recording is loaded, and asks for everything that is shown of it.
fn session(place: &Place, log: Option<&Path>) -> Session {
    let mut command = place.perfline(&["lsp"], log);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = command.spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let (sender, messages) = std::sync::mpsc::channel();
    let output = server.stdout.take().unwrap();
    let reading = std::thread::spawn(move || {
        let mut output = BufReader::new(output);
        while let Some(message) = read_message(&mut output) {
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    let mut said = String::new();
    let mut send = |message: Value| {
        let body = message.to_string();
        write!(input, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        input.flush().unwrap();
    };
    let mut until = |what: &str, is_it: &dyn Fn(&Value) -> bool| loop {
        let Ok(message) = messages.recv_timeout(PATIENCE) else { panic!("{what} did not come") };
        said += &message.to_string();
        if is_it(&message) {
            return;
        }
    };
    let notification =
        |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
    let request = |id: u32, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let uri = |path: &Path| format!("file://{}", path.display());
    let folders = json!([{"uri": uri(&place.opened), "name": "opened"}]);
    let params = json!({"capabilities": {}, "workspaceFolders": folders});
    send(request(1, "initialize", params));
    until("the answer to initialize", &|it| it["id"] == 1);
    send(notification("initialized", json!({})));
    let program = place.opened.join("train.py");
    let document = json!({
        "uri": uri(&program), "languageId": "python", "version": 1, "text": fs::read_to_string(&program).unwrap(),
    });
    send(notification("textDocument/didOpen", json!({"textDocument": document})));
    until("the end of loading", &|it| {
        let text = it["params"]["message"].as_str().unwrap_or_default();
        it["method"] == "window/logMessage" && text.contains("steps,") && text.contains("lines in")
    });
    let document = json!({"uri": uri(&program)});
    let at = json!({"textDocument": document, "position": {"line": 1, "character": 4}});
    let all = json!({"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}});
    let of_all = json!({"textDocument": document, "range": all});
    let command = |name: &str| json!({"command": name, "arguments": [{"libraries": true}]});
    let requests = [
        ("textDocument/hover", at),
        ("textDocument/inlayHint", of_all),
        ("textDocument/codeLens", json!({"textDocument": document})),
        ("workspace/executeCommand", command("perfline.hotLines")),
        ("workspace/executeCommand", command("perfline.status")),
    ];
    for (id, (method, params)) in (2..).zip(requests) {
        send(request(id, method, params));
        until(method, &|it| it["id"] == id);
    }
    // Of `strace`, not of the server, where it is traced.
    let peak_kib = log.is_none().then(|| peak_kib(server.id())).flatten();
    send(request(99, "shutdown", Value::Null));
    until("the answer to shutdown", &|it| it["id"] == 99);
    send(notification("exit", Value::Null));
    assert_eq!(wait(&mut server, "the server"), Some(0));
    reading.join().unwrap();
    Session { said, peak_kib }
}

/// Most memory that a process had.
fn peak_kib(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[test]
fn the_language_server_reads_nothing_outside_the_folder_and_stays_small() {
    let (harmless, untrusted) = (Place::harmless(), Place::untrusted());
    let sessions = [&harmless, &untrusted].map(|place| session(place, None));
    let said = &sessions[1].said;
    assert!(said.contains("run.json") && said.contains("train.py"), "{said}");
    assert!(!said.contains(CANARY) && !said.contains("linked_trace"), "{said}");
    // No link leads to what was not found.
    assert!(!said.contains(&format!("file://{}", untrusted.outside.display())), "{said}");
    if let [Some(needed), Some(peak)] = sessions.map(|it| it.peak_kib) {
        // Even a file of 17 MB in the folder costs nothing.
        assert!(peak < needed + (16 << 10), "{peak} KiB, {needed} KiB for a harmless folder");
    }
    if strace().is_some() {
        let logs = tempfile::tempdir().unwrap();
        let [needed, opened] =
            [("harmless", &harmless), ("untrusted", &untrusted)].map(|(name, place)| {
                let log = logs.path().join(name);
                session(place, Some(&log));
                opened_elsewhere(&log, place)
            });
        let more: Vec<_> = opened.difference(&needed).collect();
        assert!(more.is_empty(), "the server opens {more:?}");
    }
}

#[test]
fn names_are_shown_and_not_obeyed() {
    let names = [
        "\u{1b}]0;title\u{7}\u{1b}[2J.py",
        "\u{9b}31m\u{202e}yp.niart\u{2066}.py",
        "=HYPERLINK(\"http://example.org\").py",
        "+1.py",
        "<script>alert(1)</script>.py",
        "\u{200b}\u{e0041}\u{feff}\u{2028}.py",
        "a\r\nb\tc.py",
    ];
    let place = Place::new(|_, _| names.map(str::to_owned).into());
    let inputs = ["run.json", "run.pickle"];
    let commands: [&[&str]; 9] = [
        &["annotate", "--all", "--threshold", "0"],
        &["report", "--all", "--top", "99", "--html", "report.html"],
        &["lines", "--format", "json"],
        &["lines", "--format", "csv"],
        &["memory", "--svg", "memory.svg"],
        &["memory", "--format", "json"],
        &["export", "--format", "folded", "--metric", "alloc"],
        &["export", "--format", "speedscope"],
        &["export", "--format", "csv"],
    ];
    let mut outputs = Vec::new();
    for command in commands {
        let (code, output) = run(&place, &[command, &inputs].concat(), None);
        assert_eq!(code, Some(0), "{output}");
        // The picture and the tables without lines apart, every output names the files.
        assert!(
            output.contains("HYPERLINK") && output.contains("alert(1)"),
            "{command:?}: {output}"
        );
        outputs.push((command.join(" "), output));
    }
    let csv = outputs[3].1.clone();
    // The page has the script of the pictures, and the data of the three.
    for (written, n_scripts) in [("report.html", 4), ("memory.svg", 0)] {
        let text = fs::read_to_string(place.opened.join(written)).unwrap();
        assert_eq!(text.matches("<script").count(), n_scripts, "{text}");
        assert!(!text.contains("<script>alert"), "{text}");
        outputs.push((written.to_owned(), text));
    }
    for (what, output) in &outputs {
        let obeyed = output.chars().find(|&it| it != '\n' && (it.is_control() || is_format(it)));
        assert_eq!(obeyed.map(|it| it.escape_unicode().to_string()), None, "{what}\n{output}");
    }
    let formula = csv.lines().find(|line| line.starts_with(['=', '+', '-', '@']));
    assert_eq!(formula, None);
    assert!(csv.lines().any(|line| line.starts_with("\"'+1.py\",1,")), "{csv}");
    // JSON says the names as they are.
    let lines: Value = serde_json::from_str(&outputs[2].1).unwrap();
    let files: Vec<_> = lines["lines"].as_array().unwrap().iter().map(|it| &it["file"]).collect();
    for name in names {
        assert!(files.contains(&&json!(name)), "{name:?} {files:?}");
    }
}

/// Marks of direction, without width, separators, tags.
fn is_format(character: char) -> bool {
    matches!(u32::from(character), 0x61c | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff | 0xe0000..=0xe007f)
}

#[test]
fn outputs_replace_no_input_and_no_source() {
    let place = Place::harmless();
    let at = |name: &str| place.opened.join(name);
    fs::hard_link(at("run.json"), at("hard.html")).unwrap();
    symlink(place.outside.join("secret.py"), at("link.html")).unwrap();
    let before = |name: &str| fs::read(at(name)).unwrap();
    let kept = ["train.py", "run.json", "run.pickle", "hard.html", "link.html"];
    let texts = kept.map(before);
    for (command, option) in [("report", "--html"), ("memory", "--svg")] {
        for name in kept {
            let (code, output) =
                run(&place, &[command, "run.json", "run.pickle", option, name], None);
            assert_eq!((code, output.lines().count()), (Some(2), 1), "{output}");
            assert!(output.starts_with("perfline: ") && output.contains(name), "{output}");
        }
        // A recording that is found counts as much as one that is named.
        let (code, output) = run(&place, &[command, option, "run.json"], None);
        assert_eq!(code, Some(2), "{output}");
    }
    assert_eq!(kept.map(before), texts);
    let (code, _) = run(&place, &["report", "run.json", "--html", "page.html"], None);
    assert_eq!(code, Some(0));
    let mut names: Vec<_> = fs::read_dir(&place.opened)
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .filter(|it| it.contains("page") || it.contains("partial"))
        .collect();
    names.sort();
    assert_eq!(names, ["page.html"]);
}
