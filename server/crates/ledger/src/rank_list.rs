//! A list of ranks in the bytes of a few numbers.

/// Ranks in their order. They are kept as runs of equal distances, because each rank of a job names the ranks of its groups,
/// which are all of them, neighbours, or every so many: of 10,000 ranks, 10,000 lists of 10,000 numbers.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(try_from = "Vec<RankRun>")]
pub struct RankList(Vec<RankRun>);

/// `count` ranks from `first`, each `distance` after the one before it, modulo 2³².
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
struct RankRun {
    first: u32,
    distance: u32,
    count: u32,
}

/// Ranks in a list at most: a file could name four thousand million with twelve bytes.
const MAX_RANKS: u64 = 1 << 20;

impl RankList {
    /// The ranks.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().flat_map(|run| (0..run.count).map(|place| run.at(place)))
    }
}

impl RankRun {
    /// The rank that stands `place` after the first.
    fn at(self, place: u32) -> u32 {
        self.first.wrapping_add(self.distance.wrapping_mul(place))
    }
}

impl FromIterator<u32> for RankList {
    fn from_iter<I: IntoIterator<Item = u32>>(ranks: I) -> Self {
        let mut runs: Vec<RankRun> = Vec::new();
        for rank in ranks {
            match runs.last_mut() {
                Some(run) if run.count == 1 => {
                    run.distance = rank.wrapping_sub(run.first);
                    run.count = 2;
                }
                Some(run) if run.at(run.count) == rank => run.count += 1,
                _ => runs.push(RankRun { first: rank, distance: 0, count: 1 }),
            }
        }
        runs.shrink_to_fit();
        Self(runs)
    }
}

impl TryFrom<Vec<RankRun>> for RankList {
    type Error = String;

    fn try_from(runs: Vec<RankRun>) -> Result<Self, Self::Error> {
        let count: u64 = runs.iter().map(|it| u64::from(it.count)).sum();
        match count <= MAX_RANKS {
            true => Ok(Self(runs)),
            false => Err(format!("a list of {count} ranks; at most {MAX_RANKS} are read")),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn runs(ranks: impl IntoIterator<Item = u32>) -> Vec<(u32, u32, u32)> {
        let list: RankList = ranks.into_iter().collect();
        list.0.iter().map(|it| (it.first, it.distance, it.count)).collect()
    }

    #[test]
    fn groups_of_a_job_are_one_run() {
        assert_eq!(runs([]), []);
        assert_eq!(runs([7]), [(7, 0, 1)]);
        assert_eq!(runs(0..10_000), [(0, 1, 10_000)]);
        assert_eq!(runs((3..10_000).step_by(8)), [(3, 8, 1_250)]);
        assert_eq!(runs([0, 1, 2, 9, 17, 25]), [(0, 1, 3), (9, 8, 3)]);
    }

    #[test]
    fn a_file_cannot_name_more_ranks_than_there_are() {
        let run = |count| RankRun { first: 0, distance: 1, count };
        assert!(RankList::try_from(vec![run(1 << 19), run(1 << 19)]).is_ok());
        let refused = RankList::try_from(vec![run(u32::MAX), run(1)]);
        assert_eq!(refused, Err("a list of 4294967296 ranks; at most 1048576 are read".to_owned()));
    }

    proptest! {
        #[test]
        fn ranks_and_their_order_stay(ranks in prop::collection::vec(prop_oneof![0_u32..6, any::<u32>()], 0..40)) {
            let list: RankList = ranks.iter().copied().collect();
            prop_assert_eq!(list.iter().collect::<Vec<_>>(), ranks);
        }
    }
}
