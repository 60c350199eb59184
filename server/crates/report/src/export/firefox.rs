//! The JSON of the Firefox Profiler: its "processed profile" of version 61, which the profiler upgrades to its own when it opens
//! the file (<https://github.com/firefox-devtools/profiler/blob/main/docs-developer/CHANGELOG-formats.md>; the types are in
//! `src/types/profile.ts` there).

use std::fmt::Display;
use std::io::{self, Write};

use ledger::{Metric, Unit};
use loader::StackBooks;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use stack_books::{StackFrame, StackRow};

use super::names::{ExportedStacks, FrameName, metrics_of};
use super::texts::TextTable;

/// The version of the processed format. All tables but samples are shared by the threads from 60 on.
const VERSION: u32 = 61;

/// The version of the format that Firefox writes itself, which has to be named and is not used.
const GECKO_VERSION: u32 = 33;

/// What entries of stacks are, each with a colour of the profiler. Grey has to be among them.
const CATEGORIES: [(&str, &str); 6] = [
    ("Your code", "blue"),
    ("Library", "grey"),
    ("Operator", "green"),
    ("Runtime call", "orange"),
    ("Device", "purple"),
    ("Not on a line", "darkgrey"),
];

/// The place of an entry in [`CATEGORIES`].
fn category(frame: &StackFrame) -> usize {
    match frame {
        StackFrame::Line(line) if line.is_user_code => 0,
        StackFrame::Line(_) | StackFrame::Call(_) => 1,
        StackFrame::Operator(_) | StackFrame::SizedOperator(_) => 2,
        StackFrame::Runtime(_) => 3,
        StackFrame::Device(_) => 4,
        StackFrame::NoLine(_) => 5,
    }
}

/// Writes a thread for each metric that the recording has anything of, the chosen one first. A stack is a sample with the
/// weight of its amount, times in milliseconds; samples are in the order of a flame graph, each where the one before it ends.
pub(super) fn write(out: &mut dyn Write, stacks: &ExportedStacks<'_>) -> io::Result<()> {
    let &ExportedStacks { recording, books, metric, names } = stacks;
    let inputs = recording.run.inputs.iter().map(|it| loader::shown(&it.path).into_owned());
    let categories = CATEGORIES
        .map(|(name, color)| json!({"name": name, "color": color, "subcategories": ["Other"]}));
    let meta = json!({
        "interval": 1,
        "startTime": 0,
        "processType": 0,
        "product": inputs.collect::<Vec<_>>().join(", "),
        "importedFrom": concat!("perfline ", env!("CARGO_PKG_VERSION")),
        "stackwalk": 0,
        "debug": false,
        "version": GECKO_VERSION,
        "preprocessedProfileVersion": VERSION,
        "categories": categories,
        "markerSchema": [],
        "symbolicated": true,
        "symbolicationNotSupported": true,
        "usesOnlyOneStackType": true,
        "sourceCodeIsNotOnSearchfox": true,
        "keepProfileThreadOrder": true,
        "initialSelectedThreads": [0],
    });
    writeln!(out, "{{\"meta\": {meta},\n \"libs\": [], \"pages\": [], \"counters\": [],")?;
    writeln!(out, " \"shared\": {{")?;
    write_shared(out, books, names)?;
    writeln!(out, " }},\n \"threads\": [")?;
    for (index, it) in metrics_of(books, metric).into_iter().enumerate() {
        write_thread(out, books, it, index)?;
    }
    writeln!(out, "]}}")
}

