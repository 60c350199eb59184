//! What only a process shows: exit status, standard streams, the current folder.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A fixture, or the folder of all.
fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name)
}

fn perfline(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_perfline"));
    for name in ["NO_COLOR", "CLICOLOR_FORCE", "COLORTERM"] {
        command.env_remove(name);
    }
    command.args(arguments).env("PERFLINE_CACHE_DIR", "").stdin(Stdio::null());
    command
}

/// Runs to the end: exit status, stdout, stderr.
fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// A folder with one recording in a folder of its own.
fn folder_with_a_recording() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("logs");
    std::fs::create_dir(&below).unwrap();
    std::fs::copy(fixture(TRACE), below.join("trace.json.gz")).unwrap();
    folder
}

const TRACE: &str = "cpu/torch2.15.0/slow_model.json.gz";

#[test]
fn help_and_version_are_on_stdout() {
    let (code, out, err) = run(&mut perfline(&["--help"]));
    assert_eq!((code, err.as_str()), (Some(0), ""));
    for word in ["annotate", "lines", "report", "Examples:", "Exit status:"] {
        assert!(out.contains(word), "{word} is not in\n{out}");
    }
    let (code, out, _) = run(&mut perfline(&["--version"]));
    assert_eq!((code, out), (Some(0), format!("perfline {}\n", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn what_the_user_can_put_right_is_one_line_and_status_2() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "no trace at all\n").unwrap();
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let missing = folder.path().join("missing.json");
    for input in [&text, &empty, &missing] {
        let input = input.to_str().unwrap();
        let (code, out, err) = run(&mut perfline(&["annotate", input]));
        assert_eq!((code, out.as_str()), (Some(2), ""), "{input}: {err}");
        assert_eq!(err.lines().count(), 1, "{err}");
        assert!(err.starts_with("perfline: ") && err.contains(input), "{err}");
    }
    let (code, out, err) = run(&mut perfline(&["annotate", "--threshold", "many"]));
    assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
    assert!(err.contains("--threshold"), "{err}");
}

#[test]
fn an_input_that_cannot_be_read_does_not_take_the_others_with_it_but_is_reported() {
    let trace = fixture(TRACE);
    let (code, out, err) = run(&mut perfline(&["report", trace.to_str().unwrap(), "missing.json"]));
    assert_eq!(code, Some(2));
    assert!(out.contains("slow_model.json.gz"), "{out}");
    assert!(err.contains("missing.json"), "{err}");
}

#[test]
fn without_input_the_newest_recording_below_the_current_folder_is_taken_and_named() {
    let folder = folder_with_a_recording();
    let (code, out, err) = run(perfline(&["report"]).current_dir(folder.path()));
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with("trace.json.gz"), "{out}");
    assert!(err.contains("trace.json.gz"), "{err}");
}

#[test]
fn a_folder_stands_for_the_newest_recording_below_it() {
    let folder = folder_with_a_recording();
    let (code, out, err) = run(&mut perfline(&["lines", folder.path().to_str().unwrap()]));
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("trace.json.gz") && out.contains("\"balanced\": true"), "{out}");
}

