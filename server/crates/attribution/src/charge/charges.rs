//! Everything that was charged.

use std::collections::BTreeMap;

use device_memory::MemoryCharges;
use ledger::{Ns, SegmentTime};
use line_stacks::{LineId, Stacks};
use recorded::{IdleGaps, Steps};
use rustc_hash::FxHashMap;

use super::backward::Backward;
use super::device::DeviceCharges;
use super::patterns::PatternCharges;
use super::summary::SummaryCharges;
use super::waits::Waits;
use crate::host_charges::HostCharges;

/// The amounts by line stack and by line. Nothing of it is by event and nothing borrows events, so that those need not be in memory
/// at the same time as the books of the lines.
pub(crate) struct Charges {
    pub(crate) rank: u32,
    /// How long the steps last together, or the recording where it has none.
    pub(crate) run: Ns,
    pub(crate) steps: Steps,
    pub(crate) gaps: IdleGaps,
    /// How long the syncs last together.
    pub(crate) sync: Ns,
    /// Of this, what lies in steps.
    pub(crate) sync_in_steps: Ns,
    /// Events that several lines of a function explain equally well, by the line of its definition.
    pub(crate) readings: FxHashMap<LineId, BTreeMap<Vec<u32>, u64>>,
    pub(crate) stacks: Stacks,
    /// Whether the recording says anything about Python.
    pub(crate) has_stacks: bool,
    pub(crate) host: HostCharges,
    pub(crate) device: DeviceCharges,
    pub(crate) waits: Waits,
    /// By node, whether the profiler itself works there.
    pub(crate) is_recording: Vec<bool>,
    pub(crate) backward: Backward,
    pub(crate) memory: MemoryCharges,
    pub(crate) segments: FxHashMap<LineId, SegmentTime>,
    pub(crate) patterns: PatternCharges,
    pub(crate) summary: SummaryCharges,
}
