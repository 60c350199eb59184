//! How what was reserved of a device was laid out at a moment: segments with what is in use in them.

use std::cmp::Reverse;

use ledger::Bytes;

use crate::history::{MemoryHistory, is_alive};
use crate::space::{Free, Range, Used, signed};

/// A reserved range of addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentMap {
    /// First address.
    pub address: u64,
    /// Its size.
    pub bytes: Bytes,
    /// The stream whose requests it serves.
    pub stream: i64,
    /// Whether it serves a private pool alone (of a CUDA graph, or a `MemPool`), where that is recorded.
    pub is_private: bool,
    /// What is not in use.
    pub free: Bytes,
    /// The largest piece of that.
    pub largest_free: Bytes,
    /// How many allocations are in use.
    pub allocations: usize,
    /// What is in use, in order of addresses.
    pub blocks: Vec<SegmentBlock>,
}

/// An allocation of a segment, or several that are too small to be distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentBlock {
    /// From the begin of the segment.
    pub offset: Bytes,
    /// Up to where the last of them ends.
    pub bytes: Bytes,
    /// What of this is in use.
    pub used: Bytes,
    /// How many allocations they are.
    pub allocations: usize,
    /// Who made them; `None` where that is not one.
    pub holder: Option<u32>,
}

impl MemoryHistory {
    /// The segments after `event` (`None`: before the first), the largest first. Neighbours that are smaller than one of `parts`
    /// of the largest segment stand together.
    #[must_use]
    pub fn segments(&self, event: Option<u32>, parts: u64) -> Vec<SegmentMap> {
        let later = self.space_changes.iter().rev().take_while(|(at, _)| Some(*at) > event);
        let space = self.space_at_end.clone().before(later.map(|(_, it)| *it));
        let all = (0..).zip(&self.allocations);
        let alive = all.filter(|(_, it)| is_alive(it.from, it.to, event)).map(|(row, _)| row);
        let mut rows: Vec<usize> = alive.collect();
        rows.sort_unstable_by_key(|&it| (self.allocations[it].address, it));
        let used = |row: &usize| {
            let it = &self.allocations[*row];
            (it.address, it.bytes.0.cast_unsigned())
        };
        let used: Vec<Used> = rows.iter().map(used).collect();
        let largest = space.ranges(&used).map(|(_, range, _)| range.len).max().unwrap_or(0);
        let least = largest / parts.max(1);
        let segments = space.ranges(&used).map(|(start, range, here)| {
            let Range { len, stream, is_private } = range;
            let free = Free::of(start, range, &used[here.clone()]);
            let mut blocks: Vec<SegmentBlock> = Vec::new();
            for (&row, &(address, len)) in rows[here.clone()].iter().zip(&used[here.clone()]) {
                let holder = Some(self.allocations[row].holder);
                add(&mut blocks, address - start, len, holder, least);
            }
            SegmentMap {
                address: start,
                bytes: signed(len),
                stream,
                is_private,
                free: free.bytes,
                largest_free: free.largest,
                allocations: here.len(),
                blocks,
            }
        });
        let mut segments: Vec<SegmentMap> = segments.collect();
        segments.sort_by_key(|it| (Reverse(it.bytes), it.address));
        segments
    }
}

/// Adds what follows in a segment: to what is before it where both are small and beside each other.
fn add(blocks: &mut Vec<SegmentBlock>, offset: u64, len: u64, holder: Option<u32>, least: u64) {
    let (offset, bytes, least) = (signed(offset), signed(len), signed(least));
    if let Some(last) = blocks.last_mut() {
        let end = last.offset.saturating_add(last.bytes);
        let is_small = |it: Bytes| it < least;
        let is_run = last.allocations > 1 || is_small(last.bytes);
        if is_run && is_small(bytes) && is_small(offset - end) {
            last.bytes = offset.saturating_add(bytes) - last.offset;
            last.used = last.used.saturating_add(bytes);
            last.allocations += 1;
            last.holder = last.holder.filter(|it| Some(*it) == holder);
            return;
        }
    }
    blocks.push(SegmentBlock { offset, bytes, used: bytes, allocations: 1, holder });
}
