//! Rule `zero-grad`: gradients that are set to zero.

use ledger::{Ledger, Pattern};
use metrics::Scale;

use super::each::{FindingDraft, each};
use crate::rule::{Area, Rule, RuleLimits, WARNING};
use crate::{Finding, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "zero-grad",
    area: Area::Host,
    title: "Gradients are set to zero rather than to None",
    summary: "Filling every gradient with zeros costs a write, and the backward pass then has to read and add instead of writing.",
    severity: Severity::Information,
    trigger: "`aten::zero_` or `aten::_foreach_zero_` runs in `zero_grad` of an optimizer or a module.",
    measure: "The time of these operators, per step. What the backward pass spends on adding to zeros comes on top, and is not in the number.",
    thresholds: &[WARNING],
    remedy: "`optimizer.zero_grad(set_to_none=True)`, the default since torch 2.0.",
    before: "optimizer.zero_grad(set_to_none=False)",
    after: "optimizer.zero_grad()",
    sources: &[
        "TorchTidy (`torch/profiler/_pattern_matcher.py`, up to torch 2.13), `GradNotSetToNonePattern`",
    ],
    limits: "Code that reads `p.grad` after `zero_grad` has to expect `None` then.",
    find,
};

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    each(&RULE, (ledger, scale, limits), Pattern::ZeroGrad, |books| {
        Some(FindingDraft {
            cost: books.cpu.max(books.cuda),
            of: books.cpu.max(books.cuda),
            severity: None,
            remedy: "set_to_none=True, the default since torch 2.0, frees the gradients instead of filling them.",
        })
    })
}
