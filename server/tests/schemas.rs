//! What the commands print for programs is what `docs/schema/perfline.json` says.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

mod json_schema;

use std::path::{Path, PathBuf};
use std::process::Command;

use json_schema::fault;
use serde_json::Value;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn schema() -> Value {
    let text = std::fs::read_to_string(repository().join("docs/schema/perfline.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// What the program prints, started where the workloads are.
fn output(arguments: &[&str]) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_perfline"));
    command.args(arguments).env("PERFLINE_CACHE_DIR", "");
    command.current_dir(repository().join("fixtures/workloads")).output().unwrap().stdout
}

/// Holds an object against the schema, which needs each of its fields.
fn check(schema: &Value, mut value: Value, what: &[&str]) {
    assert_eq!(fault(schema, &value, schema, ""), None, "{what:?}");
    let names: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
    for name in names {
        let removed = value.as_object_mut().unwrap().remove(&name).unwrap();
        assert!(fault(schema, &value, schema, "").is_some(), "{what:?}: {name}");
        value.as_object_mut().unwrap().insert(name, removed);
    }
}

#[test]
fn json_is_as_its_schema_says() {
    let schema = schema();
    const TRACE: &str = "../simulated_cuda/torch2.15.0/slow_model.json.gz";
    const RANKS: &str = "../cpu/torch2.15.0/late_rank.slow_line";
    const COMPILED: &str = "../cpu/torch2.15.0/compile_reasons/compile_reasons.json.gz";
    let outputs: [&[&str]; 26] = [
        &["report", TRACE],
        &["report", RANKS, "--top", "1"],
        &["report", TRACE, "--section", "steps", "--max-step-ms", "0"],
        &["ops", TRACE],
        &["kernels", TRACE],
        &["kernels", TRACE, "--step", "3", "--stream", "7", "--phase", "forward", "--file", "*.py"],
        &["modules", TRACE],
        &["steps", TRACE],
        &["comm", RANKS],
        &["ranges", TRACE],
        &["compile", COMPILED],
        &["list", "../cpu/torch2.15.0"],
        &["show", "slow_model.py:46", TRACE],
        &["show", "slow_model.py:97", TRACE, "--phase", "backward"],
        &["report", TRACE, "--module", "Gate", "--file", "*.py"],
        &["lines", TRACE],
        &["lines", RANKS],
        &["lines", TRACE, "--step", "2", "--phase", "forward", "--file", "*.py"],
        &["ranks", RANKS],
        &["hang", "../flight_recorder/late"],
        &["hang", "../flight_recorder/skipping_json"],
        &["memory", "../simulated_snapshots/torch2.15.0/transformer.snapshot.pickle.gz"],
        &["memory", "../../tests/memory_viz/out_of_memory.pickle.gz"],
        &["memory", TRACE],
        &["diff", "../cpu/torch2.15.0/slow_model.json.gz", TRACE],
        &["diff", TRACE, "../simulated_cuda/torch2.15.0/uploads.json.gz"],
    ];
    for arguments in outputs {
        let output = output(&[arguments, &["--format", "json"]].concat());
        check(&schema, serde_json::from_slice(&output).unwrap(), arguments);
    }
}

#[test]
fn the_data_of_pictures_is_as_its_schema_says() {
    let schema = schema();
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("report.html");
    let page = page.to_str().unwrap();
    for (input, pictures) in [
        (
            "../simulated_cuda/torch2.15.0/slow_model.json.gz",
            &["timeline", "flame", "roofline"][..],
        ),
        ("../simulated_snapshots/torch2.15.0/transformer.snapshot.pickle.gz", &["memory"]),
        ("../cpu/torch2.15.0/late_rank.slow_line", &["ranks"]),
    ] {
        output(&["report", input, "--html", page]);
        for picture in pictures {
            check(&schema, picture_data(page, picture), &[input, picture]);
        }
    }
    // The same with what a comparison adds.
    let programs = ["base", "faster"].map(|it| format!("../../tests/data/comparison/{it}"));
    let traces = programs.each_ref().map(|it| format!("{it}/trace.json.gz"));
    let [base, new] = &traces;
    output(
        &[
            &["diff", base, new, "--base-root", &programs[0], "--root", &programs[1]][..],
            &["--html", page],
        ]
        .concat(),
    );
    let data = picture_data(page, "flame");
    assert_eq!(fault(&schema, &data, &schema, ""), None);
    for holder in [&data, &data["metrics"][0]] {
        for name in holder["base"].as_object().unwrap().keys() {
            let mut changed = data.clone();
            let holder = match holder["base"].get("steps") {
                Some(_) => &mut changed,
                None => &mut changed["metrics"][0],
            };
            holder["base"].as_object_mut().unwrap().remove(name);
            assert!(fault(&schema, &changed, &schema, "").is_some(), "{name}");
        }
    }
}

/// What a picture of a page is drawn from.
fn picture_data(page: &str, picture: &str) -> Value {
    let text = std::fs::read_to_string(page).unwrap();
    let start = format!("<script id=\"{picture}-data\" type=\"application/json\">");
    let data = text.split_once(&start).unwrap().1.split_once("</script>").unwrap().0;
    serde_json::from_str(data).unwrap()
}
