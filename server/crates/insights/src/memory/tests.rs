//! Memory of a device, built by hand, to what the rules find.

use ledger::{
    Bytes, DeviceBooks, DeviceKey, DeviceMemory, Fragmentation, Held, HostDeviceTime, Ledger,
    LineBooks, LineKey, LineMemory, Ns, OutOfMemory, SegmentCalls, SegmentTime, StepMemory,
};

use crate::{Detail, MemoryKind, RuleOptions, Severity, find};

const MIB: i64 = 1 << 20;
const KEY: DeviceKey = DeviceKey { rank: 0, device: 0 };

fn key(line: u32) -> LineKey {
    LineKey { file: "train.py".to_owned(), line }
}

/// A device of 1000 MiB at its peak, 6 steps, and one line.
fn ledger(line: LineMemory, change: impl FnOnce(&mut DeviceMemory)) -> Ledger {
    let mut memory = DeviceMemory {
        peak: Bytes(1000 * MIB),
        reserved: Bytes(1200 * MIB),
        reserved_peak: Bytes(1200 * MIB),
        steps: vec![StepMemory::default(); 6],
        lines: [(key(7), line)].into(),
        ..DeviceMemory::default()
    };
    change(&mut memory);
    let mut ledger = Ledger { ranks: 1, ..Ledger::default() };
    ledger.memory.insert(KEY, memory);
    ledger
}

/// The rules that find something on the line, with what they find.
fn found(ledger: &Ledger) -> Vec<(&'static str, MemoryKind)> {
    let findings = find(ledger, &RuleOptions::default());
    findings
        .into_iter()
        .map(|it| {
            assert_eq!(it.place, key(7));
            let Detail::Memory(detail) = it.detail else { panic!("{:?}", it.detail) };
            (it.rule, detail.kind)
        })
        .collect()
}

fn held(bytes: [i64; 6], allocs: [u64; 6]) -> LineMemory {
    let live_by_step = bytes
        .into_iter()
        .zip(allocs)
        .map(|(bytes, allocs)| Held { bytes: Bytes(bytes), allocs })
        .collect();
    LineMemory { live: Bytes(bytes[5]), live_by_step, ..LineMemory::default() }
}

#[test]
fn what_grows_every_step_is_a_leak() {
    let leak = held([0, 10, 20, 30, 40, 40].map(|it| it * MIB), [0, 1, 2, 3, 4, 4]);
    let expected = MemoryKind::Leak { per_step: Bytes(10 * MIB), steps: 3, held: Bytes(40 * MIB) };
    assert_eq!(found(&ledger(leak, |_| ())), [("memory-leak", expected)]);
    // The optimizer's state comes in the first step and stays.
    let state = held([80, 80, 80, 80, 80, 80].map(|it| it * MIB), [4; 6]);
    assert_eq!(found(&ledger(state, |_| ())), []);
    // Growth that stops is a cache that is full.
    let cache = held([0, 10, 20, 20, 30, 30].map(|it| it * MIB), [0, 1, 2, 2, 3, 3]);
    assert_eq!(found(&ledger(cache, |_| ())), []);
}

#[test]
fn a_list_of_losses_is_reported_as_such() {
    let losses = held([512, 1024, 1536, 2048, 2560, 3072], [1, 2, 3, 4, 5, 6]);
    let expected = MemoryKind::Retained { tensors_per_step: 1, steps: 3, held: Bytes(3072) };
    assert_eq!(found(&ledger(losses, |_| ())), [("retained-across-steps", expected)]);
}

#[test]
fn a_line_with_a_quarter_of_the_peak_is_reported() {
    let line = |bytes| LineMemory { peak: bytes, peak_allocs: 3, ..LineMemory::default() };
    let expected =
        MemoryKind::PeakLine { bytes: Bytes(250 * MIB), allocs: 3, peak: Bytes(1000 * MIB) };
    assert_eq!(found(&ledger(line(Bytes(250 * MIB)), |_| ())), [("memory-peak-line", expected)]);
    assert_eq!(found(&ledger(line(Bytes(249 * MIB)), |_| ())), []);
    let half = ledger(line(Bytes(500 * MIB)), |_| ());
    assert_eq!(find(&half, &RuleOptions::default())[0].severity, Severity::Warning);
}

#[test]
fn what_is_about_little_memory_is_no_warning() {
    let severities = |mib: i64| {
        let segments = SegmentCalls { allocs: 5, alloc: Bytes(mib * MIB), ..Default::default() };
        let line = LineMemory { peak: Bytes(mib * MIB), segments, ..LineMemory::default() };
        let small = ledger(line, |memory| {
            memory.peak = Bytes(mib * MIB);
            memory.segments.frees = 4;
        });
        let found = find(&small, &RuleOptions::default());
        found
            .into_iter()
            .map(|it| (it.rule, it.severity))
            .collect::<std::collections::BTreeMap<_, _>>()
    };
    let of = |severity| [("memory-churn", severity), ("memory-peak-line", severity)].into();
    assert_eq!(severities(19), of(Severity::Information));
    assert_eq!(severities(20), of(Severity::Warning));
}

