//! `perfline.memory/1`. Its first fields are the contract; further ones may be added.

use std::collections::BTreeMap;
use std::io::{self, Write};

use ledger::{
    Bytes, CategoryMemory, DeviceKey, DeviceMemory, LineKey, LineMemory, Moment, Ns, OutOfMemory,
    Phase,
};
use metrics::numbers::microseconds;

use super::ranking::ranked;
use crate::fields::{FieldValue, object};
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
fn categories<'a>(rank: u32, memory: &'a CategoryMemory) -> Vec<(&'static str, FieldValue<'a>)> {
    let by_name = |bytes: &[Bytes; 8]| {
        let fields = CategoryMemory::NAMES.into_iter().zip(bytes.map(FieldValue::bytes));
        FieldValue::Json(object(&fields.collect::<Vec<_>>()))
    };
    let sample = |(at, bytes): &(Ns, [Bytes; 8])| {
        let bytes = bytes.map(|it| it.0.to_string()).join(", ");
        format!("[{}, {bytes}]", microseconds(*at))
    };
    let timeline: Vec<String> = memory.timeline.iter().map(sample).collect();
    vec![
        ("rank", FieldValue::number(rank)),
        ("peak_bytes", FieldValue::bytes(memory.peak)),
        ("peak_us", FieldValue::Time(memory.peak_at)),
        ("at_peak", by_name(&memory.at_peak)),
        ("at_end", by_name(&memory.at_end)),
        ("most", by_name(&memory.most)),
        ("timeline", FieldValue::Json(format!("[{}]", timeline.join(", ")))),
    ]
}

/// The fields that name a line.
fn place<'a>(
    recording: &'a Recording<'_>,
    line: &'a LineKey,
) -> [(&'static str, FieldValue<'a>); 2] {
    [
        ("file", FieldValue::text(recording.file(&line.file))),
        ("line", FieldValue::number(line.line)),
    ]
}

