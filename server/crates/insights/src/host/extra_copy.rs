//! Rule `extra-copy`: a tensor that is made in the wrong place.

use ledger::{Ledger, Ns, Pattern};
use metrics::Scale;

use super::each::{FindingDraft, each};
use crate::rule::{Area, Rule, RuleLimits, WARNING};
use crate::{Finding, Severity};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    id: "extra-copy",
    area: Area::Host,
    title: "Made on the host, then copied",
    summary: "A tensor is made in host memory and copied to the device as a whole, where it could have been made there.",
    severity: Severity::Information,
    trigger: "An operator that makes a tensor (`torch.zeros`, `ones`, `full`, `rand`, `randn`, `randint`, `arange`, `linspace`, `eye`) is followed by `.to(device)` or `.cuda()` of a tensor of the same sizes, in the same function, and that copies from the host.",
    measure: "The host's time in the copy, per step, without the time that it waits; instead of that what leaving the wait out can win at most, as `h2d-copy` measures it. What making it on the host takes comes on top.",
    thresholds: &[WARNING],
    remedy: "Make it where it is needed: `device=` in the call.",
    before: "noise = torch.rand(size).cuda()",
    after: "noise = torch.rand(size, device=\"cuda\")",
    sources: &[
        "TorchTidy (`torch/profiler/_pattern_matcher.py`, up to torch 2.13), `ExtraCUDACopyPattern`",
    ],
    limits: "Random numbers of the device are others than those of the host for the same seed. Where sizes were not recorded, making and copying have to stand on one line.",
    find,
};

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    each(&RULE, (ledger, scale, limits), Pattern::ExtraCopy, |books| {
        let cost = (books.cpu - books.wait).max(Ns::ZERO) + books.avoidable;
        Some(FindingDraft {
            cost,
            of: cost,
            severity: None,
            remedy: "Make the tensor where it is needed: device= in the call that makes it.",
        })
    })
}
