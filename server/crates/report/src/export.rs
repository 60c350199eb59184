//! Whole stacks in the formats of other tools: lines outermost first, below them calls, operators and kernels.

mod firefox;
mod folded;
mod names;
mod parquet;
mod perfetto;
mod pprof;
mod rows;
mod speedscope;
mod stack_table;
mod table;
mod texts;

use std::io::{self, Write};
use std::str::FromStr;

use ide::UnknownName;
use ledger::{Ledger, Metric};
use loader::StackBooks;
use metrics::numbers;

use names::ExportedStacks;

use crate::data_tables::{self, DataOptions, DataTable, TypedTable, write_arrow};
use crate::recording::Recording;

/// What writes a format.
enum FormatWriter {
    Stacks(fn(&mut dyn Write, &ExportedStacks<'_>) -> io::Result<()>),
    /// One table, behind which others may follow.
    Table(fn(&mut dyn Write, &TypedTable) -> io::Result<()>),
    Timeline,
}

/// A format of stacks, or of what happened when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// A line of text for each stack: `main;step;aten::add 1234`, as Brendan Gregg's `flamegraph.pl` and many others read it.
    Folded,
    /// The JSON of <https://www.speedscope.app>.
    Speedscope,
    /// The JSON of <https://profiler.firefox.com>.
    Firefox,
    /// The gzip-compressed protocol buffer of <https://github.com/google/pprof>.
    Pprof,
    /// A row for each stack with all metrics.
    Csv,
    /// Tables in columns, for pandas, polars, DuckDB, Spark: <https://parquet.apache.org>.
    Parquet,
    /// The same as they are in memory, for programs that read them at once: <https://arrow.apache.org>.
    Arrow,
    /// What happened when, as a Chrome trace for <https://ui.perfetto.dev>.
    Perfetto,
}

impl ExportFormat {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Folded,
        Self::Speedscope,
        Self::Firefox,
        Self::Pprof,
        Self::Csv,
        Self::Parquet,
        Self::Arrow,
        Self::Perfetto,
    ];

    /// Stable name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Folded => "folded",
            Self::Speedscope => "speedscope",
            Self::Firefox => "firefox",
            Self::Pprof => "pprof",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::Perfetto => "perfetto",
        }
    }

    fn writer(self) -> FormatWriter {
        match self {
            Self::Folded => FormatWriter::Stacks(folded::write),
            Self::Speedscope => FormatWriter::Stacks(speedscope::write),
            Self::Firefox => FormatWriter::Stacks(firefox::write),
            Self::Pprof => FormatWriter::Stacks(pprof::write),
            Self::Csv => FormatWriter::Stacks(table::write),
            Self::Parquet => FormatWriter::Table(parquet::write),
            Self::Arrow => FormatWriter::Table(write_arrow),
            Self::Perfetto => FormatWriter::Timeline,
        }
    }

    /// Whether it says what happened when, of one rank: [`loader::TimelineChoice`].
    #[must_use]
    pub fn needs_timeline(self) -> bool {
        matches!(self.writer(), FormatWriter::Timeline)
    }

    /// Whether it has tables, of which stacks are one.
    #[must_use]
    pub fn has_tables(self) -> bool {
        matches!(self.writer(), FormatWriter::Table(_))
    }

    /// Whether several tables may follow one another.
    #[must_use]
    pub fn can_follow(self) -> bool {
        self == Self::Arrow
    }

    /// Whether it is text, which a terminal can show.
    #[must_use]
    pub fn is_text(self) -> bool {
        !matches!(self, Self::Pprof | Self::Parquet | Self::Arrow)
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
pub struct ExportOptions<'a> {
    /// How.
    pub format: ExportFormat,
    /// The metric of a format that has one, and the first one that others show; `None` takes CUDA time where the recording
    /// has device time, else thread time, else allocated bytes.
    pub metric: Option<StackMetric>,
    /// Library lines too; otherwise their amounts are on the innermost line of user code that led there.
    pub all: bool,
    /// Of a format that has tables, which, one behind the other; others have stacks.
    pub tables: &'a [DataTable],
    /// Of what the tables are that are not of stacks.
    pub data: DataOptions<'a>,
}

