//! Where the ranks of a job stood, from the dumps of their flight recorders: for people and as JSON.

use std::io::{self, Write};

use loader::{FlightDumpFile, FlightFrame, GroupDiagnosis, GroupState, SharedCall};
use serde_json::{Value, json};

use crate::fields::escaped;
use crate::terminal::{
    ALARM, DOUBT, FAINT, STRONG, Terminal, clean, columns, cut_left, left, wrapped,
};

/// Schema of the JSON.
pub const SCHEMA: &str = "perfline.hang/1";

/// Frames of the user's code that are shown of a call.
const FRAMES: usize = 3;

/// What the dumps say, for people.
///
/// # Errors
/// If it cannot be written.
pub fn write_text(
    out: &mut dyn Write,
    files: &[FlightDumpFile],
    groups: &[GroupDiagnosis<'_>],
    terminal: &Terminal,
) -> io::Result<()> {
    let ranks: Vec<u32> = files.iter().map(|it| it.rank).collect();
    let dumps = if files.len() == 1 { "1 dump" } else { &format!("{} dumps", files.len()) };
    let title = format!("{dumps} of the flight recorder: {}", ranks_text(&ranks));
    writeln!(out, "{}", terminal.paint(STRONG, &title))?;
    if groups.is_empty() {
        writeln!(
            out,
            "They hold no call: raise the buffer of the recorder (TORCH_FR_BUFFER_SIZE)."
        )?;
    }
    for group in groups {
        writeln!(out)?;
        write_group(out, group, terminal)?;
    }
    if groups.iter().any(has_no_stacks) {
        writeln!(out, "\nDumps in JSON have no stacks: those in pickle name the lines.")?;
    }
    Ok(())
}

fn has_no_stacks(group: &GroupDiagnosis<'_>) -> bool {
    let mut calls = group.calls.iter().chain(&group.pending);
    calls.any(|it| it.entry.frames.is_empty())
}

fn write_group(
    out: &mut dyn Write,
    group: &GroupDiagnosis<'_>,
    terminal: &Terminal,
) -> io::Result<()> {
    let name = clean(&name_of(group));
    writeln!(out, "{} · {}", terminal.paint(STRONG, &name), ranks_text(&group.ranks))?;
    let style = match group.state {
        GroupState::Mismatch | GroupState::NotCalled => ALARM,
        GroupState::Running => DOUBT,
        GroupState::Ended => FAINT,
    };
    sentence(out, &verdict(group), style, terminal)?;
    if !group.without_dump.is_empty() {
        let who = ranks_text(&group.without_dump);
        let note = format!("There is no dump of {who}: did it end, or could it not write?");
        sentence(out, &note, DOUBT, terminal)?;
    }
    write_calls(out, &group.calls, terminal)?;
    if !group.behind.is_empty() {
        writeln!(out, "  {}", terminal.paint(FAINT, "the last call of those that are not there:"))?;
        write_calls(out, &group.behind, terminal)?;
    }
    if !group.pending.is_empty() {
        let heading = "sends and receives that have not ended:";
        writeln!(out, "  {}", terminal.paint(FAINT, heading))?;
        write_calls(out, &group.pending, terminal)?;
    }
    Ok(())
}

/// A sentence below the name of a group, in lines that the terminal has room for.
fn sentence(
    out: &mut dyn Write,
    text: &str,
    style: anstyle::Style,
    terminal: &Terminal,
) -> io::Result<()> {
    let lines = match terminal.width {
        Some(width) => wrapped(text, width.saturating_sub(2)),
        None => vec![text.to_owned()],
    };
    lines.iter().try_for_each(|it| writeln!(out, "  {}", terminal.paint(style, it)))
}

/// A call a line, with the frames that led to it below; where the terminal is too narrow, their paths are cut.
fn write_calls(
    out: &mut dyn Write,
    calls: &[SharedCall<'_>],
    terminal: &Terminal,
) -> io::Result<()> {
    let heads: Vec<[String; 2]> =
        calls.iter().map(|it| [ranks_text(&it.ranks), call_text(it)]).collect();
    let widths = [0, 1].map(|at| heads.iter().map(|it| columns(&it[at])).max().unwrap_or(0));
    let indent = 4 + widths[0] + 2 + widths[1] + 2;
    let frame = |before: &str, it: &FlightFrame| {
        let room = terminal.width.map(|it| it.saturating_sub(indent + columns(before)));
        format!("{before}{}", cut_left(&frame_text(it), room))
    };
    for (call, [who, what]) in calls.iter().zip(&heads) {
        let mut stack = call.stack.iter().take(FRAMES);
        let first = stack.next().map(|it| frame("", it)).unwrap_or_default();
        let who = terminal.paint(STRONG, &left(who, widths[0]));
        let line = format!("    {who}  {}  {first}", left(what, widths[1]));
        writeln!(out, "{}", line.trim_end())?;
        for caller in stack {
            let text = terminal.paint(FAINT, &frame("called from ", caller));
            writeln!(out, "{}{text}", " ".repeat(indent))?;
        }
    }
    Ok(())
}

/// What the program calls a group, with its name where that says more.
fn name_of(group: &GroupDiagnosis<'_>) -> String {
    match (group.description, group.name) {
        ("" | "undefined", name) => format!("group {name}"),
        (description, _) => description.to_owned(),
    }
}

/// What is the matter with a group, in a sentence or two.
#[must_use]
pub fn verdict(group: &GroupDiagnosis<'_>) -> String {
    let number = group.sequence;
    let of = |calls: &[SharedCall<'_>]| {
        let mut ranks: Vec<u32> = calls.iter().flat_map(|it| it.ranks.iter().copied()).collect();
        ranks.sort_unstable();
        ranks
    };
    let kind = group.calls.first().map_or("call", |it| &it.entry.kind);
    let call = clean(&format!("{kind} #{number}"));
    match group.state {
        GroupState::Mismatch => {
            let first = group.calls.first().map(|it| &it.entry.kind);
            let is_size = group.calls.iter().all(|it| Some(&it.entry.kind) == first);
            let what =
                if is_size { "collectives of different sizes" } else { "different collectives" };
            format!("The ranks made {what} their call {number} of this group: they cannot end.")
        }
        GroupState::NotCalled => {
            let mut behind = of(&group.behind);
            behind.extend(&group.silent);
            behind.sort_unstable();
            let (missing, has) = (ranks_text(&behind), verb(&behind, "has", "have"));
            let there = of(&group.calls);
            // A recorder that kept too few calls has lost it.
            if there.is_empty() {
                return format!(
                    "The others wait in call {number}, which {missing} {has} not made."
                );
            }
            let (waiting, waits) = (ranks_text(&there), verb(&there, "waits", "wait"));
            let text = format!("{waiting} {waits} in {call}, which {missing} {has} not called.");
            text.replacen('r', "R", 1)
        }
        GroupState::Running => {
            let all = if group.without_dump.is_empty() { "ranks" } else { "ranks with dumps" };
            let mut text = format!("All {all} called {call}");
            if group.ended.is_empty() {
                text.push_str(", and it has not ended on any.");
            } else {
                text.push_str(&format!(
                    ", and it has ended on {} alone.",
                    ranks_text(&group.ended)
                ));
            }
            if !group.not_started.is_empty() {
                let who = ranks_text(&group.not_started);
                text.push_str(&format!(
                    " On {who} its kernel has not begun: something before it in the stream has not ended."
                ));
            }
            text
        }
        GroupState::Ended if number == 0 => "No collective was called.".to_owned(),
        GroupState::Ended => format!("All calls have ended, #{number} last."),
    }
}

fn verb(ranks: &[u32], one: &'static str, several: &'static str) -> &'static str {
    if ranks.len() == 1 { one } else { several }
}

/// `rank 3`, `ranks 0–2, 5`.
fn ranks_text(ranks: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &rank in ranks {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => parts.push((rank, rank)),
        }
    }
    let part = |&(first, last): &(u32, u32)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}–{last}"),
    };
    let list: Vec<String> = parts.iter().map(part).collect();
    format!("{} {}", if ranks.len() == 1 { "rank" } else { "ranks" }, list.join(", "))
}

