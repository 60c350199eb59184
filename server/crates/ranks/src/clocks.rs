//! What the clocks of the ranks differ by.
//!
//! A collective that synchronises ends on no rank before it began on all. With `o` for what is added to the times of a rank, each
//! such collective of the ranks `i` and `j` says `start_i − end_j ≤ o_j − o_i ≤ end_i − start_j`. Between these bounds the
//! ends decide, which lie closer together than anything else that is recorded: the median of `end_i − end_j`.
//!
//! A message from `i` to `j` ends at `j` not before it began at `i`: `start_i − end_j ≤ o_j − o_i`. That decides between ranks that
//! share no such collective: messages in both directions bound the difference of the clocks, and the middle of the bounds is taken
//! for it, because the ends of a message that was buffered for its receiver lie apart.

use std::collections::{BTreeMap, BTreeSet};

use ledger::Ns;

use crate::matching::{Matched, Part};
use crate::messages::Channel;

/// By how much a time may be wrong without that anything is said of it: traces of some versions have whole microseconds.
const RESOLUTION: Ns = Ns(2_000);

/// How the times of one rank were put beside those of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// What was added to its times.
    pub shift: Ns,
    /// By how much that may be wrong in either direction, as far as the collectives show. 0 where the clocks are one.
    pub uncertainty: Ns,
    /// The rank beside whose times they were put, directly or through others: the first of those whose clocks are known together.
    pub reference: u32,
}

