//! The collectives of a run by what they are: kind, group and size of the message.

use std::collections::BTreeMap;

use ledger::{Bytes, CollectiveKind, CollectiveSite, Ledger, LineKey, Ns, ProcessGroup};

use crate::comparison::Comparison;
use crate::matching::Matched;
use crate::waited_for::CollectiveTime;
use crate::waits::Moved;

/// The collectives, and what goes from one rank to one other, of one kind, group and size of the message. Sums over the
/// recording and its ranks.
#[derive(Debug, Clone, PartialEq)]
pub struct CommunicationOperation {
    /// What is communicated.
    pub kind: CollectiveKind,
    /// Between whom: what the group is for (`mesh_tp`) and its name, where the recording has them.
    pub group: String,
    /// How many ranks the group has, where that is known.
    pub group_size: Option<u32>,
    /// The size of one message, as [`CollectiveSite::bytes`] has it.
    pub bytes: Option<Bytes>,
    /// Whether devices ran it, not the hosts.
    pub is_on_device: bool,
    /// Calls: one collective counts on each rank that takes part.
    pub calls: u64,
    /// The time from start to end of the calls, added up.
    pub time: Ns,
    /// The shortest call.
    pub shortest: Ns,
    /// The longest call.
    pub longest: Ns,
    /// Of `time`, what ranks waited for others. Time in which a rank waits in several calls of the row at once counts once.
    /// `None` where no call was matched with those of other ranks.
    pub wait: Option<Ns>,
    /// Bytes per second and what it is taken from; `None` where the size of the message is not known.
    pub bandwidth: Option<Bandwidth>,
    /// The lines that launched the calls, with the time of theirs.
    pub lines: BTreeMap<LineKey, Ns>,
}

/// Bytes per second as nccl-tests define them (`doc/PERFORMANCE.md`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bandwidth {
    /// Size of the message by time.
    pub algorithm: f64,
    /// The same, times the factor of the kind and the number of ranks; `None` of what has no such factor.
    pub bus: Option<f64>,
    /// Whether the time is that after all ranks had begun. Else it is that of the shortest call, which waited least: the
    /// bandwidth is at least this.
    pub is_of_transfer: bool,
}

/// What the calls of a row have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct OperationKey<'a> {
    kind: CollectiveKind,
    group: &'a ProcessGroup,
    bytes: Option<Bytes>,
    is_on_device: bool,
}

impl<'a> OperationKey<'a> {
    fn of_site(site: &'a CollectiveSite) -> Self {
        let CollectiveSite { kind, group, bytes, is_on_device, line: _, message: _ } = site;
        Self { kind: *kind, group, bytes: *bytes, is_on_device: *is_on_device }
    }

    fn of_matched(matched: &'a Matched, bytes: Option<Bytes>) -> Self {
        let Matched { kind, group, is_on_device, .. } = matched;
        Self { kind: *kind, group, bytes, is_on_device: *is_on_device }
    }
}

/// What was found by matching the ranks.
#[derive(Default)]
struct MatchedSums {
    times: BTreeMap<u32, CollectiveTime>,
    moved: Moved,
}

/// The collectives of `ledger` by kind, group and size, those that took longest first. `compared` is [`Comparison::new`] of it.
#[must_use]
pub fn operations(ledger: &Ledger, compared: Option<&Comparison>) -> Vec<CommunicationOperation> {
    let world_size = ledger.communication.values().filter_map(|it| it.world_size).max();
    let mut matched = matched_sums(compared, world_size);
    let mut rows: BTreeMap<OperationKey<'_>, CommunicationOperation> = BTreeMap::new();
    for communication in ledger.communication.values() {
        for (site, calls) in &communication.sites {
            let empty = || CommunicationOperation {
                kind: site.kind,
                group: group_name(ledger, &site.group),
                group_size: site.group.size_in(world_size),
                bytes: site.bytes,
                is_on_device: site.is_on_device,
                calls: 0,
                time: Ns::ZERO,
                shortest: Ns::MAX,
                longest: Ns::ZERO,
                wait: None,
                bandwidth: None,
                lines: BTreeMap::new(),
            };
            let row = rows.entry(OperationKey::of_site(site)).or_insert_with(empty);
            let mut time = Ns::ZERO;
            for call in calls {
                let duration = call.end.saturating_sub(call.start).max(Ns::ZERO);
                time = time.saturating_add(duration);
                row.shortest = row.shortest.min(duration);
                row.longest = row.longest.max(duration);
            }
            row.calls += calls.len() as u64;
            row.time = row.time.saturating_add(time);
            if let Some(line) = &site.line {
                let of_line = row.lines.entry(line.clone()).or_default();
                *of_line = of_line.saturating_add(time);
            }
        }
    }
    let finished = rows.into_iter().filter(|(_, row)| row.calls != 0).map(|(key, mut row)| {
        let sums = matched.remove(&key).unwrap_or_default();
        row.bandwidth = bandwidth(&row, sums.moved);
        if !sums.times.is_empty() {
            row.wait = Some(sums.times.into_values().map(|it| it.shares().wait).sum());
        }
        row
    });
    let mut finished: Vec<_> = finished.collect();
    finished.sort_by_key(|it| std::cmp::Reverse(it.time));
    finished
}

