//! Rule `graph-break`: a function compiled in parts.

use ledger::{Ledger, Pattern};
use metrics::Scale;

use super::each::{FindingDraft, each};
use crate::rule::{Area, Rule, RuleLimits};
use crate::{CompilerReason, Finding, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "graph-break",
    area: Area::Host,
    title: "torch.compile breaks the graph",
    summary: "What stands here cannot be compiled, so the function is compiled in parts, and nothing is fused or planned across the break.",
    severity: Severity::Information,
    trigger: "A frame `torch_dynamo_resume_in_…` runs: the rest of a function after something that `torch.compile` could not trace.",
    measure: "How often the line is passed, the time of looking for the compiled rest (`TorchDynamo Cache Lookup`), and the time of the rest, per step. With the log of the compiler beside the trace (`TORCH_TRACE`, `perfline record`), what it could not compile. The share is of both together; what fusing across the break would save is not known.",
    thresholds: &[],
    remedy: "Without the log of the compiler, `TORCH_LOGS=graph_breaks` names the reason. Take `print`, `.item()` and data-dependent branches out of the compiled function, or compile only the part without them; `fullgraph=True` makes a break an error.",
    before: "@torch.compile\ndef f(x):\n    x = x.sin()\n    print(x.sum())\n    return x.cos()",
    after: "@torch.compile(fullgraph=True)\ndef f(x):\n    return x.sin().cos()",
    sources: &[
        "[torch.compile troubleshooting](https://docs.pytorch.org/docs/stable/user_guide/torch_compiler/torch.compiler_troubleshooting.html)",
    ],
    limits: "Functions that were skipped altogether leave nothing in the recording. A break on purpose is reported, too.",
    find,
};

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let found = each(&RULE, (ledger, scale, limits), Pattern::GraphBreak, |books| {
        Some(FindingDraft {
            cost: books.cpu,
            of: books.cpu + books.around.max(books.around_cuda),
            severity: Some(RULE.severity),
            remedy: "TORCH_LOGS=graph_breaks names the reason. Take print, .item() and branches on values out of the compiled \
                     function, or compile only the part without them.",
        })
    });
    let with_reasons = |it: Finding| {
        let reasons = ledger.graph_breaks.get(&it.place).into_iter().flatten();
        let reasons = reasons.cloned().map(CompilerReason::GraphBreak).collect();
        it.with_reasons(reasons, remedy)
    };
    found.into_iter().map(with_reasons).collect()
}

fn remedy(reasons: &[CompilerReason]) -> &'static str {
    let says = |what: &str| {
        reasons
            .iter()
            .any(|it| matches!(it, CompilerReason::GraphBreak(text) if text.contains(what)))
    };
    if says("data-dependent branching") {
        "Choose by torch.where or torch.cond in place of a branch on a value, or take the branch out of the compiled function."
    } else if says("Tensor.item()") {
        "Keep the value as a tensor, or set torch._dynamo.config.capture_scalar_outputs = True."
    } else if says("`print`") {
        "Take the print out of the compiled function, or name it in \
         torch._dynamo.config.reorderable_logging_functions."
    } else {
        "Take what the reason names out of the compiled function, or compile only the part without it."
    }
}
