//! What the rules over `torch.compile` share: the reasons that its log gives.

use ledger::{Evidence, Ledger, LineKey, Ns, Pattern, PatternBooks};
use metrics::Scale;

use crate::costly::Costly;
use crate::rule::{Rule, RuleLimits, WARNING};
use crate::{CompilerReason, Detail, Finding, Severity};

/// What a rule makes of a line on which the compiler is at work.
pub(super) struct CompilerDraft {
    pub(super) cost: Ns,
    pub(super) of: Ns,
    pub(super) severity: Option<Severity>,
}

/// The lines with `pattern` whose share is above the threshold, each with the reasons that `reasons` gives and the remedy for them.
pub(super) fn each_compiled(
    rule: &'static Rule,
    (ledger, scale, limits): (&Ledger, &Scale<'_>, &RuleLimits<'_>),
    pattern: Pattern,
    draft: impl Fn(&PatternBooks) -> CompilerDraft,
    reasons: impl Fn(&LineKey) -> Vec<CompilerReason>,
    remedy: impl Fn(&[CompilerReason]) -> &'static str,
) -> Vec<Finding> {
    let found = ledger.lines.iter().filter_map(|(place, line)| {
        let books = line.patterns.get(&pattern)?;
        let CompilerDraft { cost, of, severity } = draft(books);
        let reasons = reasons(place);
        let remedy = remedy(&reasons);
        let detail = Detail::Compiler(pattern, books.clone(), reasons);
        let costly = Costly {
            of,
            count: books.count,
            // A break in a compiled function is named by the recording.
            evidence: if pattern == Pattern::GraphBreak { Evidence::Exact } else { line.evidence },
            ..Costly::line(place, line, cost, detail, remedy)
        };
        costly.finding(rule, scale, limits.least(), |share| {
            severity.unwrap_or_else(|| limits.severity(&WARNING, share))
        })
    });
    found.collect()
}
