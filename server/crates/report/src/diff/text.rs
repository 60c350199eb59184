//! A comparison as text for a terminal or a pipe.

use std::io::{self, Write};

use super::build::DiffReport;
use crate::terminal::{FAINT, STRONG, Terminal, clean, wrapped};
use crate::text;

/// Columns that sentences take at most.
const MAX_WIDTH: usize = 80;

/// Prints a comparison: what it says in sentences, then the tables.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(out: &mut dyn Write, diff: &DiffReport<'_>, terminal: &Terminal) -> io::Result<()> {
    let width = terminal.width.unwrap_or(MAX_WIDTH).min(MAX_WIDTH);
    let summary = &diff.report.summary;
    writeln!(out, "{}", terminal.titled(&summary.recording, &summary.extent))?;
    for (index, note) in summary.notes.iter().enumerate() {
        for line in wrapped(&clean(&note.marked()), width) {
            let style = if index == 0 { STRONG } else { FAINT };
            writeln!(out, "{}", terminal.paint(style, &line))?;
        }
    }
    diff.report.sections.iter().try_for_each(|it| text::section(out, it, terminal))
}
