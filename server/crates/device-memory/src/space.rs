//! The reserved address space: which ranges are free, at the end, when a request failed, and after any other event.

use std::collections::BTreeMap;

use ledger::Fragmentation;
use profile::{Bytes, Snapshot, SnapshotAction, SnapshotEvent, SnapshotSegment};

/// Reserved ranges of one device, by first address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Space(BTreeMap<u64, Range>);

/// A reserved range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) len: u64,
    /// The stream whose requests it serves.
    pub(crate) stream: i64,
    /// Whether it serves a private pool alone (of a CUDA graph, or a `MemPool`). Of what was given back before the end,
    /// nothing says so.
    pub(crate) is_private: bool,
}

/// A range that was reserved, or given back to the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpaceChange {
    is_reserved: bool,
    address: u64,
    len: u64,
    stream: i64,
}

impl SpaceChange {
    /// What an event changes; most change nothing.
    pub(crate) fn of(event: &SnapshotEvent) -> Option<Self> {
        let is_reserved = match event.action {
            SnapshotAction::SegmentAlloc | SnapshotAction::SegmentMap => true,
            SnapshotAction::SegmentFree | SnapshotAction::SegmentUnmap => false,
            _ => return None,
        };
        let len = event.size.0.cast_unsigned();
        Some(Self { is_reserved, address: event.address, len, stream: event.stream })
    }
}

/// First address and length of what is in use.
pub(crate) type Used = (u64, u64);

/// What of a range is not in use.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Free {
    pub(crate) bytes: Bytes,
    /// The largest piece.
    pub(crate) largest: Bytes,
    /// Whether anything of the range is in use.
    pub(crate) is_used: bool,
}

impl Space {
    /// What is reserved at the end.
    pub(crate) fn at_end(snapshot: &Snapshot, ordinal: i32) -> Self {
        let segments = snapshot.segments.iter().filter(|segment| segment.device == ordinal);
        let range = |it: &SnapshotSegment| Range {
            len: it.total_size.0.cast_unsigned(),
            stream: it.stream,
            is_private: it.pool != (0, 0),
        };
        Self(segments.map(|it| (it.address, range(it))).collect())
    }

    /// What was reserved before some changes that end with this, the last of them first.
    pub(crate) fn before(mut self, changes: impl IntoIterator<Item = SpaceChange>) -> Self {
        changes.into_iter().for_each(|it| self.take_back(&it));
        self
    }

    fn take_back(&mut self, change: &SpaceChange) {
        let SpaceChange { is_reserved, address, len, stream } = *change;
        if is_reserved {
            self.remove(address, len);
        } else {
            self.0.insert(address, Range { len, stream, is_private: false });
        }
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

    /// How the ranges are cut up by what is in use, in order of addresses.
    pub(crate) fn fragmentation(&self, used: &[Used]) -> Fragmentation {
        let mut result = Fragmentation { segments: self.0.len() as u64, ..Default::default() };
        for (_, free) in self.free(used) {
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
    pub(crate) fn for_request(&self, used: &[Used], stream: i64) -> (Bytes, Bytes) {
        let (mut largest, mut elsewhere) = (Bytes::ZERO, Bytes::ZERO);
        for (range, free) in self.free(used) {
            if range.stream == stream && !range.is_private {
                largest = free.largest.max(largest);
            } else {
                elsewhere = elsewhere.saturating_add(free.bytes);
            }
        }
        (largest, elsewhere)
    }

    /// What of each range is not in use.
    fn free(&self, used: &[Used]) -> impl Iterator<Item = (Range, Free)> {
        self.ranges(used).map(|(start, range, rows)| (range, Free::of(start, range, &used[rows])))
    }

    /// The first address of each range, and which rows of what is in use begin in it.
    pub(crate) fn ranges(
        &self,
        used: &[Used],
    ) -> impl Iterator<Item = (u64, Range, std::ops::Range<usize>)> {
        self.0.iter().map(|(&start, &range)| {
            let end = start.saturating_add(range.len);
            let rows =
                used.partition_point(|it| it.0 < start)..used.partition_point(|it| it.0 < end);
            (start, range, rows)
        })
    }
}

impl Free {
    /// Of a range with what is in use in it, in order of addresses.
    pub(crate) fn of(start: u64, range: Range, used: &[Used]) -> Self {
        let (mut at, mut free) = (start, Self { is_used: !used.is_empty(), ..Self::default() });
        for &(address, len) in used {
            free.add(address.saturating_sub(at));
            at = at.max(address.saturating_add(len));
        }
        free.add(start.saturating_add(range.len).saturating_sub(at));
        free
    }

    fn add(&mut self, gap: u64) {
        let gap = signed(gap);
        self.bytes = self.bytes.saturating_add(gap);
        self.largest = self.largest.max(gap);
    }
}

/// As it is counted elsewhere.
pub(crate) fn signed(bytes: u64) -> Bytes {
    i64::try_from(bytes).map_or(Bytes::MAX, Bytes)
}
