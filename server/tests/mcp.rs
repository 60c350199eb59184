//! `perfline mcp` over its standard streams: the tools, that their numbers are those of the commands, what is refused, and how a
//! session ends.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use expect_test::expect_file;
use serde_json::{Value, json};

const TRACE: &str = "simulated_cuda/torch2.15.0/slow_model.json.gz";
const OLDER: &str = "simulated_cuda/torch2.11.0/slow_model.json.gz";
const SNAPSHOT: &str = "simulated_snapshots/torch2.15.0/slow_model.snapshot.pickle.gz";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name)
}

/// A folder with a source, an older and a newer recording of it, and a snapshot.
struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = Self { folder };
        project.copy("workloads/slow_model.py", "slow_model.py");
        project.copy(OLDER, "before/trace.json.gz");
        project.copy(SNAPSHOT, "memory/snapshot.pickle.gz");
        project.copy(TRACE, "after/trace.json.gz");
        for (name, age) in [("before/trace.json.gz", 200), ("memory/snapshot.pickle.gz", 400)] {
            let file = fs::File::options().write(true).open(project.path(name)).unwrap();
            let then = std::time::SystemTime::now() - Duration::from_secs(age);
            file.set_modified(then).unwrap();
        }
        project
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    fn copy(&self, from: &str, to: &str) {
        let to = self.path(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(fixture(from), to).unwrap();
    }

    /// What a command prints of an input; `{}` in an argument stands for the root.
    fn printed(&self, arguments: &[&str]) -> String {
        let root = self.root();
        let arguments = arguments.iter().map(|it| it.replace("{}", root.to_str().unwrap()));
        let output = perfline().args(arguments).arg("--root").arg(&root).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn printed_json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.printed(arguments)).unwrap()
    }
}

fn perfline() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_perfline"));
    command.env_remove("CLICOLOR_FORCE").env("PERFLINE_CACHE_DIR", "");
    command
}

/// A client that writes and reads one message a line.
struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last_id: u64,
}

/// What a tool answered: whether it failed, and its text.
type Answer = (bool, String);

impl Agent {
    fn start(root: &Path) -> Self {
        let mut agent = Self::spawn(&["--root", root.to_str().unwrap()]);
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let initialized = agent.request("initialize", params);
        assert_eq!(initialized["result"]["serverInfo"]["name"], "perfline");
        assert_eq!(initialized["result"]["protocolVersion"], "2025-06-18");
        agent.notify("notifications/initialized", json!({}));
        agent
    }

