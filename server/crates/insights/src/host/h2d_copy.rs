//! Rule `h2d-copy`: copies from pageable memory.

use ledger::{Ledger, Pattern};
use metrics::Scale;

use super::each::{FindingDraft, each};
use crate::costly::devices_per_rank;
use crate::rule::{Area, Rule, RuleLimits, WARNING};
use crate::sync::related;
use crate::{Finding, Severity};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    id: "h2d-copy",
    area: Area::Host,
    title: "Copies from pageable host memory",
    summary: "A copy from pageable memory goes through a staging buffer, is slower, and makes the host wait even with `non_blocking=True`.",
    severity: Severity::Information,
    trigger: "Copies from the host are recorded as `Memcpy HtoD (Pageable -> Device)`.",
    measure: "The cost is what copies that do not wait can win at most: the idle time of the device after them until the next wait of another line, of each wait no more than it lasted, and the time in which the device copies and does nothing else, together no more than the wait. The wait itself is in the text: it lasts until the copy is done, and so until everything that was launched before it on its stream is; that time is not won. The rate is bytes by device time. All of it per step.",
    thresholds: &[WARNING],
    remedy: "`pin_memory=True` in the `DataLoader` (or `tensor.pin_memory()`), and `non_blocking=True` in `.to()`. Many small copies (numbers, lists) are better made once, or on the device.",
    before: "for x, y in DataLoader(data, batch_size=64):\n    x = x.to(\"cuda\")",
    after: "for x, y in DataLoader(data, batch_size=64, pin_memory=True):\n    x = x.to(\"cuda\", non_blocking=True)",
    sources: &[
        "[PyTorch: pin_memory and non_blocking](https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html)",
    ],
    limits: "Pinning a tensor right before its only copy is no faster than the copy itself. A copy takes its time from pinned memory, too: it is won only where it can run beside other work.",
    find,
};

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let devices = devices_per_rank(ledger);
    let mut findings = each(&RULE, (ledger, scale, limits), Pattern::PageableCopy, |books| {
        Some(FindingDraft {
            cost: books.avoidable / devices,
            of: books.avoidable / devices,
            severity: None,
            remedy: "Copy from pinned memory: pin_memory=True in the DataLoader, and non_blocking=True in .to(). Make numbers \
                     and small tensors once, or on the device.",
        })
    });
    for finding in &mut findings {
        if let Some(books) = ledger.lines.get(&finding.place) {
            finding.related = related(&finding.place, books);
        }
    }
    findings
}
