//! What ranks communicated: by kind, process group and size of the message.

use ledger::{Metric, Ns};
use metrics::{Period, Scale, Unit};
use ranks::{Bandwidth, CommunicationOperation, Comparison, operations};

use super::NamedTable;
use super::lines_of::LinesOf;
use crate::model::{Cell, Column, Note, Section, Subject};
use crate::recording::Recording;
use crate::summary;

/// The columns that a narrow terminal can do without, the first of them first.
const DISPENSABLE: [&str; 7] =
    ["on", "ranks", "longest", "algorithm", "share", "shortest", "group"];

/// The collectives of a recording, and what goes from one rank to one other, those that took longest first.
#[must_use]
pub fn build(recording: &Recording<'_>) -> NamedTable {
    let ledger = &recording.run.merged;
    let compared = Comparison::new(ledger);
    let rows = operations(ledger, compared.as_ref());
    let whole: Ns = rows.iter().map(|it| it.time).sum();
    let mut section = Section::new(
        "comm",
        "Communication",
        Subject::Run,
        [
            Column::number("share", Unit::Share),
            Column::number("time", Unit::Ns),
            Column::number("wait", Unit::Ns),
            Column::number("calls", Unit::Count),
            Column::number("mean", Unit::Ns),
            Column::number("shortest", Unit::Ns),
            Column::number("longest", Unit::Ns),
            Column::number("message", Unit::Bytes),
            Column::number("algorithm", Unit::BytesPerSecond),
            Column::number("bus", Unit::BytesPerSecond),
            Column::text("kind"),
            Column::text("on"),
            Column::number("ranks", Unit::Count),
            Column::text("group"),
            Column::text("lines"),
        ],
    );
    section.rows = rows.iter().map(|it| cells(recording, it, whole)).collect();
    section.notes = notes(&rows, compared.as_ref());
    let scale = Scale::new(ledger, Period::Mean);
    NamedTable {
        summary: summary::summary(recording.run, &scale),
        section,
        dispensable: &DISPENSABLE,
        filter: serde_json::Value::Null,
    }
}

fn cells(recording: &Recording<'_>, it: &CommunicationOperation, whole: Ns) -> Vec<Cell> {
    let mean = it.time.as_f64() / it.calls.max(1) as f64;
    let lines: LinesOf<'_> = it.lines.iter().map(|(line, time)| (line, time.0)).collect();
    let [algorithm, bus] = match it.bandwidth {
        Some(bandwidth) => bandwidths(bandwidth),
        None => [Cell::default(), Cell::default()],
    };
    vec![
        Cell::part(it.time.0, whole.0),
        Cell::amount(Metric::Comm, it.time.0),
        it.wait.map(Cell::duration).unwrap_or_default(),
        Cell::integer(it.calls),
        Cell::real(mean, Unit::Ns),
        Cell::duration(it.shortest),
        Cell::duration(it.longest),
        it.bytes.map(Cell::bytes).unwrap_or_default(),
        algorithm,
        bus,
        Cell::text(it.kind.name()),
        Cell::text(if it.is_on_device { "device" } else { "host" }),
        it.group_size.map(Cell::integer).unwrap_or_default(),
        Cell::text(it.group.as_str()),
        lines.cell(recording),
    ]
}

/// As text, what is a lower bound says so.
fn bandwidths(it: Bandwidth) -> [Cell; 2] {
    let cell = |rate: f64| {
        let cell = Cell::real(rate, Unit::BytesPerSecond);
        let text = if it.is_of_transfer { cell.text } else { format!("≥ {}", cell.text) };
        Cell { text, ..cell }
    };
    [cell(it.algorithm), it.bus.map(cell).unwrap_or_default()]
}

fn notes(rows: &[CommunicationOperation], compared: Option<&Comparison>) -> Vec<Note> {
    let mut notes = Vec::new();
    if rows.iter().filter_map(|it| it.bandwidth).any(|it| !it.is_of_transfer) {
        notes.push(Note::plain(
            "≥: the other ranks of the group were not read, and the time in a call has waiting for them in it; the shortest call waited least",
        ));
    }
    if let Some(missing) = compared.and_then(Comparison::missing) {
        notes.push(Note::doubt(format!(
            "{missing}: waiting for a rank that is not counts as communication"
        )));
    }
    if !rows.is_empty() && rows.iter().all(|it| it.bytes.is_none()) {
        notes.push(Note::plain(
            "the recording has no sizes of messages; with gloo they are there with record_shapes=True",
        ));
    }
    notes
}
