//! TOML as JSON, with the line of each key: settings are read from one kind of value, wherever they come from.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Number, Value};
use toml::de::{DeTable, DeValue};

/// A text of TOML.
#[derive(Debug, Clone, PartialEq)]
pub struct TomlDocument {
    /// What it says. A time, and a number that JSON does not have (`inf`), are texts.
    pub value: Map<String, Value>,
    /// The line of each key, from 1, by the keys that lead to it.
    lines: BTreeMap<Vec<String>, u32>,
}

/// Why a text is no TOML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TomlFault {
    /// The line that is at fault, from 1.
    pub line: u32,
    /// What is wrong with it: one line.
    pub message: String,
}

impl TomlDocument {
    /// Reads a text.
    ///
    /// # Errors
    /// If it is no TOML.
    pub fn parse(text: &str) -> Result<Self, TomlFault> {
        let table = DeTable::parse(text).map_err(|error| TomlFault {
            line: line_at(text, &error.span().unwrap_or_default()),
            message: error.message().replace('\n', "; "),
        })?;
        let mut lines = BTreeMap::new();
        let value = object(text, table.get_ref(), &[], &mut lines);
        Ok(Self { value, lines })
    }

    /// The line of the innermost of `keys` that is there, from 1.
    #[must_use]
    pub fn line_of(&self, keys: &[String]) -> u32 {
        let outwards = (1..=keys.len()).rev();
        outwards.filter_map(|n| self.lines.get(&keys[..n])).next().copied().unwrap_or(1)
    }
}

/// The line, from 1, in which a range of bytes begins.
fn line_at(text: &str, span: &Range<usize>) -> u32 {
    let before = text.as_bytes().get(..span.start).unwrap_or(text.as_bytes());
    let breaks = before.iter().filter(|it| **it == b'\n').count();
    u32::try_from(breaks).unwrap_or(u32::MAX).saturating_add(1)
}

fn object(
    text: &str,
    table: &DeTable<'_>,
    keys: &[String],
    lines: &mut BTreeMap<Vec<String>, u32>,
) -> Map<String, Value> {
    let entries = table.iter().map(|(key, value)| {
        let name = key.get_ref().to_string();
        let keys = [keys, std::slice::from_ref(&name)].concat();
        lines.insert(keys.clone(), line_at(text, &key.span()));
        (name, json(text, value.get_ref(), &keys, lines))
    });
    entries.collect()
}

fn json(
    text: &str,
    value: &DeValue<'_>,
    keys: &[String],
    lines: &mut BTreeMap<Vec<String>, u32>,
) -> Value {
    match value {
        DeValue::String(it) => Value::String(it.to_string()),
        DeValue::Integer(it) => match i64::from_str_radix(it.as_str(), it.radix()) {
            Ok(number) => Value::Number(number.into()),
            Err(_) => Value::String(it.to_string()),
        },
        DeValue::Float(it) => {
            let number = it.as_str().parse().ok().and_then(Number::from_f64);
            number.map_or_else(|| Value::String(it.to_string()), Value::Number)
        }
        DeValue::Boolean(it) => Value::Bool(*it),
        DeValue::Datetime(it) => Value::String(it.to_string()),
        DeValue::Array(items) => {
            Value::Array(items.iter().map(|it| json(text, it.get_ref(), keys, lines)).collect())
        }
        DeValue::Table(table) => Value::Object(object(text, table, keys, lines)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_those_of_json_and_keys_know_their_lines() {
        let text = "memoryLimit = '4G'\nview.threshold = 1.0\n\n[rules.sync]\nwarning = 0x0a\n\
                    [code]\nmine = [\n  'vllm',\n]\n[others]\na = inf\nb = 2026-01-02\nc = true\n";
        let document = TomlDocument::parse(text).unwrap();
        let expected = json!({
            "memoryLimit": "4G",
            "view": {"threshold": 1.0},
            "rules": {"sync": {"warning": 10}},
            "code": {"mine": ["vllm"]},
            "others": {"a": "inf", "b": "2026-01-02", "c": true},
        });
        assert_eq!(Value::Object(document.value.clone()), expected);
        let line = |keys: &[&str]| {
            document.line_of(&keys.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(line(&["memoryLimit"]), 1);
        assert_eq!(line(&["view", "threshold"]), 2);
        assert_eq!(line(&["rules", "sync", "warning"]), 5);
        assert_eq!(line(&["code", "mine", "0"]), 7);
        assert_eq!(line(&["none"]), 1);
    }

    #[test]
    fn what_is_no_toml_is_refused_with_its_line() {
        let fault = TomlDocument::parse("[view]\nmetric = \n").unwrap_err();
        assert_eq!(fault.line, 2);
        assert!(!fault.message.contains('\n'), "{fault:?}");
    }
}
