//! How long is waited for whom. Collectives of a rank may run beside each other (on several threads or streams): time during which
//! a rank waits in several at once counts once.
//!
//! A rank that is last may be so because it stands still itself, waiting for a third one: in a pipeline each stage waits for the
//! one before it. While it does, the third one is waited for.

use std::collections::BTreeMap;

use ledger::Ns;

use crate::matching::{Matched, Part};
use crate::waits::{Meeting, Shares};

/// Instants of one rank: half-open intervals, which may overlap.
#[derive(Debug, Default)]
struct Instants(Vec<(Ns, Ns)>);

impl Instants {
    /// How many instants: those of several intervals count once.
    fn measure(mut self) -> Ns {
        self.0.sort_unstable();
        let mut sum = Ns::ZERO;
        let mut until = Ns::MIN;
        for (start, end) in self.0 {
            sum = sum.saturating_add(end.saturating_sub(start.max(until)).max(Ns::ZERO));
            until = until.max(end);
        }
        sum
    }
}

/// The time of one rank in collectives.
#[derive(Debug, Default)]
pub(crate) struct CollectiveTime {
    waiting: Instants,
    all: Instants,
}

impl CollectiveTime {
    /// Adds the part from `start` to `end`, of which the first `wait` was spent waiting.
    pub(crate) fn add(&mut self, start: Ns, end: Ns, wait: Ns) {
        self.waiting.0.push((start, start.saturating_add(wait)));
        self.all.0.push((start, end));
    }

    /// What it went to. While the rank waits in one collective and transfers in another, it waits.
    pub(crate) fn shares(self) -> Shares {
        let wait = self.waiting.measure();
        Shares { wait, transfer: self.all.measure().saturating_sub(wait) }
    }
}

/// A time in which a rank does nothing but wait for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Standstill {
    start: Ns,
    end: Ns,
    waits_for: u32,
}

/// When each rank stands still, in order and without overlap.
pub(crate) struct Standstills(BTreeMap<u32, Vec<Standstill>>);

impl Standstills {
    pub(crate) fn new(matched: &[Matched]) -> Self {
        let mut ranks: BTreeMap<u32, Vec<Standstill>> = BTreeMap::new();
        for it in matched {
            let meeting = it.meeting();
            for part in &it.parts {
                let blocked = part.blocked.before(meeting.wait(part));
                let [start, end] =
                    [blocked.from, blocked.until].map(|at| part.start.saturating_add(at));
                if start < end {
                    let waits_for = meeting.last;
                    ranks.entry(part.rank).or_default().push(Standstill { start, end, waits_for });
                }
            }
        }
        for all in ranks.values_mut() {
            all.sort_unstable();
            let mut until = Ns::MIN;
            for it in all.iter_mut() {
                it.start = it.start.max(until);
                until = until.max(it.end);
            }
            all.retain(|it| it.start < it.end);
        }
        Self(ranks)
    }

    /// For whom the rank of a part of a collective waits in it, and when.
    pub(crate) fn causes(&self, meeting: &Meeting<'_>, part: &Part) -> Vec<(u32, (Ns, Ns))> {
        let mut found = Vec::new();
        let end = part.start.saturating_add(meeting.wait(part));
        self.follow(&mut vec![part.rank], meeting.last, (part.start, end), &mut found);
        found
    }

    /// Adds for whom is waited while `last` is waited for. `waiting` are the ranks that wait for each other to it.
    fn follow(
        &self,
        waiting: &mut Vec<u32>,
        last: u32,
        (mut from, until): (Ns, Ns),
        found: &mut Vec<(u32, (Ns, Ns))>,
    ) {
        if until <= from {
            return;
        }
        let all = self.0.get(&last).map_or(&[][..], Vec::as_slice);
        let first = all.partition_point(|it| it.end <= from);
        waiting.push(last);
        for it in all[first..].iter().take_while(|it| it.start < until) {
            if waiting.contains(&it.waits_for) {
                continue;
            }
            let (start, end) = (it.start.max(from), it.end.min(until));
            if from < start {
                found.push((last, (from, start)));
            }
            self.follow(waiting, it.waits_for, (start, end), found);
            from = end;
        }
        waiting.pop();
        if from < until {
            found.push((last, (from, until)));
        }
    }
}