/// `all_reduce #6 of 1,000 Float`.
fn call_text(call: &SharedCall<'_>) -> String {
    let entry = call.entry;
    let kind = clean(&entry.kind);
    let elements: u64 = entry.input_elements.iter().fold(0, |sum, it| sum.saturating_add(*it));
    let size = match entry.input_types.first() {
        Some(first) => {
            let count = metrics::numbers::count(elements as f64);
            format!(" of {count} {}", clean(first))
        }
        None => String::new(),
    };
    format!("{kind} #{}{size}", entry.sequence)
}

fn frame_text(frame: &FlightFrame) -> String {
    clean(&format!("{}:{} {}", frame.file, frame.line, frame.function))
}

/// The same for programs: an object [`SCHEMA`].
///
/// # Errors
/// If it cannot be written.
pub fn write_json(
    out: &mut dyn Write,
    files: &[FlightDumpFile],
    groups: &[GroupDiagnosis<'_>],
    warnings: &[String],
) -> io::Result<()> {
    let state = |it: GroupState| match it {
        GroupState::Mismatch => "mismatch",
        GroupState::NotCalled => "not_called",
        GroupState::Running => "running",
        GroupState::Ended => "ended",
    };
    let calls = |calls: &[SharedCall<'_>]| calls.iter().map(call_json).collect::<Vec<Value>>();
    let groups = groups.iter().map(|it| {
        json!({
            "name": it.name, "description": it.description, "ranks": it.ranks, "without_dump": it.without_dump,
            "state": state(it.state), "message": verdict(it), "sequence": it.sequence, "calls": calls(&it.calls),
            "behind": calls(&it.behind), "silent": it.silent, "not_started": it.not_started, "ended": it.ended,
            "pending": calls(&it.pending),
        })
    });
    let inputs = files.iter().map(|it| {
        json!({
            "path": loader::shown(&it.path), "rank": it.rank, "version": it.dump.version, "calls": it.dump.entries.len(),
        })
    });
    let document = json!({
        "schema": SCHEMA, "inputs": inputs.collect::<Vec<_>>(), "groups": groups.collect::<Vec<_>>(), "warnings": warnings,
    });
    writeln!(out, "{}", escaped(&document))
}

fn call_json(call: &SharedCall<'_>) -> Value {
    let entry = call.entry;
    let frames = call
        .stack
        .iter()
        .map(|it| json!({"file": it.file, "line": it.line, "function": it.function}));
    json!({
        "ranks": call.ranks, "kind": entry.kind, "sequence": entry.sequence, "input_elements": entry.input_elements,
        "input_types": entry.input_types, "called_ns": entry.called_ns, "stack": frames.collect::<Vec<_>>(),
    })
}
