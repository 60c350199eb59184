//! When each line of the user's code began, as Perfline's recorder saved it beside a trace (`lines` of
//! `perfline.callers/1`, `fixtures/FORMAT.md`).

use crate::{Ns, StrId};

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
