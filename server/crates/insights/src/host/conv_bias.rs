//! Rule `conv-bias-before-batchnorm`: a bias that batch normalization takes away.

use ledger::{Ledger, Pattern};
use metrics::Scale;

use super::each::{FindingDraft, each};
use crate::rule::{Area, Rule, RuleLimits};
use crate::{Finding, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "conv-bias-before-batchnorm",
    area: Area::Host,
    title: "A bias that batch normalization takes away again",
    summary: "Batch normalization subtracts the mean of each channel, and with it the bias that the convolution added.",
    severity: Severity::Hint,
    trigger: "A convolution with a bias is followed by a batch normalization, with no operator between them but the counting of batches. The recording has to have the types of arguments (`record_shapes=True`).",
    measure: "The time of the convolution, per step, of which the bias is a part. Where the bias is added by an operator of its own (cuDNN), that time is the cost.",
    thresholds: &[],
    remedy: "`bias=False` in the convolution: the bias of the batch normalization does the same.",
    before: "nn.Conv2d(3, 64, 3, bias=True), nn.BatchNorm2d(64)",
    after: "nn.Conv2d(3, 64, 3, bias=False), nn.BatchNorm2d(64)",
    sources: &[
        "TorchTidy (`torch/profiler/_pattern_matcher.py`, up to torch 2.13), `Conv2dBiasFollowedByBatchNorm2dPattern`",
    ],
    limits: "It goes by the order of operators, not by what flows from one to the other. A model loaded from a checkpoint needs the bias taken out of that, too.",
    find,
};

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    each(&RULE, (ledger, scale, limits), Pattern::ConvBias, |books| {
        let added = books.cpu.max(books.cuda);
        Some(FindingDraft {
            cost: added,
            of: books.around.max(books.around_cuda),
            severity: Some(RULE.severity),
            remedy: "bias=False in the convolution: batch normalization has a bias of its own.",
        })
    })
}
