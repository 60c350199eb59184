//! The settings, section `perfline`: one table, and reading a section by it.

use std::path::PathBuf;

use ide::{Charge, HintFormat, Period, Severities, Severity, Thresholds, View, ViewMetric};
use loader::{InvalidMemoryLimit, InvalidPattern, MemoryLimit, MinePattern};
use serde_json::{Value, json};

use crate::globs::Glob;

/// A row of the table of settings.
#[derive(Debug)]
pub struct Setting {
    /// Name below `perfline`.
    pub name: &'static str,
    /// What may be there.
    pub kind: SettingKind,
    /// What counts where nothing is set, or null, or what cannot be used.
    pub default: fn() -> Value,
    /// What it does: whole sentences of Markdown, for users of any editor.
    pub description: &'static str,
}

/// What a setting may be.
#[derive(Debug, Clone, Copy)]
pub enum SettingKind {
    /// True or false.
    Boolean,
    /// A number from 0 to 100.
    Percent,
    /// One of several names.
    Choice(fn() -> Vec<SettingChoice>),
    /// `auto`, or text with placeholders ([`ide::placeholders`]) in braces.
    Template,
    /// A list of texts, each of which is this.
    List(&'static str),
    /// `auto`, or an amount of memory ([`loader::MemoryLimit`]). A client takes it from no workspace that its user does not trust.
    Memory,
    /// A list of folders, or null. A client takes it from no workspace that its user does not trust.
    Folders,
    /// A list of files. A client takes it from no workspace that its user does not trust.
    Paths,
    /// An object: the name of a severity, or [`Severities::OFF`], by rule.
    Severities,
    /// An object: numbers by threshold, by rule.
    Thresholds,
}

/// A value of a setting that is one of several.
#[derive(Debug, Clone, Copy)]
pub struct SettingChoice {
    /// What is written in the setting.
    pub name: &'static str,
    /// What it means: a whole sentence.
    pub description: &'static str,
}

macro_rules! settings {
    ($($row:ident: $name:literal, $kind:expr, $default:tt, $description:literal;)*) => {
        $(
            const $row: Setting = Setting {
                name: $name,
                kind: $kind,
                default: || json!($default),
                description: $description,
            };
        )*

        /// Every setting that the server reads. `tests/names` holds `package.json` and the documentation against it.
        pub const SETTINGS: &[Setting] = &[$($row),*];
    };
}

// Name, what it may be, default, description.
settings! {
    INCLUDE: "recordings.include", SettingKind::List("globs"), ["**"],
        "Globs of what may be a recording, by path below the workspace folder: `*`, `?`, `**`, `{a,b}`, `[a-z]`, `[!a-z]`. \
         An empty list turns automatic loading off.";
    EXCLUDE: "recordings.exclude", SettingKind::List("globs"), [],
        "Globs of what is never taken for a recording.";
    CAPTURES: "recordings.captures", SettingKind::Paths, [],
        "Traces of the capture of the CUDA graphs that recordings replay, by path below the workspace folder or absolute. Those \
         beside a recording whose names say so are found without it.";
    SITES: "python.sitePackages", SettingKind::Folders, null,
        "Folders of library code (`site-packages`). `null` finds those of the active Python environment.";
    MINE: "code.mine", SettingKind::List("packages and globs"), [],
        "Library code that counts as yours: names of packages (`vllm`) or patterns of recorded paths \
         (`vllm/model_executor/**`).";
    KEEP: "sources.keep", SettingKind::Boolean, true,
        "Keeps a copy of your source files as they ran when a recording is loaded for the first time, in the cache folder of \
         your account, so that numbers stay on their lines when a file is changed later.";
    CACHE: "cache", SettingKind::Boolean, true,
        "Keeps what was read of a large recording in the cache folder of your account, so that it is shown at once when it is \
         opened again. `perfline cache` shows what is kept, `perfline cache clear` deletes it.";
    MEMORY: "memoryLimit", SettingKind::Memory, "auto",
        "How much memory the server may have while it loads a recording, such as `4G`; a recording that needs more is read in \
         part. `auto` is three quarters of the machine's memory, or of what its control group may have.";
    METRIC: "view.metric", SettingKind::Choice(metrics), "auto",
        "What hints, heat and lists show. Choosing a metric by a command changes it until the session ends.";
    CHARGE: "view.charge", SettingKind::Choice(charges), "own",
        "Which line is charged (CPU and CUDA time).";
    PER: "view.per", SettingKind::Choice(periods), "step",
        "Means per step, or sums over the recording. A recording without steps is shown as a whole.";
    THRESHOLD: "view.threshold", SettingKind::Percent, 0.5,
        "Share of the step, in percent, below which a line shows nothing.";
    HINTS: "hints.enabled", SettingKind::Boolean, true,
        "Shows a hint at the end of each line that costs something.";
    FORMAT: "hints.format", SettingKind::Template, "auto",
        "What a hint says: `auto`, or text with placeholders in braces. What stands in square brackets is left out where \
         it has nothing to say: `{share}: {cuda} gpu[ +{backward} bwd][ · {wait} wait ×{waits}]`.";
    LENSES: "lenses.enabled", SettingKind::Boolean, true,
        "Shows above functions and loops what they cost.";
    DIAGNOSTICS: "diagnostics.enabled", SettingKind::Boolean, true,
        "Lists what rules find among the problems of a file, such as lines that make the CPU wait for the device.";
    SEVERITY: "diagnostics.severity", SettingKind::Severities, {},
        "How much the findings of a rule matter: `{\"sync\": \"hint\"}`; `off`, `hint`, `information`, `warning` or `error`. \
         A rule that is not named decides by itself. A comment `# perfline: ignore[sync]` silences one on its line.";
    RULES: "rules", SettingKind::Thresholds, {},
        "When rules fire, by rule and threshold: `{\"sync\": {\"warning\": 10}}`. `perfline explain RULE` lists the \
         thresholds of a rule.";
}

fn metrics() -> Vec<SettingChoice> {
    let auto = SettingChoice {
        name: "auto",
        description: "Device time where the recording has it, else CPU time, else memory.",
    };
    let metrics =
        ViewMetric::ALL.map(|it| SettingChoice { name: it.name(), description: it.description() });
    [auto].into_iter().chain(metrics).collect()
}

fn charges() -> Vec<SettingChoice> {
    Charge::ALL.map(|it| SettingChoice { name: it.name(), description: it.description() }).into()
}

fn periods() -> Vec<SettingChoice> {
    vec![
        SettingChoice { name: "step", description: "Means per step." },
        SettingChoice { name: "run", description: "Sums over the recording." },
    ]
}

/// What the user chose, as [`SETTINGS`] describes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    pub(crate) include: Vec<Glob>,
    pub(crate) exclude: Vec<Glob>,
    pub(crate) captures: Vec<PathBuf>,
    pub(crate) sites: Option<Vec<PathBuf>>,
    pub(crate) mine: Vec<MinePattern>,
    pub(crate) keeps_sources: bool,
    pub(crate) keeps_ledgers: bool,
    pub(crate) memory_limit: MemoryLimit,
    pub(crate) view: View,
    pub(crate) hints: bool,
    pub(crate) lenses: bool,
    pub(crate) diagnostics: bool,
}

