//! Rule `recompile`: compiling in measured steps.

use ledger::{Ledger, LineKey, Pattern, PatternBooks};
use metrics::Scale;

use super::compiler::{CompilerDraft, each_compiled};
use crate::rule::{Area, Rule, RuleLimits, WARNING};
use crate::{CompilerReason, Finding, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "recompile",
    area: Area::Host,
    title: "torch.compile compiles in the measured steps",
    summary: "Compiling takes far longer than what is compiled; in a measured step it means that something changed which the compiled code relied on.",
    severity: Severity::Information,
    trigger: "`torch.compile` is at work (`torch/_dynamo/convert_frame.py: _compile`, `entire_frame_compile`) within a step. Without steps: anywhere in the recording.",
    measure: "The time of compiling, per step; in how many steps; how many versions of the function there are by then, from `Torch-Compiled Region: function/version`; and with the log of the compiler beside the trace (`TORCH_TRACE`, `perfline record`) which guard of which function failed since the program began, with the sizes that changed.",
    thresholds: &[WARNING],
    remedy: "Without the log of the compiler, `TORCH_LOGS=recompiles` names the guard that failed. Sizes that change: `mark_dynamic` or `dynamic=True`. Numbers that change: make them tensors. If it is the first step only, warm up longer before recording.",
    before: "@torch.compile(dynamic=False)\ndef f(x): ...",
    after: "@torch.compile(dynamic=True)\ndef f(x): ...",
    sources: &[
        "[torch.compile troubleshooting](https://docs.pytorch.org/docs/stable/user_guide/torch_compiler/torch.compiler_troubleshooting.html)",
    ],
    limits: "With stacks, compiling is slowed down far more by the profiler than other code is.",
    find,
};

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let draft =
        |books: &PatternBooks| CompilerDraft { cost: books.cpu, of: books.cpu, severity: None };
    let reasons = |place: &LineKey| {
        let mut reasons: Vec<(u64, CompilerReason)> = ledger
            .compiled
            .values()
            .flat_map(|function| {
                let here = function.reasons.iter().filter(|(_, it)| it.lines.contains(place));
                here.map(|(text, it)| {
                    let reason = CompilerReason {
                        function: function.name.clone(),
                        text: text.clone(),
                        sizes: it.sizes.iter().copied().collect(),
                    };
                    (it.count, reason)
                })
            })
            .collect();
        // The most frequent first; equal ones stay by name.
        reasons.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        reasons.into_iter().map(|(_, it)| it).collect()
    };
    each_compiled(&RULE, (ledger, scale, limits), Pattern::Compilation, draft, reasons, remedy)
}

fn remedy(reasons: &[CompilerReason]) -> &'static str {
    let is_size = |it: &CompilerReason| !it.sizes.is_empty();
    match reasons {
        [] => {
            "TORCH_LOGS=recompiles names the guard that failed: sizes that change (dynamic=True, mark_dynamic), numbers \
             that change (make them tensors). If it is the first step only, warm up longer."
        }
        [first, ..] if first.text.starts_with("value of ") => {
            "A number that changes is compiled in: make it a tensor, or keep it out of the compiled function."
        }
        [first, ..] if is_size(first) => {
            "Compile for any size: torch._dynamo.mark_dynamic(tensor, index) before the call, or torch.compile(dynamic=True); \
             or pad to a few sizes."
        }
        _ => {
            "Keep what the guard names the same from call to call, or out of the compiled function."
        }
    }
}
