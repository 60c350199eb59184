//! The `perfline.toml` of a project.

use std::path::{Component, Path};

use budget::{Budget, BudgetError};
use ide::UnknownName;
use loader::MemoryLimit;
use serde_json::{Map, Value};

use crate::document::TomlDocument;
use crate::fault::SettingFault;
use crate::read::{SectionValues, Settings, given, unknown};
use crate::table::{SETTINGS, Setting, SettingKind};

/// The table of limits, which the crate `budget` reads.
const BUDGET: &str = "budget";

/// Settings of editors in groups that have settings of Perfline: how VS Code draws hints.
const OF_EDITORS: [&str; 3] = ["hints.provider", "hints.place", "hints.column"];

/// A `perfline.toml`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProjectFile {
    text: String,
    /// What it says of settings, by name, as far as that can be used.
    values: Value,
}

/// What is wrong with a `perfline.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFault {
    /// The line that is at fault, from 1.
    pub line: u32,
    /// What is wrong with it, and what is expected: one line.
    pub message: String,
}

impl ProjectFile {
    /// Reads the text of the file in `folder`. What cannot be used counts as not said, with a fault for each, in the order of
    /// lines; limits are looked at by [`Self::budget`] alone.
    ///
    /// The file may come with the code of a stranger. So it names no path outside of its folder, by itself or by a link, which
    /// `leads_out` says of a path below the folder; and it allows no more memory than is allowed without it.
    #[must_use]
    pub fn parse(
        text: &str,
        folder: &Path,
        leads_out: impl Fn(&Path) -> bool,
    ) -> (Self, Vec<ProjectFault>) {
        let document = match TomlDocument::parse(text) {
            Ok(document) => document,
            Err(fault) => {
                let fault = ProjectFault { line: fault.line, message: fault.message };
                return (Self { text: text.to_owned(), values: Value::Null }, vec![fault]);
            }
        };
        let mut faults = Vec::new();
        let mut fault = |keys: &[String], message: String| {
            faults.push(ProjectFault { line: document.line_of(keys), message });
        };
        for key in document.value.keys().filter(|key| !is_known(key)) {
            let unknown = UnknownName::new("setting", key, groups());
            fault(std::slice::from_ref(key), unknown.to_string());
        }
        let section = Value::Object(document.value.clone());
        let (_, mut wrong) = Settings::read(&section, &Value::Null, SectionValues::All);
        wrong.extend(unknown(&section, &[]));
        wrong.iter().for_each(|it| fault(&it.keys, it.text("")));
        let mut values = Map::new();
        for setting in SETTINGS {
            let Some((keys, value)) = given(&section, setting) else { continue };
            if wrong.iter().any(|it| it.keys.starts_with(&keys)) {
                continue;
            }
            match confined(setting, value, folder, &leads_out) {
                Ok(Some(value)) => drop(values.insert(setting.name.to_owned(), value)),
                Ok(None) => {}
                Err(message) => fault(&keys, format!("{}: {message}", setting.name)),
            }
        }
        faults.sort_by_key(|it| it.line);
        (Self { text: text.to_owned(), values: Value::Object(values) }, faults)
    }

    /// The settings where nothing else says any.
    #[must_use]
    pub fn settings(&self) -> Settings {
        Settings::read(&Value::Null, &self.values, SectionValues::All).0
    }

    /// The settings where an editor says `section`, which goes before the file. A value in it that is the default counts as not
    /// set if the editor sends all settings, set or not. The faults are those of the section.
    #[must_use]
    pub fn settings_below(
        &self,
        section: &Value,
        values: SectionValues,
    ) -> (Settings, Vec<SettingFault>) {
        let (settings, mut faults) = Settings::read(section, &self.values, values);
        faults.extend(unknown(section, &OF_EDITORS));
        (settings, faults)
    }

    /// The limits that the file states.
    ///
    /// # Errors
    /// If it states none, or what it states is no budget.
    pub fn budget(&self) -> Result<Budget, BudgetError> {
        Budget::parse(&self.text)
    }
}

/// What the names of settings begin with, and the table of limits.
fn groups() -> Vec<&'static str> {
    let mut groups: Vec<&str> = Vec::new();
    for group in SETTINGS.iter().filter_map(|it| it.name.split('.').next()) {
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups.push(BUDGET);
    groups
}

/// Whether a key of the file is looked at further, by the reader of settings or by that of budgets.
fn is_known(key: &str) -> bool {
    let group = key.split('.').next().unwrap_or_default();
    groups().contains(&group)
}

