//! What a line costs on each rank.

use std::collections::BTreeMap;

use crate::Ns;
use crate::amount::Amount;

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

/// What a line costs by rank, in order of ranks. A list, because most recordings are of one rank, and some are of thousands.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(from = "Vec<RankShare>")]
pub struct RankShares(Vec<RankShare>);

impl RankShares {
    /// What is known of each rank.
    pub fn iter(&self) -> impl Iterator<Item = &RankShare> {
        self.0.iter()
    }

    /// Adds `more` to what its rank has.
    pub fn add(&mut self, more: &RankShare) {
        match self.0.binary_search_by_key(&more.rank, |it| it.rank) {
            Ok(place) => self.0[place].merge(more),
            Err(place) => self.0.insert(place, *more),
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        other.iter().for_each(|it| self.add(it));
    }

    /// Of each rank what `of` says, without ranks of which it says 0.
    pub(crate) fn times(&self, of: impl Fn(&RankShare) -> Ns) -> BTreeMap<u32, Ns> {
        self.iter().map(|it| (it.rank, of(it))).filter(|(_, time)| *time != Ns::ZERO).collect()
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
