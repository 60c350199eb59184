//! The begin of a long trace, without reading all of it.
//!
//! PyTorch exports a few lists of events one after the other: the operators of a thread with what they started on devices,
//! what was allocated, the Python calls. Each is in the order of time, or nearly so. What is read is therefore the begin of
//! each list, and samples of the file show where that ends.

use std::io;
use std::ops::Range;

use memchr::memmem;
use profile::Ns;

use crate::raw::{self, EventHead};
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

/// Where the events of a trace are, by their time.
#[derive(Debug)]
pub struct TraceLists {
    /// In the order of time.
    pieces: Vec<FilePiece>,
    /// The first and the last time that was seen, in nanoseconds.
    time: Range<i64>,
}

/// The events with which a trace begins.
#[derive(Debug)]
pub struct TraceBegin {
    /// These events, and some later ones.
    pub trace: Trace,
    /// All events that begin before are there.
    pub known_until: Ns,
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

impl TraceLists {
    /// Looks into a trace of `size` bytes that is not compressed. `read` fills a buffer with what stands at a place of it. `None` if
    /// there are no events.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn find(
        size: u64,
        read: impl Fn(u64, &mut [u8]) -> io::Result<()>,
    ) -> io::Result<Option<Self>> {
        let samples = samples(size, read)?;
        let times = || samples.iter().map(|it| it.time);
        let (Some(first), Some(last)) = (times().min(), times().max()) else { return Ok(None) };
        let mut pieces = pieces(&samples, size, last.saturating_sub(first));
        pieces.sort_by_key(|it| (it.from, it.bytes.start));
        Ok(Some(Self { pieces, time: first..last }))
    }

    /// Reads the begins of all lists, `n_bytes` at most; `None` if these are all there is, or less than is needed to know anything.
    ///
    /// # Errors
    /// Those of `read`, which is as in [`Self::find`].
    pub fn read_begins(
        &self,
        n_bytes: u64,
        read: impl Fn(u64, &mut [u8]) -> io::Result<()>,
    ) -> io::Result<Option<TraceBegin>> {
        let mut sum = 0;
        let is_within = |it: &&FilePiece| {
            sum += it.bytes.end - it.bytes.start;
            sum <= n_bytes
        };
        let n_chosen = self.pieces.iter().take_while(is_within).count();
        let (chosen, rest) = self.pieces.split_at(n_chosen);
        let known_until = rest.first().map(|it| it.from).filter(|it| *it != i64::MIN);
        let Some(known_until) = known_until else { return Ok(None) };
        let mut chosen: Vec<&Range<u64>> = chosen.iter().map(|it| &it.bytes).collect();
        chosen.sort_by_key(|it| it.start);
        let mut reader = TraceReader::new();
        let mut text = Vec::new();
        for bytes in chosen {
            text.resize(usize::try_from(bytes.end - bytes.start).unwrap_or(usize::MAX), 0);
            read(bytes.start, &mut text)?;
            reader.feed(&text);
        }
        Ok(Some(TraceBegin { trace: reader.finish(), known_until: Ns(known_until) }))
    }

    /// The time until a moment, as a share (of 1) of the time of all.
    #[must_use]
    pub fn share_until(&self, moment: Ns) -> f64 {
        let time = moment.0.saturating_sub(self.time.start) as f64;
        let all = self.time.end.saturating_sub(self.time.start).max(1) as f64;
        (time / all).clamp(0.0, 1.0)
    }
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
