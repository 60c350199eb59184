//! How much of a memory was in use over time, by the memory events of a trace.

use std::collections::BTreeMap;

use event_timeline::MemoryCurve;
use ledger::{Bytes, Ns, StepMemory};
use profile::{DeviceType, MemoryDevice, Profile};
use recorded::{Step, Steps};

use crate::device_name::device_name;
use crate::samples::MemoryLevel;
use crate::trace_replay::TraceReplay;

/// How much of a device's memory was in use, from `Total Allocated` and `Total Reserved` where a trace has them.
#[derive(Debug, Default)]
pub(crate) struct Curve {
    /// Bytes in use before the first event.
    pub(crate) before: Bytes,
    /// Of these, bytes still in use at the peak.
    pub(crate) before_at_peak: Bytes,
    /// Whether any event has an address.
    pub(crate) has_addresses: bool,
    /// Times and levels after each event, in order.
    pub(crate) points: Vec<(Ns, MemoryLevel)>,
}

impl Curve {
    /// What the `events` of one device say, rows in order of time, of which this is the replay.
    pub(crate) fn new(profile: &Profile, events: &[u32], replay: &TraceReplay) -> Self {
        let before = in_use_before(profile, events);
        let reserved = events.iter().map(|&row| profile.memory.total_reserved[row as usize]);
        let points = in_use(profile, events, before)
            .zip(reserved)
            .map(|((at, used), reserved)| (at, (used, reserved.max(Bytes::ZERO))));
        let has_addresses = replay.allocations.iter().any(|it| it.is_tracked());
        let before_at_peak = if has_addresses {
            (before - replay.older_freed_at_peak).max(Bytes::ZERO)
        } else {
            Bytes::ZERO
        };
        Self { before, before_at_peak, has_addresses, points: points.collect() }
    }

    /// The steps of a trace, with what a memory held in them; times count from its first event.
    pub(crate) fn steps(&self, steps: &Steps) -> Vec<StepMemory> {
        let points = &self.points;
        let first_at = points.first().map_or(Ns::ZERO, |&(at, _)| at);
        let step = |step: &Step| {
            let first = points.partition_point(|&(at, _)| at < step.start);
            let last = points.partition_point(|&(at, _)| at < step.end).max(first);
            let mut during = points[first..last].iter().map(|&(_, (active, _))| active);
            let before = first.checked_sub(1).map_or(self.before, |it| points[it].1.0);
            StepMemory {
                name: match step.is_scheduled {
                    true => format!("ProfilerStep#{}", step.number),
                    false => format!("step {}", step.number),
                },
                first_event: first as u64,
                at: (step.start - first_at).max(Ns::ZERO).0,
                peak: during.clone().max().unwrap_or(before).max(before),
                end: during.next_back().unwrap_or(before),
            }
        };
        steps.0.iter().map(step).collect()
    }
}

/// The rows of the memory table in order of time, then of the file.
pub(crate) fn in_order(profile: &Profile) -> Vec<u32> {
    let memory = &profile.memory;
    let mut rows: Vec<u32> = (0..u32::try_from(memory.len()).unwrap_or(u32::MAX)).collect();
    rows.sort_by_key(|&row| memory.at[row as usize]);
    rows
}

/// How much of each memory was in use over time: of devices, then of the host.
#[must_use]
pub fn memory_curves(profile: &Profile) -> Vec<MemoryCurve> {
    let memory = &profile.memory;
    let mut by_device: BTreeMap<MemoryDevice, Vec<u32>> = BTreeMap::new();
    for event in in_order(profile) {
        by_device.entry(memory.device[event as usize]).or_default().push(event);
    }
    let curve = |(device, events): (MemoryDevice, Vec<u32>)| {
        let before = in_use_before(profile, &events);
        let points = in_use(profile, &events, before).collect();
        MemoryCurve { device: device_name(device), before, points }
    };
    let (host, devices): (Vec<_>, Vec<_>) =
        by_device.into_iter().partition(|(device, _)| device.kind == DeviceType::CPU);
    devices.into_iter().chain(host).map(curve).collect()
}

/// What was in use before the first of the `events` of one device, rows in order of time. Where a trace has no totals (torch 1.9), memory that is
/// released without having been allocated was in use before.
fn in_use_before(profile: &Profile, events: &[u32]) -> Bytes {
    let memory = &profile.memory;
    let (mut used, mut least, mut before) = (Bytes::ZERO, Bytes::ZERO, None);
    for &row in events {
        let row = row as usize;
        used = used.saturating_add(memory.bytes[row]);
        least = least.min(used);
        let total = memory.total_allocated[row];
        before = before.or((Bytes::ZERO <= total).then(|| total.saturating_sub(used)));
    }
    before.unwrap_or(Bytes::ZERO).max(-least)
}

/// When each of the `events` of one device was, and what was in use after it.
fn in_use(profile: &Profile, events: &[u32], before: Bytes) -> impl Iterator<Item = (Ns, Bytes)> {
    let memory = &profile.memory;
    events.iter().scan(before, |used, &row| {
        *used = used.saturating_add(memory.bytes[row as usize]);
        Some((memory.at[row as usize], *used))
    })
}
