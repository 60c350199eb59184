//! What had to be done before the steps could end, by line.

use metrics::{Period, Scale};
use ranks::Comparison;

use super::NamedTable;
use crate::critical_path;
use crate::filter::CodeFilter;
use crate::recording::Recording;
use crate::summary;

/// The columns that a narrow terminal can do without, the first of them first.
const DISPENSABLE: [&str; 5] = ["gap", "launch", "communication", "ranks", "host"];

/// The lines of the critical path of a recording, those with most first; without rows where none is known.
#[must_use]
pub fn build(recording: &Recording<'_>) -> NamedTable {
    let ledger = &recording.run.merged;
    let compared = Comparison::new(ledger);
    let section = critical_path::section(recording, compared.as_ref(), CodeFilter::ALL, usize::MAX);
    NamedTable {
        summary: summary::summary(recording.run, &Scale::new(ledger, Period::Mean)),
        section,
        dispensable: &DISPENSABLE,
        filter: serde_json::Value::Null,
    }
}
