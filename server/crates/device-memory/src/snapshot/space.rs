//! The reserved address space: which ranges are free, at the end and when a request failed.

use std::collections::BTreeMap;

use ledger::Fragmentation;
use profile::{Bytes, Snapshot, SnapshotAction, SnapshotSegment};

use super::replay::SnapshotReplay;

/// Reserved ranges of one device, by first address.
pub(super) struct Space(BTreeMap<u64, Range>);

/// A reserved range.
#[derive(Debug, Clone, Copy)]
struct Range {
    len: u64,
    /// The stream whose requests it serves.
    stream: i64,
    /// Whether it serves a private pool alone (of a CUDA graph, or a `MemPool`). Of what was given back before the end,
    /// nothing says so.
    is_private: bool,
}

/// What of a range is not in use.
#[derive(Debug, Clone, Copy, Default)]
struct Free {
    bytes: Bytes,
    /// The largest piece.
    largest: Bytes,
    /// Whether anything of the range is in use.
    is_used: bool,
}

impl Space {
    /// What is reserved at the end.
    pub(super) fn at_end(snapshot: &Snapshot, ordinal: i32) -> Self {
        let segments = snapshot.segments.iter().filter(|segment| segment.device == ordinal);
        let range = |it: &SnapshotSegment| Range {
            len: it.total_size.0.cast_unsigned(),
            stream: it.stream,
            is_private: it.pool != (0, 0),
        };
        Self(segments.map(|it| (it.address, range(it))).collect())
    }

    /// What was reserved after `event`, from what is reserved at the end: later events are taken back.
    pub(super) fn rewind(mut self, replay: &SnapshotReplay<'_>, event: u32) -> Self {
        for later in replay.events[event as usize + 1..].iter().rev() {
            let size = later.size.0.cast_unsigned();
            match later.action {
                SnapshotAction::SegmentAlloc | SnapshotAction::SegmentMap => {
                    self.remove(later.address, size);
                }
                SnapshotAction::SegmentFree | SnapshotAction::SegmentUnmap => {
                    let range = Range { len: size, stream: later.stream, is_private: false };
                    self.0.insert(later.address, range);
                }
                _ => {}
            }
        }
        self
    }

    /// Expandable segments are mapped in parts, so a part may lie within a range.
    fn remove(&mut self, address: u64, size: u64) {
        let Some((&start, &range)) = self.0.range(..=address).next_back() else { return };
        let len = range.len;
        let (end, removed_end) = (start.saturating_add(len), address.saturating_add(size));
        if end <= address {
            return;
        }
        self.0.remove(&start);
        if start < address {
            self.0.insert(start, Range { len: address - start, ..range });
        }
        if removed_end < end {
            self.0.insert(removed_end, Range { len: end - removed_end, ..range });
        }
    }

    /// How the ranges are cut up by what is in use after `event`.
    pub(super) fn fragmentation(
        &self,
        replay: &SnapshotReplay<'_>,
        event: Option<u32>,
    ) -> Fragmentation {
        let mut result = Fragmentation { segments: self.0.len() as u64, ..Default::default() };
        for (_, free) in self.free(replay, event) {
            result.free = result.free.saturating_add(free.bytes);
            result.largest_free = result.largest_free.max(free.largest);
            if free.is_used {
                result.held = result.held.saturating_add(free.bytes);
            }
        }
        result
    }

    /// For a request on `stream`: the largest piece that it could have had, and the free bytes that serve other streams or
    /// private pools alone.
    pub(super) fn for_request(
        &self,
        replay: &SnapshotReplay<'_>,
        event: Option<u32>,
        stream: i64,
    ) -> (Bytes, Bytes) {
        let (mut largest, mut elsewhere) = (Bytes::ZERO, Bytes::ZERO);
        for (range, free) in self.free(replay, event) {
            if range.stream == stream && !range.is_private {
                largest = free.largest.max(largest);
            } else {
                elsewhere = elsewhere.saturating_add(free.bytes);
            }
        }
        (largest, elsewhere)
    }

    /// What of each range is not in use after `event`.
    fn free(&self, replay: &SnapshotReplay<'_>, event: Option<u32>) -> Vec<(Range, Free)> {
        let alive = replay.allocations.iter().filter(|it| it.is_alive_at(event));
        let mut blocks: Vec<(u64, u64)> =
            alive.map(|it| (it.address, it.bytes.0.cast_unsigned())).collect();
        blocks.sort_unstable();
        let mut blocks = blocks.into_iter().peekable();
        let ranges = self.0.iter().map(|(&start, &range)| {
            let end = start.saturating_add(range.len);
            let (mut at, mut free) = (start, Free::default());
            while blocks.next_if(|&(address, _)| address < start).is_some() {}
            while let Some((address, size)) = blocks.next_if(|&(address, _)| address < end) {
                free.is_used = true;
                free.add(address.saturating_sub(at));
                at = at.max(address.saturating_add(size));
            }
            free.add(end.saturating_sub(at));
            (range, free)
        });
        ranges.collect()
    }
}

impl Free {
    fn add(&mut self, gap: u64) {
        let gap = signed(gap);
        self.bytes = self.bytes.saturating_add(gap);
        self.largest = self.largest.max(gap);
    }
}

fn signed(bytes: u64) -> Bytes {
    i64::try_from(bytes).map_or(Bytes::MAX, Bytes)
}
