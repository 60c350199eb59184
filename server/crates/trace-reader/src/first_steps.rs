//! The first complete steps of a long trace, without reading all of it.
//!
//! PyTorch exports a few lists of events one after the other: the operators of a thread with what they started on devices,
//! what was allocated, the Python calls. Each is in the order of time, or nearly so. What is read of each list is therefore its
//! begin, and samples of the file show where that ends.

use std::io;
use std::ops::Range;

use memchr::memmem;
use profile::{DeviceEventId, HostEventId, HostKind, Ns, Profile, StrId};
use rustc_hash::FxHashSet;

use crate::category::STEP;
use crate::raw::{self, EventHead, EventSide};
use crate::{Trace, TraceReader};

/// Bytes between two samples, unless there would be more than [`MAX_PIECES`] of them.
const PIECE: u64 = 1 << 20;

/// A file is cut into so many pieces at least, and at most.
const MIN_PIECES: u64 = 64;
const MAX_PIECES: u64 = 4 << 10;

/// Bytes of a sample: some events, so that the time at which one of a device began does not stand for those around it.
const SAMPLE: u64 = 16 << 10;

/// Between two samples a new list begins if their times go back by at least this part of the time of all. What ran on devices is
/// not quite in the order of time.
const LIST_BEGINS: i64 = 20;

/// Bytes in front of the name of an event in which the event begins.
const MAX_HEAD: usize = 4 << 10;

/// The first complete steps of a trace.
#[derive(Debug)]
pub struct FirstSteps {
    /// How many steps there are; at least one.
    pub n_steps: usize,
    /// The time until the end of the last of them, as a share (of 1) of the time of the whole trace.
    pub share: f64,
    /// The trace as if it ended then, but for what still ran on devices.
    pub trace: Trace,
}

/// What is known of a place in the file.
#[derive(Debug, Clone, Copy)]
struct FileSample {
    /// Where an event begins.
    at: u64,
    /// The earliest of the times of the events there, in nanoseconds.
    time: i64,
}

/// A part of the file, between two samples.
#[derive(Debug)]
struct FilePiece {
    bytes: Range<u64>,
    /// When its events begin, in nanoseconds; [`i64::MIN`] where that is not known.
    from: i64,
}

impl FirstSteps {
    /// The part of the file that is read is so many times larger where a smaller one holds no complete step.
    pub const ENLARGED: u64 = 4;

    /// Reads the first steps of a trace of `size` bytes, uncompressed. `read` fills a buffer with what stands at a place of it. About
    /// `n_bytes` are read, and [`Self::ENLARGED`] times as many where a step is that long. `None` if there are no steps, or they are longer than
    /// that.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn read(
        size: u64,
        n_bytes: u64,
        read: impl Fn(u64, &mut [u8]) -> io::Result<()>,
    ) -> io::Result<Option<Self>> {
        let samples = samples(size, &read)?;
        let times = || samples.iter().map(|it| it.time);
        let (Some(begin), Some(end)) = (times().min(), times().max()) else { return Ok(None) };
        let span = end.saturating_sub(begin);
        let mut pieces = pieces(&samples, size, span);
        pieces.sort_by_key(|it| (it.from, it.bytes.start));
        for n_bytes in [n_bytes, n_bytes.saturating_mul(Self::ENLARGED)] {
            let Some((n_steps, until, trace)) = read_steps(&pieces, n_bytes, &read)? else {
                continue;
            };
            let share = until.saturating_sub(begin) as f64 / span.max(1) as f64;
            return Ok(Some(Self { n_steps, share: share.clamp(0.0, 1.0), trace }));
        }
        Ok(None)
    }
}

