//! How long the steps of the job would take if a rank had less to do: the ranks are run again with the work and the transfers as
//! recorded, and each collective begins when the last of its ranks is there. `docs/accounting.md`, Replay, has the assumptions.
//!
//! Without a change every event of a replay is where it was recorded, to the nanosecond. All operations are sums and maxima, so that less work
//! makes nothing later.

use std::collections::BTreeMap;

use ledger::{Ns, ProcessGroup, RankCommunication, TimeRange};

use crate::clocks::Clocks;
use crate::matching::{Matched, Route};
use crate::spread::median;

/// A collective that begins so soon after another one of its rank was queued behind it.
const QUEUED: Ns = Ns(20_000);

/// The recorded ranks of a job as events that depend on each other.
#[derive(Debug, Clone, Default)]
pub struct JobReplay {
    parts: Vec<ReplayPart>,
    /// When the last rank began each collective.
    arrivals: Vec<Ns>,
    /// In an order in which each comes after what it depends on.
    events: Vec<ReplayEvent>,
    n_ranks: usize,
    /// The ranks by index.
    ranks: BTreeMap<u32, usize>,
    /// How many steps the ranks have; 1 where there are none.
    steps: i64,
    /// From the begin of the first step to the end of the last, over all ranks.
    length: Ns,
}

/// One rank's part in a collective.
#[derive(Debug, Clone, Copy)]
struct ReplayPart {
    collective: usize,
    /// What of its rank runs one after the other: the collectives of a group, the messages to or from one other rank in it.
    queue: usize,
    start: Ns,
    end: Ns,
    /// Until when the rank computed beside it, and when it went on, where it stood still for it.
    blocked: Option<TimeRange>,
    /// Whether it may end before all have begun.
    is_alone: bool,
    /// Of a message, the step in which it was launched.
    message_step: Option<Option<u32>>,
    /// The part of the same rank that this one follows in its queue.
    behind: Option<usize>,
    /// Whether it begins as soon as that one ends.
    is_queued: bool,
}

/// What happens on a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EventKind {
    /// A part ends.
    End(usize),
    /// The rank goes on computing after it stood still for a part.
    Resume(usize),
    /// A step ends.
    StepEnd(Option<u32>),
    /// A step begins.
    StepBegin,
    /// A part begins.
    Start(usize),
}

#[derive(Debug, Clone, Copy)]
struct ReplayEvent {
    rank: usize,
    at: Ns,
    kind: EventKind,
    /// What the rank computed since the event before, where the event waits for that.
    work: Option<Ns>,
    /// Of it, what the median of the other ranks did not need before the same event.
    excess: Ns,
}

/// When things happen in a replay.
struct ReplayTimes {
    /// Until when each rank computed, or waited to go on computing.
    computed: Vec<Option<Ns>>,
    starts: Vec<Ns>,
    ends: Vec<Ns>,
    arrivals: Vec<Ns>,
    begin: Ns,
    end: Ns,
}

