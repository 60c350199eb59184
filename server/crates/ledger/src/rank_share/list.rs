//! Exact shares of ranks, in few bytes.

use crate::PackedList;

use super::share::RankShare;

/// Shares in order of their ranks. Most recordings are of one rank; of a run of many there are many shares of each line, so that
/// several take the bytes of their digits, a third of what they take as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ShareList(ShareForm);

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
    /// How many ranks are in it.
    n_ranks: usize,
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

impl ShareList {
    /// What is known of each rank.
    pub(super) fn iter(&self) -> impl Iterator<Item = RankShare> {
        let (one, blocks) = match &self.0 {
            ShareForm::One(share) => (Some(*share), &[][..]),
            ShareForm::Packed(blocks) => (None, &blocks[..]),
        };
        one.into_iter().chain(blocks.iter().flat_map(|it| it.shares.iter()))
    }

    /// Adds `more` to what its rank has.
    pub(super) fn add(&mut self, more: &RankShare) {
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

    /// Of how many ranks there are shares.
    pub(super) fn len(&self) -> usize {
        match &self.0 {
            ShareForm::One(_) => 1,
            ShareForm::Packed(blocks) => blocks.iter().map(|it| it.n_ranks).sum(),
        }
    }
}

impl ShareBlock {
    fn of(share: &RankShare) -> Self {
        let mut block = Self { last: share.rank, n_ranks: 0, shares: PackedList::default() };
        block.push(share);
        block
    }

    /// Adds a share whose rank is behind the others.
    fn push(&mut self, share: &RankShare) {
        self.last = share.rank;
        self.n_ranks += 1;
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
        self.n_ranks = shares.len();
        self.shares = shares.into_iter().collect();
    }
}

impl FromIterator<RankShare> for ShareList {
    fn from_iter<I: IntoIterator<Item = RankShare>>(shares: I) -> Self {
        let mut sorted = Self::default();
        shares.into_iter().for_each(|it| sorted.add(&it));
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ns;

    #[test]
    fn shares_of_many_ranks_take_few_bytes() {
        let shares: ShareList =
            (0..1_000).map(|rank| RankShare::of_thread(rank, Ns(3_000_000))).collect();
        assert_eq!(shares.len(), 1_000);
        let ShareForm::Packed(blocks) = &shares.0 else { panic!("{shares:?}") };
        assert_eq!(blocks.len(), 16);
        assert!(blocks.iter().map(|it| it.shares.n_bytes()).sum::<usize>() <= 12 * 1_000);
    }
}
