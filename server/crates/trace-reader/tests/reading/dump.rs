//! Traces to compact text, so that a test is an input and a text.

use std::fmt::Write;

use profile::{HostKind, Ns, Profile, StrId};
use trace_reader::{Trace, TraceReader};

/// Reads `input` in one piece.
pub(crate) fn read(input: &[u8]) -> Trace {
    read_pieces(&[input])
}

/// Reads `pieces` one after the other.
pub(crate) fn read_pieces(pieces: &[&[u8]]) -> Trace {
    let mut reader = TraceReader::new();
    for piece in pieces {
        reader.feed(piece);
    }
    reader.finish()
}

/// Everything that was read, one row a line. What is absent is left out.
pub(crate) fn dump(trace: &Trace) -> String {
    let mut out = String::new();
    let profile = &trace.profile;
    dump_meta(&mut out, profile);
    dump_host(&mut out, profile);
    dump_device(&mut out, profile);
    dump_rest(&mut out, profile);
    for warning in trace.warnings.iter() {
        let at = warning.offset.map_or(String::new(), |it| format!(" @{it}"));
        writeln!(out, "warning {:?}{at} x{}: {}", warning.kind, warning.count, warning.message)
            .unwrap();
    }
    let complete = if trace.complete { "complete" } else { "incomplete" };
    let kind = if trace.looks_like_trace { "" } else { ", no trace" };
    let lost = if trace.lost_bytes > 0 {
        format!(", {} bytes lost", trace.lost_bytes)
    } else {
        String::new()
    };
    writeln!(out, "{} events, {complete}{lost}{kind}", trace.events).unwrap();
    out
}

fn dump_meta(out: &mut String, profile: &Profile) {
    let meta = &profile.meta;
    let number = |it: Option<u32>| it.map(i64::from).unwrap_or(-1);
    for (name, value) in
        [("base", if meta.base == Ns(0) { -1 } else { meta.base.0 }), ("rank", number(meta.rank))]
    {
        if value >= 0 {
            writeln!(out, "{name} {value}").unwrap();
        }
    }
    for it in &meta.groups {
        writeln!(out, "group {:?} {:?} {:?}", it.name, it.description, it.ranks).unwrap();
    }
    for it in &meta.devices {
        writeln!(
            out,
            "device {} {:?} memory={} compute={}.{} sms={}",
            it.id,
            it.name,
            it.total_memory.0,
            it.compute_major,
            it.compute_minor,
            it.multiprocessors
        )
        .unwrap();
    }
    for thread in &profile.threads {
        let [pid, tid, name] =
            [thread.pid, thread.tid, thread.name].map(|it| profile.strings.get(it));
        let name = if name.is_empty() { String::new() } else { format!(" {name:?}") };
        writeln!(out, "thread {pid}/{tid}{name}").unwrap();
    }
}

fn dump_host(out: &mut String, profile: &Profile) {
    let host = &profile.host;
    for id in host.ids() {
        let index = id.index();
        let row = host.detail[index] as usize;
        let name = profile.strings.get(host.name[index]);
        write!(out, "{:?} {name:?} {}", host.kind[index], host.start[index].0).unwrap();
        write!(out, "+{} on {}", host.duration[index].0, host.thread[index].index()).unwrap();
        match host.kind[index] {
            HostKind::Annotation => {}
            HostKind::Python => {
                number(out, "id", host.python.id[row]);
                number(out, "parent", host.python.parent[row]);
                text(out, profile, "caller", host.python.caller[row]);
            }
            HostKind::Operator => {
                let operators = &host.operators;
                number(out, "external", operators.external_id[row]);
                number(out, "sequence", operators.sequence[row]);
                if operators.forward_thread[row] > 0 {
                    number(out, "forward_thread", operators.forward_thread[row].into());
                }
                text(out, profile, "stack", operators.call_stack[row]);
                text(out, profile, "dims", operators.input_dims[row]);
                text(out, profile, "types", operators.input_types[row]);
                text(out, profile, "concrete", operators.concrete_inputs[row]);
            }
            HostKind::Runtime => {
                number(out, "correlation", host.runtime.correlation[row]);
                number(out, "external", host.runtime.external_id[row]);
            }
        }
        out.push('\n');
    }
}

fn dump_device(out: &mut String, profile: &Profile) {
    let device = &profile.device;
    for id in device.ids() {
        let index = id.index();
        let name = profile.strings.get(device.name[index]);
        write!(out, "{:?} {name:?} {}", device.kind[index], device.start[index].0).unwrap();
        write!(
            out,
            "+{} on {}:{}",
            device.duration[index].0, device.device[index], device.stream[index]
        )
        .unwrap();
        number(out, "correlation", device.correlation[index]);
        number(out, "external", device.external_id[index]);
        number(out, "graph", device.graph_id[index]);
        number(out, "node", device.graph_node[index]);
        number(out, "bytes", device.bytes[index].0);
        if let Some(it) = device.shapes.get(device.shape[index]) {
            write!(out, " grid={:?} block={:?}", it.grid, it.block).unwrap();
            number(out, "occupancy", it.occupancy_permille.into());
            number(out, "blocks", it.blocks_per_multiprocessor);
        }
        text(out, profile, "stack", device.stack[index]);
        out.push('\n');
    }
}

fn dump_rest(out: &mut String, profile: &Profile) {
    let memory = &profile.memory;
    for index in 0..memory.len() {
        let device = memory.device[index];
        write!(out, "memory {} on {}", memory.at[index].0, memory.thread[index].index()).unwrap();
        write!(out, " {:+} bytes at {:#x}", memory.bytes[index].0, memory.address[index]).unwrap();
        write!(out, " of {}:{}", device.kind.0, device.ordinal).unwrap();
        number(out, "allocated", memory.total_allocated[index].0);
        number(out, "reserved", memory.total_reserved[index].0);
        out.push('\n');
    }
    for flow in &profile.flows {
        let end = if flow.is_finish { "to" } else { "from" };
        writeln!(out, "flow {} {end} {} at {}", flow.id, flow.thread.index(), flow.at.0).unwrap();
    }
}

fn number(out: &mut String, name: &str, value: i64) {
    if value != -1 {
        write!(out, " {name}={value}").unwrap();
    }
}

fn text(out: &mut String, profile: &Profile, name: &str, id: StrId) {
    if id != StrId::NONE {
        write!(out, " {name}={:?}", profile.strings.get(id)).unwrap();
    }
}

/// `text` without the indentation of its second line (the first is empty) and the last line's spaces.
pub(crate) fn unindent(text: &str) -> String {
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let indent = lines.first().map_or(0, |it| it.len() - it.trim_start().len());
    lines
        .iter()
        .map(|it| it.get(indent..).unwrap_or("").trim_end().to_owned() + "\n")
        .collect::<String>()
        .trim_end()
        .to_owned()
        + "\n"
}
