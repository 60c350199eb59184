//! The protocol buffer of pprof: <https://github.com/google/pprof/blob/main/proto/profile.proto>. The messages have the
//! fields of it that are written, with their numbers there.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use ledger::Evidence;
use prost::Message;
use rustc_hash::FxHashMap;

use super::names::{ExportedStacks, metrics_of, unit};
use super::texts::TextTable;
use crate::terminal::clean;

/// `Profile` of the schema.
#[derive(Clone, PartialEq, Message)]
pub(super) struct PprofProfile {
    /// What the values of a sample are, in their order.
    #[prost(message, repeated, tag = "1")]
    pub(super) sample_type: Vec<PprofValueType>,
    /// The stacks.
    #[prost(message, repeated, tag = "2")]
    pub(super) sample: Vec<PprofSample>,
    /// What was recorded.
    #[prost(message, repeated, tag = "3")]
    pub(super) mapping: Vec<PprofMapping>,
    /// The entries of stacks.
    #[prost(message, repeated, tag = "4")]
    pub(super) location: Vec<PprofLocation>,
    /// The functions that entries are in.
    #[prost(message, repeated, tag = "5")]
    pub(super) function: Vec<PprofFunction>,
    /// All texts; the first is empty.
    #[prost(string, repeated, tag = "6")]
    pub(super) string_table: Vec<String>,
    /// The text with the name of the type of value that is shown first.
    #[prost(int64, tag = "14")]
    pub(super) default_sample_type: i64,
}

/// `ValueType` of the schema: texts by their place in the table.
#[derive(Clone, PartialEq, Message)]
pub(super) struct PprofValueType {
    #[prost(int64, tag = "1")]
    pub(super) r#type: i64,
    #[prost(int64, tag = "2")]
    pub(super) unit: i64,
}

/// `Sample` of the schema: entries innermost first, one value for each type, labels.
#[derive(Clone, PartialEq, Message)]
pub(super) struct PprofSample {
    #[prost(uint64, repeated, tag = "1")]
    pub(super) location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    pub(super) value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    pub(super) label: Vec<PprofLabel>,
}

/// `Label` of the schema: a key and its text.
#[derive(Clone, PartialEq, Message)]
pub(super) struct PprofLabel {
    #[prost(int64, tag = "1")]
    pub(super) key: i64,
    #[prost(int64, tag = "2")]
    pub(super) str: i64,
}

/// `Mapping` of the schema: the recording stands for the program, and says that nothing is left to look up in it.
#[derive(Clone, PartialEq, Message)]
pub(super) struct PprofMapping {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(int64, tag = "5")]
    pub(super) filename: i64,
    #[prost(bool, tag = "7")]
    pub(super) has_functions: bool,
    #[prost(bool, tag = "8")]
    pub(super) has_filenames: bool,
    #[prost(bool, tag = "9")]
    pub(super) has_line_numbers: bool,
    #[prost(bool, tag = "10")]
    pub(super) has_inline_frames: bool,
}

/// `Location` of the schema.
#[derive(Clone, PartialEq, Message)]
pub(super) struct PprofLocation {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(uint64, tag = "2")]
    pub(super) mapping_id: u64,
    #[prost(message, repeated, tag = "4")]
    pub(super) line: Vec<PprofLine>,
}

/// `Line` of the schema.
#[derive(Clone, PartialEq, Message)]
pub(super) struct PprofLine {
    #[prost(uint64, tag = "1")]
    pub(super) function_id: u64,
    #[prost(int64, tag = "2")]
    pub(super) line: i64,
}

/// `Function` of the schema. The field for a mangled name stays empty: where it equals the name, `go tool pprof` cuts the
/// template arguments off, by which kernels differ.
#[derive(Clone, PartialEq, Message)]
pub(super) struct PprofFunction {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(int64, tag = "2")]
    pub(super) name: i64,
    #[prost(int64, tag = "4")]
    pub(super) filename: i64,
}