/// What counts of the value of a setting that may come from a stranger; `None` if nothing does.
fn confined(
    setting: &Setting,
    value: &Value,
    folder: &Path,
    leads_out: impl Fn(&Path) -> bool,
) -> Result<Option<Value>, String> {
    let option = match setting.kind {
        SettingKind::Folders => "--site",
        SettingKind::Paths(option) => option,
        SettingKind::Mappings => "--map",
        SettingKind::Memory => {
            let limit = value.as_str().and_then(|it| it.parse::<MemoryLimit>().ok());
            let is_lower = limit.is_some_and(|it| it.bytes() < MemoryLimit::Auto.bytes());
            return Ok(is_lower.then(|| value.clone()));
        }
        _ => return Ok(Some(value.clone())),
    };
    let below = |value: &Value| {
        let text = value.as_str().unwrap_or_default();
        let path = Path::new(text);
        let is_plain =
            path.components().all(|it| matches!(it, Component::Normal(_) | Component::CurDir));
        if !is_plain || leads_out(path) {
            return Err(format!(
                "`{text}` is not below the folder of this file, and only such paths are taken from it; name it with {option}, or in the settings of your editor"
            ));
        }
        Ok(Value::String(folder.join(path).to_string_lossy().into_owned()))
    };
    let confined = match value {
        Value::Object(by_name) => {
            let entries = by_name.iter().map(|(name, it)| Ok((name.clone(), below(it)?)));
            Value::Object(entries.collect::<Result<_, String>>()?)
        }
        _ => {
            let items = value.as_array().into_iter().flatten().map(below);
            Value::Array(items.collect::<Result<_, String>>()?)
        }
    };
    Ok(Some(confined))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use ide::{Severities, ViewMetric};
    use serde_json::json;

    use super::*;

    /// The settings of a file in `/project` in which `link` leads out, and its faults as `line: message`.
    fn read(text: &str) -> (Settings, Vec<String>) {
        let leads_out = |path: &Path| path.starts_with("link");
        let (file, faults) = ProjectFile::parse(text, Path::new("/project"), leads_out);
        let faults = faults.iter().map(|it| format!("{}: {}", it.line, it.message));
        (file.settings(), faults.collect())
    }

    #[test]
    fn all_that_a_file_may_say() {
        let (settings, faults) = read(
            r#"
            memoryLimit = "1M"
            cache = false
            [view]
            metric = "cuda"
            threshold = 1.0
            [recordings]
            exclude = ["old/**"]
            captures = ["runs/capture.json"]
            linesFrom = ["runs/eager.json"]
            [sources.map]
            "/srv/app" = "services/app"
            [python]
            sitePackages = ["env/site-packages"]
            [rules.sync]
            warning = 10
            [diagnostics.severity]
            sync = "off"
            [budget]
            step = "25 ms"
        "#,
        );
        assert_eq!(faults, [""; 0]);
        assert_eq!(settings.memory_limit, MemoryLimit::Bytes(1 << 20));
        assert_eq!(settings.view.metric, Some(ViewMetric::Cuda));
        assert_eq!((settings.keeps_ledgers, settings.view.threshold), (false, 0.01));
        assert!(settings.wants("runs/a.json") && !settings.wants("old/a.json"));
        assert_eq!(settings.captures, [PathBuf::from("/project/runs/capture.json")]);
        assert_eq!(settings.lines_from, [PathBuf::from("/project/runs/eager.json")]);
        let mapping = "/srv/app=/project/services/app".parse().unwrap();
        assert_eq!(settings.mappings, [mapping]);
        assert_eq!(settings.sites, Some(vec![PathBuf::from("/project/env/site-packages")]));
        let mut severities = Severities::default();
        severities.set("sync", None);
        assert_eq!(settings.view.severities, severities);
    }

    #[test]
    fn faults_have_their_lines_and_the_rest_counts() {
        let (settings, faults) = read(
            "memoryLimit = 3\n[vew]\nmetric = 'cpu'\n[view]\nmetric = 'gpu'\nthreshold = 1\nsteps = 1\n\
             [diagnostics.severity]\nsync = 'hint'\ngc-pause = 'loud'\n[rules.sync]\nwarning = 10\nerror = 1\n\
             [hints]\nprovider = 'inlay'\n",
        );
        let starts = [
            "1: memoryLimit: expected a string, found 3",
            "2: unknown setting `vew`, expected one of: recordings, python, code, sources, cache, memoryLimit, view, hints, lenses, \
             diagnostics, rules, budget",
            "5: view.metric: unknown metric `gpu`, expected one of: auto, cpu, cuda",
            "7: unknown setting `view.steps`, expected one of: view.metric, view.charge, view.per, view.threshold",
            "10: diagnostics.severity: gc-pause: unknown severity \"loud\", expected one of: off, hint",
            "13: rules: ",
            "15: unknown setting `hints.provider`, expected one of: hints.enabled, hints.format",
        ];
        assert_eq!(faults.len(), starts.len(), "{faults:#?}");
        for (fault, start) in faults.iter().zip(starts) {
            assert!(fault.starts_with(start), "{fault}");
        }
        let rest =
            Settings::read(&json!({"view.threshold": 1}), &Value::Null, SectionValues::All).0;
        assert_eq!(settings, rest);
        let (settings, faults) = read("cache = false\n[view\n");
        assert_eq!((settings, faults.len()), (Settings::default(), 1));
        assert!(faults[0].starts_with("2: "), "{faults:?}");
    }

    #[test]
    fn a_file_widens_nothing() {
        for path in ["/env", "../env", "a/../../env", "link/env"] {
            for (name, option) in [
                ("python.sitePackages", "--site"),
                ("recordings.captures", "--capture"),
                ("recordings.linesFrom", "--lines-from"),
            ] {
                let (settings, faults) = read(&format!("\n{name} = ['a', '{path}']\n"));
                let expected = format!(
                    "2: {name}: `{path}` is not below the folder of this file, and only such paths are taken from it; name it with {option}"
                );
                assert!(faults[0].starts_with(&expected), "{faults:?}");
                assert_eq!(settings, Settings::default());
            }
        }
        let (settings, faults) = read("memoryLimit = '1000T'\n");
        assert_eq!((settings, faults), (Settings::default(), vec![]));
    }

    #[test]
    fn the_budget_is_read_apart() {
        let file = |text| ProjectFile::parse(text, Path::new(""), |_| false);
        let (with, faults) = file("[view]\nper = 'run'\n[budget]\nstep = 3\n");
        assert_eq!(faults, []);
        assert_eq!(with.budget().unwrap_err().line, 4);
        let (without, _) = file("[view]\nper = 'run'\n");
        let error = without.budget().unwrap_err().to_string();
        assert!(error.starts_with("line 1: there is no table [budget]"), "{error}");
    }
}
