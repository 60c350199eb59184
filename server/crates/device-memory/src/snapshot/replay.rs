//! What the allocator of one device did, replayed: every allocation with the events that began and ended it.

use profile::{Bytes, Snapshot, SnapshotAction, SnapshotBlock, SnapshotEvent, StackId};
use rustc_hash::FxHashMap;

use crate::history::is_alive;
use crate::space::{Space, SpaceChange, Used};

/// The history of one device.
pub(super) struct SnapshotReplay<'a> {
    /// Its events, in order.
    pub(super) events: Vec<&'a SnapshotEvent>,
    /// Every allocation that is known of.
    pub(super) allocations: Vec<LiveAllocation>,
    /// What was given back, where the file has no events for it (torch 2.0): who allocated it, and the bytes asked for.
    pub(super) former: Vec<(StackId, Bytes)>,
    /// Bytes in use before the first event.
    pub(super) active_at_start: Bytes,
    /// Bytes in use after each event.
    pub(super) active: Vec<Bytes>,
    /// Bytes reserved before the first event.
    pub(super) reserved_at_start: Bytes,
    /// Bytes reserved after each event.
    pub(super) reserved: Vec<Bytes>,
    /// After which event the most bytes were in use; `None` for before the first.
    pub(super) peak_at: Option<u32>,
    /// Most bytes in use at once.
    pub(super) peak: Bytes,
    /// Most bytes asked for at once.
    pub(super) requested_peak: Bytes,
}

/// One allocation.
#[derive(Debug, Clone)]
pub(super) struct LiveAllocation {
    pub(super) address: u64,
    /// Size of the block; what was asked for where the block is gone.
    pub(super) bytes: Bytes,
    /// Bytes asked for.
    pub(super) requested: Bytes,
    pub(super) stack: StackId,
    /// The event that made it; `None` if it is older than the first.
    pub(super) from: Option<u32>,
    /// The event that released it; `None` while it is in use.
    pub(super) to: Option<u32>,
    /// The stack that gave it back.
    pub(super) released_by: StackId,
}

impl LiveAllocation {
    /// Whether it was in use after `event` (`None`: before the first).
    pub(super) fn is_alive_at(&self, event: Option<u32>) -> bool {
        is_alive(self.from, self.to, event)
    }

    /// Whether it was in use before recording began: no event, and no stack.
    pub(super) fn is_before(&self) -> bool {
        self.from.is_none() && self.stack == StackId::NONE
    }
}

impl<'a> SnapshotReplay<'a> {
    /// Replays the history of device `ordinal`.
    ///
    /// A block that is in use at the end and whose allocation is in no event is older than the first event; so is one
    /// that is released without having been allocated. As in PyTorch's memory_viz, memory is in use until its release
    /// is completed.
    pub(super) fn new(snapshot: &'a Snapshot, ordinal: i32, limit: &mut AllocationLimit) -> Self {
        let devices = snapshot.devices.iter().filter(|device| device.device == ordinal);
        let events: Vec<&SnapshotEvent> = devices.flat_map(|device| &device.events).collect();
        let allocations = allocations(snapshot, ordinal, &events, limit);
        let former = former(snapshot, ordinal, limit);
        let mut replay = Self {
            events,
            allocations,
            former,
            active_at_start: Bytes::ZERO,
            active: Vec::new(),
            reserved_at_start: Bytes::ZERO,
            reserved: Vec::new(),
            peak_at: None,
            peak: Bytes::ZERO,
            requested_peak: Bytes::ZERO,
        };
        replay.run_active();
        replay.run_reserved(snapshot, ordinal, limit);
        replay
    }

    /// What was allocated while recording, by the stack that asked for it.
    pub(super) fn allocated(&self) -> impl Iterator<Item = (StackId, Bytes)> {
        let recorded = self.allocations.iter().filter(|it| !it.is_before());
        recorded.map(|it| (it.stack, it.bytes)).chain(self.former.iter().copied())
    }

    /// What was in use at the peak, by the stack that asked for it.
    pub(super) fn at_peak(&self) -> impl Iterator<Item = (StackId, Bytes)> {
        let alive = self.allocations.iter().filter(|it| it.is_alive_at(self.peak_at));
        alive.map(|it| (it.stack, it.bytes))
    }

    /// Bytes in use at the end.
    pub(super) fn active_at_end(&self) -> Bytes {
        self.active.last().copied().unwrap_or(self.active_at_start)
    }

    /// Bytes in use after `event`.
    pub(super) fn active_at(&self, event: Option<u32>) -> Bytes {
        event.map_or(self.active_at_start, |event| self.active[event as usize])
    }

    /// What is in use after `event`, in order of addresses.
    pub(super) fn used_at(&self, event: Option<u32>) -> Vec<Used> {
        let alive = self.allocations.iter().filter(|it| it.is_alive_at(event));
        let mut used: Vec<Used> =
            alive.map(|it| (it.address, it.bytes.0.cast_unsigned())).collect();
        used.sort_unstable();
        used
    }

    /// What was reserved after `event`, from what is reserved at the end.
    pub(super) fn space_at(&self, end: Space, event: u32) -> Space {
        let later = self.events[event as usize + 1..].iter().rev();
        end.before(later.filter_map(|it| SpaceChange::of(it)))
    }

    /// Bytes reserved after `event`.
    pub(super) fn reserved_at(&self, event: Option<u32>) -> Bytes {
        event.map_or(self.reserved_at_start, |event| self.reserved[event as usize])
    }

