//! What a line costs on each rank, and how these costs lie around each other.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use ledger::{Ledger, LineBooks, LineKey, Ns, TimesByRank};

/// From which multiple of the mean of the other ranks on a rank stands out.
const MIN_FACTOR: i64 = 2;

/// Where time is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// On the threads of the host, waiting included.
    Host,
    /// On devices.
    Device,
}

/// The ranks that `ledger` knows anything of.
#[must_use]
pub fn ranks_of(ledger: &Ledger) -> BTreeSet<u32> {
    let of_threads = ledger.threads.keys().map(|it| it.rank);
    ledger.overviews.keys().chain(ledger.communication.keys()).copied().chain(of_threads).collect()
}

/// The line's own time by rank, over the recording.
#[must_use]
pub fn times_by_rank(books: &LineBooks, side: Side) -> TimesByRank {
    match side {
        Side::Host => books.by_rank.host(),
        Side::Device => books.by_rank.device(),
    }
}

/// How the times of ranks lie around each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    /// The shortest.
    pub min: Ns,
    /// The median; of an even number of ranks the mean of the middle two.
    pub median: Ns,
    /// The longest.
    pub max: Ns,
    /// The rank with the longest; of several the one with the lowest number.
    pub worst: u32,
    /// The mean of the others.
    pub others: Ns,
}

impl Spread {
    /// Of times on `ranks`; `None` of fewer than two.
    #[must_use]
    pub fn of(ranks: &BTreeSet<u32>, times: &TimesByRank) -> Option<Self> {
        let TimesByRank { by_rank, others, of_others: _ } = times;
        let most = by_rank.iter().max_by_key(|(rank, time)| (**time, Reverse(**rank)));
        let (worst, max) = match most {
            Some((&rank, &time)) => (rank, time),
            None => (*ranks.first()?, Ns::ZERO),
        };
        let mut sorted = others.clone();
        sorted.extend(by_rank.values().map(|&time| (time, 1)));
        let with_some = sorted.iter().fold(0_u64, |sum, (_, n)| sum.saturating_add(*n));
        let n_ranks = (ranks.len() as u64).max(with_some);
        let without = n_ranks.saturating_sub(with_some);
        sorted.extend((0 < without).then_some((Ns::ZERO, without)));
        sorted.sort_unstable();
        let n_others = i64::try_from(n_ranks).ok()?.checked_sub(1).filter(|&it| 0 < it)?;
        let (low, high) = (nth(&sorted, n_others as u64 / 2), nth(&sorted, n_ranks / 2));
        Some(Self {
            min: nth(&sorted, 0),
            median: low + (high - low) / 2,
            max,
            worst,
            others: times.sum().saturating_sub(max) / n_others,
        })
    }

    /// Whether one rank takes at least twice the mean of the others.
    #[must_use]
    pub fn is_uneven(&self) -> bool {
        Ns::ZERO < self.max && self.others.saturating_mul(MIN_FACTOR) <= self.max
    }
}

/// A line that costs two ranks different amounts of time. Times are per step of the rank, or over the recording where it has
/// no steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineDifference {
    /// Which line.
    pub line: LineKey,
    /// Its own time on the one rank.
    pub one: Ns,
    /// Its own time on the other.
    pub other: Ns,
    /// Where it is spent.
    pub side: Side,
}

impl LineDifference {
    /// By how much the one takes longer than the other.
    #[must_use]
    pub fn difference(&self) -> Ns {
        self.one.saturating_sub(self.other)
    }
}

/// The time at a place among times in ascending order, of which each comes several times.
fn nth(sorted: &[(Ns, u64)], place: u64) -> Ns {
    let mut before = 0_u64;
    let at = sorted.iter().find(|(_, n)| {
        before = before.saturating_add(*n);
        place < before
    });
    at.map_or(Ns::ZERO, |(time, _)| *time)
}

