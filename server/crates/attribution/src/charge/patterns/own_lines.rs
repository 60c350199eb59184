//! What a function of yours does itself, between the events in it, by line: of frames whose lines were logged.

use ledger::{Ns, PatternBooks};
use line_stacks::{LineId, Lines};
use profile::{FrameLines, HostEventId};
use rustc_hash::FxHashMap;

use crate::event_stacks::line_in_frame;

/// The time of a frame outside of the events in it.
#[derive(Debug)]
pub(super) struct OwnLines {
    frame: HostEventId,
    /// The line of its definition.
    definition: LineId,
    /// What came before belongs to an event in it, or to a line.
    clock: Ns,
    by_line: FxHashMap<LineId, PatternBooks>,
}

impl OwnLines {
    /// Nothing yet of a frame that begins at `start`.
    pub(super) fn new(frame: HostEventId, definition: LineId, start: Ns) -> Self {
        Self { frame, definition, clock: start, by_line: FxHashMap::default() }
    }

    /// The frame itself ran up to `until`. Each time that it is on a line counts once.
    pub(super) fn ran(&mut self, until: Ns, of_frames: &FrameLines, lines: &mut Lines) {
        while self.clock < until
            && let Some((place, next)) = of_frames.place(self.frame, self.clock)
        {
            let line = line_in_frame(place, self.definition, lines).unwrap_or(self.definition);
            let end = next.min(until);
            let cpu = end - self.clock;
            let books = PatternBooks { count: 1, cpu, ..PatternBooks::default() };
            self.by_line.entry(line).or_default().add(&books);
            self.clock = end;
        }
    }

    /// An event in it has ended.
    pub(super) fn called_until(&mut self, end: Ns) {
        self.clock = self.clock.max(end);
    }

    /// What it did on each line.
    pub(super) fn by_line(self) -> impl Iterator<Item = (LineId, PatternBooks)> {
        self.by_line.into_iter()
    }
}
