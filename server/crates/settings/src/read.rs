//! From what an editor and a project say to settings.

use std::path::PathBuf;

use ide::{Charge, HintFormat, View, ViewMetric};
use loader::{MemoryLimit, MinePattern, SourceMapping};
use serde_json::Value;

use crate::fault::{SettingFault, ValueFault};
use crate::globs::Glob;
use crate::table::{
    CACHE, CAPTURES, CHARGE, DIAGNOSTICS, EXCLUDE, FORMAT, HINTS, INCLUDE, KEEP, LENSES,
    LINES_FROM, MAP, MEMORY, METRIC, MINE, PER, RULES, SETTINGS, SEVERITY, SITES, STEP_RANGES,
    Setting, THRESHOLD,
};
use crate::values::{
    boolean, folders, globs, mappings, memory_limit, mine, parsed, paths, percent, period,
    severities, texts, thresholds,
};

/// What the user chose, as [`crate::SETTINGS`] describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    include: Vec<Glob>,
    exclude: Vec<Glob>,
    /// Traces of the capture of CUDA graphs.
    pub captures: Vec<PathBuf>,
    /// Traces of the same programs without CUDA graphs.
    pub lines_from: Vec<PathBuf>,
    /// What the ranges are called that are steps.
    pub step_ranges: Vec<String>,
    /// Folders of library code; `None` finds those of the active Python environment.
    pub sites: Option<Vec<PathBuf>>,
    /// Library code that counts as the user's.
    pub mine: Vec<MinePattern>,
    /// Where folders of the recording are.
    pub mappings: Vec<SourceMapping>,
    /// Whether the texts that ran are kept.
    pub keeps_sources: bool,
    /// Whether the ledgers of recordings are kept.
    pub keeps_ledgers: bool,
    /// The memory that loading may take.
    pub memory_limit: MemoryLimit,
    /// What is shown, and which findings there are.
    pub view: View,
    /// Whether lines have hints.
    pub hints: bool,
    /// Whether functions and loops have lenses.
    pub lenses: bool,
    /// Whether findings are listed among the problems of a file.
    pub diagnostics: bool,
}

/// What the values of an editor's section are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionValues {
    /// Those of all settings, set or not: what is the default says nothing.
    All,
    /// Those that somebody set.
    Set,
}

impl Settings {
    /// Reads a section. What is absent is as `below` says, whose values can all be used; what cannot be used is so too, with a
    /// fault for each. What is null or the default is as well, unless the section has what was set alone.
    pub(crate) fn read(
        section: &Value,
        below: &Value,
        values: SectionValues,
    ) -> (Self, Vec<SettingFault>) {
        let mut reader = SettingsReader { section, below, values, faults: Vec::new() };
        let settings = Self {
            include: reader.get(&INCLUDE, globs),
            exclude: reader.get(&EXCLUDE, globs),
            captures: reader.get(&CAPTURES, paths),
            lines_from: reader.get(&LINES_FROM, paths),
            step_ranges: reader.get(&STEP_RANGES, texts),
            sites: reader.get(&SITES, folders),
            mine: reader.get(&MINE, mine),
            mappings: reader.get(&MAP, mappings),
            view: View {
                metric: reader.get(&METRIC, |value| parsed(value, ViewMetric::parse)),
                charge: reader.get(&CHARGE, |value| parsed(value, Charge::parse)),
                period: reader.get(&PER, period),
                threshold: reader.get(&THRESHOLD, percent),
                format: reader.get(&FORMAT, |value| parsed(value, HintFormat::parse)),
                severities: reader.get(&SEVERITY, severities),
                thresholds: reader.get(&RULES, thresholds),
                baseline: None,
                part: None,
                so_far: None,
            },
            hints: reader.get(&HINTS, boolean),
            keeps_sources: reader.get(&KEEP, boolean),
            keeps_ledgers: reader.get(&CACHE, boolean),
            memory_limit: reader.get(&MEMORY, memory_limit),
            lenses: reader.get(&LENSES, boolean),
            diagnostics: reader.get(&DIAGNOSTICS, boolean),
        };
        (settings, reader.faults)
    }

    /// Whether what is decided while a recording is loaded is the same: which files are found, which lines are the user's,
    /// what graphs launch, and which ranges are steps.
    #[must_use]
    pub fn reads_as(&self, other: &Self) -> bool {
        let Self { sites, mine, mappings, captures, lines_from, step_ranges, .. } = self;
        (sites, mine, mappings) == (&other.sites, &other.mine, &other.mappings)
            && (captures, lines_from, step_ranges)
                == (&other.captures, &other.lines_from, &other.step_ranges)
    }

