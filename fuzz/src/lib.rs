//! What holds for every input of the readers: they never panic, and in how many pieces an input comes, or how many cores read
//! it, changes nothing. And for whatever is sent to the language server: each request is answered once.
//!
//! *Owns*: a function for each reader and for the server, which panics where that does not hold; `targets/` hands inputs of
//! libFuzzer to it, `tests/corpus.rs` those of `corpus/`.
//!
//! *Never*: is a part of what users get.
//!
//! *The tests that say so*: `tests/corpus.rs`; `tests/tidy/` of the crate `tests` (no other crate may depend on this one).

#![allow(clippy::expect_used, reason = "what does not hold is to panic")]

mod messages;

use std::borrow::Cow;

use compile_log::{CacheEntry, CachedFile, CompileLogReader, log_by_graphs};
use ledger::Ledger;
use ledger_file::{LedgerHead, read_body};
use profile::Interner;
use pysource::{LineIndex, LineMap, Module};
use snapshot_reader::{SnapshotReader, TimelineReader};
use trace_reader::{SpeculativeReader, TraceLists, TraceReader};

pub use messages::messages;

/// What inputs are tried on.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of its program and of its folder in `corpus/`.
    pub name: &'static str,
    /// What it does with an input.
    pub check: fn(&[u8]),
    /// Variants of its corpus that are tried in each run of the tests, so that it takes some seconds.
    pub n_variants: usize,
}

impl Target {
    const fn of_reader(name: &'static str, check: fn(&[u8])) -> Self {
        Self { name, check, n_variants: 5000 }
    }
}

/// All of them.
pub const TARGETS: [Target; 13] = [
    Target::of_reader("trace", trace),
    // Each input is looked at in many places.
    Target { name: "first_steps", check: first_steps, n_variants: 300 },
    Target::of_reader("snapshot", snapshot),
    Target::of_reader("side_car", side_car),
    Target::of_reader("timeline", timeline),
    Target::of_reader("compile_log", compile_log),
    Target::of_reader("compile_cache", compile_cache),
    Target::of_reader("python", python),
    Target::of_reader("edits", edits),
    Target::of_reader("budget", budget),
    Target::of_reader("ledgers", ledgers),
    Target::of_reader("flight_recorder", flight_recorder),
    // Each input is a session of the language server.
    Target { name: "messages", check: messages, n_variants: 1000 },
];

/// The begin of a trace: nothing is read that is not there, nothing twice, and it is a part of it.
///
/// # Panics
/// If that does not hold.
pub fn first_steps(bytes: &[u8]) {
    let (piece, text) = pieces(bytes);
    let read = |at: u64, buffer: &mut [u8]| {
        let at = usize::try_from(at).expect("a place in the text");
        buffer.copy_from_slice(&text[at..at + buffer.len()]);
        Ok(())
    };
    let size = text.len() as u64;
    let n_bytes = size / 2 + piece as u64;
    let Some(lists) = TraceLists::find(size, read).expect("all can be read") else { return };
    if let Some(begin) = lists.read_begins(n_bytes, read).expect("all can be read") {
        assert!(begin.trace.bytes <= n_bytes.min(size), "{begin:?}");
        let share = lists.share_until(begin.known_until);
        assert!((0.0..=1.0).contains(&share), "{share}");
    }
}

/// A trace: read at once, in pieces, and in pieces that another core has read before, it has the same tables and anomalies.
///
/// # Panics
/// If that does not hold.
pub fn trace(bytes: &[u8]) {
    let (piece, text) = pieces(bytes);
    let tables = |read: &dyn Fn(&mut TraceReader)| {
        let mut reader = TraceReader::new();
        read(&mut reader);
        let trace = reader.finish();
        let it = trace.profile;
        let device = &it.device;
        format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            strings(&it.strings),
            it.threads,
            it.host,
            it.memory,
            it.flows,
            (&device.kind, &device.name, &device.start, &device.duration, &device.device),
            (&device.stream, &device.correlation, &device.external_id, &device.graph_id),
            trace.warnings,
        )
    };
    let whole = tables(&|reader| reader.feed(text));
    assert_eq!(
        whole,
        tables(&|reader| text.chunks(piece).for_each(|it| reader.feed(it))),
        "in pieces of {piece}"
    );
    let speculative = tables(&|reader| {
        let mut other_core = SpeculativeReader::new();
        for bytes in text.chunks(piece) {
            let ahead = other_core.read(bytes);
            reader.feed_chunk(bytes, ahead.as_ref());
        }
    });
    assert_eq!(whole, speculative, "in pieces of {piece} that were read ahead");
}

