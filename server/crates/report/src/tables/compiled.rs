//! What `torch.compile` compiled, what that took, and why it compiled again or ended a graph: from the log of the compiler.

use std::collections::BTreeMap;

use ide::recompile_cause;
use ledger::{CompilePhases, CompiledFunction, LineKey, Ns};
use metrics::{Period, Scale, Unit};

use super::NamedTable;
use crate::model::{Cell, Column, Note, Section, Subject, duration};
use crate::recording::Recording;
use crate::summary;

/// The columns that a narrow terminal can do without, the first of them first.
const DISPENSABLE: [&str; 5] = ["share", "tracing", "autograd", "inductor", "kernels"];

/// The functions that were compiled since the program began, those that took longest first; those of libraries only with `all`, or
/// where no other was compiled. Each reason has a row of its own below its function, unless `is_whole`: all are in the row of
/// the function then.
#[must_use]
pub fn build(recording: &Recording<'_>, all: bool, is_whole: bool) -> NamedTable {
    let ledger = &recording.run.merged;
    // Logs of before PyTorch 2.6, and those that were cut by earlier recorders, have none.
    let has_phases = ledger.compiled.values().any(|it| it.phases != CompilePhases::default());
    let mut columns = vec![
        Column::number("time", Unit::Ns),
        Column::number("share", Unit::Share),
        Column::number("compiles", Unit::Count),
    ];
    if has_phases {
        let names = CompilePhases::default().named().map(|(name, _)| name);
        columns.extend(names.map(|name| Column::number(name, Unit::Ns)));
    }
    columns.extend(["line", "function", "why"].map(Column::text));
    let mut section = Section::new("compile", "Compiled functions", Subject::Run, columns);
    let mut breaks: BTreeMap<&LineKey, Vec<String>> = BTreeMap::new();
    for (place, reasons) in &ledger.graph_breaks {
        let Some(function) = function_around(&ledger.compiled, place) else { continue };
        for reason in reasons {
            let text = format!("graph ends at :{}: {reason}", place.line);
            breaks.entry(function).or_default().push(text);
        }
    }
    let mut functions: Vec<(&LineKey, &CompiledFunction)> = ledger.compiled.iter().collect();
    functions.sort_by_key(|(_, it)| std::cmp::Reverse(it.time));
    let whole: i64 = functions.iter().map(|(_, it)| it.time.0).sum();
    let is_user_code = |(place, _): &(&LineKey, &CompiledFunction)| {
        ledger.files.get(&place.file).is_some_and(|it| it.is_user_code)
    };
    if !all && functions.iter().any(is_user_code) {
        let of_libraries = functions.extract_if(.., |it| !is_user_code(it));
        let times: Vec<Ns> = of_libraries.map(|(_, it)| it.time).collect();
        if !times.is_empty() {
            let number = match times.len() {
                1 => "1 function".to_owned(),
                n => format!("{n} functions"),
            };
            let time = duration(times.into_iter().sum());
            section
                .notes
                .push(Note::plain(format!("without {number} of libraries, {time} (--all)")));
        }
    }
    for (place, it) in &functions {
        let again = it.reasons.iter().map(|(cause, it)| {
            let values: Vec<u64> = it.values.iter().copied().collect();
            format!("again for {}", recompile_cause(cause, &values))
        });
        let why: Vec<String> = again.chain(breaks.remove(place).unwrap_or_default()).collect();
        let (first, rest) = match why.as_slice() {
            [first, rest @ ..] if !is_whole => (first.clone(), rest),
            all => (all.join("; "), &[][..]),
        };
        let mut row =
            vec![Cell::duration(it.time), Cell::part(it.time.0, whole), Cell::integer(it.compiles)];
        if has_phases {
            row.extend(it.phases.named().map(|(_, time)| Cell::duration(time)));
        }
        row.extend([Cell::place(recording.place(place)), Cell::text(&it.name), Cell::text(first)]);
        section.rows.push(row);
        for text in rest {
            let mut row = vec![Cell::default(); section.columns.len() - 1];
            row.push(Cell::text(text));
            section.rows.push(row);
        }
    }
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
        filter: serde_json::Value::Null,
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
