//! What `torch.compile` compiled, what that took, and why it compiled again or ended a graph: from the log of the compiler.

use std::collections::{BTreeMap, BTreeSet};

use ide::recompile_reason;
use ledger::{CompiledFunction, LineKey};
use metrics::{Period, Scale, Unit};

use super::NamedTable;
use crate::model::{Cell, Column, Note, Section, Subject};
use crate::recording::Recording;
use crate::summary;

/// The columns that a narrow terminal can do without, the first of them first.
const DISPENSABLE: [&str; 1] = ["share"];

/// The functions that were compiled since the program began, those that took longest first.
#[must_use]
pub fn build(recording: &Recording<'_>) -> NamedTable {
    let ledger = &recording.run.merged;
    let mut section = Section::new(
        "compile",
        "Compiled functions",
        Subject::Run,
        [
            Column::number("time", Unit::Ns),
            Column::number("share", Unit::Share),
            Column::number("compiles", Unit::Count),
            Column::text("line"),
            Column::text("function"),
            Column::text("compiled again for"),
            Column::text("graphs end at"),
        ],
    );
    let mut breaks: BTreeMap<&LineKey, Vec<String>> = BTreeMap::new();
    for (place, reasons) in &ledger.graph_breaks {
        if let Some(function) = function_around(&ledger.compiled, place) {
            let reasons = joined(reasons.iter().map(String::as_str));
            breaks.entry(function).or_default().push(format!(":{} {reasons}", place.line));
        }
    }
    let mut functions: Vec<(&LineKey, &CompiledFunction)> = ledger.compiled.iter().collect();
    functions.sort_by_key(|(_, it)| std::cmp::Reverse(it.time));
    let whole: i64 = functions.iter().map(|(_, it)| it.time.0).sum();
    let row = |(place, it): &(&LineKey, &CompiledFunction)| {
        let reasons: Vec<String> = it
            .reasons
            .iter()
            .map(|(text, it)| recompile_reason(text, &it.sizes.iter().copied().collect::<Vec<_>>()))
            .collect();
        vec![
            Cell::duration(it.time),
            Cell::part(it.time.0, whole),
            Cell::integer(it.compiles),
            Cell::place(recording.place(place)),
            Cell::text(&it.name),
            Cell::text(joined(reasons.iter().map(String::as_str))),
            Cell::text(breaks.get(place).map(|it| it.join("; ")).unwrap_or_default()),
        ]
    };
    section.rows = functions.iter().map(row).collect();
    if functions.is_empty() {
        section.notes.push(Note::plain(
            "The log of torch.compile says what was compiled: perfline record writes it beside the trace, else set TORCH_TRACE \
             to a folder before the program starts.",
        ));
    }
    let scale = Scale::new(ledger, Period::Mean);
    NamedTable {
        summary: summary::summary(recording.run, &scale),
        section,
        dispensable: &DISPENSABLE,
    }
}

/// The compiled function in which a line most likely is: the last that begins before it.
fn function_around<'a>(
    compiled: &'a BTreeMap<LineKey, CompiledFunction>,
    place: &LineKey,
) -> Option<&'a LineKey> {
    let before = compiled.range(..=place).next_back().map(|(key, _)| key);
    before.filter(|it| it.file == place.file)
}

/// Each text once.
fn joined<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let texts: BTreeSet<&str> = texts.collect();
    texts.into_iter().collect::<Vec<_>>().join("; ")
}
