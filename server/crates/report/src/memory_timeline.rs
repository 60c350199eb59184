//! Memory over time: what each line held on a device when, as the object `perfline.memoryTimeline/1` (docs/pictures.md), which
//! the page of the report and editors draw.

use device_memory::{
    HistoryLevels, HistoryRange, Holder, HolderPhase, MemoryHistory, SegmentBlock, SegmentMap,
};
use ledger::{Bytes, Evidence, LineKey, Phase};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use crate::frame_table::{FrameTable, KINDS};
use crate::recording::Recording;
use crate::terminal::clean;

/// Into how many parts the largest segment is divided: about the pixels that a picture has for it.
const SEGMENT_PARTS: u64 = 1_000;

/// Which device is drawn, and which part of its history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryTimelineRange {
    /// Rank and ordinal of the device ([`MemoryHistory::HOST`] of the host's memory); `None` is the one with the highest peak.
    pub device: Option<(u32, i32)>,
    /// What of its history.
    pub history: HistoryRange,
    /// Of which moment the segments are: after the event of this number, or before the first where it is negative; `None` is
    /// the peak.
    pub moment: Option<i64>,
    /// How many segments are shown.
    pub segments: usize,
}

impl MemoryTimelineRange {
    /// What a page holds, which is one file that is sent around.
    pub const PAGE: Self = Self {
        device: None,
        history: HistoryRange { range: None, parts: 600, holders: 24, blocks: 200 },
        moment: None,
        segments: 100,
    };
    /// What an editor gets at once; it asks for parts of it in more detail.
    pub const EDITOR: Self = Self {
        device: None,
        history: HistoryRange { range: None, parts: 1_500, holders: 40, blocks: 500 },
        moment: None,
        segments: 1_000,
    };
}

/// A range of the history of a device. `None` if there is no such device.
#[must_use]
pub fn memory_timeline(
    recording: &Recording<'_>,
    histories: &[MemoryHistory],
    title: &str,
    wanted: &MemoryTimelineRange,
) -> Option<Value> {
    let history = match wanted.device {
        Some(device) => histories.iter().find(|it| (it.rank, it.device) == device)?,
        // Of equal ones the first; the host only where there is no device.
        None => histories
            .iter()
            .rev()
            .max_by_key(|it| (it.device != MemoryHistory::HOST, it.peak().1))?,
    };
    let levels = history.levels(&wanted.history);
    let mut holders = ShownHolders::new(recording, history);
    let amounts = |amounts: &[Bytes]| amounts.iter().map(|it| it.0).collect::<Vec<_>>();
    let rows: Vec<Value> = levels
        .holders
        .iter()
        .map(|(row, held)| json!({"holder": holders.add(*row), "bytes": amounts(held)}))
        .collect();
    let blocks = blocks(history, &levels, &mut holders);
    let (peak_at, peak) = history.peak();
    let moment = wanted.moment.map_or(peak_at, |it| u32::try_from(it).ok());
    let moment = moment.filter(|it| (*it as usize) < history.at.len());
    let segments = segments(history, moment, wanted.segments, &mut holders);
    let time = |event: u32| history.at.get(event as usize).copied().unwrap_or(0);
    let steps = history.steps.iter().map(|it| json!([clean(&it.name), it.at]));
    let devices = histories.iter().map(|it| json!([it.rank, it.device]));
    Some(json!({
        "schema": "perfline.memoryTimeline/1",
        "title": clean(title),
        "devices": devices.collect::<Vec<_>>(),
        "names": histories.iter().map(|it| clean(&it.name)).collect::<Vec<_>>(),
        "rank": history.rank,
        "device": history.device,
        "unit": if history.has_times { "ns" } else { "events" },
        "duration": history.end() + 1,
        "from": levels.range.0,
        "to": levels.range.1,
        "steps": steps.collect::<Vec<_>>(),
        "peak": {"bytes": peak.0, "event": number(peak_at), "at": peak_at.map_or(0, time)},
        "kinds": KINDS,
        "strings": holders.frames.strings(),
        "frames": holders.frames.columns(),
        "holders": {"frame": holders.frame, "phase": holders.phase},
        "at": levels.at,
        "event": levels.events.iter().map(|it| number(*it)).collect::<Vec<_>>(),
        "inUse": amounts(&levels.active),
        "reserved": amounts(&levels.reserved),
        "rows": rows,
        "leftOut": levels.left_out,
        "blocks": blocks,
        "segments": segments,
    }))
}

/// The number of an event; -1 for before the first, or where there is none.
fn number(event: Option<u32>) -> i64 {
    event.map_or(-1, i64::from)
}