#[test]
fn churn_needs_memory_that_is_given_back() {
    let segments = SegmentCalls { allocs: 5, alloc: Bytes(50 * MIB), frees: 0, freed: Bytes(0) };
    let line = LineMemory { segments, ..LineMemory::default() };
    assert_eq!(found(&ledger(line.clone(), |_| ())), []);
    let churning = ledger(line, |memory| memory.segments.frees = 4);
    let expected = |time: Option<Ns>| MemoryKind::Churn {
        reserved_times: 5,
        reserved: Bytes(50 * MIB),
        returned_times: 4,
        time,
        is_per_step: time.is_some(),
    };
    assert_eq!(found(&churning), [("memory-churn", expected(None))]);
    // A trace of two steps says how long it takes.
    let mut traced = churning;
    traced.steps = [(0, Ns(9_000_000)), (1, Ns(11_000_000))].into();
    let segments = SegmentTime { calls: 9, time: Ns(3_000_000) };
    traced.lines.insert(key(7), Box::new(LineBooks { segments, ..LineBooks::default() }));
    assert_eq!(found(&traced), [("memory-churn", expected(Some(Ns(1_500_000))))]);
}

#[test]
fn a_request_that_fits_only_in_pieces_is_fragmentation() {
    let failed = |requested| OutOfMemory {
        line: Some(key(7)),
        requested,
        active: Bytes(700 * MIB),
        reserved: Bytes(1000 * MIB),
        largest_free: Bytes(90 * MIB),
        ..OutOfMemory::default()
    };
    let with =
        |it: OutOfMemory| ledger(LineMemory::default(), |memory| memory.out_of_memory.push(it));
    let expected = MemoryKind::Fragmentation {
        failed: Some(Bytes(300 * MIB)),
        free: Bytes(300 * MIB),
        largest: Bytes(90 * MIB),
        reserved: Bytes(1000 * MIB),
    };
    assert_eq!(found(&with(failed(Bytes(300 * MIB)))), [("fragmentation", expected)]);
    assert_eq!(
        found(&with(failed(Bytes(301 * MIB)))),
        [],
        "it would not have fit in one piece either"
    );
    assert_eq!(found(&with(failed(Bytes(90 * MIB)))), []);
    let line = LineMemory { peak: Bytes(MIB), ..LineMemory::default() };
    let scattered = |largest_free| {
        let fragmentation =
            Fragmentation { held: Bytes(300 * MIB), largest_free, ..Default::default() };
        ledger(line.clone(), |memory| memory.fragmentation = fragmentation)
    };
    assert_eq!(found(&scattered(Bytes(20 * MIB))).len(), 1);
    assert_eq!(found(&scattered(Bytes(200 * MIB))), [], "one large piece is spare memory");
}

#[test]
fn the_limit_is_known_from_a_trace() {
    let line = LineMemory { peak: Bytes(MIB), ..LineMemory::default() };
    let mut near = ledger(line, |_| ());
    assert_eq!(found(&near), []);
    let device = |total_memory| DeviceBooks { total_memory, ..DeviceBooks::default() };
    near.devices.insert(KEY, device(Bytes(1300 * MIB)));
    let expected =
        MemoryKind::NearLimit { reserved: Bytes(1200 * MIB), capacity: Bytes(1300 * MIB) };
    assert_eq!(found(&near), [("near-limit", expected)]);
    near.devices.insert(KEY, device(Bytes(1400 * MIB)));
    assert_eq!(found(&near), []);
}

#[test]
fn activations_that_wait_for_the_backward_pass_can_be_computed_again() {
    let line = LineMemory {
        peak: Bytes(220 * MIB),
        peak_allocs: 11,
        saved_at_peak: Bytes(220 * MIB),
        largest: Bytes(20 * MIB),
        ..LineMemory::default()
    };
    let (frees, peak) = (Bytes(200 * MIB), Bytes(1000 * MIB));
    let expected = |forward, recompute| MemoryKind::Checkpoint { frees, peak, forward, recompute };
    let mut with_trace = ledger(line.clone(), |_| ());
    assert_eq!(found(&with_trace), [("checkpoint-candidate", expected(Ns(0), Ns(0)))]);
    // What it takes is known from a trace: 2 steps, in which a part of it is checkpointed.
    let recompute = HostDeviceTime { cpu: Ns(40), cuda: Ns(0) };
    with_trace.steps = [(1, Ns(500)), (2, Ns(500))].into();
    let books = LineBooks { cpu_own: Ns(100), recompute, ..LineBooks::default() };
    with_trace.lines.insert(key(7), Box::new(books));
    assert_eq!(found(&with_trace), [("checkpoint-candidate", expected(Ns(30), Ns(20)))]);
    let checkpointed = LineMemory { checkpointed_at_peak: Bytes(150 * MIB), ..line.clone() };
    assert_eq!(found(&ledger(checkpointed, |_| ())), []);
    let kept = LineMemory { saved_at_peak: Bytes(0), ..line };
    assert_eq!(found(&ledger(kept, |_| ())), []);
}
