//! The settings, section `perfline`. `docs/lsp.md` describes them.

use std::path::PathBuf;

use ide::{Charge, Format, Metric, Period, Severities, Severity, Thresholds, View};
use loader::{InvalidPattern, MinePattern};
use serde_json::Value;

use crate::globs::Glob;

/// What the user chose.
///
/// | name | type | default |
/// |---|---|---|
/// | `recordings.include` | globs | `["**"]` |
/// | `recordings.exclude` | globs | `[]` |
/// | `python.sitePackages` | folders or null | null |
/// | `view.metric` | name | `auto` |
/// | `view.charge` | name | `own` |
/// | `view.per` | `step` or `run` | `step` |
/// | `view.threshold` | percent | 0.5 |
/// | `hints.enabled`, `lenses.enabled`, `diagnostics.enabled` | boolean | true |
/// | `hints.format` | `auto` or template | `auto` |
/// | `diagnostics.severity` | name of a severity, by rule | `{}` |
/// | `rules` | thresholds by name, by rule | `{}` |
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    pub(crate) include: Vec<Glob>,
    pub(crate) exclude: Vec<Glob>,
    pub(crate) sites: Option<Vec<PathBuf>>,
    pub(crate) mine: Vec<MinePattern>,
    pub(crate) view: View,
    pub(crate) hints: bool,
    pub(crate) lenses: bool,
    pub(crate) diagnostics: bool,
}

/// Every setting there is.
const NAMES: [&str; 14] = [
    "recordings.include",
    "recordings.exclude",
    "python.sitePackages",
    "code.mine",
    "view.metric",
    "view.charge",
    "view.per",
    "view.threshold",
    "hints.enabled",
    "hints.format",
    "lenses.enabled",
    "diagnostics.enabled",
    "diagnostics.severity",
    "rules",
];

impl Settings {
    /// Reads the section; what is absent or null is as by default. What cannot be used is as by default too, with one
    /// line for each that says what may be there.
    pub(crate) fn read(section: &Value) -> (Self, Vec<String>) {
        let mut reader = Reader { section, faults: Vec::new() };
        let settings = Self {
            include: reader
                .get("recordings.include", globs)
                .unwrap_or_else(|| Glob::new("**").into_iter().collect()),
            exclude: reader.get("recordings.exclude", globs).unwrap_or_default(),
            sites: reader.get("python.sitePackages", |value| {
                Ok(texts(value)?.into_iter().map(PathBuf::from).collect())
            }),
            mine: reader.get("code.mine", mine).unwrap_or_default(),
            view: View {
                metric: reader.get("view.metric", |value| parsed(value, Metric::parse)).flatten(),
                charge: reader
                    .get("view.charge", |value| parsed(value, Charge::parse))
                    .unwrap_or_default(),
                period: reader.get("view.per", period).unwrap_or_default(),
                threshold: reader
                    .get("view.threshold", percent)
                    .unwrap_or(View::default().threshold),
                format: reader
                    .get("hints.format", |value| parsed(value, Format::parse))
                    .unwrap_or_default(),
                severities: reader.get("diagnostics.severity", severities).unwrap_or_default(),
                thresholds: reader.get("rules", thresholds).unwrap_or_default(),
            },
            hints: reader.get("hints.enabled", boolean).unwrap_or(true),
            lenses: reader.get("lenses.enabled", boolean).unwrap_or(true),
            diagnostics: reader.get("diagnostics.enabled", boolean).unwrap_or(true),
        };
        reader.find_unknown();
        (settings, reader.faults)
    }

    /// Whether a file, by its path below its workspace folder, may be a recording.
    pub(crate) fn wants(&self, path: &str) -> bool {
        self.include.iter().any(|glob| glob.matches(path))
            && !self.exclude.iter().any(|glob| glob.matches(path))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::read(&Value::Null).0
    }
}

struct Reader<'a> {
    section: &'a Value,
    faults: Vec<String>,
}

