//! Events that cannot be true are set aside: one kernel that never ended must not drown all others, and no sum over a
//! recording may leave 64 bits. The rules, and why they are so, are in docs/accounting.md ("What is set aside").
//!
//! What one event shows by itself is decided when it is read ([`TIMES`], [`MAX_BYTES`]), the rest at the end, when all
//! are known. As the tables do not hold where an event stands in the file, the rows that may be reported then are
//! [`Noted`] as they are read.

use std::collections::BTreeMap;
use std::ops::Range;

use profile::{
    Bytes, DeviceEventId, HostEventId, MemoryEvents, Ns, Profile, WarningKind, Warnings,
};
use rustc_hash::FxHashSet;

/// Where an event may begin and end. The difference of any two such times fits in 64 bits, and so does the sum of one and
/// of the time that they are relative to.
pub(crate) const TIMES: Range<Ns> = Ns(-(1 << 61))..Ns(1 << 62);

/// Bytes that one allocation or copy may have, and that may be in use: 1 PiB.
pub(crate) const MAX_BYTES: Bytes = Bytes(1 << 50);

/// What all durations, all allocations and releases, and all copies of a recording may add up to, in nanoseconds and in bytes
/// (2.28 years, 64 PiB).
const MAX_IN_ALL: i64 = 1 << 56;

/// Durations and sizes below so many nanoseconds or bytes are not noted: as many as the tables hold do not add up to [`MAX_IN_ALL`].
pub(crate) const NOTED: i64 = 1 << 23;

/// What lasts a day is never too long.
const DAY: Ns = Ns(86_400_000_000_000);

/// So many times the span of everything else is too long.
const TOO_MANY_TIMES: i64 = 10;

/// A row and where in the input its event begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noted {
    pub(crate) row: EventRow,
    pub(crate) offset: u64,
}

/// A row of one of the tables.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EventRow {
    Host(HostEventId),
    Device(DeviceEventId),
    /// Index in [`MemoryEvents`].
    Memory(u32),
}

impl Noted {
    /// The same in tables that have all rows of `before` in front, and in an input that begins `shift` earlier.
    pub(crate) fn behind(self, before: &Profile, shift: u64) -> Self {
        let row = match self.row {
            EventRow::Host(id) => {
                EventRow::Host(HostEventId::from_index(before.host.len() + id.index()))
            }
            EventRow::Device(id) => {
                EventRow::Device(DeviceEventId::from_index(before.device.len() + id.index()))
            }
            EventRow::Memory(row) => {
                EventRow::Memory(memory_row(before.memory.len() + row as usize))
            }
        };
        Self { row, offset: self.offset.wrapping_add(shift) }
    }
}

