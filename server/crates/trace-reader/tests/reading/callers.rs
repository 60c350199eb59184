//! The recorder's side-car.

use profile::StrId;
use trace_reader::callers::{looks_like_callers, read_callers};

/// The calls, one a line; or why there are none.
fn dump(text: &str) -> String {
    let (callers, warnings) = match read_callers(text.as_bytes()) {
        Ok(it) => it,
        Err(error) => return format!("error: {error}\n"),
    };
    let mut out = String::new();
    if let Some((major, minor)) = callers.torch {
        out += &format!("torch {major}.{minor}\n");
    }
    for thread in &callers.threads {
        out += &format!("thread {}\n", thread.tid);
        for row in 0..thread.name.len() {
            let [name, file] =
                [thread.name[row], thread.file[row]].map(|it| callers.strings.get(it));
            let file = if thread.file[row] == StrId::NONE { "nowhere" } else { file };
            out += &format!("{name} at {} from {file}:{}\n", thread.start[row].0, thread.line[row]);
        }
    }
    if let Some(log) = &callers.lines {
        for code in &log.codes {
            let [file, function] = [code.file, code.function].map(|it| callers.strings.get(it));
            out += &format!("{file}({}-{}): {function}\n", code.first_line, code.last_line);
        }
        for thread in &log.threads {
            for row in 0..thread.time.len() {
                let (time, code) = (thread.time[row], thread.code[row]);
                out += &format!("{} at {}: {code}:{}\n", thread.tid, time.0, thread.line[row]);
            }
        }
        out += &format!("until {}\n", log.until.0);
    }
    for worked in &callers.loader_workers.worked {
        let time = callers.loader_workers.time.0;
        out += &format!("a worker worked {} of {time}\n", worked.0);
    }
    if let Some(command) = &callers.command {
        out += &format!("run as {command}\n");
    }
    for step in &callers.plain_steps {
        out += &format!("a step took {}\n", step.0);
    }
    for warning in warnings.iter() {
        let at = warning.offset.map_or(String::new(), |it| format!(" @{it}"));
        out += &format!("warning {:?}{at} x{}: {}\n", warning.kind, warning.count, warning.message);
    }
    out
}

#[test]
fn side_cars_and_what_is_wrong_with_them() {
    let cases = [
        (
            r#"{"schema": "perfline.callers/1", "torch": "2.11.0+cu130", "python": "3.11.7",
                "strings": ["slow_model.py(91): train_step", "run.py", "<built-in \"méthode\">"],
                "new": {"a": [1, {"b": 2}]},
                "threads": [{"tid": 4711, "name": [0, 2, 2], "start_ns": [1795248241741670325, 1053, 0],
                             "file": [1, 1, -1], "line": [9, 862, -1]},
                            {"tid": "-1", "name": [], "start_ns": [], "file": [], "line": []}]}"#,
            "torch 2.11\n\
             thread 4711\n\
             slow_model.py(91): train_step at 1795248241741670325 from run.py:9\n\
             <built-in \"méthode\"> at 1795248241741671378 from run.py:862\n\
             <built-in \"méthode\"> at 1795248241741671378 from nowhere:0\n\
             thread -1\n",
        ),
        (r#"{"schema": "perfline.callers/1", "strings": [], "threads": []}"#, ""),
        (
            r#"{"schema": "perfline.callers/1", "loader_workers": {"new": [], "time_ns": 900, "worked_ns": [7, -5, 0]}}"#,
            "a worker worked 7 of 900\na worker worked 0 of 900\n",
        ),
        (
            r#"{"schema": "perfline.callers/1", "command": "train.py \"a b\""}"#,
            "run as train.py \"a b\"\n",
        ),
        (r#"{"schema": "perfline.callers/1", "loader_workers": {"worked_ns": [7]}}"#, ""),
        (
            r#"{"schema": "perfline.callers/1", "plain_steps_ns": [12104113, -5, "x", 9223372036854775807, 11987204]}"#,
            "a step took 12104113\na step took 11987204\n\
             warning BareWord @66 x1: a word that is not a number was ignored\n",
        ),
        (
            r#"{"schema": "perfline.callers/1", "strings": ["a"], "threads": [{"tid": 1, "name": [0, 5, 0], "start_ns": [1, 1, 1, 1], "file": [0, 0, 7], "line": [1, 2, 99999999999]}]}"#,
            "thread 1\na at 1 from a:1\na at 3 from nowhere:0\n\
             warning Malformed x1: the columns of a table have different lengths; the rows that all have were read\n\
             warning Malformed x1: a call whose name is not in the file was left out\n",
        ),
        (
            r#"{"schema": "perfline.callers/1", "strings": ["train.py", "step"], "threads": [],
                "lines": {"until_ns": 1795248241741679999, "new": [],
                          "codes": {"file": [0], "function": [1], "first": [4], "last": [9]},
                          "threads": [{"tid": 4711, "time_ns": [1795248241741670325, 301, 0],
                                       "code": [0, 0, 0], "line": [0, 5, 6]}]}}"#,
            "train.py(4-9): step\n\
             4711 at 1795248241741670325: 0:0\n\
             4711 at 1795248241741670626: 0:5\n\
             4711 at 1795248241741670626: 0:6\n\
             until 1795248241741679999\n",
        ),
        (
            r#"{"schema": "perfline.callers/1", "strings": ["a"],
                "lines": {"codes": {"file": [0, 7], "function": [0, 7, 0], "first": [1, -1], "last": [2, 3]},
                          "threads": [{"tid": 1, "time_ns": [5, 1, 1, 1, 1], "code": [0, 2, 0, -1], "line": [1, 1, -1, 1]}]}}"#,
            "a(1-2): a\n(0-3): \n1 at 5: 0:1\nuntil 0\n\
             warning Malformed x2: the columns of a table have different lengths; the rows that all have were read\n\
             warning NotCredible @0 x3: a line whose time, function or number cannot be true was left out\n",
        ),
        (
            r#"{"schema": "perfline.callers/2"}"#,
            "error: its schema is \"perfline.callers/2\", and this version reads perfline.callers/1\n",
        ),
        ("{}", "error: its schema is \"\", and this version reads perfline.callers/1\n"),
        (
            r#"{"schema": "perfline.callers/1", "strings": ["a"#,
            "error: it ends too early, at byte 47: record the trace again, or delete the side-car\n",
        ),
        (
            r#"{"schema": "perfline.callers/1", "strings" 5}"#,
            "error: damaged at byte 43: record the trace again, or delete the side-car\n",
        ),
        ("[]", "error: damaged at byte 0: record the trace again, or delete the side-car\n"),
        (
            "",
            "error: it ends too early, at byte 0: record the trace again, or delete the side-car\n",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(dump(text), expected, "{text}");
    }
}

#[test]
fn side_cars_are_recognised_by_their_first_bytes() {
    let cases = [
        (r#"{"schema":"perfline.callers/1","torch":"2.11"#, true),
        ("\n { \"schema\" : \"perfline.callers/9\"", true),
        (r#"{"schema":"perfline.lines/1""#, false),
        (r#"{"schemaVersion": 1, "#, false),
        (r#"["schema"]"#, false),
        ("", false),
    ];
    for (prefix, expected) in cases {
        assert_eq!(looks_like_callers(prefix.as_bytes()), expected, "{prefix}");
    }
}
