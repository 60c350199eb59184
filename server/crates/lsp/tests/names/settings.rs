//! What the clients and the documentation say of the settings of the server, from their table.

use serde_json::{Value, json};

use ::settings::{SETTINGS, Setting, SettingKind};

/// Writes the text of a file anew.
pub(crate) type Writer = fn(&str) -> String;

/// Each file that describes the settings.
pub(crate) const FILES: [(&str, Writer); 4] = [
    ("docs/lsp.md", documentation),
    ("editors/vscode/README.md", readme),
    ("editors/vscode/package.json", manifest),
    ("editors/vscode/package.nls.json", manifest_texts),
];

/// The table of settings in the documentation of the server.
fn documentation(text: &str) -> String {
    let before = "| name | type | default | meaning |\n|---|---|---|---|\n";
    let (head, rest) = text.split_once(before).expect("the table of settings");
    let (_, tail) = rest.split_once("\n\n").expect("the end of the table of settings");
    let row = |it: &Setting| {
        format!(
            "| `perfline.{}` | {} | {} | {} |",
            it.name,
            type_name(it),
            default(it),
            meaning(it)
        )
    };
    let rows: Vec<String> = SETTINGS.iter().map(row).collect();
    format!("{head}{before}{}\n\n{tail}", rows.join("\n"))
}

/// The rows of the server's settings in the README of the extension; where they stand is written by hand.
fn readme(text: &str) -> String {
    SETTINGS.iter().fold(text.to_owned(), |text, it| {
        let start = format!("| `perfline.{}` |", it.name);
        let row = format!("{start} {} | {} |", default(it), meaning(it));
        replaced(&text, &start, "\n", &format!("{row}\n"))
    })
}

/// What the manifest of the extension says of the server's settings. In which section and where in it (`order`) is written
/// by hand.
fn manifest(text: &str) -> String {
    let contents: Value = serde_json::from_str(text).expect("the manifest");
    let restricted =
        contents.pointer("/capabilities/untrustedWorkspaces/restrictedConfigurations").unwrap();
    SETTINGS.iter().fold(text.to_owned(), |text, it| {
        let name = format!("perfline.{}", it.name);
        assert_eq!(
            restricted.as_array().unwrap().contains(&json!(name)),
            matches!(
                it.kind,
                SettingKind::Folders
                    | SettingKind::Paths(_)
                    | SettingKind::Mappings
                    | SettingKind::Memory
            ),
            "restrictedConfigurations: {name}"
        );
        let sections = contents.pointer("/contributes/configuration").and_then(Value::as_array);
        let order = sections
            .into_iter()
            .flatten()
            .find_map(|section| section["properties"].get(&name)?.get("order"))
            .unwrap_or_else(|| panic!("the manifest needs `\"{name}\": {{ \"order\": N }}`"));
        let fields: Vec<String> = property(it, order)
            .into_iter()
            .map(|(key, value)| format!("\"{key}\": {value:#}").replace('\n', "\n            "))
            .collect();
        let start = format!("          \"{name}\": {{\n");
        let end = "\n          }";
        let fields = fields.join(",\n            ");
        replaced(&text, &start, end, &format!("{start}            {fields}{end}"))
    })
}

/// The fields of a setting in the manifest, in their order.
fn property(setting: &Setting, order: &Value) -> Vec<(&'static str, Value)> {
    let mut fields = match setting.kind {
        SettingKind::Boolean => vec![("type", json!("boolean"))],
        SettingKind::Percent => {
            vec![("type", json!("number")), ("minimum", json!(0)), ("maximum", json!(100))]
        }
        SettingKind::Choice(choices) => {
            let choices = choices();
            let names: Vec<&str> = choices.iter().map(|it| it.name).collect();
            let texts: Vec<String> =
                names.iter().map(|name| format!("%{}%", choice_key(setting, name))).collect();
            vec![
                ("type", json!("string")),
                ("enum", json!(names)),
                ("enumDescriptions", json!(texts)),
            ]
        }
        SettingKind::Template | SettingKind::Memory => vec![("type", json!("string"))],
        SettingKind::List(_) | SettingKind::Paths(_) => {
            vec![("type", json!("array")), ("items", json!({"type": "string"}))]
        }
        SettingKind::Folders => {
            vec![("type", json!(["array", "null"])), ("items", json!({"type": "string"}))]
        }
        SettingKind::Mappings => {
            vec![("type", json!("object")), ("additionalProperties", json!({"type": "string"}))]
        }
        SettingKind::Severities => vec![
            ("type", json!("object")),
            ("additionalProperties", json!({"enum": severity_names()})),
        ],
        SettingKind::Thresholds => vec![
            ("type", json!("object")),
            (
                "additionalProperties",
                json!({
                    "type": "object",
                    "additionalProperties": {"type": "number", "minimum": 0},
                }),
            ),
        ],
    };
    let scope = match setting.kind {
        SettingKind::Folders
        | SettingKind::Paths(_)
        | SettingKind::Mappings
        | SettingKind::Memory => "machine-overridable",
        _ => "resource",
    };
    fields.extend([
        ("default", (setting.default)()),
        ("scope", json!(scope)),
        ("order", order.clone()),
        ("markdownDescription", json!(format!("%setting.{}%", setting.name))),
    ]);
    fields
}

