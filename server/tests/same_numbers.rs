//! The terminal, the JSON output and the editor show the same numbers and shares of every line, of two ranks too.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use metrics::numbers;
use serde_json::{Value, json};

/// Heading of a column in the terminal, and the ids of `perfline.details` whose difference stands in it.
const COLUMNS: [(&str, &[&str]); 7] = [
    ("cpu own", &["cpu_own", "waiting"]),
    ("cpu total", &["cpu_total"]),
    ("backward", &["cpu_backward"]),
    ("waiting", &["waiting"]),
    ("alloc", &["alloc"]),
    ("peak", &["peak"]),
    ("calls", &["calls"]),
];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name).canonicalize().unwrap()
}

fn perfline(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_perfline"));
    command
        .args(arguments)
        .env_remove("CLICOLOR_FORCE")
        .env("PERFLINE_CACHE_DIR", "")
        .stdin(Stdio::null());
    command
}

fn output(arguments: &[&str]) -> String {
    let output = perfline(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The cells of `perfline annotate` by line and heading, for the file whose section begins with `name`; and the share.
fn cells(text: &str, name: &str) -> BTreeMap<u32, BTreeMap<String, String>> {
    let section: Vec<Vec<char>> = text
        .lines()
        .skip_while(|line| !line.starts_with(name))
        .skip(1)
        .take_while(|line| !line.is_empty())
        .map(|line| line.chars().collect())
        .collect();
    let word_before = |row: &[char], end: usize| -> String {
        let head = row.get(..end.min(row.len())).unwrap();
        let head = if row.len() < end { &[] } else { head };
        head.rsplit(|it| *it == ' ').next().unwrap().iter().collect()
    };
    let (above, below) = (&section[0], &section[1]);
    let ends: Vec<usize> = (1..below.len())
        .filter(|&at| below[at] == ' ' && below[at - 1] != ' ')
        .filter(|&at| below[at - 1] != '│')
        .collect();
    let headings = ends.iter().map(|&end| {
        let heading = format!("{} {}", word_before(above, end), word_before(below, end));
        (end, heading.trim().to_owned())
    });
    let headings: Vec<(usize, String)> = headings.collect();
    let mut cells = BTreeMap::new();
    for row in &section[2..] {
        let Some(rule) = row.iter().position(|it| *it == '│') else { continue };
        let text = |from: usize, to: usize| row[from..to].iter().collect::<String>();
        let line: u32 = text(0, headings[0].0).trim().parse().unwrap();
        let mut of_line = BTreeMap::new();
        for pair in headings.windows(2) {
            let ((start, _), (end, heading)) = (&pair[0], &pair[1]);
            let text = text(*start, (*end).min(rule));
            let text = text.trim().trim_start_matches(['~', 'f', 'n']).trim().to_owned();
            of_line.insert(heading.clone(), text);
        }
        if of_line.values().any(|it| !it.is_empty()) {
            cells.insert(line, of_line);
        }
    }
    cells
}

/// A session with the language server.
struct Session {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    requests: u32,
}

impl Session {
    fn new(folder: &Path) -> Self {
        let mut command = perfline(&["lsp"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = command.spawn().unwrap();
        let input = server.stdin.take().unwrap();
        let output = BufReader::new(server.stdout.take().unwrap());
        let mut session = Self { server, input, output, requests: 0 };
        let uri = format!("file://{}", folder.display());
        let folders = json!([{"uri": uri, "name": "folder"}]);
        // Nothing is loaded until asked for.
        let options = json!({"recordings": {"include": []}});
        let params = json!({
            "capabilities": {}, "workspaceFolders": folders, "initializationOptions": options,
        });
        session.ask("initialize", params);
        session.send(json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}));
        session
    }

    fn send(&mut self, message: Value) {
        let body = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        self.input.flush().unwrap();
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut length = 0;
            loop {
                let mut line = String::new();
                assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the server ended");
                match line.trim_end().strip_prefix("Content-Length: ") {
                    Some(number) => length = number.parse().unwrap(),
                    None if line.trim_end().is_empty() => break,
                    None => {}
                }
            }
            let mut body = vec![0; length];
            self.output.read_exact(&mut body).unwrap();
            let message: Value = serde_json::from_slice(&body).unwrap();
            if message["id"] == id && message.get("method").is_none() {
                assert!(message.get("error").is_none(), "{message}");
                return message["result"].clone();
            }
        }
    }

    fn command(&mut self, name: &str, arguments: Value) -> Value {
        self.ask("workspace/executeCommand", json!({"command": name, "arguments": [arguments]}))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The test is over; how the server ends is tested elsewhere.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Numbers of `perfline.details` by id: value and share (of 1).
type Numbers = BTreeMap<String, (f64, f64)>;

fn details(session: &mut Session, program: &Path, line: u32) -> Numbers {
    let uri = format!("file://{}", program.display());
    let details = session.command("perfline.details", json!({"uri": uri, "line": line}));
    let numbers = details["numbers"].as_array().unwrap_or_else(|| panic!("line {line}: {details}"));
    let number = |it: &Value| {
        let (value, share) = (it["value"].as_f64().unwrap(), it["share"].as_f64().unwrap_or(0.0));
        (it["name"].as_str().unwrap().to_owned(), (value, share))
    };
    numbers.iter().map(number).collect()
}

#[test]
fn of_two_ranks_in_every_output() {
    let ranks = [0, 1].map(|it| fixture(&format!("cpu/torch1.13.1/two_ranks.rank{it}.json.gz")));
    let ranks = ranks.each_ref().map(|it| it.to_str().unwrap());
    let root = fixture("workloads");
    let program = root.join("two_ranks.py");
    let root_option = ["--root", root.to_str().unwrap()];
    let json = output(&[&["lines"][..], &ranks, &root_option].concat());
    let json: Value = serde_json::from_str(&json).unwrap();
    let mut session = Session::new(&root);
    session.command("perfline.load", json!({"paths": ranks}));
    for (per, step) in [("step", "mean"), ("run", "run")] {
        session.command("perfline.setStep", json!({"step": step}));
        let options = ["--per", per, "--threshold", "0", "--context", "0"];
        let text = output(&[&["annotate"][..], &ranks, &root_option, &options].concat());
        let cells = cells(&text, "two_ranks.py");
        assert!(10 < cells.len(), "{text}");
        for (line, cells) in cells {
            let numbers = details(&mut session, &program, line);
            let number = |id: &str| numbers.get(id).copied().unwrap_or_default();
            for (heading, ids) in COLUMNS {
                // A column that is not there has nothing.
                let shown = cells.get(heading).map_or("", String::as_str);
                let value =
                    ids[1..].iter().fold(number(ids[0]).0, |value, id| value - number(id).0);
                let text = match heading {
                    _ if value == 0.0 => String::new(),
                    "alloc" | "peak" => numbers::bytes(value),
                    "calls" => numbers::count(value),
                    _ => numbers::duration(value),
                };
                assert_eq!(shown, text, "line {line}, {heading} per {per}");
            }
            let busy = number("cpu_own").1 - number("waiting").1;
            let share = busy.max(number("waiting").1);
            let share = if 0.0 < share { numbers::percent(share) } else { String::new() };
            assert_eq!(cells[&format!("{per} share")], share, "line {line}, share per {per}");
            if per == "run" {
                let is_it = |it: &&Value| it["file"] == "two_ranks.py" && it["line"] == line;
                let row = json["lines"].as_array().unwrap().iter().find(is_it).unwrap();
                for (id, unit) in [
                    ("cpu_own", "_us"),
                    ("cpu_total", "_us"),
                    ("cpu_backward", "_us"),
                    ("waiting", "_us"),
                    ("alloc", "_bytes"),
                    ("peak", "_bytes"),
                    ("calls", ""),
                ] {
                    let amount = row[format!("{id}{unit}")].as_f64().unwrap();
                    let expected = if unit == "_us" { amount * 1000.0 } else { amount };
                    assert_eq!(number(id).0, expected.round(), "line {line}, {id}");
                }
            }
        }
    }
}

#[test]
fn of_findings_and_tables_in_one_report() {
    let ranks = [0, 1].map(|it| fixture(&format!("cpu/torch1.13.1/two_ranks.rank{it}.json.gz")));
    let ranks = ranks.each_ref().map(|it| it.to_str().unwrap());
    let root = fixture("workloads");
    let report = output(&["report", "--all", ranks[0], ranks[1], "--root", root.to_str().unwrap()]);
    // The step that a time and its share show, from `3.31 ms`, `5.74 %`.
    let step = |time: &str, share: &str| -> f64 {
        let time: f64 = time.parse().unwrap();
        time / share.parse::<f64>().unwrap() * 100.0
    };
    let text = report.split_whitespace().collect::<Vec<_>>().join(" ");
    let finding = text.split("zero-grad: ").nth(1).unwrap();
    let (before, after) = finding.split_once(" ms per step (").unwrap();
    let found = step(before.rsplit(' ').next().unwrap(), after.split(' ').next().unwrap());
    let row = report.split("Lines by own thread time").nth(1).unwrap().lines().nth(2).unwrap();
    let row: Vec<&str> = row.split_whitespace().collect();
    let listed = step(row[0], row[2]);
    let header = report.split(" steps of ").nth(1).unwrap().split(' ').next().unwrap();
    let header: f64 = header.parse().unwrap();
    for it in [found, listed] {
        assert!((it - header).abs() < 0.005 * header, "{found}, {listed}, {header}: {report}");
    }
}

/// Columns of the table `lines` of the report, headings of `perfline annotate`, metrics of `perfline diff`, and labels of
/// `perfline show`, of one amount per step.
const PER_STEP: [[&str; 4]; 4] = [
    ["cpu own", "cpu own", "cpu_busy", "thread time, own"],
    ["cuda own", "cuda own", "cuda_own", "CUDA, own"],
    ["gpu wait", "gpu wait", "sync", "wait for the GPU"],
    ["gpu idle", "gpu idle", "gpu_idle", "GPU idle"],
];

#[test]
fn of_a_step_in_every_printer() {
    let trace = fixture("simulated_cuda/torch2.15.0/slow_model.json.gz");
    let (trace, root) = (trace.to_str().unwrap(), fixture("workloads"));
    let root = root.to_str().unwrap();
    let json = |arguments: &[&str]| -> Value {
        let output = output(&[arguments, &["--root", root, "--format", "json"]].concat());
        serde_json::from_str(&output).unwrap()
    };
    let report = json(&["report", trace, "--section", "lines"]);
    let table = &report["sections"][0];
    let column = |name: &str| {
        table["columns"].as_array().unwrap().iter().position(|it| it["name"] == name).unwrap()
    };
    let annotated =
        output(&["annotate", trace, "--root", root, "--threshold", "0", "--context", "0"]);
    let annotated = cells(&annotated, "slow_model.py");
    let diff = json(&["diff", trace, trace, "--base-root", root]);
    let rows = table["rows"].as_array().unwrap();
    assert!(5 < rows.len());
    let mut compared = 0;
    for row in rows {
        let place = &row[column("line")]["places"][0];
        let line = u32::try_from(place["line"].as_u64().unwrap()).unwrap();
        let show = json(&["show", &format!("slow_model.py:{line}"), trace]);
        for [heading, of_annotate, of_diff, of_show] in PER_STEP {
            let cell = &row[column(heading)];
            let (value, text) = (cell["value"].as_f64().unwrap_or(0.0), cell["text"].as_str());
            let text = text.unwrap_or_default();
            assert_eq!(
                annotated[&line].get(of_annotate).map_or("", String::as_str),
                text,
                "{heading}:{line}"
            );
            let is_it = |it: &&Value| it["line"] == line && it["metric"] == of_diff;
            let difference = diff["lines"].as_array().unwrap().iter().find(is_it);
            let both = difference
                .map_or([0.0; 2], |it| ["base_us", "new_us"].map(|key| it[key].as_f64().unwrap()));
            assert!(
                both.iter().all(|it| (it * 1e3 - value).abs() < 1.0),
                "{both:?}, {value}: {heading}:{line}"
            );
            let shown = show["sections"][0]["rows"].as_array().unwrap();
            let shown = shown.iter().find(|it| it[0]["text"] == of_show);
            assert_eq!(
                shown.map_or("", |it| it[1]["text"].as_str().unwrap()),
                text,
                "{heading}:{line}"
            );
            compared += usize::from(0.0 < value);
        }
    }
    assert!(10 < compared, "{compared}");
}

#[test]
fn of_the_recording_in_every_format_for_programs() {
    let trace = fixture("simulated_cuda/torch2.15.0/slow_model.json.gz");
    let (trace, root) = (trace.to_str().unwrap(), fixture("workloads"));
    let root = root.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("slow_model.perfline");
    let ledger = ledger.to_str().unwrap();
    output(&["ledger", trace, "--root", root, "-o", ledger]);
    let lines = |input: &str| -> Value {
        let json: Value = serde_json::from_str(&output(&["lines", input, "--root", root])).unwrap();
        json["lines"].clone()
    };
    let json = lines(trace);
    assert_eq!(lines(ledger), json);
    let csv = output(&["lines", trace, "--root", root, "--format", "csv"]);
    let mut rows = csv.lines();
    let names: Vec<&str> = rows.next().unwrap().split(',').collect();
    assert!(20 < names.len());
    assert_eq!(csv.lines().count() - 1, json.as_array().unwrap().len());
    for (row, line) in rows.zip(json.as_array().unwrap()) {
        // No name in this recording has a comma.
        for (name, cell) in names.iter().zip(row.split(',')) {
            let expected = match &line[name] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(cell, expected, "{name} of {line}");
        }
    }
}
