//! The log as a stream of bytes.

use std::collections::BTreeSet;

use memchr::memchr;
use profile::{
    CompileLog, FunctionCompile, GeneratedCall, GeneratedFile, GraphBreak, OriginFrame,
    RecordedText, StrId, WarningKind, Warnings,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::aot_graph::AotGraph;
use crate::code::{CodeReader, GeneratedCode, KernelLines};
use crate::graph_lines::{FileByGraph, is_backward, lines_by_graph, with_graph};
use crate::origins::{KernelOrigins, read_origins};
use crate::reasons::{graph_break, recompile_reason};
use crate::record::{GraphKey, Record, RecordLine, may_be_used};

/// Bytes of one line that are kept at most: the stacks of a graph with some ten thousand kernels have fewer.
const MAX_LINE: usize = 64 << 20;

/// Whether a file that begins with `prefix` (decompressed) is a log of `torch.compile`.
#[must_use]
pub fn looks_like_compile_log(prefix: &[u8]) -> bool {
    let line = prefix.split(|&it| it == b'\n').next().unwrap_or_default();
    let json = RecordLine::parse(line).map(|it| it.json);
    json.is_some_and(|it| it.starts_with(b"{\""))
}

/// Reads a log that is fed in pieces (already decompressed).
#[derive(Debug, Default)]
pub struct CompileLogReader {
    log: CompileLog,
    warnings: Warnings,
    processes: BTreeSet<u32>,
    names: FxHashMap<u64, String>,
    /// The line that is being read, of which the rest was not fed yet.
    line: Vec<u8>,
    /// Bytes of it that were left out, because it is too long.
    left_out: u64,
    /// Offset of the line that is being read.
    offset: u64,
    /// What is read from the lines of a payload.
    payload: Payload,
    codes: Vec<OutputCode>,
    stacks: Vec<KernelStacks>,
    /// The texts of graphs of operations, by what they were made for, and whether they are of both passes.
    graphs: FxHashMap<GraphKey, Vec<(bool, String)>>,
    /// What was read of them.
    parsed: FxHashMap<GraphKey, Vec<AotGraph>>,
    /// By the number of a function, the place of its last version in the table.
    last_compiles: FxHashMap<u32, usize>,
    /// What is in the table of breaks.
    breaks: FxHashSet<GraphBreak>,
}

/// A generated file, and its place among the records.
#[derive(Debug)]
struct OutputCode {
    place: usize,
    path: StrId,
    graph: GraphKey,
    code: GeneratedCode,
}

/// The stacks of kernels, and their place among the records.
#[derive(Debug)]
struct KernelStacks {
    place: usize,
    graph: GraphKey,
    origins: KernelOrigins,
}

/// The payload that is being read.
#[derive(Debug, Default)]
enum Payload {
    /// One that is not used, or none.
    #[default]
    Unused,
    Code {
        path: StrId,
        graph: GraphKey,
        code: CodeReader,
    },
    Stacks {
        graph: GraphKey,
        /// Where it begins.
        offset: u64,
        text: Vec<u8>,
    },
    Graph {
        graph: GraphKey,
        is_joint: bool,
        text: Vec<u8>,
    },
    Break {
        text: Vec<u8>,
    },
}

impl CompileLogReader {
    /// A reader to which nothing was fed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the next bytes.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr(b'\n', bytes) {
            self.keep(&bytes[..end]);
            self.end_line();
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
    }

    /// What was read. A last record without its end is used as far as it can be read.
    #[must_use]
    pub fn finish(mut self) -> (CompileLog, Warnings) {
        if !self.line.is_empty() || self.left_out > 0 {
            self.end_line();
        }
        self.end_payload();
        self.join();
        self.log.processes = self.processes.into_iter().collect();
        (self.log, self.warnings)
    }

    fn keep(&mut self, part: &[u8]) {
        if self.line.len() + part.len() > MAX_LINE {
            self.left_out += part.len() as u64;
        } else {
            self.line.extend_from_slice(part);
        }
    }

    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        let offset = self.offset;
        let left_out = std::mem::take(&mut self.left_out);
        self.offset += line.len() as u64 + left_out + 1;
        if left_out > 0 {
            let message = "a line of more than 64 MiB was left out";
            self.warnings.add(WarningKind::Malformed, offset, message);
        } else if let Some(text) = line.strip_prefix(b"\t") {
            self.payload_line(text);
        } else if let Some(record) = RecordLine::parse(&line) {
            self.end_payload();
            self.begin_record(record, offset);
        } else if !line.is_empty() {
            self.end_payload();
            let message = "a line that is no record of the log was left out";
            self.warnings.add(WarningKind::Malformed, offset, message);
        }
        line.clear();
        self.line = line;
    }

    fn begin_record(&mut self, record: RecordLine<'_>, offset: u64) {
        self.processes.insert(record.process);
        if !may_be_used(record.json) {
            return;
        }
        match Record::parse(record.json, |number| self.names.get(&number).cloned()) {
            Err(_) => {
                let message = "a record that is no JSON was left out";
                self.warnings.add(WarningKind::Malformed, offset, message);
            }
            Ok(None) => {}
            Ok(Some(Record::Interned { text, number })) => {
                self.names.insert(number, text);
            }
            Ok(Some(Record::OutputCode { path, graph })) => {
                let path = self.log.strings.intern(&path);
                self.payload = Payload::Code { path, graph, code: CodeReader::default() };
            }
            Ok(Some(Record::KernelStacks { graph })) => {
                self.payload = Payload::Stacks { graph, offset, text: Vec::new() };
            }
            Ok(Some(Record::Graph { graph, is_joint })) => {
                self.payload = Payload::Graph { graph, is_joint, text: Vec::new() };
            }
            Ok(Some(Record::CompiledBackward { frame, time, phases })) => {
                // It names the function by its number alone, after the function itself was compiled.
                let last = self.last_compiles.get(&frame);
                if let Some(it) = last.and_then(|&at| self.log.compiles.get_mut(at)) {
                    it.time += time;
                    it.phases += phases;
                }
            }
            Ok(Some(Record::GraphBreak)) => self.payload = Payload::Break { text: Vec::new() },
            Ok(Some(Record::Compiled(it))) => {
                let strings = &mut self.log.strings;
                let reason = it.reason.as_deref().map(recompile_reason);
                self.last_compiles.insert(it.frame, self.log.compiles.len());
                self.log.compiles.push(FunctionCompile {
                    file: strings.intern(&it.file),
                    line: it.line,
                    function: strings.intern(&it.function),
                    frame: it.frame,
                    time: it.time,
                    phases: it.phases,
                    reason: reason.map_or(StrId::NONE, |it| strings.intern(&it)),
                });
            }
        }
    }

    fn payload_line(&mut self, text: &[u8]) {
        match &mut self.payload {
            Payload::Unused => {}
            Payload::Code { code, .. } => code.line(&String::from_utf8_lossy(text)),
            Payload::Stacks { text: all, .. }
            | Payload::Graph { text: all, .. }
            | Payload::Break { text: all } => {
                if all.len() + text.len() <= MAX_LINE {
                    all.extend_from_slice(text);
                    all.push(b'\n');
                }
            }
        }
    }

    fn end_payload(&mut self) {
        let place = self.codes.len() + self.stacks.len();
        match std::mem::take(&mut self.payload) {
            Payload::Unused => {}
            Payload::Code { path, graph, code } => {
                self.codes.push(OutputCode { place, path, graph, code: code.finish() });
            }
            Payload::Graph { graph, is_joint, text } => {
                let text = String::from_utf8_lossy(&text).into_owned();
                self.graphs.entry(graph).or_default().push((is_joint, text));
            }
            Payload::Break { text } => {
                let text = String::from_utf8_lossy(&text);
                if let Some((file, line, reason)) = graph_break(&text) {
                    let strings = &mut self.log.strings;
                    let (file, reason) = (strings.intern(file), strings.intern(reason));
                    let found = GraphBreak { file, line, reason };
                    // Each attempt to compile around it says so again.
                    if self.breaks.insert(found) {
                        self.log.breaks.push(found);
                    }
                }
            }
            Payload::Stacks { graph, offset, text } => {
                match read_origins(&text, &mut self.log.strings) {
                    Ok(origins) => self.stacks.push(KernelStacks { place, graph, origins }),
                    Err(_) => {
                        let message = "the lines of the kernels of a graph cannot be read: its kernels have none";
                        self.warnings.add(WarningKind::Malformed, offset, message);
                    }
                }
            }
        }
    }

    /// Each generated file with the origins of its kernels. Of one that was logged several times, from a cache, the last counts.
    fn join(&mut self) {
        let (mut files, mut texts) = (Vec::new(), Vec::new());
        let mut place_of: FxHashMap<StrId, usize> = FxHashMap::default();
        let codes = std::mem::take(&mut self.codes);
        for code in &codes {
            let noted = self.file_by_stacks(code);
            let is_whole =
                noted.as_ref().is_some_and(|it| it.calls.len() == code.code.kernels.len());
            // Only graphs say what a backward pass computes again, and which places are wrong.
            let is_asked = !is_whole
                || is_backward(&code.code.text)
                || self.graphs_of(code.graph).iter().any(AotGraph::is_corrected);
            let by_graph = if is_asked { self.file_by_graph(code) } else { None };
            let file = match (noted, by_graph) {
                (Some(noted), Some(by_graph)) => with_graph(noted, by_graph),
                (Some(file), None) => file,
                (None, Some(by_graph)) => by_graph.file,
                (None, None) => continue,
            };
            let text = RecordedText { file: code.path, text: code.code.text.clone() };
            match place_of.get(&code.path) {
                Some(&place) => (files[place], texts[place]) = (file, text),
                None => {
                    place_of.insert(code.path, files.len());
                    files.push(file);
                    texts.push(text);
                }
            }
        }
        (self.log.files, self.log.texts) = (files, texts);
    }

    /// A generated file with what the graph says that it was generated for; `None` if that says nothing.
    fn file_by_graph(&mut self, code: &OutputCode) -> Option<FileByGraph> {
        self.graphs_of(code.graph);
        let graphs = self.parsed.get(&code.graph)?;
        lines_by_graph(code.path, &code.code.text, graphs, &mut self.log.strings)
    }

    /// The graphs that code is generated for, in the order of the log, with the places that operations had before the graph of both
    /// passes was cut.
    fn graphs_of(&mut self, key: GraphKey) -> &[AotGraph] {
        let texts = self.graphs.get(&key).map(Vec::as_slice).unwrap_or_default();
        self.parsed.entry(key).or_insert_with(|| {
            let (mut graphs, mut joint) = (Vec::new(), None);
            for (is_joint, text) in texts {
                let mut graph = AotGraph::parse(text);
                if *is_joint {
                    joint = Some(graph);
                    continue;
                }
                if let Some(joint) = &joint {
                    graph.correct_places(joint);
                }
                graphs.push(graph);
            }
            graphs
        })
    }

    /// A generated file with what was logged of its kernels; `None` if nothing was.
    fn file_by_stacks(&self, code: &OutputCode) -> Option<GeneratedFile> {
        let stacks = self.stacks_of(code)?;
        let call = |it: &KernelLines| {
            let mut origins: Vec<Vec<OriginFrame>> = Vec::new();
            for stack in stacks.origins.of(&it.handles) {
                if !origins.contains(stack) {
                    origins.push(stack.clone());
                }
            }
            let KernelLines { first_line, last_line, .. } = *it;
            let is_noted = !origins.is_empty();
            let (runs, is_recomputed) = (Vec::new(), false);
            is_noted.then_some(GeneratedCall {
                first_line,
                last_line,
                origins,
                runs,
                is_recomputed,
            })
        };
        let calls: Vec<GeneratedCall> = code.code.kernels.iter().filter_map(call).collect();
        let kernels = code.code.kernels.iter();
        let lines = stacks.origins.lines(kernels.flat_map(|it| stacks.origins.of(&it.handles)));
        let is_backward = is_backward(&code.code.text);
        let file = GeneratedFile { path: code.path, is_backward, lines, calls };
        (!file.calls.is_empty()).then_some(file)
    }

    /// The stacks that were logged with a generated file: of those for the same graph the ones that name most of its kernels,
    /// of several the next behind it, else the nearest before it. Those of a backward graph also name kernels of others.
    fn stacks_of(&self, code: &OutputCode) -> Option<&KernelStacks> {
        let handles = || code.code.kernels.iter().flat_map(|it| &it.handles);
        let named = |it: &KernelStacks| {
            handles().filter(|&at| it.origins.by_kernel.contains_key(at)).count()
        };
        let candidates = self.stacks.iter().filter(|it| it.graph == code.graph);
        candidates.max_by_key(|it| {
            let distance = it.place.abs_diff(code.place);
            (named(it), it.place > code.place, std::cmp::Reverse(distance))
        })
    }
}
