//! Snapshots built by hand, to the numbers that they must give.

use ledger::{DeviceMemory, Held, LineKey, MemoryPurpose, Ns, Phase};
use profile::{
    SnapshotAction, SnapshotBlock, SnapshotDevice, SnapshotEvent, SnapshotFrame, SnapshotSegment,
    StackId,
};

use super::*;

const MIB: i64 = 1 << 20;

/// A snapshot in the making. Stacks are lists of frames, innermost first.
#[derive(Default)]
struct Made(Snapshot);

impl Made {
    fn stack(&mut self, frames: &[(&str, u32, &str)]) -> StackId {
        let frames = frames.iter().map(|&(file, line, function)| SnapshotFrame {
            file: self.0.strings.intern(file),
            line,
            function: self.0.strings.intern(function),
        });
        let frames = frames.collect();
        self.0.stacks.push(frames);
        StackId(u32::try_from(self.0.stacks.len() - 1).unwrap())
    }

    /// Events one microsecond apart.
    fn events(&mut self, events: &[(SnapshotAction, u64, i64, StackId)]) {
        let events =
            events.iter().enumerate().map(|(at, &(action, address, size, stack))| SnapshotEvent {
                action,
                address,
                size: Bytes(size),
                stack,
                at: Ns(at as i64 * 1_000),
                ..SnapshotEvent::default()
            });
        let events = events.collect();
        self.0.devices.push(SnapshotDevice { device: 0, events });
    }

    fn segment(&mut self, address: u64, total_size: i64, blocks: &[(i64, i64, bool, StackId)]) {
        let mut at = address;
        let blocks = blocks.iter().map(|&(size, requested_size, is_allocated, stack)| {
            let block = SnapshotBlock {
                address: at,
                size: Bytes(size),
                requested_size: Bytes(requested_size),
                is_allocated,
                is_pending_free: false,
                stack,
                former: Vec::new(),
            };
            at = at.wrapping_add(size.cast_unsigned());
            block
        });
        let segment = SnapshotSegment {
            address,
            total_size: Bytes(total_size),
            blocks: blocks.collect(),
            ..SnapshotSegment::default()
        };
        self.0.segments.push(segment);
    }

    fn memory(&self) -> DeviceMemory {
        let mut sources = RecordedSources::default();
        sources.insert_own("train.py");
        let ledger = attribute_snapshot(&self.0, &sources, 3, SnapshotParts::default()).ledger;
        assert!(ledger.balances().iter().all(ledger::Balance::is_balanced));
        let memory = ledger.memory[&DeviceKey { rank: 3, device: 0 }].clone();
        let sum = |of: fn(&LineMemory) -> Bytes| memory.lines.values().map(of).sum::<Bytes>();
        assert_eq!(sum(|it| it.peak) + memory.unattributed_peak, memory.peak);
        assert_eq!(sum(|it| it.live) + memory.unattributed_end, memory.end);
        memory
    }
}

fn line(line: u32) -> LineKey {
    LineKey { file: "train.py".to_owned(), line }
}

use SnapshotAction::{Alloc, FreeCompleted, FreeRequested, OutOfMemory, SegmentAlloc, SegmentFree};

#[test]
fn what_memory_is_for_is_known_of_the_highest_moment_of_the_last_step() {
    let mut made = Made::default();
    let forward = made.stack(&[("train.py", 5, "forward")]);
    let backward = made.stack(&[("??", 0, "torch::autograd::Engine::thread_main(...)")]);
    let none = StackId::NONE;
    made.events(&[
        // A step whose gradient was dropped, which nothing is known of, and whose batch makes the peak.
        (Alloc, 0x1000, 9000, forward),
        (Alloc, 0x5000, 300, backward),
        (FreeCompleted, 0x1000, 9000, none),
        (FreeCompleted, 0x5000, 300, none),
        // The last one.
        (Alloc, 0x1000, 600, forward),
        (Alloc, 0x5000, 300, backward),
        (Alloc, 0x6000, 50, backward),
        (FreeRequested, 0x1000, 600, backward),
        (FreeCompleted, 0x1000, 600, backward),
        (Alloc, 0x7000, 40, forward),
    ]);
    made.segment(
        0x8000,
        0x1000,
        &[(0x800, 2048, true, none), (0x400, 1000, true, none), (0x400, 0, false, none)],
    );
    let tensor = |address, purpose, at| profile::SnapshotTensor { address, purpose, at: Ns(at) };
    use profile::TensorPurpose::{Buffer, Gradient, OptimizerState, Parameter};
    made.0.purposes = profile::SnapshotPurposes {
        since: Ns(3_500),
        tensors: vec![
            tensor(0x5000, Gradient, 8_500),
            // Its address was of another tensor until it was given back.
            tensor(0x1000, OptimizerState, 9_500),
            tensor(0x8000, Parameter, 9_500),
            tensor(0x8800, Buffer, 9_500),
            tensor(0x4444, Buffer, 9_500),
        ],
    };
    let memory = made.memory();
    assert_eq!(memory.peak, Bytes(2048 + 1024 + 9000 + 300));
    let purposes = memory.purposes.unwrap();
    assert_eq!(purposes.moment.event, 7);
    assert_eq!(
        purposes.bytes.into_iter().collect::<Vec<_>>(),
        [
            (MemoryPurpose::Parameter, Bytes(2048)),
            (MemoryPurpose::Gradient, Bytes(300)),
            (MemoryPurpose::Buffer, Bytes(1024)),
            (MemoryPurpose::Activation, Bytes(600)),
            (MemoryPurpose::Other, Bytes(50)),
        ]
    );
}

