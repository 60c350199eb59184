//! `perfline.memory/1`. Its first fields are the contract; further ones may be added.

use std::collections::BTreeMap;
use std::io::{self, Write};

use ledger::{
    Bytes, CategoryMemory, DeviceKey, DeviceMemory, LineKey, LineMemory, Moment, Ns, OutOfMemory,
    Phase,
};
use metrics::numbers::microseconds;

use super::ranking::ranked;
use crate::fields::{Value, object};
use crate::recording::Recording;

/// Prints the memory of every device as one object.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(out: &mut dyn Write, recording: &Recording<'_>) -> io::Result<()> {
    let run = recording.run;
    writeln!(out, r#"{{"schema": "perfline.memory/1","#)?;
    write!(out, r#" "devices": ["#)?;
    for (index, (key, memory)) in run.merged.memory.iter().enumerate() {
        writeln!(out, "{}", if index == 0 { "" } else { "," })?;
        let head = object(&device(*key, memory, recording));
        write!(out, "  {},\n   \"lines\": [", head.trim_end_matches('}'))?;
        for (index, (place, books)) in ranked(memory).into_iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(out, "{comma}\n    {}", object(&line(recording, place, books)))?;
        }
        write!(out, "]}}")?;
    }
    writeln!(out, "],")?;
    let ranks = run.merged.categories.iter();
    let categories = ranks.map(|(&rank, memory)| categories(rank, memory));
    writeln!(out, " \"categories\": {}}}", list(categories).json())
}

/// What an exported timeline shows.
fn categories(rank: u32, memory: &CategoryMemory) -> Vec<(&'static str, Value)> {
    let by_name = |bytes: &[Bytes; 8]| {
        let fields = CategoryMemory::NAMES.into_iter().zip(bytes.map(Value::bytes));
        Value::Json(object(&fields.collect::<Vec<_>>()))
    };
    let sample = |(at, bytes): &(Ns, [Bytes; 8])| {
        let bytes = bytes.map(|it| it.0.to_string()).join(", ");
        format!("[{}, {bytes}]", microseconds(*at))
    };
    let timeline: Vec<String> = memory.timeline.iter().map(sample).collect();
    vec![
        ("rank", Value::number(rank)),
        ("peak_bytes", Value::bytes(memory.peak)),
        ("peak_us", Value::number(microseconds(memory.peak_at))),
        ("at_peak", by_name(&memory.at_peak)),
        ("at_end", by_name(&memory.at_end)),
        ("most", by_name(&memory.most)),
        ("timeline", Value::Json(format!("[{}]", timeline.join(", ")))),
    ]
}

/// The fields that name a line.
fn place(recording: &Recording<'_>, line: &LineKey) -> [(&'static str, Value); 2] {
    [("file", Value::text(recording.file(&line.file))), ("line", Value::number(line.line))]
}

fn device(
    key: DeviceKey,
    memory: &DeviceMemory,
    recording: &Recording<'_>,
) -> Vec<(&'static str, Value)> {
    let (cut, calls) = (&memory.fragmentation, &memory.segments);
    vec![
        ("device", Value::number(key.device)),
        ("peak_bytes", Value::bytes(memory.peak)),
        ("before_bytes", Value::bytes(memory.before)),
        ("end_bytes", Value::bytes(memory.end)),
        ("reserved_bytes", Value::bytes(memory.reserved)),
        ("unattributed_peak_bytes", Value::bytes(memory.unattributed_peak)),
        ("rank", Value::number(key.rank)),
        ("events", Value::number(memory.events)),
        ("history_cut", Value::Json(memory.is_history_cut.to_string())),
        ("before_at_peak_bytes", Value::bytes(memory.before_at_peak)),
        ("requested_peak_bytes", Value::bytes(memory.requested_peak)),
        ("reserved_peak_bytes", Value::bytes(memory.reserved_peak)),
        ("peak", Value::Json(object(&moment(&memory.peak_moment, memory)))),
        ("peak_by_phase", Value::Json(object(&phases(&memory.peak_by_phase)))),
        (
            "segments",
            Value::Json(object(&[
                ("count", Value::number(cut.segments)),
                ("free_bytes", Value::bytes(cut.free)),
                ("largest_free_bytes", Value::bytes(cut.largest_free)),
                ("held_free_bytes", Value::bytes(cut.held)),
                ("allocs", Value::number(calls.allocs)),
                ("alloc_bytes", Value::bytes(calls.alloc)),
                ("frees", Value::number(calls.frees)),
                ("freed_bytes", Value::bytes(calls.freed)),
            ])),
        ),
        (
            "out_of_memory",
            list(memory.out_of_memory.iter().map(|it| failed(it, memory, recording))),
        ),
        (
            "steps",
            list(memory.steps.iter().map(|it| {
                vec![
                    ("name", Value::text(&it.name)),
                    ("first_event", Value::number(it.first_event)),
                    ("peak_bytes", Value::bytes(it.peak)),
                    ("end_bytes", Value::bytes(it.end)),
                ]
            })),
        ),
        ("timeline_unit", Value::text(if memory.has_times { "us" } else { "events" })),
        (
            "timeline",
            Value::Json(format!(
                "[{}]",
                memory
                    .timeline
                    .iter()
                    .map(|it| {
                        let at = if memory.has_times {
                            microseconds(Ns(it.at))
                        } else {
                            it.at.to_string()
                        };
                        format!("[{at}, {}, {}]", it.active.0, it.reserved.0)
                    })
                    .collect::<Vec<_>>()
                    .join(", ")
            )),
        ),
    ]
}