    fn spawn(arguments: &[&str]) -> Self {
        let mut child = perfline()
            .arg("mcp")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output, last_id: 0 }
    }

    fn write(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn notify(&mut self, method: &str, params: Value) {
        let params = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.write(&params.to_string());
    }

    /// Sends a request, and gives its number.
    fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(&request.to_string());
        id
    }

    /// The next message; every line of stdout is one.
    fn read(&mut self) -> Value {
        let mut line = String::new();
        assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the server has ended");
        serde_json::from_str(&line).unwrap()
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        loop {
            let message = self.read();
            if message["id"] == id {
                return message;
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Answer {
        answer(&self.request("tools/call", json!({"name": tool, "arguments": arguments})))
    }

    /// The text of an answer that must be a good one.
    fn text(&mut self, tool: &str, arguments: Value) -> String {
        let (is_error, text) = self.call(tool, arguments);
        assert!(!is_error, "{tool}: {text}");
        text
    }

    fn json(&mut self, tool: &str, mut arguments: Value) -> Value {
        arguments["format"] = json!("json");
        serde_json::from_str(&self.text(tool, arguments)).unwrap()
    }

    fn recordings(&mut self, arguments: Value) -> Value {
        serde_json::from_str(&self.text("recordings", arguments)).unwrap()
    }

    /// The sentence of an answer that must be an error.
    fn error(&mut self, tool: &str, arguments: Value) -> String {
        let (is_error, text) = self.call(tool, arguments);
        assert!(is_error, "{tool}: {text}");
        text
    }

    /// Leaves, and waits for the server to end.
    fn leave(mut self) -> ExitStatus {
        drop(self.input.take());
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "the server does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn answer(message: &Value) -> Answer {
    let result = &message["result"];
    let content = result["content"].as_array().unwrap();
    assert_eq!(content.len(), 1, "{message}");
    (result["isError"] == true, content[0]["text"].as_str().unwrap().to_owned())
}

#[test]
fn the_contract() {
    let project = Project::new();
    let mut agent = Agent::start(&project.root());
    let tools = agent.request("tools/list", json!({}))["result"]["tools"].take();
    let text = serde_json::to_string_pretty(&tools).unwrap() + "\n";
    expect_file!["mcp/tools.json"].assert_eq(&text);
    for tool in tools.as_array().unwrap() {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        assert!(properties.values().all(|it| it["description"].is_string()), "{tool}");
    }
    let prompts = agent.request("prompts/list", json!({}))["result"]["prompts"].take();
    assert_eq!(prompts[0]["name"], "optimise");
    let prompt = agent.request("prompts/get", json!({"name": "optimise"}));
    let text = prompt["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    // What the prompt names is there.
    for tool in ["summary", "findings", "explain", "hot_lines", "show", "source", "diff"] {
        assert!(text.contains(&format!("`{tool}`")), "{tool}");
        assert!(tools.as_array().unwrap().iter().any(|it| it["name"] == tool), "{tool}");
    }
    assert_eq!(agent.request("prompts/get", json!({"name": "x"}))["error"]["code"], -32602);
    assert!(agent.leave().success());
}

#[test]
fn answers_are_what_the_commands_print() {
    let project = Project::new();
    let mut agent = Agent::start(&project.root());
    let trace = "{}/after/trace.json.gz";

    let arguments = ["report", trace, "--format", "json", "--section", "findings,ranks,lines"];
    let mut printed = project.printed_json(&arguments);
    let mut summary = agent.json("summary", json!({}));
    let findings = printed["findings"].take();
    let findings = findings.as_array().unwrap();
    assert!(3 < findings.len());
    assert_eq!(summary["findings"].take(), json!(findings[..3]));
    assert_eq!(summary["findings_left_out"].take(), findings.len() - 3);
    printed["findings_left_out"].take();
    assert_eq!(summary, printed);
    let arguments = ["report", trace, "--phase", "backward", "--format", "json", "--section"];
    let arguments = [&arguments[..], &["findings,lines"]].concat();
    let mut printed = project.printed_json(&arguments);
    let mut summary = agent.json("summary", json!({"filter": {"phase": "backward"}}));
    assert_eq!(printed["filter"]["phase"], "backward");
    for it in [&mut printed, &mut summary] {
        for field in ["findings", "findings_left_out"] {
            it[field].take();
        }
    }
    assert_eq!(summary, printed);

    let listed = agent.json("findings", json!({"top": 2, "recording": "after"}));
    assert_eq!(listed["findings"], json!(findings[..2]));
    assert_eq!(listed["findings_left_out"], findings.len() - 2);
    assert_eq!(listed["sections"], json!([]));

    for place in ["slow_model.py:46", "SlowModel.forward", "aten::linear", "sgemm"] {
        let printed = project.printed(&["show", place, trace, "--format", "json", "--top", "4"]);
        let arguments = json!({"place": place, "top": 4, "format": "json"});
        assert_eq!(agent.text("show", arguments), printed);
        let printed = project.printed(&["show", place, trace, "--top", "4"]);
        assert_eq!(agent.text("show", json!({"place": place, "top": 4})), printed);
    }

    let printed = project.printed_json(&["ops", trace, "--format", "json", "--sort", "calls"]);
    let operators = agent.json("operators", json!({"sort": "calls", "top": 3}));
    let rows = printed["table"]["rows"].as_array().unwrap();
    assert_eq!(operators["table"]["rows"], json!(rows[..3]));
    assert_eq!(operators["table"]["left_out"], rows.len() - 3);
    assert_eq!(operators["table"]["columns"], printed["table"]["columns"]);

    let printed = project.printed_json(&["kernels", trace, "--format", "json"]);
    let kernels = agent.json("kernels", json!({"top": 4}));
    let numbers = |table: &Value, n: usize| -> Vec<Vec<Value>> {
        let rows = table["table"]["rows"].as_array().unwrap().iter().take(n);
        rows.map(|it| it.as_array().unwrap()[..11].to_vec()).collect()
    };
    assert_eq!(kernels["table"]["columns"], printed["table"]["columns"]);
    assert_eq!(numbers(&kernels, 4), numbers(&printed, 4), "all but the names, which are short");

    for (tool, command) in [("operators", "ops"), ("kernels", "kernels")] {
        let printed = project.printed(&[command, trace, "--top", "10"]);
        assert_eq!(agent.text(tool, json!({})), printed);
    }
    for (name, command) in [
        ("steps", "steps"),
        ("modules", "modules"),
        ("communication", "comm"),
        ("compile", "compile"),
    ] {
        let printed = project.printed(&[command, trace, "--top", "10"]);
        assert_eq!(agent.text("table", json!({"name": name})), printed);
    }
    let filter = json!({"modules": ["Gate"], "steps": ["2-3"], "phase": "forward"});
    let flags = ["--top", "10", "--module", "Gate", "--step", "2-3", "--phase", "forward"];
    for (tool, command) in [("operators", "ops"), ("kernels", "kernels")] {
        let printed = project.printed(&[&[command, trace], &flags[..]].concat());
        assert_eq!(agent.text(tool, json!({"filter": filter})), printed);
        let said = agent.json(tool, json!({"filter": filter}))["filter"].take();
        assert_eq!(said["modules"], json!(["Gate"]));
    }
    let printed = project.printed(&["modules", trace, "--top", "10", "--module", "Gate"]);
    assert_eq!(agent.text("table", json!({"name": "modules", "modules": ["Gate"]})), printed);
    let of_code = json!({"files": ["slow_model.py"], "functions": ["^Gate"]});
    let code_flags = ["--top", "10", "--file", "slow_model.py", "--function", "^Gate"];
    for (filter, flags) in [(filter, &flags[..]), (of_code, &code_flags[..])] {
        let command = ["report", trace, "--section", "findings", "--format", "json"];
        let printed = project.printed_json(&[&command[..], flags].concat());
        assert_eq!(agent.json("findings", json!({"filter": filter})), printed);
        for place in ["slow_model.py:28", "Gate.forward", "sgemm"] {
            let printed = project.printed(&[&["show", place, trace][..], flags].concat());
            let arguments = json!({"place": place, "filter": filter, "top": 10});
            assert_eq!(agent.text("show", arguments), printed);
        }
    }
    // The first screen of the report, without what only the command line has.
    let printed = project.printed(&["report", trace]);
    let text = agent.text("summary", json!({}));
    let lines: Vec<&str> = text.lines().filter(|it| !it.contains(" more (")).collect();
    assert!(25 < lines.len(), "{text}");
    for line in lines {
        assert!(printed.contains(line), "{line}");
    }

    let snapshot = "{}/memory/snapshot.pickle.gz";
    assert_eq!(
        agent.text("memory", json!({"recording": "memory/snapshot.pickle.gz"})),
        project.printed(&["memory", snapshot, "--top", "10"])
    );

    let source = ["annotate", trace, "{}/slow_model.py", "--context", "12"];
    assert_eq!(agent.text("source", json!({"file": "slow_model.py"})), project.printed(&source));
    let per_run = [&source[..], &["--per", "run"]].concat();
    assert_eq!(
        agent.text("source", json!({"file": "slow_model.py", "per": "run"})),
        project.printed(&per_run)
    );

    let printed = ["diff", "{}/before/trace.json.gz", trace, "--format", "markdown"];
    let printed = project.printed(&printed);
    assert_eq!(agent.text("diff", json!({})), printed, "the newest with the one before");
    let named = json!({"base": "before", "recording": "after/trace.json.gz"});
    assert_eq!(agent.text("diff", named), printed);

    let page = fs::read_to_string(fixture("../docs/rules/sync.md")).unwrap();
    assert!(page.contains(&agent.text("explain", json!({"rule": "sync"}))));
    assert!(agent.leave().success());
}

#[test]
fn hot_lines_of_a_part_have_its_amounts() {
    let project = Project::new();
    let mut agent = Agent::start(&project.root());
    let trace = "{}/after/trace.json.gz";
    let arguments = ["lines", trace, "--module", "Gate", "--function", "forward"];
    let printed = project.printed_json(&arguments);
    let filter = json!({"modules": ["Gate"], "functions": ["forward"]});
    let table = agent.json("hot_lines", json!({"metric": "cuda", "filter": filter}));
    assert_eq!(table["filter"]["modules"], json!(["Gate"]));
    let rows = table["table"]["rows"].as_array().unwrap();
    let lines = printed["lines"].as_array().unwrap();
    let launching: Vec<&Value> =
        lines.iter().filter(|it| it["cuda_own_us"].as_f64().unwrap() != 0.0).collect();
    assert!(1 < rows.len());
    assert_eq!(rows.len(), launching.len());
    for row in rows {
        let place = &row[3]["places"][0];
        let line = launching.iter().find(|it| it["line"] == place["line"]).unwrap();
        let time = row[1]["value"].as_f64().unwrap();
        assert_eq!(time, (line["cuda_own_us"].as_f64().unwrap() * 1e3).round());
    }
    let text = agent.text("hot_lines", json!({"filter": filter}));
    assert!(text.contains("with --module 'Gate': "), "{text}");
    let files = agent.json("hot_lines", json!({"filter": {"functions": ["^Gate"]}}));
    let rows = files["table"]["rows"].as_array().unwrap();
    assert!(rows.iter().all(|it| it[4]["text"].as_str().unwrap().starts_with("Gate")), "{rows:?}");
}

#[test]
fn hot_lines_have_the_amounts_of_all_lines() {
    let project = Project::new();
    let mut agent = Agent::start(&project.root());
    let lines = project.printed_json(&["lines", "{}/after/trace.json.gz"]);
    let field = |file: &Value, line: &Value, field: &str| {
        let lines = lines["lines"].as_array().unwrap();
        let found = lines.iter().find(|it| it["file"] == *file && it["line"] == *line).unwrap();
        found[field].as_f64().unwrap()
    };
    for (arguments, name, scale) in [
        (json!({"per": "run", "top": 200}), "cuda_own_us", 1e3),
        (json!({"per": "step", "top": 200}), "cuda_own_us", 1e3 / 3.0),
        (json!({"per": "run", "charge": "total", "metric": "cpu"}), "cpu_total_us", 1e3),
        (json!({"per": "run", "metric": "memory"}), "peak_bytes", 1.0),
        (json!({"per": "run", "metric": "idle"}), "gpu_idle_us", 1e3),
    ] {
        let table = agent.json("hot_lines", arguments)["table"].take();
        let rows = table["rows"].as_array().unwrap();
        assert!(!rows.is_empty());
        for row in rows {
            let place = &row[3]["places"][0];
            let expected = field(&place["file"], &place["line"], name) * scale;
            let value = row[1]["value"].as_f64().unwrap();
            assert!((value - expected).abs() < 0.5, "{row}: {expected}");
        }
        let values: Vec<f64> = rows.iter().map(|it| it[1]["value"].as_f64().unwrap()).collect();
        assert!(values.is_sorted_by(|a, b| b <= a));
    }
    let first = agent.json("hot_lines", json!({"top": 1}))["table"].take();
    assert_eq!(first["rows"].as_array().unwrap().len(), 1);
    assert!(0 < first["left_out"].as_u64().unwrap());
    let text = fs::read_to_string(project.path("slow_model.py")).unwrap();
    let line = first["rows"][0][3]["places"][0]["line"].as_u64().unwrap();
    let statement = text.lines().nth(usize::try_from(line).unwrap() - 1).unwrap().trim();
    assert_eq!(first["rows"][0][5]["text"], statement);
}

#[test]
fn what_was_recorded_is_listed_newest_first() {
    let project = Project::new();
    let mut agent = Agent::start(&project.root());
    let listed = agent.recordings(json!({}));
    let paths: Vec<&str> = listed["recordings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["after/trace.json.gz", "before/trace.json.gz", "memory/snapshot.pickle.gz"]);
    let size = fs::metadata(project.path("after/trace.json.gz")).unwrap().len();
    assert_eq!(listed["recordings"][0]["bytes"], size);
    let kinds = listed["recordings"].as_array().unwrap().iter().map(|it| &it["kinds"]);
    assert_eq!(
        kinds.collect::<Vec<_>>(),
        [&json!(["kineto"]), &json!(["kineto"]), &json!(["snapshot"])]
    );
    assert!((200..260).contains(&listed["recordings"][1]["age_s"].as_u64().unwrap()));
    let listed = agent.recordings(json!({"top": 1}));
    assert_eq!(
        (&listed["recordings"][0]["path"], &listed["left_out"]),
        (&json!(paths[0]), &json!(2))
    );
    let listed = agent.recordings(json!({"folder": "before"}));
    assert_eq!(listed["recordings"].as_array().unwrap().len(), 1);
}

#[test]
fn nothing_outside_of_the_root_is_read() {
    let outside = Project::new();
    let project = Project::new();
    let mut agent = Agent::start(&project.root());
    let absolute = outside.path("after/trace.json.gz");
    let climbing = format!("after/../../{}", {
        let root = outside.root();
        format!("{}/after/trace.json.gz", root.file_name().unwrap().to_str().unwrap())
    });
    let mut named = vec![absolute.to_str().unwrap().to_owned(), climbing];
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink(&absolute, project.path("link.json.gz")).unwrap();
        symlink(outside.root(), project.path("linked")).unwrap();
        symlink(outside.path("slow_model.py"), project.path("linked.py")).unwrap();
        named.extend(["link.json.gz", "linked", "linked/after/trace.json.gz"].map(str::to_owned));
        let error = agent.error("source", json!({"file": "linked.py"}));
        assert!(error.starts_with("linked.py lies outside of "), "{error}");
        let error = agent.error("recordings", json!({"folder": "linked"}));
        assert!(error.starts_with("linked lies outside of "), "{error}");
        let listed = agent.recordings(json!({}));
        assert_eq!(listed["recordings"].as_array().unwrap().len(), 3, "{listed}");
    }
    for name in named {
        for tool in ["summary", "kernels", "memory", "hot_lines"] {
            let error = agent.error(tool, json!({"recording": name}));
            assert!(error.starts_with(&format!("{name} lies outside of ")), "{error}");
            assert!(error.contains("--root"), "{error}");
        }
        let error = agent.error("diff", json!({"base": name}));
        assert!(error.contains("lies outside of"), "{error}");
    }
    let error = agent.error("source", json!({"file": "/etc/passwd"}));
    assert!(error.starts_with("/etc/passwd lies outside of "), "{error}");
}

#[test]
fn what_makes_no_sense_is_answered_with_a_sentence() {
    let project = Project::new();
    fs::write(project.path("notes.json"), "no trace").unwrap();
    let mut agent = Agent::start(&project.root());
    for (tool, arguments, expected) in [
        ("summary", json!({"top": "many"}), "expected u64"),
        ("summary", json!({"top": 0}), "1 to 200 are possible"),
        ("summary", json!({"top": 100_000}), "1 to 200 are possible"),
        ("summary", json!({"rank": 3}), "unknown field `rank`"),
        ("summary", json!({"recording": 7}), "expected a string"),
        ("summary", json!({"recording": "missing.json"}), "the tool `recordings` lists"),
        ("summary", json!({"recording": "notes.json"}), "neither a torch.profiler trace"),
        ("findings", json!({"recording": "a\u{0}b"}), "`recordings`"),
        ("hot_lines", json!({"metric": "gpu"}), "expected one of: auto, cpu, cuda"),
        ("hot_lines", json!({"per": "hour"}), "expected `step` or `run`"),
        ("show", json!({}), "missing field `place`"),
        ("show", json!({"place": "slow_model.py:9999"}), "the nearest line is slow_model.py:"),
        ("show", json!({"place": "nothing"}), "name a line (train.py:41)"),
        ("source", json!({"file": "slow_model.py", "line": 4_000_000_000_u32}), "`source` without"),
        ("source", json!({"file": "slow_model.py", "context": 201}), "0 to 200 are possible"),
        ("operators", json!({"sort": "name"}), "expected one of: cpu_self"),
        ("operators", json!({"filter": {"phase": "eval"}}), "unknown phase `eval`"),
        (
            "operators",
            json!({"filter": {"steps": ["9"]}}),
            "expected one of the 3 steps from 1 to 3",
        ),
        ("kernels", json!({"filter": {"modules": ["nope"]}}), "passes --module 'nope'"),
        ("kernels", json!({"filter": {"step": 3}}), "unknown field `step`"),
        ("hot_lines", json!({"filter": {"files": ["nope.py"]}}), "passes --file 'nope.py'"),
        (
            "hot_lines",
            json!({"metric": "backward", "filter": {"phase": "forward"}}),
            "leave out --phase forward, or ask for cpu",
        ),
        ("table", json!({"name": "steps", "modules": ["Gate"]}), "only the table `modules`"),
        ("table", json!({"name": "modules", "modules": ["nope"]}), "passes --module 'nope'"),
        ("operators", json!({"recording": "memory"}), "no operators"),
        ("explain", json!({"rule": "slow"}), "there are: sync, "),
        ("diff", json!({"recording": "memory"}), "name the older one as `base`"),
    ] {
        if tool == "operators" && arguments.get("recording").is_some() {
            // A snapshot has none, which is no error.
            assert!(agent.text(tool, arguments).contains(expected));
            continue;
        }
        let error = agent.error(tool, arguments.clone());
        assert!(error.contains(expected), "{tool} {arguments}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let unknown = agent.request("tools/call", json!({"name": "rm", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602);
    assert_eq!(agent.request("no/such/method", json!({}))["error"]["code"], -32601);
    for junk in ["", "{", "[]", "\u{fffd}", "{\"jsonrpc\": \"2.0\"}", "null"] {
        agent.write(junk);
    }
    // What is no message may be answered with an error that has no number; the session goes on.
    assert!(agent.text("summary", json!({})).contains("Lines that cost most"));
    assert!(agent.leave().success());
}

#[test]
fn a_recording_that_changes_is_read_anew() {
    let project = Project::new();
    let mut agent = Agent::start(&project.root());
    let time = |summary: &Value| summary["run"]["title"].as_str().unwrap().to_owned();
    let first = time(&agent.json("summary", json!({})));
    assert_eq!(time(&agent.json("summary", json!({}))), first);
    project.copy(OLDER, "after/trace.json.gz");
    let second = time(&agent.json("summary", json!({})));
    assert_ne!(second, first);
    // A recording that is newer takes the place of the newest.
    project.copy(TRACE, "latest/trace.json.gz");
    assert_eq!(time(&agent.json("summary", json!({}))), first);
    assert_eq!(time(&agent.json("summary", json!({"recording": "after"}))), second);
    fs::remove_dir_all(project.path("latest")).unwrap();
    assert_eq!(time(&agent.json("summary", json!({}))), second);
}

#[test]
fn requests_at_once_are_all_answered_and_one_can_be_cancelled() {
    let project = Project::new();
    let mut agent = Agent::start(&project.root());
    let calls = ["summary", "findings", "hot_lines", "kernels", "operators", "memory"];
    let mut open: Vec<u64> = calls
        .iter()
        .map(|tool| agent.send("tools/call", json!({"name": tool, "arguments": {}})))
        .collect();
    let cancelled = agent.send("tools/call", json!({"name": "summary", "arguments": {}}));
    agent.notify("notifications/cancelled", json!({"requestId": cancelled}));
    while !open.is_empty() {
        let message = agent.read();
        let id = message["id"].as_u64().unwrap();
        if id != cancelled {
            assert!(!answer(&message).0, "{message}");
        }
        open.retain(|it| *it != id);
    }
    assert!(agent.text("summary", json!({})).contains("Lines that cost most"));
}

#[test]
fn a_server_ends_when_its_client_leaves() {
    let project = Project::new();
    let mut agent = Agent::start(&project.root());
    agent.send("tools/call", json!({"name": "kernels", "arguments": {}}));
    assert!(agent.leave().success(), "while a recording is read");
    let agent = Agent::spawn(&["--root", project.root().to_str().unwrap()]);
    assert!(agent.leave().success(), "before it said anything");
    let missing = project.path("missing");
    let agent = Agent::spawn(&["--root", missing.to_str().unwrap()]);
    assert_eq!(agent.leave().code(), Some(2));
}

#[test]
fn the_input_of_the_command_line_is_meant_where_none_is_named() {
    let project = Project::new();
    let elsewhere = Project::new();
    let input = elsewhere.path("before/trace.json.gz");
    let root = project.root();
    let arguments = ["--root", root.to_str().unwrap(), input.to_str().unwrap()];
    let mut agent = Agent::spawn(&arguments);
    let params = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    agent.request("initialize", params);
    agent.notify("notifications/initialized", json!({}));
    let arguments = [
        "report",
        input.to_str().unwrap(),
        "--format",
        "json",
        "--section",
        "findings,ranks,lines",
    ];
    let printed = project.printed_json(&arguments);
    assert_eq!(agent.json("summary", json!({}))["run"], printed["run"]);
}
