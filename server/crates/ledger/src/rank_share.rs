//! What a line costs on each rank.

mod distribution;
mod list;
mod share;

use std::collections::{BTreeMap, BTreeSet};

use crate::Ns;
use crate::amount::Amount;
use crate::portion::Portion;

use distribution::TimeDistribution;
use list::ShareList;

pub use share::RankShare;

/// What a line costs by rank. The books of a run of many ranks grow with its lines, and with the few lines that a rank spends its
/// time on, but not with ranks times lines: where a line is small on more than 64 ranks, these are not kept apart.
///
/// Whether a line is small on a rank is decided by what was recorded of that rank alone, so that it makes no difference in which
/// order ranks are added.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(from = "SharesInFile", into = "SharesInFile")]
pub struct RankShares {
    large: ShareList,
    small: SmallShares,
}

/// The shares that are small.
#[derive(Debug, Clone, PartialEq, Eq)]
enum SmallShares {
    ByRank(ShareList),
    OfMany(Box<ManyShares>),
}

/// The ranks at most whose small shares of a line are kept apart.
const MAX_SMALL: usize = 64;

/// Shares of ranks that are not kept apart.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct ManyShares {
    host: TimeDistribution,
    device: TimeDistribution,
    /// A sum.
    longest_thread: Ns,
    /// A sum.
    elements: u64,
}

impl Default for SmallShares {
    fn default() -> Self {
        Self::ByRank(ShareList::default())
    }
}

impl RankShares {
    /// The share of one rank, which was recorded for the time `run`.
    #[must_use]
    pub fn of_rank(share: &RankShare, run: Ns) -> Self {
        let mut shares = Self::default();
        if share.is_small(run) {
            shares.small.add(share);
        } else {
            shares.large.add(share);
        }
        shares
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        other.large.iter().for_each(|it| self.large.add(&it));
        match &other.small {
            SmallShares::ByRank(shares) => shares.iter().for_each(|it| self.small.add(&it)),
            SmallShares::OfMany(many) => self.small.add_many(many),
        }
    }

    /// Part number `part` of `n` equal ones.
    pub(crate) fn share(&self, n: usize, part: usize) -> Self {
        let of_list = |list: &ShareList| list.iter().map(|it| it.share(n, part)).collect();
        let small = match &self.small {
            SmallShares::ByRank(shares) => SmallShares::ByRank(of_list(shares)),
            SmallShares::OfMany(many) => SmallShares::OfMany(Box::new(many.share(n, part))),
        };
        Self { large: of_list(&self.large), small }
    }

    /// `cpu_own` by rank.
    #[must_use]
    pub fn host(&self) -> TimesByRank {
        self.times(|it| it.host, |many| &many.host)
    }

    /// `cuda_own` by rank.
    #[must_use]
    pub fn device(&self) -> TimesByRank {
        self.times(|it| it.device, |many| &many.device)
    }

    /// On each rank the time of the thread with most, added up.
    #[must_use]
    pub fn longest_threads(&self) -> Ns {
        let of_many = self.many().map_or(Ns::ZERO, |it| it.longest_thread);
        self.kept().fold(of_many, |sum, it| sum.saturating_add(it.longest_thread))
    }

    /// The elements of the tensors that operators took on each of `ranks`; on those that are not kept apart, their mean.
    #[must_use]
    pub fn elements(&self, ranks: &BTreeSet<u32>) -> BTreeMap<u32, u64> {
        let mut elements: BTreeMap<u32, u64> = BTreeMap::new();
        for it in self.kept() {
            elements.entry(it.rank).or_default().gain(it.elements);
        }
        let missing = ranks.iter().filter(|it| !elements.contains_key(it));
        let missing: Vec<u32> = missing.copied().collect();
        let of_many = self.many().map_or(0, |it| it.elements);
        let share = |part| of_many.share(missing.len(), part);
        elements.extend(missing.iter().enumerate().map(|(part, &rank)| (rank, share(part))));
        elements
    }

