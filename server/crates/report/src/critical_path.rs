//! The critical path of the steps of a run: what they went to one after the other, by line.

use std::collections::BTreeMap;
use std::io::{self, Write};

use ::ranks::{Clocks, Comparison, CriticalPath, PathLine};
use ledger::{Ns, PathTime};

use crate::fields::{FieldValue, object, place_fields, write_list};
use crate::filter::CodeFilter;
use crate::model::{Cell, CellValue, Column, Note, Section, Subject, Unit, duration};
use crate::recording::Recording;

/// Part of the time of a path: its stable name, its name, its time.
type PathPart = (&'static str, &'static str, fn(&PathTime) -> Ns);

const PARTS: [PathPart; 5] = [
    ("device_us", "device", |it| it.device),
    ("host_us", "host", |it| it.host),
    ("launch_us", "launch", |it| it.launch),
    ("communication_us", "communication", |it| it.communication),
    ("gap_us", "gaps", |it| it.gap),
];

/// The critical path of a recording whose ranks are `compared`, if they are several.
fn path(recording: &Recording<'_>, compared: Option<&Comparison>) -> Option<CriticalPath> {
    let ledger = &recording.run.merged;
    match compared {
        Some(it) => CriticalPath::new(ledger, &it.matched, &it.clocks),
        None => CriticalPath::new(ledger, &[], &Clocks::default()),
    }
}

/// The lines with most of the critical path, at most `top`, and of them those that `code` has. Times are of the mean step.
pub(crate) fn section(
    recording: &Recording<'_>,
    compared: Option<&Comparison>,
    code: &CodeFilter,
    top: usize,
) -> Section {
    let path = path(recording, compared).unwrap_or_default();
    let has_ranks = compared.is_some_and(|it| 1 < it.ranks.len());
    let mut columns = vec![Column::number("share", Unit::Share), Column::number("path", Unit::Ns)];
    columns.extend(PARTS.map(|(_, name, _)| Column::number(name, Unit::Ns)));
    columns.extend(has_ranks.then(|| Column::text("ranks")));
    columns.extend(["", "line", "function"].map(Column::text));
    let mut section = Section::new("critical-path", "Critical path", Subject::Lines, columns);
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
        let parts = PARTS.map(|(.., part)| Cell::duration(per_step(part(&it.time))).unless_zero());
        let mut row = vec![Cell::part(sum.0, whole.0), Cell::duration(per_step(sum))];
        row.extend(parts);
        row.extend(has_ranks.then(|| Cell::text(shares(&it.by_rank, sum))));
        let books = it.line.as_ref().and_then(|line| recording.run.merged.lines.get(line));
        row.push(books.map(|it| Cell::evidence(it.evidence)).unwrap_or_default());
        row.push(it.line.as_ref().map(|it| Cell::place(recording.place(it))).unwrap_or_default());
        row.push(Cell::text(books.map_or("", |it| it.function.as_str())));
        section.rows.push(row);
    }
    if whole != Ns::ZERO {
        let mut parts: Vec<(&str, Ns)> =
            PARTS.iter().map(|(_, name, part)| (*name, part(&path.time))).collect();
        parts.retain(|(_, time)| *time != Ns::ZERO);
        parts.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        let parts: Vec<String> = parts
            .into_iter()
            .map(|(name, time)| format!("{name} {}", share(time, whole)))
            .collect();
        let of = if path.steps == 1 { "" } else { " of the mean step" };
        let mut text = format!("{}{of}: {}", duration(per_step(whole)), parts.join(", "));
        if has_ranks {
            text = format!("{text}; on {}", shares(&path.by_rank, whole));
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
    let path = path(recording, Some(compared)).unwrap_or_default();
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
        let mut fields = vec![("file", file), ("line", line)];
        fields.push(("path_us", FieldValue::Time(per_step(it.time.sum()))));
        let parts =
            PARTS.iter().map(|(id, _, part)| (*id, FieldValue::Time(per_step(part(&it.time)))));
        fields.extend(parts);
        fields.push(("ranks", FieldValue::Json(format!("[{}]", ranks.join(", ")))));
        object(&fields)
    });
    write_list(out, "critical_path", lines)
}

/// Which ranks, with their shares where they are several: `r1 87 %, r0 13 %`.
fn shares(by_rank: &BTreeMap<u32, Ns>, whole: Ns) -> String {
    const SHOWN: usize = 2;
    let mut ranks: Vec<(u32, Ns)> = by_rank.iter().map(|(&rank, &time)| (rank, time)).collect();
    ranks.sort_by_key(|&(rank, time)| (std::cmp::Reverse(time), rank));
    if let [(rank, _)] = ranks[..] {
        return format!("r{rank}");
    }
    let mut texts: Vec<String> = ranks
        .iter()
        .take(SHOWN)
        .map(|&(rank, time)| format!("r{rank} {}", share(time, whole)))
        .collect();
    let more = ranks.len().saturating_sub(SHOWN);
    texts.extend((0 < more).then(|| format!("{more} more")));
    texts.join(", ")
}

fn share(time: Ns, whole: Ns) -> String {
    Cell::part(time.0, whole.0).text
}