/// How long the others waited for each rank in each step: of those that waited for it, the one that waited longest. What is in no
/// step has the key `None`.
pub(crate) fn waited_for(
    matched: &[Matched],
    standstills: &Standstills,
) -> BTreeMap<(Option<u32>, u32), Ns> {
    let mut waits: BTreeMap<(Option<u32>, u32), BTreeMap<u32, Instants>> = BTreeMap::new();
    for it in matched {
        let meeting = it.meeting();
        // Also a rank for which nobody waits has been last.
        waits.entry((it.step, meeting.last)).or_default();
        for part in &it.parts {
            for (rank, time) in standstills.causes(&meeting, part) {
                let of_rank = waits.entry((it.step, rank)).or_default();
                of_rank.entry(part.rank).or_default().0.push(time);
            }
        }
    }
    let longest = |of_last: BTreeMap<u32, Instants>| {
        of_last.into_values().map(Instants::measure).max().unwrap_or(Ns::ZERO)
    };
    waits.into_iter().map(|(key, of_last)| (key, longest(of_last))).collect()
}

#[cfg(test)]
mod tests {
    use ledger::{CollectiveKind, ProcessGroup};

    use super::*;
    use crate::matching::Route;

    #[test]
    fn waiting_in_two_collectives_at_once_counts_once() {
        let part = Part::between;
        let broadcast = |parts| Matched {
            kind: CollectiveKind::AllReduce,
            group: ProcessGroup::default(),
            is_on_device: true,
            bytes: None,
            step: Some(1),
            parts,
            route: None,
        };
        let matched = [
            broadcast(vec![part(0, 0, 110), part(1, 100, 110)]),
            broadcast(vec![part(0, 20, 115), part(1, 105, 115)]),
            broadcast(vec![part(0, 205, 210), part(1, 200, 210)]),
        ];
        let expected = [((Some(1), 0), Ns(5)), ((Some(1), 1), Ns(105))];
        let standstills = Standstills::new(&matched);
        assert_eq!(waited_for(&matched, &standstills), expected.into());
        let mut time = CollectiveTime::default();
        for it in &matched {
            let part = &it.parts[0];
            time.add(part.start, part.end, it.meeting().wait(part));
        }
        assert_eq!(time.shares(), Shares { wait: Ns(105), transfer: Ns(15) });
    }

    #[test]
    fn who_keeps_the_one_before_waiting_is_waited_for() {
        // From stage to stage: rank 1 sends at 100, when it is done; rank 2 stands still until then, computes until 120 and sends.
        let message = |step, source, destination, parts| Matched {
            kind: CollectiveKind::PointToPoint,
            group: ProcessGroup::default(),
            is_on_device: false,
            bytes: None,
            step: Some(step),
            parts,
            route: Some(Route { source, destination, tag: None }),
        };
        let part = Part::between;
        let mut matched = [
            message(1, 1, 2, vec![part(1, 100, 105), part(2, 10, 105)]),
            message(1, 2, 3, vec![part(2, 120, 125), part(3, 0, 125)]),
        ];
        // Rank 3 waits for rank 2 before 10, and after 100, and for rank 1 meanwhile; nobody else waits longer for rank 1.
        let expected = [((Some(1), 1), Ns(90)), ((Some(1), 2), Ns(30))];
        assert_eq!(waited_for(&matched, &Standstills::new(&matched)), expected.into());
        // A rank that computes beside the receive does not stand still.
        matched[0].parts[1].blocked = ledger::Blocked::default();
        let expected = [((Some(1), 1), Ns(90)), ((Some(1), 2), Ns(120))];
        assert_eq!(waited_for(&matched, &Standstills::new(&matched)), expected.into());
    }

    #[test]
    fn ranks_that_wait_for_each_other_in_a_circle_are_named_themselves() {
        let part = Part::between;
        let all_reduce = |group: &str, parts| Matched {
            kind: CollectiveKind::AllReduce,
            group: ProcessGroup { name: group.to_owned(), ..ProcessGroup::default() },
            is_on_device: true,
            bytes: None,
            step: None,
            parts,
            route: None,
        };
        let matched = [
            all_reduce("a", vec![part(0, 0, 60), part(1, 50, 60)]),
            all_reduce("b", vec![part(0, 50, 60), part(1, 0, 60)]),
        ];
        let expected = [((None, 0), Ns(50)), ((None, 1), Ns(50))];
        assert_eq!(waited_for(&matched, &Standstills::new(&matched)), expected.into());
    }
}
