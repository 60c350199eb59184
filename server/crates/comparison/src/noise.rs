//! Which differences exceed the noise: that between the steps of a run, and that between two runs.

use metrics::median_of_sorted;

/// Confidence (of 1) of the interval of a shift.
const CONFIDENCE: f64 = 0.99;

/// Share (of 1) of the larger mean step that a difference of time must reach.
const MIN_SHARE: f64 = 0.005;

/// Share (of 1) of the larger of two times that their difference must reach: what code costs differs by some percent from
/// process to process, with the addresses that its data have.
const MIN_RELATIVE: f64 = 0.05;

/// Lines that must be comparable for the drift between two runs to be estimated from them.
const MIN_DRIFT_LINES: usize = 5;

/// Least standard deviation of what a line's time is multiplied with from run to run, as a natural logarithm.
const MIN_SPREAD: f64 = 0.03;

/// Standard deviations by which a line must differ from the drift.
const MAX_DEVIATIONS: f64 = 3.0;

/// Factor, beside the drift, by which the time of the same work on the host must differ. Where the memory of a process lies,
/// and whether it has to be taken from the system anew, makes an operator up to twice as slow from its first step to its last.
const MIN_FACTOR_OF_SAME_WORK: f64 = 3.0;

/// Steps of a run that are compared with those of the other; of more, as many are taken at equal distances.
const MAX_STEPS: usize = 64;

/// A median absolute deviation times this estimates the standard deviation of a normal distribution.
const NORMAL_MAD: f64 = 1.4826;

/// By how much the steps of two runs differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// The median of the differences of all pairs of steps (Hodges–Lehmann).
    pub estimate: f64,
    /// Where the interval of confidence begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
}

impl Shift {
    /// By how much `new` is larger than `base`, with the interval that belongs to the rank-sum test of Wilcoxon, Mann and
    /// Whitney. With too few steps for a confidence of 99 %, the interval of all differences, longer at both ends by the larger
    /// range of the two. `None` where a run has fewer than two steps.
    #[must_use]
    pub fn between(base: &[f64], new: &[f64]) -> Option<Self> {
        let (base, new) = (thinned(base), thinned(new));
        if base.len() < 2 || new.len() < 2 {
            return None;
        }
        let mut differences: Vec<f64> =
            new.iter().flat_map(|new| base.iter().map(move |base| new - base)).collect();
        differences.sort_by(f64::total_cmp);
        let n = differences.len();
        let (low, high) = match rank_of_limit(base.len(), new.len()) {
            0 => {
                let longer = range(&base).max(range(&new));
                (differences[0] - longer, differences[n - 1] + longer)
            }
            rank => (differences[rank - 1], differences[n - rank]),
        };
        Some(Self { estimate: median_of_sorted(&differences), low, high })
    }

    /// Whether the interval lies on one side of 0.
    #[must_use]
    pub fn excludes_zero(&self) -> bool {
        0.0 < self.low || self.high < 0.0
    }
}

/// The rank, from either end, of the difference at which the interval ends: the largest `c` with
/// P(U < c) ≤ (1 − [`CONFIDENCE`]) ÷ 2, where U is the statistic of Mann and Whitney; 0 where there is none.
fn rank_of_limit(n: usize, m: usize) -> usize {
    // How many orders of n and m things have each value of U: that of one more thing follows from those of one less. Beyond
    // half of the values none is needed.
    let n_values = n * m / 2 + 1;
    let mut orders = vec![vec![0.0_f64; n_values]; m + 1];
    for row in &mut orders {
        row[0] = 1.0;
    }
    for _ in 0..n {
        // The largest thing is one of the n, above j of the m; or one of the m.
        let mut next = vec![vec![0.0_f64; n_values]; m + 1];
        next[0][0] = 1.0;
        for j in 1..=m {
            for value in 0..n_values {
                let of_n = if j <= value { orders[j][value - j] } else { 0.0 };
                next[j][value] = of_n + next[j - 1][value];
            }
        }
        orders = next;
    }
    let all = (1..=n).fold(1.0, |all, i| all * (m + i) as f64 / i as f64);
    let mut sum = 0.0;
    let allowed = orders[m].iter().take_while(|&&it| {
        sum += it;
        sum / all <= (1.0 - CONFIDENCE) / 2.0
    });
    allowed.count()
}

/// By how much the halves of a run differ: steps that follow each other are alike, so that the interval of a shift, which takes
/// them for independent, is too short where a machine is sometimes slow for a while. 0 where steps are too few.
fn slow_change(steps: &[f64]) -> f64 {
    let (first, second) = steps.split_at(steps.len() / 2);
    Shift::between(first, second).map_or(0.0, |it| it.estimate.abs())
}

/// At most [`MAX_STEPS`] of the values, at equal distances.
fn thinned(values: &[f64]) -> Vec<f64> {
    match values.len() {
        n if n <= MAX_STEPS => values.to_vec(),
        n => (0..MAX_STEPS).map(|it| values[it * n / MAX_STEPS]).collect(),
    }
}

fn range(values: &[f64]) -> f64 {
    let (low, high) = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &it| (low.min(it), high.max(it)));
    high - low
}

/// The median; 0 of nothing.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

/// How much faster or slower lines ran that say the same in both runs: another machine, another load of it, another clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// The median of new ÷ base over these lines; 1 where there are too few of them.
    pub factor: f64,
    /// The standard deviation of the natural logarithm of new ÷ base, from the median absolute deviation.
    pub spread: f64,
    /// How many lines it is estimated from; 0 where there are too few.
    pub lines: usize,
}

