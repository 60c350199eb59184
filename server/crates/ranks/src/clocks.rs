//! What the clocks of the ranks differ by.
//!
//! A collective that synchronises ends on no rank before it began on all. With `o` for what is added to the times of a rank, each
//! such collective of the ranks `i` and `j` says `start_i − end_j ≤ o_j − o_i ≤ end_i − start_j`. Between these bounds the
//! ends decide, which lie closer together than anything else that is recorded: the median of `end_i − end_j`.

use std::collections::BTreeMap;

use ledger::Ns;

use crate::matching::Matched;

/// By how much a time may be wrong without that anything is said of it: traces of some versions have whole microseconds.
const RESOLUTION: Ns = Ns(2_000);

/// How the times of one rank were put beside those of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// What was added to its times.
    pub shift: Ns,
    /// By how much that may be wrong in either direction, as far as the collectives show. 0 where the clocks are one.
    pub uncertainty: Ns,
}

/// The clocks of all ranks that share collectives with others, directly or through others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Clocks(pub BTreeMap<u32, Clock>);

/// The bounds of `o_j − o_i`, and the differences of the ends.
struct OffsetBounds {
    least: Ns,
    most: Ns,
    ends: Vec<Ns>,
}

impl Clocks {
    /// Finds the clocks of the ranks in `matched`. `host_of` names the machine of a rank; empty where it is not known.
    pub(crate) fn new<'a>(matched: &[Matched], host_of: impl Fn(u32) -> &'a str) -> Self {
        let mut known: BTreeMap<u32, Clock> = BTreeMap::new();
        let ranks: std::collections::BTreeSet<u32> =
            matched.iter().flat_map(|it| it.parts.iter().map(|part| part.rank)).collect();
        for &first in &ranks {
            if known.contains_key(&first) {
                continue;
            }
            known.insert(first, Clock { shift: Ns::ZERO, uncertainty: Ns::ZERO });
            let mut next = vec![first];
            while let Some(rank) = next.pop() {
                if known.len() == ranks.len() {
                    break;
                }
                let of = known[&rank];
                for (other, pair) in pairs(matched, rank, &known) {
                    let (mine, theirs) = (host_of(rank), host_of(other));
                    let are_known = !mine.is_empty() && !theirs.is_empty();
                    let clock = match are_known && mine == theirs {
                        // One machine has one clock, whatever collectives that are taken for one say.
                        true => Clock { shift: Ns::ZERO, uncertainty: Ns::ZERO },
                        false => pair.clock(are_known),
                    };
                    let shift = of.shift.saturating_add(clock.shift);
                    let uncertainty = of.uncertainty.saturating_add(clock.uncertainty);
                    known.insert(other, Clock { shift, uncertainty });
                    next.push(other);
                }
            }
        }
        Self(known)
    }

    /// Whether any clock had to be changed.
    #[must_use]
    pub fn are_shifted(&self) -> bool {
        self.0.values().any(|it| it.shift != Ns::ZERO)
    }

    /// The largest uncertainty.
    #[must_use]
    pub fn uncertainty(&self) -> Ns {
        self.0.values().map(|it| it.uncertainty).max().unwrap_or(Ns::ZERO)
    }

    /// Puts the times of `matched` beside each other, and takes out those that cannot be one collective after all: they end on a
    /// rank before they begin on another. Returns how many these were.
    pub(crate) fn align(&self, matched: &mut Vec<Matched>) -> u64 {
        for part in matched.iter_mut().flat_map(|it| &mut it.parts) {
            let shift = self.0.get(&part.rank).map_or(Ns::ZERO, |it| it.shift);
            part.start = part.start.saturating_add(shift);
            part.end = part.end.saturating_add(shift);
        }
        let n = matched.len();
        let slack = RESOLUTION.saturating_add(self.uncertainty());
        matched.retain(|it| {
            let last = it.parts.iter().map(|part| part.start).max().unwrap_or(Ns::ZERO);
            let ends = it.parts.iter().map(|part| part.end).min().unwrap_or(Ns::ZERO);
            !it.kind.is_synchronising() || last <= ends.saturating_add(slack)
        });
        (n - matched.len()) as u64
    }
}

/// What is known between `rank` and the ranks that are not in `known`.
fn pairs(
    matched: &[Matched],
    rank: u32,
    known: &BTreeMap<u32, Clock>,
) -> BTreeMap<u32, OffsetBounds> {
    let mut pairs: BTreeMap<u32, OffsetBounds> = BTreeMap::new();
    for it in matched.iter().filter(|it| it.kind.is_synchronising()) {
        let Some(mine) = it.parts.iter().find(|part| part.rank == rank) else { continue };
        for part in it.parts.iter().filter(|part| !known.contains_key(&part.rank)) {
            let empty = || OffsetBounds { least: Ns::MIN, most: Ns::MAX, ends: Vec::new() };
            let pair = pairs.entry(part.rank).or_insert_with(empty);
            pair.least = pair.least.max(mine.start.saturating_sub(part.end));
            pair.most = pair.most.min(mine.end.saturating_sub(part.start));
            pair.ends.push(mine.end.saturating_sub(part.end));
        }
    }
    pairs
}

impl OffsetBounds {
    /// The clock of the other rank. Where the times as recorded are possible and the machines are not known to be two, they stay.
    fn clock(mut self, are_apart: bool) -> Clock {
        let is_possible = self.least <= RESOLUTION && Ns::ZERO - RESOLUTION <= self.most;
        if is_possible && !are_apart {
            return Clock { shift: Ns::ZERO, uncertainty: Ns::ZERO };
        }
        self.ends.sort_unstable();
        let median = self.ends.get(self.ends.len() / 2).copied().unwrap_or(Ns::ZERO);
        let shift = median.min(self.most).max(self.least);
        // Bounds that contradict each other (clocks that drift, collectives that are not one) leave as much open.
        let width = self.most.saturating_sub(self.least);
        Clock { shift, uncertainty: width.abs() / 2 }
    }
}
