//! One rank in numbers.

use std::collections::{BTreeMap, BTreeSet};

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

/// The numbers of each of `ranks`.
pub(crate) fn rank_summaries(
    ledger: &Ledger,
    ranks: &BTreeSet<u32>,
    matched: &[Matched],
    waited_for: &BTreeMap<(Option<u32>, u32), Ns>,
) -> Vec<RankSummary> {
    let mut summaries: BTreeMap<u32, RankSummary> = BTreeMap::new();
    for &rank in ranks {
        summaries.insert(rank, own_numbers(ledger, rank));
    }
    let mut times: BTreeMap<u32, CollectiveTime> = BTreeMap::new();
    for it in matched {
        let meeting = it.meeting();
        for part in &it.parts {
            let time = times.entry(part.rank).or_default();
            time.add(part.start, part.end, meeting.wait(part));
            let Some(mine) = summaries.get_mut(&part.rank) else { continue };
            mine.collectives += 1;
            mine.late += u64::from(meeting.last == part.rank);
        }
    }
    let mut waits: BTreeMap<u32, Ns> = BTreeMap::new();
    for (&(_, last), &time) in waited_for {
        let mine = waits.entry(last).or_default();
        *mine = mine.saturating_add(time);
    }
    for (key, memory) in &ledger.memory {
        let Some(mine) = summaries.get_mut(&key.rank) else { continue };
        mine.memory_peak = mine.memory_peak.max(Some(memory.peak));
    }
    for (rank, mine) in &mut summaries {
        let n = i64::try_from(mine.steps.max(1)).unwrap_or(i64::MAX);
        let shares = times.remove(rank).unwrap_or_default().shares();
        mine.wait = shares.wait / n;
        mine.transfer = shares.transfer / n;
        mine.waited_for = waits.get(rank).copied().unwrap_or_default() / n;
    }
    summaries.into_values().collect()
}

/// The numbers of a rank that need no other one.
fn own_numbers(ledger: &Ledger, rank: u32) -> RankSummary {
    let host = host_of(ledger, rank).to_owned();
    let mut summary = RankSummary { rank, host, ..RankSummary::default() };
    let Some(overview) = ledger.overviews.get(&rank) else { return summary };
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
    summary
}

/// The machine of a rank; empty where it is not known.
pub(crate) fn host_of(ledger: &Ledger, rank: u32) -> &str {
    ledger.communication.get(&rank).map_or("", |it| it.host.as_str())
}
