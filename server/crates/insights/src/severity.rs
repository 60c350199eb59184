//! How much findings matter, by the rules and by the reader.

use std::collections::BTreeMap;

use ledger::{Bytes, Ns};

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Shown where it does not disturb.
    Hint,
    /// Worth knowing.
    Information,
    /// Worth changing: 5 % of the step or more, and not next to nothing ([`Self::MIN_WARNING_TIME`], [`Self::MIN_WARNING_BYTES`]).
    Warning,
    /// Not to be left like this. No rule says so by itself.
    Error,
}

impl Severity {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Hint, Self::Information, Self::Warning, Self::Error];

    /// Time in the mean step (in the recording, where it has no steps) below which nothing is a warning, however large its
    /// share: about ten launches of kernels, and what two runs of one step differ by anyway.
    pub const MIN_WARNING_TIME: Ns = Ns(50_000);

    /// Device memory below which nothing is a warning, however large its share: PyTorch's allocator reserves as much at
    /// once (`kLargeBuffer` in `c10/cuda/CUDACachingAllocator.cpp`).
    pub const MIN_WARNING_BYTES: Bytes = Bytes(20 << 20);

    /// At most [`Self::Information`] where `is_small`.
    pub(crate) fn capped(self, is_small: bool) -> Self {
        if is_small { self.min(Self::Information) } else { self }
    }

    /// The severity of what takes `time` nanoseconds: no warning where that is less than [`Self::MIN_WARNING_TIME`].
    pub(crate) fn of_time(self, time: f64) -> Self {
        self.capped(time < Self::MIN_WARNING_TIME.as_f64())
    }

    /// Stable name, as in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hint => "hint",
            Self::Information => "information",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What the reader thinks of the rules, by their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Severities(BTreeMap<String, Option<Severity>>);

impl Severities {
    /// What `off` is called.
    pub const OFF: &str = "off";

    /// All findings of a rule matter as much as this; with `None` they are not reported.
    pub fn set(&mut self, rule: &str, severity: Option<Severity>) {
        self.0.insert(rule.to_owned(), severity);
    }

    /// Whether the findings of a rule are not reported.
    #[must_use]
    pub fn is_off(&self, rule: &str) -> bool {
        self.0.get(rule) == Some(&None)
    }

    /// How much a finding of a rule matters of which the rule says `severity`.
    #[must_use]
    pub fn of(&self, rule: &str, severity: Severity) -> Severity {
        self.0.get(rule).copied().flatten().unwrap_or(severity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reader_goes_before_the_rule() {
        let mut severities = Severities::default();
        assert_eq!(severities.of("sync", Severity::Warning), Severity::Warning);
        severities.set("sync", Some(Severity::Hint));
        assert_eq!(severities.of("sync", Severity::Warning), Severity::Hint);
        assert_eq!(severities.of("other", Severity::Warning), Severity::Warning);
        assert!(!severities.is_off("sync"));
        severities.set("sync", None);
        assert!(severities.is_off("sync") && !severities.is_off("other"));
    }
}
