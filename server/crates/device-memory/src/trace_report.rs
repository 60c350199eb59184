//! The memory of devices as a trace shows it (`profile_memory=True`): totals over time, and what its lines hold.
//!
//! A trace has neither segments nor failed requests; a snapshot of the same rank shows more and is taken instead.

use std::collections::BTreeMap;

use ledger::{Bytes, DeviceKey, DeviceMemory, LineBooks, LineKey, LineMemory, Moment, Ns};
use profile::MemoryDevice;
use recorded::Steps;

use crate::curve::Curve;
use crate::device_name::device_name;
use crate::samples::samples;
use crate::trace::MemoryCharges;

/// The books of each device with a curve, from the lines of the ledger.
#[must_use]
pub fn reports(
    charges: &MemoryCharges,
    lines: &BTreeMap<LineKey, Box<LineBooks>>,
    steps: &Steps,
    rank: u32,
) -> BTreeMap<DeviceKey, DeviceMemory> {
    let key = |device: &MemoryDevice| DeviceKey { rank, device: device.ordinal };
    let mut lines = lines_by_device(lines);
    let reports = charges.devices.iter().map(|(device, curve)| {
        let lines = lines.remove(&*device_name(*device)).unwrap_or_default();
        (key(device), report(curve, lines, steps))
    });
    reports.collect()
}

/// What the lines hold of each memory, by its name.
fn lines_by_device(
    lines: &BTreeMap<LineKey, Box<LineBooks>>,
) -> BTreeMap<&str, BTreeMap<LineKey, LineMemory>> {
    let mut by_device: BTreeMap<&str, BTreeMap<LineKey, LineMemory>> = BTreeMap::new();
    for (line, books) in lines {
        for (device, it) in &books.allocations {
            let memory = LineMemory {
                function: books.function.clone(),
                alloc: it.alloc,
                allocs: it.allocs,
                freed: it.alloc - it.live,
                peak: it.peak,
                live: it.live,
                ..LineMemory::default()
            };
            by_device.entry(device).or_default().insert(line.clone(), memory);
        }
    }
    by_device
}

fn report(curve: &Curve, lines: BTreeMap<LineKey, LineMemory>, steps: &Steps) -> DeviceMemory {
    let points = &curve.points;
    let first_at = points.first().map_or(Ns::ZERO, |&(at, _)| at);
    let at = |event: usize| (points[event].0 - first_at).max(Ns::ZERO);
    let active = |event: usize| points[event].1.0;
    // The first of several: as the charging to lines has it.
    let highest = (0..points.len()).max_by_key(|&event| (active(event), std::cmp::Reverse(event)));
    let reserved = points.last().map_or(Bytes::ZERO, |&(_, (_, reserved))| reserved);
    let first_reserved = points.first().map_or(Bytes::ZERO, |&(_, (_, reserved))| reserved);
    let peak = highest.map_or(curve.before, active);
    let end = points.last().map_or(curve.before, |&(_, (active, _))| active);
    let steps = curve.steps(steps);
    let step = highest.and_then(|event| {
        let step = steps.partition_point(|step| step.at <= at(event).0).checked_sub(1)?;
        u32::try_from(step).ok()
    });
    DeviceMemory {
        peak,
        peak_moment: Moment {
            event: highest.map_or(0, |event| event as u64 + 1),
            at: highest.map(at),
            step,
            annotations: Vec::new(),
        },
        requested_peak: peak,
        before: curve.before,
        before_at_peak: curve.before_at_peak,
        has_no_addresses: !curve.has_addresses,
        unattributed_peak: peak - lines.values().map(|it| it.peak).sum::<Bytes>(),
        unattributed_end: end - lines.values().map(|it| it.live).sum::<Bytes>(),
        end,
        reserved,
        reserved_peak: points
            .iter()
            .map(|&(_, (_, reserved))| reserved)
            .max()
            .unwrap_or(Bytes::ZERO),
        events: points.len() as u64,
        has_times: true,
        timeline: samples(
            points.len(),
            |event| at(event).0,
            (curve.before, first_reserved),
            |event| points[event].1,
        ),
        steps,
        lines,
        ..DeviceMemory::default()
    }
}
