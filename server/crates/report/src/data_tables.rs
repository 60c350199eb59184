//! What a recording says as tables for programs, with typed columns: of `perfline export`, and of `perfline.read` in Python.

mod arrow;
mod columns;
mod fields;
mod lines;
mod run;
mod sections;

use std::io::{self, Write};
use std::str::FromStr;

use ide::UnknownName;
use insights::RuleOptions;

pub(crate) use columns::{DataColumn, DataKind, DataValue, TypedTable};

use crate::build::{ReportOptions, build_shown};
use crate::filter::CodeFilter;
use crate::part::RecordingPart;
use crate::recording::Recording;

/// A table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataTable {
    /// Whole stacks with all metrics.
    Stacks,
    /// Every line with everything that it was charged with.
    Lines,
    /// What ran on devices.
    Kernels,
    /// The operators of PyTorch.
    Operators,
    /// The modules of the model.
    Modules,
    /// The steps of each rank.
    Steps,
    /// The ranks of a run of several.
    Ranks,
    /// What the rules found.
    Findings,
}

impl DataTable {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Stacks,
        Self::Lines,
        Self::Kernels,
        Self::Operators,
        Self::Modules,
        Self::Steps,
        Self::Ranks,
        Self::Findings,
    ];

    /// Stable name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stacks => "stacks",
            Self::Lines => "lines",
            Self::Kernels => "kernels",
            Self::Operators => "operators",
            Self::Modules => "modules",
            Self::Steps => "steps",
            Self::Ranks => "ranks",
            Self::Findings => "findings",
        }
    }

    /// Whether it is made from whole stacks, which files of ledgers do not have and no cache keeps.
    #[must_use]
    pub fn needs_stacks(self) -> bool {
        matches!(self, Self::Stacks | Self::Kernels | Self::Operators)
    }

    /// Whether it is known of a part of a recording.
    #[must_use]
    pub fn has_parts(self) -> bool {
        self.needs_stacks() || matches!(self, Self::Lines | Self::Findings)
    }
}

impl FromStr for DataTable {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let found = Self::ALL.into_iter().find(|it| it.name() == name);
        found.ok_or_else(|| UnknownName::new("table", name, Self::ALL.map(Self::name)))
    }
}

/// Of what tables are.
#[derive(Debug, Clone, Copy)]
pub struct DataOptions<'a> {
    /// Which lines are listed, and findings of which.
    pub code: &'a CodeFilter,
    /// When rules fire.
    pub rules: &'a RuleOptions,
    /// The part of the recording that is in the place of the whole, if there is one.
    pub part: Option<&'a RecordingPart>,
}

/// Makes a table of a recording; `None` of stacks, which exports make.
pub(crate) fn build(
    recording: &Recording<'_>,
    table: DataTable,
    options: DataOptions<'_>,
) -> io::Result<Option<TypedTable>> {
    let DataOptions { code, rules, part } = options;
    let mut notes = Vec::new();
    let (columns, rows) = match table {
        DataTable::Stacks => return Ok(None),
        DataTable::Lines => {
            notes.push(lines::note(recording, code, part)?);
            (lines::LINES, lines::rows(recording, code, part)?)
        }
        DataTable::Kernels => (sections::KERNELS, sections::kernels(recording)?),
        DataTable::Operators => (sections::OPERATORS, sections::operators(recording)?),
        DataTable::Modules => (sections::MODULES, sections::modules(recording)),
        DataTable::Steps => (sections::STEPS, sections::steps(recording)),
        DataTable::Ranks => (run::RANKS, run::ranks(recording)),
        DataTable::Findings => {
            let mut options = ReportOptions::new(0, rules.clone());
            options.code = code.clone();
            (run::FINDINGS, run::findings(&build_shown(recording, &options, part).findings))
        }
    };
    Ok(Some(TypedTable { name: table.name(), columns, rows, notes }))
}

/// Writes a table as a stream of Arrow's IPC format; others may follow it.
///
/// # Errors
/// If `out` cannot be written.
pub(crate) fn write_arrow(out: &mut dyn Write, table: &TypedTable) -> io::Result<()> {
    arrow::write_stream(out, table).map_err(io::Error::other)
}

#[cfg(test)]
mod tests;
