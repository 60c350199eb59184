//! All that is known of a line, a function, a kernel or an operator: `perfline show`.

mod find;
mod options;
mod sections;

use std::io::{self, Write};

use ledger::{LineBooks, LineKey};
use metrics::Period;
use ranks::CriticalPath;
use serde_json::json;

use crate::fields::{escaped, write_list};
use crate::findings::findings;
use crate::json;
use crate::model::{Level, Note, ReportedFinding, Section};
use crate::part::RecordingPart;
use crate::recording::Recording;
use crate::suppression::Suppression;
use crate::terminal::{DOUBT, FAINT, STRONG, Terminal, clean, cut};
use crate::text;

use find::Found;
pub use options::ShowOptions;

/// The name and version of the contract.
const SCHEMA: &str = "perfline.show/1";

/// What is known of something that has a place or a name.
#[derive(Debug)]
pub struct Shown {
    /// What it is: `train.py:46 · SlowModel.forward`, `kernel gemm`.
    title: String,
    /// The statement, where it is a line whose text is known.
    text: Option<String>,
    /// Which part of the recording the numbers are of.
    notes: Vec<Note>,
    /// What the filter says, as contracts have it; null without one.
    filter: serde_json::Value,
    /// What the rules found there.
    findings: Vec<ReportedFinding>,
    /// The tables, none of them empty.
    sections: Vec<Section>,
}

/// What is known of `name`: a line (`train.py:46`), a function (`SlowModel.forward`), a kernel or an operator, as far as they
/// were recorded.
///
/// # Errors
/// If nothing of that name was recorded. The message says what can be named.
pub fn build(
    recording: &Recording<'_>,
    name: &str,
    options: &ShowOptions<'_>,
) -> Result<Shown, String> {
    let found = Found::by_name(recording, &recording.run.merged, name, &options.code);
    let found = found.map_err(|unknown| match options.part {
        Some(part) if Found::by_name(recording, &part.whole, name, &options.code).is_ok() => {
            format!("nothing of `{name}` passes {}; without it, there is", part.text)
        }
        _ => unknown,
    })?;
    let suppression = Suppression::new(recording);
    let ledger = options.part.map_or(&recording.run.merged, |it| &it.whole);
    let is_wanted = |it: &insights::Finding| found.has_line(&it.place);
    let findings = findings(recording, ledger, &options.rules, &suppression, is_wanted);
    let mut sections = match &found {
        Found::Lines { lines, .. } => sections::of_lines(recording, lines, options),
        Found::Launched { .. } | Found::Operator { .. } => {
            sections::of_name(recording, &found, options)
        }
    };
    sections.retain(|it| !it.rows.is_empty());
    let of_code = || Note::plain(format!("only lines with {}", options.code.text()));
    let mut notes = options.part.map(|it| it.summary.notes.clone()).unwrap_or_default();
    notes.extend((!options.code.is_empty()).then(of_code));
    if let (Found::Lines { lines, .. }, None) = (&found, options.part) {
        notes.extend(on_critical_path(recording, lines, options.period()));
    }
    let has_findings = options.part.is_some() && !findings.is_empty();
    notes.extend(has_findings.then(|| Note::plain(RecordingPart::OF_FINDINGS)));
    Ok(Shown {
        title: found.title(recording),
        text: found.text(recording),
        notes,
        filter: options.part.map_or_else(|| options.code.json(), |it| it.filter.clone()),
        findings,
        sections,
    })
}

/// What lines have on the critical path of the run, if they have something.
fn on_critical_path(
    recording: &Recording<'_>,
    lines: &[(&LineKey, &LineBooks)],
    period: Period,
) -> Option<Note> {
    let path = match CriticalPath::of_ranks(recording.run, &recording.run.merged) {
        Ok(path) => path?,
        Err(error) => return Some(Note::alarm(format!("the critical path is not known: {error}"))),
    };
    let text = ide::on_critical_path(&path, lines.iter().map(|(key, _)| *key), period)?;
    Some(Note::plain(text))
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
    for note in &shown.notes {
        let style = if note.level == Level::Plain { FAINT } else { DOUBT };
        text::paragraph(out, &note.marked(), style, terminal)?;
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
    write!(out, ",\n \"text\": {}", escaped(&json!(shown.text)))?;
    let notes = shown.notes.iter().map(json::note).collect::<Vec<_>>();
    write!(out, ",\n \"notes\": {}", escaped(&json!(notes)))?;
    writeln!(out, ",\n \"filter\": {},", escaped(&shown.filter))?;
    let findings = shown.findings.iter().map(|it| escaped(&json::finding(it)));
    write_list(out, "findings", findings)?;
    writeln!(out, ",")?;
    write_list(out, "sections", shown.sections.iter().map(|it| escaped(&json::section(it))))?;
    writeln!(out, "}}")
}

#[cfg(test)]
mod tests;