#[test]
fn source_stands_beside_the_numbers_and_a_pipe_gets_no_colours() {
    let trace = fixture(TRACE);
    let workloads = fixture("workloads");
    let arguments = ["annotate", trace.to_str().unwrap(), "--root", workloads.to_str().unwrap()];
    let (code, plain, err) = run(&mut perfline(&arguments));
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(plain.contains("│             if x.max().item() > 100:"), "{plain}");
    assert!(!plain.contains('\u{1b}'));
    let (_, forced, _) = run(perfline(&arguments).env("CLICOLOR_FORCE", "1"));
    assert!(forced.contains('\u{1b}'));
    let (_, refused, _) = run(perfline(&arguments).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1"));
    assert_eq!(refused, plain);
    // The command line goes before both, wherever the option stands.
    let (_, refused, _) =
        run(perfline(&arguments).args(["--color", "never"]).env("CLICOLOR_FORCE", "1"));
    assert_eq!(refused, plain);
    let (_, always, _) = run(perfline(&["--color=always"]).args(arguments).env("NO_COLOR", "1"));
    assert_eq!(always, forced);
}

/// Cells are named by a hash of their text: those of a notebook file and of what Jupytext made of it are the same ones.
#[test]
fn cells_of_notebooks_are_found_in_notebook_files_and_in_texts() {
    // The name of the section, with the lines on which the cell begins and `loss.backward()` stands.
    let rows = [
        (vec!["notebook.ipynb"], "notebook.ipynb", "notebook.ipynb:cell 6", 1, 7),
        (vec!["notebook_texts/percent.py"], "percent.py", "percent.py:cell 6", 61, 67),
        (vec!["notebook_texts/light.py"], "light.py", "light.py:cell 6", 61, 67),
        (vec!["notebook_texts/markdown.md"], "markdown.md", "markdown.md:cell 6", 59, 65),
        // The text is asked for, and the notebook file is there, too.
        (
            vec!["notebook_texts/percent.py", "notebook.ipynb"],
            "percent.py",
            "notebook.ipynb:cell 6",
            1,
            7,
        ),
    ];
    for (files, shown, section, first, backward) in rows {
        let folder = tempfile::tempdir().unwrap();
        let trace = "cpu/torch2.15.0/notebook.json.gz";
        std::fs::copy(fixture(trace), folder.path().join("notebook.json.gz")).unwrap();
        for file in files {
            let from = fixture("workloads").join(file);
            std::fs::copy(&from, folder.path().join(from.file_name().unwrap())).unwrap();
        }
        let at = |arguments: &[&str]| run(perfline(arguments).current_dir(&folder));
        let (code, out, err) = at(&["annotate", shown]);
        assert_eq!(code, Some(0), "{err}");
        assert!(out.contains(&format!("\n{section} · 57.5 % of thread time")), "{out}");
        let line = |text: &str| out.lines().find(|it| it.ends_with(text)).unwrap();
        assert!(line("│ history = []").starts_with(&format!("{first:4}")), "{out}");
        assert!(
            line("        loss.backward()").starts_with(&format!("{backward:4}    28.1 %")),
            "{out}"
        );

        // A line of the text is one of its cell.
        let place = format!("{shown}:{backward}");
        if section.starts_with(shown) && !shown.ends_with("ipynb") {
            let (code, out, err) = at(&["show", &place]);
            assert_eq!(code, Some(0), "{err}");
            assert!(out.contains(&format!("{section}:7 · <module>")), "{out}");
        }
        let (_, of_file, _) = at(&["lines", "--file", section.split(':').next().unwrap()]);
        assert!(of_file.contains("\"line_now\""), "{of_file}");
        let (_, out, _) = at(&["lines"]);
        let lines: Value = serde_json::from_str(&out).unwrap();
        let lines = lines["lines"].as_array().unwrap();
        let file = section.split(':').next().unwrap();
        let cell = |it: &&Value| it["cell"] == 5 && it["line"] == 7;
        let line = lines.iter().find(cell).unwrap();
        assert_eq!(
            (&line["file"], &line["line_now"]),
            (&Value::from(file), &Value::from(backward))
        );
    }
}

#[test]
fn the_report_says_what_recording_cost() {
    let folder = folder_with_a_recording();
    let side_car = r#"{"schema": "perfline.callers/1", "strings": [], "threads": [],
                       "plain_steps_ns": [9100000, 8900000, 20000000, 9000000]}"#;
    std::fs::write(folder.path().join("logs/trace.callers.json.gz"), side_car).unwrap();
    let ledger = folder.path().join("run.ledger");
    let write = ["ledger", "logs/trace.json.gz", "-o", "run.ledger"];
    let (code, _, err) = run(perfline(&write).current_dir(&folder));
    assert_eq!(code, Some(0), "{err}");
    for input in ["logs/trace.json.gz", ledger.to_str().unwrap()] {
        let (_, out, err) = run(perfline(&["report", input]).current_dir(&folder));
        assert!(out.contains("\nrecording made a step 1.5"), "{out}{err}");
        assert!(out.contains("× as long: 9.1 ms without, 13.8 ms with\n"), "{out}{err}");
    }
}

#[test]
fn ranks_are_added_up() {
    let ranks =
        [0, 1].map(|rank| fixture(&format!("cpu/torch2.15.0/two_ranks.rank{rank}.json.gz")));
    let ranks = ranks.each_ref().map(|it| it.to_str().unwrap());
    let (code, out, err) = run(&mut perfline(&["report", "--all", ranks[0], ranks[1]]));
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("and 1 more · 2 ranks"), "{out}");
    assert!(!out.contains("DOES NOT BALANCE"), "{out}");
}

#[test]
fn a_damaged_input_is_read_up_to_the_damage_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(fixture(TRACE)).unwrap();
    let half = folder.path().join("half.json.gz");
    std::fs::write(&half, &whole[..whole.len() / 2]).unwrap();
    let (code, out, err) = run(&mut perfline(&["report", half.to_str().unwrap()]));
    assert_eq!(code, Some(0));
    let said = format!("perfline: warning: {} is incomplete: ", half.display());
    assert!(err.starts_with(&said) && err.lines().count() == 1, "{err}");
    assert!(out.contains("! half.json.gz is incomplete: "), "{out}");
}

