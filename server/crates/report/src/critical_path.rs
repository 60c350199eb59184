//! The critical path of the steps of a run: what they went to one after the other, by line.

use std::io::{self, Write};

use ::ranks::{Comparison, CriticalPath, PathLine};
use ledger::{Ns, PathTime};

use crate::fields::{FieldValue, object, place_fields, write_list};
use crate::filter::CodeFilter;
use crate::model::{Cell, CellValue, Column, Note, Section, Subject, Unit, duration};
use crate::recording::Recording;

/// The lines with most of the critical path, at most `top`, and of them those that `code` has. Times are of the mean step.
pub(crate) fn section(
    recording: &Recording<'_>,
    compared: Option<&Comparison>,
    code: &CodeFilter,
    top: usize,
) -> Section {
    let found = CriticalPath::new(recording.run, compared);
    let (path, failure) = match found {
        Ok(path) => (path.unwrap_or_default(), None),
        Err(error) => (CriticalPath::default(), Some(error)),
    };
    let has_ranks = compared.is_some_and(|it| 1 < it.ranks.len());
    let mut columns = vec![Column::number("share", Unit::Share), Column::number("path", Unit::Ns)];
    columns.extend(PathTime::default().parts().map(|(name, _)| Column::number(name, Unit::Ns)));
    columns.extend(has_ranks.then(|| Column::text("ranks")));
    columns.extend(["", "line", "function"].map(Column::text));
    let mut section = Section::new("critical-path", "Critical path", Subject::Lines, columns);
    section.notes.extend(failure.map(|it| Note::alarm(format!("is not known: {it}"))));
    let whole = path.time.sum();
    let per_step = |time: Ns| path.per_step(time);
    let passes = |it: &&PathLine| match &it.line {
        Some(line) => code.has_line(recording, &line.file, line.line),
        None => code.is_empty(),
    };
    let listed: Vec<&PathLine> = path.lines.iter().filter(passes).collect();
    section.left_out = listed.len().saturating_sub(top);
    for it in listed.into_iter().take(top) {
        let sum = it.time.sum();
        let parts = it.time.parts();
        let parts = parts.map(|(_, time)| Cell::duration(per_step(time)).unless_zero());
        let mut row = vec![Cell::part(sum.0, whole.0), Cell::duration(per_step(sum))];
        row.extend(parts);
        row.extend(has_ranks.then(|| Cell::text(ide::rank_shares(&it.by_rank, sum))));
        let books = it.line.as_ref().and_then(|line| recording.run.merged.lines.get(line));
        row.push(books.map(|it| Cell::evidence(it.evidence)).unwrap_or_default());
        row.push(it.line.as_ref().map(|it| Cell::place(recording.place(it))).unwrap_or_default());
        row.push(Cell::text(books.map_or("", |it| it.function.as_str())));
        section.rows.push(row);
    }
    if whole != Ns::ZERO {
        let parts = ide::path_parts(&path.time);
        let of = if path.steps == 1 { "" } else { " of the mean step" };
        let mut text = format!("{}{of}: {parts}", duration(per_step(whole)));
        if has_ranks {
            text = format!("{text}; on {}", ide::rank_shares(&path.by_rank, whole));
        }
        section.notes.push(Note::plain(text));
    }
    section
}

/// How many lines a sentence names.
const IN_SHORT: usize = 3;

/// The first lines of [`section`] in a sentence.
pub(crate) fn in_short(section: &Section) -> Option<Note> {
    let line = |row: &Vec<Cell>| {
        let place = row.iter().find(|it| matches!(it.value, CellValue::Places(_)))?;
        Some(format!("{} {}", place.text, row.first()?.text))
    };
    let lines: Vec<String> = section.rows.iter().filter_map(line).take(IN_SHORT).collect();
    let text = format!("on the critical path: {}", lines.join(", "));
    (!lines.is_empty()).then(|| Note::plain(text))
}

/// Writes the lines of the critical path as a list of `perfline.ranks/1` (docs/cli.md).
pub(crate) fn write_json(
    out: &mut dyn Write,
    recording: &Recording<'_>,
    compared: &Comparison,
) -> io::Result<()> {
    let path = CriticalPath::new(recording.run, Some(compared))?.unwrap_or_default();
    let per_step = |time: Ns| path.per_step(time);
    let lines = path.lines.iter().map(|it| {
        let [file, line] = place_fields(recording, it.line.as_ref());
        let ranks: Vec<String> = it
            .by_rank
            .iter()
            .map(|(&rank, &time)| {
                let time = FieldValue::Time(per_step(time));
                object(&[("rank", FieldValue::number(rank)), ("path_us", time)])
            })
            .collect();
        let mut fields = vec![("file".to_owned(), file), ("line".to_owned(), line)];
        fields.push(("path_us".to_owned(), FieldValue::Time(per_step(it.time.sum()))));
        let parts = it.time.parts();
        let parts =
            parts.map(|(name, time)| (format!("{name}_us"), FieldValue::Time(per_step(time))));
        fields.extend(parts);
        fields.push(("ranks".to_owned(), FieldValue::Json(format!("[{}]", ranks.join(", ")))));
        object(&fields)
    });
    write_list(out, "critical_path", lines)
}