/// How many complete steps there are in the first `n_bytes`, when the last of them ends, in nanoseconds, and the trace until then;
/// `None` if there is none, or these are all.
fn read_steps(
    pieces: &[FilePiece],
    n_bytes: u64,
    read: impl Fn(u64, &mut [u8]) -> io::Result<()>,
) -> io::Result<Option<(usize, i64, Trace)>> {
    let mut sum = 0;
    let is_within = |it: &&FilePiece| {
        sum += it.bytes.end - it.bytes.start;
        sum <= n_bytes
    };
    let n_chosen = pieces.iter().take_while(is_within).count();
    let (chosen, rest) = pieces.split_at(n_chosen);
    let Some(known) = rest.first().map(|it| it.from) else { return Ok(None) };
    let text = text_of(chosen, read)?;
    let mut steps = steps(&text);
    steps.sort_by_key(|it| (it.start, it.end));
    steps.dedup();
    let n_known = steps.iter().take_while(|it| whole_until(it) <= known).count();
    if n_known == 0 {
        return Ok(None);
    }
    let mut reader = TraceReader::new();
    reader.feed(&text);
    drop(text);
    let mut trace = reader.finish();
    let waiting = launches_without_event(&trace.profile);
    let has_run = |it: &Range<i64>| {
        let next = waiting.partition_point(|at| at.0 < it.start);
        waiting.get(next).is_none_or(|at| it.end <= at.0)
    };
    // What a step launched has run if that of a later one has.
    let n_steps = steps[..n_known].iter().rposition(has_run).map_or(0, |it| it + 1);
    let Some(last) = steps[..n_steps].last() else { return Ok(None) };
    end_at(&mut trace.profile, Ns(last.end));
    Ok(Some((n_steps, last.end, trace)))
}

/// What stands in these pieces, in the order of the file.
fn text_of(
    pieces: &[FilePiece],
    read: impl Fn(u64, &mut [u8]) -> io::Result<()>,
) -> io::Result<Vec<u8>> {
    let mut chosen: Vec<&Range<u64>> = pieces.iter().map(|it| &it.bytes).collect();
    chosen.sort_by_key(|it| it.start);
    let mut text = Vec::new();
    for bytes in chosen {
        let place = text.len();
        let length = usize::try_from(bytes.end - bytes.start).unwrap_or(usize::MAX);
        text.resize(place.saturating_add(length), 0);
        read(bytes.start, &mut text[place..])?;
    }
    Ok(text)
}

/// The time until which events must be known so that all of a step is: lists are not quite in the order of time.
fn whole_until(step: &Range<i64>) -> i64 {
    step.end.saturating_add(step.end.saturating_sub(step.start) / 2)
}

/// When something was launched that is not known to have run on a device, in order: by calls of a name that has launched something.
fn launches_without_event(profile: &Profile) -> Vec<Ns> {
    let ran: FxHashSet<i64> = profile.device.correlation.iter().copied().collect();
    let host = &profile.host;
    let calls = (0..host.len()).filter(|&row| host.kind[row] == HostKind::Runtime);
    let correlation = |row| {
        let detail = host.detail_row(HostEventId::from_index(row));
        host.runtime.correlation[detail]
    };
    let mut launching: FxHashSet<StrId> = FxHashSet::default();
    let mut without = Vec::new();
    for row in calls {
        match ran.contains(&correlation(row)) {
            true => drop(launching.insert(host.name[row])),
            false => without.push(row),
        }
    }
    without.retain(|&row| launching.contains(&host.name[row]));
    let mut waiting: Vec<Ns> = without.into_iter().map(|row| host.start[row]).collect();
    waiting.sort_unstable();
    waiting
}