#[test]
fn a_training_step_is_charged_line_by_line() {
    let mut made = Made::default();
    let forward = made.stack(&[
        ("/site-packages/torch/nn/functional.py", 9, "linear"),
        ("train.py", 5, "forward"),
        ("train.py", 20, "<module>"),
    ]);
    let backward = made.stack(&[("??", 0, "torch::autograd::Engine::thread_main(...)")]);
    let state = made
        .stack(&[("/site-packages/torch/optim/adam.py", 70, "step"), ("train.py", 22, "<module>")]);
    let none = StackId::NONE;
    made.events(&[
        (Alloc, 0x1000, 600, forward),
        (FreeRequested, 0x9000, 512, none),
        (FreeCompleted, 0x9000, 512, backward),
        (Alloc, 0x2000, 2048, backward),
        (FreeRequested, 0x1000, 600, backward),
        (Alloc, 0x3000, 4096, state),
        (FreeCompleted, 0x1000, 600, none),
        (Alloc, 0x1000, 512, forward),
    ]);
    made.segment(0x1000, 0x1000, &[(512, 512, true, forward), (0xe00, 0, false, none)]);
    made.segment(0x2000, 0x800, &[(0x800, 2048, true, backward)]);
    made.segment(0x3000, 0x2000, &[(0x1400, 4096, true, state), (0xc00, 0, false, none)]);
    made.segment(0x8000, 0x2000, &[(1024, 1000, true, none), (0x1c00, 0, false, none)]);
    let memory = made.memory();

    // Before: the block without a stack, and what was released without having been allocated.
    assert_eq!((memory.before, memory.before_at_peak), (Bytes(1024 + 512), Bytes(1024)));
    // The release of 0x1000 is completed after the state is allocated: both are in use until then. Its block is gone, so
    // that only what was asked for is known.
    assert_eq!(memory.peak, Bytes(1024 + 600 + 2048 + 0x1400));
    assert_eq!(memory.requested_peak, Bytes(1000 + 600 + 2048 + 4096));
    assert_eq!(memory.unattributed_peak, Bytes(1024 + 2048));
    assert_eq!((memory.peak_moment.event, memory.peak_moment.at), (6, Some(Ns(5_000))));
    assert_eq!(memory.peak_moment.step, Some(0));
    assert_eq!(memory.end, Bytes(512 + 2048 + 0x1400 + 1024));
    assert_eq!((memory.reserved, memory.reserved_peak), (Bytes(0x5800), Bytes(0x5800)));
    assert_eq!(memory.events, 8);
    assert!(!memory.is_history_cut);

    let forward = &memory.lines[&line(5)];
    assert_eq!((forward.alloc, forward.allocs, forward.freed), (Bytes(1112), 2, Bytes(600)));
    assert_eq!((forward.peak, forward.live, forward.largest), (Bytes(600), Bytes(512), Bytes(600)));
    assert_eq!((forward.lifetime, forward.timed_frees), (Ns(6_000), 1));
    assert_eq!((forward.churn, forward.churns), (Bytes(600), 1));
    assert_eq!(
        (forward.saved, forward.saved_at_peak),
        (Bytes(600), Bytes(600)),
        "the backward pass gave it back"
    );
    assert_eq!(forward.function, "forward");
    let stack: Vec<u32> = forward.stack.iter().map(|it| it.line.line).collect();
    assert_eq!(stack, [20, 5, 9]);
    let state = &memory.lines[&line(22)];
    assert_eq!(state.rounding, Bytes(1024));
    assert_eq!(state.peak_by_phase, [(Phase::Optimizer, Bytes(0x1400))].into());
    assert_eq!(memory.peak_by_phase[&Phase::Backward], Bytes(2048));

    // The optimizer's allocation ended a step; nothing but an allocation followed.
    let steps: Vec<_> = memory.steps.iter().map(|it| (it.name.as_str(), it.first_event)).collect();
    assert_eq!(steps, [("step 1", 0), ("step 2", 7)]);
    assert_eq!(
        forward.live_by_step,
        [Held { bytes: Bytes(0), allocs: 0 }, Held { bytes: Bytes(512), allocs: 1 }]
    );

    assert_eq!(memory.fragmentation.segments, 4);
    assert_eq!(memory.fragmentation.free, Bytes(0xe00 + 0xc00 + 0x1c00));
    assert_eq!(memory.fragmentation.largest_free, Bytes(0x1c00));
    assert_eq!(memory.fragmentation.held, memory.fragmentation.free);
}