impl JobReplay {
    /// The ranks of `communication`, with the collectives in `matched`, by the aligned clocks. `None` where no rank says when
    /// its steps began.
    pub(crate) fn new(
        communication: &BTreeMap<u32, RankCommunication>,
        matched: &[Matched],
        clocks: &Clocks,
    ) -> Option<Self> {
        let ranks: BTreeMap<u32, usize> = communication.keys().copied().zip(0..).collect();
        let mut replay = Self { n_ranks: ranks.len(), ranks, ..Self::default() };
        let mut events: Vec<(Ns, u8, ReplayEvent)> = Vec::new();
        let event = |rank, at, kind| ReplayEvent { rank, at, kind, work: None, excess: Ns::ZERO };
        for (rank, it) in communication {
            let index = replay.ranks.get(rank).copied()?;
            let shift = clocks.0.get(rank).map_or(Ns::ZERO, |it| it.shift);
            for (&step, &TimeRange { start, end }) in &it.steps {
                let (start, end) = (start.saturating_add(shift), end.saturating_add(shift));
                events.push((start, 0, event(index, start, EventKind::StepBegin)));
                events.push((end, 0, event(index, end, EventKind::StepEnd(step))));
            }
            let steps = it.steps.len().max(1);
            replay.steps = replay.steps.max(i64::try_from(steps).unwrap_or(i64::MAX));
        }
        if events.is_empty() {
            return None;
        }
        let mut queues: BTreeMap<(u32, bool, &ProcessGroup, Option<Route>), usize> =
            BTreeMap::new();
        for it in matched {
            let meeting = it.meeting();
            let arrival = meeting.all_began;
            for part in &it.parts {
                let index = replay.ranks.get(&part.rank).copied()?;
                let is_alone = meeting.is_alone(part);
                let kind = replay.parts.len();
                let (start, end) = (part.start, part.end.max(part.start));
                events.push((start, 1, event(index, start, EventKind::Start(kind))));
                // An end comes after all begins that it waits for.
                let waits_for = if is_alone { start } else { arrival };
                let mut ending = |at: Ns, kind| {
                    let phase = if waits_for < at { 0 } else { 2 };
                    events.push((at.max(waits_for), phase, event(index, at, kind)));
                };
                ending(end, EventKind::End(kind));
                let blocked = part.blocked.before(end.saturating_sub(start));
                let blocked = (blocked.from < blocked.until).then(|| TimeRange {
                    start: start.saturating_add(blocked.from),
                    end: start.saturating_add(blocked.until),
                });
                if let Some(blocked) = blocked {
                    ending(blocked.end, EventKind::Resume(kind));
                }
                let n_queues = queues.len();
                let queue = queues.entry((part.rank, it.is_on_device, &it.group, it.route));
                replay.parts.push(ReplayPart {
                    queue: *queue.or_insert(n_queues),
                    collective: replay.arrivals.len(),
                    start,
                    end,
                    blocked,
                    is_alone,
                    message_step: it.route.map(|_| it.step),
                    behind: None,
                    is_queued: false,
                });
            }
            replay.arrivals.push(arrival);
        }
        events.sort_by_key(|(key, phase, it)| (*key, *phase, it.rank, it.kind));
        replay.events = events.into_iter().map(|(.., it)| it).collect();
        replay.find_queues();
        replay.find_work();
        replay.find_excess();
        let times = replay.run(&BTreeMap::new());
        replay.length = times.end.saturating_sub(times.begin);
        Some(replay)
    }

    /// Which part of its rank each part follows.
    fn find_queues(&mut self) {
        let mut last: BTreeMap<usize, usize> = BTreeMap::new();
        for event in &self.events {
            match event.kind {
                EventKind::End(part) => {
                    last.insert(self.parts[part].queue, part);
                }
                EventKind::Start(part) => {
                    let ReplayPart { start, queue, .. } = self.parts[part];
                    let behind =
                        last.get(&queue).copied().filter(|&it| self.parts[it].end <= start);
                    let gap = behind.map(|it| start.saturating_sub(self.parts[it].end));
                    self.parts[part].behind = behind;
                    self.parts[part].is_queued = gap.is_some_and(|it| it <= QUEUED);
                }
                EventKind::Resume(_) | EventKind::StepBegin | EventKind::StepEnd(_) => {}
            }
        }
    }

    /// What each rank computed between the events that it waits for.
    fn find_work(&mut self) {
        let mut computed: Vec<Option<Ns>> = vec![None; self.n_ranks];
        for event in &mut self.events {
            let computed = &mut computed[event.rank];
            let until = match event.kind {
                EventKind::End(_) => continue,
                EventKind::Start(part) if self.parts[part].is_queued => continue,
                EventKind::Start(_) | EventKind::StepBegin | EventKind::StepEnd(_) => event.at,
                EventKind::Resume(part) => self.parts[part].blocked.map_or(event.at, |it| it.start),
            };
            let from = computed.unwrap_or(until);
            event.work = Some(until.saturating_sub(from).max(Ns::ZERO));
            *computed = Some(from.max(event.at));
        }
    }

