//! Bytes by line: a replay of the allocations and releases of a trace.

use std::collections::BTreeMap;

use ledger::{Allocation, Bytes};
use line_stacks::{LineId, grow_to};
use profile::{DeviceType, MemoryDevice, Profile};
use recorded::Steps;

use crate::curve::{Curve, in_order};
use crate::device_name::device_name;
use crate::trace_replay::TraceReplay;

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
        let replays = self.replays(profile, lines);
        let mut charges =
            MemoryCharges { are_at_peak: vec![false; self.rows.len()], ..MemoryCharges::default() };
        let in_steps =
            self.rows.iter().map(|&row| row as usize).filter(|&row| {
                memory.bytes[row] > Bytes::ZERO && steps.at(memory.at[row]).is_some()
            });
        charges.in_steps = in_steps.map(|row| memory.bytes[row]).sum();
        for (device, DeviceReplay { replay, events }) in replays {
            let has_use = self.has_use_of(device);
            charges.add(&device_name(device), &replay, has_use);
            if device.kind != DeviceType::CPU && has_use {
                let rows: Vec<u32> = events.iter().map(|&it| self.rows[it]).collect();
                charges.devices.insert(device, Curve::new(profile, &rows, &replay));
            }
        }
        charges
    }

    /// Whether it also says what was in use of a memory.
    pub(crate) fn has_use_of(&self, device: MemoryDevice) -> bool {
        self.has_use || device.kind == DeviceType::CPU
    }

    /// The replay of each memory: of each row, in the order of `rows`, with the line that it is charged to.
    pub(crate) fn replays(
        &self,
        profile: &Profile,
        lines: impl IntoIterator<Item = LineId>,
    ) -> BTreeMap<MemoryDevice, DeviceReplay> {
        let memory = &profile.memory;
        let mut replays: BTreeMap<MemoryDevice, DeviceReplay> = BTreeMap::new();
        for ((place, &event), line) in self.rows.iter().enumerate().zip(lines) {
            let row = event as usize;
            let DeviceReplay { replay, events } = replays.entry(memory.device[row]).or_default();
            events.push(place);
            let (address, bytes) = (memory.address[row], memory.bytes[row]);
            if bytes > Bytes::ZERO {
                replay.alloc(address, bytes, (line, place));
            } else {
                replay.free(address, -bytes);
            }
        }
        replays
    }
}

/// The replay of one memory.
#[derive(Debug, Default)]
pub(crate) struct DeviceReplay {
    pub(crate) replay: TraceReplay,
    /// Its events: places in [`TraceMemory::rows`].
    pub(crate) events: Vec<usize>,
}

impl MemoryCharges {
    /// Adds the allocations of one memory, and with `has_use` what was in use of it.
    pub(crate) fn add(&mut self, device: &str, replay: &TraceReplay, has_use: bool) {
        let peak_at = replay.peak_at.unwrap_or(0);
        for it in &replay.allocations {
            self.total += it.bytes;
            let is_at_peak = has_use
                && it.is_tracked()
                && it.alloc_at <= peak_at
                && it.freed_at.is_none_or(|freed_at| freed_at > peak_at);
            self.are_at_peak[it.event] = is_at_peak;
            let Some(line) = it.line.get() else {
                self.without_line += it.bytes;
                continue;
            };
            let is_live = has_use && it.is_tracked() && it.freed_at.is_none();
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