/// A memory snapshot: read at once and in pieces it has the same tables, or the same error.
///
/// # Panics
/// If that does not hold.
pub fn snapshot(bytes: &[u8]) {
    let (piece, pickle) = pieces(bytes);
    let tables = |piece: usize| {
        let mut reader = SnapshotReader::new();
        pickle.chunks(piece).for_each(|it| reader.feed(it));
        match reader.finish() {
            Ok((it, warnings)) => format!(
                "{:?} {:?} {:?} {:?} {:?} {warnings:?}",
                strings(&it.strings),
                it.stacks,
                it.segments,
                it.devices,
                it.annotations
            ),
            Err(error) => error.to_string(),
        }
    };
    assert_eq!(tables(pickle.len().max(1)), tables(piece), "in pieces of {piece}");
}

/// The exact callers of a trace.
pub fn side_car(bytes: &[u8]) {
    let _ = trace_reader::callers::read_callers(bytes);
}

/// A memory timeline: read at once and in pieces it is the same.
///
/// # Panics
/// If that does not hold.
pub fn timeline(bytes: &[u8]) {
    let (piece, text) = pieces(bytes);
    let rows = |piece: usize| {
        let mut reader = TimelineReader::new();
        text.chunks(piece).for_each(|it| reader.feed(it));
        format!("{:?}", reader.finish())
    };
    assert_eq!(rows(text.len().max(1)), rows(piece), "in pieces of {piece}");
}

/// The log of `torch.compile`: read at once and in pieces it is the same.
///
/// # Panics
/// If that does not hold.
pub fn compile_log(bytes: &[u8]) {
    let (piece, text) = pieces(bytes);
    let log = |piece: usize| {
        let mut reader = CompileLogReader::new();
        text.chunks(piece).for_each(|it| reader.feed(it));
        let (log, warnings) = reader.finish();
        format!("{log:?} {warnings:?}")
    };
    assert_eq!(log(text.len().max(1)), log(piece), "in pieces of {piece}");
}

/// A generated file and an entry of the compiler's cache, with an empty line between: each call that is found is within the file, and made from lines that
/// the graphs name.
///
/// # Panics
/// If that does not hold.
pub fn compile_cache(bytes: &[u8]) {
    let at = bytes.windows(2).position(|it| it == b"\n\n").unwrap_or(bytes.len());
    let (code, entry) = bytes.split_at(at);
    let code = String::from_utf8_lossy(code).into_owned();
    let entry = CacheEntry::read(entry);
    let graphs: Vec<String> = entry.graphs.iter().map(|&it| it.to_owned()).collect();
    let file = CachedFile { path: "c.py".to_owned(), code: code.clone(), graphs };
    let log = log_by_graphs(&[file]);
    let n_lines = code.lines().count();
    for call in log.files.iter().flat_map(|it| &it.calls) {
        assert!(call.first_line <= call.last_line && call.last_line as usize <= n_lines);
        for frame in call.origins.iter().flatten() {
            let file = log.strings.get(frame.file);
            assert!(entry.graphs.iter().any(|it| it.contains(file)), "{file}");
        }
    }
}

