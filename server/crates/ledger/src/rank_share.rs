//! What a line costs on each rank.

use std::collections::BTreeMap;

use crate::amount::Amount;
use crate::{Ns, PackedList};

/// What a line costs on one rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RankShare {
    /// Which; 0 where the recording names none.
    pub rank: u32,
    /// `cpu_own` there.
    pub host: Ns,
    /// Of it, the thread with most: threads of autograd work while the thread that called them waits.
    pub longest_thread: Ns,
    /// `cuda_own` there.
    pub device: Ns,
    /// Elements of the tensors that the outermost operators of the line took, where shapes are recorded.
    pub elements: u64,
}

impl RankShare {
    /// The time of one thread.
    #[must_use]
    pub fn of_thread(rank: u32, time: Ns) -> Self {
        Self { rank, host: time, longest_thread: time, ..Self::default() }
    }

    fn merge(&mut self, other: &Self) {
        let Self { rank: _, host, longest_thread, device, elements } = other;
        self.host.gain(*host);
        self.longest_thread.gain(*longest_thread);
        self.device.gain(*device);
        self.elements.gain(*elements);
    }
}

/// What a line costs by rank, in order of ranks. Most recordings are of one rank; of a run of thousands there are as many shares as
/// ranks times lines, so that several take the bytes of their digits, a third of what they take as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(from = "Vec<RankShare>", into = "Vec<RankShare>")]
pub struct RankShares(ShareForm);

/// The one form that some shares have: equal shares are equal values.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ShareForm {
    One(RankShare),
    /// None or several, in order of their ranks.
    Packed(Vec<ShareBlock>),
}

/// The shares of ranks whose numbers are alike but for the last [`BLOCK_BITS`].
#[derive(Debug, Clone, PartialEq, Eq)]
struct ShareBlock {
    /// The last rank in it.
    last: u32,
    /// The shares in order of their ranks.
    shares: PackedList<RankShare>,
}

/// Ranks in a block are so many that it costs them little, and so few that one of them can be changed.
const BLOCK_BITS: u32 = 6;

impl Default for ShareForm {
    fn default() -> Self {
        Self::Packed(Vec::new())
    }
}

impl RankShares {
    /// What is known of each rank.
    pub fn iter(&self) -> impl Iterator<Item = RankShare> {
        let (one, blocks) = match &self.0 {
            ShareForm::One(share) => (Some(*share), &[][..]),
            ShareForm::Packed(blocks) => (None, &blocks[..]),
        };
        one.into_iter().chain(blocks.iter().flat_map(|it| it.shares.iter()))
    }

    /// Adds `more` to what its rank has.
    pub fn add(&mut self, more: &RankShare) {
        let blocks = match &mut self.0 {
            ShareForm::Packed(blocks) if blocks.is_empty() => {
                self.0 = ShareForm::One(*more);
                return;
            }
            ShareForm::Packed(blocks) => blocks,
            ShareForm::One(share) if share.rank == more.rank => return share.merge(more),
            ShareForm::One(share) => {
                let share = *share;
                self.0 = ShareForm::Packed(vec![ShareBlock::of(&share)]);
                return self.add(more);
            }
        };
        let number = more.rank >> BLOCK_BITS;
        match blocks.binary_search_by_key(&number, |it| it.last >> BLOCK_BITS) {
            Ok(place) => blocks[place].add(more),
            Err(place) => blocks.insert(place, ShareBlock::of(more)),
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        other.iter().for_each(|it| self.add(&it));
    }

    /// Of each rank what `of` says, without ranks of which it says 0.
    pub(crate) fn times(&self, of: impl Fn(&RankShare) -> Ns) -> BTreeMap<u32, Ns> {
        self.iter().map(|it| (it.rank, of(&it))).filter(|(_, time)| *time != Ns::ZERO).collect()
    }
}

impl ShareBlock {
    fn of(share: &RankShare) -> Self {
        let mut block = Self { last: share.rank, shares: PackedList::default() };
        block.push(share);
        block
    }

    /// Adds a share whose rank is behind the others.
    fn push(&mut self, share: &RankShare) {
        self.last = share.rank;
        self.shares.push(share);
    }

    fn add(&mut self, more: &RankShare) {
        if self.last < more.rank {
            return self.push(more);
        }
        let mut shares: Vec<RankShare> = self.shares.iter().collect();
        match shares.binary_search_by_key(&more.rank, |it| it.rank) {
            Ok(place) => shares[place].merge(more),
            Err(place) => shares.insert(place, *more),
        }
        self.shares = shares.into_iter().collect();
    }
}

impl FromIterator<RankShare> for RankShares {
    fn from_iter<I: IntoIterator<Item = RankShare>>(shares: I) -> Self {
        let mut sorted = Self::default();
        shares.into_iter().for_each(|it| sorted.add(&it));
        sorted
    }
}

/// A file may have them in any order.
impl From<Vec<RankShare>> for RankShares {
    fn from(shares: Vec<RankShare>) -> Self {
        shares.into_iter().collect()
    }
}

impl From<RankShares> for Vec<RankShare> {
    fn from(shares: RankShares) -> Self {
        shares.iter().collect()
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
            prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected.into_values().collect::<Vec<_>>());
            let backwards: RankShares = shares.iter().rev().copied().collect();
            prop_assert_eq!(&found, &backwards);
            let (one, other) = shares.split_at(half.min(shares.len()));
            let mut merged: RankShares = one.iter().copied().collect();
            merged.merge(&other.iter().copied().collect());
            prop_assert_eq!(&found, &merged);
            let listed: Vec<RankShare> = found.clone().into();
            prop_assert_eq!(found, RankShares::from(listed));
        }
    }

    #[test]
    fn shares_of_many_ranks_take_few_bytes() {
        let shares: RankShares =
            (0..1_000).map(|rank| RankShare::of_thread(rank, Ns(3_000_000))).collect();
        let ShareForm::Packed(blocks) = &shares.0 else { panic!("{shares:?}") };
        assert_eq!(blocks.len(), 16);
        assert!(blocks.iter().map(|it| it.shares.n_bytes()).sum::<usize>() <= 12 * 1_000);
    }
}
