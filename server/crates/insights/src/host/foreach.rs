//! Rule `foreach`: tensors that are updated one by one.

use ledger::{Ledger, Pattern};
use metrics::Scale;

use super::each::{OPERATOR, each, repeated};
use crate::rule::{Area, Rule, RuleLimits, Threshold, ThresholdUnit, WARNING};
use crate::{Finding, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "foreach",
    area: Area::Host,
    title: "Tensors are updated one by one",
    summary: "A loop runs the same operator for one tensor after the other, which costs more to launch than to compute.",
    severity: Severity::Information,
    trigger: "In one call of a function of yours a line runs the same operator over and over on tensors of different sizes, in place \
              (`mul_`, `add_`, `lerp_`, `copy_`, `zero_`, …) or for their norm, and each is short, as in a moving average of the weights or \
              in gradient clipping written by hand. The recording has to have the sizes (`record_shapes=True`).",
    measure: "The host's time in these operators, per step. Python between them comes on top and is not in the number; over lists there is \
              less of both.",
    thresholds: &[REPEATS, OPERATOR, WARNING],
    remedy: "One operator over the list of all tensors: `torch._foreach_mul_`, `_foreach_add_`, `_foreach_lerp_`, `_foreach_copy_`, \
             `_foreach_zero_`, `_foreach_norm`. `torch.nn.utils.clip_grad_norm_` and `torch.optim.swa_utils.AveragedModel` do so.",
    before: "for p, average in zip(model.parameters(), averages):\n    average.lerp_(p, 0.01)",
    after: "torch._foreach_lerp_(averages, list(model.parameters()), 0.01)",
    sources: &[
        "[torch.optim: foreach implementations](https://docs.pytorch.org/docs/stable/optim.html)",
        "[torch.nn.utils.clip_grad_norm_](https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html)",
    ],
    limits: "Names that begin with `torch._foreach_` are not part of PyTorch's stable interface, although its optimizers are made of them. \
             Tensors that all have the same sizes are left alone: they may be one tensor in a loop over time steps.",
    find,
};

const REPEATS: Threshold = Threshold {
    name: "repeats",
    unit: ThresholdUnit::Count,
    default: 8.0,
    meaning: "times that the operator runs in one call from which it is reported",
};

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    each(&RULE, (ledger, scale, limits), Pattern::UpdateOneByOne, |books| {
        repeated(
            books,
            limits,
            &REPEATS,
            "torch._foreach_mul_, _foreach_add_, _foreach_lerp_, _foreach_copy_ and the like work on the list of all tensors at once.",
        )
    })
}
