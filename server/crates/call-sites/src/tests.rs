//! Small programs with the events that they leave, and the lines that are to be found: `tests/programs.txt`.

#![allow(clippy::unwrap_used)] // A test that cannot go on may stop.

use std::fmt::Write;
use std::sync::Arc;

use ledger::Evidence;
use profile::{HostEventId, Profile};
use pysource::Module;
use recorded::{RecordedSource, RecordedSources, in_order};
use trace_reader::TraceReader;

use super::*;

/// A frame of a program: the function, and its children with the lines that are expected.
struct Frame<'a> {
    /// The function that called it, one frame of which called all neighbours that have it.
    caller: Option<&'a str>,
    function: &'a str,
    children: Vec<(&'a str, &'a str)>,
    /// Whether the recording ended within the last child.
    is_cut: bool,
}

/// `f: scale 2, aten::mul def 3|5`, with `, ...` where it is cut; `g/f: …` is a call that `g` made.
fn frame(row: &str) -> Frame<'_> {
    let (row, is_cut) = row.strip_suffix(", ...").map_or((row, false), |row| (row, true));
    let (function, children) = row.split_once(": ").unwrap();
    let called = function.split_once('/').filter(|_| !function.contains(".py("));
    let (caller, function) = called.map_or((None, function), |it| (Some(it.0), it.1));
    let children = children.split(", ").map(|child| {
        let at = child.find(" def").unwrap_or_else(|| child.rfind(' ').unwrap());
        (&child[..at], child[at..].trim())
    });
    Frame { caller, function, children: children.collect(), is_cut }
}

/// Frames that one frame of the same function called.
fn by_caller<'f, 'a>(frames: &'f [Frame<'a>]) -> impl Iterator<Item = &'f [Frame<'a>]> {
    frames.chunk_by(|one, other| one.caller == other.caller)
}

/// `outer > inner > innermost`: a child, and what is called in turn; `outer > inner=4` with the line that is expected of it.
fn calls(child: &str) -> (&str, Vec<(&str, Option<&str>)>) {
    let mut names = child.split(" > ");
    let outer = names.next().unwrap_or(child);
    let inner =
        names.map(|it| it.split_once('=').map_or((it, None), |(name, line)| (name, Some(line))));
    (outer, inner.collect())
}

fn trace(module: &Module, frames: &[Frame<'_>]) -> String {
    let recorded = |name: &str| match name.split_once('@') {
        Some((name, line)) => format!("m.py({line}): {name}"),
        None => match module.named(name).next() {
            Some(it) => format!("m.py({}): {name}", it.first_line),
            None => name.to_owned(),
        },
    };
    let mut events = String::new();
    let mut id = 0;
    let mut event = |name: &str, start: f64, duration: f64, parent: Option<i32>| {
        let category = if name.starts_with("aten::") { "cpu_op" } else { "python_function" };
        let parent = parent.map_or("null".to_owned(), |it| it.to_string());
        let comma = if id == 0 { "" } else { "," };
        // Times that are no whole microseconds: what a call holds is determined by them.
        let duration = duration + 0.25;
        let _never_fails = write!(
            events,
            r#"{comma}{{"ph":"X","cat":"{category}","name":"{name}","pid":1,"tid":1,"ts":{start:.3},"dur":{duration},"args":{{"Python id":{id},"Python parent id":{parent}}}}}"#
        );
        id += 1;
        id - 1
    };
    let mut start = 1000.5;
    let duration = |frame: &Frame<'_>| 20.0 * (frame.children.len() + 1) as f64;
    for neighbours in by_caller(frames) {
        let whole = neighbours.iter().map(|it| duration(it) + 10.0).sum();
        let caller = neighbours[0].caller;
        let caller = caller.map(|it| event(&recorded(it), start - 2.0, whole, None));
        for frame in neighbours {
            let duration = duration(frame);
            let parent = event(&recorded(frame.function), start, duration, caller);
            for (row, (child, _)) in frame.children.iter().enumerate() {
                let (name, inner) = calls(child);
                let is_last = frame.is_cut && row + 1 == frame.children.len();
                let end = start + duration;
                let mut start = start + 20.0 * row as f64 + 5.25;
                let length = if is_last { end - start } else { 12.0 };
                let mut outer = event(&recorded(name), start, length, Some(parent));
                for (depth, (inner, _)) in inner.into_iter().enumerate() {
                    start += 2.25;
                    outer = event(&recorded(inner), start, 8.0 - 4.0 * depth as f64, Some(outer));
                }
            }
            start += duration + 10.0;
        }
    }
    format!(r#"{{"traceEvents":[{events}]}}"#)
}

fn read(trace: &str) -> Profile {
    let mut reader = TraceReader::new();
    reader.feed(trace.as_bytes());
    reader.finish().profile
}

/// The line of each event that has one, else `def` with the tied candidates of the whole program.
fn inferred(text: &str, frames: &[Frame<'_>]) -> Vec<String> {
    let module = Module::parse(text);
    let profile = read(&trace(&module, frames));
    let mut sources = RecordedSources::default();
    let source = RecordedSource {
        key: "m.py".to_owned(),
        module: Some(Arc::new(module)),
        text: Some(text.into()),
        ..RecordedSource::default()
    };
    sources.insert("m.py", source);
    let order = in_order(&profile);
    let sites = infer(&profile, &sources, &order, true, &Costs::default());
    let places: Vec<u32> = sites.places().map(|it| it.line).collect();
    let tied: Vec<String> = sites
        .tied()
        .flat_map(|(_, tied)| tied.keys())
        .map(|lines| lines.iter().map(u32::to_string).collect::<Vec<_>>().join("|"))
        .collect();
    let line = |event: HostEventId| match sites.of_event(event) {
        Some((place, Evidence::Inferred)) => places[place.index()].to_string(),
        _ => format!("def {}", tied.join(" ")).trim().to_owned(),
    };
    order.iter().map(|&event| line(event)).collect()
}

#[test]
fn programs() {
    let mut wrong = String::new();
    for case in include_str!("tests/programs.txt").split("\n== ").skip(1) {
        let (name, rest) = case.split_once('\n').unwrap();
        let (text, rows) = rest.split_once("--\n").unwrap();
        let frames: Vec<Frame<'_>> = rows.lines().filter(|it| !it.is_empty()).map(frame).collect();
        let mut found = inferred(text, &frames).into_iter();
        for neighbours in by_caller(&frames) {
            if neighbours[0].caller.is_some() {
                found.next();
            }
            for frame in neighbours {
                found.next();
                for (child, expected) in &frame.children {
                    let mut lines = vec![(found.next().unwrap_or_default(), Some(*expected))];
                    for (_, line) in calls(child).1 {
                        lines.push((found.next().unwrap_or_default(), line));
                    }
                    for (line, expected) in lines {
                        if let Some(expected) = expected.filter(|it| *it != line) {
                            let _never_fails = writeln!(
                                wrong,
                                "{name}: {child}: found {line}, expected {expected}"
                            );
                        }
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn each_cost_can_be_varied() {
    let mut costs = Costs::default();
    let names: Vec<_> = costs.each_mut().into_iter().map(|(name, cost)| (name, *cost)).collect();
    assert!(names.contains(&("skip_defined", 12)));
    costs.each_mut().into_iter().for_each(|(_, cost)| *cost += 1);
    assert_eq!(costs.skip_defined, 13);
}
