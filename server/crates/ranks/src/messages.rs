//! Which sends and receives are one and the same message.
//!
//! What a rank sends another one in a process group, with a tag where there are tags, arrives there in the order in which it was
//! sent. So the sends of a step are the receives of that step in order, if there are as many, of equal sizes, and none
//! ends before its send began. Else it is not known which are which, and none is matched.

use std::collections::BTreeMap;

use ledger::{
    CollectiveKind, CollectiveSite, Direction, MessageEnd, ProcessGroup, RankCommunication,
};

use crate::matching::{Matched, Part, Route, SharedLines, SitedCall};

/// In what messages keep their order, in one step.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Channel<'a> {
    group: &'a ProcessGroup,
    is_on_device: bool,
    route: Route,
    step: Option<u32>,
}

impl<'a> Channel<'a> {
    /// That of a matched message; `None` of a collective.
    pub(crate) fn of(matched: &'a Matched) -> Option<Self> {
        let Matched { group, is_on_device, route, step, .. } = matched;
        Some(Self { group, is_on_device: *is_on_device, route: (*route)?, step: *step })
    }
}

/// The two ends of the messages of a channel.
#[derive(Default)]
struct ChannelCalls<'a> {
    sends: Vec<SitedCall<'a>>,
    receives: Vec<SitedCall<'a>>,
}

/// The messages of which both ends are recorded, by the clocks of the recordings, and the number of sends and receives that are not
/// matched.
pub(crate) fn messages(ranks: &BTreeMap<u32, RankCommunication>) -> (Vec<Matched>, u64) {
    let mut channels: BTreeMap<Channel<'_>, ChannelCalls<'_>> = BTreeMap::new();
    let mut alone = 0;
    for (&rank, communication) in ranks {
        let is_message = |(site, _): &(&CollectiveSite, _)| site.kind.is_message();
        for (site, calls) in communication.sites.iter().filter(is_message) {
            let end = site.message.and_then(|end| Some((end.direction, route(rank, end)?)));
            let Some((direction, route)) = end else {
                alone += calls.len() as u64;
                continue;
            };
            for call in calls {
                let (group, is_on_device) = (&site.group, site.is_on_device);
                let channel = Channel { group, is_on_device, route, step: call.step };
                let of_channel = channels.entry(channel).or_default();
                let mine = match direction {
                    Direction::Send => &mut of_channel.sends,
                    Direction::Receive => &mut of_channel.receives,
                };
                mine.push((call, site.line.as_ref(), site.bytes));
            }
        }
    }
    let mut lines = SharedLines::default();
    let mut found = Vec::new();
    for (channel, mut calls) in channels {
        if calls.are_known() {
            let pairs = calls.sends.iter().zip(&calls.receives);
            found.extend(pairs.map(|(send, receive)| {
                let parts = [(channel.route.source, send), (channel.route.destination, receive)];
                message(&channel, parts.map(|(rank, call)| lines.part(rank, call)))
            }));
        } else {
            alone += (calls.sends.len() + calls.receives.len()) as u64;
        }
    }
    (found, alone)
}

impl ChannelCalls<'_> {
    /// Puts both ends in order, and says whether it is known which are one message.
    fn are_known(&mut self) -> bool {
        self.sends.sort_by_key(|(call, ..)| **call);
        self.receives.sort_by_key(|(call, ..)| **call);
        let sizes = |(send, receive): (&SitedCall<'_>, &SitedCall<'_>)| send.2.zip(receive.2);
        let mut sizes = self.sends.iter().zip(&self.receives).filter_map(sizes);
        self.sends.len() == self.receives.len() && sizes.all(|(sent, received)| sent == received)
    }
}

/// The route of the message of which `rank` has the end `end`; `None` of what it sends to itself.
fn route(rank: u32, end: MessageEnd) -> Option<Route> {
    let MessageEnd { direction, peer, tag } = end;
    let (source, destination) = match direction {
        Direction::Send => (rank, peer),
        Direction::Receive => (peer, rank),
    };
    (rank != peer).then_some(Route { source, destination, tag })
}