impl Drift {
    /// From the medians of lines in the base and in the new run.
    pub(crate) fn of(medians: &[(f64, f64)]) -> Self {
        if medians.len() < MIN_DRIFT_LINES {
            return Self { factor: 1.0, spread: MIN_SPREAD, lines: 0 };
        }
        let logarithms: Vec<f64> = medians.iter().map(|(base, new)| (new / base).ln()).collect();
        let middle = median(&logarithms);
        let deviations: Vec<f64> = logarithms.iter().map(|it| (it - middle).abs()).collect();
        let spread = (NORMAL_MAD * median(&deviations)).max(MIN_SPREAD);
        Self { factor: middle.exp(), spread, lines: medians.len() }
    }

    /// Whether times differ by more than the drift and its spread explain.
    pub(crate) fn is_exceeded(&self, base: f64, new: f64) -> bool {
        if base <= 0.0 || new <= 0.0 {
            return base != new;
        }
        let deviation = (new / base / self.factor).ln().abs();
        MAX_DEVIATIONS * self.spread < deviation
    }
}

/// What a difference must reach to matter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LeastDifference {
    /// Nanoseconds or bytes, in the mean step.
    pub amount: f64,
    /// The share (of 1) of the larger of both.
    pub share: f64,
}

/// What decides whether a difference of times counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoiseTest {
    /// The larger mean step, or recording without steps.
    pub(crate) step: f64,
    pub(crate) drift: Drift,
}

impl NoiseTest {
    /// Whether the steps of two runs differ by more than the noise. `None` where the steps are too few to say.
    pub(crate) fn is_significant(
        &self,
        base: &[f64],
        new: &[f64],
    ) -> (Option<Shift>, Option<bool>) {
        let shift = Shift::between(base, new);
        let significant = shift.map(|shift| {
            let (old, young) = (median(base), median(new));
            shift.excludes_zero()
                && self.is_large(shift.estimate, old.max(young))
                && slow_change(base).max(slow_change(new)) < shift.estimate.abs()
                && self.is_beyond_drift(base, new, old, young)
        });
        (shift, significant)
    }

    /// Whether steps in which the same work was done differ by more than processes do.
    pub(crate) fn is_beyond_processes(&self, base: &[f64], new: &[f64]) -> bool {
        let (old, young) = (median(base), median(new));
        let factor = (young / old / self.drift.factor).ln().abs();
        old <= 0.0 || young <= 0.0 || MIN_FACTOR_OF_SAME_WORK.ln() <= factor
    }

    /// Whether a difference is large enough to matter.
    pub(crate) fn is_large(&self, difference: f64, larger: f64) -> bool {
        let LeastDifference { amount, share } = self.least();
        amount <= difference.abs() && share * larger <= difference.abs()
    }

    /// What a difference of times must reach.
    pub(crate) fn least(&self) -> LeastDifference {
        LeastDifference { amount: MIN_SHARE * self.step, share: MIN_RELATIVE }
    }

    /// Whether the difference stays, in its direction, when the base is taken as fast as the new run was throughout.
    fn is_beyond_drift(&self, base: &[f64], new: &[f64], old: f64, young: f64) -> bool {
        let corrected: Vec<f64> = base.iter().map(|it| it * self.drift.factor).collect();
        let is_one_direction = Shift::between(&corrected, new)
            .is_some_and(|it| it.excludes_zero() && (0.0 < it.estimate) == (old < young));
        is_one_direction && self.drift.is_exceeded(old, young)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_those_of_published_tables() {
        // Two-sided 1 %: the critical values of U are one less than the rank.
        let rows = [
            ((4, 4), 0),
            ((5, 5), 1),
            ((6, 6), 3),
            ((8, 8), 8),
            ((10, 10), 17),
            ((5, 10), 5),
            ((20, 20), 106),
        ];
        for ((n, m), rank) in rows {
            assert_eq!(rank_of_limit(n, m), rank, "{n}, {m}");
            assert_eq!(rank_of_limit(m, n), rank, "{m}, {n}");
        }
    }

    #[test]
    fn shifts_are_robust_and_certain_only_with_enough_steps() {
        let base = [10.0, 11.0, 10.5, 10.2, 10.8, 90.0];
        let new = [7.0, 7.2, 6.9, 7.1, 50.0, 7.3];
        let shift = Shift::between(&base, &new).unwrap();
        assert!((shift.estimate + 3.5).abs() < 0.3, "{shift:?}");
        assert!(Shift::between(&base[..5], &new[..4]).unwrap().excludes_zero());
        let near = [10.0, 10.3, 10.6];
        assert!(!Shift::between(&near, &[9.4, 9.9, 9.2]).unwrap().excludes_zero());
        assert!(Shift::between(&near, &[5.0, 5.1, 5.2]).unwrap().excludes_zero());
        assert_eq!(Shift::between(&[1.0], &new), None);
    }

    #[test]
    fn what_all_lines_share_is_drift() {
        let lines: Vec<(f64, f64)> =
            (1..=9).map(|it| (f64::from(it), f64::from(it) * 1.3)).collect();
        let drift = Drift::of(&lines);
        assert!((drift.factor - 1.3).abs() < 1e-9 && drift.lines == 9);
        let test = NoiseTest { step: 100.0, drift };
        let steps = |median: f64| [median - 0.1, median, median + 0.1, median, median, median];
        let is = |base: f64, new: f64| test.is_significant(&steps(base), &steps(new)).1;
        assert_eq!(is(10.0, 13.0), Some(false));
        assert_eq!(is(10.0, 10.0), Some(false));
        assert_eq!(is(10.0, 5.0), Some(true));
        assert_eq!(is(10.0, 20.0), Some(true));
        // Small beside the step.
        assert_eq!(test.is_significant(&[0.1; 9], &[0.3; 9]).1, Some(false));
        assert_eq!(Drift::of(&lines[..4]).factor, 1.0);
    }
}