    /// Whether a file, by its path below the folder of the project and with `/`, may be a recording.
    #[must_use]
    pub fn wants(&self, path: &str) -> bool {
        self.include.iter().any(|glob| glob.matches(path))
            && !self.exclude.iter().any(|glob| glob.matches(path))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::read(&Value::Null, &Value::Null, SectionValues::All).0
    }
}

struct SettingsReader<'a> {
    section: &'a Value,
    below: &'a Value,
    values: SectionValues,
    faults: Vec<SettingFault>,
}

impl SettingsReader<'_> {
    fn get<T: Default, E: Into<ValueFault>>(
        &mut self,
        setting: &Setting,
        read: impl Fn(&Value) -> Result<T, E>,
    ) -> T {
        let default = (setting.default)();
        let mut value = given(self.below, setting).map(|(_, it)| it.clone());
        let is_said = |it: &Value| self.values == SectionValues::Set || *it != default;
        if self.values == SectionValues::Set && is_null(self.section, setting) {
            value = None;
        }
        if let Some((keys, it)) = given(self.section, setting).filter(|(_, it)| is_said(it)) {
            match read(it) {
                Ok(_) => value = Some(merged(value, it)),
                Err(fault) => {
                    let fault: ValueFault = fault.into();
                    let keys = [keys, fault.keys].concat();
                    self.faults.push(SettingFault::of_value(setting.name, keys, fault.message));
                }
            }
        }
        // That every default can be read is tested.
        read(&value.unwrap_or(default)).unwrap_or_default()
    }
}

/// Whether a section says null of a setting, which is the default of some.
fn is_null(section: &Value, setting: &Setting) -> bool {
    let nested = setting.name.split('.').try_fold(section, |value, key| value.get(key));
    nested.or_else(|| section.get(setting.name)).is_some_and(Value::is_null)
}

/// What a section says of a setting, with the keys that lead to it: `{"view": {"metric": …}}` is what editors send; some users
/// write `{"view.metric": …}`.
pub(crate) fn given<'a>(section: &'a Value, setting: &Setting) -> Option<(Vec<String>, &'a Value)> {
    let keys: Vec<String> = setting.name.split('.').map(str::to_owned).collect();
    let nested = keys.iter().try_fold(section, |value, key| value.get(key));
    let flat = || Some((vec![setting.name.to_owned()], section.get(setting.name)?));
    nested.map(|value| (keys, value)).or_else(flat).filter(|(_, value)| !value.is_null())
}

/// What goes before, with what it leaves open of an object: rules that one of two names alone count.
fn merged(below: Option<Value>, above: &Value) -> Value {
    match (below, above) {
        (Some(Value::Object(mut entries)), Value::Object(above)) => {
            for (key, value) in above {
                let below = entries.remove(key);
                entries.insert(key.clone(), merged(below, value));
            }
            Value::Object(entries)
        }
        (_, above) => above.clone(),
    }
}

