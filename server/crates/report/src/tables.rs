//! Tables of operators, of kernels, of modules, of annotations and of communication over the whole recording, of its steps, and of what was
//! compiled (`perfline ops`, `perfline kernels`, `perfline modules`, `perfline ranges`, `perfline comm`, `perfline steps`, `perfline compile`), of the critical path, and of the lines with most of a metric.

mod communication;
mod compiled;
mod critical_path;
mod hot_lines;
mod kernels;
mod lines_of;
mod modules;
mod operators;
mod print;
mod ranges;
mod recordings;
mod steps;

use std::str::FromStr;

use ide::UnknownName;
use ledger::Metric;
use loader::StackBooks;

pub use communication::build as communication;
pub use compiled::build as compiled;
pub use critical_path::build as critical_path;
pub use hot_lines::build as hot_lines;
pub use kernels::build as kernels;
pub use modules::{build as modules, without_match as without_modules};
pub use operators::build as operators;
pub use print::{write_json, write_text};
pub use ranges::build as ranges;
pub use recordings::{ListedRecording, build as recordings};
pub use steps::{StepOrder, build as steps};

use crate::model::{Section, Summary};

/// A table with what it is of.
#[derive(Debug)]
pub struct NamedTable {
    /// The recording.
    pub summary: Summary,
    /// The rows, in the order that was asked for.
    pub section: Section,
    /// The columns that a narrow terminal can do without, the first of them first.
    pub dispensable: &'static [&'static str],
    /// Which part of the recording it is of, as `perfline.table/1` says it; null for all of it.
    pub filter: serde_json::Value,
}

impl NamedTable {
    /// The table with at most `top` rows; it says how many are left out.
    #[must_use]
    pub fn shortened(mut self, top: usize) -> Self {
        let section = &mut self.section;
        section.left_out += section.rows.len().saturating_sub(top);
        section.rows.truncate(top);
        self
    }
}

/// What the operators are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperatorOrder {
    /// Thread time without that of operators below.
    CpuSelf,
    /// Thread time with that of operators below.
    CpuTotal,
    /// Time of the kernels and copies that the operator itself launched.
    CudaSelf,
    /// With those of operators below.
    CudaTotal,
    /// Bytes that it allocated itself.
    Alloc,
    /// How often it ran.
    Calls,
}

impl OperatorOrder {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::CpuSelf, Self::CpuTotal, Self::CudaSelf, Self::CudaTotal, Self::Alloc, Self::Calls];

    /// Stable name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CpuSelf => "cpu_self",
            Self::CpuTotal => "cpu_total",
            Self::CudaSelf => "cuda_self",
            Self::CudaTotal => "cuda_total",
            Self::Alloc => "alloc",
            Self::Calls => "calls",
        }
    }

    /// Device time of a recording that has some, else thread time.
    fn fitting(books: &StackBooks) -> Self {
        if books.total(Metric::Cuda) == 0 { Self::CpuSelf } else { Self::CudaSelf }
    }
}

impl FromStr for OperatorOrder {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let found = Self::ALL.into_iter().find(|it| it.name() == name);
        found.ok_or_else(|| UnknownName::new("order", name, Self::ALL.map(Self::name)))
    }
}

#[cfg(test)]
mod tests;