/// The clocks of all ranks that share collectives or messages with others, directly or through others.
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
        let ranks: BTreeSet<u32> =
            matched.iter().flat_map(|it| it.parts.iter().map(|part| part.rank)).collect();
        for &first in &ranks {
            if known.contains_key(&first) {
                continue;
            }
            let reference = first;
            known.insert(first, Clock { shift: Ns::ZERO, uncertainty: Ns::ZERO, reference });
            let mut next = vec![first];
            while let Some(rank) = next.pop() {
                if known.len() == ranks.len() {
                    break;
                }
                let of = known[&rank];
                for (other, pair) in pairs(matched, rank, &known) {
                    let (mine, theirs) = (host_of(rank), host_of(other));
                    let are_known = !mine.is_empty() && !theirs.is_empty();
                    let offset = match are_known && mine == theirs {
                        // One machine has one clock, whatever collectives that are taken for one say.
                        true => Some((Ns::ZERO, Ns::ZERO)),
                        false => pair.offset(are_known),
                    };
                    let Some((shift, uncertainty)) = offset else { continue };
                    let shift = of.shift.saturating_add(shift);
                    let uncertainty = of.uncertainty.saturating_add(uncertainty);
                    known.insert(other, Clock { shift, uncertainty, reference });
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
    /// rank before they begin on another. Of the messages of a channel all are taken out if one cannot be, because then their order is another one,
    /// and those between ranks whose clocks are not known together. Returns how many these were.
    pub(crate) fn align(&self, matched: &mut Vec<Matched>) -> u64 {
        for part in matched.iter_mut().flat_map(|it| &mut it.parts) {
            let shift = self.0.get(&part.rank).map_or(Ns::ZERO, |it| it.shift);
            part.start = part.start.saturating_add(shift);
            part.end = part.end.saturating_add(shift);
        }
        let n = matched.len();
        let slack = RESOLUTION.saturating_add(self.uncertainty());
        let is_possible: Vec<bool> = matched.iter().map(|it| self.is_possible(it, slack)).collect();
        let pairs = || matched.iter().zip(&is_possible);
        let impossible = pairs().filter(|(_, is_possible)| !**is_possible);
        let refused: BTreeSet<Channel<'_>> =
            impossible.filter_map(|(it, _)| Channel::of(it)).collect();
        let is_refused = |it: &Matched| Channel::of(it).is_some_and(|it| refused.contains(&it));
        let is_kept: Vec<bool> =
            pairs().map(|(it, is_possible)| *is_possible && !is_refused(it)).collect();
        let mut is_kept = is_kept.into_iter();
        matched.retain(|_| is_kept.next().unwrap_or(true));
        matched.iter_mut().for_each(end_with_arrival);
        (n - matched.len()) as u64
    }

    /// Whether the parts, by the aligned clocks, can be of one collective or message.
    fn is_possible(&self, matched: &Matched, slack: Ns) -> bool {
        if let [send, receive] = matched.parts.as_slice()
            && matched.route.is_some()
        {
            let reference = |part: &Part| self.0.get(&part.rank).map(|it| it.reference);
            return send.start <= receive.end.saturating_add(slack)
                && reference(send) == reference(receive);
        }
        let last = matched.meeting().all_began;
        let ends = matched.parts.iter().map(|part| part.end).min().unwrap_or(Ns::ZERO);
        !matched.kind.is_synchronising() || last <= ends.saturating_add(slack)
    }
}

/// A range on the host lasts until somebody asks whether it is done. What the receiver has was sent by then.
fn end_with_arrival(matched: &mut Matched) {
    if matched.is_on_device || matched.route.is_none() {
        return;
    }
    if let [send, receive] = matched.parts.as_mut_slice() {
        send.end = send.end.min(receive.end.max(send.start));
    }
}

/// What is known between `rank` and the ranks that are not in `known`.
fn pairs(
    matched: &[Matched],
    rank: u32,
    known: &BTreeMap<u32, Clock>,
) -> BTreeMap<u32, OffsetBounds> {
    let empty = || OffsetBounds { least: Ns::MIN, most: Ns::MAX, ends: Vec::new() };
    let mut pairs: BTreeMap<u32, OffsetBounds> = BTreeMap::new();
    let mut by_messages: BTreeMap<u32, OffsetBounds> = BTreeMap::new();
    for it in matched.iter().filter(|it| it.kind.is_synchronising() || it.route.is_some()) {
        let Some(mine) = it.parts.iter().find(|part| part.rank == rank) else { continue };
        for part in it.parts.iter().filter(|part| !known.contains_key(&part.rank)) {
            let (least, most) =
                (mine.start.saturating_sub(part.end), mine.end.saturating_sub(part.start));
            let Some(route) = it.route else {
                let pair = pairs.entry(part.rank).or_insert_with(empty);
                pair.least = pair.least.max(least);
                pair.most = pair.most.min(most);
                pair.ends.push(mine.end.saturating_sub(part.end));
                continue;
            };
            let pair = by_messages.entry(part.rank).or_insert_with(empty);
            match route.source == rank {
                true => pair.least = pair.least.max(least),
                false => pair.most = pair.most.min(most),
            }
        }
    }
    for (rank, pair) in by_messages {
        pairs.entry(rank).or_insert(pair);
    }
    pairs
}

impl OffsetBounds {
    /// What is added to the times of the other rank, and by how much that may be wrong; `None` where nothing says so in one of the two
    /// directions. Where the times as recorded are possible and the machines are not known to be two, they stay.
    fn offset(mut self, are_apart: bool) -> Option<(Ns, Ns)> {
        let is_possible = self.least <= RESOLUTION && Ns::ZERO - RESOLUTION <= self.most;
        if is_possible && !are_apart {
            return Some((Ns::ZERO, Ns::ZERO));
        }
        if self.least == Ns::MIN || self.most == Ns::MAX {
            return None;
        }
        self.ends.sort_unstable();
        let middle = self.least.saturating_add(self.most.saturating_sub(self.least) / 2);
        let median = self.ends.get(self.ends.len() / 2).copied().unwrap_or(middle);
        let shift = median.min(self.most).max(self.least);
        // Bounds that contradict each other (clocks that drift, collectives that are not one) leave as much open.
        let width = self.most.saturating_sub(self.least);
        Some((shift, width.abs() / 2))
    }
}
