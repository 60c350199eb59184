//! From the value of a setting to what it means.

use std::path::PathBuf;

use ide::{Period, Severities, Severity, Thresholds, UnknownName};
use loader::{InvalidMemoryLimit, InvalidPattern, MemoryLimit, MinePattern, SourceMapping};
use serde_json::Value;

use crate::fault::ValueFault;
use crate::globs::Glob;

pub(crate) fn boolean(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("expected true or false, found {value}"))
}

pub(crate) fn percent(value: &Value) -> Result<f64, String> {
    let number = value.as_f64().filter(|it| (0.0..=100.0).contains(it));
    number
        .map(|it| it / 100.0)
        .ok_or_else(|| format!("expected a percentage from 0 to 100, found {value}"))
}

pub(crate) fn period(value: &Value) -> Result<Period, String> {
    match value.as_str() {
        Some("step") => Ok(Period::Mean),
        Some("run") => Ok(Period::Run),
        _ => Err(format!("expected \"step\" or \"run\", found {value}")),
    }
}

pub(crate) fn severities(value: &Value) -> Result<Severities, ValueFault> {
    let by_rule = value.as_object().ok_or_else(|| format!("expected an object, found {value}"))?;
    let names: Vec<&str> =
        [Severities::OFF].into_iter().chain(Severity::ALL.map(Severity::name)).collect();
    let mut severities = Severities::default();
    for (rule, value) in by_rule.iter().filter(|(_, value)| !value.is_null()) {
        let fault = |message| ValueFault { keys: vec![rule.clone()], message };
        if ide::rule(rule).is_none() {
            let rules = ide::rules().map(|it| it.id);
            return Err(fault(UnknownName::new("rule", rule, rules).to_string()));
        }
        let severity = Severity::ALL.into_iter().find(|it| value == it.name());
        if severity.is_none() && value != Severities::OFF {
            let names = names.join(", ");
            return Err(fault(format!(
                "{rule}: unknown severity {value}, expected one of: {names}"
            )));
        }
        severities.set(rule, severity);
    }
    Ok(severities)
}

/// `{"/srv/app": "services/app"}`.
pub(crate) fn mappings(value: &Value) -> Result<Vec<SourceMapping>, ValueFault> {
    let folders = value.as_object().ok_or_else(|| format!("expected an object, found {value}"))?;
    let folders = folders.iter().filter(|(_, value)| !value.is_null());
    let read = |(recorded, folder): (&String, &Value)| {
        let fault = |message| ValueFault { keys: vec![recorded.clone()], message };
        let Some(folder) = folder.as_str() else {
            return Err(fault(format!("{recorded}: expected a string, found {folder}")));
        };
        SourceMapping::new(recorded, folder).map_err(|it| fault(it.to_string()))
    };
    folders.map(read).collect()
}

/// `{"sync": {"warning": 10}}`.
pub(crate) fn thresholds(value: &Value) -> Result<Thresholds, ValueFault> {
    let by_rule = value.as_object().ok_or_else(|| format!("expected an object, found {value}"))?;
    let mut thresholds = Thresholds::default();
    for (rule, value) in by_rule.iter().filter(|(_, value)| !value.is_null()) {
        let by_name = value.as_object().ok_or_else(|| ValueFault {
            keys: vec![rule.clone()],
            message: format!("{rule}: expected an object, found {value}"),
        })?;
        for (name, value) in by_name.iter().filter(|(_, value)| !value.is_null()) {
            let fault = |message| ValueFault { keys: vec![rule.clone(), name.clone()], message };
            let number = value
                .as_f64()
                .ok_or_else(|| fault(format!("{rule}.{name}: expected a number, found {value}")))?;
            thresholds.set(rule, name, number).map_err(fault)?;
        }
    }
    Ok(thresholds)
}

pub(crate) fn parsed<T, E: ToString>(
    value: &Value,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, String> {
    let text = value.as_str().ok_or_else(|| format!("expected a string, found {value}"))?;
    parse(text).map_err(|error| error.to_string())
}

pub(crate) fn texts(value: &Value) -> Result<Vec<String>, String> {
    let items = value.as_array().map(|items| items.iter().map(|it| it.as_str().map(str::to_owned)));
    items
        .and_then(Iterator::collect)
        .ok_or_else(|| format!("expected a list of strings, found {value}"))
}

pub(crate) fn paths(value: &Value) -> Result<Vec<PathBuf>, String> {
    Ok(texts(value)?.into_iter().map(PathBuf::from).collect())
}

pub(crate) fn folders(value: &Value) -> Result<Option<Vec<PathBuf>>, String> {
    match value {
        Value::Null => Ok(None),
        _ => Ok(Some(texts(value)?.into_iter().map(PathBuf::from).collect())),
    }
}

pub(crate) fn globs(value: &Value) -> Result<Vec<Glob>, String> {
    texts(value)?.iter().map(|text| Glob::new(text)).collect()
}

pub(crate) fn mine(value: &Value) -> Result<Vec<MinePattern>, String> {
    texts(value)?
        .iter()
        .map(|text| text.parse().map_err(|error: InvalidPattern| error.to_string()))
        .collect()
}

pub(crate) fn memory_limit(value: &Value) -> Result<MemoryLimit, String> {
    parsed(value, |text| text.parse().map_err(|error: InvalidMemoryLimit| error.to_string()))
}
