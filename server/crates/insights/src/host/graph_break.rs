//! Rule `graph-break`: a function compiled in parts.

use ledger::{Ledger, Pattern};
use metrics::Scale;

use super::each::{FindingDraft, each};
use crate::rule::{Area, Rule, RuleLimits};
use crate::{Finding, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "graph-break",
    area: Area::Host,
    title: "torch.compile breaks the graph",
    summary: "What stands here cannot be compiled, so the function is compiled in parts, and nothing is fused or planned across the break.",
    severity: Severity::Information,
    trigger: "A frame `torch_dynamo_resume_in_…` runs: the rest of a function after something that `torch.compile` could not trace.",
    measure: "How often the line is passed, the time of looking for the compiled rest (`TorchDynamo Cache Lookup`), and the time of the rest, per step. The share is of both together; what fusing across the break would save is not known.",
    thresholds: &[],
    remedy: "`TORCH_LOGS=graph_breaks` names the reason. Take `print`, `.item()` and data-dependent branches out of the compiled function, or compile only the part without them; `fullgraph=True` makes a break an error.",
    before: "@torch.compile\ndef f(x):\n    x = x.sin()\n    print(x.sum())\n    return x.cos()",
    after: "@torch.compile(fullgraph=True)\ndef f(x):\n    return x.sin().cos()",
    sources: &[
        "[torch.compile troubleshooting](https://docs.pytorch.org/docs/stable/user_guide/torch_compiler/torch.compiler_troubleshooting.html)",
    ],
    limits: "Functions that were skipped altogether leave nothing in the recording. A break on purpose is reported, too.",
    find,
};

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    each(&RULE, (ledger, scale, limits), Pattern::GraphBreak, |books| {
        Some(FindingDraft {
            cost: books.cpu,
            of: books.cpu + books.around.max(books.around_cuda),
            severity: Some(RULE.severity),
            remedy: "TORCH_LOGS=graph_breaks names the reason. Take print, .item() and branches on values out of the compiled \
                     function, or compile only the part without them.",
        })
    })
}