/// Names that no setting has, nor one of `others`: a setting that is misspelt would silently do nothing.
///
/// Extensions keep settings of their own in the same section (`trace`, `server`): only groups that are ours are looked at.
pub(crate) fn unknown(section: &Value, others: &[&str]) -> Vec<SettingFault> {
    let mut faults = Vec::new();
    for (group, value) in section.as_object().into_iter().flatten().filter(|it| !it.1.is_null()) {
        let within = format!("{group}.");
        let names: Vec<&str> = SETTINGS.iter().map(|it| it.name).collect();
        let of_group: Vec<&str> =
            names.iter().copied().filter(|it| it.starts_with(&within)).collect();
        let is_known = |name: &str| names.contains(&name) || others.contains(&name);
        match value.as_object() {
            Some(inner) if !of_group.is_empty() => {
                let keys = inner.keys().filter(|key| !is_known(&format!("{within}{key}")));
                let fault = |key: &String| {
                    SettingFault::unknown(vec![group.clone(), key.clone()], &of_group)
                };
                faults.extend(keys.map(fault));
            }
            _ => {
                let first = group.split('.').next().unwrap_or_default();
                let is_ours = names.iter().any(|it| it.split('.').next() == Some(first));
                if is_ours && !is_known(group) {
                    let within = format!("{first}.");
                    let of_group = names.iter().copied().filter(|it| it.starts_with(&within));
                    let expected: Vec<&str> = of_group.collect();
                    faults.push(SettingFault::unknown(vec![group.clone()], &expected));
                }
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use ide::{HintFormat, Period, Severities, Severity, Thresholds};

    use super::*;

    /// What an editor alone says, with the faults as editors show them.
    fn read(section: &Value) -> (Settings, Vec<String>) {
        let (settings, mut faults) = Settings::read(section, &Value::Null, SectionValues::All);
        faults.extend(unknown(section, &["hints.provider"]));
        (settings, faults.iter().map(|it| it.text("perfline.")).collect())
    }

    #[test]
    fn nothing_is_the_default() {
        for section in [json!(null), json!({}), json!({"view": null, "hints": {"format": null}})] {
            assert_eq!(read(&section), (Settings::default(), vec![]), "{section}");
        }
        assert!(Settings::default().wants("runs/a.json"));
        assert_eq!(Settings::default().view, View::default());
    }

    #[test]
    fn every_default_can_be_set() {
        for setting in SETTINGS {
            let section = json!({setting.name: (setting.default)()});
            assert_eq!(read(&section), (Settings::default(), vec![]), "{section}");
        }
    }

    #[test]
    fn all_settings() {
        let section = json!({
            "recordings": {"include": ["runs/**"], "exclude": ["**/old/**"], "captures": ["capture.json"], "linesFrom": ["eager.json"]},
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
        let (settings, faults) = read(&section);
        assert_eq!(faults, [""; 0]);
        assert!(
            settings.wants("runs/a.json")
                && !settings.wants("runs/old/a.json")
                && !settings.wants("a.json")
        );
        assert_eq!(settings.captures, [PathBuf::from("capture.json")]);
        assert_eq!(settings.lines_from, [PathBuf::from("eager.json")]);
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
        let (settings, faults) = read(&section);
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
            "unknown setting `perfline.view.steps`, expected one of: view.metric, view.charge, view.per, view.threshold",
        ];
        assert_eq!(faults.len(), starts.len(), "{faults:#?}");
        for (fault, start) in faults.iter().zip(starts) {
            assert!(fault.starts_with(start), "{fault}");
        }
        let (_, faults) = read(&json!({"diagnostics.severity": {"wait": "off"}}));
        let start = "perfline.diagnostics.severity: unknown rule `wait`, expected one of: sync";
        assert!(faults[0].starts_with(start), "{faults:?}");
        let rows = [
            (json!({"wait": {"warning": 1}}), "unknown rule `wait`, expected one of: sync"),
            (json!({"sync": 3}), "sync: expected an object, found 3"),
            (json!({"sync": {"warning": "5%"}}), "sync.warning: expected a number, found \"5%\""),
        ];
        for (rules, expected) in rows {
            let (_, faults) = read(&json!({"rules": rules}));
            let expected = format!("perfline.rules: {expected}");
            assert!(faults[0].starts_with(&expected), "{faults:?}");
        }
    }

    #[test]
    fn what_goes_before_leaves_the_rest() {
        let below = json!({"view.metric": "cuda", "view.threshold": 2, "rules": {"sync": {"warning": 10}, "gc-pause": {"warning": 5}}});
        // A client that sends defaults, and one threshold.
        let above = json!({
            "view": {"metric": "auto", "threshold": 3, "charge": "own"},
            "rules": {"sync": {"warning": 20}},
        });
        let (settings, faults) = Settings::read(&above, &below, SectionValues::All);
        assert_eq!(faults, []);
        assert_eq!(settings.view.metric, Some(ViewMetric::Cuda));
        assert_eq!(settings.view.threshold, 0.03);
        let mut thresholds = Thresholds::default();
        thresholds.set("sync", "warning", 20.0).unwrap();
        thresholds.set("gc-pause", "warning", 5.0).unwrap();
        assert_eq!(settings.view.thresholds, thresholds);
        // What cannot be used leaves it, too.
        let (settings, faults) =
            Settings::read(&json!({"view": {"metric": "gpu"}}), &below, SectionValues::All);
        assert_eq!((settings.view.metric, faults.len()), (Some(ViewMetric::Cuda), 1));
        // A client that sends what was set alone sets defaults back.
        let below =
            json!({"view.metric": "cuda", "view.threshold": 2, "python.sitePackages": ["/env"]});
        let above = json!({"view": {"metric": "auto"}, "python": {"sitePackages": null}});
        let (settings, faults) = Settings::read(&above, &below, SectionValues::Set);
        assert_eq!(faults, []);
        assert_eq!((settings.view.metric, settings.view.threshold), (None, 0.02));
        assert_eq!(settings.sites, None);
    }
}
