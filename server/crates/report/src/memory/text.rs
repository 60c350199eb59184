//! Device memory for people.

use std::io::{self, Write};

use super::chart;
use super::model::{MemoryPart, MemoryReport};
use crate::model::{Column, Level, Note, Section};
use crate::terminal::{ALARM, DOUBT, FAINT, Terminal, clean, columns, cut, wrapped};
use crate::text;

/// Prints the memory of every device, and the findings about it.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(
    out: &mut dyn Write,
    memory: &MemoryReport<'_>,
    terminal: &Terminal,
) -> io::Result<()> {
    let summary = &memory.summary;
    writeln!(out, "{}", terminal.titled(&summary.recording, &summary.extent))?;
    for note in &summary.notes {
        let width = match note.level {
            Level::Plain => None,
            Level::Doubt | Level::Alarm => terminal.width,
        };
        for line in wrapped(&clean(&note.marked()), width.unwrap_or(usize::MAX)) {
            writeln!(out, "{}", painted(note, &line, terminal))?;
        }
    }
    memory.parts.iter().try_for_each(|it| part(out, it, terminal))?;
    text::findings(out, &memory.findings, usize::MAX, terminal)
}

fn painted(note: &Note, line: &str, terminal: &Terminal) -> String {
    match note.level {
        Level::Plain => line.to_owned(),
        Level::Doubt => terminal.paint(DOUBT, line),
        Level::Alarm => terminal.paint(ALARM, line),
    }
}

fn part(out: &mut dyn Write, part: &MemoryPart<'_>, terminal: &Terminal) -> io::Result<()> {
    let is_alarm = part.level == Level::Alarm;
    let title = if is_alarm {
        terminal.paint(ALARM, &cut(&clean(&part.title), terminal.width))
    } else {
        terminal.titled(&part.title, &part.extent)
    };
    writeln!(out, "\n{title}")?;
    let indent = if is_alarm { "  " } else { "" };
    for note in &part.notes {
        let line = cut(&clean(&format!("{indent}{}", note.marked())), terminal.width);
        writeln!(out, "{}", painted(note, &line, terminal))?;
    }
    if let Some(memory) = part.curve {
        writeln!(out)?;
        let chart = chart::lines(memory, terminal.width);
        for line in &chart {
            writeln!(out, "  {}", terminal.paint(FAINT, line))?;
        }
        if !chart.is_empty() {
            writeln!(out)?;
        }
    }
    text::table(out, &fitting(&part.table, part.n_needed, terminal), terminal)
}

/// The table with the columns that there is room for, and the first `n_needed` in any case. What does not fit is left out
/// rather than cut: a number without its end is another number.
fn fitting(table: &Section, n_needed: usize, terminal: &Terminal) -> Section {
    let width_of = |(index, column): (usize, &Column)| {
        let widest = table.rows.iter().map(|row| columns(&row[index].text)).max();
        match widest {
            None | Some(0) => 0,
            Some(widest) => widest.max(columns(column.name)) + 2,
        }
    };
    let widths: Vec<usize> = table.columns.iter().enumerate().map(width_of).collect();
    let limit = terminal.width.unwrap_or(usize::MAX);
    let mut fitting = table.clone();
    while n_needed < fitting.columns.len() && limit < widths[..fitting.columns.len()].iter().sum() {
        fitting.columns.pop();
    }
    fitting
}