/// The row of a table that stops growing before 2³² rows.
pub(crate) fn memory_row(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Takes the rows that cannot be true out of the tables. `noted` are all device events, and all others with at least
/// [`NOTED`] nanoseconds or bytes.
pub(crate) fn set_aside(profile: &mut Profile, noted: Vec<Noted>, warnings: &mut Warnings) {
    let mut judge = Judge { profile, noted, gone: Vec::new() };
    judge.too_long();
    judge.too_much_time();
    judge.too_far();
    judge.too_many_bytes();
    let Judge { noted, mut gone, .. } = judge;
    forget_sizes(profile, &noted, warnings);
    if gone.is_empty() {
        return;
    }
    gone.sort_by_key(|it| it.0.offset);
    let (mut host, mut device, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    for (noted, message) in gone {
        warnings.add(WarningKind::NotCredible, noted.offset, message);
        match noted.row {
            EventRow::Host(id) => host.push(id),
            EventRow::Device(id) => device.push(id),
            EventRow::Memory(row) => memory.push(row as usize),
        }
    }
    profile.host.remove(&host);
    profile.device.remove(&device);
    profile.memory.remove(&memory);
}

/// Decides which of the noted rows go.
struct Judge<'a> {
    profile: &'a Profile,
    /// Rows that are still there.
    noted: Vec<Noted>,
    /// Rows to be set aside, each with what is said of it.
    gone: Vec<(Noted, &'static str)>,
}

impl Judge<'_> {
    fn set_aside(&mut self, message: &'static str, is_gone: impl Fn(&Noted) -> bool) {
        let gone = self.noted.extract_if(.., |it| is_gone(it));
        self.gone.extend(gone.map(|it| (it, message)));
    }

    /// What lasts longer than everything else, and by far.
    fn too_long(&mut self) {
        let profile = self.profile;
        let is_long = |it: &Noted| duration(profile, it) > DAY;
        if !self.noted.iter().any(is_long) {
            return;
        }
        let Some(rest) = span_of_the_short(profile) else { return };
        let most = rest.saturating_mul(TOO_MANY_TIMES);
        let message = "an event that lasts more than a day, and more than ten times as long as everything else took, was set aside";
        self.set_aside(message, |it| is_long(it) && duration(profile, it) > most);
    }

    /// The longest, where all together last too long.
    fn too_much_time(&mut self) {
        let profile = self.profile;
        let all = profile.host.duration.iter().chain(&profile.device.duration);
        let gone = self.gone.iter().map(|it| i128::from(duration(profile, &it.0)));
        let total = all.map(|&it| i128::from(it)).sum::<i128>() - gone.sum::<i128>();
        let durations = || self.noted.iter().map(|it| duration(profile, it));
        if let Some(least) = least_in_excess(total, durations) {
            let message = "an event was set aside, one of the longest: all together would last more than 2.28 years (2^56 ns)";
            self.set_aside(message, |it| duration(profile, it) >= least);
        }
    }

    /// Device events far from the others of their device, where that would make the idle time of the devices and streams
    /// too long.
    fn too_far(&mut self) {
        let device = &self.profile.device;
        let events = || self.noted.iter().filter_map(device_event);
        let first = events().map(|id| device.start[id.index()]).min().unwrap_or(Ns::ZERO);
        let last = events().map(|id| device.end(id)).max().unwrap_or(Ns::ZERO);
        let is_too_long = |n: usize| {
            let n = i128::try_from(n).unwrap_or(i128::MAX);
            i128::from(last - first).saturating_mul(n) > MAX_IN_ALL.into()
        };
        // At the most each event has a stream, and a device, of its own.
        if !is_too_long(2 * events().count()) {
            return;
        }
        let mut lanes = FxHashSet::default();
        let mut starts: BTreeMap<i32, Vec<Ns>> = BTreeMap::new();
        for id in events() {
            let ordinal = device.device[id.index()];
            lanes.insert((ordinal, Some(device.stream[id.index()])));
            lanes.insert((ordinal, None));
        }
        if !is_too_long(lanes.len()) {
            return;
        }
        for id in events() {
            starts.entry(device.device[id.index()]).or_default().push(device.start[id.index()]);
        }
        let middle = |(ordinal, mut starts): (i32, Vec<Ns>)| {
            let half = starts.len() / 2;
            (ordinal, *starts.select_nth_unstable(half).1)
        };
        let middles: BTreeMap<i32, Ns> = starts.into_iter().map(middle).collect();
        let farthest = Ns(MAX_IN_ALL / i64::try_from(2 * lanes.len()).unwrap_or(i64::MAX));
        let message = "an event of a device was set aside: it is too far in time from the others of that device";
        self.set_aside(message, |it| {
            device_event(it).is_some_and(|id| {
                let middle = middles.get(&device.device[id.index()]).copied().unwrap_or(Ns::ZERO);
                (device.start[id.index()] - middle).abs() > farthest
            })
        });
    }

    /// The largest allocations and releases, where all together are too large.
    fn too_many_bytes(&mut self) {
        let memory = &self.profile.memory;
        let total = memory.bytes.iter().map(|&it| i128::from(it.abs())).sum();
        let sizes = || self.noted.iter().map(|it| allocated(memory, it));
        if let Some(least) = least_in_excess(total, sizes) {
            let message = "a [memory] event was set aside, one of the largest: all together would be more than 64 PiB (2^56 bytes)";
            self.set_aside(message, |it| allocated(memory, it) >= least);
        }
    }
}

/// Duration of a host or device event; 0 for a `[memory]` event.
fn duration(profile: &Profile, noted: &Noted) -> Ns {
    match noted.row {
        EventRow::Host(id) => profile.host.duration[id.index()],
        EventRow::Device(id) => profile.device.duration[id.index()],
        EventRow::Memory(_) => Ns::ZERO,
    }
}

/// Size of a `[memory]` event, without its sign; 0 for others.
fn allocated(memory: &MemoryEvents, noted: &Noted) -> Bytes {
    match noted.row {
        EventRow::Memory(row) => memory.bytes[row as usize].abs(),
        EventRow::Host(_) | EventRow::Device(_) => Bytes::ZERO,
    }
}

fn device_event(noted: &Noted) -> Option<DeviceEventId> {
    match noted.row {
        EventRow::Device(id) => Some(id),
        EventRow::Host(_) | EventRow::Memory(_) => None,
    }
}

/// The time from the first start to the last end of all host and device events that last at most a day, if there is any.
fn span_of_the_short(profile: &Profile) -> Option<Ns> {
    let (host, device) = (&profile.host, &profile.device);
    let host = host.start.iter().zip(&host.duration);
    let device = device.start.iter().zip(&device.duration);
    let (mut first, mut last) = (Ns::MAX, Ns::MIN);
    for (&start, &duration) in host.chain(device).filter(|it| *it.1 <= DAY) {
        first = first.min(start);
        last = last.max(start + duration);
    }
    (first <= last).then(|| last - first)
}

/// How much a row must have to be set aside, so that what is left of `total` is at most [`MAX_IN_ALL`]; `None` if it is
/// already. `amounts` gives what the noted rows have.
fn least_in_excess<T: Copy + Ord + Into<i128>, I: Iterator<Item = T>>(
    mut total: i128,
    amounts: impl Fn() -> I,
) -> Option<T> {
    if total <= MAX_IN_ALL.into() {
        return None;
    }
    let mut amounts: Vec<T> = amounts().collect();
    amounts.sort_unstable();
    amounts.into_iter().rev().find(|&amount| {
        total -= amount.into();
        total <= MAX_IN_ALL.into()
    })
}

/// Takes the largest sizes of copies for absent, where all together are too large.
fn forget_sizes(profile: &mut Profile, noted: &[Noted], warnings: &mut Warnings) {
    let bytes = &mut profile.device.bytes;
    let total = bytes.iter().map(|&it| i128::from(it.max(Bytes::ZERO))).sum();
    let copies = || noted.iter().filter_map(|it| Some((device_event(it)?.index(), it.offset)));
    let Some(least) = least_in_excess(total, || copies().map(|(row, _)| bytes[row])) else {
        return;
    };
    let mut largest: Vec<_> = copies().filter(|&(row, _)| bytes[row] >= least).collect();
    largest.sort_unstable_by_key(|it| it.1);
    for (row, offset) in largest {
        let message = "the size of a copy was ignored, one of the largest: all together would be more than 64 PiB (2^56 bytes)";
        warnings.add(WarningKind::NotCredible, offset, message);
        bytes[row] = Bytes(-1);
    }
}
