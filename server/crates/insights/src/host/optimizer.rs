//! Rule `optimizer-single-tensor`: an optimizer that takes one parameter after the other.

use ledger::{Ledger, Pattern};
use metrics::Scale;

use super::each::{FindingDraft, each, share_of_step};
use crate::rule::{Area, Rule, RuleLimits, Threshold, ThresholdUnit, WARNING};
use crate::{Finding, Severity};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    id: "optimizer-single-tensor",
    area: Area::Host,
    title: "The optimizer takes one parameter after the other",
    summary: "For each parameter the optimizer runs a handful of operators of its own, which costs more to launch than to compute.",
    severity: Severity::Information,
    trigger: "A frame `_single_tensor_…` of `torch.optim` runs below the line. In recordings without Python frames: an optimizer of PyTorch runs many operators in a step, and none over a list (`_foreach_…`, `_fused_…`). In recordings without a device: only optimizers that take `fused=True`.",
    measure: "The time of that frame, or of the range `Optimizer.step#…`, per step.",
    thresholds: &[OPERATORS, SHARE, WARNING],
    remedy: "`foreach=True` works on lists of parameters, `fused=True` (Adam, AdamW, SGD, Adagrad) in one kernel for each list. Without either, PyTorch chooses lists where all parameters are on a GPU, and single tensors on a CPU, where `fused=True` is offered by Adam, AdamW, SGD and Adagrad since 2.4.",
    before: "optimizer = torch.optim.Adam(model.parameters(), foreach=False)",
    after: "optimizer = torch.optim.Adam(model.parameters(), fused=True)",
    sources: &[
        "TorchTidy (`torch/profiler/_pattern_matcher.py`, up to torch 2.13), `OptimizerSingleTensorPattern`",
        "[torch.optim: choosing an implementation](https://docs.pytorch.org/docs/stable/optim.html)",
    ],
    limits: "How much time is left with lists is not known before it is tried. On a CPU it is a hint only: there the single-tensor way is the default.",
    find,
};

const OPERATORS: Threshold = Threshold {
    name: "operators",
    unit: ThresholdUnit::Count,
    default: 20.0,
    meaning: "operators in one step of the optimizer from which it is reported",
};

const SHARE: Threshold = Threshold {
    name: "share",
    unit: ThresholdUnit::Percent,
    default: 2.0,
    meaning: "share of the step from which it is reported in a recording without a device",
};

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let is_on_host = ledger.devices.is_empty();
    each(&RULE, (ledger, scale, limits), Pattern::OptimizerSingleTensor, |books| {
        let each_time = books.ops as f64 / books.count.max(1) as f64;
        let is_large = !is_on_host || limits.get(&SHARE) <= share_of_step(scale, books.cpu);
        (is_large && limits.get(&OPERATORS) <= each_time).then_some(FindingDraft {
            cost: books.cpu,
            of: books.cpu,
            severity: is_on_host.then_some(Severity::Hint),
            remedy: if is_on_host {
                "fused=True, where the optimizer is made, updates all parameters in one pass (Adam, AdamW, SGD, Adagrad; on a CPU \
                 since torch 2.4)."
            } else {
                "foreach=True, where the optimizer is made, updates lists of parameters in a few kernels each; Adam, AdamW, SGD and \
                 Adagrad take fused=True, which needs one."
            },
        })
    })
}
