//! The report as text for a terminal or a pipe.

use std::io::{self, Write};

use insights::Severity;

use crate::model::{
    Align, Column, FINDINGS, Level, Note, Report, ReportedFinding, Section, Summary,
};
use crate::terminal::{
    ALARM, DOUBT, FAINT, STRONG, Terminal, clean, columns, cut, cut_left, left, right, wrapped,
};

/// Columns that the text of findings takes at most.
const MAX_WIDTH: usize = 100;

/// Findings on the first screen.
const OVERVIEW_FINDINGS: usize = 3;

/// Columns that a text keeps when a table is too wide.
const MIN_TEXT: usize = 28;

/// Prints all of the report. `more` says what lists more findings and rows, where some are left out.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(
    out: &mut dyn Write,
    report: &Report<'_>,
    more: &str,
    terminal: &Terminal,
) -> io::Result<()> {
    head(out, report, terminal)?;
    listed_findings(out, report, report.top, more, terminal)?;
    for it in &report.sections {
        section_with(out, it, more, terminal)?;
    }
    exceeded(out, report, terminal)
}

/// Prints what fits one screen: what limits the step, the findings that can win most, the lines that cost most, and how to see
/// all else.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_overview(
    out: &mut dyn Write,
    report: &Report<'_>,
    terminal: &Terminal,
) -> io::Result<()> {
    head(out, report, terminal)?;
    let brief = report.findings.iter().take(OVERVIEW_FINDINGS.min(report.top));
    let brief: Vec<_> =
        brief.map(|it| ReportedFinding { remedy: first(it.remedy), ..it.clone() }).collect();
    if brief.is_empty() {
        writeln!(out, "\nFindings: none")?;
    }
    findings(out, &brief, brief.len(), terminal)?;
    let more = report.findings.len() - brief.len();
    if 0 < more {
        writeln!(out, "  … and {more} more (--section findings)")?;
    }
    let shown = report.sections.iter().filter(|it| ["lines", "timing"].contains(&it.id));
    for it in shown {
        section_with(out, it, "--top", terminal)?;
    }
    exceeded(out, report, terminal)?;
    let ids = report.sections.iter().map(|it| it.id);
    let sections = format!(
        "--all prints everything, --section NAMES parts of it: {}.",
        [FINDINGS].into_iter().chain(ids).collect::<Vec<_>>().join(", ")
    );
    writeln!(out)?;
    paragraph(out, &sections, FAINT, terminal)
}

/// Prints the sections `ids` (`findings` among them) in this order.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_sections(
    out: &mut dyn Write,
    report: &Report<'_>,
    ids: &[String],
    terminal: &Terminal,
) -> io::Result<()> {
    writeln!(out, "{}", terminal.titled(&report.summary.recording, &report.summary.extent))?;
    for id in ids {
        if id == FINDINGS && !report.findings.is_empty() {
            listed_findings(out, report, report.top, "--top", terminal)?;
        } else if let Some(it) = report.sections.iter().find(|it| it.id == *id) {
            section_with(out, it, "--top", terminal)?;
        } else {
            writeln!(
                out,
                "\n{}",
                terminal.paint(FAINT, &format!("{id}: nothing in this recording"))
            )?;
        }
    }
    exceeded(out, report, terminal)
}

/// What the recording is, and what limits it.
fn head(out: &mut dyn Write, report: &Report<'_>, terminal: &Terminal) -> io::Result<()> {
    summary(out, &report.summary, terminal)?;
    if let Some(verdict) = &report.verdict {
        writeln!(out)?;
        paragraph(out, &verdict.text, STRONG, terminal)?;
    }
    // Which rank is late decides on whose lines to look.
    let late = report.sections.iter().filter(|it| it.id == "ranks").flat_map(|it| &it.notes);
    late.take(1).try_for_each(|it| paragraph(out, &it.marked(), STRONG, terminal))
}

/// Sentences in lines that the terminal has room for.
pub(crate) fn paragraph(
    out: &mut dyn Write,
    text: &str,
    style: anstyle::Style,
    terminal: &Terminal,
) -> io::Result<()> {
    let width = terminal.width.unwrap_or(MAX_WIDTH).min(MAX_WIDTH);
    let mut lines = wrapped(&clean(text), width).into_iter();
    lines.try_for_each(|it| writeln!(out, "{}", terminal.paint(style, &it)))
}

