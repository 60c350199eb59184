//! The reserved address space: which ranges are free, at the end and when a request failed.

use std::collections::BTreeMap;

use ledger::Fragmentation;
use profile::{Bytes, Snapshot, SnapshotAction};

use super::replay::Replay;

/// Reserved ranges of one device: first address to size.
pub(super) struct Space(BTreeMap<u64, u64>);

impl Space {
    /// What is reserved at the end.
    pub(super) fn at_end(snapshot: &Snapshot, ordinal: i32) -> Self {
        let segments = snapshot.segments.iter().filter(|segment| segment.device == ordinal);
        Self(segments.map(|it| (it.address, it.total_size.cast_unsigned())).collect())
    }

    /// What was reserved after `event`, from what is reserved at the end: later events are taken back.
    pub(super) fn rewind(mut self, replay: &Replay<'_>, event: u32) -> Self {
        for later in replay.events[event as usize + 1..].iter().rev() {
            let size = later.size.cast_unsigned();
            match later.action {
                SnapshotAction::SegmentAlloc | SnapshotAction::SegmentMap => {
                    self.remove(later.address, size);
                }
                SnapshotAction::SegmentFree | SnapshotAction::SegmentUnmap => {
                    self.0.insert(later.address, size);
                }
                _ => {}
            }
        }
        self
    }

    /// Expandable segments are mapped in parts, so a part may lie within a range.
    fn remove(&mut self, address: u64, size: u64) {
        let Some((&start, &len)) = self.0.range(..=address).next_back() else { return };
        let (end, removed_end) = (start.saturating_add(len), address.saturating_add(size));
        if end <= address {
            return;
        }
        self.0.remove(&start);
        if start < address {
            self.0.insert(start, address - start);
        }
        if removed_end < end {
            self.0.insert(removed_end, end - removed_end);
        }
    }

    /// How the ranges are cut up by what is in use after `event`.
    pub(super) fn fragmentation(&self, replay: &Replay<'_>, event: Option<u32>) -> Fragmentation {
        let alive = replay.allocations.iter().filter(|it| it.is_alive_at(event));
        let mut blocks: Vec<(u64, u64)> =
            alive.map(|it| (it.address, it.bytes.cast_unsigned())).collect();
        blocks.sort_unstable();
        let mut blocks = blocks.into_iter().peekable();
        let mut result = Fragmentation { segments: self.0.len() as u64, ..Default::default() };
        for (&start, &len) in &self.0 {
            let end = start.saturating_add(len);
            let (mut at, mut free, mut is_used) = (start, 0_i64, false);
            while blocks.next_if(|&(address, _)| address < start).is_some() {}
            while let Some((address, size)) = blocks.next_if(|&(address, _)| address < end) {
                is_used = true;
                let gap = signed(address.saturating_sub(at));
                free = gap.saturating_add(free);
                result.largest_free = result.largest_free.max(gap);
                at = at.max(address.saturating_add(size));
            }
            let gap = signed(end.saturating_sub(at));
            free = gap.saturating_add(free);
            result.largest_free = result.largest_free.max(gap);
            result.free = result.free.saturating_add(free);
            if is_used {
                result.held = result.held.saturating_add(free);
            }
        }
        result
    }
}

fn signed(bytes: u64) -> Bytes {
    Bytes::try_from(bytes).unwrap_or(Bytes::MAX)
}
