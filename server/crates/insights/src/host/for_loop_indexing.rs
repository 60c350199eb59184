//! Rule `for-loop-indexing`: a loop over the rows of a tensor.

use ledger::{Ledger, Pattern};
use metrics::Scale;

use super::each::{OPERATOR, each, repeated};
use crate::rule::{Area, Rule, RuleLimits, Threshold, ThresholdUnit, WARNING};
use crate::{Finding, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "for-loop-indexing",
    area: Area::Host,
    title: "A loop over the rows of a tensor",
    summary: "The loop takes one row at a time, so that every operator in it runs once per row instead of once.",
    severity: Severity::Information,
    trigger: "In one call of a function of yours the same operators run over and over, each time beginning with `x[i]` (`aten::select`), and are short. A loop that calls a function of yours or a module for each row is left alone: it may need the row before, as a recurrent network does.",
    measure: "The time from the first operator of the repetitions to the last, Python between them included, per step.",
    thresholds: &[REPEATS, OPERATOR, WARNING],
    remedy: "Let one operator work on all rows: leave the index out, use a slice or a mask, `torch.where`, `gather`, or `torch.func.vmap`.",
    before: "out = []\nfor i in range(len(x)):\n    out.append(x[i] * 2 + y[i])\nout = torch.stack(out)",
    after: "out = x * 2 + y",
    sources: &[
        "TorchTidy (`torch/profiler/_pattern_matcher.py`, up to torch 2.13), `ForLoopIndexingPattern`, which it never turned on",
    ],
    limits: "A recurrence written out with operators looks the same. Up to four rows may be taken in each round; longer rounds are not seen.",
    find,
};

const REPEATS: Threshold = Threshold {
    name: "repeats",
    unit: ThresholdUnit::Count,
    default: 10.0,
    meaning: "rounds in a row from which it is reported",
};

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    each(&RULE, (ledger, scale, limits), Pattern::ForLoopIndexing, |books| {
        repeated(
            books,
            limits,
            &REPEATS,
            "Let one operator work on all rows: leave the index out, use a slice or a mask, torch.where, gather, or \
                     torch.func.vmap.",
        )
    })
}
