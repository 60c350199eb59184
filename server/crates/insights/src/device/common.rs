//! What the rules about the device share.

use ledger::{Ledger, LineBooks, Ns};
use metrics::Scale;

use crate::Finding;
use crate::costly::Costly;
use crate::rule::{MINIMUM, Rule, RuleLimits, Threshold, ThresholdUnit};

/// Share of the step from which a finding is a warning.
pub(super) const WARNING: Threshold = Threshold {
    name: "warning",
    unit: ThresholdUnit::Percent,
    default: 15.0,
    meaning: "share of the step from which it is a warning",
};

/// The finding, if it is large enough: rules here list [`MINIMUM`] and [`WARNING`].
pub(super) fn finding(
    rule: &'static Rule,
    scale: &Scale<'_>,
    limits: &RuleLimits<'_>,
    draft: Costly<'_>,
) -> Option<Finding> {
    let least = limits.get(&MINIMUM).max(limits.least());
    draft.finding(rule, scale, least, |share| limits.severity(&WARNING, share))
}

/// Thread time of a line, waits left out: on each rank that of the thread with most, because threads of autograd work
/// while the thread that called them waits.
pub(super) fn host_time(books: &LineBooks) -> Ns {
    (books.by_rank.longest_threads() - books.sync).max(Ns::ZERO)
}

/// Multiprocessors and compute capability of the devices, the least of all; `None` where no recording says.
pub(super) fn least_capable(ledger: &Ledger) -> Option<(u32, (u32, u32))> {
    let devices = ledger.overviews.values().flat_map(|it| it.devices.values());
    devices.map(|it| (it.multiprocessors, it.capability)).min()
}
