//! What the reader chose.

use std::collections::BTreeMap;

use crate::Severities;

/// When something is worth reporting.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleOptions {
    /// Least share of the step (of 1), or of the recording where it has no steps.
    pub threshold: f64,
    /// What the reader thinks of the rules.
    pub severities: Severities,
    /// What the reader set of the thresholds of the rules.
    pub thresholds: Thresholds,
}

impl Default for RuleOptions {
    /// 0.5 % of the step.
    fn default() -> Self {
        Self {
            threshold: 0.005,
            severities: Severities::default(),
            thresholds: Thresholds::default(),
        }
    }
}

/// What the reader set of the thresholds, by rule and name, in the unit of each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Thresholds(pub(crate) BTreeMap<(&'static str, &'static str), f64>);