    /// What each rank computed longer than the median of the others before the same event. Before a step begins nothing is.
    fn find_excess(&mut self) {
        #[derive(PartialEq, Eq, PartialOrd, Ord)]
        enum Key {
            Start(usize),
            Resume(usize),
            StepEnd(Option<u32>),
        }
        let mut works: BTreeMap<Key, Vec<(usize, Ns)>> = BTreeMap::new();
        for (index, event) in self.events.iter().enumerate() {
            let key = match event.kind {
                EventKind::Start(part) | EventKind::Resume(part)
                    if self.parts[part].message_step.is_some() =>
                {
                    continue;
                }
                EventKind::Start(part) => Key::Start(self.parts[part].collective),
                EventKind::Resume(part) => Key::Resume(self.parts[part].collective),
                EventKind::StepEnd(step) => Key::StepEnd(step),
                EventKind::StepBegin | EventKind::End(_) => continue,
            };
            if let Some(work) = event.work {
                works.entry(key).or_default().push((index, work));
            }
        }
        for works in works.into_values().filter(|it| 1 < it.len()) {
            let mut sorted: Vec<Ns> = works.iter().map(|(_, work)| *work).collect();
            sorted.sort_unstable();
            for (index, work) in works {
                let others = median_without(&sorted, work);
                self.events[index].excess = work.saturating_sub(others).max(Ns::ZERO);
            }
        }
        self.find_excess_before_messages();
    }

    /// The same before messages. What two ranks do before the same message is not alike: the one that sends has computed what it
    /// sends. So all that a rank computes before its messages of a step is set against that of the others, and what is longer is
    /// divided among them as the work is.
    fn find_excess_before_messages(&mut self) {
        let mut works: BTreeMap<Option<u32>, BTreeMap<usize, Vec<usize>>> = BTreeMap::new();
        for (index, event) in self.events.iter().enumerate() {
            let (EventKind::Start(part) | EventKind::Resume(part)) = event.kind else { continue };
            if let (Some(step), Some(_)) = (self.parts[part].message_step, event.work) {
                works.entry(step).or_default().entry(event.rank).or_default().push(index);
            }
        }
        for ranks in works.into_values().filter(|it| 1 < it.len()) {
            let work = |index: &usize| self.events[*index].work.unwrap_or(Ns::ZERO);
            let sums: Vec<Ns> = ranks.values().map(|it| it.iter().map(work).sum()).collect();
            let mut sorted = sums.clone();
            sorted.sort_unstable();
            for (indices, sum) in ranks.into_values().zip(sums) {
                let excess = sum.saturating_sub(median_without(&sorted, sum)).max(Ns::ZERO);
                for index in indices {
                    let event = &mut self.events[index];
                    event.excess = share(excess, event.work.unwrap_or(Ns::ZERO), sum);
                }
            }
        }
    }

    /// From the begin of the first step to the end of the last, by the number of steps.
    #[must_use]
    pub fn step(&self) -> Ns {
        self.length / self.steps.max(1)
    }

    /// By how much a step of the job would be shorter if `rank` computed less: `excess` over the recording, or, without one, all that it
    /// computes longer than the others. It is taken from where the rank computes longer than the median of the others, most from
    /// where the difference is largest.
    #[must_use]
    pub fn saving(&self, rank: u32, excess: Option<Ns>) -> Ns {
        let Some(&rank) = self.ranks.get(&rank) else { return Ns::ZERO };
        let of_rank = self.events.iter().enumerate().filter(|(_, it)| it.rank == rank);
        let mut longer: Vec<(usize, Ns)> = of_rank
            .map(|(index, it)| (index, it.excess))
            .filter(|(_, excess)| Ns::ZERO < *excess)
            .collect();
        longer.sort_by_key(|&(index, excess)| (std::cmp::Reverse(excess), index));
        let mut left = excess.unwrap_or(Ns::MAX);
        let mut cuts: BTreeMap<usize, Ns> = BTreeMap::new();
        for (index, excess) in longer {
            let cut = excess.min(left);
            left = left.saturating_sub(cut);
            cuts.insert(index, cut);
        }
        let times = self.run(&cuts);
        let length = times.end.saturating_sub(times.begin);
        let saved = self.length.saturating_sub(length);
        saved.max(Ns::ZERO).min(self.length) / self.steps.max(1)
    }

