//! A comparison as `perfline.diff/1` (docs/compare.md).

use std::io::{self, Write};

use comparison::{
    AmountDifference, EditedLines, FunctionDifference, KernelReplacement, NamedDifference,
    OtherWork, Shift,
};
use ledger::{LineKey, Ns};
use metrics::Unit;

use super::build::DiffReport;
use super::finding::FindingDifference;
use crate::fields::{FieldValue, object, write_list};

/// Prints a comparison as `perfline.diff/1`, an entry a line.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(out: &mut dyn Write, diff: &DiffReport<'_>) -> io::Result<()> {
    let difference = &diff.difference;
    writeln!(out, "{{\"schema\": \"perfline.diff/1\",")?;
    writeln!(out, " \"verdict\": {},", FieldValue::text(diff.verdict.as_str()).json())?;
    let step = &difference.step;
    let [base, new] = step.mean;
    let mut steps = vec![
        ("base_steps", FieldValue::number(step.steps[0] as u64)),
        ("new_steps", FieldValue::number(step.steps[1] as u64)),
        ("base_us", time(base)),
        ("new_us", time(new)),
        ("delta_us", time(new - base)),
    ];
    steps.extend(interval(step.shift));
    steps.push(("significant", boolean(step.significant)));
    steps.push(("same_work", boolean(Some(step.is_same_work))));
    writeln!(out, " \"steps\": {},", object(&steps))?;
    let drift = &difference.drift;
    let drift = [
        ("factor", real(drift.factor)),
        ("spread", real(drift.spread)),
        ("lines", FieldValue::number(drift.lines as u64)),
    ];
    writeln!(out, " \"drift\": {},", object(&drift))?;
    list(out, "totals", difference.totals.iter().map(|it| object(&amount(it))))?;
    list(out, "lines", lines(diff).into_iter())?;
    list(out, "functions", functions(diff).into_iter())?;
    list(out, "other_work", difference.other_work.iter().map(|it| other_work(diff, it)))?;
    list(out, "operators", difference.operators.iter().map(named))?;
    list(out, "kernels", difference.kernels.iter().map(named))?;
    list(out, "replaced_kernels", difference.replacements.iter().map(|it| replaced(diff, it)))?;
    list(out, "findings", diff.findings.iter().map(|it| finding(diff, it)))?;
    write_list(out, "edits", difference.edits.iter().map(|it| edit(diff, it)))?;
    writeln!(out, "}}")
}

fn list(out: &mut dyn Write, name: &str, entries: impl Iterator<Item = String>) -> io::Result<()> {
    write_list(out, name, entries)?;
    writeln!(out, ",")
}

/// Nanoseconds, to the nearest.
fn time(ns: f64) -> FieldValue<'static> {
    FieldValue::Time(Ns(ns.round() as i64))
}

fn real(number: f64) -> FieldValue<'static> {
    FieldValue::Json(format!("{number:.4}"))
}

fn boolean(value: Option<bool>) -> FieldValue<'static> {
    FieldValue::Json(value.map_or_else(|| "null".to_owned(), |it| it.to_string()))
}

fn null() -> FieldValue<'static> {
    FieldValue::Json("null".to_owned())
}

type Fields<'a> = Vec<(&'static str, FieldValue<'a>)>;

fn interval(shift: Option<Shift>) -> [(&'static str, FieldValue<'static>); 2] {
    match shift {
        Some(it) => [("low_us", time(it.low)), ("high_us", time(it.high))],
        None => [("low_us", null()), ("high_us", null())],
    }
}

fn amount(it: &AmountDifference) -> Fields<'static> {
    let mut fields = vec![("metric", FieldValue::text(it.quantity.id()))];
    if it.quantity.unit() == Unit::Bytes {
        let bytes = |number: f64| FieldValue::number(number.round() as i64);
        fields.extend([
            ("base_bytes", bytes(it.base)),
            ("new_bytes", bytes(it.new)),
            ("delta_bytes", bytes(it.delta())),
        ]);
    } else {
        fields.extend([
            ("base_us", time(it.base)),
            ("new_us", time(it.new)),
            ("delta_us", time(it.delta())),
        ]);
        fields.extend(interval(it.shift));
    }
    fields.push(("significant", boolean(it.significant)));
    fields.push(("same_work", boolean(Some(it.is_same_work))));
    fields
}