fn moment(it: &Moment, memory: &DeviceMemory) -> Vec<(&'static str, Value)> {
    let step = it.step.and_then(|step| memory.steps.get(step as usize));
    let names: Vec<String> = it.annotations.iter().map(|it| Value::text(it).json()).collect();
    vec![
        ("event", Value::number(it.event)),
        ("time_us", it.at.map_or(null(), |at| Value::number(microseconds(at)))),
        ("step", step.map_or(null(), |step| Value::text(&step.name))),
        ("annotations", Value::Json(format!("[{}]", names.join(", ")))),
    ]
}

fn failed(
    it: &OutOfMemory,
    memory: &DeviceMemory,
    recording: &Recording<'_>,
) -> Vec<(&'static str, Value)> {
    let line = it.line.as_ref().map_or(null(), |line| Value::Json(object(&place(recording, line))));
    let holders = it.holders.iter().map(|(line, held)| {
        let mut fields = place(recording, line).into_iter().collect::<Vec<_>>();
        fields.push(("bytes", Value::bytes(held.bytes)));
        fields.push(("allocs", Value::number(held.allocs)));
        fields
    });
    vec![
        ("at", Value::Json(object(&moment(&it.moment, memory)))),
        ("line", line),
        ("requested_bytes", Value::bytes(it.requested)),
        ("device_free_bytes", Value::bytes(it.device_free)),
        ("active_bytes", Value::bytes(it.active)),
        ("reserved_bytes", Value::bytes(it.reserved)),
        ("largest_free_bytes", Value::bytes(it.largest_free)),
        ("free_elsewhere_bytes", Value::bytes(it.free_elsewhere)),
        ("unattributed_bytes", Value::bytes(it.unattributed)),
        ("holders", list(holders)),
    ]
}

fn line(recording: &Recording<'_>, key: &LineKey, it: &LineMemory) -> Vec<(&'static str, Value)> {
    let mut fields: Vec<(&'static str, Value)> = place(recording, key).into_iter().collect();
    let lifetime = i64::try_from(it.timed_frees).ok().filter(|&frees| 0 < frees);
    fields.extend([
        ("function", Value::text(&it.function)),
        ("peak_bytes", Value::bytes(it.peak)),
        ("alloc_bytes", Value::bytes(it.alloc)),
        ("allocs", Value::number(it.allocs)),
        ("live_bytes", Value::bytes(it.live)),
        ("freed_bytes", Value::bytes(it.freed)),
        ("peak_allocs", Value::number(it.peak_allocs)),
        ("live_allocs", Value::number(it.live_allocs)),
        ("largest_bytes", Value::bytes(it.largest)),
        (
            "mean_lifetime_us",
            lifetime.map_or(null(), |frees| Value::number(microseconds(it.lifetime / frees))),
        ),
        ("rounding_bytes", Value::bytes(it.rounding)),
        ("churn_bytes", Value::bytes(it.churn)),
        ("churns", Value::number(it.churns)),
        ("saved_bytes", Value::bytes(it.saved)),
        ("saved_at_peak_bytes", Value::bytes(it.saved_at_peak)),
        ("alloc_by_phase", Value::Json(object(&phases(&it.alloc_by_phase)))),
        ("peak_by_phase", Value::Json(object(&phases(&it.peak_by_phase)))),
    ]);
    fields
}

fn phases(by_phase: &BTreeMap<Phase, Bytes>) -> Vec<(&'static str, Value)> {
    by_phase.iter().map(|(phase, &bytes)| (phase.name(), Value::bytes(bytes))).collect()
}

fn list(items: impl Iterator<Item = Vec<(&'static str, Value)>>) -> Value {
    let items: Vec<String> = items.map(|fields| object(&fields)).collect();
    Value::Json(format!("[{}]", items.join(", ")))
}

fn null() -> Value {
    Value::Json("null".to_owned())
}
