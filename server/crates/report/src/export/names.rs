//! What formats are written from, and what the entries of stacks, their metrics and units are called.

use ledger::{Evidence, Metric, Unit};
use loader::StackBooks;
use metrics::mark;
use stack_books::{FramedLine, StackFrame};

use crate::recording::Recording;

/// What every format is written from.
pub(super) struct ExportedStacks<'a> {
    pub(super) recording: &'a Recording<'a>,
    pub(super) books: &'a StackBooks,
    /// The one that a format with one metric has, and that others show first.
    pub(super) metric: Metric,
    /// By frame.
    pub(super) names: &'a [FrameName],
}

/// What an entry of a stack is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FrameName {
    /// On its own: `forward (model.py:31)`, `aten::linear`. A line that is not exact has the mark of the terminal behind it.
    pub(super) whole: String,
    /// The function of a line; the same as `whole` for what is no line.
    pub(super) function: String,
    /// Of a line: the path of the file where it was found, else as recorded, and the line.
    pub(super) place: Option<(String, u32)>,
    /// How a line is known.
    pub(super) evidence: Option<Evidence>,
}

/// The names of all frames, by their rows.
pub(super) fn of_frames(recording: &Recording<'_>, books: &StackBooks) -> Vec<FrameName> {
    books.frames().map(|(frame, evidence)| name(recording, frame, evidence)).collect()
}

fn name(recording: &Recording<'_>, frame: &StackFrame, evidence: Evidence) -> FrameName {
    let line = match frame {
        StackFrame::Line(line) => line,
        StackFrame::NoLine(reason) => return plain(format!("[not on a line: {}]", reason.name())),
        StackFrame::Call(name)
        | StackFrame::Operator(name)
        | StackFrame::Runtime(name)
        | StackFrame::Device(name) => return plain(name.clone()),
        StackFrame::SizedOperator(it) => return plain(it.to_string()),
    };
    let FramedLine { key, function, .. } = line;
    let shown = recording.file(&key.file);
    let function = if function.is_empty() { "?" } else { function };
    let sign = mark(evidence);
    let sign = if sign.is_empty() { String::new() } else { format!(" {sign}") };
    let source = recording.run.merged.files.get(&key.file);
    let path = source.map(|it| match &it.path {
        Some(path) => path.display().to_string(),
        None => it.recorded.clone(),
    });
    FrameName {
        whole: format!("{function} ({shown}:{}){sign}", key.line),
        function: function.to_owned(),
        place: Some((path.unwrap_or_else(|| key.file.clone()), key.line)),
        evidence: Some(evidence),
    }
}

fn plain(name: String) -> FrameName {
    FrameName { function: name.clone(), whole: name, place: None, evidence: None }
}

/// The unit of a metric as pprof and speedscope call it.
pub(super) fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Ns => "nanoseconds",
        Unit::Bytes => "bytes",
        _ => "none",
    }
}

/// The metrics that the recording has anything of, `first` before the others.
pub(super) fn metrics_of(books: &StackBooks, first: Metric) -> Vec<Metric> {
    let others = StackBooks::METRICS.into_iter().filter(|it| *it != first && books.total(*it) != 0);
    std::iter::once(first).chain(others).collect()
}
