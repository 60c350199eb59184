//! Each step of each rank in numbers.

use std::collections::BTreeMap;

use ledger::{Ledger, Ns};

use crate::comparison::Comparison;
use crate::waited_for::CollectiveTime;

/// A step of a rank. What the numbers are of is said at [`crate::RankSummary`], which has their means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RankStep {
    /// The rank.
    pub rank: u32,
    /// The number of the step.
    pub step: u32,
    /// How long it took.
    pub time: Ns,
    /// Of it, kernels that do not communicate; on a run without devices operators.
    pub compute: Ns,
    /// In matched collectives that were launched in it, before all ranks had begun.
    pub wait: Ns,
    /// In matched collectives that were launched in it, the other time.
    pub transfer: Ns,
    /// How long others waited for this rank in collectives of the step, directly or through one that stood still for it.
    pub waited_for: Ns,
}

/// The steps of the ranks of `compared`, which is [`Comparison::new`] of `ledger`, in order of steps and ranks.
#[must_use]
pub fn rank_steps(ledger: &Ledger, compared: &Comparison) -> Vec<RankStep> {
    let mut times: BTreeMap<(u32, u32), CollectiveTime> = BTreeMap::new();
    for it in &compared.matched {
        let Some(step) = it.step else { continue };
        let meeting = it.meeting();
        for part in &it.parts {
            let time = times.entry((step, part.rank)).or_default();
            time.add(part.start, part.end, meeting.wait(part));
        }
    }
    let mut found = Vec::new();
    for (&rank, overview) in &ledger.overviews {
        let has_kernels = overview.devices.values().any(|it| it.kernels != 0);
        for (&step, interval) in &overview.steps {
            let breakdown = &interval.breakdown;
            let shares = times.remove(&(step, rank)).unwrap_or_default().shares();
            found.push(RankStep {
                rank,
                step,
                time: interval.time,
                compute: if has_kernels { breakdown.kernel } else { breakdown.cpu },
                wait: shares.wait,
                transfer: shares.transfer,
                waited_for: compared
                    .waited_for
                    .get(&(Some(step), rank))
                    .copied()
                    .unwrap_or_default(),
            });
        }
    }
    found.sort_unstable_by_key(|it| (it.step, it.rank));
    found
}
