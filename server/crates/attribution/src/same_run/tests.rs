//! Made-up runs of a made-up program: which allocations are paired, and when none are.

use profile::{Bytes, Ns};

use super::pair::{AllocatorEvent, Pairs, Refused, pair};

/// Nanoseconds from 1970 to some day.
const DAY: Ns = Ns(1_790_000_000_000_000_000);

/// Numbers that look random, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// A program that does the same in each step, at addresses that it is given again in each, as it runs on `day`. What lies
/// between two events differs from run to run.
fn run(n_steps: u64, day: Ns, seed: u64) -> Vec<AllocatorEvent> {
    let mut dice = Dice(seed);
    let mut at = day;
    let mut events = Vec::new();
    for step in 0..n_steps {
        for number in 0..20_u64 {
            let address = 0x1000 * (number % 12 + 1);
            let bytes = Bytes(512) * i64::try_from(number % 5 + 1).unwrap();
            for is_alloc in [true, false] {
                at += Ns(15_000 + i64::try_from(dice.roll(30_000)).unwrap());
                events.push(AllocatorEvent { at, address, bytes, is_alloc });
            }
        }
        at += Ns(400_000);
        events.push(AllocatorEvent {
            at,
            address: 0x10_0000 + step,
            bytes: Bytes(4),
            is_alloc: true,
        });
    }
    events
}

/// The same run as a snapshot has it: what was asked for, by a clock that is behind, in whole microseconds.
fn recorded(events: &[AllocatorEvent], behind: Ns) -> Vec<AllocatorEvent> {
    let mut dice = Dice(7);
    let mut last = Ns(0);
    let one = |event: &AllocatorEvent| {
        let at = (event.at - behind - Ns(300 + i64::try_from(dice.roll(1_500)).unwrap())) / 1_000
            * 1_000;
        last = at.max(last);
        AllocatorEvent { at: last, bytes: event.bytes - Bytes(3), ..*event }
    };
    events.iter().map(one).collect()
}

fn without_times(events: &[AllocatorEvent]) -> Vec<AllocatorEvent> {
    events.iter().map(|event| AllocatorEvent { at: Ns(-1), ..*event }).collect()
}

/// Every stack is another, so that it matters which is meant.
fn found(trace: &[AllocatorEvent], snapshot: &[AllocatorEvent]) -> Result<Pairs, Refused> {
    pair(trace, snapshot, |one, other| one == other)
}

/// Pairs of the same index, the trace beginning at `from`.
fn straight(from: usize, n: usize) -> Vec<(usize, usize)> {
    (0..n).map(|it| (it, from + it)).collect()
}

#[test]
fn a_trace_is_found_in_a_longer_history_by_another_clock() {
    let events = run(12, DAY, 1);
    let trace = &events[205..330];
    for behind in [0, 1_234_000, -80_000_000] {
        let pairs = found(trace, &recorded(&events, Ns(behind))).unwrap();
        assert_eq!(pairs, Pairs { pairs: straight(205, 125), n_during: 125 }, "{behind}");
    }
}

#[test]
fn times_that_count_from_anywhere_are_enough() {
    let events = run(12, Ns(5_000_000), 1);
    let mut snapshot = recorded(&events, Ns(0));
    snapshot.iter_mut().for_each(|it| it.at += DAY);
    assert_eq!(found(&events[205..330], &snapshot).unwrap().pairs, straight(205, 125));
}

#[test]
fn what_one_of_the_two_did_not_see_is_left_out() {
    let events = run(12, DAY, 1);
    // A ring buffer that lost the first half of the trace, and a thread that the profiler did not see.
    let history = recorded(&events, Ns(0));
    let pairs = found(&events[205..330], &history[270..]).unwrap();
    assert_eq!((pairs.n_during, pairs.pairs.len()), (60, 60));
    assert_eq!((pairs.pairs[0], pairs.pairs[59]), ((65, 0), (124, 59)));
    let seen: Vec<AllocatorEvent> =
        events[205..330].iter().filter(|it| it.address != 0x3000).copied().collect();
    let pairs = found(&seen, &history).unwrap();
    assert_eq!(pairs.pairs.len(), seen.len());
    for (here, there) in pairs.pairs {
        assert_eq!(seen[here], events[there]);
    }
}