/// The message with these parts, that of the rank that sends first.
fn message(channel: &Channel<'_>, parts: [Part; 2]) -> Matched {
    let Channel { group, is_on_device, route, step } = channel;
    Matched {
        kind: CollectiveKind::PointToPoint,
        group: (*group).clone(),
        is_on_device: *is_on_device,
        bytes: parts.iter().find_map(|it| it.bytes),
        step: *step,
        parts: parts.into(),
        route: Some(*route),
    }
}

#[cfg(test)]
mod tests {
    use ledger::{Blocked, Bytes, CollectiveCall, Ns};
    use proptest::prelude::*;

    use super::*;
    use crate::clocks::Clocks;

    /// An end of a message of `bytes` on a rank: direction, the other rank, start and end in nanoseconds.
    type End = (Direction, u32, i64, i64, i64);

    const SEND: Direction = Direction::Send;
    const RECEIVE: Direction = Direction::Receive;

    fn ranks(ends: &[(u32, &[End])]) -> BTreeMap<u32, RankCommunication> {
        let mut ranks: BTreeMap<u32, RankCommunication> = BTreeMap::new();
        for &(rank, ends) in ends {
            for &(direction, peer, bytes, start, end) in ends {
                let site = CollectiveSite {
                    kind: CollectiveKind::PointToPoint,
                    group: ProcessGroup::default(),
                    bytes: Some(Bytes(bytes)),
                    is_on_device: false,
                    line: None,
                    message: Some(MessageEnd { direction, peer, tag: Some(0) }),
                };
                let blocked = Blocked { from: Ns::ZERO, until: Ns(end - start) };
                let (start, end, step) = (Ns(start), Ns(end), Some(1));
                let call = CollectiveCall { start, end, step, sequence: None, blocked };
                ranks.entry(rank).or_default().sites.entry(site).or_default().push(call);
            }
        }
        ranks
    }

    /// Of each message: from whom to whom, how long the sender and the receiver wait, and the transfer.
    fn waits(found: &[Matched]) -> Vec<(u32, u32, i64, i64, i64)> {
        let wait = |it: &Matched, n: usize| it.meeting().wait(&it.parts[n]).0;
        let row = |it: &Matched| {
            let route = it.route.unwrap();
            (route.source, route.destination, wait(it, 0), wait(it, 1), it.transfer().0)
        };
        found.iter().map(row).collect()
    }

    #[test]
    fn sends_and_receives_are_paired_in_order() {
        let (found, alone) = messages(&ranks(&[
            (0, &[(SEND, 1, 8, 100, 130), (SEND, 1, 16, 200, 280), (SEND, 1, 8, 300, 310)]),
            (1, &[(RECEIVE, 0, 8, 20, 140), (RECEIVE, 0, 16, 250, 290), (RECEIVE, 0, 8, 400, 420)]),
        ]));
        // The receiver waits 80 for the first, the sender 50 for the receiver of the second; the third was buffered.
        let expected = [(0, 1, 0, 80, 40), (0, 1, 50, 0, 40), (0, 1, 0, 0, 20)];
        assert_eq!((waits(&found).as_slice(), alone), (&expected[..], 0));
        assert_eq!(found.iter().map(|it| it.meeting().last).collect::<Vec<_>>(), [0, 1, 1]);
    }

    #[test]
    fn what_is_not_known_to_belong_together_is_not_matched() {
        let of = |ends: &[(u32, &[End])]| {
            let (found, alone) = messages(&ranks(ends));
            (found.len(), alone)
        };
        let sends: &[End] = &[(SEND, 1, 8, 0, 10), (SEND, 1, 8, 20, 30)];
        assert_eq!(of(&[(0, sends)]), (0, 2), "the peer is not recorded");
        assert_eq!(of(&[(0, sends), (1, &[(RECEIVE, 0, 8, 5, 12)])]), (0, 3), "one is missing");
        let other = [(RECEIVE, 0, 8, 5, 12), (RECEIVE, 0, 9, 25, 32)];
        assert_eq!(of(&[(0, sends), (1, &other)]), (0, 4), "of another size");
        assert_eq!(of(&[(0, &[(SEND, 0, 8, 0, 1)])]), (0, 1), "to itself");
        assert_eq!(of(&[(0, sends), (2, &[(RECEIVE, 0, 8, 0, 1)])]), (0, 3), "to another rank");
    }