    /// The shares of ranks that are kept apart.
    fn kept(&self) -> impl Iterator<Item = RankShare> {
        let small = match &self.small {
            SmallShares::ByRank(shares) => Some(shares),
            SmallShares::OfMany(_) => None,
        };
        self.large.iter().chain(small.into_iter().flat_map(ShareList::iter))
    }

    /// The shares of those that are not.
    fn many(&self) -> Option<&ManyShares> {
        match &self.small {
            SmallShares::ByRank(_) => None,
            SmallShares::OfMany(many) => Some(many),
        }
    }

    fn times(
        &self,
        of: impl Fn(&RankShare) -> Ns,
        of_many: impl Fn(&ManyShares) -> &TimeDistribution,
    ) -> TimesByRank {
        let many = self.many().map(of_many);
        let most = many.and_then(TimeDistribution::most);
        let mut by_rank: BTreeMap<u32, Ns> = BTreeMap::new();
        for (rank, time) in self.kept().map(|it| (it.rank, of(&it))).chain(most) {
            if time != Ns::ZERO {
                by_rank.entry(rank).or_default().gain(time);
            }
        }
        let sum = many.map_or(Ns::ZERO, TimeDistribution::sum);
        TimesByRank {
            by_rank,
            others: many.map(TimeDistribution::but_most).unwrap_or_default(),
            of_others: sum.saturating_sub(most.map_or(Ns::ZERO, |(_, time)| time)),
        }
    }
}

impl FromIterator<RankShare> for RankShares {
    /// Shares that are not small.
    fn from_iter<I: IntoIterator<Item = RankShare>>(shares: I) -> Self {
        Self { large: shares.into_iter().collect(), small: SmallShares::default() }
    }
}

impl SmallShares {
    fn add(&mut self, more: &RankShare) {
        match self {
            Self::ByRank(shares) => {
                shares.add(more);
                if MAX_SMALL < shares.len() {
                    self.add_many(&ManyShares::default());
                }
            }
            Self::OfMany(many) => many.add(more),
        }
    }

    fn add_many(&mut self, more: &ManyShares) {
        let mut many = match std::mem::take(self) {
            Self::OfMany(many) => many,
            Self::ByRank(shares) => {
                let mut many = Box::<ManyShares>::default();
                shares.iter().for_each(|it| many.add(&it));
                many
            }
        };
        many.merge(more);
        *self = Self::OfMany(many);
    }
}

impl ManyShares {
    fn add(&mut self, more: &RankShare) {
        let RankShare { rank, host, longest_thread, device, elements } = more;
        self.host.add(*rank, *host);
        self.device.add(*rank, *device);
        self.longest_thread.gain(*longest_thread);
        self.elements.gain(*elements);
    }

    fn merge(&mut self, other: &Self) {
        let Self { host, device, longest_thread, elements } = other;
        self.host.merge(host);
        self.device.merge(device);
        self.longest_thread.gain(*longest_thread);
        self.elements.gain(*elements);
    }

    fn share(&self, n: usize, part: usize) -> Self {
        Self {
            host: self.host.share(n, part),
            device: self.device.share(n, part),
            longest_thread: self.longest_thread.share(n, part),
            elements: self.elements.share(n, part),
        }
    }
}

/// The time of a line on the ranks of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimesByRank {
    /// On the ranks that are kept apart, those without any left out. The one with most is among them.
    pub by_rank: BTreeMap<u32, Ns>,
    /// About how long it takes on how many of the others, in ascending order: the least exactly, all else to 1/32. Not empty only
    /// where the line takes less than a thousandth of the recording on each of more than 64 ranks.
    pub others: Vec<(Ns, u64)>,
    /// On all of the others together.
    pub of_others: Ns,
}

impl TimesByRank {
    /// On all ranks together.
    #[must_use]
    pub fn sum(&self) -> Ns {
        self.by_rank.values().fold(self.of_others, |sum, it| sum.saturating_add(*it))
    }

