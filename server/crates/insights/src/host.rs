//! Rules over anti-patterns of the host: patterns of events that attribution found on lines.
//!
//! Each says what the pattern cost by the recording, per step.

mod conv_bias;
mod cpu_fallback;
pub(crate) mod data_loader;
mod data_parallel;
pub(crate) mod extra_copy;
mod for_loop_indexing;
mod graph_break;
pub(crate) mod h2d_copy;
mod optimizer;
mod recompile;
mod zero_grad;

use ledger::{Evidence, Ledger, Ns, Pattern, PatternBooks};
use metrics::Scale;

use crate::costly::Costly;
use crate::rule::{Limits, Rule, WARNING};
use crate::{Detail, Finding, Severity};

/// The rules.
pub(crate) static RULES: [&Rule; 11] = [
    &data_loader::RULE,
    &h2d_copy::RULE,
    &extra_copy::RULE,
    &for_loop_indexing::RULE,
    &optimizer::RULE,
    &zero_grad::RULE,
    &conv_bias::RULE,
    &cpu_fallback::RULE,
    &graph_break::RULE,
    &recompile::RULE,
    &data_parallel::RULE,
];

/// What a pattern on one line is to its rule.
struct FindingDraft {
    /// What would not have to be, over the recording.
    cost: Ns,
    /// What is held against the threshold, over the recording: the cost, or what it is a part of.
    of: Ns,
    severity: Option<Severity>,
    remedy: &'static str,
}

/// The lines on which `draft` has something to report, and whose share is above the threshold.
fn each(
    rule: &'static Rule,
    (ledger, scale, limits): (&Ledger, &Scale<'_>, &Limits<'_>),
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

#[cfg(test)]
mod tests;
