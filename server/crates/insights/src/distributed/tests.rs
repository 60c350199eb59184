//! From ledgers of several ranks, made by hand, to findings.

use ledger::{
    Blocked, CollectiveCall, CollectiveKind, CollectiveSite, Interval, Ledger, LineBooks, LineKey,
    Ns, Overview, Pattern, PatternBooks, ProcessGroup, RankCommunication, RankShare, TimeRange,
};

use ranks::{CauseReason, Comparison};

use crate::{Detail, RankDetail, RuleOptions, find};

const STEP: i64 = 1_000_000;
const STEPS: u32 = 5;

fn key(line: u32) -> LineKey {
    LineKey { file: "train.py".to_owned(), line }
}

/// Two ranks with steps of 1 ms. In each an all-reduce at line 9 ends at its end; `begins` says when a rank begins it in a step.
fn ledger(begins: impl Fn(u32, u32) -> i64) -> Ledger {
    let mut ledger = Ledger { ranks: 2, ..Ledger::default() };
    let interval = |n: i64| Interval { time: Ns(n * STEP), ..Interval::default() };
    for rank in 0..2 {
        let steps = (0..STEPS).map(|step| (step, interval(1))).collect();
        let run = interval(i64::from(STEPS));
        ledger.overviews.insert(rank, Overview { run, steps, ..Overview::default() });
        let call = |step: u32| {
            let begin = i64::from(step) * STEP;
            CollectiveCall {
                start: Ns(begin + begins(rank, step)),
                end: Ns(begin + STEP),
                step: Some(step),
                sequence: None,
                blocked: Blocked { from: Ns::ZERO, until: Ns(STEP - begins(rank, step)) },
            }
        };
        let site = CollectiveSite {
            kind: CollectiveKind::AllReduce,
            group: ProcessGroup::default(),
            bytes: None,
            is_on_device: false,
            line: Some(key(9)),
            message: None,
        };
        let sites = [(site, (0..STEPS).map(call).collect())].into();
        let range = |step: u32| {
            let start = Ns(i64::from(step) * STEP);
            (Some(step), TimeRange { start, end: start + Ns(STEP) })
        };
        let steps = (0..STEPS).map(range).collect();
        let communication =
            RankCommunication { world_size: Some(2), steps, sites, ..Default::default() };
        ledger.communication.insert(rank, communication);
    }
    ledger.steps = (0..STEPS).map(|step| (step, Ns(STEP))).collect();
    ledger.lines.insert(key(9), Box::new(LineBooks::default()));
    ledger
}

/// Gives a line its own time per step on both ranks.
fn add(ledger: &mut Ledger, line: u32, per_step: [i64; 2]) {
    let shares = per_step.iter().zip(0..);
    let by_rank =
        shares.map(|(time, rank)| RankShare::of_thread(rank, Ns(time * i64::from(STEPS))));
    let books = LineBooks { by_rank: by_rank.collect(), ..LineBooks::default() };
    ledger.lines.insert(key(line), Box::new(books));
}

/// Rule and line of what is found.
fn found(ledger: &Ledger) -> Vec<(&'static str, u32)> {
    find(ledger, &RuleOptions::default()).iter().map(|it| (it.rule, it.place.line)).collect()
}

#[test]
fn the_late_rank_and_its_unequal_lines_are_found() {
    let mut ledger = ledger(|rank, _| if rank == 1 { 700_000 } else { 200_000 });
    add(&mut ledger, 3, [50_000, 450_000]);
    add(&mut ledger, 4, [20_000, 120_000]);
    add(&mut ledger, 5, [100_000, 100_000]);
    // What waits is longer on the others, and no cause.
    add(&mut ledger, 9, [500_000, 0]);
    assert_eq!(found(&ledger), [("straggler", 3), ("imbalance", 4)]);
    let findings = find(&ledger, &RuleOptions::default());
    // Of the 500 µs that rank 0 waits in a step, line 3 takes 400 longer on rank 1, and line 4 100.
    assert_eq!(findings[0].cost_per_step, Some(Ns(400_000)));
    assert_eq!(findings[1].cost_per_step, Some(Ns(100_000)));
    let (here, mean, saving) = (Ns(120_000), Ns(70_000), Ns(100_000));
    let expected = RankDetail::Imbalance { rank: 1, here, mean, saving };
    assert_eq!(findings[1].detail, Detail::Ranks(expected));
}

#[test]
fn where_no_line_explains_it_the_line_that_waits_is_named() {
    let mut ledger = ledger(|rank, _| if rank == 1 { 700_000 } else { 200_000 });
    add(&mut ledger, 5, [100_000, 110_000]);
    assert_eq!(found(&ledger), [("straggler", 9)]);
}

#[test]
fn a_delay_in_one_step_is_no_straggler() {
    let mut ledger = ledger(|rank, step| if rank == 1 && step == 3 { 900_000 } else { 200_000 });
    add(&mut ledger, 3, [50_000, 200_000]);
    assert_eq!(found(&ledger), []);
}

#[test]
fn ranks_that_are_late_in_turn_are_alike() {
    let mut ledger = ledger(|rank, step| if step % 2 == rank { 600_000 } else { 200_000 });
    ledger
        .communication
        .values_mut()
        .flat_map(|it| it.sites.values_mut())
        .for_each(|it| it.truncate(4));
    add(&mut ledger, 3, [50_000, 50_000]);
    assert_eq!(found(&ledger), []);
}

#[test]
fn why_a_line_takes_longer_on_the_late_rank() {
    let reason = |change: &dyn Fn(&mut LineBooks)| {
        let mut ledger = ledger(|rank, _| if rank == 1 { 700_000 } else { 200_000 });
        add(&mut ledger, 3, [50_000, 450_000]);
        ledger.lines.get_mut(&key(3)).into_iter().for_each(|it| change(it));
        let late = Comparison::new(&ledger).and_then(|it| it.straggler).unwrap();
        late.cause.unwrap().reason
    };
    let steps = i64::from(STEPS);
    let paused = |pattern, per_step: i64| {
        move |books: &mut LineBooks| {
            let cpu = Ns(per_step * steps);
            books.patterns.insert(pattern, PatternBooks { cpu, ..PatternBooks::default() });
        }
    };
    let takes = |elements: [u64; 2]| {
        move |books: &mut LineBooks| {
            let on_rank = |(rank, elements)| RankShare { rank, elements, ..RankShare::default() };
            let by_rank = (0..).zip(elements).map(on_rank).collect();
            books.merge(&LineBooks { by_rank, ..LineBooks::default() });
        }
    };
    assert_eq!(reason(&|_| ()), None);
    // 250 µs of the difference are half of 400 and 50 that may have been on the other rank.
    let collecting = Some(CauseReason::Collecting);
    assert_eq!(reason(&paused(Pattern::GarbageCollection, 250_000)), collecting);
    assert_eq!(reason(&paused(Pattern::GarbageCollection, 249_000)), None);
    let compiling = Some(CauseReason::Compiling);
    assert_eq!(reason(&paused(Pattern::Compilation, 400_000)), compiling);
    let larger = Some(CauseReason::LargerInputs { here: 24, others: 20 });
    assert_eq!(reason(&takes([100, 120])), larger);
    assert_eq!(reason(&takes([100, 115])), None);
    assert_eq!(reason(&takes([0, 120])), None, "nothing to compare with");
}