impl Reader<'_> {
    fn get<T>(&mut self, name: &str, read: impl FnOnce(&Value) -> Result<T, String>) -> Option<T> {
        // `{"view": {"metric": …}}` is what editors send; some users write `{"view.metric": …}`.
        let nested = name.split('.').try_fold(self.section, |value, key| value.get(key));
        let value = nested.or_else(|| self.section.get(name)).filter(|value| !value.is_null())?;
        match read(value) {
            Ok(value) => Some(value),
            Err(fault) => {
                self.faults.push(format!("perfline.{name}: {fault}"));
                None
            }
        }
    }

    /// A setting that is misspelt would silently do nothing.
    fn find_unknown(&mut self) {
        let Some(section) = self.section.as_object() else { return };
        for (group, value) in section.iter().filter(|(_, value)| !value.is_null()) {
            let keys: Vec<String> = match value.as_object() {
                Some(inner) if NAMES.iter().any(|name| name.starts_with(&format!("{group}."))) => {
                    inner.keys().map(|key| format!("{group}.{key}")).collect()
                }
                _ => vec![group.clone()],
            };
            // Extensions keep settings of their own in the same section (`trace`, `server`): only groups that are
            // ours are looked at.
            let is_ours = |key: &String| {
                NAMES.iter().any(|name| name.split('.').next() == key.split('.').next())
            };
            for key in keys.iter().filter(|key| is_ours(key) && !NAMES.contains(&key.as_str())) {
                self.faults.push(format!(
                    "unknown setting `perfline.{key}`, expected one of: {}",
                    NAMES.join(", ")
                ));
            }
        }
    }
}

fn boolean(value: &Value) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("expected true or false, found {value}"))
}

fn percent(value: &Value) -> Result<f64, String> {
    let number = value.as_f64().filter(|it| (0.0..=100.0).contains(it));
    number
        .map(|it| it / 100.0)
        .ok_or_else(|| format!("expected a percentage from 0 to 100, found {value}"))
}

fn period(value: &Value) -> Result<Period, String> {
    match value.as_str() {
        Some("step") => Ok(Period::Mean),
        Some("run") => Ok(Period::Run),
        _ => Err(format!("expected \"step\" or \"run\", found {value}")),
    }
}

fn severities(value: &Value) -> Result<Severities, String> {
    let by_rule = value.as_object().ok_or_else(|| format!("expected an object, found {value}"))?;
    let names: Vec<&str> =
        [Severities::OFF].into_iter().chain(Severity::ALL.map(Severity::name)).collect();
    let mut severities = Severities::default();
    for (rule, value) in by_rule.iter().filter(|(_, value)| !value.is_null()) {
        if ide::rule(rule).is_none() {
            let rules: Vec<&str> = ide::rules().map(|it| it.id).collect();
            return Err(format!("unknown rule `{rule}`, expected one of: {}", rules.join(", ")));
        }
        let severity = Severity::ALL.into_iter().find(|it| value == it.name());
        if severity.is_none() && value != Severities::OFF {
            return Err(format!(
                "{rule}: unknown severity {value}, expected one of: {}",
                names.join(", ")
            ));
        }
        severities.set(rule, severity);
    }
    Ok(severities)
}

/// `{"sync": {"warning": 10}}`.
fn thresholds(value: &Value) -> Result<Thresholds, String> {
    let by_rule = value.as_object().ok_or_else(|| format!("expected an object, found {value}"))?;
    let mut thresholds = Thresholds::default();
    for (rule, value) in by_rule.iter().filter(|(_, value)| !value.is_null()) {
        let by_name = value
            .as_object()
            .ok_or_else(|| format!("{rule}: expected an object, found {value}"))?;
        for (name, value) in by_name.iter().filter(|(_, value)| !value.is_null()) {
            let number = value
                .as_f64()
                .ok_or_else(|| format!("{rule}.{name}: expected a number, found {value}"))?;
            thresholds.set(rule, name, number)?;
        }
    }
    Ok(thresholds)
}

