//! Rule `possible-sync`: what would wait for a device. The text alone shows it, so that the ledger has nothing to find.

use crate::Severity;
use crate::rule::{Area, Rule};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    id: "possible-sync",
    area: Area::Waits,
    title: "Would wait for a device",
    summary: "In a loop a tensor is read in a way that waits for the device, if the tensor is on one.",
    severity: Severity::Hint,
    trigger: "In an open file that imports `torch`, inside a loop or a comprehension: `.item()`, `.cpu()`, `torch.cuda.synchronize()`, \
              and of what is evidently a tensor `.tolist()`, `.numpy()`, `.nonzero()`, `float()`, `int()`, `bool()`, `print()`, \
              `if`, `while`, `assert`, and indexing with a comparison. Only while no recording is loaded, or one without a \
              device; what a recording with a device says is reported by `sync`.",
    measure: "Without a recording nothing is measured, and the message says so. With a recording of a CPU only what ran in it is \
              reported, with how often and how long it ran there.",
    thresholds: &[],
    remedy: "Keep the number a tensor, add up on the device, and read it every so many steps. Record a few steps with a GPU to \
             see what it costs.",
    before: "for x, y in loader:\n    total += loss_of(x, y).item()",
    after: "for x, y in loader:\n    total += loss_of(x, y).detach()",
    sources: &[],
    limits: "Whether a tensor is on a device, and how much there is to wait for, the text does not say. Names are tensors where \
             they are bound to operators of `torch` or annotated `torch.Tensor`; what other functions return is not looked at.",
    find: |_, _, _| Vec::new(),
};
