//! One rank in numbers.

use ledger::{Bytes, Ledger, Ns};

use crate::matching::Matched;

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
    /// In matched collectives, before all ranks had begun. What is hidden by other work counts too.
    pub wait: Ns,
    /// In matched collectives, after that.
    pub transfer: Ns,
    /// How long others waited in collectives in which this rank was the last: of each the longest wait.
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
    for it in matched {
        let Some(part) = it.parts.iter().find(|part| part.rank == rank) else { continue };
        let shares = it.shares(part);
        summary.collectives += 1;
        summary.wait += shares.wait;
        summary.transfer += shares.transfer;
        if it.last() == rank {
            summary.late += 1;
            summary.waited_for += it.longest_wait();
        }
    }
    let n = i64::try_from(summary.steps.max(1)).unwrap_or(i64::MAX);
    summary.wait = summary.wait / n;
    summary.transfer = summary.transfer / n;
    summary.waited_for = summary.waited_for / n;
    let memory = ledger.memory.iter().filter(|(key, _)| key.rank == rank);
    summary.memory_peak = memory.map(|(_, it)| it.peak).max();
    summary
}