#[test]
fn what_the_snapshot_lacks_is_not_the_next_at_its_address() {
    // The fifth block of each step and the sixth, which is smaller, are one after the other at the same address.
    let mut events = run(12, DAY, 1);
    events.iter_mut().filter(|it| it.address == 0x6000).for_each(|it| it.address = 0x5000);
    let missing = 3 * 41 + 2 * 4;
    let mut snapshot = recorded(&events, Ns(0));
    snapshot.remove(missing);
    let pairs = found(&events, &snapshot).unwrap();
    let n = events.len();
    let expected = (0..n).filter(|it| *it != missing);
    let expected = expected.map(|it| (it, it - usize::from(missing < it))).collect();
    assert_eq!(pairs, Pairs { pairs: expected, n_during: n });
}

#[test]
fn clocks_may_drift_a_little() {
    let events = run(60, DAY, 1);
    let slow = |it: &AllocatorEvent| AllocatorEvent { at: it.at - (it.at - DAY) / 10_000, ..*it };
    let trace: Vec<AllocatorEvent> = events.iter().map(slow).collect();
    assert_eq!(found(&trace, &recorded(&events, Ns(0))).unwrap().pairs, straight(0, events.len()));
}

#[test]
fn another_run_of_the_same_program_is_refused() {
    let snapshot = recorded(&run(12, DAY, 1), Ns(0));
    for seed in 2..40 {
        let trace = run(12, DAY + Ns(40_000) * i64::try_from(seed).unwrap(), seed);
        let refused = found(&trace[205..330], &snapshot);
        assert!(matches!(refused, Err(Refused::Mismatch(..))), "{seed}: {refused:?}");
    }
    let tomorrow = run(12, DAY + Ns(86_400_000_000_000), 2);
    assert!(matches!(found(&tomorrow, &snapshot), Err(Refused::OtherTime(_))));
}

#[test]
fn another_program_is_refused() {
    let events = run(12, DAY, 1);
    let moved = |it: &AllocatorEvent| AllocatorEvent { address: it.address + 0x100, ..*it };
    let snapshot: Vec<AllocatorEvent> = recorded(&events, Ns(0)).iter().map(moved).collect();
    assert!(found(&events, &snapshot).is_err());
    let larger = |it: &AllocatorEvent| AllocatorEvent { bytes: it.bytes + Bytes(512), ..*it };
    let snapshot: Vec<AllocatorEvent> = recorded(&events, Ns(0)).iter().map(larger).collect();
    assert!(found(&events, &snapshot).is_err());
    assert_eq!(found(&events[..5], &recorded(&events, Ns(0))), Err(Refused::TooFew(5)));
    assert_eq!(found(&[], &recorded(&events, Ns(0))), Err(Refused::TooFew(0)));
}

#[test]
fn a_history_in_another_order_is_refused() {
    let events = run(12, DAY, 1);
    let mut snapshot = recorded(&events, Ns(0));
    let times: Vec<Ns> = snapshot.iter().map(|it| it.at).collect();
    let mut dice = Dice(3);
    for index in (1..snapshot.len()).rev() {
        snapshot.swap(index, usize::try_from(dice.roll(index as u64 + 1)).unwrap());
    }
    snapshot.iter_mut().zip(times).for_each(|(it, at)| it.at = at);
    let refused = found(&events[205..330], &snapshot);
    assert!(matches!(refused, Err(Refused::Mismatch(..))), "{refused:?}");
}

#[test]
fn turns_that_are_all_alike_are_distinguished_by_their_lines_or_not_at_all() {
    let turn = |number: i64| AllocatorEvent {
        at: DAY + Ns(200_000) * number,
        address: 0x1000 * (number / 2 % 3 + 1).cast_unsigned(),
        bytes: Bytes(512),
        is_alloc: number % 2 == 0,
    };
    let events: Vec<AllocatorEvent> = (0..600).map(turn).collect();
    assert_eq!(found(&events[120..240], &events), Err(Refused::Ambiguous));
    let alike = pair(&events[120..240], &events, |one, other| one % 6 == other % 6).unwrap();
    assert!(alike.pairs.iter().all(|&(here, there)| (here + 120) % 6 == there % 6));
}

#[test]
fn without_times_only_one_place_is_good_enough() {
    let events = run(12, DAY, 1);
    let history = without_times(&recorded(&events, Ns(0)));
    assert_eq!(found(&events[205..330], &history).unwrap().pairs, straight(205, 125));
    // Within a step nothing shows which step it is.
    assert_eq!(found(&events[206..240], &history), Err(Refused::Ambiguous));
    let same_line = pair(&events[206..240], &history, |one, other| one % 41 == other % 41);
    assert_eq!(same_line.unwrap().pairs.len(), 34);
    let cut = found(&events[205..330], &history[270..]);
    assert!(matches!(cut, Err(Refused::Mismatch(..))), "{cut:?}");
}
