//! Everything that was charged.

use std::collections::BTreeMap;

use device_memory::MemoryCharges;
use ledger::{Ns, SegmentTime};
use line_stacks::LineId;
use profile::{HostEventId, Profile};
use recorded::{IdleGaps, RecordedSources, Steps};
use rustc_hash::FxHashMap;

use super::backward::Backward;
use super::device::DeviceCharges;
use super::patterns::PatternCharges;
use super::summary::SummaryCharges;
use super::waits::Waits;
use crate::event_stacks::EventStacks;
use crate::host_charges::HostCharges;

/// The amounts by line stack and by line, with what they were charged from.
pub(crate) struct Charges<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) sources: &'a RecordedSources,
    pub(crate) rank: u32,
    /// How long the steps last together, or the recording where it has none.
    pub(crate) run: Ns,
    pub(crate) steps: &'a Steps,
    pub(crate) gaps: &'a IdleGaps,
    /// The syncs in order.
    pub(crate) syncs: &'a [HostEventId],
    /// Events that several lines of a function explain equally well, by the line of its definition.
    pub(crate) readings: &'a FxHashMap<LineId, BTreeMap<Vec<u32>, u64>>,
    pub(crate) events: &'a EventStacks<'a>,
    pub(crate) host: &'a HostCharges,
    pub(crate) device: &'a DeviceCharges,
    pub(crate) waits: &'a Waits,
    /// By node, whether the profiler itself works there.
    pub(crate) is_recording: &'a [bool],
    pub(crate) backward: &'a Backward,
    pub(crate) memory: &'a MemoryCharges,
    pub(crate) segments: &'a FxHashMap<LineId, SegmentTime>,
    pub(crate) patterns: &'a PatternCharges,
    pub(crate) summary: &'a SummaryCharges,
}
