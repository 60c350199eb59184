//! How much a line differs from step to step.

use ledger::LineBooks;

use crate::quantity::Quantity;
use crate::scale::Scale;

/// From how many steps on one in a hundred is above the 99th percentile.
const STEPS_OF_P99: usize = 100;

/// What a line has of a quantity in the steps of a recording, as means over the ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepSpread {
    /// In the step with least.
    pub least: f64,
    /// The middle one of the steps; of an even number the mean of the two in the middle.
    pub median: f64,
    /// The least amount that 99 % of the steps do not exceed (nearest rank); `None` of fewer than 100 steps, of which that is
    /// the step with most.
    pub p99: Option<f64>,
    /// In the step with most.
    pub most: f64,
    /// The number of that step; of several the first.
    pub most_in: u32,
    /// How many steps there are, those with nothing included.
    pub steps: usize,
}

impl StepSpread {
    /// `None` of fewer than two steps, of what the ledger does not keep by step, and of a line that has nothing in any step.
    #[must_use]
    pub fn new(scale: &Scale<'_>, quantity: Quantity, books: &LineBooks) -> Option<Self> {
        let n = scale.ledger().steps.len();
        let charged = scale.in_its_steps(quantity, books).filter(|_| 2 <= n)?;
        let mut most = (0.0, None);
        for &(number, value) in &charged {
            if most.0 < value {
                most = (value, Some(number));
            }
        }
        let (most, Some(most_in)) = most else { return None };
        // A long run has many lines that are in few of its steps: those with nothing are counted, not listed.
        let mut values: Vec<f64> =
            charged.into_iter().map(|(_, value)| value).filter(|it| *it != 0.0).collect();
        values.sort_by(f64::total_cmp);
        let n_below = values.partition_point(|it| *it < 0.0);
        let n_nothing = n - values.len();
        let ranked = |rank: usize| match rank {
            _ if rank < n_below => values[rank],
            _ if rank < n_below + n_nothing => 0.0,
            _ => values[rank - n_nothing],
        };
        let median = f64::midpoint(ranked((n - 1) / 2), ranked(n / 2));
        let p99 = (STEPS_OF_P99 <= n).then(|| ranked((n * 99).div_ceil(100) - 1));
        Some(Self { least: ranked(0), median, p99, most, most_in, steps: n })
    }
}

/// The median of numbers in ascending order, of an even number the mean of the middle two; 0 of nothing.
#[must_use]
pub fn median_of_sorted(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use ledger::{Ledger, Ns, PerStep};

    use super::*;
    use crate::scale::Period;

    /// The spread of a line that takes so many nanoseconds in the steps from 10 on.
    fn spread(times: &[i64]) -> Option<StepSpread> {
        let mut ledger = Ledger { ranks: 1, ..Ledger::default() };
        let mut books = LineBooks::default();
        for (step, &time) in (10..).zip(times) {
            ledger.steps.insert(step, Ns(1_000));
            if time != 0 {
                books.steps.insert(step, PerStep { cpu: Ns(time), ..PerStep::default() });
            }
        }
        StepSpread::new(&Scale::new(&ledger, Period::Mean), Quantity::CpuOwn, &books)
    }

    #[test]
    fn few_steps_have_a_range_and_no_percentile() {
        let expected =
            StepSpread { least: 0.0, median: 2.5, p99: None, most: 9.0, most_in: 12, steps: 4 };
        assert_eq!(spread(&[3, 0, 9, 2]), Some(expected));
        assert_eq!(spread(&[5]), None);
        assert_eq!(spread(&[0, 0]), None);
    }

    #[test]
    fn of_a_hundred_steps_one_is_above_the_percentile() {
        let times: Vec<i64> = (1..=100).rev().collect();
        let found = spread(&times).unwrap();
        assert_eq!((found.p99, found.most, found.most_in), (Some(99.0), 100.0, 10));
        assert_eq!(spread(&[times, vec![0; 100]].concat()).unwrap().p99, Some(98.0));
    }
}