fn device<'a>(
    key: DeviceKey,
    memory: &'a DeviceMemory,
    recording: &'a Recording<'_>,
) -> Vec<(&'static str, FieldValue<'a>)> {
    let (cut, calls) = (&memory.fragmentation, &memory.segments);
    vec![
        ("device", FieldValue::number(key.device)),
        ("peak_bytes", FieldValue::bytes(memory.peak)),
        ("before_bytes", FieldValue::bytes(memory.before)),
        ("end_bytes", FieldValue::bytes(memory.end)),
        ("reserved_bytes", FieldValue::bytes(memory.reserved)),
        ("unattributed_peak_bytes", FieldValue::bytes(memory.unattributed_peak)),
        ("rank", FieldValue::number(key.rank)),
        ("events", FieldValue::number(memory.events)),
        ("history_cut", FieldValue::Json(memory.is_history_cut.to_string())),
        ("before_at_peak_bytes", FieldValue::bytes(memory.before_at_peak)),
        ("requested_peak_bytes", FieldValue::bytes(memory.requested_peak)),
        ("reserved_peak_bytes", FieldValue::bytes(memory.reserved_peak)),
        ("peak", FieldValue::Json(object(&moment(&memory.peak_moment, memory)))),
        ("peak_by_phase", FieldValue::Json(object(&phases(&memory.peak_by_phase)))),
        ("purposes", purposes(memory)),
        (
            "segments",
            FieldValue::Json(object(&[
                ("count", FieldValue::number(cut.segments)),
                ("free_bytes", FieldValue::bytes(cut.free)),
                ("largest_free_bytes", FieldValue::bytes(cut.largest_free)),
                ("held_free_bytes", FieldValue::bytes(cut.held)),
                ("allocs", FieldValue::number(calls.allocs)),
                ("alloc_bytes", FieldValue::bytes(calls.alloc)),
                ("frees", FieldValue::number(calls.frees)),
                ("freed_bytes", FieldValue::bytes(calls.freed)),
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
                    ("name", FieldValue::text(&*it.name)),
                    ("first_event", FieldValue::number(it.first_event)),
                    ("peak_bytes", FieldValue::bytes(it.peak)),
                    ("end_bytes", FieldValue::bytes(it.end)),
                ]
            })),
        ),
        ("timeline_unit", FieldValue::text(if memory.has_times { "us" } else { "events" })),
        (
            "timeline",
            FieldValue::Json(format!(
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

fn moment<'a>(it: &'a Moment, memory: &'a DeviceMemory) -> Vec<(&'static str, FieldValue<'a>)> {
    let step = it.step.and_then(|step| memory.steps.get(step as usize));
    let names: Vec<String> =
        it.annotations.iter().map(|it| FieldValue::text(&**it).json()).collect();
    vec![
        ("event", FieldValue::number(it.event)),
        ("time_us", it.at.map_or(null(), FieldValue::Time)),
        ("step", step.map_or(null(), |step| FieldValue::text(&*step.name))),
        ("annotations", FieldValue::Json(format!("[{}]", names.join(", ")))),
    ]
}

fn failed<'a>(
    it: &'a OutOfMemory,
    memory: &'a DeviceMemory,
    recording: &'a Recording<'_>,
) -> Vec<(&'static str, FieldValue<'a>)> {
    let line =
        it.line.as_ref().map_or(null(), |line| FieldValue::Json(object(&place(recording, line))));
    let holders = it.holders.iter().map(|(line, held)| {
        let mut fields = place(recording, line).into_iter().collect::<Vec<_>>();
        fields.push(("bytes", FieldValue::bytes(held.bytes)));
        fields.push(("allocs", FieldValue::number(held.allocs)));
        fields
    });
    vec![
        ("at", FieldValue::Json(object(&moment(&it.moment, memory)))),
        ("line", line),
        ("requested_bytes", FieldValue::bytes(it.requested)),
        ("device_free_bytes", FieldValue::bytes(it.device_free)),
        ("active_bytes", FieldValue::bytes(it.active)),
        ("reserved_bytes", FieldValue::bytes(it.reserved)),
        ("largest_free_bytes", FieldValue::bytes(it.largest_free)),
        ("free_elsewhere_bytes", FieldValue::bytes(it.free_elsewhere)),
        ("unattributed_bytes", FieldValue::bytes(it.unattributed)),
        ("holders", list(holders)),
    ]
}

fn line<'a>(
    recording: &'a Recording<'_>,
    key: &'a LineKey,
    it: &'a LineMemory,
) -> Vec<(&'static str, FieldValue<'a>)> {
    let mut fields: Vec<(&'static str, FieldValue)> = place(recording, key).into_iter().collect();
    let lifetime = i64::try_from(it.timed_frees).ok().filter(|&frees| 0 < frees);
    fields.extend([
        ("function", FieldValue::text(&it.function)),
        ("peak_bytes", FieldValue::bytes(it.peak)),
        ("alloc_bytes", FieldValue::bytes(it.alloc)),
        ("allocs", FieldValue::number(it.allocs)),
        ("live_bytes", FieldValue::bytes(it.live)),
        ("freed_bytes", FieldValue::bytes(it.freed)),
        ("peak_allocs", FieldValue::number(it.peak_allocs)),
        ("live_allocs", FieldValue::number(it.live_allocs)),
        ("largest_bytes", FieldValue::bytes(it.largest)),
        (
            "mean_lifetime_us",
            lifetime.map_or(null(), |frees| FieldValue::Time(it.lifetime / frees)),
        ),
        ("rounding_bytes", FieldValue::bytes(it.rounding)),
        ("churn_bytes", FieldValue::bytes(it.churn)),
        ("churns", FieldValue::number(it.churns)),
        ("saved_bytes", FieldValue::bytes(it.saved)),
        ("saved_at_peak_bytes", FieldValue::bytes(it.saved_at_peak)),
        ("alloc_by_phase", FieldValue::Json(object(&phases(&it.alloc_by_phase)))),
        ("peak_by_phase", FieldValue::Json(object(&phases(&it.peak_by_phase)))),
    ]);
    fields
}

/// What the bytes in use are for at one moment; null where the recording does not say.
fn purposes(memory: &DeviceMemory) -> FieldValue<'_> {
    let Some(it) = &memory.purposes else { return FieldValue::Json("null".to_owned()) };
    let by_purpose = it.bytes.iter().map(|(it, &bytes)| (it.name(), FieldValue::bytes(bytes)));
    let by_purpose = by_purpose.collect::<Vec<_>>();
    FieldValue::Json(object(&[
        ("moment", FieldValue::Json(object(&moment(&it.moment, memory)))),
        ("bytes", FieldValue::Json(object(&by_purpose))),
    ]))
}

fn phases<'a>(by_phase: &'a BTreeMap<Phase, Bytes>) -> Vec<(&'static str, FieldValue<'a>)> {
    by_phase.iter().map(|(phase, &bytes)| (phase.name(), FieldValue::bytes(bytes))).collect()
}

fn list<'a>(items: impl Iterator<Item = Vec<(&'static str, FieldValue<'a>)>>) -> FieldValue<'a> {
    let items: Vec<String> = items.map(|fields| object(&fields)).collect();
    FieldValue::Json(format!("[{}]", items.join(", ")))
}

fn null() -> FieldValue<'static> {
    FieldValue::Json("null".to_owned())
}
