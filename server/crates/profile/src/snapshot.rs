//! The tables of a CUDA memory snapshot (`torch.cuda.memory._dump_snapshot`).

use crate::{Bytes, Interner, Ns, StrId};

/// A distinct stack of a [`Snapshot`], innermost frame first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StackId(pub u32);

impl StackId {
    /// The snapshot has no stack here.
    pub const NONE: Self = Self(u32::MAX);
}

/// Everything that a memory snapshot says.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// The text of every path and name.
    pub strings: Interner,
    /// Distinct stacks, innermost frame first, C++ frames included.
    pub stacks: Vec<Vec<SnapshotFrame>>,
    /// What is reserved at the end.
    pub segments: Vec<SnapshotSegment>,
    /// The history of each device, in device order.
    pub devices: Vec<SnapshotDevice>,
}

impl Snapshot {
    /// The frames of a stack, innermost first; empty for [`StackId::NONE`].
    #[must_use]
    pub fn frames(&self, stack: StackId) -> &[SnapshotFrame] {
        self.stacks.get(stack.0 as usize).map_or(&[], Vec::as_slice)
    }
}

/// One frame of a stack. Python frames carry the line that was executing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SnapshotFrame {
    /// Path as recorded; `??` or empty for frames without source.
    pub file: StrId,
    /// 1-based line; 0 where unknown.
    pub line: u32,
    /// Function name.
    pub function: StrId,
}

/// A range of device memory that the allocator reserved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotSegment {
    /// Device ordinal.
    pub device: i32,
    /// First address.
    pub address: u64,
    /// Reserved bytes.
    pub total_size: Bytes,
    /// Stream it belongs to.
    pub stream: i64,
    /// Its blocks in address order.
    pub blocks: Vec<SnapshotBlock>,
}

/// A block of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotBlock {
    /// First address (worked out from the segment where the file has none).
    pub address: u64,
    /// Bytes as the allocator counts them.
    pub size: Bytes,
    /// Bytes asked for; -1 where the file does not say.
    pub requested_size: Bytes,
    /// Whether it is in use (`active_allocated`), rather than free or waiting to be freed.
    pub is_allocated: bool,
    /// Who allocated it.
    pub stack: StackId,
}

/// What the allocator of one device did, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SnapshotDevice {
    /// Device ordinal.
    pub device: i32,
    /// Events in order of time.
    pub events: Vec<SnapshotEvent>,
}

/// What the allocator did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SnapshotAction {
    /// A block was handed out.
    Alloc,
    /// The program gave a block back.
    FreeRequested,
    /// The block became reusable.
    FreeCompleted,
    /// Memory was reserved from the device.
    SegmentAlloc,
    /// Memory was given back to the device.
    SegmentFree,
    /// Memory was mapped into an expandable segment.
    SegmentMap,
    /// Memory was unmapped from an expandable segment.
    SegmentUnmap,
    /// A request failed.
    OutOfMemory,
    /// A snapshot was taken.
    Snapshot,
    /// A user annotation.
    Annotation,
    /// An action that this version does not know.
    Other,
}

/// One event of an allocator's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotEvent {
    /// What happened.
    pub action: SnapshotAction,
    /// Address, or for [`SnapshotAction::OutOfMemory`] the free device bytes.
    pub address: u64,
    /// Bytes.
    pub size: Bytes,
    /// Stream.
    pub stream: i64,
    /// When, in nanoseconds since the Unix epoch; -1 where the file does not say (before torch 2.3).
    pub at: Ns,
    /// Who did it.
    pub stack: StackId,
}