    /// Runs the ranks, with `cuts` taken from the work before events.
    fn run(&self, cuts: &BTreeMap<usize, Ns>) -> ReplayTimes {
        let mut times = ReplayTimes {
            computed: vec![None; self.n_ranks],
            starts: vec![Ns::ZERO; self.parts.len()],
            ends: vec![Ns::ZERO; self.parts.len()],
            arrivals: vec![Ns::MIN; self.arrivals.len()],
            begin: Ns::MAX,
            end: Ns::MIN,
        };
        for (index, event) in self.events.iter().enumerate() {
            let cut = cuts.get(&index).copied().unwrap_or(Ns::ZERO);
            match event.kind {
                EventKind::StepBegin => {
                    let now = times.compute(event, cut);
                    times.begin = times.begin.min(now);
                }
                EventKind::StepEnd(_) => {
                    let now = times.compute(event, cut);
                    times.end = times.end.max(now);
                }
                EventKind::Start(part) => self.start(&mut times, event, part, cut),
                EventKind::End(part) => times.ends[part] = self.at_end(&times, part, event.at),
                EventKind::Resume(part) => {
                    let until = self.at_end(&times, part, event.at);
                    let now = times.compute(event, cut);
                    times.computed[event.rank] = Some(now.max(until));
                }
            }
        }
        times
    }

    fn start(&self, times: &mut ReplayTimes, event: &ReplayEvent, index: usize, cut: Ns) {
        let part = &self.parts[index];
        let free = part.behind.map(|it| (times.ends[it], self.parts[it].end));
        let start = match free {
            Some((free, recorded)) if part.is_queued => {
                free.saturating_add(part.start.saturating_sub(recorded))
            }
            _ => {
                let ready = times.compute(event, cut);
                free.map_or(ready, |(free, _)| ready.max(free))
            }
        };
        times.starts[index] = start;
        let arrival = &mut times.arrivals[part.collective];
        *arrival = (*arrival).max(start);
    }

    /// When in a replay happens what happened at `recorded`, at the end of a part.
    fn at_end(&self, times: &ReplayTimes, part: usize, recorded: Ns) -> Ns {
        let ReplayPart { collective, start, is_alone, .. } = self.parts[part];
        let (now, from) = match is_alone {
            true => (times.starts[part], start),
            false => (times.arrivals[collective], self.arrivals[collective]),
        };
        now.saturating_add(recorded.saturating_sub(from))
    }
}

impl ReplayTimes {
    /// Lets the rank of `event` compute up to it, `cut` less than recorded; returns when it is done.
    fn compute(&mut self, event: &ReplayEvent, cut: Ns) -> Ns {
        let work = event.work.unwrap_or(Ns::ZERO);
        let computed = self.computed[event.rank].get_or_insert(event.at);
        *computed = computed.saturating_add(work.saturating_sub(cut.min(work)));
        *computed
    }
}

/// What of `all` falls on `part` of `whole`, rounded down.
fn share(all: Ns, part: Ns, whole: Ns) -> Ns {
    let product = i128::from(all.0) * i128::from(part.0);
    Ns(i64::try_from(product / i128::from(whole.0.max(1))).unwrap_or(0))
}

/// The median of `sorted` times without one of them.
fn median_without(sorted: &[Ns], one: Ns) -> Ns {
    let at = sorted.partition_point(|it| *it < one);
    let others = sorted.len().saturating_sub(1);
    let other = |n: usize| sorted.get(if n < at { n } else { n + 1 }).copied().unwrap_or(Ns::ZERO);
    match others {
        0 => Ns::ZERO,
        n if n % 2 == 1 => other(n / 2),
        n => median(vec![other(n / 2 - 1), other(n / 2)]),
    }
}

#[cfg(test)]
mod tests {
    use ledger::{Blocked, CollectiveKind};
    use proptest::prelude::*;

    use super::*;
    use crate::matching::Part;

