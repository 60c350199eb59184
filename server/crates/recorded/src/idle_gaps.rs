//! When a device ran nothing, which launch ended that, and why it was idle.

use std::collections::BTreeMap;

use ledger::Ns;
use profile::{DeviceEventId, DeviceKind, Profile, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::launches::Launches;

/// A gap between two events of a device that is shorter than this is what devices need from one to the next, if the second
/// was launched in time. HTA has the same default (`consecutive_kernel_delay`; it says nanoseconds, but compares with
/// the microseconds of traces).
pub const KERNEL_GAP: Ns = Ns(30_000);

/// Why a device was idle: HTA's classes of idle time, for gaps over all streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleCause {
    /// What ended the gap had not been launched when it began.
    Host,
    /// It had been launched, and the gap is short.
    Kernel,
    /// It had been launched, and waited for something else; or its launch is not known.
    Other,
}

impl IdleCause {
    /// Of the gap `start..end`, which was ended by something launched at `launched`.
    #[must_use]
    pub fn of(start: Ns, end: Ns, launched: Option<Ns>) -> Self {
        match launched {
            Some(launched) if start < launched => Self::Host,
            Some(_) if end - start < KERNEL_GAP => Self::Kernel,
            _ => Self::Other,
        }
    }
}

/// A time during which a device ran nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleGap {
    /// Ordinal of the device.
    pub device: i32,
    /// When it began.
    pub start: Ns,
    /// When the next device event began.
    pub end: Ns,
    /// Why the device ran nothing.
    pub cause: IdleCause,
    /// The thread that launched that event, where it is known.
    pub launcher: Option<ThreadId>,
}

/// What one device did in all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceTime {
    /// Durations of its events.
    pub time: Ns,
    /// Time during which it ran at least one event.
    pub busy: Ns,
    /// Time between its events.
    pub idle: Ns,
}

/// The idle gaps of all devices.
pub struct IdleGaps {
    /// By launching thread, then by device, in order of time.
    by_thread: Vec<Vec<Vec<IdleGap>>>,
    /// All gaps of all devices in order of start.
    pub all: Vec<IdleGap>,
    /// Idle time before events whose launch is not known.
    pub without_launch: Ns,
    /// Idle time before events whose launch is known.
    pub with_launch: Ns,
    /// Totals by device ordinal.
    pub devices: BTreeMap<i32, DeviceTime>,
    pageable: FxHashSet<i64>,
}

impl IdleGaps {
    /// Looks for the gaps of all devices.
    #[must_use]
    pub fn new(profile: &Profile, launches: &Launches) -> Self {
        let device = &profile.device;
        let mut gaps = Self {
            by_thread: vec![Vec::new(); profile.threads.len()],
            all: Vec::new(),
            without_launch: Ns::ZERO,
            with_launch: Ns::ZERO,
            devices: BTreeMap::new(),
            pageable: FxHashSet::default(),
        };
        let mut by_device: BTreeMap<i32, Vec<DeviceEventId>> = BTreeMap::new();
        for event in device.ids() {
            by_device.entry(device.device[event.index()]).or_default().push(event);
            let is_copy = device.kind[event.index()] == DeviceKind::Memcpy;
            if is_copy && profile.strings.get(device.name[event.index()]).contains("Pageable") {
                gaps.pageable.insert(device.correlation[event.index()]);
            }
        }
        for (ordinal, mut events) in by_device {
            // Stable: of events that start together, the first in the file ends the gap.
            events.sort_by_key(|event| device.start[event.index()]);
            let mut of_thread: FxHashMap<usize, Vec<IdleGap>> = FxHashMap::default();
            let mut books = DeviceTime::default();
            let mut busy_until: Option<Ns> = None;
            for event in events {
                let (start, end) = (device.start[event.index()], device.end(event));
                books.time += end - start;
                if let Some(until) = busy_until.filter(|&until| until < start) {
                    let launch = launches.launch(event);
                    let launched = launch.map(|launch| profile.host.start[launch.index()]);
                    let cause = IdleCause::of(until, start, launched);
                    let launcher = launch.map(|launch| profile.host.thread[launch.index()]);
                    let gap =
                        IdleGap { device: ordinal, start: until, end: start, cause, launcher };
                    books.idle += gap.end - gap.start;
                    gaps.all.push(gap);
                    match launch {
                        None => gaps.without_launch += gap.end - gap.start,
                        Some(launch) => {
                            gaps.with_launch += gap.end - gap.start;
                            of_thread
                                .entry(profile.host.thread[launch.index()].index())
                                .or_default()
                                .push(gap);
                        }
                    }
                }
                let from = busy_until.map_or(start, |until| until.max(start));
                books.busy += (end - from).max(Ns::ZERO);
                busy_until = Some(busy_until.map_or(end, |until| until.max(end)));
            }
            gaps.devices.insert(ordinal, books);
            for (thread, of_device) in of_thread {
                gaps.by_thread[thread].push(of_device);
            }
        }
        gaps.all.sort_by_key(|gap| gap.start);
        gaps
    }

    /// The gaps that `thread` ended, one list in order of time for each device.
    #[must_use]
    pub fn of_thread(&self, thread: usize) -> &[Vec<IdleGap>] {
        &self.by_thread[thread]
    }

    /// Idle time of the gaps that begin within `start..=end`.
    #[must_use]
    pub fn beginning_within(&self, start: Ns, end: Ns) -> Ns {
        let first = self.all.partition_point(|gap| gap.start < start);
        self.all[first..]
            .iter()
            .take_while(|gap| gap.start <= end)
            .map(|gap| gap.end - gap.start)
            .sum()
    }

    /// The gaps, one of each device at most, that were open when a wait during `start..=end` ended, had begun during it, and
    /// were ended by something launched later.
    pub fn left_by_wait(&self, start: Ns, end: Ns) -> impl Iterator<Item = &IdleGap> {
        let first = self.all.partition_point(|gap| gap.start < start);
        let begun = self.all[first..].iter().take_while(move |gap| gap.start <= end);
        begun.filter(move |gap| end < gap.end && gap.cause == IdleCause::Host)
    }

    /// Whether the copy with this `correlation` reads or writes pageable host memory: then even an asynchronous call
    /// returns only when the copy is done.
    #[must_use]
    pub fn is_pageable_copy(&self, correlation: i64) -> bool {
        correlation > 0 && self.pageable.contains(&correlation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes() {
        let rows = [
            ((100, 200, Some(101)), IdleCause::Host),
            ((100, 200, Some(100)), IdleCause::Kernel),
            ((100, 100 + KERNEL_GAP.0, Some(7)), IdleCause::Other),
            ((100, 101, None), IdleCause::Other),
        ];
        for ((start, end, launched), expected) in rows {
            assert_eq!(IdleCause::of(Ns(start), Ns(end), launched.map(Ns)), expected);
        }
    }
}
