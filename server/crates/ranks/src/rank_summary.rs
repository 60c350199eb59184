//! One rank in numbers.

use std::collections::BTreeMap;

use ledger::{Bytes, Ledger, Ns};

use crate::matching::Matched;
use crate::waited_for::CollectiveTime;

/// One rank. Times are of the mean step, or of the recording where it has no steps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RankSummary {
    /// Its number.
    pub rank: u32,
    /// Its machine; empty where the recording does not say.
    pub host: String,
    /// Recorded steps; 0 where there are none.
    pub steps: u64,
    /// How long a step takes.
    pub step: Ns,
    /// Of it, kernels that do not communicate; on a run without devices operators.
    pub compute: Ns,
    /// Of it, waiting for the data loader.
    pub loader: Ns,
    /// Of it, nothing that is recorded as work.
    pub idle: Ns,
    /// In matched collectives, before all ranks had begun. What is hidden by other work counts too; time in which it waits in
    /// several at once counts once.
    pub wait: Ns,
    /// In matched collectives, the other time.
    pub transfer: Ns,
    /// How long others waited for this rank, directly or because one that they waited for stood still for it: in each step, the
    /// one that waited longest.
    pub waited_for: Ns,
    /// Matched collectives in which it was the last, over the recording.
    pub late: u64,
    /// Matched collectives that it took part in, over the recording.
    pub collectives: u64,
    /// Bytes at the peak, of the device with most; `None` where that is not recorded.
    pub memory_peak: Option<Bytes>,
}

/// The numbers of `rank`.
pub(crate) fn rank_summary(
    ledger: &Ledger,
    rank: u32,
    host: &str,
    matched: &[Matched],
    waited_for: &BTreeMap<(Option<u32>, u32), Ns>,
) -> RankSummary {
    let mut summary = RankSummary { rank, host: host.to_owned(), ..RankSummary::default() };
    if let Some(overview) = ledger.overviews.get(&rank) {
        summary.steps = overview.steps.len() as u64;
        let n = i64::try_from(overview.steps.len().max(1)).unwrap_or(i64::MAX);
        let breakdown = &overview.run.breakdown;
        let compute = match overview.devices.values().any(|it| it.kernels != 0) {
            true => breakdown.kernel,
            false => breakdown.cpu,
        };
        summary.step = overview.run.time / n;
        summary.compute = compute / n;
        summary.loader = breakdown.data_loader / n;
        summary.idle = breakdown.other / n;
    }
    let mut time = CollectiveTime::default();
    for it in matched {
        let Some(part) = it.parts.iter().find(|part| part.rank == rank) else { continue };
        time.add(part.start, part.end, it.wait(part));
        summary.collectives += 1;
        summary.late += u64::from(it.last() == rank);
    }
    let shares = time.shares();
    let waits = waited_for.iter().filter(|((_, last), _)| *last == rank).map(|(_, it)| *it);
    let waited_for = waits.fold(Ns::ZERO, Ns::saturating_add);
    let n = i64::try_from(summary.steps.max(1)).unwrap_or(i64::MAX);
    summary.wait = shares.wait / n;
    summary.transfer = shares.transfer / n;
    summary.waited_for = waited_for / n;
    let memory = ledger.memory.iter().filter(|(key, _)| key.rank == rank);
    summary.memory_peak = memory.map(|(_, it)| it.peak).max();
    summary
}