/// Writes the stacks with any amount; each has a value for each metric that the recording has anything of. The chosen one is
/// the last and named as the default: readers show the one or the other first.
pub(super) fn write(out: &mut dyn Write, stacks: &ExportedStacks<'_>) -> io::Result<()> {
    let bytes = profile(stacks).encode_to_vec();
    let mut compressed = GzEncoder::new(out, Compression::default());
    compressed.write_all(&bytes)?;
    compressed.finish()?;
    Ok(())
}

fn profile(stacks: &ExportedStacks<'_>) -> PprofProfile {
    let &ExportedStacks { recording, books, metric, names } = stacks;
    let recorded = recording.run.inputs.first().map(|it| loader::shown(&it.path));
    let texts = &mut TextTable::default();
    text_row(texts, "");
    let mapping = PprofMapping {
        id: 1,
        filename: text_row(texts, &recorded.unwrap_or_default()),
        has_functions: true,
        has_filenames: true,
        has_line_numbers: true,
        has_inline_frames: true,
    };
    let mut metrics = metrics_of(books, metric);
    metrics.reverse();
    let sample_type: Vec<PprofValueType> = metrics
        .iter()
        .map(|it| PprofValueType {
            r#type: text_row(texts, it.id()),
            unit: text_row(texts, unit(it.unit())),
        })
        .collect();
    let evidence = text_row(texts, "evidence");
    let evidence_names = [Evidence::Exact, Evidence::Inferred, Evidence::Function]
        .map(|it| (it, text_row(texts, it.name())));
    let mut functions: FxHashMap<(i64, i64), u64> = FxHashMap::default();
    let mut function = Vec::new();
    let mut location = Vec::new();
    for (id, it) in (1..).zip(names) {
        let (file, line) = it.place.as_ref().map_or(("", 0), |(file, line)| (&**file, *line));
        let (name, filename) = (text_row(texts, &it.function), text_row(texts, file));
        let function_id = *functions.entry((name, filename)).or_insert_with(|| {
            let id = function.len() as u64 + 1;
            function.push(PprofFunction { id, name, filename });
            id
        });
        location.push(PprofLocation {
            id,
            mapping_id: 1,
            line: vec![PprofLine { function_id, line: line.into() }],
        });
    }
    let mut sample = Vec::new();
    for stack in books.stacks() {
        let value: Vec<i64> = metrics.iter().map(|&it| books.amount(it, stack)).collect();
        if value.iter().all(|it| *it == 0) {
            continue;
        }
        let entries = books.entries(stack);
        // How the line is known that the amount is on.
        let known = entries.iter().rev().find_map(|it| names[it.index()].evidence);
        let text = evidence_names.iter().find(|(it, _)| Some(*it) == known);
        let label = text.map(|&(_, str)| PprofLabel { key: evidence, str }).into_iter().collect();
        let location_id = entries.iter().rev().map(|it| it.index() as u64 + 1).collect();
        sample.push(PprofSample { location_id, value, label });
    }
    let default_sample_type = text_row(texts, metric.id());
    PprofProfile {
        sample_type,
        sample,
        mapping: vec![mapping],
        location,
        function,
        string_table: std::mem::take(&mut texts.texts),
        default_sample_type,
    }
}

/// The place of a text in the table. What a terminal would obey is replaced: pprof prints names as they are.
fn text_row(texts: &mut TextTable, text: &str) -> i64 {
    i64::try_from(texts.row(&clean(text))).unwrap_or(i64::MAX)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// What was written.
    pub(in crate::export) fn decoded(bytes: &[u8]) -> PprofProfile {
        let mut decoder = flate2::read::GzDecoder::new(bytes);
        let mut plain = Vec::new();
        io::Read::read_to_end(&mut decoder, &mut plain).unwrap();
        PprofProfile::decode(&*plain).unwrap()
    }
}
