//! Rule `cpu-fallback`: operators that the device lacks.

use ledger::{Ledger, Pattern};
use metrics::Scale;

use super::each::{FindingDraft, each};
use crate::rule::{Area, Rule, RuleLimits, WARNING};
use crate::{Finding, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "cpu-fallback",
    area: Area::Host,
    title: "An operator runs on the CPU",
    summary: "The device has no kernel for an operator: its inputs are copied to the host, and its result back.",
    severity: Severity::Information,
    trigger: "An operator asks for copies of its arguments on the CPU (`aten::_to_cpu`), as the fallback of PyTorch's device backends does.",
    measure: "The host's time in the operator, copies included, per step.",
    thresholds: &[WARNING],
    remedy: "Replace the operator by others that the device has, or move that part of the work to the host as a whole.",
    before: "x = torch.linalg.eig(a).eigenvalues",
    after: "x = torch.linalg.eigh(a).eigenvalues    # where a is symmetric",
    sources: &["`aten/src/ATen/native/CPUFallback.cpp` of PyTorch"],
    limits: "Backends with a fallback of their own may leave something else. A CUDA device has none: there a missing kernel is an error.",
    find,
};

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    each(&RULE, (ledger, scale, limits), Pattern::CpuFallback, |books| {
        Some(FindingDraft {
            cost: books.cpu,
            of: books.cpu,
            severity: None,
            remedy: "Replace the operator by others that the device has, or move that part of the work to the host as a whole.",
        })
    })
}