    fn run_active(&mut self) {
        let mut changes: Vec<(Bytes, Bytes)> = vec![(Bytes::ZERO, Bytes::ZERO); self.events.len()];
        let (mut active, mut requested) = (Bytes::ZERO, Bytes::ZERO);
        for it in &self.allocations {
            match it.from {
                Some(from) => {
                    changes[from as usize].0 += it.bytes;
                    changes[from as usize].1 += it.requested;
                }
                None => {
                    active += it.bytes;
                    requested += it.requested;
                }
            }
            if let Some(to) = it.to {
                changes[to as usize].0 -= it.bytes;
                changes[to as usize].1 -= it.requested;
            }
        }
        self.active_at_start = active;
        (self.peak, self.requested_peak) = (active, requested);
        self.active.reserve_exact(changes.len());
        for (event, (change, change_requested)) in (0_u32..).zip(changes) {
            active += change;
            requested += change_requested;
            self.active.push(active);
            if active > self.peak {
                (self.peak, self.peak_at) = (active, Some(event));
            }
            self.requested_peak = self.requested_peak.max(requested);
        }
    }

    /// From the reserved bytes at the end, which the snapshot states, back to the start.
    fn run_reserved(&mut self, snapshot: &Snapshot, ordinal: i32, limit: &mut AllocationLimit) {
        let segments = snapshot.segments.iter().filter(|segment| segment.device == ordinal);
        let end: Bytes = segments.map(|segment| limit.admit(segment.total_size)).sum();
        let changes: Vec<Bytes> =
            self.events.iter().map(|event| reserved_change(event, limit)).collect();
        let (mut sum, mut least) = (Bytes::ZERO, Bytes::ZERO);
        for &change in &changes {
            sum += change;
            least = sum.min(least);
        }
        // A file that lacks segments must not make it negative.
        self.reserved_at_start = (end - sum).max(-least);
        let mut reserved = self.reserved_at_start;
        self.reserved.reserve_exact(changes.len());
        for change in changes {
            reserved += change;
            self.reserved.push(reserved);
        }
    }
}

/// Bytes that a snapshot may speak of in all: no sum of them overflows, whatever a file claims.
#[derive(Debug)]
pub(super) struct AllocationLimit(Bytes);

impl AllocationLimit {
    pub(super) fn new() -> Self {
        Self(Bytes(1 << 60))
    }

    /// `bytes`, or nothing once too much was claimed.
    fn admit(&mut self, bytes: Bytes) -> Bytes {
        let bytes = if (Bytes::ZERO..=self.0).contains(&bytes) { bytes } else { Bytes::ZERO };
        self.0 -= bytes;
        bytes
    }
}

/// What an event adds to the reserved bytes.
fn reserved_change(event: &SnapshotEvent, limit: &mut AllocationLimit) -> Bytes {
    match event.action {
        SnapshotAction::SegmentAlloc | SnapshotAction::SegmentMap => limit.admit(event.size),
        SnapshotAction::SegmentFree | SnapshotAction::SegmentUnmap => -limit.admit(event.size),
        _ => Bytes::ZERO,
    }
}

fn allocations(
    snapshot: &Snapshot,
    ordinal: i32,
    events: &[&SnapshotEvent],
    limit: &mut AllocationLimit,
) -> Vec<LiveAllocation> {
    let mut allocations: Vec<LiveAllocation> = Vec::new();
    let mut by_address: FxHashMap<u64, usize> = FxHashMap::default();
    for (at, event) in (0_u32..).zip(events) {
        let allocates =
            matches!(event.action, SnapshotAction::Alloc | SnapshotAction::FreeCompleted);
        let bytes = if allocates { limit.admit(event.size) } else { Bytes::ZERO };
        let mut it = LiveAllocation {
            address: event.address,
            bytes,
            requested: bytes,
            stack: event.stack,
            from: Some(at),
            to: None,
            released_by: StackId::NONE,
        };
        match event.action {
            SnapshotAction::Alloc => {
                // The address is handed out again, so the release of the earlier one is not in the file.
                if let Some(earlier) = by_address.insert(event.address, allocations.len()) {
                    allocations[earlier].to = Some(at);
                }
                allocations.push(it);
            }
            SnapshotAction::FreeRequested => {
                if let Some(&known) = by_address.get(&event.address) {
                    allocations[known].released_by = event.stack;
                }
            }
            SnapshotAction::FreeCompleted => match by_address.remove(&event.address) {
                Some(known) => allocations[known].to = Some(at),
                None => {
                    // The stack is that of the release.
                    (it.stack, it.from, it.to) = (StackId::NONE, None, Some(at));
                    allocations.push(it);
                }
            },
            _ => {}
        }
    }
    let segments = snapshot.segments.iter().filter(|segment| segment.device == ordinal);
    let blocks = segments.flat_map(|segment| &segment.blocks);
    for block in blocks.filter(|block| block.is_allocated || block.is_pending_free) {
        match by_address.remove(&block.address) {
            Some(known) => allocations[known].bytes = limit.admit(block.size),
            None => allocations.push(LiveAllocation {
                address: block.address,
                bytes: limit.admit(block.size),
                requested: limit.admit(requested(block)),
                stack: block.stack,
                from: None,
                to: None,
                released_by: StackId::NONE,
            }),
        }
    }
    allocations
}

fn former(snapshot: &Snapshot, ordinal: i32, limit: &mut AllocationLimit) -> Vec<(StackId, Bytes)> {
    let segments = snapshot.segments.iter().filter(|segment| segment.device == ordinal);
    let entries = segments.flat_map(|segment| &segment.blocks).flat_map(|block| &block.former);
    entries.map(|&(stack, bytes)| (stack, limit.admit(bytes))).collect()
}

fn requested(block: &SnapshotBlock) -> Bytes {
    if block.requested_size > Bytes::ZERO { block.requested_size } else { block.size }
}
