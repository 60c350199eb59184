//! Rule `data-parallel`: DataParallel on several devices.

use ledger::{Ledger, Pattern};
use metrics::Scale;

use super::each::{FindingDraft, each};
use crate::rule::{Area, Rule, RuleLimits};
use crate::{Finding, Severity};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    id: "data-parallel",
    area: Area::Distributed,
    title: "nn.DataParallel on several devices",
    summary: "`nn.DataParallel` copies the model to every device in each step and runs all of them from one process, one after the other.",
    severity: Severity::Warning,
    trigger: "`torch/nn/parallel/data_parallel.py: forward` hands out parameters and inputs (`replicate`, `scatter`) and collects results (`gather`): with one device it does not.",
    measure: "The host's time of handing out and collecting, per step.",
    thresholds: &[],
    remedy: "`DistributedDataParallel`, with one process for each device.",
    before: "model = nn.DataParallel(model)",
    after: "model = DistributedDataParallel(model, device_ids=[local_rank])",
    sources: &[
        "TensorBoard PyTorch plugin, `analyze`: DataParallel on more than one device",
        "[PyTorch: DataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html)",
    ],
    limits: "That the devices wait for the one process which serves them all comes on top, and is not in the number. Python frames are needed.",
    find,
};

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    each(&RULE, (ledger, scale, limits), Pattern::DataParallel, |books| {
        Some(FindingDraft {
            cost: books.cpu,
            of: books.cpu,
            severity: Some(RULE.severity),
            remedy: "DistributedDataParallel, with one process for each device.",
        })
    })
}
