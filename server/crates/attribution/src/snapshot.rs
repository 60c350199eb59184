//! Memory snapshots to the ledger: every frame of a snapshot carries the line that was executing.
//!
//! `replay` walks a device's history once; `phase` and `steps` tell parts of the run apart; `space` tells free from
//! used addresses; `report` charges all of it to lines.

mod phase;
mod replay;
mod report;
mod space;
mod steps;

use std::collections::BTreeMap;

use ledger::{
    Allocation, DeviceKey, Evidence, Ledger, LineBooks, LineKey, LineMemory, Metric, Reason,
};
use profile::{Snapshot, SnapshotFrame};

use crate::Sources;
use crate::memory::device_name;
use crate::post::{evidence_by_line, post_file};
use crate::stacks::{File, Lines, Node, Stacks};
use replay::Replay;
use report::{Frames, report};

/// Charges every allocation that `snapshot` knows the stack of to its own line. `rank` names the devices in the ledger.
///
/// Where a device has no history (torch 2.0), the blocks that are in use stand for it.
#[must_use]
pub fn attribute_snapshot(snapshot: &Snapshot, sources: &Sources, rank: u32) -> Ledger {
    let mut stacks = Stacks::new(Lines::default());
    let nodes: Vec<Node> = (0..snapshot.stacks.len())
        .map(|stack| line_stack(snapshot, sources, stack, &mut stacks))
        .collect();
    let phases = snapshot.stacks.iter().map(|frames| phase::of_stack(snapshot, frames)).collect();
    let frames = Frames { sources, stacks, nodes, phases };
    let mut ordinals: Vec<i32> = snapshot.devices.iter().map(|device| device.device).collect();
    ordinals.extend(snapshot.segments.iter().map(|segment| segment.device));
    ordinals.sort_unstable();
    ordinals.dedup();

    let mut ledger = Ledger { ranks: 1, ..Ledger::default() };
    for file in &frames.stacks.lines.files {
        post_file(&mut ledger, sources, file);
    }
    let mut evidence: BTreeMap<LineKey, Evidence> = BTreeMap::new();
    let by_line = evidence_by_line(&frames.stacks, &[]);
    for line in frames.stacks.lines.ids() {
        evidence.insert(frames.key(line), by_line[line.index()]);
    }
    for ordinal in ordinals {
        let replay = Replay::new(snapshot, ordinal);
        // A machine has more devices than most programs use.
        if replay.allocations.is_empty() && replay.events.is_empty() {
            continue;
        }
        let memory = report(snapshot, ordinal, &frames, &replay);
        for (line, books) in &memory.lines {
            let mine = ledger.lines.entry(line.clone()).or_default();
            mine.evidence = evidence.get(line).copied().unwrap_or_default();
            post_line(mine, &device_name(CUDA, ordinal), books);
        }
        let recorded = replay.allocations.iter().filter(|it| !it.is_before());
        let total: i64 = recorded.map(|it| it.bytes).sum();
        let on_lines: i64 = memory.lines.values().map(|it| it.alloc).sum();
        ledger.totals.alloc += total;
        ledger.unattributed.charge(Reason::NoSnapshotFrame, Metric::Alloc, total - on_lines);
        ledger.memory.insert(DeviceKey { rank, device: ordinal }, memory);
    }
    ledger
}