/// The English texts of the manifest. One that is not used any more is removed by hand.
fn manifest_texts(text: &str) -> String {
    let mut texts = Vec::new();
    for it in SETTINGS {
        let mut description = it.description.to_owned();
        match it.kind {
            SettingKind::Choice(choices) => texts.extend(
                choices()
                    .iter()
                    .map(|choice| (choice_key(it, choice.name), choice.description.to_owned())),
            ),
            SettingKind::Template => description = meaning(it),
            SettingKind::Folders
            | SettingKind::Paths(_)
            | SettingKind::Mappings
            | SettingKind::Memory => {
                description += " Not taken from the workspace in Restricted Mode.";
            }
            _ => {}
        }
        texts.push((format!("setting.{}", it.name), description));
    }
    let mut text = text.to_owned();
    let mut before = "{\n".to_owned();
    for (key, value) in texts {
        let start = format!("  \"{key}\": ");
        let line = format!("{start}{},\n", json!(value));
        text = if text.contains(&start) {
            replaced(&text, &start, ",\n", &line)
        } else {
            // Below that of the setting or choice before it.
            replaced(&text, &before, "", &format!("{before}{line}"))
        };
        before = line;
    }
    text
}

/// The key of the text that describes a choice: `charge.own` for `perfline.view.charge`.
fn choice_key(setting: &Setting, choice: &str) -> String {
    let name = setting.name.rsplit('.').next().unwrap_or_default();
    format!("{name}.{choice}")
}

/// What is allowed, in a few words.
fn type_name(setting: &Setting) -> String {
    let listed = |names: Vec<&str>| {
        let names: Vec<String> = names.iter().map(|it| format!("`{it}`")).collect();
        names.join(", ")
    };
    match setting.kind {
        SettingKind::Boolean => "boolean".to_owned(),
        SettingKind::Percent => "number from 0 to 100".to_owned(),
        SettingKind::Choice(choices) => listed(choices().iter().map(|it| it.name).collect()),
        SettingKind::Template => "`auto` or [template](#templates)".to_owned(),
        SettingKind::List(items) => format!("list of {items}"),
        SettingKind::Memory => "`auto` or an amount (`512M`, `8G`)".to_owned(),
        SettingKind::Folders => "list of folders, or null".to_owned(),
        SettingKind::Paths(_) => "list of paths".to_owned(),
        SettingKind::Mappings => "object: folder by its path as recorded".to_owned(),
        SettingKind::Severities => format!("object: {} by rule", listed(severity_names())),
        SettingKind::Thresholds => {
            "object: numbers by threshold, by [rule](rules/README.md)".to_owned()
        }
    }
}

fn severity_names() -> Vec<&'static str> {
    [ide::Severities::OFF].into_iter().chain(ide::Severity::ALL.map(ide::Severity::name)).collect()
}

/// The default as code.
fn default(setting: &Setting) -> String {
    match (setting.default)() {
        Value::String(text) => format!("`{text}`"),
        value => format!("`{value}`"),
    }
}

/// The description with what there is to choose from.
fn meaning(setting: &Setting) -> String {
    let mut text = setting.description.to_owned();
    match setting.kind {
        SettingKind::Choice(choices) => {
            for choice in choices() {
                text += &format!(" `{}`: {}", choice.name, choice.description);
            }
        }
        SettingKind::Template => {
            let names: Vec<String> =
                ide::placeholders().map(|name| format!("`{{{name}}}`")).collect();
            text += &format!(" Placeholders: {}.", names.join(", "));
        }
        _ => {}
    }
    text
}

/// The text with `new` in place of what begins with `start` and ends with the first `end` after it.
fn replaced(text: &str, start: &str, end: &str, new: &str) -> String {
    let (head, rest) = text.split_once(start).unwrap_or_else(|| {
        panic!("{start:?} is missing: write it where it belongs, with any contents")
    });
    let (_, tail) = rest.split_once(end).unwrap_or_else(|| panic!("{end:?} after {start:?}"));
    format!("{head}{new}{tail}")
}