#[test]
fn what_a_checkpoint_computes_is_known_as_such() {
    const CHECKPOINT: &str = "/site-packages/torch/utils/checkpoint.py";
    let mut made = Made::default();
    let block = ("train.py", 5, "forward");
    let kept = made.stack(&[block, ("train.py", 20, "<module>")]);
    let checkpointed =
        made.stack(&[block, (CHECKPOINT, 430, "checkpoint"), ("train.py", 21, "<module>")]);
    // On a thread of autograd, where no Python frame says so.
    let again =
        made.stack(&[block, (CHECKPOINT, 1988, "recompute_fn"), (CHECKPOINT, 1351, "unpack_hook")]);
    let backward = made.stack(&[("??", 0, "torch::autograd::Engine::thread_main(...)")]);
    made.events(&[
        (Alloc, 0x1000, 512, kept),
        (Alloc, 0x2000, 1024, checkpointed),
        (Alloc, 0x3000, 2048, again),
        (FreeRequested, 0x3000, 2048, backward),
        (FreeCompleted, 0x3000, 2048, backward),
        (FreeRequested, 0x2000, 1024, backward),
        (FreeCompleted, 0x2000, 1024, backward),
        (FreeRequested, 0x1000, 512, backward),
        (FreeCompleted, 0x1000, 512, backward),
    ]);
    let memory = made.memory();
    let line = &memory.lines[&line(5)];
    assert_eq!((line.saved_at_peak, line.checkpointed_at_peak), (Bytes(1536), Bytes(1024)));
    assert_eq!(line.alloc_by_phase[&Phase::Backward], Bytes(2048), "computed again");
}

#[test]
fn a_failed_request_reports_who_held_the_memory() {
    let mut made = Made::default();
    let big = made.stack(&[("train.py", 7, "build")]);
    let asks = made.stack(&[("train.py", 9, "grow")]);
    let none = StackId::NONE;
    made.events(&[
        (SegmentAlloc, 0x10_0000, 4 * MIB, big),
        (Alloc, 0x10_0000, MIB, big),
        (Alloc, 0x20_0000, MIB, big),
        (FreeCompleted, 0x10_0000, MIB, none),
        (OutOfMemory, 0x800, 8 * MIB, asks),
        (FreeCompleted, 0x20_0000, MIB, none),
        (SegmentFree, 0x10_0000, 4 * MIB, none),
    ]);
    let memory = made.memory();
    let [failed] = &memory.out_of_memory[..] else { panic!("{:?}", memory.out_of_memory) };
    assert_eq!((failed.requested, failed.device_free), (Bytes(8 * MIB), Bytes(0x800)));
    assert_eq!((failed.active, failed.reserved), (Bytes(MIB), Bytes(4 * MIB)));
    assert_eq!(failed.largest_free, Bytes(2 * MIB));
    assert_eq!(failed.line, Some(line(9)));
    assert_eq!(failed.holders, [(line(7), Held { bytes: Bytes(MIB), allocs: 1 })]);
    assert_eq!((memory.reserved, memory.reserved_peak), (Bytes(0), Bytes(4 * MIB)));
    assert_eq!(memory.lines[&line(7)].segments.allocs, 1);
    assert_eq!((memory.segments.allocs, memory.segments.frees), (1, 1));
    assert_eq!(memory.fragmentation, ledger::Fragmentation::default());
}