#[test]
fn the_standard_input_is_read_from_its_first_byte() {
    let folder = folder_with_a_recording();
    let file = folder.path().join("logs/trace.json.gz");
    let csv = |input: &str, stdin: Stdio| {
        run(perfline(&["lines", input, "--format", "csv"]).current_dir(folder.path()).stdin(stdin))
    };
    let (code, expected, err) = csv(file.to_str().unwrap(), Stdio::null());
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(expected.lines().count() > 100, "{expected}");
    let opened = || Stdio::from(std::fs::File::open(&file).unwrap());
    assert_eq!(csv("-", opened()), (Some(0), expected.clone(), String::new()));

    let with_note = folder.path().join("with_note");
    std::fs::write(&with_note, [b"note\n", &*std::fs::read(&file).unwrap()].concat()).unwrap();
    let mut behind_note = std::fs::File::open(&with_note).unwrap();
    behind_note.seek(SeekFrom::Start(5)).unwrap();
    assert_eq!(csv("-", behind_note.into()), (Some(0), expected.clone(), String::new()));

    let mut inputs = vec!["-"];
    inputs.extend(cfg!(unix).then_some("/dev/stdin"));
    for input in inputs {
        let mut cat = Command::new("gzip").args(["-dc"]).arg(&file).stdout(Stdio::piped()).spawn();
        let cat = cat.as_mut().unwrap();
        let piped = Stdio::from(cat.stdout.take().unwrap());
        assert_eq!(csv(input, piped), (Some(0), expected.clone(), String::new()), "{input}");
        assert!(cat.wait().unwrap().success());
    }

    let (code, out, err) = run(perfline(&["report", "-", "-"]).stdin(opened()));
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with("standard input"), "{out}");
    let expected = "perfline: warning: standard input: standard input is the same recording and was left out, so that \
                    it counts once\n";
    assert_eq!(err, expected);
    let (code, out, err) = run(&mut perfline(&["report", "-"]));
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(err.starts_with("perfline: standard input: the file is empty"), "{err}");
}

#[cfg(unix)]
#[test]
fn more_inputs_than_files_that_may_be_open_are_read() {
    let folder = tempfile::tempdir().unwrap();
    for rank in 0..60 {
        let text = format!(
            r#"{{"distributedInfo": {{"rank": {rank}}}, "traceEvents": [{{"ph": "X", "cat": "cpu_op", "name": "aten::add",
            "pid": 1, "tid": 1, "ts": {rank}, "dur": 1}}]}}"#
        );
        std::fs::write(folder.path().join(format!("rank{rank}.json")), text).unwrap();
    }
    let program = env!("CARGO_BIN_EXE_perfline");
    let script =
        format!("export PERFLINE_CACHE_DIR=; ulimit -Sn 30; exec '{program}' lines rank*.json");
    let (code, out, err) = run(Command::new("sh").args(["-c", &script]).current_dir(folder.path()));
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert_eq!(out.matches("\"complete\": true").count(), 60, "{out}");
    let script =
        format!("export PERFLINE_CACHE_DIR=; ulimit -n 30; exec '{program}' lines rank*.json");
    let (code, _, err) = run(Command::new("sh").args(["-c", &script]).current_dir(folder.path()));
    assert_eq!(code, Some(2));
    assert!(err.contains("too many open files; allow more (ulimit -n)"), "{err}");
}