    #[test]
    fn a_receive_that_is_over_before_the_send_shows_another_order() {
        let ends = ranks(&[
            (0, &[(SEND, 1, 8, 100_000, 110_000), (SEND, 1, 8, 200_000, 210_000)]),
            (1, &[(RECEIVE, 0, 8, 0, 10_000), (RECEIVE, 0, 8, 205_000, 211_000)]),
        ]);
        let (mut found, _) = messages(&ends);
        // Of one machine, so that no clock explains it.
        let clocks = Clocks::new(&found, |_| "node");
        assert_eq!((clocks.align(&mut found), found.len()), (2, 0));
    }

    /// The clock of rank 1 is `ahead`; messages take 10 and 14.
    fn with_clock(ahead: i64, is_answered: bool) -> (Vec<Matched>, Clocks) {
        let mut of_0 = vec![(SEND, 1, 8, 100_000, 100_010)];
        let mut of_1 = vec![(RECEIVE, 0, 8, ahead + 90_000, ahead + 100_010)];
        if is_answered {
            of_0.push((RECEIVE, 1, 8, 150_000, 200_014));
            of_1.push((SEND, 0, 8, ahead + 200_000, ahead + 200_014));
        }
        let (found, _) = messages(&ranks(&[(0, &of_0), (1, &of_1)]));
        let clocks = Clocks::new(&found, |rank| if rank == 0 { "a" } else { "b" });
        (found, clocks)
    }

    #[test]
    fn messages_in_both_directions_align_clocks() {
        let (mut found, clocks) = with_clock(7_000_000_000, true);
        let clock = clocks.0[&1];
        assert_eq!(clocks.align(&mut found), 0);
        // Messages of 10 and 14 are taken for two of 12, which may be wrong by as much.
        assert_eq!((clock.shift, clock.uncertainty), (Ns(2 - 7_000_000_000), Ns(12)));
        assert_eq!(waits(&found), [(0, 1, 0, 9_998, 12), (1, 0, 0, 50_002, 12)]);
    }

    #[test]
    fn messages_in_one_direction_do_not_show_what_clocks_differ_by() {
        let (mut found, clocks) = with_clock(7_000_000_000, false);
        assert!(clocks.0[&0].reference != clocks.0[&1].reference);
        assert_eq!((clocks.align(&mut found), found.len()), (1, 0));
    }

    proptest! {
        #[test]
        fn the_order_of_ranks_and_a_missing_one_make_no_false_pair(
            drawn in prop::collection::vec((0..4_u32, 1..4_u32, 0..3_i64, 0..50_i64, 0..50_i64), 1..20),
            missing in 0..4_u32,
        ) {
            // Messages one after the other, from a rank to one of the others.
            let mut by_rank: BTreeMap<u32, Vec<End>> = BTreeMap::new();
            for (n, &(source, further, bytes, early, late)) in (0_i64..).zip(&drawn) {
                let destination = (source + further) % 4;
                let at = n * 1000;
                by_rank.entry(source).or_default().push((SEND, destination, bytes, at + early, at + 200));
                by_rank.entry(destination).or_default().push((RECEIVE, source, bytes, at + late, at + 201));
            }
            let all: Vec<(u32, &[End])> = by_rank.iter().map(|(rank, it)| (*rank, it.as_slice())).collect();
            let (found, alone) = messages(&ranks(&all));
            prop_assert_eq!((found.len(), alone), (drawn.len(), 0));
            for it in &found {
                let at = it.parts[0].start.0 / 1000;
                prop_assert_eq!(it.parts[1].start.0 / 1000, at, "both ends are of one message");
            }
            let reversed: Vec<_> = all.iter().copied().rev().collect();
            prop_assert_eq!(&messages(&ranks(&reversed)).0, &found);
            let rest: Vec<_> = all.iter().copied().filter(|(rank, _)| *rank != missing).collect();
            let (without, alone) = messages(&ranks(&rest));
            let is_whole = |it: &&Matched| it.parts.iter().all(|part| part.rank != missing);
            let expected: Vec<Matched> = found.iter().filter(is_whole).cloned().collect();
            prop_assert_eq!(alone, (found.len() - expected.len()) as u64);
            prop_assert_eq!(without, expected);
        }
    }
}
