//! Rules over habits of the host: patterns of events that attribution found on lines.
//!
//! Each tells what the pattern cost by the recording, per step.

mod conv_bias;
mod cpu_fallback;
mod data_loader;
mod data_parallel;
mod extra_copy;
mod for_loop_indexing;
mod graph_break;
mod h2d_copy;
mod optimizer;
mod recompile;
mod zero_grad;

use ledger::{Evidence, Ledger, LineBooks, LineKey, Ns, Pattern, PatternBooks};

use crate::rule::{Limits, Rule};
use crate::{Detail, Finding, Pace, Severity};

pub(crate) use h2d_copy::covers_waits;

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
struct Told {
    /// What would not have to be, over the recording.
    cost: Ns,
    /// What is held against the threshold, over the recording: the cost, or what it is a part of.
    of: Ns,
    severity: Option<Severity>,
    remedy: &'static str,
}

/// The lines on which `tell` has something to say of a pattern, and whose share is above the threshold.
fn each(
    rule: &'static Rule,
    (ledger, pace, limits): (&Ledger, &Pace, &Limits<'_>),
    pattern: Pattern,
    tell: impl Fn(&PatternBooks) -> Option<Told>,
) -> Vec<Finding> {
    let lines = ledger.lines.iter();
    let found = lines.filter_map(|(place, line)| {
        let books = line.patterns.get(&pattern)?;
        let told = tell(books)?;
        let share = pace.mean(told.of as f64) / pace.unit();
        (0 < told.of && limits.least() <= share)
            .then(|| finding(rule, (place, line), pattern, books, pace, limits, told))
    });
    found.collect()
}

fn finding(
    rule: &'static Rule,
    (place, line): (&LineKey, &LineBooks),
    pattern: Pattern,
    books: &PatternBooks,
    pace: &Pace,
    limits: &Limits<'_>,
    told: Told,
) -> Finding {
    let share = pace.mean(told.of as f64) / pace.unit();
    Finding {
        rule: rule.id,
        place: place.clone(),
        function: line.function.clone(),
        // A break in a compiled function is named by the recording.
        evidence: if pattern == Pattern::GraphBreak { Evidence::Exact } else { line.evidence },
        severity: told.severity.unwrap_or_else(|| limits.severity(share)),
        cost: told.cost,
        cost_per_step: (0 < pace.n_steps).then(|| pace.mean(told.cost as f64).round() as Ns),
        count: books.count,
        steps: pace.n_steps,
        share,
        detail: Detail::Pattern(pattern, books.clone()),
        related: Vec::new(),
        remedy: told.remedy,
    }
}

#[cfg(test)]
mod tests;
