//! How the times of many ranks lie around each other, in a few hundred bytes however many they are.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::Ns;
use crate::amount::Amount;
use crate::portion::Portion;

/// Times of ranks: their sum, the least and the most exactly, those in between to 1/32 of themselves. Times of 0 are not in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct TimeDistribution {
    sum: Ns,
    least: Option<Ns>,
    /// With its rank; of several the one with the lowest number.
    most: Option<(Ns, Reverse<u32>)>,
    /// How many times are in each bucket.
    counts: BTreeMap<u16, u64>,
}

/// Buckets of times from one power of two to the next.
const N_BUCKETS: u32 = 16;

/// The binary digits of their numbers.
const BUCKET_BITS: u32 = N_BUCKETS.ilog2();

/// The number of the bucket that a time is in: up to 32 ns each has its own, above each is a sixteenth of a power of two wide, as
/// in an HDR histogram (<https://hdrhistogram.github.io/HdrHistogram/>).
fn bucket(time: Ns) -> u16 {
    let time = u64::try_from(time.0).unwrap_or(0);
    let shift = time.checked_ilog2().unwrap_or(0).saturating_sub(BUCKET_BITS);
    let number = u64::from(shift * N_BUCKETS) + (time >> shift);
    u16::try_from(number).unwrap_or(u16::MAX)
}

/// The middle of a bucket.
fn middle(bucket: u16) -> Ns {
    let shift = (u32::from(bucket) / N_BUCKETS).saturating_sub(1);
    let least = i64::from(u32::from(bucket) - shift * N_BUCKETS);
    // A damaged file may name a bucket above all times.
    let width = 1_i64.checked_shl(shift).filter(|it| 0 < *it);
    let middle = width.and_then(|it| least.checked_mul(it)?.checked_add(it / 2));
    Ns(middle.unwrap_or(i64::MAX))
}

impl TimeDistribution {
    pub(super) fn add(&mut self, rank: u32, time: Ns) {
        if time <= Ns::ZERO {
            return;
        }
        self.sum.gain(time);
        self.least = Some(self.least.map_or(time, |it| it.min(time)));
        self.most = self.most.max(Some((time, Reverse(rank))));
        self.counts.entry(bucket(time)).or_default().gain(1);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let Self { sum, least, most, counts } = other;
        self.sum.gain(*sum);
        self.least = self.least.into_iter().chain(*least).min();
        self.most = self.most.max(*most);
        for (&bucket, n) in counts {
            self.counts.entry(bucket).or_default().gain(*n);
        }
    }

    pub(super) fn sum(&self) -> Ns {
        self.sum
    }

    /// The rank with most, and its time.
    pub(super) fn most(&self) -> Option<(u32, Ns)> {
        self.most.map(|(time, Reverse(rank))| (rank, time))
    }

    /// About how long it takes on how many of the ranks but the one with most, in ascending order.
    pub(super) fn but_most(&self) -> Vec<(Ns, u64)> {
        let (Some(least), Some((most, _))) = (self.least, self.most) else { return Vec::new() };
        // A damaged file may say that the least is more than the most.
        let within = |time: Ns| time.min(most).max(least);
        let mut times: Vec<(Ns, u64)> =
            self.counts.iter().map(|(&bucket, &n)| (within(middle(bucket)), n)).collect();
        if let Some((_, n)) = times.last_mut() {
            *n = n.saturating_sub(1);
        }
        if let Some((_, n)) = times.first_mut().filter(|(_, n)| 0 < *n) {
            *n -= 1;
            times.insert(0, (least, 1));
        }
        times.retain(|(_, n)| 0 < *n);
        times
    }

    /// Part number `part` of `n` equal ones: the parts of [`Self::sum`] add up to it.
    pub(super) fn share(&self, n: usize, part: usize) -> Self {
        let of = |time: Ns| time.share(n, part);
        let mut share = Self {
            sum: of(self.sum),
            least: self.least.map(of),
            most: self.most.map(|(time, rank)| (of(time), rank)),
            counts: BTreeMap::new(),
        };
        for (&number, count) in &self.counts {
            share.counts.entry(bucket(of(middle(number)))).or_default().gain(*count);
        }
        share
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_time_is_close_to_the_middle_of_its_bucket(time in prop_oneof![1_i64..5_000, 1_i64..i64::MAX]) {
            let middle = middle(bucket(Ns(time))).0;
            prop_assert!(middle.abs_diff(time) <= time.unsigned_abs() / 32, "{time} {middle}");
        }

        #[test]
        fn buckets_are_in_the_order_of_times(a in 1_i64..i64::MAX, b in 1_i64..5_000) {
            prop_assert_eq!(a < b && bucket(Ns(a)) > bucket(Ns(b)), false);
            prop_assert!(bucket(Ns(a)) <= bucket(Ns(a.saturating_add(b))));
        }

        #[test]
        fn no_bucket_of_a_file_is_too_large(bucket: u16) {
            prop_assert!(Ns::ZERO <= middle(bucket));
        }
    }

    fn of(times: &[i64]) -> TimeDistribution {
        let mut all = TimeDistribution::default();
        (0_u32..).zip(times).for_each(|(rank, time)| all.add(rank, Ns(*time)));
        all
    }

    #[test]
    fn sum_least_and_most_are_exact() {
        // Up to 73,727 ns from 69,632 on is one bucket.
        let all = of(&[0, 73_001, 5, 5, 70_001, 73_001]);
        assert_eq!(all.sum(), Ns(216_013));
        assert_eq!(all.most(), Some((1, Ns(73_001))));
        assert_eq!(all.but_most(), [(Ns(5), 1), (Ns(5), 1), (Ns(71_680), 2)]);
        assert_eq!(of(&[0, 8]).but_most(), []);
        assert_eq!(of(&[7, 8]).but_most(), [(Ns(7), 1)]);
    }
}
