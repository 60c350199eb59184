//! What the rules over patterns share.

use ledger::{Evidence, Ledger, Ns, Pattern, PatternBooks};
use metrics::Scale;

use crate::costly::Costly;
use crate::rule::{Rule, RuleLimits, Threshold, ThresholdUnit, WARNING};
use crate::{Detail, Finding, Severity};

/// What a pattern on one line is to its rule.
pub(super) struct FindingDraft {
    /// What would not have to be, over the recording.
    pub(super) cost: Ns,
    /// What is held against the threshold, over the recording: the cost, or what it is a part of.
    pub(super) of: Ns,
    pub(super) severity: Option<Severity>,
    pub(super) remedy: &'static str,
}

/// A time of the whole recording as a share (of 1) of the step.
pub(super) fn share_of_step(scale: &Scale<'_>, time: Ns) -> f64 {
    scale.mean(time.as_f64()) / scale.time()
}

/// Up to which mean time an operator is short, for the rules that list it. Larger ones keep the processor or device busy:
/// how they are launched does not count then.
pub(super) const OPERATOR: Threshold = Threshold {
    name: "operator",
    unit: ThresholdUnit::Micros,
    default: 100.0,
    meaning: "mean time of an operator up to which it is short",
};

/// Short operators ([`OPERATOR`]) that run at least as often as `repeats` says: all of their time is what they cost.
pub(super) fn repeated(
    books: &PatternBooks,
    limits: &RuleLimits<'_>,
    repeats: &Threshold,
    remedy: &'static str,
) -> Option<FindingDraft> {
    let operator = books.cpu.as_f64() / books.ops.max(1) as f64;
    let is_reported = limits.get(repeats) <= books.most as f64 && operator <= limits.get(&OPERATOR);
    is_reported.then_some(FindingDraft { cost: books.cpu, of: books.cpu, severity: None, remedy })
}

/// The lines on which `draft` has something to report, and whose share is above the threshold.
pub(super) fn each(
    rule: &'static Rule,
    (ledger, scale, limits): (&Ledger, &Scale<'_>, &RuleLimits<'_>),
    pattern: Pattern,
    draft: impl Fn(&PatternBooks) -> Option<FindingDraft>,
) -> Vec<Finding> {
    let lines = ledger.lines.iter();
    let found = lines.filter_map(|(place, line)| {
        let books = line.patterns.get(&pattern)?;
        let FindingDraft { cost, of, severity, remedy } = draft(books)?;
        let costly = Costly {
            of,
            count: books.count,
            // A break in a compiled function is named by the recording.
            evidence: if pattern == Pattern::GraphBreak { Evidence::Exact } else { line.evidence },
            ..Costly::line(place, line, cost, Detail::Pattern(pattern, books.clone()), remedy)
        };
        costly.finding(rule, scale, limits.least(), |share| {
            severity.unwrap_or_else(|| limits.severity(&WARNING, share))
        })
    });
    found.collect()
}
