//! Thresholds that the rules over several ranks share.

use crate::rule::{Threshold, ThresholdUnit};

/// Share of the step from which a finding is a warning.
pub(super) const WARNING: Threshold = Threshold {
    name: "warning",
    unit: ThresholdUnit::Percent,
    default: 10.0,
    meaning: "share of the step from which it is a warning",
};
