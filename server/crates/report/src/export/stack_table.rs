//! A row for each stack, with typed columns.

use loader::StackBooks;

use super::names::ExportedStacks;
use super::rows::rows;
use crate::data_tables::{DataColumn, DataTable, DataValue, TypedTable};
use crate::terminal::clean;

/// Amounts are as they are kept, in the order of [`StackBooks::METRICS`].
pub(super) const STACKS: &[DataColumn] = &[
    DataColumn::text("stack", "its entries, outermost first, with ; between them"),
    DataColumn::text("leaf", "its innermost entry; null where that is a line").or_null(),
    DataColumn::text("function", "of the innermost line, which is charged").or_null(),
    DataColumn::text("file", "of the innermost line").or_null(),
    DataColumn::count("line", "its number, from 1, in the text as recorded").or_null(),
    DataColumn::text("evidence", "how it is known: exact, inferred or function").or_null(),
    DataColumn::integer("cpu_ns", "ns", "thread time"),
    DataColumn::integer("cuda_ns", "ns", "device time"),
    DataColumn::integer("gpu_idle_ns", "ns", "device idle time"),
    DataColumn::integer("sync_ns", "ns", "thread time blocked waiting for the device"),
    DataColumn::integer("waiting_ns", "ns", "thread time in calls that wait for something else"),
    DataColumn::bytes("alloc_bytes", "allocated"),
];

/// The stacks with any amount, those of the metric first, in its order. What a terminal would obey is replaced, as in CSV: programs
/// that read the table print names as they are.
pub(super) fn table(stacks: &ExportedStacks<'_>) -> TypedTable {
    let text = |it: &str| DataValue::text(clean(it));
    let row = |it: super::rows::StackTableRow<'_>| {
        let mut row = vec![
            DataValue::text(&*it.stack),
            it.leaf.map_or(DataValue::Null, text),
            it.line.map_or(DataValue::Null, |it| text(it.function)),
            it.line.map_or(DataValue::Null, |it| text(it.file)),
            it.line.map_or(DataValue::Null, |it| DataValue::integer(it.number)),
            it.line.map_or(DataValue::Null, |it| text(it.evidence.name())),
        ];
        let amounts = StackBooks::METRICS.map(|metric| stacks.books.amount(metric, it.row));
        row.extend(amounts.map(DataValue::Integer));
        row
    };
    let rows = rows(stacks).map(row).collect();
    TypedTable { name: DataTable::Stacks.name(), columns: STACKS, rows, notes: Vec::new() }
}