#[test]
fn a_limit_decides_the_status() {
    let trace = fixture(TRACE);
    let trace = trace.to_str().unwrap();
    let (code, _, err) = run(&mut perfline(&["report", trace, "--max-step-ms", "0"]));
    assert_eq!(code, Some(1));
    assert!(err.contains("--max-step-ms"), "{err}");
    let (code, _, err) = run(&mut perfline(&["report", trace, "--max-step-ms", "1e9"]));
    assert_eq!((code, err.as_str()), (Some(0), ""));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let trace = fixture(TRACE);
    for command in ["annotate", "lines", "report"] {
        let mut child = perfline(&[command, trace.to_str().unwrap()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        assert_eq!((status.code(), String::from_utf8_lossy(&stderr).as_ref()), (Some(0), ""));
    }
}

/// One message of the language server protocol.
fn message(body: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn the_language_server_ends_when_it_is_asked_to_although_its_input_stays_open() {
    use std::io::Write;
    let mut server =
        perfline(&["lsp"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#,
        r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"shutdown","params":null}"#,
        r#"{"jsonrpc":"2.0","method":"exit"}"#,
    ] {
        input.write_all(message(body).as_bytes()).unwrap();
        input.flush().unwrap();
    }
    assert_eq!(server.wait().unwrap().code(), Some(0));
    drop(input);
}

#[test]
fn the_language_server_ends_with_its_input() {
    let (code, out, _) = run(&mut perfline(&["lsp", "--stdio"]));
    assert_eq!((code, out.as_str()), (Some(1), ""));
}

#[test]
fn the_language_server_answers_what_is_not_a_message_and_goes_on() {
    use std::io::Write;
    let mut server =
        perfline(&["lsp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let shutdown = r#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#;
    let lower_case = message(shutdown).to_lowercase();
    for text in [
        message(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#),
        message(r#"{"jsonrpc":"2.0","id":1.5,"method":"shutdown"}"#),
        message("[]"),
        message("{not json"),
        "Content-Length: many\r\n\r\n".to_owned(),
        lower_case,
        message(r#"{"jsonrpc":"2.0","method":"exit"}"#),
    ] {
        input.write_all(text.as_bytes()).unwrap();
        input.flush().unwrap();
    }
    let Output { status, stdout, .. } = server.wait_with_output().unwrap();
    drop(input);
    let replies = String::from_utf8(stdout).unwrap();
    assert_eq!(status.code(), Some(0), "{replies}");
    for (code, times) in [("-32600", 2), ("-32700", 2)] {
        assert_eq!(replies.matches(code).count(), times, "{code}: {replies}");
    }
}

#[cfg(unix)]
#[test]
fn the_language_server_ends_with_the_process_that_started_it_although_its_input_stays_open() {
    use std::io::{Read, Write};
    let mut client = Command::new("sleep").arg("600").spawn().unwrap();
    let mut server = perfline(&["lsp"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Held open here, by another process than the client.
    let mut input = server.stdin.take().unwrap();
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"processId":{},"capabilities":{{}}}}}}"#,
        client.id()
    );
    input.write_all(message(&body).as_bytes()).unwrap();
    input.flush().unwrap();
    client.kill().unwrap();
    client.wait().unwrap();
    let mut reported = String::new();
    server.stderr.take().unwrap().read_to_string(&mut reported).unwrap();
    assert_eq!(server.wait().unwrap().code(), Some(1));
    assert!(reported.starts_with("perfline: ") && reported.contains("processId"), "{reported}");
    drop(input);
}

#[cfg(unix)]
#[test]
fn recording_is_handed_to_the_python_that_is_active() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let python = folder.path().join("bin/python3");
    std::fs::create_dir(python.parent().unwrap()).unwrap();
    std::fs::write(&python, "#!/bin/sh\nshift 2\necho \"$@\"\nexit 7\n").unwrap();
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    for (variable, value) in [("VIRTUAL_ENV", folder.path()), ("PATH", &folder.path().join("bin"))]
    {
        let mut command = perfline(&["record", "--steps", "2", "train.py", "--help"]);
        command.env_remove("VIRTUAL_ENV").env_remove("CONDA_PREFIX").env(variable, value);
        let (code, out, err) = run(&mut command);
        assert_eq!((code, out.as_str()), (Some(7), "--steps 2 train.py --help\n"), "{err}");
    }
    let mut command = perfline(&["record", "train.py"]);
    command.env_remove("VIRTUAL_ENV").env_remove("CONDA_PREFIX").env("PATH", "");
    let (code, _, err) = run(&mut command);
    let expected = "perfline: no Python was found to record with: activate an environment, or put python3 on the PATH\n";
    assert_eq!((code, err.as_str()), (Some(2), expected));
}

#[test]
fn timing_is_a_section_of_the_report_in_each_format() {
    let trace = fixture(TRACE);
    let arguments = ["report", trace.to_str().unwrap(), "--timing"];
    let (code, text, err) = run(&mut perfline(&arguments));
    assert_eq!(code, Some(0), "{err}");
    assert!(text.contains("\nTiming\n"), "{text}");
    let (code, json, err) = run(perfline(&arguments).args(["--format", "json"]));
    assert_eq!(code, Some(0), "{err}");
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let sections = report["sections"].as_array().unwrap();
    assert_eq!(sections.last().unwrap()["id"], "timing");
}

#[test]
fn shells_complete_commands_and_options() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, script, err) = run(&mut perfline(&["completions", shell]));
        assert_eq!((code, err.as_str()), (Some(0), ""), "{shell}");
        for word in ["annotate", "kernels", "memory-limit"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn manual_pages_say_what_the_help_says() {
    let (code, page, err) = run(&mut perfline(&["man"]));
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(page.contains(".TH perfline 1") && page.contains("perfline\\-annotate(1)"), "{page}");
    let (code, page, _) = run(&mut perfline(&["man", "report"]));
    assert_eq!(code, Some(0));
    assert!(page.contains(".TH perfline-report 1") && page.contains("\\-\\-section"), "{page}");
    let (code, page, err) = run(&mut perfline(&["man", "reprot"]));
    assert_eq!((code, page.as_str()), (Some(2), ""));
    assert!(
        err.starts_with("perfline: there is no command reprot; there are: annotate, "),
        "{err}"
    );
}