fn parsed<T, E: ToString>(
    value: &Value,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, String> {
    let text = value.as_str().ok_or_else(|| format!("expected a string, found {value}"))?;
    parse(text).map_err(|error| error.to_string())
}

fn texts(value: &Value) -> Result<Vec<String>, String> {
    let items = value.as_array().map(|items| items.iter().map(|it| it.as_str().map(str::to_owned)));
    items
        .and_then(Iterator::collect)
        .ok_or_else(|| format!("expected a list of strings, found {value}"))
}

fn globs(value: &Value) -> Result<Vec<Glob>, String> {
    texts(value)?.iter().map(|text| Glob::new(text)).collect()
}

fn mine(value: &Value) -> Result<Vec<MinePattern>, String> {
    texts(value)?
        .iter()
        .map(|text| text.parse().map_err(|error: InvalidPattern| error.to_string()))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_is_the_default() {
        for section in [json!(null), json!({}), json!({"view": null, "hints": {"format": null}})] {
            assert_eq!(Settings::read(&section), (Settings::default(), vec![]), "{section}");
        }
        assert!(Settings::default().wants("runs/a.json"));
    }

    #[test]
    fn all_settings() {
        let section = json!({
            "recordings": {"include": ["runs/**"], "exclude": ["**/old/**"]},
            "python": {"sitePackages": ["/env"]},
            "code": {"mine": ["vllm"]},
            "view": {"metric": "cpu", "charge": "total", "per": "run", "threshold": 2},
            "hints": {"enabled": false, "format": "{share}"},
            "lenses": {"enabled": false},
            "diagnostics.enabled": false,
            "diagnostics.severity": {"sync": "error"},
            "rules": {"sync": {"warning": 10}},
            "trace": {"server": "off"},
        });
        let (settings, faults) = Settings::read(&section);
        assert_eq!(faults, [""; 0]);
        assert!(
            settings.wants("runs/a.json")
                && !settings.wants("runs/old/a.json")
                && !settings.wants("a.json")
        );
        assert_eq!(settings.sites, Some(vec![PathBuf::from("/env")]));
        assert_eq!(settings.mine, ["vllm".parse().unwrap()]);
        let view = &settings.view;
        assert_eq!(
            (view.metric, view.charge, view.period),
            (Some(Metric::Cpu), Charge::Total, Period::Run)
        );
        assert_eq!(view.threshold, 0.02);
        assert_ne!(view.format, Format::Auto);
        let mut severities = Severities::default();
        severities.set("sync", Some(Severity::Error));
        assert_eq!(view.severities, severities);
        let mut thresholds = Thresholds::default();
        thresholds.set("sync", "warning", 10.0).unwrap();
        assert_eq!(view.thresholds, thresholds);
        assert_eq!((settings.hints, settings.lenses, settings.diagnostics), (false, false, false));
    }

    #[test]
    fn faults_name_the_setting_and_what_may_be_there() {
        let section = json!({
            "recordings": {"include": "runs"},
            "view": {"metric": "gpu", "threshold": "much", "per": 3, "steps": 1},
            "code": {"mine": ["a[b"]},
            "hints": {"enabled": "yes", "format": "{gpu}"},
            "diagnostics": {"severity": {"sync": "loud"}},
        });
        let (settings, faults) = Settings::read(&section);
        assert_eq!(settings, Settings::default());
        let starts = [
            "perfline.recordings.include: expected a list of strings, found \"runs\"",
            "perfline.code.mine: invalid pattern `a[b`: unclosed character class",
            "perfline.view.metric: unknown metric `gpu`, expected one of: auto, cpu",
            "perfline.view.per: expected \"step\" or \"run\", found 3",
            "perfline.view.threshold: expected a percentage from 0 to 100, found \"much\"",
            "perfline.hints.format: unknown placeholder `gpu`, expected one of: share",
            "perfline.diagnostics.severity: sync: unknown severity \"loud\", expected one of: off, hint, information, warning, error",
            "perfline.hints.enabled: expected true or false, found \"yes\"",
            "unknown setting `perfline.view.steps`, expected one of: recordings.include",
        ];
        assert_eq!(faults.len(), starts.len(), "{faults:#?}");
        for (fault, start) in faults.iter().zip(starts) {
            assert!(fault.starts_with(start), "{fault}");
        }
        let (_, faults) = Settings::read(&json!({"diagnostics.severity": {"wait": "off"}}));
        let start = "perfline.diagnostics.severity: unknown rule `wait`, expected one of: sync";
        assert!(faults[0].starts_with(start), "{faults:?}");
        let rows = [
            (json!({"wait": {"warning": 1}}), "unknown rule `wait`, expected one of: sync"),
            (json!({"sync": 3}), "sync: expected an object, found 3"),
            (json!({"sync": {"warning": "5%"}}), "sync.warning: expected a number, found \"5%\""),
        ];
        for (rules, expected) in rows {
            let (_, faults) = Settings::read(&json!({"rules": rules}));
            let expected = format!("perfline.rules: {expected}");
            assert!(faults[0].starts_with(&expected), "{faults:?}");
        }
    }
}