/// A Python text: its functions, what can leave a trace in them, its waits and its directives lie within it.
///
/// # Panics
/// If that does not hold.
pub fn python(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let module = Module::parse(&text);
    let n_functions = module.functions().len();
    let wanted: Vec<usize> = (0..n_functions).collect();
    assert_eq!(pysource::flows(&text, &wanted).len(), n_functions);
    let _ = module.possible_syncs(&text);
    for line in 1..=module.n_lines() {
        let lines = module.statement_lines(line);
        assert!(lines.contains(&line), "the statement of line {line} has the lines {lines:?}");
        let _ = (module.enclosing(line), module.directives(line).count());
    }
    for function in module.functions() {
        assert!(function.contains(function.def_line), "{function:?}");
        assert!(function.last_line <= module.n_lines(), "{function:?}");
    }
}

/// Edits of a text: lines are carried within the text that they are in, and there and back lead to the same line.
///
/// The first two bytes are the place of each change, the third is its length; what follows, up to a zero byte, is put there.
/// The text is what comes before the first of them.
///
/// # Panics
/// If that does not hold.
pub fn edits(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.split('\0');
    let recorded = parts.next().unwrap_or_default();
    let mut map = LineMap::identity(recorded);
    let mut current = recorded.to_owned();
    for part in parts {
        let numbers: Vec<usize> = part.chars().take(3).map(|it| it as usize).collect();
        let [high, low, length] = numbers[..] else { continue };
        let start = current.floor_char_boundary((high * 256 + low).min(current.len()));
        let end = current.floor_char_boundary((start + length).min(current.len())).max(start);
        let replacement: String = part.chars().skip(3).collect();
        map.edit(&current, &LineIndex::new(&current), start..end, &replacement);
        current.replace_range(start..end, &replacement);
        check(&map, recorded, &current);
    }
    check(&LineMap::between(recorded, &current), recorded, &current);
}

/// `perfline.toml`.
pub fn budget(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (file, _) = settings::ProjectFile::parse(&text, std::path::Path::new("."), |_| false);
    let _ = file.budget();
}

/// What a ledger file holds behind its first line: what is read of it is written as the same bytes each time.
///
/// # Panics
/// If that does not hold.
pub fn ledgers(bytes: &[u8]) {
    let Ok((head, read)) = read_body(bytes) else { return };
    let write = |(head, read): &(LedgerHead, Vec<(u32, Ledger)>)| {
        let ledgers = read.iter().map(|(rank, it)| Ok((*rank, Cow::Borrowed(it))));
        head.to_body(ledgers).expect("what was read can be written")
    };
    let written = write(&(head, read));
    let again = read_body(&written).expect("what was written can be read");
    assert!(written == write(&again), "what was read is written otherwise");
}

/// A dump of the flight recorder: what is read of it can be compared with itself as that of another rank.
pub fn flight_recorder(bytes: &[u8]) {
    if let Ok(dump) = flight_recorder::read_dump(bytes) {
        let _ = flight_recorder::diagnose(&[(0, &dump), (1, &dump)], &|it| it.contains("torch"));
    }
}

fn check(map: &LineMap, recorded: &str, current: &str) {
    let [n_recorded, n_current] = [recorded, current].map(|it| LineIndex::new(it).n_lines());
    assert_eq!(map.n_lines(), n_current, "{recorded:?} {current:?}");
    let mut last = 0;
    for line in 1..=n_recorded {
        let Some(carried) = map.current(line) else { continue };
        assert!(
            last < carried.line && carried.line <= n_current,
            "{line} {carried:?} {recorded:?} {current:?}"
        );
        assert_eq!(map.recorded(carried.line), Some(line), "{recorded:?} {current:?}");
        last = carried.line;
    }
    assert_eq!(map.current(n_recorded + 1), None, "{recorded:?} {current:?}");
}

/// The size of the pieces, from the first two bytes, and the rest.
fn pieces(bytes: &[u8]) -> (usize, &[u8]) {
    match bytes {
        [high, low, rest @ ..] => (usize::from(u16::from_be_bytes([*high, *low])).max(1), rest),
        _ => (1, bytes),
    }
}

fn strings(interner: &Interner) -> Vec<&str> {
    interner.iter().map(|(_, text)| text).collect()
}
