//! The report as JSON.

use std::io::{self, Write};

use serde_json::{Value as Json, json};

use crate::fields::write_list;
use crate::model::{
    self, Cell, Column, Place, Report, ReportedFinding, Section, Summary, Unit, Verdict,
};

/// The name and version of the contract.
const SCHEMA: &str = "perfline.report/1";

/// The report as `perfline.report/1` (docs/cli.md).
#[must_use]
pub fn report(report: &Report<'_>) -> Json {
    Json::Object(
        fields(report, &[]).map(|(name, value)| (name.to_owned(), value)).into_iter().collect(),
    )
}

/// The fields in the order in which they are printed; of findings and sections, those that `names` has, if it has any.
fn fields(report: &Report<'_>, names: &[String]) -> [(&'static str, Json); 9] {
    let is_wanted = |id: &str| names.is_empty() || names.iter().any(|it| it == id);
    let (wanted, others): (Vec<&Section>, Vec<&Section>) =
        report.sections.iter().partition(|it| is_wanted(it.id));
    let top = if is_wanted(model::FINDINGS) { report.top } else { 0 };
    [
        ("schema", json!(SCHEMA)),
        ("run", summary(report)),
        ("filter", report.filter.clone()),
        ("verdict", report.verdict.as_ref().map_or(Json::Null, verdict)),
        ("findings", report.findings.iter().take(top).map(finding).collect()),
        ("findings_left_out", json!(report.findings.len().saturating_sub(top))),
        ("sections", wanted.into_iter().map(section).collect()),
        ("sections_left_out", others.iter().map(|it| it.id).collect()),
        ("exceeded", json!(report.exceeded)),
    ]
}

/// JSON on one line, safe to look at: characters that a terminal or an editor would obey or not show are escaped, too.
#[must_use]
pub fn escaped(value: &Json) -> String {
    crate::fields::escaped(value)
}

/// Prints the report as `perfline.report/1`, a finding or a section a line; of these, those that `sections` names, if any.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_report(
    out: &mut dyn Write,
    report: &Report<'_>,
    sections: &[String],
) -> io::Result<()> {
    for (index, (name, value)) in fields(report, sections).iter().enumerate() {
        write!(out, "{}", if index == 0 { "{" } else { ",\n" })?;
        match value {
            Json::Array(entries) => write_list(out, name, entries.iter().map(escaped))?,
            value => write!(out, " \"{name}\": {}", escaped(value))?,
        }
    }
    writeln!(out, "}}")
}

fn summary(report: &Report<'_>) -> Json {
    let Summary { recording, notes, .. } = &report.summary;
    let notes = notes.iter().map(note).collect::<Vec<_>>();
    let figures = report.figures.iter().map(|it| json!({"name": it.name, "text": it.text}));
    json!({
        "recording": recording,
        "title": report.summary.title(),
        "notes": notes,
        "figures": figures.collect::<Vec<_>>(),
    })
}

fn verdict(it: &Verdict) -> Json {
    let part = |&(name, share): &(&str, f64)| json!({"name": name, "share": share});
    json!({
        "limit": it.limit.name(),
        "text": it.text,
        "parts": it.parts.iter().map(part).collect::<Vec<_>>(),
    })
}

pub(crate) fn note(note: &model::Note) -> Json {
    json!({"text": note.text, "level": note.level.name()})
}

pub(crate) fn finding(it: &ReportedFinding) -> Json {
    json!({
        "rule": it.rule,
        "severity": it.severity.name(),
        "file": it.place.file,
        "line": it.place.line,
        "function": it.function,
        "evidence": it.evidence.name(),
        "cost_ns": it.cost.0,
        "cost_per_step_ns": it.cost_per_step.map(|it| it.0),
        "share": it.share,
        "message": it.message,
        "remedy": it.remedy,
    })
}

pub(crate) fn section(section: &Section) -> Json {
    let column = |it: &Column| json!({"name": it.name, "unit": it.unit.map(Unit::name), "align": it.align.name()});
    let row = |row: &Vec<Cell>| {
        let cells = row.iter().zip(&section.columns).map(|(it, column)| cell(it, column));
        cells.collect::<Vec<_>>()
    };
    json!({
        "id": section.id,
        "title": section.title,
        "subject": section.subject.name(),
        "columns": section.columns.iter().map(column).collect::<Vec<_>>(),
        "rows": section.rows.iter().map(row).collect::<Vec<_>>(),
        "left_out": section.left_out,
        "notes": section.notes.iter().map(note).collect::<Vec<_>>(),
    })
}

/// The text of a cell and its value; the unit where the column has none.
fn cell(cell: &Cell, column: &Column) -> Json {
    let number = |value: Json, unit: Unit| match column.unit {
        Some(_) => json!({"text": cell.text, "value": value}),
        None => json!({"text": cell.text, "value": value, "unit": unit.name()}),
    };
    let place = |it: &Place| json!({"file": it.file, "line": it.line});
    match &cell.value {
        model::CellValue::Nothing => Json::Null,
        model::CellValue::Text => json!({"text": cell.text}),
        model::CellValue::Integer(value, unit) => number(json!(value), *unit),
        model::CellValue::Real(value, unit) => number(json!(value), *unit),
        model::CellValue::Places(places) => {
            json!({"text": cell.text, "places": places.iter().map(place).collect::<Vec<_>>()})
        }
        model::CellValue::Evidence(evidence) => {
            json!({"text": cell.text, "evidence": evidence.name()})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{recording, sources, training};

    #[test]
    fn what_is_printed_is_what_editors_get() {
        let (run, sources) = (training(), sources());
        let options = crate::ReportOptions::new(9, insights::RuleOptions::default());
        let built = crate::build(&recording(&run, &sources), &options);
        let mut out = Vec::new();
        write_report(&mut out, &built, &[]).unwrap();
        assert_eq!(serde_json::from_slice::<Json>(&out).unwrap(), report(&built));
    }
}
