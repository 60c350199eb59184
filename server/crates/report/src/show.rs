//! All that is known of a line, a function, a kernel or an operator: `perfline show`.

mod find;
mod sections;

use std::io::{self, Write};

use serde_json::json;

use crate::fields::{escaped, write_list};
use crate::findings::findings;
use crate::json;
use crate::model::{ReportedFinding, Section};
use crate::recording::Recording;
use crate::suppression::Suppression;
use crate::terminal::{FAINT, STRONG, Terminal, clean, cut};
use crate::text;

use find::Found;

/// The name and version of the contract.
const SCHEMA: &str = "perfline.show/1";

/// What is known of something that has a place or a name.
#[derive(Debug)]
pub struct Shown {
    /// What it is: `train.py:46 · SlowModel.forward`, `kernel gemm`.
    title: String,
    /// The statement, where it is a line whose text is known.
    text: Option<String>,
    /// What the rules found there.
    findings: Vec<ReportedFinding>,
    /// The tables, none of them empty.
    sections: Vec<Section>,
}

/// What is known of `name`: a line (`train.py:46`), a function (`SlowModel.forward`), a kernel or an operator, as far as they
/// were recorded. Tables have at most `top` rows; findings are those that there are by `rules`.
///
/// # Errors
/// If nothing of that name was recorded. The message says what can be named.
pub fn build(
    recording: &Recording<'_>,
    name: &str,
    top: usize,
    rules: &insights::RuleOptions,
) -> Result<Shown, String> {
    let found = Found::by_name(recording, name)?;
    let suppression = Suppression::new(recording);
    let findings = findings(recording, rules, &suppression, |it| found.has_line(&it.place));
    let mut sections = match &found {
        Found::Lines { lines, .. } => sections::of_lines(recording, lines, top),
        Found::Launched { .. } | Found::Operator { .. } => {
            sections::of_name(recording, &found, top)
        }
    };
    sections.retain(|it| !it.rows.is_empty());
    Ok(Shown { title: found.title(recording), text: found.text(recording), findings, sections })
}

/// Prints it as text.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_text(out: &mut dyn Write, shown: &Shown, terminal: &Terminal) -> io::Result<()> {
    let title = cut(&clean(&shown.title), terminal.width);
    writeln!(out, "{}", terminal.paint(STRONG, &title))?;
    if let Some(line) = &shown.text {
        let line = cut(&format!("  {}", clean(line)), terminal.width);
        writeln!(out, "{}", terminal.paint(FAINT, &line))?;
    }
    text::findings(out, &shown.findings, shown.findings.len(), terminal)?;
    shown.sections.iter().try_for_each(|it| text::section(out, it, terminal))
}

/// Writes it as `perfline.show/1` (docs/cli.md), a finding or a table a line.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_json(out: &mut dyn Write, shown: &Shown) -> io::Result<()> {
    write!(out, "{{\"schema\": {}", escaped(&json!(SCHEMA)))?;
    write!(out, ",\n \"title\": {}", escaped(&json!(shown.title)))?;
    writeln!(out, ",\n \"text\": {},", escaped(&json!(shown.text)))?;
    let findings = shown.findings.iter().map(|it| escaped(&json::finding(it)));
    write_list(out, "findings", findings)?;
    writeln!(out, ",")?;
    write_list(out, "sections", shown.sections.iter().map(|it| escaped(&json::section(it))))?;
    writeln!(out, "}}")
}

#[cfg(test)]
mod tests;