#[test]
fn a_request_is_served_by_its_stream_and_no_private_pool() {
    let mut made = Made::default();
    let big = made.stack(&[("train.py", 7, "grow")]);
    made.events(&[(Alloc, 0x10_0000, MIB, big), (OutOfMemory, 0, 8 * MIB, big)]);
    made.segment(0x10_0000, 4 * MIB, &[(MIB, MIB, true, big), (3 * MIB, 0, false, StackId::NONE)]);
    for (address, size) in [(0x1000_0000, 16 * MIB), (0x2000_0000, 10 * MIB)] {
        made.segment(address, size, &[(size, 0, false, StackId::NONE)]);
    }
    made.0.segments[1].stream = 5;
    made.0.segments[2].pool = (0, 1);
    let memory = made.memory();
    let failed = &memory.out_of_memory[0];
    assert_eq!(
        (failed.reserved - failed.active, failed.largest_free),
        (Bytes(29 * MIB), Bytes(3 * MIB))
    );
    assert_eq!(failed.free_elsewhere, Bytes(26 * MIB));
    assert_eq!(memory.fragmentation.largest_free, Bytes(16 * MIB));
}

#[test]
fn events_that_the_ring_buffer_dropped_are_noticed() {
    let mut made = Made::default();
    let old = made.stack(&[("train.py", 3, "load")]);
    made.events(&[(Alloc, 0x1000, 512, old)]);
    made.segment(0x1000, 1024, &[(512, 512, true, old), (512, 500, true, old)]);
    let memory = made.memory();
    assert!(memory.is_history_cut);
    assert_eq!(
        (memory.before, memory.peak, memory.lines[&line(3)].peak),
        (Bytes(0), Bytes(1024), Bytes(1024))
    );
    assert_eq!(memory.lines[&line(3)].allocs, 2);
}

#[test]
fn a_state_without_history_is_the_peak() {
    let mut made = Made::default();
    let old = made.stack(&[("train.py", 3, "load")]);
    made.segment(0x1000, 1024, &[(512, 512, true, old), (512, 0, false, StackId::NONE)]);
    let memory = made.memory();
    assert_eq!((memory.peak, memory.end, memory.events), (Bytes(512), Bytes(512), 0));
    assert!(!memory.is_history_cut, "there was no history to cut");
    assert_eq!(memory.timeline.len(), 1);
    assert_eq!(memory.lines[&line(3)].peak, Bytes(512));
}

#[test]
fn what_was_given_back_before_is_on_its_line() {
    let mut made = Made::default();
    let (old, other) =
        (made.stack(&[("train.py", 3, "load")]), made.stack(&[("train.py", 5, "step")]));
    made.segment(0x1000, 2048, &[(512, 500, true, old), (1536, 0, false, StackId::NONE)]);
    made.0.segments[0].blocks[1].former =
        vec![(other, Bytes(1000)), (old, Bytes(400)), (StackId::NONE, Bytes(30))];
    let memory = made.memory();
    assert_eq!((memory.peak, memory.end), (Bytes(512), Bytes(512)));
    let books = |number| {
        let it = &memory.lines[&line(number)];
        (it.alloc, it.allocs, it.freed, it.peak, it.live)
    };
    assert_eq!(
        (books(3), books(5)),
        (
            (Bytes(912), 2, Bytes(400), Bytes(512), Bytes(512)),
            (Bytes(1000), 1, Bytes(1000), Bytes(0), Bytes(0))
        )
    );
    let sources = RecordedSources::default();
    let ledger = attribute_snapshot(&made.0, &sources, 0, SnapshotParts::default()).ledger;
    assert_eq!(ledger.totals.alloc, Bytes(512 + 1430));
}

#[test]
fn impossible_sizes_neither_overflow_nor_unbalance() {
    let mut made = Made::default();
    let big = made.stack(&[("train.py", 3, "load")]);
    let events: Vec<_> = (0..100)
        .flat_map(|at| [(Alloc, at, i64::MAX / 2, big), (SegmentAlloc, at, i64::MAX, big)])
        .chain([(OutOfMemory, u64::MAX, i64::MAX, big), (FreeCompleted, 7, i64::MAX, big)])
        .collect();
    made.events(&events);
    for device in 0..1000 {
        made.segment(u64::MAX - 5, i64::MAX, &[(i64::MAX, i64::MAX, true, big)]);
        made.0.segments.last_mut().unwrap().device = device;
    }
    assert!(made.memory().peak >= Bytes(0));
}
