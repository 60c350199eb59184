//! What the commands print for programs is what `docs/schema/perfline.json` says.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

mod json_schema;

use std::path::Path;
use std::process::Command;

use json_schema::fault;
use serde_json::Value;

#[test]
fn json_is_as_its_schema_says() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = std::fs::read_to_string(repository.join("docs/schema/perfline.json")).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    const TRACE: &str = "../simulated_cuda/torch2.15.0/slow_model.json.gz";
    const RANKS: &str = "../cpu/torch2.15.0/late_rank.slow_line";
    const COMPILED: &str = "../cpu/torch2.15.0/compile_reasons/compile_reasons.json.gz";
    let outputs: [&[&str]; 24] = [
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
        let mut command = Command::new(env!("CARGO_BIN_EXE_perfline"));
        command.args(arguments).args(["--format", "json"]);
        command.env("PERFLINE_CACHE_DIR", "").current_dir(repository.join("fixtures/workloads"));
        let output = command.output().unwrap();
        let mut value: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(fault(&schema, &value, &schema, ""), None, "{arguments:?}");
        // Every field of the first level is needed.
        let names: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        for name in names {
            let removed = value.as_object_mut().unwrap().remove(&name).unwrap();
            assert!(fault(&schema, &value, &schema, "").is_some(), "{arguments:?}: {name}");
            value.as_object_mut().unwrap().insert(name, removed);
        }
    }
}
