//! Bytes by line: a replay of the allocations and releases of a trace.

use std::collections::BTreeMap;

use event_timeline::MemoryCurve;
use ledger::{Allocation, Bytes, Ns};
use line_stacks::{LineId, grow_to};
use profile::{DeviceType, MemoryDevice, Profile};
use recorded::Steps;
use rustc_hash::FxHashMap;

use crate::device_name::device_name;
use crate::samples::MemoryLevel;

/// What of the memory of devices is taken from a trace. All of the host's is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TracedDevices {
    /// All.
    #[default]
    Whole,
    /// What was allocated. A snapshot of the same rank says what was in use.
    Allocations,
    /// Nothing: a snapshot of the same rank says it all.
    Nothing,
}

/// Bytes by own line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LineBytes {
    /// Bytes allocated.
    pub alloc: Bytes,
    /// Number of allocations.
    pub allocs: u64,
    /// Bytes released.
    pub freed: Bytes,
    /// Bytes in use at the peak of their memory.
    pub peak: Bytes,
    /// Bytes in use at the end.
    pub live: Bytes,
}

/// Bytes of a recording.
#[derive(Debug, Default)]
pub struct MemoryCharges {
    /// Bytes allocated.
    pub total: Bytes,
    /// Of this, what was allocated in steps.
    pub in_steps: Bytes,
    /// Of this, what has no line.
    pub without_line: Bytes,
    /// By line.
    pub by_line: Vec<LineBytes>,
    /// By event, in the order of [`TraceMemory::rows`]: whether it allocated what was in use at the peak of its memory.
    pub are_at_peak: Vec<bool>,
    /// By line and name of the memory.
    pub allocations: BTreeMap<(LineId, String), Allocation>,
    /// Of each device, not of the host: what its curve shows.
    pub(crate) devices: BTreeMap<MemoryDevice, Curve>,
}

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

/// The memory events of a trace that are charged.
#[derive(Debug)]
pub struct TraceMemory {
    /// Rows of the memory table in order of time, then of the file.
    pub rows: Vec<u32>,
    /// Whether it also says what was in use of devices.
    has_use: bool,
}

impl TraceMemory {
    /// The memory events of `profile` that are taken from it.
    #[must_use]
    pub fn new(profile: &Profile, devices: TracedDevices) -> Self {
        let is_kept = |&row: &u32| {
            devices != TracedDevices::Nothing
                || profile.memory.device[row as usize].kind == DeviceType::CPU
        };
        let rows = in_order(profile).into_iter().filter(is_kept).collect();
        Self { rows, has_use: devices == TracedDevices::Whole }
    }

    /// Charges the events to `lines`: of each row, in the order of `rows`, the line that it is charged to.
    #[must_use]
    pub fn charge(
        &self,
        profile: &Profile,
        steps: &Steps,
        lines: impl IntoIterator<Item = LineId>,
    ) -> MemoryCharges {
        let memory = &profile.memory;
        let mut replays: BTreeMap<MemoryDevice, (TraceReplay, Vec<u32>)> = BTreeMap::new();
        for ((place, &event), line) in self.rows.iter().enumerate().zip(lines) {
            let row = event as usize;
            let device = memory.device[row];
            let (replay, of_device) = replays.entry(device).or_default();
            if device.kind != DeviceType::CPU {
                of_device.push(event);
            }
            let (address, bytes) = (memory.address[row], memory.bytes[row]);
            if bytes > Bytes::ZERO {
                replay.alloc(address, bytes, (line, place));
            } else {
                replay.free(address, -bytes);
            }
        }
        let mut charges =
            MemoryCharges { are_at_peak: vec![false; self.rows.len()], ..MemoryCharges::default() };
        let in_steps =
            self.rows.iter().map(|&row| row as usize).filter(|&row| {
                memory.bytes[row] > Bytes::ZERO && steps.at(memory.at[row]).is_some()
            });
        charges.in_steps = in_steps.map(|row| memory.bytes[row]).sum();
        for (device, (replay, of_device)) in replays {
            let has_use = self.has_use || device.kind == DeviceType::CPU;
            charges.add(&device_name(device), &replay, has_use);
            if device.kind != DeviceType::CPU && has_use {
                charges.devices.insert(device, curve(profile, &of_device, &replay));
            }
        }
        charges
    }
}

/// The rows of the memory table in order of time, then of the file.
fn in_order(profile: &Profile) -> Vec<u32> {
    let memory = &profile.memory;
    let mut rows: Vec<u32> = (0..u32::try_from(memory.len()).unwrap_or(u32::MAX)).collect();
    rows.sort_by_key(|&row| memory.at[row as usize]);
    rows
}

/// How much of each memory was in use over time, that of the host and those of devices.
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
    by_device.into_iter().map(curve).collect()
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

/// What the `events` of one device say, rows in order of time.
fn curve(profile: &Profile, events: &[u32], replay: &TraceReplay) -> Curve {
    let before = in_use_before(profile, events);
    let reserved = events.iter().map(|&row| profile.memory.total_reserved[row as usize]);
    let points = in_use(profile, events, before)
        .zip(reserved)
        .map(|((at, used), reserved)| (at, (used, reserved.max(Bytes::ZERO))));
    let has_addresses = replay.allocations.iter().any(|it| it.is_tracked);
    let before_at_peak = if has_addresses {
        (before - replay.older_freed_at_peak).max(Bytes::ZERO)
    } else {
        Bytes::ZERO
    };
    Curve { before, before_at_peak, has_addresses, points: points.collect() }
}