/// The first sentence of a text.
fn first(text: &'static str) -> &'static str {
    text.find(". ").map_or(text, |end| &text[..=end])
}

fn listed_findings(
    out: &mut dyn Write,
    report: &Report<'_>,
    top: usize,
    more: &str,
    terminal: &Terminal,
) -> io::Result<()> {
    findings(out, &report.findings, top, terminal)?;
    match report.findings.len().saturating_sub(top) {
        0 => Ok(()),
        n => writeln!(out, "  … and {n} more ({more})"),
    }
}

fn exceeded(out: &mut dyn Write, report: &Report<'_>, terminal: &Terminal) -> io::Result<()> {
    let mut lines = report.exceeded.iter();
    lines.try_for_each(|line| writeln!(out, "\n{}", terminal.paint(ALARM, line)))
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
    section_with(out, section, "--top", terminal)
}

/// Like [`section()`], where `more` says what lists more rows.
fn section_with(
    out: &mut dyn Write,
    section: &Section,
    more: &str,
    terminal: &Terminal,
) -> io::Result<()> {
    writeln!(out, "\n{}", terminal.paint(STRONG, section.title))?;
    table(out, section, terminal)?;
    if 0 < section.left_out {
        writeln!(out, "  … and {} more ({more})", section.left_out)?;
    }
    section.notes.iter().try_for_each(|it| note(out, it, "  ", terminal))
}

/// Prints a note, in several lines where the terminal has no room for one.
fn note(out: &mut dyn Write, note: &Note, indent: &str, terminal: &Terminal) -> io::Result<()> {
    let text = clean(&note.marked());
    let lines = match terminal.width {
        Some(width) => wrapped(&text, width.saturating_sub(columns(indent) + 2)),
        None => vec![text],
    };
    for (index, line) in lines.iter().enumerate() {
        let hang = if index == 0 { "" } else { "  " };
        let text = format!("{indent}{hang}{line}");
        let text = if note.level == Level::Alarm { terminal.paint(ALARM, &text) } else { text };
        writeln!(out, "{text}")?;
    }
    Ok(())
}

/// Prints headings and rows, indented by two, in columns as wide as they need. A column in which every cell is empty is
/// left out. Where the terminal is too narrow, texts are cut with an ellipsis (paths from their left), then functions, what is waited for, and
/// columns of numbers from the right are left out, and a last line names them.
///
/// # Errors
/// If `out` cannot be written.
pub(crate) fn table(out: &mut dyn Write, section: &Section, terminal: &Terminal) -> io::Result<()> {
    let mut used = used(section);
    let mut widths = widths(&used);
    let left_out = fit(&mut used, &mut widths, terminal);
    let line = |cells: Vec<&str>| {
        let mut line = String::new();
        for ((cell, (column, _)), &width) in cells.into_iter().zip(&used).zip(&widths) {
            line += "  ";
            line += &match column.align {
                Align::Left if IS_PATH.contains(&column.name) => {
                    left(&cut_left(cell, Some(width)), width)
                }
                Align::Left => left(&cut(cell, Some(width)), width),
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
    if !left_out.is_empty() {
        let text = format!("too narrow for {}", left_out.join(", "));
        note(out, &Note::plain(text), "  ", terminal)?;
    }
    Ok(())
}

/// Columns whose texts say more at their end.
const IS_PATH: [&str; 3] = ["line", "waits for", "file"];

/// Columns of text that say less than numbers: the line leads to them.
const DISPENSABLE: [&str; 2] = ["function", "waits for"];

/// Makes texts narrower, and takes columns out, until the table fits; gives the names of the columns without room.
fn fit(
    used: &mut Vec<(&Column, Vec<String>)>,
    widths: &mut Vec<usize>,
    terminal: &Terminal,
) -> Vec<&'static str> {
    let mut left_out = Vec::new();
    let Some(width) = terminal.width else { return left_out };
    loop {
        let excess = widths.iter().map(|it| it + 2).sum::<usize>().saturating_sub(width);
        if excess == 0 {
            break;
        }
        let texts = (0..used.len()).filter(|&it| used[it].0.align == Align::Left);
        let widest = texts.max_by_key(|&it| widths[it]).filter(|&it| MIN_TEXT < widths[it]);
        if let Some(widest) = widest {
            widths[widest] -= 1;
            continue;
        }
        // The first column is what the rows are ordered by, or their name.
        let text = (1..used.len()).find(|&it| DISPENSABLE.contains(&used[it].0.name));
        let number = || (1..used.len()).rev().find(|&it| used[it].0.align == Align::Right);
        let Some(column) = text.or_else(number) else { break };
        widths.remove(column);
        left_out.insert(0, used.remove(column).0.name);
    }
    left_out
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
