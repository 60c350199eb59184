//! Rule `recompile`: compiling in measured steps.

use ledger::{Ledger, Pattern};
use metrics::Scale;

use super::each::{FindingDraft, each};
use crate::rule::{Area, Rule, RuleLimits, WARNING};
use crate::{Finding, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "recompile",
    area: Area::Host,
    title: "torch.compile compiles in the measured steps",
    summary: "Compiling takes far longer than what is compiled; in a measured step it means that something changed which the compiled code relied on.",
    severity: Severity::Information,
    trigger: "`torch.compile` is at work (`torch/_dynamo/convert_frame.py: _compile`, `entire_frame_compile`) within a step. Without steps: anywhere in the recording.",
    measure: "The time of compiling, per step; in how many steps; and how many versions of the function there are by then, from `Torch-Compiled Region: function/version`.",
    thresholds: &[WARNING],
    remedy: "`TORCH_LOGS=recompiles` names the guard that failed. Sizes that change: `mark_dynamic` or `dynamic=True`. Numbers that change: make them tensors. If it is the first step only, warm up longer before recording.",
    before: "@torch.compile(dynamic=False)\ndef f(x): ...",
    after: "@torch.compile(dynamic=True)\ndef f(x): ...",
    sources: &[
        "[torch.compile troubleshooting](https://docs.pytorch.org/docs/stable/user_guide/torch_compiler/torch.compiler_troubleshooting.html)",
    ],
    limits: "With stacks, compiling is slowed down far more by the profiler than other code is.",
    find,
};

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    each(&RULE, (ledger, scale, limits), Pattern::Compilation, |books| {
        Some(FindingDraft {
            cost: books.cpu,
            of: books.cpu,
            severity: None,
            remedy: "TORCH_LOGS=recompiles names the guard that failed: sizes that change (dynamic=True, mark_dynamic), numbers \
                     that change (make them tensors). If it is the first step only, warm up longer.",
        })
    })
}