/// A row for each line and metric, the largest difference first: of times, then of bytes.
fn lines(diff: &DiffReport<'_>) -> Vec<String> {
    let rows = diff.difference.lines.iter();
    let mut rows: Vec<_> =
        rows.flat_map(|it| it.amounts.iter().map(move |amount| (it, amount))).collect();
    rows.sort_by(|(_, a), (_, b)| {
        let is_time = |it: &AmountDifference| it.quantity.unit() != Unit::Bytes;
        is_time(b).cmp(&is_time(a)).then(b.delta().abs().total_cmp(&a.delta().abs()))
    });
    let row = |(line, it): (&comparison::ComparedLine, &AmountDifference)| {
        let mut fields = place_of_both(diff, &line.base, &line.new);
        fields.extend([
            ("function", FieldValue::text(line.function.clone())),
            ("status", FieldValue::text(line.status.name())),
            ("evidence", FieldValue::text(line.evidence.name())),
        ]);
        fields.extend(amount(it));
        object(&fields)
    };
    rows.into_iter().map(row).collect()
}

fn functions(diff: &DiffReport<'_>) -> Vec<String> {
    let rows = diff.difference.functions.iter();
    let rows = rows.flat_map(|it| it.amounts.iter().map(move |amount| (it, amount)));
    let row = |(it, difference): (&FunctionDifference, &AmountDifference)| {
        let file = diff.names[1].get(&it.file).unwrap_or(&it.file);
        let mut fields = vec![
            ("file", FieldValue::text(file.clone())),
            ("function", FieldValue::text(it.function.clone())),
            (
                "base_function",
                FieldValue::text(it.base_function.as_ref().unwrap_or(&it.function).clone()),
            ),
        ];
        fields.extend(amount(difference));
        object(&fields)
    };
    rows.map(row).collect()
}

fn other_work(diff: &DiffReport<'_>, it: &OtherWork) -> String {
    let operators = it.operators.iter().map(|it| {
        object(&[
            ("name", FieldValue::text(it.name.clone())),
            ("base_calls", real(it.calls[0])),
            ("new_calls", real(it.calls[1])),
        ])
    });
    let operators = operators.collect::<Vec<_>>().join(", ");
    let mut fields = place_of_both(diff, &it.base, &it.new);
    fields.extend([
        ("function", FieldValue::text(it.function.clone())),
        ("status", FieldValue::text(it.status.name())),
        ("evidence", FieldValue::text(it.evidence.name())),
        ("base_us", time(it.time[0])),
        ("new_us", time(it.time[1])),
        ("operators", FieldValue::Json(format!("[{operators}]"))),
    ]);
    object(&fields)
}

/// `file` and `line` of the new run, `base_file` and `base_line`; null where there is none.
fn place_of_both(
    diff: &DiffReport<'_>,
    base: &Option<LineKey>,
    new: &Option<LineKey>,
) -> Fields<'static> {
    let place = |names: [&'static str; 2], line: &Option<LineKey>, is_new: bool| {
        let place = line.as_ref().map(|it| diff.place(it, is_new));
        let file = place.as_ref().map_or_else(null, |it| FieldValue::text(it.file.clone()));
        let line = place.map_or_else(null, |it| FieldValue::number(it.line));
        [(names[0], file), (names[1], line)]
    };
    let base = place(["base_file", "base_line"], base, false);
    place(["file", "line"], new, true).into_iter().chain(base).collect()
}

fn named(it: &NamedDifference) -> String {
    object(&[
        ("name", FieldValue::text(it.name.clone())),
        ("base_calls", real(it.calls[0])),
        ("new_calls", real(it.calls[1])),
        ("base_us", time(it.time[0])),
        ("new_us", time(it.time[1])),
        ("delta_us", time(it.delta())),
        ("significant", boolean(it.significant)),
    ])
}

fn replaced(diff: &DiffReport<'_>, it: &KernelReplacement) -> String {
    let place = diff.place(&it.line, true);
    let names = |names: &[String]| {
        let names = names.iter().map(|it| FieldValue::text(it.clone()).json());
        FieldValue::Json(format!("[{}]", names.collect::<Vec<_>>().join(", ")))
    };
    object(&[
        ("file", FieldValue::text(place.file)),
        ("line", FieldValue::number(place.line)),
        ("operators", names(&it.operators)),
        ("base_kernels", names(&it.gone.0)),
        ("new_kernels", names(&it.came.0)),
        ("base_us", time(it.gone.1)),
        ("new_us", time(it.came.1)),
    ])
}

fn finding(diff: &DiffReport<'_>, it: &FindingDifference) -> String {
    let cost = |cost: Option<Ns>| cost.map_or_else(null, FieldValue::Time);
    object(&[
        ("rule", FieldValue::text(it.rule)),
        ("file", FieldValue::text(it.place.file.clone())),
        ("line", FieldValue::number(it.place.line)),
        ("status", FieldValue::text(it.status())),
        ("base_us", cost(it.cost[0])),
        ("new_us", cost(it.cost[1])),
        ("significant", boolean(Some(diff.is_significant(it)))),
    ])
}

fn edit(diff: &DiffReport<'_>, it: &EditedLines) -> String {
    let mut fields = place_of_both(diff, &it.base, &it.new);
    fields.push(("status", FieldValue::text(it.status.name())));
    object(&fields)
}
