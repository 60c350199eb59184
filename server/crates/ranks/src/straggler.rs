//! The rank that the others wait for, and the line that differs there.

use std::collections::BTreeMap;

use ledger::{Ledger, LineKey, Ns};

use crate::matching::Matched;
use crate::rank_summary::RankSummary;
use crate::spread::median;

/// Share (of 1) of the lateness that a line must explain to be named.
const MIN_EXPLAINED: f64 = 0.3;

/// Share (of 1) of the mean step of the ranks that a lateness must reach.
const MIN_LATENESS: f64 = 0.05;

/// A rank that the others wait for step after step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Straggler {
    /// Which.
    pub rank: u32,
    /// By how much a step of the others is longer because of it: the median over the steps of how long was waited for it, less
    /// how long was waited for others. Of a recording without steps, of all of it.
    pub lateness: Ns,
    /// The steps that this is the median of; 0 where there are none.
    pub steps: u64,
    /// Collectives in which it was the last.
    pub late: u64,
    /// Matched collectives that it took part in.
    pub collectives: u64,
    /// The line at which the others wait longest, where it is known.
    pub waits_at: Option<LineKey>,
    /// The line that takes longer on this rank, where one explains the lateness.
    pub cause: Option<Cause>,
}

/// A line that takes longer on one rank. Times are per step, or of the recording where it has no steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// Which.
    pub line: LineKey,
    /// Its time on the rank, without what it calls in other lines of your code.
    pub here: Ns,
    /// The median of the other ranks.
    pub others: Ns,
    /// Whether it is device time.
    pub is_on_device: bool,
}

/// The rank with the largest lateness, if that is a notable share of the step.
pub(crate) fn straggler(
    ledger: &Ledger,
    ranks: &[RankSummary],
    matched: &[Matched],
) -> Option<Straggler> {
    let mut by_step: BTreeMap<Option<u32>, BTreeMap<u32, Ns>> = BTreeMap::new();
    for it in matched {
        let waits = by_step.entry(it.step).or_default().entry(it.last()).or_default();
        *waits = waits.saturating_add(it.longest_wait());
    }
    // What is in no step does not make steps longer.
    if by_step.len() > 1 {
        by_step.remove(&None);
    }
    let lateness = |rank: u32| -> Ns {
        let net = by_step.values().map(|waits| {
            let of = waits.get(&rank).copied().unwrap_or(Ns::ZERO);
            let all = waits.values().fold(Ns::ZERO, |sum, it| sum.saturating_add(*it));
            of.saturating_add(of).saturating_sub(all)
        });
        median(net.collect())
    };
    let mean_step =
        ranks.iter().map(|it| it.step.as_f64()).sum::<f64>() / ranks.len().max(1) as f64;
    let least = MIN_LATENESS * mean_step;
    let (worst, lateness) = ranks
        .iter()
        .map(|it| (it, lateness(it.rank)))
        .max_by_key(|(it, lateness)| (*lateness, std::cmp::Reverse(it.rank)))
        .filter(|(_, lateness)| *lateness > Ns::ZERO && least <= lateness.as_f64())?;
    Some(Straggler {
        rank: worst.rank,
        lateness,
        steps: by_step.keys().flatten().count() as u64,
        late: worst.late,
        collectives: worst.collectives,
        waits_at: waits_at(matched, worst.rank),
        cause: cause(ledger, ranks, worst.rank, lateness),
    })
}

/// The line at which others wait longest for `rank`.
fn waits_at(matched: &[Matched], rank: u32) -> Option<LineKey> {
    let mut by_line: BTreeMap<&LineKey, Ns> = BTreeMap::new();
    for it in matched.iter().filter(|it| it.last() == rank) {
        for part in &it.parts {
            if let Some(line) = &part.line {
                let waits = by_line.entry(line).or_default();
                *waits = waits.saturating_add(it.shares(part).wait);
            }
        }
    }
    by_line.into_iter().max_by_key(|(_, wait)| *wait).map(|(line, _)| line.clone())
}

/// The line that explains most of the lateness of `rank`: work of the device goes before work of the host, which waits for it.
fn cause(ledger: &Ledger, ranks: &[RankSummary], rank: u32, lateness: Ns) -> Option<Cause> {
    let most = |is_on_device: bool| {
        let causes = ledger.lines.iter().map(|(line, books)| {
            let times = if is_on_device { books.device_by_rank() } else { books.host_by_rank() };
            let per_step = |it: &RankSummary| {
                let time = times.get(&it.rank).copied().unwrap_or(Ns::ZERO);
                time / i64::try_from(it.steps.max(1)).unwrap_or(i64::MAX)
            };
            let here = ranks.iter().find(|it| it.rank == rank);
            let others = ranks.iter().filter(|it| it.rank != rank);
            Cause {
                line: line.clone(),
                here: here.map_or(Ns::ZERO, per_step),
                others: median(others.map(per_step).collect()),
                is_on_device,
            }
        });
        let most = causes.max_by_key(|it| it.here - it.others)?;
        let explained = (most.here - most.others).as_f64();
        (MIN_EXPLAINED * lateness.as_f64() <= explained).then_some(most)
    };
    most(true).or_else(|| most(false))
}