/// The listed allocations as columns. Where something is not known, there is -1.
fn blocks(
    history: &MemoryHistory,
    levels: &HistoryLevels,
    holders: &mut ShownHolders<'_>,
) -> Value {
    let chosen: Vec<_> = levels.blocks.iter().map(|&row| history.allocations[row]).collect();
    let at = |number: Option<u32>| {
        number.map_or(-1, |it| history.at.get(it as usize).copied().unwrap_or(-1))
    };
    json!({
        "holder": chosen.iter().map(|it| holders.add(it.holder)).collect::<Vec<_>>(),
        "releasedBy": chosen
            .iter()
            .map(|it| it.released_by.map_or(-1, |row| holders.add(row) as i64))
            .collect::<Vec<_>>(),
        "bytes": chosen.iter().map(|it| it.bytes.0).collect::<Vec<_>>(),
        "from": chosen.iter().map(|it| number(it.from)).collect::<Vec<_>>(),
        "to": chosen.iter().map(|it| number(it.to)).collect::<Vec<_>>(),
        "begin": chosen.iter().map(|it| at(it.from)).collect::<Vec<_>>(),
        "end": chosen.iter().map(|it| at(it.to)).collect::<Vec<_>>(),
    })
}

/// The segments after an event as columns, and what is in use in them: allocations, and neighbours that are too small to be
/// distinguished.
fn segments(
    history: &MemoryHistory,
    event: Option<u32>,
    most: usize,
    holders: &mut ShownHolders<'_>,
) -> Value {
    let all = history.segments(event, SEGMENT_PARTS);
    let sum = |amount: fn(&SegmentMap) -> Bytes| all.iter().map(amount).sum::<Bytes>().0;
    let largest_free = all.iter().map(|it| it.largest_free).max().unwrap_or_default();
    let shown = &all[..all.len().min(most)];
    let column = |amount: fn(&SegmentMap) -> i64| shown.iter().map(amount).collect::<Vec<_>>();
    let blocks =
        || (0..).zip(shown).flat_map(|(row, it)| it.blocks.iter().map(move |it| (row, it)));
    let of_blocks =
        |amount: fn(&SegmentBlock) -> i64| blocks().map(|(_, it)| amount(it)).collect::<Vec<_>>();
    json!({
        "event": number(event),
        "reserved": sum(|it| it.bytes),
        "free": sum(|it| it.free),
        "largestFree": largest_free.0,
        "address": shown.iter().map(|it| format!("{:#x}", it.address)).collect::<Vec<_>>(),
        "bytes": column(|it| it.bytes.0),
        "stream": column(|it| it.stream),
        "isPrivate": shown.iter().map(|it| it.is_private).collect::<Vec<_>>(),
        "freeBytes": column(|it| it.free.0),
        "largestFreeBytes": column(|it| it.largest_free.0),
        "allocations": column(|it| it.allocations as i64),
        "leftOut": all.len() - shown.len(),
        "blocks": {
            "segment": blocks().map(|(row, _): (usize, _)| row).collect::<Vec<_>>(),
            "offset": of_blocks(|it| it.offset.0),
            "bytes": of_blocks(|it| it.bytes.0),
            "used": of_blocks(|it| it.used.0),
            "allocations": of_blocks(|it| it.allocations as i64),
            "holder": blocks()
                .map(|(_, it)| it.holder.map_or(-1, |row| holders.add(row) as i64))
                .collect::<Vec<_>>(),
        },
    })
}

/// The holders that are shown, with the frames of their lines.
struct ShownHolders<'a> {
    recording: &'a Recording<'a>,
    history: &'a MemoryHistory,
    frames: FrameTable<'a>,
    frame: Vec<usize>,
    phase: Vec<&'static str>,
    /// By row of the history.
    shown: Vec<Option<usize>>,
    /// Frames by line: holders differ in their phase, too.
    of_line: FxHashMap<LineKey, usize>,
}

impl<'a> ShownHolders<'a> {
    fn new(recording: &'a Recording<'a>, history: &'a MemoryHistory) -> Self {
        Self {
            recording,
            history,
            frames: FrameTable::new(recording),
            frame: Vec::new(),
            phase: Vec::new(),
            shown: vec![None; history.holders.len()],
            of_line: FxHashMap::default(),
        }
    }

    /// The place of a holder among those that are shown.
    fn add(&mut self, row: u32) -> usize {
        let place = row as usize;
        if let Some(shown) = self.shown[place] {
            return shown;
        }
        let holder = &self.history.holders[place];
        let frame = self.frame_of(holder);
        let shown = self.frame.len();
        self.frame.push(frame);
        self.phase.push(holder.phase.name());
        self.shown[place] = Some(shown);
        shown
    }

    fn frame_of(&mut self, holder: &Holder) -> usize {
        let Some((line, function)) = &holder.line else {
            return self.frames.add(without_line(holder.phase), 2, None, Evidence::Exact);
        };
        if let Some(row) = self.of_line.get(line) {
            return *row;
        }
        let file = self.recording.run.merged.files.get(&line.file);
        let is_user_code = file.is_some_and(|it| it.is_user_code);
        let place = (self.recording.file(&line.file).to_owned(), line.line);
        let function = if function.is_empty() { "?" } else { function };
        let kind = usize::from(!is_user_code);
        let row = self.frames.add(function, kind, Some((&place.0, place.1)), Evidence::Exact);
        self.of_line.insert(line.clone(), row);
        row
    }
}

/// What memory without a line is called.
pub(crate) fn without_line(phase: HolderPhase) -> &'static str {
    match phase {
        HolderPhase::Before => "before recording began",
        HolderPhase::In(Phase::Backward) => "backward pass, no Python frames",
        HolderPhase::In(_) => "no Python frame",
    }
}