fn matched_sums(
    compared: Option<&Comparison>,
    world_size: Option<u32>,
) -> BTreeMap<OperationKey<'_>, MatchedSums> {
    let mut sums: BTreeMap<OperationKey<'_>, MatchedSums> = BTreeMap::new();
    for it in compared.map_or(&[][..], |it| &it.matched) {
        let meeting = it.meeting();
        for part in &it.parts {
            let mine = sums.entry(OperationKey::of_matched(it, part.bytes)).or_default();
            let time = mine.times.entry(part.rank).or_default();
            time.add(part.start, part.end, meeting.wait(part));
        }
        sums.entry(OperationKey::of_matched(it, it.bytes)).or_default().moved.add(it, world_size);
    }
    sums
}

fn bandwidth(row: &CommunicationOperation, moved: Moved) -> Option<Bandwidth> {
    if let Some((algorithm, bus)) = moved.rates() {
        return Some(Bandwidth { algorithm, bus, is_of_transfer: true });
    }
    let (bytes, shortest) = (row.bytes?.as_f64(), row.shortest.as_f64());
    let algorithm = bytes * 1e9 / shortest;
    let factor = row.group_size.and_then(|it| row.kind.bus_factor(it));
    let bus = factor.map(|it| it * algorithm);
    (0.0 < bytes && 0.0 < shortest).then_some(Bandwidth { algorithm, bus, is_of_transfer: false })
}

/// What a group is for and its name, as far as recorded.
fn group_name(ledger: &Ledger, group: &ProcessGroup) -> String {
    let mut groups = ledger.communication.values().flat_map(|it| &it.groups);
    let description = groups.find(|it| it.name == group.name).map_or("", |it| &it.description);
    match (description, group.name.as_str()) {
        ("", "") => group.ranks.clone(),
        ("", name) => name.to_owned(),
        (description, name) if description == name => name.to_owned(),
        (description, name) => format!("{description} ({name})"),
    }
}

#[cfg(test)]
mod tests {
    use ledger::{Blocked, CollectiveCall, RankCommunication};

    use super::*;

    /// A rank of two whose all-reduce of 8 bytes on line 7 lasted as `calls` say, and which sent one message.
    fn rank(calls: &[(i64, i64)]) -> RankCommunication {
        let call = |&(start, end): &(i64, i64)| CollectiveCall {
            start: Ns(start),
            end: Ns(end),
            step: Some(1),
            sequence: None,
            blocked: Blocked::default(),
        };
        let group = ProcessGroup { name: "0".to_owned(), ranks: "[0, 1]".to_owned(), size: 2 };
        let line = Some(LineKey { file: "train.py".to_owned(), line: 7 });
        let site = |kind, bytes| CollectiveSite {
            kind,
            group: group.clone(),
            bytes,
            is_on_device: true,
            line: line.clone(),
            message: None,
        };
        RankCommunication {
            world_size: Some(2),
            sites: [
                (site(CollectiveKind::AllReduce, Some(Bytes(8))), calls.iter().map(call).collect()),
                (site(CollectiveKind::PointToPoint, None), vec![call(&(1_000, 1_003))]),
            ]
            .into(),
            ..RankCommunication::default()
        }
    }

    fn ledger(ranks: &[RankCommunication]) -> Ledger {
        let communication = (0..).zip(ranks.iter().cloned()).collect();
        Ledger { communication, ..Ledger::default() }
    }

    #[test]
    fn of_one_rank_the_shortest_call_bounds_the_bandwidth() {
        let ledger = ledger(&[rank(&[(0, 16), (20, 24)])]);
        let found = operations(&ledger, None);
        let [reduce, send] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(
            (reduce.kind, reduce.calls, reduce.time),
            (CollectiveKind::AllReduce, 2, Ns(20))
        );
        assert_eq!((reduce.shortest, reduce.longest, reduce.wait), (Ns(4), Ns(16), None));
        // 8 bytes in 4 ns; between two ranks the bus carries as much.
        let expected = Bandwidth { algorithm: 2e9, bus: Some(2e9), is_of_transfer: false };
        assert_eq!(reduce.bandwidth, Some(expected));
        assert_eq!(
            (send.kind, send.time, send.bandwidth),
            (CollectiveKind::PointToPoint, Ns(3), None)
        );
    }

    #[test]
    fn of_all_ranks_the_time_after_all_had_begun_counts() {
        let ledger = ledger(&[rank(&[(0, 110)]), rank(&[(100, 110)])]);
        let compared = Comparison::new(&ledger).unwrap();
        let found = operations(&ledger, Some(&compared));
        let reduce = &found[0];
        assert_eq!((reduce.calls, reduce.time, reduce.wait), (2, Ns(120), Some(Ns(100))));
        let expected = Bandwidth { algorithm: 0.8e9, bus: Some(0.8e9), is_of_transfer: true };
        assert_eq!(reduce.bandwidth, Some(expected));
        // A message of which the other end is not recorded is matched with nothing.
        assert_eq!((found[1].calls, found[1].wait), (2, None));
    }
}