    /// An all-reduce of the group with the given parts.
    fn all_reduce(group: &str, parts: Vec<Part>) -> Matched {
        Matched {
            kind: CollectiveKind::AllReduce,
            group: ProcessGroup { name: group.to_owned(), ..ProcessGroup::default() },
            is_on_device: true,
            bytes: None,
            step: Some(0),
            parts,
            route: None,
        }
    }

    /// The part of a rank that computes beside it until `blocked` before its end, as all times in nanoseconds.
    fn part(rank: u32, start: i64, end: i64, blocked: i64) -> Part {
        let blocked = Blocked { from: Ns(end - start - blocked), until: Ns(end - start) };
        Part { blocked, ..Part::between(rank, start, end) }
    }

    /// Ranks with the steps that begin and end as given, in nanoseconds.
    fn replay(steps: &[&[(i64, i64)]], matched: &[Matched]) -> JobReplay {
        let ranks = (0..).zip(steps).map(|(rank, steps)| {
            let range = |(start, end): (i64, i64)| TimeRange { start: Ns(start), end: Ns(end) };
            let steps = (0..).map(Some).zip(steps.iter().map(|it| range(*it))).collect();
            (rank, RankCommunication { steps, ..RankCommunication::default() })
        });
        JobReplay::new(&ranks.collect(), matched, &Clocks::default()).unwrap()
    }

    const MS: i64 = 1_000_000;

    fn ms(replay: &JobReplay, rank: u32, excess: Option<i64>) -> f64 {
        replay.saving(rank, excess.map(|it| Ns(it * MS))).as_f64() / 1e6
    }

    #[test]
    fn of_two_ranks_what_is_waited_for_is_saved() {
        // Rank 1 computes 70 ms, rank 0 20 ms; then 10 ms of transfer, and 5 ms of computing.
        let matched = [all_reduce(
            "0",
            vec![part(0, 20 * MS, 80 * MS, 60 * MS), part(1, 70 * MS, 80 * MS, 10 * MS)],
        )];
        let it = replay(&[&[(0, 85 * MS)], &[(0, 85 * MS)]], &matched);
        assert_eq!(it.step(), Ns(85 * MS));
        assert_eq!(ms(&it, 1, Some(30)), 30.0);
        assert_eq!(ms(&it, 1, None), 50.0, "as fast as rank 0");
        assert_eq!(ms(&it, 1, Some(70)), 50.0, "no faster than rank 0");
        assert_eq!(ms(&it, 0, Some(20)), 0.0, "nobody waits for rank 0");
    }

    #[test]
    fn what_a_third_rank_needs_is_not_saved() {
        // Without what rank 2 computes longer than the median of the others, 45 ms, rank 1 is the last, at 60 ms.
        let all = |begins: [i64; 3]| {
            (0..)
                .zip(begins)
                .map(|(rank, at)| part(rank, at * MS, 80 * MS, (80 - at) * MS))
                .collect()
        };
        let it = replay(&[&[(0, 80 * MS)][..]; 3], &[all_reduce("0", all([30, 60, 70]))]);
        assert_eq!(ms(&it, 2, Some(25)), 10.0);
        assert_eq!(ms(&it, 2, Some(4)), 4.0);
    }

    #[test]
    fn a_delay_moves_on_to_the_next_step() {
        // Rank 1 computes 30 ms longer after the collective of step 0, and comes as much later to that of step 1.
        let both = |at: [i64; 2], end: i64| {
            let part = |(rank, at): (u32, i64)| part(rank, at * MS, end * MS, (end - at) * MS);
            all_reduce("0", (0..).zip(at).map(part).collect())
        };
        let matched = [both([10, 10], 12), both([22, 52], 54)];
        let steps: [&[(i64, i64)]; 2] =
            [&[(0, 12 * MS), (12 * MS, 60 * MS)], &[(0, 42 * MS), (42 * MS, 60 * MS)]];
        let it = replay(&steps, &matched);
        assert_eq!(it.step(), Ns(30 * MS), "60 ms of two steps");
        assert_eq!(ms(&it, 1, Some(30)), 15.0, "30 ms of two steps");
    }

