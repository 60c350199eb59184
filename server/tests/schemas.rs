//! What the commands print for programs is what `docs/schema/perfline.json` says.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Says where `value` differs from `schema`. Knows the keywords that `docs/schema/perfline.json` uses, and no others.
fn fault(schema: &Value, value: &Value, root: &Value, at: &str) -> Option<String> {
    let rules = schema.as_object().unwrap();
    rules.iter().find_map(|(keyword, rule)| match keyword.as_str() {
        "$schema" | "$defs" | "title" | "description" => None,
        "$ref" => {
            let target = root.pointer(rule.as_str().unwrap().strip_prefix('#').unwrap());
            fault(target.unwrap(), value, root, at)
        }
        "oneOf" => {
            let faults: Vec<_> =
                rule.as_array().unwrap().iter().map(|it| fault(it, value, root, at)).collect();
            let fits = faults.iter().filter(|it| it.is_none()).count();
            (fits != 1).then(|| format!("{at}: {fits} alternatives fit: {faults:?}"))
        }
        "const" => (value != rule).then(|| format!("{at}: {value} is not {rule}")),
        "enum" => (!rule.as_array().unwrap().contains(value))
            .then(|| format!("{at}: {value} is none of {rule}")),
        "type" => {
            let names = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
            let fits = names.iter().any(|name| is_of(value, name.as_str().unwrap()));
            (!fits).then(|| format!("{at}: {value} is not of type {rule}"))
        }
        "required" => {
            let object = value.as_object()?;
            let missing =
                rule.as_array()?.iter().find(|it| !object.contains_key(it.as_str().unwrap()));
            missing.map(|it| format!("{at}: {it} is missing"))
        }
        "properties" => rule.as_object()?.iter().find_map(|(name, rule)| {
            fault(rule, value.as_object()?.get(name)?, root, &format!("{at}/{name}"))
        }),
        "items" => {
            let mut items = value.as_array()?.iter().enumerate();
            items.find_map(|(index, it)| fault(rule, it, root, &format!("{at}/{index}")))
        }
        other => panic!("the test does not know the keyword {other}"),
    })
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the test does not know the type {other}"),
    }
}

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