/// What happened to one memory, event by event.
#[derive(Debug, Default)]
pub(crate) struct TraceReplay {
    /// Number of the next event.
    clock: u64,
    used: Bytes,
    peak: Bytes,
    /// Number of the event after which the most bytes were in use.
    peak_at: Option<u64>,
    /// Bytes released without having been allocated here, and how many of them before the peak.
    older_freed: Bytes,
    older_freed_at_peak: Bytes,
    allocations: Vec<Traced>,
    by_address: FxHashMap<u64, usize>,
}

/// One allocation.
#[derive(Debug)]
struct Traced {
    line: LineId,
    /// Place in [`TraceMemory::rows`].
    event: usize,
    bytes: Bytes,
    alloc_at: u64,
    /// Number of the event that released it; `None` while it is alive.
    freed_at: Option<u64>,
    /// Whether its release could be seen: the event has an address.
    is_tracked: bool,
}

impl TraceReplay {
    /// `bytes` are allocated at `address` (0: unknown) by a line, in the event at this place.
    pub(crate) fn alloc(&mut self, address: u64, bytes: Bytes, (line, event): (LineId, usize)) {
        let is_tracked = address != 0;
        if is_tracked && let Some(earlier) = self.by_address.insert(address, self.allocations.len())
        {
            // The address was handed out again, so its release was not recorded.
            self.allocations[earlier].freed_at = Some(self.clock);
        }
        self.allocations.push(Traced {
            line,
            event,
            bytes,
            alloc_at: self.clock,
            freed_at: None,
            is_tracked,
        });
        self.tick(bytes);
    }

    /// `bytes` at `address` are released.
    pub(crate) fn free(&mut self, address: u64, bytes: Bytes) {
        if let Some(allocation) = self.by_address.remove(&address) {
            self.allocations[allocation].freed_at = Some(self.clock);
        } else {
            self.older_freed = self.older_freed.saturating_add(bytes);
        }
        self.tick(-bytes);
    }

    fn tick(&mut self, bytes: Bytes) {
        self.used += bytes;
        if self.peak_at.is_none() || self.used > self.peak {
            (self.peak, self.peak_at) = (self.used, Some(self.clock));
            self.older_freed_at_peak = self.older_freed;
        }
        self.clock += 1;
    }
}

impl MemoryCharges {
    /// Adds the allocations of one memory, and with `has_use` what was in use of it.
    pub(crate) fn add(&mut self, device: &str, replay: &TraceReplay, has_use: bool) {
        let peak_at = replay.peak_at.unwrap_or(0);
        for it in &replay.allocations {
            self.total += it.bytes;
            let is_at_peak = has_use
                && it.is_tracked
                && it.alloc_at <= peak_at
                && it.freed_at.is_none_or(|freed_at| freed_at > peak_at);
            self.are_at_peak[it.event] = is_at_peak;
            let Some(line) = it.line.get() else {
                self.without_line += it.bytes;
                continue;
            };
            let is_live = has_use && it.is_tracked && it.freed_at.is_none();
            let books = grow_to(&mut self.by_line, line.index());
            books.alloc += it.bytes;
            books.allocs += 1;
            let allocation = self.allocations.entry((line, device.to_owned())).or_default();
            allocation.alloc += it.bytes;
            allocation.allocs += 1;
            if has_use && it.freed_at.is_some() {
                books.freed += it.bytes;
            }
            if is_at_peak {
                books.peak += it.bytes;
                allocation.peak += it.bytes;
            }
            if is_live {
                books.live += it.bytes;
                allocation.live += it.bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_alive_at_the_peak_is_distinguished_from_the_rest() {
        let mut replay = TraceReplay::default();
        let (a, b) = (LineId(0), LineId(1));
        replay.alloc(0x10, Bytes(100), (a, 0));
        replay.alloc(0x20, Bytes(50), (b, 1));
        replay.free(0x10, Bytes(100));
        replay.alloc(0x30, Bytes(90), (b, 3));
        replay.free(0x99, Bytes(10));
        replay.alloc(0x20, Bytes(5), (a, 5));
        let mut charges = MemoryCharges { are_at_peak: vec![false; 6], ..MemoryCharges::default() };
        charges.add("cuda:0", &replay, true);
        assert_eq!(charges.are_at_peak, [true, true, false, false, false, false]);
        let a = LineBytes {
            alloc: Bytes(105),
            allocs: 2,
            freed: Bytes(100),
            peak: Bytes(100),
            live: Bytes(5),
        };
        let b = LineBytes {
            alloc: Bytes(140),
            allocs: 2,
            freed: Bytes(50),
            peak: Bytes(50),
            live: Bytes(90),
        };
        assert_eq!(charges.by_line, [a, b]);
        assert_eq!(charges.total, Bytes(245));
    }

    #[test]
    fn without_addresses_nothing_is_said_about_what_is_alive() {
        let mut replay = TraceReplay::default();
        replay.alloc(0, Bytes(100), (LineId(0), 0));
        replay.free(0, Bytes(100));
        let mut charges = MemoryCharges { are_at_peak: vec![false; 2], ..MemoryCharges::default() };
        charges.add("cpu", &replay, true);
        assert_eq!(
            charges.by_line,
            [LineBytes { alloc: Bytes(100), allocs: 1, ..LineBytes::default() }]
        );
    }
}
