//! The rank that the others wait for, and the line that differs there.

use std::collections::BTreeMap;

use ledger::{Ledger, LineBooks, LineKey, Ns, Pattern};

use crate::matching::{Matched, Part};
use crate::rank_summary::RankSummary;
use crate::spread::median;
use crate::waited_for::Standstills;

/// Share (of 1) of the lateness that a line must explain to be named.
const MIN_EXPLAINED: f64 = 0.3;

/// Share (of 1) of the mean step of the ranks that a lateness must reach.
const MIN_LATENESS: f64 = 0.05;

/// Share (of 1) of the lateness that a line must explain so that most steps are enough, where the reason does not show.
const ALONE_EXPLAINED: f64 = 0.5;

/// Share (of 1) of what a line takes longer that a pause must explain to be named.
const PAUSE_EXPLAINED: f64 = 0.5;

/// From how many times the elements of the other ranks on inputs are larger.
const LARGER_INPUTS: f64 = 1.2;

/// Share (of 1) of the mean step that the lateness must reach for that: on a busy machine ranks with equal work are late by
/// less, and some line always takes longer on one of them.
const ALONE_LATENESS: f64 = 0.2;

/// Student's t with 1, 2, … degrees of freedom that is exceeded in either direction with a probability of 1 %. The last stands
/// for all that follow, of which the limit is 2.58.
const STUDENT_99: [f64; 12] =
    [63.66, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106, 3.055];

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
    /// By how much a step of the job, or the job without steps, would be shorter if the cause took as long as on the others; without a cause, if
    /// the rank computed no longer than they do. By a replay (`docs/accounting.md`).
    pub saving: Ns,
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
    /// Why it takes longer there, where that shows.
    pub reason: Option<CauseReason>,
}

/// Why a line takes longer on one rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CauseReason {
    /// Python's garbage collector.
    Collecting,
    /// `torch.compile` at work.
    Compiling,
    /// Its operators take more.
    LargerInputs {
        /// Elements of their tensors per step, or of the recording without steps.
        here: u64,
        /// The median of the other ranks.
        others: u64,
    },
}

impl CauseReason {
    /// Stable name in machine-readable output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Collecting => "collecting",
            Self::Compiling => "compiling",
            Self::LargerInputs { .. } => "larger_inputs",
        }
    }
}

/// The rank with the largest lateness, if that is a notable share of the step.
pub(crate) fn straggler(
    ledger: &Ledger,
    ranks: &[RankSummary],
    matched: &[Matched],
    standstills: &Standstills,
    waited_for: &BTreeMap<(Option<u32>, u32), Ns>,
) -> Option<Straggler> {
    let mut by_step: BTreeMap<Option<u32>, BTreeMap<u32, Ns>> = BTreeMap::new();
    for (&(step, last), &wait) in waited_for {
        by_step.entry(step).or_default().insert(last, wait);
    }
    // What is in no step does not make steps longer.
    if by_step.len() > 1 {
        by_step.remove(&None);
    }
    let steps = by_step.values().map(|waits| {
        let all = waits.values().fold(Ns::ZERO, |sum, it| sum.saturating_add(*it));
        (waits, all)
    });
    let steps: Vec<(&BTreeMap<u32, Ns>, Ns)> = steps.collect();
    let net = |rank: u32| -> Vec<Ns> {
        let net = steps.iter().map(|(waits, all)| {
            let of = waits.get(&rank).copied().unwrap_or(Ns::ZERO);
            of.saturating_add(of).saturating_sub(*all)
        });
        net.collect()
    };
    let mean_step =
        ranks.iter().map(|it| it.step.as_f64()).sum::<f64>() / ranks.len().max(1) as f64;
    let least = MIN_LATENESS * mean_step;
    let (worst, lateness) = ranks
        .iter()
        .map(|it| (it, median(net(it.rank))))
        .max_by_key(|(it, lateness)| (*lateness, std::cmp::Reverse(it.rank)))
        .filter(|(_, lateness)| *lateness > Ns::ZERO && least <= lateness.as_f64())?;
    let waits_at = waits_at(matched, standstills, worst.rank);
    let cause = cause(ledger, ranks, worst.rank, lateness);
    let is_explained = cause.as_ref().is_some_and(|it| {
        let explained = (it.here - it.others).as_f64();
        let communicates = |part: &Part| part.line.as_deref() == Some(&it.line);
        // Of a line that communicates the time depends on the other ranks, too; what it works on does not.
        let is_clear = it.reason.is_some()
            || ALONE_EXPLAINED * lateness.as_f64() <= explained
                && !matched.iter().flat_map(|it| &it.parts).any(communicates);
        is_clear && ALONE_LATENESS * mean_step <= lateness.as_f64()
    });
    if !is_lasting(&net(worst.rank), lateness, is_explained) {
        return None;
    }
    Some(Straggler {
        rank: worst.rank,
        lateness,
        steps: by_step.keys().flatten().count() as u64,
        late: worst.late,
        collectives: worst.collectives,
        saving: Ns::ZERO,
        waits_at,
        cause,
    })
}

/// Whether a rank is late in step after step, and not in some by chance: Student's test says so of what it is late by in each
/// step, or it is late in most and a line explains it. What is in no step, or in one, cannot be tested.
fn is_lasting(net: &[Ns], lateness: Ns, is_explained: bool) -> bool {
    let n = net.len();
    if n < 2 {
        return true;
    }
    let is_late = |it: &&Ns| lateness.as_f64() <= 2.0 * it.as_f64();
    if is_explained && 3 * n <= 4 * net.iter().filter(is_late).count() {
        return true;
    }
    let mean = net.iter().map(|it| it.as_f64()).sum::<f64>() / n as f64;
    let squares: f64 = net.iter().map(|it| (it.as_f64() - mean).powi(2)).sum();
    let error = (squares / (n - 1) as f64 / n as f64).sqrt();
    let quantile = STUDENT_99.get(n - 2).or(STUDENT_99.last()).copied().unwrap_or(f64::INFINITY);
    quantile * error <= mean
}

