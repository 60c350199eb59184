//! The lines of `perfline.lines/1` as data: the same fields under the same names.

use std::io;

use super::columns::{DataColumn, DataValue};
use super::fields::value;
use crate::filter::CodeFilter;
use crate::lines::{for_each_line, head};
use crate::part::RecordingPart;
use crate::recording::Recording;

/// What is said of a line on a rank.
const OF_RANK: &[DataColumn] = &[
    DataColumn::count(
        "rank",
        "on which the line costs something; null of all on which it is small",
    )
    .or_null(),
    DataColumn::time("cpu_own_us", "thread time, as cpu_own_us of the line").or_null(),
    DataColumn::time("cuda_own_us", "device time, as cuda_own_us of the line").or_null(),
    DataColumn::time("comm_wait_us", "in matched collectives, before all ranks had begun"),
    DataColumn::time("comm_transfer_us", "in matched collectives, after all ranks had begun"),
];

pub(super) const LINES: &[DataColumn] = &[
    DataColumn::text("file", "relative to the root if it was found below it, else as recorded"),
    DataColumn::count("cell", "of a notebook: index of the cell, from 0").or_null(),
    DataColumn::count("line", "from 1, in the text as recorded"),
    DataColumn::text("function", "qualified where the source was found"),
    DataColumn::text("evidence", "how the line is known: exact, inferred or function"),
    DataColumn::count("calls", "Python and built-in calls made from the line").or_null(),
    DataColumn::count("ops", "outermost operators whose innermost Python frame is on the line")
        .or_null(),
    DataColumn::time("cpu_self_us", "thread time while this was the innermost Python line"),
    DataColumn::time("cpu_own_us", "thread time while this was the innermost line of your code"),
    DataColumn::time("cpu_total_us", "thread time while the line was anywhere on the stack"),
    DataColumn::time("cpu_backward_us", "host time of the backward nodes that it created")
        .or_null(),
    DataColumn::time("cuda_own_us", "device time launched from it, by the rule of cpu_own_us"),
    DataColumn::time("cuda_total_us", "device time launched from it, by the rule of cpu_total_us"),
    DataColumn::time("cuda_backward_us", "device time of the backward nodes that it created")
        .or_null(),
    DataColumn::count("kernels", "launched, by the rule of cuda_own_us").or_null(),
    DataColumn::time("sync_us", "thread time blocked waiting for the device"),
    DataColumn::count("syncs", "how often it waited for the device").or_null(),
    DataColumn::time("gpu_idle_us", "device idle time while the launching thread was on the line"),
    DataColumn::bytes("alloc_bytes", "allocated").or_null(),
    DataColumn::bytes("freed_bytes", "of the allocated, released before the end").or_null(),
    DataColumn::bytes("peak_bytes", "of the allocated, alive at the peak of their memory")
        .or_null(),
    DataColumn::time("comm_us", "device time of collectives launched from it").or_null(),
    DataColumn::time("comm_exposed_us", "of comm_us, what no compute kernel hides").or_null(),
    DataColumn::integer(
        "flops",
        "flop",
        "of its operators, as far as their arguments are recorded",
    )
    .or_null(),
    DataColumn::integer(
        "achieved_flops",
        "flop/s",
        "while the device (the host, without one) worked on them",
    )
    .or_null(),
    DataColumn::time(
        "waiting_us",
        "of cpu_own_us, in calls that wait for something else than a device",
    ),
    DataColumn::count(
        "line_now",
        "in the file as it is now; null where that is not known, or it is gone",
    )
    .or_null(),
    DataColumn::flag("stale", "the line was changed since the recording, or may have been"),
    DataColumn::time(
        "cpu_recompute_us",
        "of cpu_own_us, what checkpoints computed again in the backward pass",
    )
    .or_null(),
    DataColumn::time(
        "cuda_recompute_us",
        "of cuda_own_us, what checkpoints computed again in the backward pass",
    )
    .or_null(),
    DataColumn::time(
        "cpu_own_step_median_us",
        "cpu_own_us of a step, the median; null without two steps, or where it has nothing",
    )
    .or_null(),
    DataColumn::time(
        "cpu_own_step_p99_us",
        "what 99 % of the steps do not exceed, of 100 steps and more",
    )
    .or_null(),
    DataColumn::time("cpu_own_step_max_us", "most in one step").or_null(),
    DataColumn::count("cpu_own_max_step", "the step with most").or_null(),
    DataColumn::time(
        "cuda_own_step_median_us",
        "cuda_own_us of a step, the median; null as cpu_own_step_median_us",
    )
    .or_null(),
    DataColumn::time(
        "cuda_own_step_p99_us",
        "what 99 % of the steps do not exceed, of 100 steps and more",
    )
    .or_null(),
    DataColumn::time("cuda_own_step_max_us", "most in one step").or_null(),
    DataColumn::count("cuda_own_max_step", "the step with most").or_null(),
    DataColumn::rows(
        "ranks",
        OF_RANK,
        "each rank on which it costs something; null in a run of one rank",
    )
    .or_null(),
];

/// The lines that pass `code`, those with most own thread time first.
pub(super) fn rows(
    recording: &Recording<'_>,
    code: &CodeFilter,
    part: Option<&RecordingPart>,
) -> io::Result<Vec<Vec<DataValue>>> {
    let mut rows = Vec::new();
    for_each_line(recording, code, part, |fields, ranks| {
        // The fields have the order of the columns, which a test holds.
        let mut row: Vec<DataValue> = fields.into_iter().map(|(_, it)| value(&it)).collect();
        let of_rank = |it: Vec<[_; 5]>| {
            let rows = it.into_iter().map(|it| it.map(|(_, it)| value(&it)).into());
            DataValue::Rows(rows.collect())
        };
        row.push(ranks.map_or(DataValue::Null, of_rank));
        rows.push(row);
        Ok(())
    })?;
    Ok(rows)
}

/// What surrounds the lines in JSON, by the name of the contract.
pub(super) fn note(
    recording: &Recording<'_>,
    code: &CodeFilter,
    part: Option<&RecordingPart>,
) -> io::Result<(&'static str, String)> {
    Ok(("perfline.lines/1", head(recording, code, part)?))
}
