//! `docs/schema/perfline-toml.json` is the schema of what `perfline.toml` may say, and what the documentation shows is valid.
//!
//! `UPDATE_EXPECT=1 cargo test -p perfline --test project_schema` writes it.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

mod json_schema;

use std::path::{Path, PathBuf};

use budget::{Budget, LimitValue};
use expect_test::expect_file;
use insights::{Severities, Severity};
use json_schema::fault;
use metrics::Unit;
use serde_json::{Map, Value, json};
use settings::{ProjectFile, SETTINGS, Setting, SettingKind, TomlDocument};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The schema, from the tables of the code.
fn schema() -> Value {
    let mut properties = Map::new();
    for setting in SETTINGS {
        match setting.name.split_once('.') {
            None => drop(properties.insert(setting.name.to_owned(), property(setting))),
            Some((group, name)) => {
                let group = properties.entry(group).or_insert_with(|| closed(Map::new()));
                group["properties"][name] = property(setting);
            }
        }
    }
    properties.insert("budget".to_owned(), limits());
    let mut schema = closed(properties);
    let text = |texts: &str| json!({"type": "string", "pattern": texts});
    let number = r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*";
    let amount = |units: &str| text(&format!(r"{number}({units})\s*$"));
    let nothing = json!({"const": 0});
    let severities: Vec<&str> =
        [Severities::OFF].into_iter().chain(Severity::ALL.map(Severity::name)).collect();
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("perfline.toml");
    schema["description"] =
        json!("Settings and limits of a project for Perfline (docs/settings.md, docs/budgets.md).");
    schema["$defs"] = json!({
        "severity": {"enum": severities},
        "count": {"type": "integer", "minimum": 0},
        "time": {"anyOf": [nothing, amount("ns|us|\u{b5}s|\u{3bc}s|ms|s")]},
        "share": {"anyOf": [nothing, amount("%")]},
        "time_or_share": {"anyOf": [nothing, amount("ns|us|\u{b5}s|\u{3bc}s|ms|s|%")]},
        "size_or_share": {"anyOf": [nothing, amount("B|kB|MB|GB|TB|KiB|MiB|GiB|TiB|%")]},
        "count_or_time": {"anyOf": [{"$ref": "#/$defs/count"}, {"$ref": "#/$defs/time"}]},
    });
    schema
}

/// An object that has these properties and no others.
fn closed(properties: Map<String, Value>) -> Value {
    json!({"type": "object", "additionalProperties": false, "properties": properties})
}

fn property(setting: &Setting) -> Value {
    let texts = json!({"type": "string"});
    let by_rule = |of_rule: &dyn Fn(&insights::Rule) -> Value| {
        closed(insights::rules().map(|it| (it.id.to_owned(), of_rule(it))).collect())
    };
    let mut property = match setting.kind {
        SettingKind::Boolean => json!({"type": "boolean"}),
        SettingKind::Percent => json!({"type": "number", "minimum": 0, "maximum": 100}),
        SettingKind::Choice(choices) => {
            let names: Vec<&str> = choices().iter().map(|it| it.name).collect();
            json!({"enum": names})
        }
        SettingKind::Template | SettingKind::Memory => texts,
        SettingKind::List(_) | SettingKind::Paths(_) | SettingKind::Folders => {
            json!({"type": "array", "items": texts})
        }
        SettingKind::Mappings => json!({"type": "object", "additionalProperties": texts}),
        SettingKind::Severities => by_rule(&|_| json!({"$ref": "#/$defs/severity"})),
        SettingKind::Thresholds => by_rule(&|rule| {
            let threshold = |it: &insights::Threshold| {
                let value =
                    json!({"type": "number", "default": it.default, "description": it.meaning});
                (it.name.to_owned(), value)
            };
            closed(rule.thresholds.iter().map(threshold).collect())
        }),
    };
    property["description"] = json!(setting.description);
    // TOML has no null.
    if !(setting.default)().is_null() {
        property["default"] = (setting.default)();
    }
    property
}

fn limits() -> Value {
    let named = |limits: Vec<(&str, LimitValue)>| -> Map<String, Value> {
        limits.into_iter().map(|(name, value)| (name.to_owned(), limit(value))).collect()
    };
    let finding = |name: &str| (name.to_owned(), json!({"$ref": "#/$defs/count_or_time"}));
    let mut budget = named(Budget::run_limits().collect());
    let code = closed(named(Budget::code_limits().collect()));
    budget.insert("code".to_owned(), json!({"type": "object", "additionalProperties": code}));
    budget.insert("findings".to_owned(), closed(Budget::finding_limits().map(finding).collect()));
    budget.insert("baseline".to_owned(), closed(named(Budget::baseline_limits().collect())));
    closed(budget)
}

fn limit(value: LimitValue) -> Value {
    let name = match value {
        LimitValue::Path => return json!({"type": "string"}),
        LimitValue::Time => "time",
        LimitValue::Share => "share",
        LimitValue::Amount(Unit::Ns) => "time_or_share",
        LimitValue::Amount(Unit::Bytes) => "size_or_share",
        LimitValue::Count | LimitValue::Amount(_) => "count",
    };
    json!({"$ref": format!("#/$defs/{name}")})
}

/// What the schema says against a text.
fn schema_fault(text: &str) -> Option<String> {
    let schema = schema();
    fault(&schema, &Value::Object(TomlDocument::parse(text).unwrap().value), &schema, "")
}

/// What the readers say against a text.
fn read_fault(text: &str) -> Option<String> {
    let (file, faults) = ProjectFile::parse(text, Path::new("."), |_| false);
    let of_budget = || text.contains("[budget").then(|| file.budget().err()).flatten();
    let first = faults.first().map(|it| it.message.clone());
    first.or_else(|| of_budget().map(|it| it.message))
}

#[test]
fn the_schema_is_that_of_the_code() {
    let path = repository().join("docs/schema/perfline-toml.json");
    expect_file![path].assert_eq(&format!("{:#}\n", schema()));
}

#[test]
fn examples_of_the_documentation_are_valid() {
    for page in ["settings.md", "budgets.md"] {
        let text = std::fs::read_to_string(repository().join("docs").join(page)).unwrap();
        let examples: Vec<&str> = text
            .split("```toml\n")
            .skip(1)
            .filter_map(|it| it.split_once("```").map(|(example, _)| example))
            .collect();
        assert!(!examples.is_empty(), "{page}");
        for example in examples {
            assert_eq!((schema_fault(example), read_fault(example)), (None, None), "{example}");
        }
    }
}

#[test]
fn the_schema_refuses_what_the_readers_refuse() {
    for text in [
        "vew = 1",
        "[view]\nmetric = 'gpu'",
        "[view]\nsteps = 1",
        "[view]\nthreshold = 101",
        "[recordings]\ninclude = 'a'",
        "[diagnostics.severity]\nsync = 'loud'",
        "[diagnostics.severity]\nwait = 'hint'",
        "[rules.sync]\nwarn = 1",
        "[rules.sync]\nwarning = '1'",
        "cache = 1",
        "[budget]\nstep = 3",
        "[budget]\nstep = '5 %'",
        "[budget]\npeak = '5 ms'",
        "[budget]\nsyncs = '5'",
        "[budget]\ngpu = 0",
        "[budget.code.'a.py']\ngpu = 0",
        "[budget.findings]\nsyncs = 0",
        "[budget.baseline]\nstep = '1 ms'",
    ] {
        assert!(schema_fault(text).is_some(), "{text}");
        assert!(read_fault(text).is_some(), "{text}");
    }
}
