//! A table as text and as JSON.

use std::io::{self, Write};

use loader::StackBooks;
use serde_json::json;

use super::NamedTable;
use crate::fields::escaped;
use crate::json;
use crate::model::{Note, Section};
use crate::recording::Recording;
use crate::terminal::{FAINT, Terminal};
use crate::text;

/// The name and version of the contract.
const SCHEMA: &str = "perfline.table/1";

/// The stacks of a recording.
///
/// # Errors
/// If it was loaded without.
pub(super) fn stacks<'a>(recording: &'a Recording<'_>) -> io::Result<&'a StackBooks> {
    let stacks = recording.run.stacks.as_ref();
    stacks.ok_or_else(|| io::Error::other("the recording was loaded without stacks"))
}

/// Prints what the recording is, and at most `top` rows.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_text(
    out: &mut dyn Write,
    table: &NamedTable,
    top: usize,
    terminal: &Terminal,
) -> io::Result<()> {
    writeln!(out, "{}", terminal.titled(&table.summary.recording, &table.summary.extent))?;
    if table.section.rows.is_empty() {
        let what = table.section.title.to_lowercase();
        writeln!(out, "{}", terminal.paint(FAINT, &format!("no {what} in this recording")))?;
        return table
            .section
            .notes
            .iter()
            .try_for_each(|it| text::paragraph(out, &it.text, FAINT, terminal));
    }
    let mut shown = Section { rows: Vec::new(), ..table.section.clone() };
    shown.rows = table.section.rows.iter().take(top).cloned().collect();
    shown.left_out += table.section.rows.len() - shown.rows.len();
    let left_out = leave_out(&mut shown, table.dispensable, terminal);
    if !left_out.is_empty() {
        let names = left_out.join(", ");
        shown.notes.push(Note::plain(format!("too narrow for {names}")));
    }
    text::section(out, &shown, terminal)
}

/// Takes columns out of a table until it fits the terminal, and gives their names.
fn leave_out(
    section: &mut Section,
    dispensable: &[&'static str],
    terminal: &Terminal,
) -> Vec<&'static str> {
    let mut left_out = Vec::new();
    let Some(width) = terminal.width else { return left_out };
    let mut candidates = dispensable.iter();
    while width < text::table_width(section) {
        let Some(name) = candidates.next() else { break };
        let is_it = |&index: &usize| section.columns[index].name == *name;
        if let Some(index) = section.used_columns().into_iter().find(is_it) {
            section.columns.remove(index);
            section.rows.iter_mut().for_each(|row| drop(row.remove(index)));
            left_out.push(*name);
        }
    }
    left_out
}

/// Writes the table as `perfline.table/1` (docs/cli.md), with all rows.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_json(out: &mut dyn Write, table: &NamedTable) -> io::Result<()> {
    let value = json!({
        "schema": SCHEMA,
        "recording": table.summary.title(),
        "filter": table.filter,
        "table": json::section(&table.section),
    });
    writeln!(out, "{}", escaped(&value))
}
