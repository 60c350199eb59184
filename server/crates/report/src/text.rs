//! The report as text for a terminal or a pipe.

use std::io::{self, Write};

use insights::Severity;

use crate::model::{Align, Column, Level, Note, Report, ReportedFinding, Section, Summary};
use crate::terminal::{
    ALARM, DOUBT, FAINT, STRONG, Terminal, clean, columns, cut, left, right, wrapped,
};

/// Columns that the text of findings takes at most.
const MAX_WIDTH: usize = 100;

/// Prints the report. `more` says what lists more findings, where some are left out.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(
    out: &mut dyn Write,
    report: &Report<'_>,
    more: &str,
    terminal: &Terminal,
) -> io::Result<()> {
    summary(out, &report.summary, terminal)?;
    findings(out, &report.findings, report.top, terminal)?;
    if report.top < report.findings.len() {
        writeln!(out, "  … and {} more ({more})", report.findings.len() - report.top)?;
    }
    for it in &report.sections {
        section(out, it, terminal)?;
    }
    for line in &report.exceeded {
        writeln!(out, "\n{}", terminal.paint(ALARM, line))?;
    }
    Ok(())
}

/// Prints what the recording is.
///
/// # Errors
/// If `out` cannot be written.
pub(crate) fn summary(
    out: &mut dyn Write,
    summary: &Summary,
    terminal: &Terminal,
) -> io::Result<()> {
    writeln!(out, "{}", terminal.titled(&summary.recording, &summary.extent))?;
    summary.notes.iter().try_for_each(|it| note(out, it, "", terminal))
}

/// Prints at most `top` findings under a heading, each with its line, its rule, its numbers and what to do; nothing
/// where there are none.
///
/// # Errors
/// If `out` cannot be written.
pub(crate) fn findings(
    out: &mut dyn Write,
    findings: &[ReportedFinding],
    top: usize,
    terminal: &Terminal,
) -> io::Result<()> {
    if findings.is_empty() {
        return Ok(());
    }
    let width = terminal.width.unwrap_or(MAX_WIDTH).min(MAX_WIDTH).saturating_sub(4);
    writeln!(out, "\n{}", terminal.paint(STRONG, "Findings"))?;
    for finding in findings.iter().take(top) {
        let style = if finding.severity == Severity::Warning { DOUBT } else { STRONG };
        let place = clean(&finding.place.to_string());
        let message = clean(&finding.message);
        for line in wrapped(&format!("{place} {message}"), width) {
            match line.strip_prefix(&place) {
                Some(rest) => writeln!(out, "  {}{rest}", terminal.paint(style, &place))?,
                None => writeln!(out, "    {line}")?,
            }
        }
        for line in wrapped(finding.remedy, width) {
            writeln!(out, "    {}", terminal.paint(FAINT, &line))?;
        }
    }
    Ok(())
}

/// Prints a section: heading, table, notes.
///
/// # Errors
/// If `out` cannot be written.
pub(crate) fn section(
    out: &mut dyn Write,
    section: &Section,
    terminal: &Terminal,
) -> io::Result<()> {
    writeln!(out, "\n{}", terminal.paint(STRONG, section.title))?;
    table(out, section, terminal)?;
    section.notes.iter().try_for_each(|it| note(out, it, "  ", terminal))
}

fn note(out: &mut dyn Write, note: &Note, indent: &str, terminal: &Terminal) -> io::Result<()> {
    let text = cut(&clean(&format!("{indent}{}", note.marked())), terminal.width);
    let text = if note.level == Level::Alarm { terminal.paint(ALARM, &text) } else { text };
    writeln!(out, "{text}")
}

/// Prints headings and rows, indented by two, in columns as wide as they need. A column in which every cell is empty is
/// left out; the last one is cut where the terminal ends.
///
/// # Errors
/// If `out` cannot be written.
pub(crate) fn table(out: &mut dyn Write, section: &Section, terminal: &Terminal) -> io::Result<()> {
    let used = used(section);
    let widths = widths(&used);
    let line = |cells: Vec<&str>| {
        let mut line = String::new();
        for ((cell, (column, _)), &width) in cells.into_iter().zip(&used).zip(&widths) {
            line += "  ";
            line += &match column.align {
                Align::Left => left(cell, width),
                Align::Right => right(cell, width),
            };
        }
        cut(line.trim_end(), terminal.width)
    };
    let names = used.iter().map(|(column, _)| column.name).collect();
    writeln!(out, "{}", terminal.paint(FAINT, &line(names)))?;
    for row in 0..section.rows.len() {
        writeln!(out, "{}", line(used.iter().map(|(_, cells)| cells[row].as_str()).collect()))?;
    }
    Ok(())
}

/// The columns of a table that are shown, with the text of their cells.
fn used(section: &Section) -> Vec<(&Column, Vec<String>)> {
    let column = |index: usize| {
        let cells = section.rows.iter().map(|row| clean(&row[index].text));
        (&section.columns[index], cells.collect())
    };
    section.used_columns().into_iter().map(column).collect()
}

fn widths(used: &[(&Column, Vec<String>)]) -> Vec<usize> {
    let width = |(column, cells): &(&Column, Vec<String>)| {
        cells.iter().map(|it| columns(it)).max().unwrap_or(0).max(columns(column.name))
    };
    used.iter().map(width).collect()
}

/// How wide the table of a section is, its indentation included.
pub(crate) fn table_width(section: &Section) -> usize {
    widths(&used(section)).iter().map(|it| it + 2).sum()
}