/// The lines that cost the ranks `one` and `other` different amounts of time, the largest difference first.
#[must_use]
pub fn differences(ledger: &Ledger, one: u32, other: u32) -> Vec<LineDifference> {
    let steps = |rank: u32| {
        let n = ledger.overviews.get(&rank).map_or(0, |it| it.steps.len());
        i64::try_from(n.max(1)).unwrap_or(i64::MAX)
    };
    let (steps_of_one, steps_of_other) = (steps(one), steps(other));
    let n_ranks = ranks_of(ledger).len();
    let mut found = Vec::new();
    for (line, books) in &ledger.lines {
        for side in [Side::Host, Side::Device] {
            let times = times_by_rank(books, side);
            let it = LineDifference {
                line: line.clone(),
                one: times.on(one, n_ranks) / steps_of_one,
                other: times.on(other, n_ranks) / steps_of_other,
                side,
            };
            if it.difference() != Ns::ZERO {
                found.push(it);
            }
        }
    }
    // The lines are in order, and the sort is stable.
    found.sort_by_key(|it| Reverse(it.difference().abs()));
    found
}

/// The median, of an even number the mean of the middle two; 0 of nothing.
#[must_use]
pub fn median(mut times: Vec<Ns>) -> Ns {
    times.sort_unstable();
    match times.len() {
        0 => Ns::ZERO,
        n if n % 2 == 1 => times[n / 2],
        n => times[n / 2 - 1] + (times[n / 2] - times[n / 2 - 1]) / 2,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ledger::{Interval, Overview, RankShare};

    use super::*;

    fn spread(times: &[i64]) -> Option<Spread> {
        let by_rank =
            (0..).zip(times.iter().map(|&it| Ns(it))).filter(|it| it.1 != Ns::ZERO).collect();
        let ranks = (0..).take(times.len()).collect();
        Spread::of(&ranks, &TimesByRank { by_rank, ..TimesByRank::default() })
    }

    #[test]
    fn the_longest_rank_is_named_and_the_others_lie_around_the_median() {
        let expected = Spread { min: Ns(0), median: Ns(15), max: Ns(70), worst: 2, others: Ns(10) };
        assert_eq!(spread(&[10, 0, 70, 20]), Some(expected));
        assert_eq!(spread(&[5]), None, "one rank");
        assert!(spread(&[10, 0, 70, 20]).is_some_and(|it| it.is_uneven()));
        assert!(spread(&[10, 11]).is_some_and(|it| !it.is_uneven()));
        assert!(spread(&[0, 0]).is_some_and(|it| !it.is_uneven()));
        let equal = Spread { min: Ns(0), median: Ns(0), max: Ns(5), worst: 0, others: Ns(1) };
        assert_eq!(spread(&[5, 5, 0, 0, 0]), Some(equal));
    }

    #[test]
    fn ranks_that_are_not_kept_apart_lie_around_the_median_too() {
        let times = TimesByRank {
            by_rank: BTreeMap::from([(7, Ns(90)), (9, Ns(20))]),
            others: vec![(Ns(4), 1), (Ns(10), 3)],
            of_others: Ns(36),
        };
        let of = |n_ranks| Spread::of(&(0..n_ranks).collect(), &times);
        let six = Spread { min: Ns(4), median: Ns(10), max: Ns(90), worst: 7, others: Ns(11) };
        assert_eq!(of(6), Some(six));
        let zeros = Spread { min: Ns(0), median: Ns(2), max: Ns(90), worst: 7, others: Ns(5) };
        assert_eq!(of(12), Some(zeros));
    }

    #[test]
    fn two_ranks_differ_by_line_per_step_of_each() {
        let mut ledger = Ledger::default();
        for (rank, steps) in [(0, 2), (1, 1)] {
            let steps = (0..steps).map(|step| (step, Interval::default())).collect();
            ledger.overviews.insert(rank, Overview { steps, ..Overview::default() });
        }
        for (line, times) in [(1, [20, 10]), (2, [10, 40]), (3, [0, 8])] {
            let shares = (0..).zip(times);
            let by_rank = shares.map(|(rank, time)| RankShare::of_thread(rank, Ns(time))).collect();
            let key = LineKey { file: "a.py".to_owned(), line };
            let books = LineBooks { by_rank, ..LineBooks::default() };
            ledger.lines.insert(key, Box::new(books));
        }
        let found = differences(&ledger, 1, 0);
        let found: Vec<_> = found.iter().map(|it| (it.line.line, it.difference())).collect();
        assert_eq!(found, [(2, Ns(35)), (3, Ns(8))], "line 1 takes 10 a step on both");
    }
}
