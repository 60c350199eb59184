//! Findings of two runs.

use ledger::Ns;

use crate::model::Place;

/// A finding of one of the runs, or of both.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FindingDifference {
    /// Id of the rule.
    pub(crate) rule: &'static str,
    /// Its line in the new run, else in the base.
    pub(crate) place: Place,
    /// What it costs in the base and in the new run, per step; `None` where it is not found.
    pub(crate) cost: [Option<Ns>; 2],
}

impl FindingDifference {
    /// Stable name of what became of it.
    pub(crate) fn status(&self) -> &'static str {
        match self.cost {
            [None, _] => "new",
            [_, None] => "gone",
            _ => "same",
        }
    }
}