/// The line at which others wait longest for `rank`.
fn waits_at(matched: &[Matched], standstills: &Standstills, rank: u32) -> Option<LineKey> {
    let mut by_line: BTreeMap<&LineKey, Ns> = BTreeMap::new();
    for it in matched {
        let meeting = it.meeting();
        for part in &it.parts {
            let Some(line) = &part.line else { continue };
            let causes = standstills.causes(&meeting, part).into_iter();
            for (_, (from, until)) in causes.filter(|(cause, _)| *cause == rank) {
                let waits = by_line.entry(line).or_default();
                *waits = waits.saturating_add(until.saturating_sub(from));
            }
        }
    }
    by_line.into_iter().max_by_key(|(_, wait)| *wait).map(|(line, _)| line.clone())
}

/// The line that explains most of the lateness of `rank`: work of the device goes before work of the host, which waits for it.
fn cause(ledger: &Ledger, ranks: &[RankSummary], rank: u32, lateness: Ns) -> Option<Cause> {
    let most = |is_on_device: bool| {
        let causes = ledger.lines.iter().map(|(line, books)| {
            let times = if is_on_device { books.by_rank.device() } else { books.by_rank.host() };
            let per_step = |it: &RankSummary| {
                let time = times.on(it.rank, ranks.len());
                time / i64::try_from(it.steps.max(1)).unwrap_or(i64::MAX)
            };
            let here = ranks.iter().find(|it| it.rank == rank);
            let others = ranks.iter().filter(|it| it.rank != rank);
            Cause {
                line: line.clone(),
                here: here.map_or(Ns::ZERO, per_step),
                others: median(others.map(per_step).collect()),
                is_on_device,
                reason: None,
            }
        });
        let most = causes.max_by_key(|it| it.here - it.others)?;
        let explained = (most.here - most.others).as_f64();
        (MIN_EXPLAINED * lateness.as_f64() <= explained).then_some(most)
    };
    let mut cause = most(true).or_else(|| most(false))?;
    cause.reason = reason(ledger, ranks, rank, &cause);
    Some(cause)
}

/// Why the line of `cause` takes longer on `rank`.
fn reason(ledger: &Ledger, ranks: &[RankSummary], rank: u32, cause: &Cause) -> Option<CauseReason> {
    let books = ledger.lines.get(&cause.line)?;
    let late = ranks.iter().find(|it| it.rank == rank)?;
    let n_steps = i64::try_from(late.steps.max(1)).unwrap_or(i64::MAX);
    let excess = (cause.here - cause.others).saturating_mul(n_steps);
    // Pauses are added up over the ranks: what the others did not have time for was on this one.
    let times = books.by_rank.host();
    let on_others = times.sum().saturating_sub(times.on(rank, ranks.len()));
    let is_paused_by = |pattern| {
        let paused = books.patterns.get(&pattern).map_or(Ns::ZERO, |it| it.cpu);
        let here = paused.saturating_sub(on_others).as_f64();
        !cause.is_on_device && PAUSE_EXPLAINED * excess.as_f64() <= here
    };
    let pauses = [
        (Pattern::GarbageCollection, CauseReason::Collecting),
        (Pattern::Compilation, CauseReason::Compiling),
    ];
    let pause = pauses.into_iter().find(|(pattern, _)| is_paused_by(*pattern));
    pause.map(|(_, reason)| reason).or_else(|| larger_inputs(books, ranks, rank))
}

/// Whether what the operators of a line take on `rank` is larger than on the others.
fn larger_inputs(books: &LineBooks, ranks: &[RankSummary], rank: u32) -> Option<CauseReason> {
    let elements = books.by_rank.elements(&ranks.iter().map(|it| it.rank).collect());
    let mut here = 0;
    let mut others = Vec::new();
    for it in ranks {
        let per_step = elements.get(&it.rank).copied().unwrap_or(0) / it.steps.max(1);
        if it.rank == rank { here = per_step } else { others.push(per_step) }
    }
    others.sort_unstable();
    let others = *others.get(others.len() / 2).filter(|it| **it != 0)?;
    let is_larger = LARGER_INPUTS * others as f64 <= here as f64;
    is_larger.then_some(CauseReason::LargerInputs { here, others })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_is_late_by_chance_is_not_named() {
        let is_lasting = |net: &[i64], is_explained| {
            let net: Vec<Ns> = net.iter().map(|&it| Ns(it)).collect();
            super::is_lasting(&net, median(net.clone()), is_explained)
        };
        // In microseconds: what ranks with equal work were late by in four steps on a busy machine.
        for net in
            [[1541, 3363, 823, -415], [4322, 10620, 5682, -11532], [15689, 36535, 36167, 18062]]
        {
            assert!(!is_lasting(&net, false), "{net:?}");
        }
        assert!(!is_lasting(&[13874, 246, 138, 4543], true), "late in two steps of four");
        assert!(is_lasting(&[245_267, 215_686, 133_703, 121_859], false));
        assert!(is_lasting(&[-160_054, 104_335, 129_533, 114_561], true), "another was late once");
        assert!(is_lasting(&[9000], false), "a recording without steps");
    }
}