    #[test]
    fn a_group_that_is_not_waited_for_saves_nothing() {
        // Ranks 0 and 1 are one tensor-parallel group, 2 and 3 the other; 0 and 2, 1 and 3 are data-parallel groups. Rank 1 is
        // 20 ms late in its first group; that of ranks 2 and 3 needs 15 ms longer than the others to its second.
        let pair = |group: &str, (a, a_at): (u32, i64), (b, b_at): (u32, i64), end: i64| {
            let parts = [(a, a_at), (b, b_at)];
            let part = |(rank, at): (u32, i64)| part(rank, at * MS, end * MS, (end - at) * MS);
            all_reduce(group, parts.into_iter().map(part).collect())
        };
        let matched = [
            pair("tp0", (0, 10), (1, 30), 32),
            pair("tp1", (2, 10), (3, 10), 12),
            pair("dp0", (0, 37), (2, 32), 40),
            pair("dp1", (1, 37), (3, 32), 40),
        ];
        let it = replay(&[&[(0, 45 * MS)][..]; 4], &matched);
        // Without the 20 ms the first group is done after 12, and at the second one after 17, where ranks 2 and 3 are after 32.
        assert_eq!(ms(&it, 1, Some(20)), 5.0);
    }

    #[test]
    fn what_is_hidden_by_computing_is_not_saved() {
        // Rank 0 computes 55 ms beside the collective, in which it waits for rank 1 for 40 ms; it waits 5 ms for its end.
        let of_0 = part(0, 10 * MS, 70 * MS, 5 * MS);
        let matched = [all_reduce("0", vec![of_0, part(1, 50 * MS, 70 * MS, 20 * MS)])];
        let it = replay(&[&[(0, 80 * MS)], &[(0, 80 * MS)]], &matched);
        assert_eq!(ms(&it, 1, Some(40)), 5.0);
        assert_eq!(ms(&it, 1, Some(3)), 3.0);
    }

    #[test]
    fn what_is_queued_behind_a_late_one_comes_earlier_with_it() {
        // On rank 0 two collectives stand in the queue from 10 and 20 ms on; it computes until 40 ms. Rank 1 begins them at 60 and 75 ms.
        let second = 70 * MS + 2_000;
        let matched = [
            all_reduce("0", vec![part(0, 10 * MS, 70 * MS, 30 * MS), part(1, 60 * MS, 70 * MS, 0)]),
            all_reduce(
                "0",
                vec![part(0, second, 85 * MS, 15 * MS - 2_000), part(1, 75 * MS, 85 * MS, 10 * MS)],
            ),
        ];
        let it = replay(&[&[(0, 90 * MS)], &[(0, 90 * MS)]], &matched);
        // Rank 1 begins them at 10 and 25 ms, the last is done at 35 ms, and rank 0 goes on at 40 ms and the 2 µs between them.
        assert_eq!(ms(&it, 1, Some(50)), 44.998);
    }

    #[test]
    fn a_sender_does_not_wait() {
        let mut broadcast = all_reduce(
            "0",
            vec![part(0, 10 * MS, 12 * MS, 2 * MS), part(1, 50 * MS, 52 * MS, 2 * MS)],
        );
        broadcast.kind = CollectiveKind::Broadcast;
        let it = replay(&[&[(0, 40 * MS)], &[(0, 60 * MS)]], &[broadcast]);
        assert_eq!(ms(&it, 1, Some(15)), 15.0);
        assert_eq!(ms(&it, 1, None), 20.0, "rank 0 ends at 40 ms");
    }

