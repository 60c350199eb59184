//! Which collectives of the ranks are one and the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use ledger::{
    Blocked, Bytes, CollectiveCall, CollectiveKind, LineKey, Ns, ProcessGroup, RankCommunication,
};

/// A collective, or a message from one rank to one other, with the part of each recorded rank in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matched {
    /// What was communicated.
    pub kind: CollectiveKind,
    /// Between whom.
    pub group: ProcessGroup,
    /// Whether devices ran it, not the hosts.
    pub is_on_device: bool,
    /// The size of the message, as [`ledger::CollectiveSite::bytes`] has it: that of the rank with most.
    pub bytes: Option<Bytes>,
    /// The step in which it was launched.
    pub step: Option<u32>,
    /// By rank; at least two. Of a message, that of the rank that sends and that of the one that receives.
    pub parts: Vec<Part>,
    /// Of a message from one rank to one other: between whom.
    pub route: Option<Route>,
}

/// From whom to whom a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// The rank that sends.
    pub source: u32,
    /// The rank that receives.
    pub destination: u32,
    /// The tag, where there is one.
    pub tag: Option<i64>,
}

/// One rank's part in a collective.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Whose.
    pub rank: u32,
    /// When the rank began it, by the aligned clocks.
    pub start: Ns,
    /// When it was done there.
    pub end: Ns,
    /// When the rank stood still for it.
    pub blocked: Blocked,
    /// The size of its message.
    pub bytes: Option<Bytes>,
    /// The line that launched it, where it is known. All parts share its name: a run of thousands of ranks has millions.
    pub line: Option<Arc<LineKey>>,
}

#[cfg(test)]
impl Part {
    /// A part beside which nothing is computed and whose message and line are not known, from `start` to `end` in nanoseconds.
    pub(crate) fn between(rank: u32, start: i64, end: i64) -> Self {
        let (start, end) = (Ns(start), Ns(end));
        let blocked = Blocked { from: Ns::ZERO, until: end - start };
        Self { rank, start, end, blocked, bytes: None, line: None }
    }
}

/// What is equal on all ranks of a collective.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct MatchKey {
    kind: CollectiveKind,
    group: ProcessGroup,
    is_on_device: bool,
    /// Where all ranks give messages of one size.
    bytes: Option<Bytes>,
}

/// Where a collective is among those of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CollectivePosition {
    /// The n-th of a sequence number.
    Sequence(u64, usize),
    /// The n-th of a step; of what is in no step, the n-th of the recording.
    Step(Option<u32>, usize),
}

/// A call with where it was made.
pub(crate) type SitedCall<'a> = (&'a CollectiveCall, Option<&'a LineKey>, Option<Bytes>);

/// The collectives that at least two ranks recorded, by the clocks of the recordings, and the number of calls that have no
/// partner. What goes from one rank to one other is left out.
pub(crate) fn collectives(ranks: &BTreeMap<u32, RankCommunication>) -> (Vec<Matched>, u64) {
    let mut by_key: BTreeMap<MatchKey, BTreeMap<u32, Vec<SitedCall<'_>>>> = BTreeMap::new();
    for (&rank, communication) in ranks {
        for (site, calls) in &communication.sites {
            if site.kind.is_message() {
                continue;
            }
            let key = MatchKey {
                kind: site.kind,
                group: site.group.clone(),
                is_on_device: site.is_on_device,
                bytes: site.bytes.filter(|_| site.kind.has_equal_messages()),
            };
            let mine = by_key.entry(key).or_default().entry(rank).or_default();
            mine.extend(calls.iter().map(|call| (call, site.line.as_ref(), site.bytes)));
        }
    }
    let mut lines = SharedLines::default();
    let mut found = Vec::new();
    let mut alone = 0;
    for (key, by_rank) in by_key {
        let mut places: BTreeMap<CollectivePosition, Vec<(u32, SitedCall<'_>)>> = BTreeMap::new();
        let is_numbered = by_rank.values().flatten().all(|(call, ..)| call.sequence.is_some());
        for (rank, mut calls) in by_rank {
            calls.sort_by_key(|(call, ..)| **call);
            let mut counts: BTreeMap<CollectivePosition, usize> = BTreeMap::new();
            for call in calls {
                let place = |n| match call.0.sequence.filter(|_| is_numbered) {
                    Some(sequence) => CollectivePosition::Sequence(sequence, n),
                    None => CollectivePosition::Step(call.0.step, n),
                };
                let n = counts.entry(place(0)).or_default();
                places.entry(place(*n)).or_default().push((rank, call));
                *n += 1;
            }
        }
        for calls in places.into_values() {
            if calls.len() < 2 {
                alone += 1;
                continue;
            }
            found.push(Matched {
                kind: key.kind,
                group: key.group.clone(),
                is_on_device: key.is_on_device,
                bytes: calls.iter().filter_map(|(_, (.., bytes))| *bytes).max(),
                step: calls.iter().find_map(|(_, (call, ..))| call.step),
                parts: calls.iter().map(|(rank, call)| lines.part(*rank, call)).collect(),
                route: None,
            });
        }
    }
    (found, alone)
}

/// The lines that collectives were launched from, each once.
#[derive(Default)]
pub(crate) struct SharedLines<'a>(BTreeMap<&'a LineKey, Arc<LineKey>>);

impl<'a> SharedLines<'a> {
    /// The part of a rank in a collective.
    pub(crate) fn part(&mut self, rank: u32, &(call, line, bytes): &SitedCall<'a>) -> Part {
        let shared = |line: &'a LineKey| {
            Arc::clone(self.0.entry(line).or_insert_with(|| Arc::new(line.clone())))
        };
        let &CollectiveCall { start, end, blocked, .. } = call;
        Part { rank, start, end, blocked, bytes, line: line.map(shared) }
    }
}
