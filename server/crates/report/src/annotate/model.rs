//! Annotated source as data.

use ledger::Evidence;

use crate::model::{Cell, Column, Summary};

/// Source with what each line costs beside it.
#[derive(Debug, Clone)]
pub struct Annotated {
    /// What the recording is.
    pub summary: Summary,
    /// What the numbers are means or sums of: `per step`.
    pub period: String,
    /// The columns of numbers that the recording has, in the order in which they are shown.
    pub columns: Vec<Column>,
    /// The indices of the columns, the one first that is kept where there is room for one alone.
    pub by_priority: Vec<usize>,
    /// The files that have lines to show, hottest first.
    pub files: Vec<AnnotatedFile>,
    /// What the marks of lines mean.
    pub legend: Vec<&'static str>,
    /// Why there is no file to show, and what to do about it.
    pub nothing: Option<String>,
}

/// A file that is shown.
#[derive(Debug, Clone)]
pub struct AnnotatedFile {
    /// What it is called.
    pub name: String,
    /// What follows the name: its shares of the totals, and how its lines are known. Begins with its separator, or is
    /// empty.
    pub extent: String,
    /// Whether its text is shown.
    pub has_text: bool,
    /// Why its text is not shown, or how it differs from the one that ran.
    pub doubt: Option<String>,
    /// Its rows, from the top.
    pub rows: Vec<AnnotatedRow>,
}

/// A row of a file.
#[derive(Debug, Clone)]
pub enum AnnotatedRow {
    /// Lines are left out.
    Gap,
    /// A line.
    Line(AnnotatedLine),
}

/// A line of source.
#[derive(Debug, Clone)]
pub struct AnnotatedLine {
    /// From 1, in the file as it is now; in the text that ran where no text is shown.
    pub number: u32,
    /// Its text or, where that is not known, its function: `in train`.
    pub text: String,
    /// What it costs; `None` for a line that is shown because of those around it.
    pub cost: Option<LineCost>,
}

/// What a line costs.
#[derive(Debug, Clone)]
pub struct LineCost {
    /// How the line is known.
    pub evidence: Evidence,
    /// Whether the line was changed since.
    pub is_stale: bool,
    /// Its share of 1 of the step or recording.
    pub share: f64,
    /// An amount for each column.
    pub amounts: Vec<LineAmount>,
}

/// A number of a line.
#[derive(Debug, Clone)]
pub struct LineAmount {
    /// The number; empty where it is 0.
    pub cell: Cell,
    /// Its share of 1 of what its column is measured by; 0 for counts.
    pub share: f64,
}