    /// On one of `n_ranks` ranks; the mean of those that are not kept apart if it is one of them.
    #[must_use]
    pub fn on(&self, rank: u32, n_ranks: usize) -> Ns {
        let mean = || {
            let n = n_ranks.saturating_sub(self.by_rank.len()).max(1);
            self.of_others / i64::try_from(n).unwrap_or(i64::MAX)
        };
        self.by_rank.get(&rank).copied().unwrap_or_else(mean)
    }
}

/// As a file has them: the shares that are kept apart, in any order, and those that are not.
#[derive(serde::Serialize, serde::Deserialize)]
struct SharesInFile {
    large: Vec<RankShare>,
    small: Vec<RankShare>,
    many: Option<Box<ManyShares>>,
}

impl From<SharesInFile> for RankShares {
    fn from(file: SharesInFile) -> Self {
        let mut shares: Self = file.large.into_iter().collect();
        file.small.iter().for_each(|it| shares.small.add(it));
        if let Some(many) = file.many {
            shares.small.add_many(&many);
        }
        shares
    }
}

impl From<RankShares> for SharesInFile {
    fn from(shares: RankShares) -> Self {
        let large = shares.large.iter().collect();
        match shares.small {
            SmallShares::ByRank(list) => Self { large, small: list.iter().collect(), many: None },
            SmallShares::OfMany(many) => Self { large, small: Vec::new(), many: Some(many) },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn share() -> impl Strategy<Value = RankShare> {
        // Few ranks, so that some come twice, on both sides of where blocks meet, and the last that there can be.
        let rank = prop_oneof![0_u32..4, 60_u32..70, Just(u32::MAX)];
        let time = || prop_oneof![Just(0_i64), 0_i64..1 << 40, Just(i64::MAX)].prop_map(Ns);
        (rank, time(), time(), time(), prop_oneof![0_u64..9, any::<u64>()]).prop_map(
            |(rank, host, longest_thread, device, elements)| RankShare {
                rank,
                host,
                longest_thread,
                device,
                elements,
            },
        )
    }

    proptest! {
        #[test]
        fn shares_are_the_sums_of_each_rank_in_any_order(
            shares in prop::collection::vec(share(), 0..40),
            half in 0_usize..40,
        ) {
            let mut expected: BTreeMap<u32, RankShare> = BTreeMap::new();
            for it in &shares {
                expected.entry(it.rank).and_modify(|mine| mine.merge(it)).or_insert(*it);
            }
            let found: RankShares = shares.iter().copied().collect();
            prop_assert_eq!(found.kept().collect::<Vec<_>>(), expected.into_values().collect::<Vec<_>>());
            let backwards: RankShares = shares.iter().rev().copied().collect();
            prop_assert_eq!(&found, &backwards);
            let (one, other) = shares.split_at(half.min(shares.len()));
            let mut merged: RankShares = one.iter().copied().collect();
            merged.merge(&other.iter().copied().collect());
            prop_assert_eq!(&found, &merged);
            let listed: SharesInFile = found.clone().into();
            prop_assert_eq!(found, RankShares::from(listed));
        }

        #[test]
        fn many_ranks_are_merged_in_any_order(
            times in prop::collection::vec((0_i64..3_000, 0_i64..3_000, 0_u64..9), 0..200),
            cuts in (0_usize..200, 0_usize..200),
        ) {
            // What is below 1,000 is small.
            let run = Ns(1_000_000);
            let ranks: Vec<RankShares> = (0..).zip(&times).map(|(rank, &(host, device, elements))| {
                let (host, device) = (Ns(host / 2), Ns(device / 2));
                RankShares::of_rank(&RankShare { rank, host, longest_thread: host, device, elements }, run)
            }).collect();
            let sum = |shares: &[RankShares]| shares.iter().fold(RankShares::default(), |mut sum, it| {
                sum.merge(it);
                sum
            });
            let all = sum(&ranks);
            let [from, to] = [cuts.0.min(cuts.1), cuts.0.max(cuts.1)].map(|it| it.min(ranks.len()));
            let [a, b, c] = [&ranks[..from], &ranks[from..to], &ranks[to..]].map(sum);
            prop_assert_eq!(&sum(&[sum(&[a.clone(), b.clone()]), c.clone()]), &all);
            prop_assert_eq!(&sum(&[c, sum(&[b, a])]), &all);
            prop_assert_eq!(&RankShares::from(SharesInFile::from(all.clone())), &all);

            let on_host: Vec<i64> = times.iter().map(|it| it.0 / 2).collect();
            let on_device: Vec<i64> = times.iter().map(|it| it.1 / 2).collect();
            let is_large = |it: &RankShares| it.small == SmallShares::default();
            let n_small = ranks.iter().filter(|it| !is_large(it)).count();
            prop_assert_eq!(all.many().is_some(), MAX_SMALL < n_small);
            for (found, exact) in [(all.host(), &on_host), (all.device(), &on_device)] {
                prop_assert_eq!(found.sum(), Ns(exact.iter().sum()));
                let most = found.by_rank.iter().max_by_key(|(rank, time)| (**time, std::cmp::Reverse(**rank)));
                let expected = (0_u32..).zip(exact).max_by_key(|(rank, time)| (**time, std::cmp::Reverse(*rank)));
                prop_assert_eq!(
                    most.map(|(rank, time)| (*rank, time.0)),
                    expected.map(|(rank, time)| (rank, *time)).filter(|(_, time)| *time != 0)
                );
                for (rank, time) in &found.by_rank {
                    prop_assert_eq!(time.0, exact[*rank as usize]);
                }
                // One by one, what is not kept apart is as long as the buckets say.
                let mut others: Vec<i64> = (0_u32..).zip(exact).filter(|(rank, time)| **time != 0 && !found.by_rank.contains_key(rank)).map(|(_, time)| *time).collect();
                others.sort_unstable();
                let about = found.others.iter().flat_map(|&(time, n)| std::iter::repeat_n(time.0, n as usize));
                let about: Vec<i64> = about.collect();
                prop_assert_eq!(about.len(), others.len());
                for (about, exact) in about.iter().zip(&others) {
                    prop_assert!(about.abs_diff(*exact) <= exact.unsigned_abs() / 16, "{} {}", about, exact);
                }
                let ids: BTreeSet<u32> = (0..).take(times.len()).collect();
                let n = i64::try_from(times.len()).unwrap();
                let spread: Ns = ids.iter().map(|it| found.on(*it, ids.len())).sum();
                prop_assert!((Ns::ZERO..=Ns(n)).contains(&(found.sum() - spread)));
            }
            prop_assert_eq!(all.longest_threads(), all.host().sum());
            let ids: BTreeSet<u32> = (0..).take(times.len()).collect();
            prop_assert_eq!(all.elements(&ids).into_values().sum::<u64>(), times.iter().map(|it| it.2).sum());
        }
    }

    #[test]
    fn a_thousand_ranks_on_which_a_line_is_small_take_few_bytes() {
        let mut all = RankShares::default();
        for rank in 0..1_000 {
            let share = RankShare::of_thread(rank, Ns(i64::from(30_000 + 7 * rank)));
            all.merge(&RankShares::of_rank(&share, Ns(100_000_000)));
        }
        let bytes = postcard::to_allocvec(&all).unwrap();
        assert!(bytes.len() < 100, "{}", bytes.len());
        let TimesByRank { by_rank, others, of_others } = all.host();
        assert_eq!(by_rank, BTreeMap::from([(999, Ns(36_993))]));
        assert_eq!(others.first(), Some(&(Ns(30_000), 1)));
        assert_eq!(of_others, Ns(999 * 30_000 + 7 * 999 * 998 / 2));
    }
}
