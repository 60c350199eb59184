//! What is found in a run, and its ranks, as data.

use super::columns::{DataColumn, DataValue};
use super::fields::value;
use crate::model::ReportedFinding;
use crate::ranks::of_each_rank;
use crate::recording::Recording;

pub(super) const FINDINGS: &[DataColumn] = &[
    DataColumn::text("rule", "stable id of the rule that found it (docs/rules)"),
    DataColumn::text("severity", "warning, information or hint"),
    DataColumn::text("file", "of the line that costs, as the table of lines calls it"),
    DataColumn::count("line", "that costs, from 1, in the text as recorded"),
    DataColumn::text("function", "that the line is in"),
    DataColumn::text("evidence", "how the line is known: exact, inferred or function"),
    DataColumn::time("cost_us", "what can be won at most, over the recording and all ranks"),
    DataColumn::time("cost_per_step_us", "the same in the mean step of a rank; null without steps")
        .or_null(),
    DataColumn::share("share", "cost of the step, or of the recording where it has no steps"),
    DataColumn::text("message", "what is wrong, in a sentence"),
    DataColumn::text("remedy", "what to do about it"),
];

pub(super) const RANKS: &[DataColumn] = &[
    DataColumn::count("rank", "its number"),
    DataColumn::text("host", "the machine that it ran on; empty where not recorded"),
    DataColumn::count("steps", "the number of its steps"),
    DataColumn::time("step_us", "the mean step, as the times that follow"),
    DataColumn::time("compute_us", "kernels that do not communicate, or on a CPU operators"),
    DataColumn::time("comm_wait_us", "in collectives before all ranks had begun"),
    DataColumn::time("comm_transfer_us", "in collectives after all ranks had begun"),
    DataColumn::time("loader_us", "waiting for the data loader"),
    DataColumn::time("idle_us", "none of these"),
    DataColumn::bytes("memory_peak_bytes", "of a device; null where not recorded").or_null(),
    DataColumn::time("waited_for_us", "how long others waited in collectives that it began last"),
    DataColumn::count("late", "collectives that it began last"),
    DataColumn::count("collectives", "that it took part in"),
];

/// The findings, the costliest first.
pub(super) fn findings(found: &[ReportedFinding]) -> Vec<Vec<DataValue>> {
    let time = |it: ledger::Ns| DataValue::Real(it.as_f64() / 1000.0);
    let row = |it: &ReportedFinding| {
        vec![
            DataValue::text(it.rule),
            DataValue::text(it.severity.name()),
            DataValue::text(&*it.place.file),
            DataValue::integer(it.place.line),
            DataValue::text(&*it.function),
            DataValue::text(it.evidence.name()),
            time(it.cost),
            it.cost_per_step.map_or(DataValue::Null, time),
            DataValue::Real(it.share),
            DataValue::text(&*it.message),
            DataValue::text(it.remedy),
        ]
    };
    found.iter().map(row).collect()
}

/// The ranks of a run of several; none of a run of one.
pub(super) fn ranks(recording: &Recording<'_>) -> Vec<Vec<DataValue>> {
    let mut rows = Vec::new();
    of_each_rank(recording, |fields| {
        rows.push(fields.iter().map(|(_, field)| value(field)).collect());
    });
    rows
}
