//! Rule `h2d-copy`: copies from pageable memory.

use ledger::{Ledger, Ns, Pattern};
use metrics::Scale;

use super::each::{FindingDraft, each};
use crate::rule::{Area, Rule, RuleLimits, WARNING};
use crate::{Finding, Severity};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    id: "h2d-copy",
    area: Area::Host,
    title: "Copies from pageable host memory",
    summary: "A copy from pageable memory goes through a staging buffer, is slower, and makes the host wait even with `non_blocking=True`.",
    severity: Severity::Information,
    trigger: "Copies from the host are recorded as `Memcpy HtoD (Pageable -> Device)`.",
    measure: "The time that the host waits in these copies (the device's time for them, where it does not wait), their bytes, and bytes by device time as the rate, per step.",
    thresholds: &[WARNING],
    remedy: "`pin_memory=True` in the `DataLoader` (or `tensor.pin_memory()`), and `non_blocking=True` in `.to()`. Many small copies (numbers, lists) are better made once, or on the device.",
    before: "for x, y in DataLoader(data, batch_size=64):\n    x = x.to(\"cuda\")",
    after: "for x, y in DataLoader(data, batch_size=64, pin_memory=True):\n    x = x.to(\"cuda\", non_blocking=True)",
    sources: &[
        "[PyTorch: pin_memory and non_blocking](https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html)",
    ],
    limits: "Pinning a tensor right before its only copy is no faster than the copy itself. A wait lasts until the copy is done, and so until everything that was launched before it on its stream is.",
    find,
};

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    each(&RULE, (ledger, scale, limits), Pattern::PageableCopy, |books| {
        let cost = if books.wait > Ns::ZERO { books.wait } else { books.cuda };
        Some(FindingDraft {
            cost,
            of: cost,
            severity: None,
            remedy: "Copy from pinned memory: pin_memory=True in the DataLoader, and non_blocking=True in .to(). Make numbers \
                     and small tensors once, or on the device.",
        })
    })
}
