//! The tables of `perfline ops`, `kernels`, `modules` and `steps` as data: their columns by stable names, and numbers in one unit.

use std::io;

use super::columns::{DataColumn, DataKind, DataValue};
use crate::model::{Cell, CellValue, Place, Section, Unit};
use crate::recording::Recording;
use crate::tables::{self, StepOrder};

/// A column of a table for people, by its heading, and what it is as data. Where no text stands for 0, the number is 0.
struct SectionColumn {
    heading: &'static str,
    column: DataColumn,
}

const fn of(heading: &'static str, column: DataColumn) -> SectionColumn {
    SectionColumn { heading, column }
}

/// A line, as lists of lines have it.
const PLACE: &[DataColumn] = &[
    DataColumn::text("file", "as the table of lines calls it"),
    DataColumn::count("line", "from 1, in the text as recorded"),
];

const LINES: DataColumn =
    DataColumn::rows("lines", PLACE, "the lines of yours with most of it, up to three");

macro_rules! section_columns {
    ($mapping:ident, $columns:ident, [$($heading:literal => $column:expr),* $(,)?]) => {
        const $mapping: &[SectionColumn] = &[$(of($heading, $column)),*];
        pub(super) const $columns: &[DataColumn] = &[$($column),*];
    };
}

section_columns!(OF_KERNELS, KERNELS, [
    "kernel" => DataColumn::text("kernel", "name as recorded"),
    "time" => DataColumn::time("time_us", "device time of all its runs"),
    "share" => DataColumn::share("share", "of all device time"),
    "so far" => DataColumn::share("share_so_far", "of all device time: of this row and all above it"),
    "calls" => DataColumn::count("calls", "how often it ran"),
    "mean" => DataColumn::time("mean_us", "mean of its runs"),
    "shortest" => DataColumn::time("shortest_us", "shortest of its runs that have a line").or_null(),
    "longest" => DataColumn::time("longest_us", "longest of its runs that have a line").or_null(),
    "occupancy" => DataColumn::share("occupancy", "estimated achieved occupancy as recorded, the mean over the time").or_null(),
    "tensor cores" => DataColumn::text("tensor_cores", "yes, or perhaps where its name does not say so; else null").or_null(),
    "grid × block" => DataColumn::text("shape", "blocks × threads per block, or how many different ones there are").or_null(),
    "bytes" => DataColumn::bytes("bytes", "moved, of copies"),
    "lines" => LINES,
]);

section_columns!(OF_OPERATORS, OPERATORS, [
    "operator" => DataColumn::text("operator", "name as recorded"),
    "calls" => DataColumn::count("calls", "how often it ran"),
    "cpu self" => DataColumn::time("cpu_self_us", "thread time without operators and runtime calls below it"),
    "cpu total" => DataColumn::time("cpu_total_us", "thread time with what is below it"),
    "cuda self" => DataColumn::time("cuda_self_us", "time of the kernels, copies and fills that it launched itself"),
    "cuda total" => DataColumn::time("cuda_total_us", "with those of the operators below it"),
    "alloc" => DataColumn::bytes("alloc_bytes", "allocated by itself, where memory was recorded"),
    "share" => DataColumn::share("share", "of all device time; without any, of all thread time"),
    "lines" => LINES,
]);

section_columns!(OF_MODULES, MODULES, [
    "module" => DataColumn::text("module", "name in the model, or class and number where names are not recorded"),
    "class" => DataColumn::text("class_name", "of the module").or_null(),
    "calls" => DataColumn::count("calls", "how often it was called"),
    "cpu own" => DataColumn::time("cpu_own_us", "thread time in its calls, without those of modules below it"),
    "cpu total" => DataColumn::time("cpu_total_us", "thread time in its calls"),
    "cpu backward" => DataColumn::time("cpu_backward_us", "thread time of the backward pass that its calls caused"),
    "cuda own" => DataColumn::time("cuda_own_us", "device time launched in its calls, without those of modules below it"),
    "cuda total" => DataColumn::time("cuda_total_us", "device time launched in its calls"),
    "cuda backward" => DataColumn::time("cuda_backward_us", "device time of the backward pass that its calls caused"),
    "parameters" => DataColumn::count("parameters", "numbers in its parameters; null where not recorded, or none").or_null(),
    "parameter bytes" => DataColumn::bytes("parameter_bytes", "of its parameters; null where not recorded, or none").or_null(),
    "share" => DataColumn::share("share", "of all device time; without any, of all thread time"),
]);

section_columns!(OF_STEPS, STEPS, [
    "rank" => DataColumn::count("rank", "whose step it is"),
    "step" => DataColumn::count("step", "its number"),
    "time" => DataColumn::time("time_us", "how long the step took"),
    "to median" => DataColumn::time("to_median_us", "longer than the median of the rank's steps; negative: shorter"),
    "kernel" => DataColumn::time("kernel_us", "kernels that do not communicate; each instant counts to the first of these parts that applies"),
    "memcpy" => DataColumn::time("memcpy_us", "copies"),
    "memset" => DataColumn::time("memset_us", "fills"),
    "comm" => DataColumn::time("comm_us", "collectives"),
    "runtime" => DataColumn::time("runtime_us", "calls of the device's runtime"),
    "data loader" => DataColumn::time("loader_us", "waiting for the data loader"),
    "CPU ops" => DataColumn::time("ops_us", "operators on the host"),
    "other" => DataColumn::time("other_us", "none of these"),
    "longer on threads" => DataColumn::rows("longer_on_threads", PLACE, "lines with more thread time than in the median of the steps, of a longer step"),
    "longer on devices" => DataColumn::rows("longer_on_devices", PLACE, "the same of device time, by the step that launched it"),
]);

