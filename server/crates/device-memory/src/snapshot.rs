//! Memory snapshots to the ledger: every frame of a snapshot carries the line that was executing.
//!
//! `replay` walks a device's history once; `phase` and `steps` distinguish parts of the run; `purposes` says what memory is for; `report` charges all of it to lines; `history` says what each line held when.

mod history;
mod phase;
mod purposes;
mod replay;
mod report;
mod steps;

use ledger::{
    Allocation, Bytes, DeviceKey, DeviceMemory, Evidence, Ledger, LineBooks, LineMemory, Metric,
    Reason,
};
use line_stacks::{BookedStacks, Lines, Node, StackFile, Stacks, post_file};
use profile::{DeviceType, MemoryDevice, Snapshot, StackId};

use crate::device_name::device_name;
use crate::history::MemoryHistory;
use recorded::{RecordedSources, is_python};
use replay::{AllocationLimit, SnapshotReplay};
use report::{Frames, report};
use stack_books::{StackAmount, StackBooks};

/// Devices that are looked at: no machine has more, and each costs a look at all segments.
const MAX_DEVICES: usize = 256;

/// What is wanted of a snapshot beyond the sums of lines: each takes memory for each of its allocations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SnapshotParts {
    /// The bytes that were allocated, and those in use at the peak, by whole stacks.
    pub stacks: bool,
    /// What each device with events held when.
    pub histories: bool,
    /// Whether a trace of the same rank says what was allocated: only what was in use is taken from the snapshot.
    pub are_allocations_traced: bool,
}

/// What a snapshot says. What was not asked for is empty.
#[derive(Debug, Default)]
pub struct SnapshotBooks {
    /// The books of its lines.
    pub ledger: Ledger,
    /// See [`SnapshotParts::stacks`].
    pub stacks: StackBooks,
    /// See [`SnapshotParts::histories`].
    pub histories: Vec<MemoryHistory>,
}

/// Charges every allocation that `snapshot` knows the stack of to its own line. `rank` names the devices in the ledger.
///
/// Where a device has no history (torch 2.0), the blocks that are in use stand for it.
#[must_use]
pub fn attribute_snapshot(
    snapshot: &Snapshot,
    sources: &RecordedSources,
    rank: u32,
    parts: SnapshotParts,
) -> SnapshotBooks {
    let (mut stacks, mut histories) = (StackBooks::default(), Vec::new());
    let is_alloc_counted = !parts.are_allocations_traced;
    let ledger =
        charge_all(snapshot, sources, rank, is_alloc_counted, |frames, replay, key, memory| {
            if parts.stacks {
                let mut booked = BookedStacks::new(&frames.stacks, sources);
                let mut add = |kept: StackAmount, (stack, bytes): (StackId, Bytes)| {
                    let node = frames.nodes.get(stack.0 as usize).copied().unwrap_or(Node::EMPTY);
                    let row = booked.row(node, 0, Reason::NoSnapshotFrame);
                    booked.books.add(kept, row, bytes.0);
                };
                if is_alloc_counted {
                    replay.allocated().for_each(|it| add(StackAmount::Of(Metric::Alloc), it));
                }
                replay.at_peak().for_each(|it| add(StackAmount::Peak, it));
                stacks.merge(&booked.books);
            }
            if parts.histories {
                histories.extend(history::history(snapshot, frames, replay, key, memory));
            }
        });
    SnapshotBooks { ledger, stacks, histories }
}

/// The ledger, with `is_alloc_counted` also of what was allocated; `visit` sees the replay of each device and its books.
fn charge_all(
    snapshot: &Snapshot,
    sources: &RecordedSources,
    rank: u32,
    is_alloc_counted: bool,
    mut visit: impl FnMut(&Frames<'_>, &SnapshotReplay<'_>, DeviceKey, &DeviceMemory),
) -> Ledger {
    let mut stacks = Stacks::new(Lines::default());
    let nodes: Vec<Node> = (0..snapshot.stacks.len())
        .map(|stack| line_stack(snapshot, sources, stack, &mut stacks))
        .collect();
    let phases = snapshot.stacks.iter().map(|frames| phase::of_stack(snapshot, frames)).collect();
    let are_checkpointed =
        snapshot.stacks.iter().map(|it| phase::is_checkpointed(snapshot, it)).collect();
    let frames = Frames { sources, stacks, nodes, phases, are_checkpointed };
    let mut ordinals: Vec<i32> = snapshot.devices.iter().map(|device| device.device).collect();
    ordinals.extend(snapshot.segments.iter().map(|segment| segment.device));
    ordinals.sort_unstable();
    ordinals.dedup();
    ordinals.truncate(MAX_DEVICES);
    let mut limit = AllocationLimit::new();

    let mut ledger = Ledger { ranks: 1, ..Ledger::default() };
    for file in &frames.stacks.lines.files {
        post_file(&mut ledger, sources, file);
    }
    for ordinal in ordinals {
        let replay = SnapshotReplay::new(snapshot, ordinal, &mut limit);
        // A machine has more devices than most programs use.
        if replay.allocations.is_empty() && replay.events.is_empty() {
            continue;
        }
        let memory = report(snapshot, ordinal, &frames, &replay);
        let device = device_name(MemoryDevice { kind: DeviceType::CUDA, ordinal });
        for (line, books) in &memory.lines {
            let mine = ledger.lines.entry(line.clone()).or_default();
            post_line(mine, &device, books, is_alloc_counted);
        }
        let key = DeviceKey { rank, device: ordinal };
        visit(&frames, &replay, key, &memory);
        ledger.memory.insert(key, memory);
        if !is_alloc_counted {
            continue;
        }
        let total: Bytes = replay.allocated().map(|(_, bytes)| bytes).sum();
        let lines = ledger.memory.get(&key).into_iter().flat_map(|it| it.lines.values());
        let on_lines: Bytes = lines.map(|it| it.alloc).sum();
        ledger.totals.alloc += total;
        // A snapshot does not show which of its allocations were made in steps.
        ledger.in_steps.alloc += total;
        ledger.unattributed.charge(Reason::NoSnapshotFrame, Metric::Alloc, (total - on_lines).0);
    }
    ledger
}

/// The part of a line's memory that its books over all inputs hold too.
fn post_line(mine: &mut LineBooks, device: &str, books: &LineMemory, is_alloc_counted: bool) {
    let (alloc, allocs) =
        if is_alloc_counted { (books.alloc, books.allocs) } else { (Bytes::ZERO, 0) };
    mine.function.clone_from(&books.function);
    mine.evidence = Evidence::Exact;
    mine.alloc += alloc;
    mine.allocs += allocs;
    mine.freed += books.freed;
    mine.peak += books.peak;
    mine.live += books.live;
    let allocation = Allocation { allocs, alloc, peak: books.peak, live: books.live };
    mine.allocations.insert(device.to_owned(), allocation);
}

fn line_stack(
    snapshot: &Snapshot,
    sources: &RecordedSources,
    stack: usize,
    stacks: &mut Stacks,
) -> Node {
    let mut node = Node::EMPTY;
    for frame in snapshot.stacks[stack].iter().rev().filter(|frame| is_python(snapshot, frame)) {
        let recorded = snapshot.strings.get(frame.file);
        let file = stacks.lines.file(StackFile::new(recorded, sources));
        let line = stacks.lines.line(file, frame.line);
        stacks.lines.name(line, snapshot.strings.get(frame.function));
        node = stacks.push(node, line, Evidence::Exact);
    }
    node
}

#[cfg(test)]
mod tests;
