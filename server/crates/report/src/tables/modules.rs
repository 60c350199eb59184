//! The modules of the model: what their calls took, those of a list as one row.

use std::collections::BTreeMap;

use ide::module_pattern;
use ledger::{Metric, ModuleBooks, ModuleKey, Ns, Unit};
use loader::ModulePattern;
use metrics::{Period, Scale, numbers};

use super::NamedTable;
use crate::model::{Cell, Column, Section, Subject};
use crate::recording::Recording;
use crate::summary;

/// The columns that a narrow terminal can do without, the first of them first.
const DISPENSABLE: [&str; 7] =
    ["parameter bytes", "mean", "calls", "cpu own", "cuda own", "cpu backward", "cuda backward"];

/// Modules that are one row.
struct ModuleRow<'a> {
    name: String,
    class: &'a str,
    sum: ModuleBooks,
    modules: Vec<(&'a ModuleKey, &'a ModuleBooks)>,
}

impl ModuleRow<'_> {
    /// What rows are sorted by: device time, if the recording has some, else time of threads.
    fn total(books: &ModuleBooks, has_devices: bool) -> Ns {
        if has_devices { books.cuda_total } else { books.cpu_total }
    }
}

/// Says that none of the modules of a recording is meant by `patterns`; `None` where one is.
#[must_use]
pub fn without_match(recording: &Recording<'_>, patterns: &[ModulePattern]) -> Option<String> {
    let modules = &recording.run.merged.modules;
    if modules.keys().any(|it| is_listed(it, patterns)) || patterns.is_empty() {
        return None;
    }
    let patterns = patterns.iter().map(|it| format!("--module '{it}'")).collect::<Vec<_>>();
    let reason = if modules.is_empty() { ". It has no calls of modules (nn.Module)." } else { "" };
    Some(format!("no module of the recording passes {}{reason}", patterns.join(" ")))
}

fn is_listed(module: &ModuleKey, patterns: &[ModulePattern]) -> bool {
    patterns.is_empty() || patterns.iter().any(|it| it.is_match(&module.name, &module.class))
}

/// The modules of a recording that are meant by one of `patterns`, all if there are none, those that took longest first. Those
/// whose names differ by numbers alone (`layers.0.up`, `layers.1.up`) are one row, unless `is_whole`.
#[must_use]
pub fn build(recording: &Recording<'_>, patterns: &[ModulePattern], is_whole: bool) -> NamedTable {
    let ledger = &recording.run.merged;
    let has_devices = ledger.modules.values().any(|it| it.cuda_total != Ns::ZERO);
    let mut by_pattern: BTreeMap<(String, &str), ModuleRow<'_>> = BTreeMap::new();
    for (key, books) in ledger.modules.iter().filter(|it| is_listed(it.0, patterns)) {
        let pattern = if is_whole { key.name.clone() } else { module_pattern(&key.name) };
        let row = by_pattern.entry((pattern.clone(), &key.class)).or_insert_with(|| ModuleRow {
            name: pattern,
            class: &key.class,
            sum: ModuleBooks::default(),
            modules: Vec::new(),
        });
        let parameters = add(row.sum.parameters, books.parameters);
        let parameter_bytes = add(row.sum.parameter_bytes, books.parameter_bytes);
        row.sum.merge(books);
        (row.sum.parameters, row.sum.parameter_bytes) = (parameters, parameter_bytes);
        row.modules.push((key, books));
    }
    let mut rows: Vec<_> = by_pattern.into_values().collect();
    let total = |row: &ModuleRow<'_>| ModuleRow::total(&row.sum, has_devices);
    rows.sort_by(|a, b| total(b).cmp(&total(a)).then_with(|| a.name.cmp(&b.name)));
    let metric = if has_devices { Metric::Cuda } else { Metric::Cpu };
    let whole = ledger.totals.get(metric);
    let mut section = Section::new(
        "modules",
        "Modules",
        Subject::Run,
        [
            Column::number("share", Unit::Share),
            Column::number("cpu own", Unit::Ns),
            Column::number("cpu total", Unit::Ns),
            Column::number("cpu backward", Unit::Ns),
            Column::number("cuda own", Unit::Ns),
            Column::number("cuda total", Unit::Ns),
            Column::number("cuda backward", Unit::Ns),
            Column::number("calls", Unit::Count),
            Column::number("parameters", Unit::Count),
            Column::number("parameter bytes", Unit::Bytes),
            Column::text("module"),
            Column::text("class"),
            Column::number("modules", Unit::Count),
            Column::number("mean", Unit::Ns),
            Column::text("slowest"),
        ],
    );
    section.rows = rows.iter().map(|row| cells(row, whole, has_devices)).collect();
    let scale = Scale::new(ledger, Period::Mean);
    NamedTable {
        summary: summary::summary(recording.run, &scale),
        section,
        dispensable: &DISPENSABLE,
        filter: serde_json::Value::Null,
    }
}

fn cells(row: &ModuleRow<'_>, whole: i64, has_devices: bool) -> Vec<Cell> {
    let duration = |it: Ns| Cell::duration(it).unless_zero();
    let ModuleRow { name, class, sum, modules } = row;
    let total = |it: &ModuleBooks| ModuleRow::total(it, has_devices);
    let is_folded = 1 < modules.len();
    let name = match modules[..] {
        [(only, _)] => &only.name,
        _ => name,
    };
    let mean = total(sum).0 as f64 / modules.len().max(1) as f64;
    let slowest = modules.iter().max_by_key(|(_, books)| total(books)).filter(|_| is_folded);
    let slowest = slowest.map_or_else(String::new, |(key, books)| {
        format!("{} {}", key.name, numbers::duration(total(books).0 as f64))
    });
    vec![
        Cell::part(total(sum).0, whole),
        duration(sum.cpu_own),
        duration(sum.cpu_total),
        duration(sum.cpu_backward),
        duration(sum.cuda_own),
        duration(sum.cuda_total),
        duration(sum.cuda_backward),
        Cell::integer(sum.calls),
        sum.parameters.map_or_else(Cell::default, |it| Cell::count(it as f64)).unless_zero(),
        sum.parameter_bytes.map_or_else(Cell::default, Cell::bytes).unless_zero(),
        Cell::text(name),
        Cell::text(*class),
        if is_folded { Cell::integer(modules.len() as u64) } else { Cell::default() },
        if is_folded { Cell::real(mean, Unit::Ns) } else { Cell::default() },
        Cell::text(slowest),
    ]
}

/// The sum of what is known.
fn add<T: std::ops::Add<Output = T>>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}
