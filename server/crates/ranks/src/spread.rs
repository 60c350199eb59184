//! What a line costs on each rank, and how these costs lie around each other.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{Ledger, LineBooks, LineKey, Ns};

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

/// The line's own time on each of `ranks`, over the recording; 0 on those without any.
#[must_use]
pub fn times_by_rank(ranks: &BTreeSet<u32>, books: &LineBooks, side: Side) -> BTreeMap<u32, Ns> {
    let mut times: BTreeMap<u32, Ns> = ranks.iter().map(|&rank| (rank, Ns::ZERO)).collect();
    times.extend(match side {
        Side::Host => books.host_by_rank(),
        Side::Device => books.device_by_rank(),
    });
    times
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
    /// `None` of fewer than two ranks.
    #[must_use]
    pub fn of(times: &BTreeMap<u32, Ns>) -> Option<Self> {
        let (&worst, &max) =
            times.iter().max_by_key(|(rank, time)| (**time, std::cmp::Reverse(**rank)))?;
        let n_others = i64::try_from(times.len()).ok()?.checked_sub(1).filter(|&it| 0 < it)?;
        let sum = times.values().fold(Ns::ZERO, |sum, it| sum.saturating_add(*it));
        Some(Self {
            min: times.values().copied().min().unwrap_or(Ns::ZERO),
            median: median(times.values().copied().collect()),
            max,
            worst,
            others: sum.saturating_sub(max) / n_others,
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

/// The lines that cost the ranks `one` and `other` different amounts of time, the largest difference first.
#[must_use]
pub fn differences(ledger: &Ledger, one: u32, other: u32) -> Vec<LineDifference> {
    let steps = |rank: u32| {
        let n = ledger.overviews.get(&rank).map_or(0, |it| it.steps.len());
        i64::try_from(n.max(1)).unwrap_or(i64::MAX)
    };
    let (steps_of_one, steps_of_other) = (steps(one), steps(other));
    let mut found = Vec::new();
    for (line, books) in &ledger.lines {
        for side in [Side::Host, Side::Device] {
            let times = times_by_rank(&BTreeSet::from([one, other]), books, side);
            let time = |rank: u32| times.get(&rank).copied().unwrap_or(Ns::ZERO);
            let it = LineDifference {
                line: line.clone(),
                one: time(one) / steps_of_one,
                other: time(other) / steps_of_other,
                side,
            };
            if it.difference() != Ns::ZERO {
                found.push(it);
            }
        }
    }
    // The lines are in order, and the sort is stable.
    found.sort_by_key(|it| std::cmp::Reverse(it.difference().abs()));
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
    use ledger::{Interval, Overview, RankShare};

    use super::*;

    fn spread(times: &[i64]) -> Option<Spread> {
        Spread::of(&(0..).zip(times.iter().map(|&it| Ns(it))).collect())
    }

    #[test]
    fn the_longest_rank_is_named_and_the_others_lie_around_the_median() {
        let expected = Spread { min: Ns(0), median: Ns(15), max: Ns(70), worst: 2, others: Ns(10) };
        assert_eq!(spread(&[10, 0, 70, 20]), Some(expected));
        assert_eq!(spread(&[5]), None, "one rank");
        assert!(spread(&[10, 0, 70, 20]).is_some_and(|it| it.is_uneven()));
        assert!(spread(&[10, 11]).is_some_and(|it| !it.is_uneven()));
        assert!(spread(&[0, 0]).is_some_and(|it| !it.is_uneven()));
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