/// All tables but those of samples.
fn write_shared(out: &mut dyn Write, books: &StackBooks, names: &[FrameName]) -> io::Result<()> {
    let mut texts = TextTable::default();
    let mut sources: Vec<usize> = Vec::new();
    let mut source_of: FxHashMap<usize, usize> = FxHashMap::default();
    let mut functions: Vec<(usize, Option<(usize, u32)>)> = Vec::new();
    for name in names {
        let place = name.place.as_ref().map(|(file, line)| {
            let text = texts.row(file);
            let source = *source_of.entry(text).or_insert_with(|| {
                sources.push(text);
                sources.len() - 1
            });
            (source, *line)
        });
        functions.push((texts.row(&name.whole), place));
    }
    let n = names.len();
    let or_null = |it: Option<String>| it.unwrap_or_else(|| "null".to_owned());
    let lines = || functions.iter().map(|(_, place)| or_null(place.map(|it| it.1.to_string())));
    let parent = |stack: StackRow| {
        let parent = books.parent(stack);
        or_null((parent != StackRow::ROOT).then(|| (parent.index() - 1).to_string()))
    };

    write!(out, "  \"stackTable\": {{")?;
    column(out, "frame", books.stacks().map(|it| books.innermost(it).index()))?;
    column(out, "prefix", books.stacks().map(parent))?;
    writeln!(out, "\"length\": {}}},", books.len() - 1)?;

    // An entry of a stack is a frame and a function: two lines of a function are two rows of the call tree.
    write!(out, "  \"frameTable\": {{")?;
    column(out, "address", (0..n).map(|_| -1))?;
    column(out, "inlineDepth", (0..n).map(|_| 0))?;
    column(out, "category", books.frames().map(|(frame, _)| category(frame)))?;
    column(out, "subcategory", (0..n).map(|_| 0))?;
    column(out, "func", 0..n)?;
    for name in ["nativeSymbol", "innerWindowID", "column"] {
        column(out, name, (0..n).map(|_| "null"))?;
    }
    column(out, "line", lines())?;
    writeln!(out, "\"length\": {n}}},")?;

    write!(out, "  \"funcTable\": {{")?;
    column(out, "name", functions.iter().map(|it| it.0))?;
    column(out, "isJS", (0..n).map(|_| false))?;
    column(out, "relevantForJS", (0..n).map(|_| false))?;
    column(out, "resource", (0..n).map(|_| -1))?;
    let source = |place: Option<(usize, u32)>| or_null(place.map(|it| it.0.to_string()));
    column(out, "source", functions.iter().map(|it| source(it.1)))?;
    column(out, "lineNumber", lines())?;
    column(out, "columnNumber", (0..n).map(|_| "null"))?;
    writeln!(out, "\"length\": {n}}},")?;

    let sources = json!({
        "length": sources.len(),
        "id": vec![Value::Null; sources.len()],
        "filename": sources,
        "startLine": vec![1; sources.len()],
        "startColumn": vec![1; sources.len()],
        "sourceMapURL": vec![Value::Null; sources.len()],
    });
    writeln!(out, "  \"sources\": {sources},")?;
    let resources = json!({"length": 0, "lib": [], "name": [], "host": [], "type": []});
    let symbols =
        json!({"length": 0, "libIndex": [], "address": [], "name": [], "functionSize": []});
    writeln!(out, "  \"resourceTable\": {resources}, \"nativeSymbols\": {symbols},")?;
    writeln!(out, "  \"stringArray\": {}", Value::from(texts.texts))
}

/// The samples of a metric.
fn write_thread(
    out: &mut dyn Write,
    books: &StackBooks,
    metric: Metric,
    index: usize,
) -> io::Result<()> {
    let order = books.in_order(metric);
    let is_time = metric.unit() == Unit::Ns;
    // Bytes have no time: one is where a nanosecond would be.
    let mut end = 0_i64;
    let times = order.iter().map(|&stack| {
        let start = end;
        end = end.saturating_add(books.amount(metric, stack));
        milliseconds(start)
    });
    let times: Vec<String> = times.collect();
    let markers = json!({
        "length": 0, "data": [], "name": [], "startTime": [], "endTime": [], "phase": [], "category": [],
    });
    let comma = if index == 0 { "" } else { "," };
    write!(
        out,
        "  {comma}{{\"processType\": \"default\", \"processStartupTime\": 0, \"processShutdownTime\": null, \
         \"registerTime\": 0, \"unregisterTime\": null, \"pausedRanges\": [], \"name\": {}, \"isMainThread\": {}, \
         \"processName\": \"perfline\", \"pid\": \"0\", \"tid\": {index}, \"markers\": {markers},\n   \"samples\": {{",
        Value::from(metric.label()),
        index == 0
    )?;
    column(out, "stack", order.iter().map(|it| it.index() - 1))?;
    column(out, "time", times)?;
    let weight = |stack: StackRow| {
        let amount = books.amount(metric, stack);
        if is_time { milliseconds(amount) } else { amount.to_string() }
    };
    column(out, "weight", order.iter().map(|&it| weight(it)))?;
    let kind = if is_time { "tracing-ms" } else { "bytes" };
    writeln!(out, "\"weightType\": \"{kind}\", \"length\": {}}}}}", order.len())
}

/// Nanoseconds as milliseconds, exactly.
fn milliseconds(nanoseconds: i64) -> String {
    let (whole, part) = (nanoseconds / 1_000_000, nanoseconds % 1_000_000);
    if part == 0 { whole.to_string() } else { format!("{whole}.{part:06}") }
}

/// Writes a member of an object, with the comma behind it.
fn column<T: Display>(
    out: &mut dyn Write,
    name: &str,
    values: impl IntoIterator<Item = T>,
) -> io::Result<()> {
    write!(out, "\"{name}\": [")?;
    for (index, value) in values.into_iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(out, "{comma}{value}")?;
    }
    writeln!(out, "],")
}