/// What was exported, in words.
#[derive(Debug, Clone)]
pub enum Exported {
    /// Stacks.
    Stacks {
        /// How many stacks have an amount of the chosen metric.
        number: usize,
        /// What it is called.
        metric: &'static str,
        /// The sum over all stacks as text.
        total: String,
    },
    /// Tables: their names, and how many rows each has.
    Tables(Vec<(&'static str, usize)>),
    /// What happened when.
    Slices {
        /// How many.
        number: usize,
        /// On which rank.
        rank: u32,
    },
}

impl std::fmt::Display for Exported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stacks { number, metric, total } => {
                write!(f, "{number} stacks, {total} {metric}")
            }
            Self::Tables(tables) => {
                let rows = |(name, rows): &(&str, usize)| match rows {
                    1 => format!("{name} of 1 row"),
                    rows => format!("{name} of {rows} rows"),
                };
                write!(f, "{}", tables.iter().map(rows).collect::<Vec<_>>().join(", "))
            }
            Self::Slices { number, rank } => write!(f, "{number} slices of rank {rank}"),
        }
    }
}

/// Writes the stacks of a recording that was loaded with them, its tables, or its timeline.
///
/// # Errors
/// If `out` cannot be written, or the recording was loaded without what the format holds.
pub fn write(
    out: &mut dyn Write,
    recording: &Recording<'_>,
    options: ExportOptions<'_>,
) -> io::Result<Exported> {
    match options.format.writer() {
        FormatWriter::Timeline => {
            let timeline = recording.run.timeline.as_ref();
            let timeline = timeline
                .ok_or_else(|| io::Error::other("the recording was loaded without a timeline"))?;
            let number = perfetto::write(out, recording, timeline)?;
            Ok(Exported::Slices { number, rank: timeline.rank })
        }
        FormatWriter::Stacks(write) => {
            with_stacks(recording, options, |stacks| write(out, stacks).map(|()| exported(stacks)))
        }
        FormatWriter::Table(write) => {
            let mut written = Vec::new();
            for &table in options.tables {
                let table = match data_tables::build(recording, table, options.data)? {
                    Some(table) => table,
                    None => with_stacks(recording, options, |it| Ok(stack_table::table(it)))?,
                };
                write(out, &table)?;
                written.push((table.name, table.rows.len()));
            }
            Ok(Exported::Tables(written))
        }
    }
}

/// What `take` makes of the stacks of a recording.
fn with_stacks<T>(
    recording: &Recording<'_>,
    options: ExportOptions<'_>,
    take: impl FnOnce(&ExportedStacks<'_>) -> io::Result<T>,
) -> io::Result<T> {
    let loaded = recording.run.stacks.as_ref();
    let loaded =
        loaded.ok_or_else(|| io::Error::other("the recording was loaded without stacks"))?;
    let folded = (!options.all).then(|| loaded.of_user_code());
    let books = folded.as_ref().unwrap_or(loaded);
    let metric = options.metric.map_or_else(|| fitting(&recording.run.merged), |it| it.0);
    let names = names::of_frames(recording, books);
    take(&ExportedStacks { recording, books, metric, names: &names })
}

fn exported(stacks: &ExportedStacks<'_>) -> Exported {
    let &ExportedStacks { books, metric, .. } = stacks;
    let number = books.stacks().filter(|&stack| books.amount(metric, stack) != 0).count();
    let total = numbers::text(books.total(metric) as f64, metric.unit());
    Exported::Stacks { number, metric: metric.label(), total }
}

/// The metric that is shown first: the first of CUDA time, thread time and allocated bytes that the recording has.
pub(crate) fn fitting(ledger: &Ledger) -> Metric {
    let has = |metric: &Metric| ledger.totals.get(*metric) != 0;
    let first = [Metric::Cuda, Metric::Cpu, Metric::Alloc].into_iter().find(has);
    first.unwrap_or(Metric::Cpu)
}

#[cfg(test)]
mod tests;
