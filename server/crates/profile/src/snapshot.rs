//! The tables of a CUDA memory snapshot (`torch.cuda.memory._dump_snapshot`).

use crate::{Bytes, Interner, Ns, StrId};

/// A distinct stack of a [`Snapshot`], innermost frame first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StackId(pub u32);

impl StackId {
    /// The snapshot has no stack here.
    pub const NONE: Self = Self(u32::MAX);
}

impl Default for StackId {
    fn default() -> Self {
        Self::NONE
    }
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
    /// `external_annotations` (torch 2.5 and later): ranges that the program or the profiler marked, in file order.
    pub annotations: Vec<SnapshotAnnotation>,
    /// What tensors are for, where Perfline's recorder took the snapshot.
    pub purposes: SnapshotPurposes,
}

/// What the tensors of a program are for, as Perfline's recorder found them by object (`fixtures/FORMAT.md`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SnapshotPurposes {
    /// When the last recorded step began, in nanoseconds since the Unix epoch; zero where no steps were recorded.
    pub since: Ns,
    /// The tensors, of all devices.
    pub tensors: Vec<SnapshotTensor>,
}

/// A tensor that was there at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotTensor {
    /// Address of its storage.
    pub address: u64,
    /// What it is for.
    pub purpose: TensorPurpose,
    /// When it was there, in nanoseconds since the Unix epoch.
    pub at: Ns,
}

/// What a tensor is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TensorPurpose {
    /// A parameter of a module or optimizer.
    Parameter,
    /// The gradient of a parameter.
    Gradient,
    /// What an optimizer keeps for its parameters.
    OptimizerState,
    /// A buffer of a module.
    Buffer,
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SnapshotSegment {
    /// Device ordinal.
    pub device: i32,
    /// First address.
    pub address: u64,
    /// Reserved bytes.
    pub total_size: Bytes,
    /// Bytes asked for in the blocks that are in use; -1 where the file does not say.
    pub requested_size: Bytes,
    /// Stream it belongs to.
    pub stream: i64,
    /// `segment_type`: whether it serves large requests (over 1 MiB); `None` where the file does not say.
    pub is_large: Option<bool>,
    /// `segment_pool_id`: the private pool (of a CUDA graph or a `MemPool`) that owns it; (0, 0) is the default pool.
    pub pool: (i64, i64),
    /// Who caused it to be reserved.
    pub stack: StackId,
    /// Its blocks in address order.
    pub blocks: Vec<SnapshotBlock>,
}

/// A block of a segment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SnapshotBlock {
    /// First address (worked out from the segment where the file has none).
    pub address: u64,
    /// Bytes as the allocator counts them.
    pub size: Bytes,
    /// Bytes asked for; -1 where the file does not say.
    pub requested_size: Bytes,
    /// Whether it is in use (`active_allocated`), rather than free or waiting to be freed.
    pub is_allocated: bool,
    /// Whether the program gave it back but another stream may still use it (`active_pending_free`,
    /// `active_awaiting_free`), so that it is neither in use nor free.
    pub is_pending_free: bool,
    /// Who allocated it; for a free block, if known, who did so last (torch 2.0 and earlier).
    pub stack: StackId,
    /// What was allocated in it before and given back, the last first: who did so, and the bytes asked for (torch 2.0 and
    /// earlier, as far as the allocator remembers).
    pub former: Vec<(StackId, Bytes)>,
}

/// What the allocator of one device did, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SnapshotDevice {
    /// Device ordinal.
    pub device: i32,
    /// Events in the order in which they were recorded, which is the order of time.
    pub events: Vec<SnapshotEvent>,
}

/// What the allocator did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
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
    #[default]
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

impl Default for SnapshotEvent {
    /// An event of which the file says nothing.
    fn default() -> Self {
        Self {
            action: SnapshotAction::Other,
            address: 0,
            size: Bytes(0),
            stream: 0,
            at: Ns(-1),
            stack: StackId::NONE,
        }
    }
}

/// One end of an annotated range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotAnnotation {
    /// Name of the range.
    pub name: StrId,
    /// `true` where it begins (`START`), `false` where it ends.
    pub is_start: bool,
    /// Device ordinal.
    pub device: i32,
    /// When, in nanoseconds since the Unix epoch; -1 where the file does not say.
    pub at: Ns,
}
