//! A device's replay to what each line held when.

use ledger::{DeviceKey, DeviceMemory, Ns};
use profile::{DeviceType, MemoryDevice, Snapshot, StackId};
use rustc_hash::FxHashMap;

use super::replay::SnapshotReplay;
use super::report::Frames;
use crate::device_name::device_name;
use crate::history::{HeldAllocation, Holder, HolderPhase, MemoryHistory};
use crate::space::{Space, SpaceChange};

/// The history of a device with these books; `None` where it has no events.
pub(super) fn history(
    snapshot: &Snapshot,
    frames: &Frames<'_>,
    replay: &SnapshotReplay<'_>,
    key: DeviceKey,
    memory: &DeviceMemory,
) -> Option<MemoryHistory> {
    let start = replay.events.first()?.at;
    let mut latest = 0;
    let at = (0_i64..).zip(&replay.events).map(|(number, event)| {
        let at = if memory.has_times { (event.at - start).max(Ns::ZERO).0 } else { number };
        latest = at.max(latest);
        latest
    });
    let at = at.collect();
    let mut holders =
        Holders { frames, of_stack: FxHashMap::default(), rows: FxHashMap::default() };
    let allocations = replay.allocations.iter().map(|it| HeldAllocation {
        holder: holders.row(it.stack, it.is_before()),
        released_by: (it.released_by != StackId::NONE).then(|| holders.row(it.released_by, false)),
        address: it.address,
        bytes: it.bytes,
        from: it.from,
        to: it.to,
    });
    let allocations = allocations.collect();
    let changes = (0..).zip(&replay.events);
    let space_changes =
        changes.filter_map(|(event, it)| Some((event, SpaceChange::of(it)?))).collect();
    let mut rows: Vec<(Holder, u32)> = holders.rows.into_iter().collect();
    rows.sort_unstable_by_key(|(_, row)| *row);
    Some(MemoryHistory {
        rank: key.rank,
        device: key.device,
        name: device_name(MemoryDevice { kind: DeviceType::CUDA, ordinal: key.device }),
        has_times: memory.has_times,
        at,
        active_at_start: replay.active_at_start,
        active: replay.active.clone(),
        reserved_at_start: replay.reserved_at_start,
        reserved: replay.reserved.clone(),
        holders: rows.into_iter().map(|(holder, _)| holder).collect(),
        allocations,
        steps: memory.steps.clone(),
        space_at_end: Space::at_end(snapshot, key.device),
        space_changes,
    })
}

/// The rows of holders.
struct Holders<'a> {
    frames: &'a Frames<'a>,
    /// By stack, and whether recording had not begun.
    of_stack: FxHashMap<(StackId, bool), u32>,
    rows: FxHashMap<Holder, u32>,
}

impl Holders<'_> {
    fn row(&mut self, stack: StackId, is_before: bool) -> u32 {
        if let Some(row) = self.of_stack.get(&(stack, is_before)) {
            return *row;
        }
        let frames = self.frames;
        let line = frames.charged_line(stack);
        let function = || line_stacks::function(&frames.stacks.lines, frames.sources, line);
        let holder = Holder {
            line: line.get().map(|line| (frames.key(line), function())),
            phase: if is_before {
                HolderPhase::Before
            } else {
                HolderPhase::In(frames.phase(stack))
            },
        };
        let next = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        let row = *self.rows.entry(holder).or_insert(next);
        self.of_stack.insert((stack, is_before), row);
        row
    }
}
