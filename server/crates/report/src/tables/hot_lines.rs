//! The lines with most of a metric.

use ide::View;
use ledger::LineKey;
use metrics::{Period, Scale, Unit};

use super::NamedTable;
use crate::annotate::without_lines;
use crate::filter::CodeFilter;
use crate::model::{Cell, CellValue, Column, Note, Section, Subject};
use crate::recording::Recording;
use crate::summary;
use crate::terminal::cut;

/// Columns of the text of a statement that are shown.
const WIDEST: usize = 100;

/// The `top` lines that pass `code` with most of the metric of `view`, the largest first; those of libraries only with `all`, or
/// where no file is yours.
#[must_use]
pub fn build(
    recording: &Recording<'_>,
    view: &View,
    code: &CodeFilter,
    top: usize,
    all: bool,
) -> NamedTable {
    let ledger = &recording.run.merged;
    let scale = Scale::new(ledger, view.period);
    let quantity = ide::hot_quantity(ledger, view);
    let columns = [
        Column::number("share", Unit::Share),
        Column::number(quantity.heading(), quantity.unit()),
        Column::text(""),
        Column::text("line"),
        Column::text("function"),
        Column::text("statement"),
    ];
    let mut section = Section::new("hot-lines", "Lines that cost most", Subject::Lines, columns);
    let passes = |file: &str, line: u32| code.has_line(recording, file, line);
    let lines = ide::hot_lines(ledger, view, usize::MAX, !all, passes);
    section.left_out = lines.len().saturating_sub(top);
    section.rows = lines
        .into_iter()
        .take(top)
        .map(|it| {
            let key = LineKey { file: it.file, line: it.line };
            let statement = recording.statement(&key);
            vec![
                Cell::share(it.share),
                Cell { value: CellValue::Real(it.value, quantity.unit()), text: it.text },
                Cell::evidence(it.evidence),
                Cell::place(recording.place(&key)),
                Cell::text(it.function),
                statement.map_or_else(Cell::default, |it| Cell::text(cut(&it, Some(WIDEST)))),
            ]
        })
        .collect();
    let period = match scale.period() {
        Period::Run => "over the recording, all ranks together",
        _ => "of the mean step of a rank",
    };
    section.notes.push(Note::plain(format!("{}, {period}", quantity.label())));
    if section.rows.is_empty()
        && let Some(reason) = without_lines(recording.run)
    {
        section.notes.push(Note::doubt(reason));
    }
    NamedTable {
        summary: summary::summary(recording.run, &scale),
        section,
        dispensable: &["statement", "function"],
        filter: serde_json::Value::Null,
    }
}
