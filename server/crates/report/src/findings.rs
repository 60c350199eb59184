//! What the rules found.

use ledger::Ledger;

use crate::model::ReportedFinding;
use crate::recording::Recording;
use crate::suppression::Suppression;

/// The findings of a kind in the books of a recording that no comment suppresses, the costliest first.
pub(crate) fn findings(
    recording: &Recording<'_>,
    ledger: &Ledger,
    options: &insights::RuleOptions,
    suppression: &Suppression<'_>,
    is_wanted: impl Fn(&insights::Finding) -> bool,
) -> Vec<ReportedFinding> {
    let found = insights::find(ledger, options);
    let shown = found.iter().filter(|it| is_wanted(it) && !suppression.covers(&it.place, it.rule));
    let described = shown.map(|it| ReportedFinding {
        rule: it.rule,
        severity: it.severity,
        place: recording.place(&it.place),
        function: it.function.clone(),
        evidence: it.evidence,
        cost: it.cost,
        cost_per_step: it.cost_per_step,
        share: it.share,
        message: ide::finding_message(it),
        remedy: it.remedy,
    });
    described.collect()
}