impl Settings {
    /// Reads the section; what is absent or null is as by default. What cannot be used is as by default too, with one
    /// line for each that says what may be there.
    pub(crate) fn read(section: &Value) -> (Self, Vec<String>) {
        let mut reader = SettingsReader { section, faults: Vec::new() };
        let settings = Self {
            include: reader.get(&INCLUDE, globs),
            exclude: reader.get(&EXCLUDE, globs),
            captures: reader.get(&CAPTURES, paths),
            sites: reader.get(&SITES, folders),
            mine: reader.get(&MINE, mine),
            view: View {
                metric: reader.get(&METRIC, |value| parsed(value, ViewMetric::parse)),
                charge: reader.get(&CHARGE, |value| parsed(value, Charge::parse)),
                period: reader.get(&PER, period),
                threshold: reader.get(&THRESHOLD, percent),
                format: reader.get(&FORMAT, |value| parsed(value, HintFormat::parse)),
                severities: reader.get(&SEVERITY, severities),
                thresholds: reader.get(&RULES, thresholds),
                baseline: None,
            },
            hints: reader.get(&HINTS, boolean),
            keeps_sources: reader.get(&KEEP, boolean),
            keeps_ledgers: reader.get(&CACHE, boolean),
            memory_limit: reader.get(&MEMORY, memory_limit),
            lenses: reader.get(&LENSES, boolean),
            diagnostics: reader.get(&DIAGNOSTICS, boolean),
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

/// Settings of editors in groups that the server has settings in: how VS Code draws hints.
const OF_EDITORS: [&str; 1] = ["hints.provider"];

struct SettingsReader<'a> {
    section: &'a Value,
    faults: Vec<String>,
}

impl SettingsReader<'_> {
    fn get<T: Default>(
        &mut self,
        setting: &Setting,
        read: impl Fn(&Value) -> Result<T, String>,
    ) -> T {
        let name = setting.name;
        // `{"view": {"metric": …}}` is what editors send; some users write `{"view.metric": …}`.
        let nested = name.split('.').try_fold(self.section, |value, key| value.get(key));
        let given = nested.or_else(|| self.section.get(name)).filter(|value| !value.is_null());
        match given.map(&read) {
            Some(Ok(value)) => return value,
            Some(Err(fault)) => self.faults.push(format!("perfline.{name}: {fault}")),
            None => {}
        }
        // That every default can be read is tested.
        read(&(setting.default)()).unwrap_or_default()
    }

    /// A setting that is misspelt would silently do nothing.
    fn find_unknown(&mut self) {
        let Some(section) = self.section.as_object() else { return };
        let names: Vec<&str> = SETTINGS.iter().map(|it| it.name).collect();
        let is_known = |key: &str| names.contains(&key) || OF_EDITORS.contains(&key);
        for (group, value) in section.iter().filter(|(_, value)| !value.is_null()) {
            let keys: Vec<String> = match value.as_object() {
                Some(inner) if names.iter().any(|name| name.starts_with(&format!("{group}."))) => {
                    inner.keys().map(|key| format!("{group}.{key}")).collect()
                }
                _ => vec![group.clone()],
            };
            // Extensions keep settings of their own in the same section (`trace`, `server`): only groups that are
            // ours are looked at.
            let is_ours = |key: &String| {
                names.iter().any(|name| name.split('.').next() == key.split('.').next())
            };
            for key in keys.iter().filter(|key| is_ours(key) && !is_known(key)) {
                self.faults.push(format!(
                    "unknown setting `perfline.{key}`, expected one of: {}",
                    names.join(", ")
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

fn paths(value: &Value) -> Result<Vec<PathBuf>, String> {
    Ok(texts(value)?.into_iter().map(PathBuf::from).collect())
}

fn folders(value: &Value) -> Result<Option<Vec<PathBuf>>, String> {
    match value {
        Value::Null => Ok(None),
        _ => Ok(Some(texts(value)?.into_iter().map(PathBuf::from).collect())),
    }
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

fn memory_limit(value: &Value) -> Result<MemoryLimit, String> {
    parsed(value, |text| text.parse().map_err(|error: InvalidMemoryLimit| error.to_string()))
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
        assert_eq!(Settings::default().view, View::default());
    }

    #[test]
    fn every_default_can_be_set() {
        for setting in SETTINGS {
            let section = json!({setting.name: (setting.default)()});
            assert_eq!(Settings::read(&section), (Settings::default(), vec![]), "{section}");
        }
    }

    #[test]
    fn all_settings() {
        let section = json!({
            "recordings": {"include": ["runs/**"], "exclude": ["**/old/**"], "captures": ["capture.json"]},
            "python": {"sitePackages": ["/env"]},
            "code": {"mine": ["vllm"]},
            "memoryLimit": "2 GiB",
            "view": {"metric": "cpu", "charge": "total", "per": "run", "threshold": 2},
            "hints": {"enabled": false, "format": "{share}", "provider": "inlay"},
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
        assert_eq!(settings.captures, [PathBuf::from("capture.json")]);
        assert_eq!(settings.sites, Some(vec![PathBuf::from("/env")]));
        assert_eq!(settings.mine, ["vllm".parse().unwrap()]);
        assert_eq!(settings.memory_limit, MemoryLimit::Bytes(2 << 30));
        let view = &settings.view;
        assert_eq!(
            (view.metric, view.charge, view.period),
            (Some(ViewMetric::Cpu), Charge::Total, Period::Run)
        );
        assert_eq!(view.threshold, 0.02);
        assert_ne!(view.format, HintFormat::Auto);
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
            "memoryLimit": "much",
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
            "perfline.memoryLimit: invalid memory limit `much`, expected `auto` or an amount",
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
