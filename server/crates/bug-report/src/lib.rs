//! A small part of a recording, without the names of its user, in which a fault shows as in the whole.
//!
//! *Owns*: which events of a trace and which rows of its side-car belong to some steps ([`Outline`], [`TraceWindow`]); which names are
//! everybody's, and what all others are called instead ([`ReplacedNames`]).
//!
//! *Never*: opens a file; changes a time, a line, a size, or the order of anything.
//!
//! *The tests that say so*: `server/tests/bug_report.rs`: for the fixtures, the lines of the part have the numbers that they have in
//! the whole, and no word of the user is in it.

mod names;
mod outline;
mod pieces;
mod public_names;
mod rewrite;
mod side_car;

pub use names::{ReplacedKind, ReplacedNames};
pub use outline::{Outline, StepInTrace, TraceStep, TraceWindow};
pub use side_car::{cut_side_car, versions};

use std::io::{self, Read, Write};

use rustc_hash::FxHashMap;
use trace_reader::raw::EventHead;

use pieces::{Pieces, TracePiece};

/// What was written of a trace.
#[derive(Debug, Default)]
pub struct CutTrace {
    /// Events that were written.
    pub events: u64,
    /// Members beside the events that were left out: the user's own.
    pub left_out: u64,
    /// How often the trace is damaged: what is damaged is not in the part.
    pub damaged: u64,
    /// In nanoseconds since 1970.
    start: i64,
    end: i64,
    /// Events of Python outside of the part: those that are open when it begins, and those of threads that are kept whole; by
    /// their start.
    open: Vec<OpenFrame>,
    /// The starts of all events of Python that were written, by their names.
    python: FxHashMap<String, Vec<i64>>,
}

/// An event of Python.
#[derive(Debug)]
struct OpenFrame {
    name: String,
    /// In nanoseconds since 1970.
    start: i64,
}

impl CutTrace {
    fn start(&self) -> i64 {
        self.start
    }

    fn holds(&self, time: i64) -> bool {
        self.start <= time && time < self.end
    }

    /// The events outside of the part that begin at `time`, or as far from it.
    fn open_near(&self, time: i64, tolerance: i64) -> impl Iterator<Item = &OpenFrame> {
        let first = self.open.partition_point(|it| it.start < time.saturating_sub(tolerance));
        let is_near = move |it: &&OpenFrame| it.start <= time.saturating_add(tolerance);
        self.open[first..].iter().take_while(is_near)
    }
}

/// Writes the part `window` of the trace `input`, with `about` (a JSON object) as its member `perflineBugReport`.
///
/// # Errors
/// Those of `input` and `out`.
pub fn cut_trace(
    input: impl Read,
    window: &TraceWindow,
    about: &str,
    names: &mut ReplacedNames,
    out: &mut impl Write,
) -> io::Result<CutTrace> {
    let at = |it: i64| it.saturating_add(window.base);
    let mut cut = CutTrace { start: at(window.start), end: at(window.end), ..CutTrace::default() };
    let mut pieces = Pieces::new(input);
    let mut members = Vec::new();
    let mut event = Vec::new();
    out.write_all(b"{\"traceEvents\":[\n")?;
    while let Some(piece) = pieces.next()? {
        match piece {
            TracePiece::Member(key, value) => {
                members.extend_from_slice(b",\n");
                if !rewrite::member(key, value, names, &mut members) {
                    members.truncate(members.len() - 2);
                    cut.left_out += 1;
                }
            }
            TracePiece::Event(text) => {
                let Some(head) = EventHead::read(text).filter(|it| window.keeps(it)) else {
                    continue;
                };
                event.clear();
                if cut.events > 0 {
                    event.extend_from_slice(b",\n");
                }
                if !rewrite::event(text, &head, names, &mut event) {
                    continue;
                }
                out.write_all(&event)?;
                cut.events += 1;
                if let Some(start) = head.start
                    && head.category == b"python_function"
                {
                    let quoted = [b"\"", head.name, b"\""].concat();
                    let name = trace_reader::raw::text(&quoted).unwrap_or_default().into_owned();
                    if !window.holds(start) {
                        cut.open.push(OpenFrame { name: name.clone(), start: at(start) });
                    }
                    cut.python.entry(name).or_default().push(at(start));
                }
            }
        }
    }
    cut.open.sort_by_key(|it| it.start);
    cut.python.values_mut().for_each(|it| it.sort_unstable());
    cut.damaged = pieces.damaged;
    out.write_all(b"\n]")?;
    out.write_all(&members)?;
    write!(out, ",\n\"perflineBugReport\":{about}}}\n")?;
    Ok(cut)
}
