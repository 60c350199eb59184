//! Rule `recompile`: compiling in measured steps.

use ledger::{CompiledFunction, Ledger, LineKey, Pattern, RecompileCause, RecompileReason};
use metrics::Scale;

use super::each::{FindingDraft, each};
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
    let found = each(&RULE, (ledger, scale, limits), Pattern::Compilation, |books| {
        Some(FindingDraft {
            cost: books.cpu,
            of: books.cpu,
            severity: None,
            remedy: "TORCH_LOGS=recompiles names the guard that failed: sizes that change (dynamic=True, mark_dynamic), numbers \
                     that change (make them tensors). If it is the first step only, warm up longer.",
        })
    });
    let with_reasons = |it: Finding| {
        let reasons = reasons(ledger, &it.place);
        it.with_reasons(reasons, remedy)
    };
    found.into_iter().map(with_reasons).collect()
}

/// Why what ran on a line was compiled again: the most frequent reason first, equal ones by name.
fn reasons(ledger: &Ledger, place: &LineKey) -> Vec<CompilerReason> {
    let all = ledger
        .compiled
        .values()
        .flat_map(|function| function.reasons.iter().map(move |(cause, it)| (function, cause, it)));
    let mut here: Vec<_> = all.filter(|(_, _, it)| it.lines.contains(place)).collect();
    here.sort_by_key(|(_, _, it)| std::cmp::Reverse(it.count));
    let reason = |(function, cause, it): (&CompiledFunction, &RecompileCause, &RecompileReason)| {
        CompilerReason::Recompiled {
            function: function.name.clone(),
            cause: cause.clone(),
            values: it.values.iter().copied().collect(),
        }
    };
    here.into_iter().map(reason).collect()
}

fn remedy(reasons: &[CompilerReason]) -> &'static str {
    match reasons.first() {
        Some(CompilerReason::Recompiled { cause: RecompileCause::Dimension(_), .. }) => {
            "Compile for any size: torch._dynamo.mark_dynamic(tensor, index) before the call, or torch.compile(dynamic=True); \
             or pad to a few sizes."
        }
        Some(CompilerReason::Recompiled { cause: RecompileCause::Number(_), .. }) => {
            "A number that changes is compiled in: make it a tensor, or keep it out of the compiled function."
        }
        _ => {
            "Keep what the guard names the same from call to call, or out of the compiled function."
        }
    }
}