    #[test]
    fn a_stage_that_computes_longer_is_made_as_fast_as_the_others() {
        // Stages 0 to 2 compute 10, 40 and 10 ms one after the other, then stage 2 sends back.
        let message = |source, destination, parts| Matched {
            kind: CollectiveKind::PointToPoint,
            route: Some(Route { source, destination, tag: None }),
            ..all_reduce("0", parts)
        };
        let matched = [
            message(0, 1, vec![part(0, 10 * MS, 11 * MS, MS), part(1, 0, 11 * MS, 11 * MS)]),
            message(1, 2, vec![part(1, 51 * MS, 52 * MS, MS), part(2, 0, 52 * MS, 52 * MS)]),
            message(2, 0, vec![part(2, 62 * MS, 63 * MS, MS), part(0, 11 * MS, 63 * MS, 52 * MS)]),
        ];
        let it = replay(&[&[(0, 63 * MS)], &[(0, 52 * MS)], &[(0, 63 * MS)]], &matched);
        assert_eq!(it.step(), Ns(63 * MS));
        assert_eq!(ms(&it, 1, Some(20)), 20.0);
        assert_eq!(ms(&it, 1, None), 30.0, "as fast as the other stages");
        assert_eq!(ms(&it, 0, None), 0.0, "it computes no longer than the others");
    }

    #[test]
    fn the_median_of_the_others_is_found_in_order() {
        let times: Vec<Ns> = [1, 3, 3, 8, 9].map(Ns).into();
        for index in 0..times.len() {
            let mut others = times.clone();
            let one = others.remove(index);
            assert_eq!(median_without(&times, one), median(others), "without {one:?}");
        }
        assert_eq!(median_without(&times[..1], Ns(1)), Ns::ZERO);
    }

    /// A part of a rank: rank, gap before it, duration, and how long it is blocked at its end.
    type Drawn = Vec<Vec<(i64, i64, i64)>>;

    proptest! {
        #[test]
        fn a_replay_is_the_recording_and_less_work_never_makes_it_longer(
            drawn in prop::collection::vec(prop::collection::vec((-30..400_i64, 0..90_i64, 0..90_i64), 1..9), 2..5),
            rank in 0..4_u32,
            excess in prop::option::of(0..900_i64),
            synchronises in any::<bool>(),
        ) {
            let drawn: Drawn = drawn;
            let n = drawn.iter().map(Vec::len).min().unwrap_or(0);
            let mut at = vec![0; drawn.len()];
            let mut matched = Vec::new();
            for index in 0..n {
                let starts: Vec<i64> = drawn.iter().zip(&at).map(|(it, at)| at + it[index].0).collect();
                let all = starts.iter().copied().max().unwrap_or(0);
                let parts = (0..).zip(&drawn).map(|(rank, it)| {
                    let (_, duration, blocked) = it[index];
                    let start = starts[rank as usize];
                    let from = if synchronises { all } else { start };
                    at[rank as usize] = from + duration;
                    // In microseconds, so that much begins when something else ends.
                    let (lasts, blocked) = (from + duration - start, blocked.min(from + duration - start));
                    let blocked = Blocked {
                        from: Ns((lasts - blocked) * 1_000),
                        until: Ns((lasts - blocked / 7) * 1_000),
                    };
                    Part { blocked, ..Part::between(rank, start * 1_000, (start + lasts) * 1_000) }
                });
                let kind = if synchronises { CollectiveKind::AllReduce } else { CollectiveKind::Broadcast };
                let group = if index % 3 == 2 { "1" } else { "0" };
                matched.push(Matched { kind, ..all_reduce(group, parts.collect()) });
            }
            let steps: Vec<Vec<(i64, i64)>> = at.iter().map(|end| vec![(0, (end + 40) * 1_000)]).collect();
            let steps: Vec<&[(i64, i64)]> = steps.iter().map(Vec::as_slice).collect();
            let it = replay(&steps, &matched);
            let times = it.run(&BTreeMap::new());
            for (index, part) in it.parts.iter().enumerate() {
                prop_assert_eq!((times.starts[index], times.ends[index]), (part.start, part.end));
            }
            let longest = at.iter().max().copied().unwrap_or(0) + 40;
            prop_assert_eq!(it.step(), Ns(longest * 1_000));
            let saving = it.saving(rank, excess.map(|it| Ns(it * 1_000)));
            prop_assert!(Ns::ZERO <= saving && saving <= it.step());
            prop_assert!(saving <= it.saving(rank, None));
            prop_assert!(excess.is_none_or(|it| saving <= Ns(it * 1_000)));
        }
    }
}