/// The rows of a table that was loaded with stacks: kernels by their whole names.
pub(super) fn kernels(recording: &Recording<'_>) -> io::Result<Vec<Vec<DataValue>>> {
    Ok(rows(&tables::kernels(recording, true)?.section, OF_KERNELS))
}

/// The rows of a table that was loaded with stacks.
pub(super) fn operators(recording: &Recording<'_>) -> io::Result<Vec<Vec<DataValue>>> {
    Ok(rows(&tables::operators(recording, None, false)?.section, OF_OPERATORS))
}

/// Each module by itself.
pub(super) fn modules(recording: &Recording<'_>) -> Vec<Vec<DataValue>> {
    rows(&tables::modules(recording, &[], true).section, OF_MODULES)
}

/// The steps of each rank, in their order.
pub(super) fn steps(recording: &Recording<'_>) -> Vec<Vec<DataValue>> {
    let mut rows = rows(&tables::steps(recording, StepOrder::Number).section, OF_STEPS);
    // The table for people does not repeat the rank of a run of one.
    if let [only] = &recording.run.ranks[..] {
        rows.iter_mut().for_each(|row| row[0] = DataValue::integer(only.rank));
    }
    rows
}

fn rows(section: &Section, mapping: &[SectionColumn]) -> Vec<Vec<DataValue>> {
    let place = |heading| section.columns.iter().position(|it| it.name == heading);
    let places: Vec<Option<usize>> = mapping.iter().map(|it| place(it.heading)).collect();
    let row = |row: &Vec<Cell>| {
        let value = |(it, place): (&SectionColumn, &Option<usize>)| {
            place
                .and_then(|place| row.get(place))
                .map_or(DataValue::Null, |cell| value(cell, &it.column))
        };
        mapping.iter().zip(&places).map(value).collect()
    };
    section.rows.iter().map(row).collect()
}

fn value(cell: &Cell, column: &DataColumn) -> DataValue {
    match (&cell.value, column.kind) {
        (CellValue::Text, DataKind::Text) if cell.text.is_empty() => nothing(column),
        (CellValue::Text, DataKind::Text) => DataValue::text(&*cell.text),
        (CellValue::Integer(ns, Unit::Ns), DataKind::Real) => DataValue::Real(*ns as f64 / 1000.0),
        (CellValue::Real(ns, Unit::Ns), DataKind::Real) => DataValue::Real(ns / 1000.0),
        (CellValue::Real(number, _), DataKind::Real) => DataValue::Real(*number),
        (CellValue::Integer(number, _), DataKind::Integer) => DataValue::Integer(*number),
        (CellValue::Real(number, _), DataKind::Integer) => {
            DataValue::Integer(number.round() as i64)
        }
        (CellValue::Places(places), DataKind::Rows(_)) => {
            DataValue::Rows(places.iter().map(in_row).collect())
        }
        _ => nothing(column),
    }
}

/// What an empty cell stands for.
fn nothing(column: &DataColumn) -> DataValue {
    match column.kind {
        _ if column.is_nullable => DataValue::Null,
        DataKind::Text => DataValue::text(""),
        DataKind::Integer => DataValue::Integer(0),
        DataKind::Real => DataValue::Real(0.0),
        DataKind::Flag => DataValue::Flag(false),
        DataKind::Rows(_) => DataValue::Rows(Vec::new()),
    }
}

fn in_row(place: &Place) -> Vec<DataValue> {
    vec![DataValue::text(&*place.file), DataValue::integer(place.line)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{recording, sources, training_with_stacks};

    #[test]
    fn every_column_is_filled_from_one_that_is_there() {
        let (run, sources) = (training_with_stacks(), sources());
        let recording = recording(&run, &sources);
        let tables = [
            (tables::kernels(&recording, true).unwrap(), OF_KERNELS),
            (tables::operators(&recording, None, false).unwrap(), OF_OPERATORS),
            (tables::modules(&recording, &[], true), OF_MODULES),
            (tables::steps(&recording, StepOrder::Number), OF_STEPS),
        ];
        for (table, mapping) in tables {
            let headings: Vec<&str> = table.section.columns.iter().map(|it| it.name).collect();
            for it in mapping {
                assert!(headings.contains(&it.heading), "{} of {headings:?}", it.heading);
            }
        }
    }

    #[test]
    fn numbers_are_in_one_unit_and_empty_cells_are_zero_or_null() {
        let time = DataColumn::time("time_us", "how long it took");
        let count = DataColumn::count("count", "how many");
        let rows = [
            (Cell::duration(ledger::Ns(1_234)), time, DataValue::Real(1.234)),
            (Cell::real(1_500.0, Unit::Ns), time, DataValue::Real(1.5)),
            (Cell::default(), time, DataValue::Real(0.0)),
            (Cell::default(), time.or_null(), DataValue::Null),
            (Cell::integer(7), count, DataValue::Integer(7)),
            (Cell::count(3.0), count, DataValue::Integer(3)),
            (Cell::text(""), DataColumn::text("text", "words").or_null(), DataValue::Null),
            (Cell::default(), LINES, DataValue::Rows(Vec::new())),
        ];
        for (cell, column, expected) in rows {
            assert_eq!(value(&cell, &column), expected, "{cell:?}");
        }
    }
}