/// Looks into the file in equal distances.
fn samples(
    size: u64,
    read: impl Fn(u64, &mut [u8]) -> io::Result<()>,
) -> io::Result<Vec<FileSample>> {
    let n_pieces = (size / PIECE).clamp(MIN_PIECES, MAX_PIECES);
    let mut samples = Vec::new();
    let mut text = Vec::new();
    for at in (0..n_pieces).map(|it| size / n_pieces * it) {
        text.resize(usize::try_from(SAMPLE.min(size - at)).unwrap_or(0), 0);
        read(at, &mut text)?;
        let heads = Events { text: &text, at: 0 };
        let mut first = None;
        let mut time = None::<i64>;
        for (place, event) in heads {
            let Some(head) = EventHead::read(event).filter(|it| it.phase != b"M") else { continue };
            first = first.or(Some(at + place as u64));
            time = [time, head.start].into_iter().flatten().min();
        }
        let is_next = |at: &u64| samples.last().is_none_or(|it: &FileSample| it.at < *at);
        if let (Some(at), Some(time)) = (first.filter(is_next), time) {
            samples.push(FileSample { at, time });
        }
    }
    Ok(samples)
}

/// The pieces of a trace that took `span` nanoseconds.
fn pieces(samples: &[FileSample], size: u64, span: i64) -> Vec<FilePiece> {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return Vec::new() };
    // What says of which processes and threads the events are, and what stands behind them.
    let mut pieces = vec![
        FilePiece { bytes: 0..first.at, from: i64::MIN },
        FilePiece { bytes: last.at..size, from: i64::MIN },
    ];
    for pair in samples.windows(2) {
        let &[this, next] = pair else { continue };
        let is_list_begun = span / LIST_BEGINS < this.time.saturating_sub(next.time);
        let from = if is_list_begun { i64::MIN } else { this.time.min(next.time) };
        pieces.push(FilePiece { bytes: this.at..next.at, from });
    }
    pieces
}

/// The events that are whole in a part of a trace, each with its place.
struct Events<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Events<'a> {
    type Item = (usize, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            // In a string the quotation marks would be escaped.
            let key = self.at + memmem::find(self.text.get(self.at..)?, b"\"ph\"")?;
            self.at = key + 1;
            let before = self.text[..key].trim_ascii_end();
            if before.last() != Some(&b'{') {
                continue;
            }
            let start = before.len() - 1;
            let end = raw::value_end(self.text, start).ok()??;
            self.at = end;
            return Some((start, &self.text[start..end]));
        }
    }
}

/// When the steps begin and end that begin in a text.
fn steps(text: &[u8]) -> Vec<Range<i64>> {
    let step = |place: usize| {
        // The name is that of the last event that begins before it.
        let from = place.saturating_sub(MAX_HEAD);
        let key = from + memmem::rfind(&text[from..place], b"\"ph\"")?;
        let at = text[..key].trim_ascii_end().len().checked_sub(1)?;
        let (_, event) = Events { text, at }.next()?;
        let head = EventHead::read(event)?;
        let is_step = head.phase == b"X" && head.is_step() && head.side() == EventSide::Host;
        Some(head.start.filter(|_| is_step)?..head.end())
    };
    memmem::find_iter(text, STEP).filter_map(step).collect()
}

/// Leaves out what began at `until` or later, but for what runs on a device because of something earlier, and ends on the host what
/// went on then.
fn end_at(profile: &mut Profile, until: Ns) {
    let is_late = |start: &Ns| until <= *start;
    let rows = |times: &[Ns]| -> Vec<usize> {
        (0..times.len()).filter(|&row| is_late(&times[row])).collect()
    };
    let late: Vec<_> = rows(&profile.host.start).into_iter().map(HostEventId::from_index).collect();
    profile.host.remove(&late);
    for (start, duration) in profile.host.start.iter().zip(&mut profile.host.duration) {
        *duration = (*duration).min(until.saturating_sub(*start));
    }
    let launches = profile.host.runtime.correlation.iter().copied();
    let launches: FxHashSet<i64> = launches.filter(|&it| 0 <= it).collect();
    let device = &profile.device;
    let late = rows(&device.start).into_iter();
    let late = late.filter(|&row| !launches.contains(&device.correlation[row]));
    let late: Vec<_> = late.map(DeviceEventId::from_index).collect();
    profile.device.remove(&late);
    let late = rows(&profile.memory.at);
    profile.memory.remove(&late);
    profile.flows.retain(|it| !is_late(&it.at));
}
