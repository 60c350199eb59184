//! What a rule is: its page, its thresholds, and the function that finds.

use ledger::Ledger;
use metrics::Scale;

use crate::{Finding, RuleOptions, Severity};

/// A rule, with everything that its page says. One static value each; `docs/rules/` and `perfline explain` are made of it.
///
/// Texts are Markdown in whole sentences, without a number that is a threshold: those are listed.
#[derive(Debug)]
pub struct Rule {
    /// Stable id: code of diagnostics, key of settings, word in `# perfline: ignore[…]`.
    pub id: &'static str,
    /// What it is about.
    pub area: Area,
    /// A few words.
    pub title: &'static str,
    /// One sentence: what is wrong with what it finds.
    pub summary: &'static str,
    /// How much a finding matters, unless a threshold says more or the reader decides.
    pub severity: Severity,
    /// What makes it fire.
    pub trigger: &'static str,
    /// How its numbers are measured.
    pub measure: &'static str,
    /// What can be set.
    pub thresholds: &'static [Threshold],
    /// What to do about it.
    pub remedy: &'static str,
    /// Python that it finds.
    pub before: &'static str,
    /// The same, done right.
    pub after: &'static str,
    /// Where formulas and ideas are from; empty where they are Perfline's own.
    pub sources: &'static [&'static str],
    /// Its known limitations: what it does not see, or may be wrong about.
    pub limits: &'static str,
    /// What it finds in the books, in any order.
    pub(crate) find: Find,
}

/// Looks at the books and says what it finds, in any order.
pub(crate) type Find = fn(&Ledger, &Scale<'_>, &RuleLimits<'_>) -> Vec<Finding>;

/// What a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Area {
    /// The host waits for the device.
    Waits,
    /// Work of the host.
    Host,
    /// Work of the device.
    Device,
    /// Several devices.
    Distributed,
    /// Device memory.
    Memory,
    /// The recording itself.
    Recording,
}

impl Area {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 6] =
        [Self::Waits, Self::Host, Self::Device, Self::Distributed, Self::Memory, Self::Recording];

    /// A heading.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Waits => "Waiting for the device",
            Self::Host => "Work of the host",
            Self::Device => "Work of the device",
            Self::Distributed => "Several devices",
            Self::Memory => "Device memory",
            Self::Recording => "The recording itself",
        }
    }
}

/// A number that decides, and that the reader may set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threshold {
    /// Its name in settings.
    pub name: &'static str,
    /// What `default` and a setting are given in.
    pub unit: ThresholdUnit,
    /// What it is unless set, in `unit`.
    pub default: f64,
    /// What it decides: part of a sentence.
    pub meaning: &'static str,
}

/// What a threshold is given in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThresholdUnit {
    /// 5 is 5 %.
    Percent,
    /// A number of things, or a factor.
    Count,
    /// Microseconds.
    Micros,
    /// 1024² bytes.
    MiB,
}

impl ThresholdUnit {
    /// What stands behind a number.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Percent => "%",
            Self::Count => "",
            Self::Micros => "µs",
            Self::MiB => "MiB",
        }
    }

    /// What one of it is in the units of the ledger: shares of 1, nanoseconds, bytes.
    fn scale(self) -> f64 {
        match self {
            Self::Percent => 0.01,
            Self::Count => 1.0,
            Self::Micros => 1e3,
            Self::MiB => (1 << 20) as f64,
        }
    }
}

/// Share from which a finding is reported, for the rules that list it.
pub(crate) const MINIMUM: Threshold = Threshold {
    name: "share",
    unit: ThresholdUnit::Percent,
    default: 5.0,
    meaning: "share of the step from which a finding is reported",
};

/// Share from which a finding is a warning, for the rules that list it.
pub(crate) const WARNING: Threshold = Threshold {
    name: "warning",
    unit: ThresholdUnit::Percent,
    default: 5.0,
    meaning: "share of the step from which it is a warning",
};

/// What decides for one rule.
#[derive(Debug)]
pub(crate) struct RuleLimits<'a> {
    rule: &'static Rule,
    options: &'a RuleOptions,
}

impl<'a> RuleLimits<'a> {
    pub(crate) fn new(rule: &'static Rule, options: &'a RuleOptions) -> Self {
        Self { rule, options }
    }

    /// A threshold that the rule lists, in the units of the ledger: a share of 1, nanoseconds, bytes, or a number.
    pub(crate) fn get(&self, threshold: &Threshold) -> f64 {
        let set = self.options.thresholds.0.get(&(self.rule.id, threshold.name));
        set.copied().unwrap_or(threshold.default) * threshold.unit.scale()
    }

    /// Least share (of 1) of the step that is worth reporting, of all rules.
    pub(crate) fn least(&self) -> f64 {
        self.options.threshold
    }

    /// How much a finding with this share (of 1) matters: it is a warning from a threshold of the rule.
    pub(crate) fn severity(&self, warning: &Threshold, share: f64) -> Severity {
        if self.get(warning) <= share { Severity::Warning } else { self.rule.severity }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Thresholds;

    #[test]
    fn pages_are_complete() {
        let mut ids = std::collections::BTreeSet::new();
        for rule in crate::rules() {
            assert!(ids.insert(rule.id), "{} is there twice", rule.id);
            let sentences = [rule.summary, rule.trigger, rule.measure, rule.remedy, rule.limits];
            for text in sentences {
                assert!(text.ends_with('.'), "{}: {text:?}", rule.id);
            }
            for text in [rule.title, rule.before, rule.after] {
                assert!(!text.is_empty() && text.trim_end() == text, "{}: {text:?}", rule.id);
            }
            for it in rule.thresholds {
                assert!(it.default.is_finite() && !it.meaning.ends_with('.'), "{}", rule.id);
            }
        }
    }

    #[test]
    fn the_reader_goes_before_the_default() {
        let mut options = RuleOptions::default();
        let rule = crate::rule("sync").unwrap();
        let share = |options: &RuleOptions| RuleLimits::new(rule, options).get(&WARNING);
        assert_eq!(share(&options), 0.05);
        options.thresholds.set("sync", "warning", 50.0).unwrap();
        assert_eq!(share(&options), 0.5);
        assert_eq!(RuleLimits::new(rule, &options).severity(&WARNING, 0.4), Severity::Information);
    }

    #[test]
    fn what_cannot_be_set_says_what_can() {
        let mut thresholds = Thresholds::default();
        let rows = [
            ("wait", "warning", 1.0, "unknown rule `wait`, expected one of: sync, "),
            ("sync", "loud", 1.0, "unknown threshold `loud` of sync, expected one of: warning"),
            ("sync", "warning", -1.0, "sync.warning: -1 is not a finite number of 0 or more"),
        ];
        for (rule, name, value, expected) in rows {
            let error = thresholds.set(rule, name, value).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
        assert_eq!(thresholds, Thresholds::default());
    }
}
