//! What only the rules over several ranks know.

use ledger::Ns;
use ranks::Straggler;

/// What only one rule over several ranks knows. Times are per step, or of the recording where it has no steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RankDetail {
    /// `straggler`: the others wait for a rank.
    Straggler(Straggler),
    /// `imbalance`: a line takes longer on one rank.
    Imbalance {
        /// The rank on which it takes longest.
        rank: u32,
        /// Its time there.
        here: Ns,
        /// The mean over all ranks.
        mean: Ns,
        /// By how much a step of the job would be shorter if it took as long as on the others.
        saving: Ns,
    },
}
