//! When each line of the user's code began, as Perfline's recorder saved it beside a trace (`lines` of
//! `perfline.callers/1`, `fixtures/FORMAT.md`).

use rustc_hash::FxHashMap;

use crate::{HostEventId, Ns, StrId};

/// The lines that ran while a trace was recorded.
#[derive(Debug, Default)]
pub struct LineLog {
    /// The functions whose lines were logged.
    pub codes: Vec<LoggedCode>,
    /// When logging ended, in nanoseconds since the Unix epoch.
    pub until: Ns,
    /// The lines of each thread.
    pub threads: Vec<ThreadLines>,
}

/// A function whose lines were logged: a code object of Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedCode {
    /// Path of its file, spelled as in the trace.
    pub file: StrId,
    /// Its name, without that of a class.
    pub function: StrId,
    /// The line of its definition, that of the first decorator where it has one.
    pub first_line: u32,
    /// The last line that it can be on.
    pub last_line: u32,
}

/// What began on one thread, in order of time, as columns.
#[derive(Debug, Default)]
pub struct ThreadLines {
    /// Thread id as in the trace.
    pub tid: String,
    /// Time in nanoseconds since the Unix epoch.
    pub time: Vec<Ns>,
    /// Position in [`LineLog::codes`].
    pub code: Vec<u32>,
    /// The 1-based line that begins; 0 where the function is entered: called, or resumed as a generator.
    pub line: Vec<u32>,
}

/// Which line of its function each frame was on when, of the frames whose lines were logged.
#[derive(Debug, Default)]
pub struct FrameLines {
    /// By the event of a frame: its rows.
    rows: FxHashMap<HostEventId, std::ops::Range<usize>>,
    /// When a line begins, in order in each frame, by the clock of the trace.
    at: Vec<Ns>,
    line: Vec<u32>,
}

/// Where in its function a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceInFrame {
    /// No line of it has begun: the interpreter enters it, which its table of lines puts on the line of the definition.
    Definition,
    /// On a 1-based line.
    Line(u32),
    /// On a line that is not known.
    Unknown,
}

impl FrameLines {
    /// Adds the lines of a frame, of which there is at least one: when each begins, in order, and its number, 0 where it is
    /// not known.
    pub fn push(&mut self, frame: HostEventId, lines: impl IntoIterator<Item = (Ns, u32)>) {
        let first = self.at.len();
        for (at, line) in lines {
            self.at.push(at);
            self.line.push(line);
        }
        if first < self.at.len() {
            self.rows.insert(frame, first..self.at.len());
        }
    }

    /// Whether no lines were logged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Where a frame is at a time, and until when, or `None` where its lines were not logged.
    #[must_use]
    pub fn place(&self, frame: HostEventId, at: Ns) -> Option<(PlaceInFrame, Ns)> {
        let rows = self.rows.get(&frame)?.clone();
        let begun = self.at[rows.clone()].partition_point(|&begin| begin <= at);
        let until = self.at[rows.clone()].get(begun).copied().unwrap_or(Ns::MAX);
        let line = begun.checked_sub(1).map(|it| self.line[rows.start + it]);
        let place = match line {
            None => PlaceInFrame::Definition,
            Some(0) => PlaceInFrame::Unknown,
            Some(line) => PlaceInFrame::Line(line),
        };
        Some((place, until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_on_the_line_that_began_last() {
        let mut lines = FrameLines::default();
        lines.push(HostEventId(7), [(Ns(10), 3), (Ns(20), 0), (Ns(20), 4)]);
        lines.push(HostEventId(9), [(Ns::MIN, 8)]);
        lines.push(HostEventId(11), []);
        let place = |frame, at| lines.place(HostEventId(frame), Ns(at));
        assert_eq!(place(7, 9), Some((PlaceInFrame::Definition, Ns(10))));
        assert_eq!(place(7, 10), Some((PlaceInFrame::Line(3), Ns(20))));
        assert_eq!(place(7, 25), Some((PlaceInFrame::Line(4), Ns::MAX)));
        assert_eq!(place(9, 0), Some((PlaceInFrame::Line(8), Ns::MAX)));
        assert_eq!((place(11, 0), place(8, 0)), (None, None));
        lines.push(HostEventId(12), [(Ns(5), 0)]);
        assert_eq!(lines.place(HostEventId(12), Ns(6)), Some((PlaceInFrame::Unknown, Ns::MAX)));
    }
}
