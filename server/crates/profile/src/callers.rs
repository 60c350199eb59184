//! The exact callers and lines that Perfline's recorder saved beside a trace (`perfline.callers/1`, `fixtures/FORMAT.md`).

use crate::{Bytes, Interner, LineLog, Ns, StrId};

/// The side-car of one trace: where each of its Python calls was made.
#[derive(Debug, Default)]
pub struct Callers {
    /// The text of every name and path.
    pub strings: Interner,
    /// The version of torch that recorded, as `(major, minor)`, where the side-car says.
    pub torch: Option<(u32, u32)>,
    /// The calls of each thread.
    pub threads: Vec<ThreadCallers>,
    /// The lines of the user's code, where they were logged.
    pub lines: Option<LineLog>,
    /// The texts of the user's files that ran, where they were recorded.
    pub texts: Vec<RecordedText>,
    /// The commit that was checked out then, in hexadecimal digits, where it was recorded.
    pub commit: Option<String>,
    /// Whether files that git tracks differed from it.
    pub is_dirty: bool,
    /// The modules that ran, where their names were recorded.
    pub modules: Vec<RecordedModule>,
    /// How long steps of the same run took before recording, without the profiler, where it was measured.
    pub plain_steps: Vec<Ns>,
    /// The script and its arguments, where they were recorded.
    pub command: Option<String>,
    /// The worker processes of data loaders, where there were some.
    pub loader_workers: RecordedWorkers,
}

impl Callers {
    /// Whether anything but calls was recorded: such a side-car lacks no calls if it has none.
    #[must_use]
    pub fn has_more_than_calls(&self) -> bool {
        // By name, so that a further field cannot be forgotten.
        let Self {
            strings: _,
            torch: _,
            threads: _,
            lines,
            texts,
            commit,
            is_dirty: _,
            modules,
            plain_steps,
            command,
            loader_workers,
        } = self;
        lines.is_some()
            || !texts.is_empty()
            || commit.is_some()
            || !modules.is_empty()
            || !plain_steps.is_empty()
            || command.is_some()
            || !loader_workers.worked.is_empty()
    }
}

/// How much the worker processes of data loaders worked while steps were recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedWorkers {
    /// How long they were watched.
    pub time: Ns,
    /// Of each, the time on a processor; empty where it was not measured.
    pub worked: Vec<Ns>,
}

/// What a model calls one of its modules, and how large that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedModule {
    /// Name of the events of its calls (`nn.Module: Linear_7`).
    pub event: StrId,
    /// Its path in the model (`layers.3.mlp.up`).
    pub name: StrId,
    /// Number of parameters, those of modules in it included, where known.
    pub parameters: Option<u64>,
    /// Their bytes.
    pub parameter_bytes: Option<Bytes>,
}

/// The text of a file as it ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedText {
    /// Path of the file, spelled as in the trace; in a [`crate::CompileLog`] as logged.
    pub file: StrId,
    /// The text.
    pub text: String,
}

/// The Python calls of one thread in start order, as columns.
#[derive(Debug, Default)]
pub struct ThreadCallers {
    /// Thread id as in the trace.
    pub tid: String,
    /// Name of the event, as in the trace.
    pub name: Vec<StrId>,
    /// Start in nanoseconds since the Unix epoch.
    pub start: Vec<Ns>,
    /// Path of the calling file, spelled as in the trace, or [`StrId::NONE`].
    pub file: Vec<StrId>,
    /// Line in that file that made the call, 1-based; 0 when unknown.
    pub line: Vec<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_car_may_hold_other_things_than_calls() {
        assert!(!Callers::default().has_more_than_calls());
        let commit = Some("5f1a".to_owned());
        assert!(Callers { commit, ..Callers::default() }.has_more_than_calls());
        let command = Some("train.py".to_owned());
        assert!(Callers { command, ..Callers::default() }.has_more_than_calls());
    }
}
