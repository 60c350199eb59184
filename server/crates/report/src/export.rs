//! Whole stacks in the formats of other tools: lines outermost first, below them calls, operators and kernels.

mod folded;
mod names;
mod pprof;
mod speedscope;
mod table;

use std::io::{self, Write};
use std::str::FromStr;

use ide::UnknownName;
use ledger::{Ledger, Metric};
use loader::StackBooks;
use metrics::numbers;

use names::ExportedStacks;

use crate::recording::Recording;

/// A format of stacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// A line of text for each stack: `main;step;aten::add 1234`, as Brendan Gregg's `flamegraph.pl` and many others read it.
    Folded,
    /// The JSON of <https://www.speedscope.app>.
    Speedscope,
    /// The gzip-compressed protocol buffer of <https://github.com/google/pprof>.
    Pprof,
    /// A row for each stack with all metrics.
    Csv,
}

impl ExportFormat {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Folded, Self::Speedscope, Self::Pprof, Self::Csv];

    /// Stable name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Folded => "folded",
            Self::Speedscope => "speedscope",
            Self::Pprof => "pprof",
            Self::Csv => "csv",
        }
    }

    /// Whether it is text, which a terminal can show.
    #[must_use]
    pub fn is_text(self) -> bool {
        self != Self::Pprof
    }
}

impl FromStr for ExportFormat {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let found = Self::ALL.into_iter().find(|it| it.name() == name);
        found.ok_or_else(|| UnknownName::new("format", name, Self::ALL.map(Self::name)))
    }
}

/// A metric that is kept by stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackMetric(Metric);

impl FromStr for StackMetric {
    type Err = UnknownName;

    /// By the name that it has in the totals of `perfline.lines/1`, without the unit.
    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let metrics = StackBooks::METRICS;
        let found = metrics.into_iter().find(|it| it.id() == name).map(Self);
        found.ok_or_else(|| UnknownName::new("metric", name, metrics.map(Metric::id)))
    }
}

/// What is exported.
#[derive(Debug, Clone, Copy)]
pub struct ExportOptions {
    /// How.
    pub format: ExportFormat,
    /// The metric of a format that has one, and the first one that others show; `None` takes CUDA time where the recording
    /// has device time, else thread time, else allocated bytes.
    pub metric: Option<StackMetric>,
    /// Library lines too; otherwise their amounts are on the innermost line of user code that led there.
    pub all: bool,
}

/// What was exported, of one metric.
#[derive(Debug, Clone)]
pub struct Exported {
    /// How many stacks have an amount of it.
    pub n_stacks: usize,
    /// What it is called.
    pub metric: &'static str,
    /// The sum over all stacks as text.
    pub total: String,
}

/// Writes the stacks of a recording that was loaded with them.
///
/// # Errors
/// If `out` cannot be written, or the recording was loaded without stacks.
pub fn write(
    out: &mut dyn Write,
    recording: &Recording<'_>,
    options: ExportOptions,
) -> io::Result<Exported> {
    let loaded = recording.run.stacks.as_ref();
    let loaded =
        loaded.ok_or_else(|| io::Error::other("the recording was loaded without stacks"))?;
    let folded = (!options.all).then(|| loaded.of_user_code());
    let books = folded.as_ref().unwrap_or(loaded);
    let metric = options.metric.map_or_else(|| fitting(&recording.run.merged), |it| it.0);
    let names = names::of_frames(recording, books);
    let stacks = ExportedStacks { recording, books, metric, names: &names };
    match options.format {
        ExportFormat::Folded => folded::write(out, &stacks)?,
        ExportFormat::Speedscope => speedscope::write(out, &stacks)?,
        ExportFormat::Pprof => pprof::write(out, &stacks)?,
        ExportFormat::Csv => table::write(out, &stacks)?,
    }
    let n_stacks = books.stacks().filter(|&stack| books.amount(metric, stack) != 0).count();
    let total = numbers::text(books.total(metric) as f64, metric.unit());
    Ok(Exported { n_stacks, metric: metric.label(), total })
}

/// The metric that is shown first: the first of CUDA time, thread time and allocated bytes that the recording has.
pub(crate) fn fitting(ledger: &Ledger) -> Metric {
    let has = |metric: &Metric| ledger.totals.get(*metric) != 0;
    let first = [Metric::Cuda, Metric::Cpu, Metric::Alloc].into_iter().find(has);
    first.unwrap_or(Metric::Cpu)
}

#[cfg(test)]
mod tests;
