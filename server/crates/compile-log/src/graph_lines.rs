//! The lines that the calls of a generated file were made from, where nobody noted them: by the graph that it was generated for.

use profile::{
    CompileLog, CompiledLine, GeneratedCall, GeneratedFile, Interner, OriginFrame, RecordedText,
    StrId,
};

use crate::aot_graph::{AotGraph, GRADIENT, GraphPlace};
use crate::dataflow::nodes_of_calls;
use crate::wrapper::Wrapper;

/// A generated file, and the graphs that it may have been generated for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedFile {
    /// Its path.
    pub path: String,
    /// Its text.
    pub code: String,
    /// The texts of the graphs.
    pub graphs: Vec<String>,
}

/// What the graphs say of generated files; those of which they say nothing are left out.
#[must_use]
pub fn log_by_graphs(files: &[CachedFile]) -> CompileLog {
    let mut log = CompileLog::default();
    for CachedFile { path, code, graphs } in files {
        let graphs: Vec<AotGraph> = graphs.iter().map(|it| AotGraph::parse(it)).collect();
        let path = log.strings.intern(path);
        let file = lines_by_graph(path, code, &graphs, &mut log.strings).map(|it| it.file);
        log.texts.extend(file.iter().map(|_| RecordedText { file: path, text: code.clone() }));
        log.files.extend(file);
    }
    log
}

/// What a graph says of a generated file.
#[derive(Debug)]
pub(crate) struct FileByGraph {
    pub(crate) file: GeneratedFile,
    /// By call, whether the compiler gave the operations that it stands for other places than they had.
    is_corrected: Vec<bool>,
}

/// The file at `path`, whose text is `code`, by the last of `graphs` that has its inputs; `None` if none has, or no call is understood.
/// What a backward pass computes again is known by the last graph before it that is of a forward pass.
pub(crate) fn lines_by_graph(
    path: StrId,
    code: &str,
    graphs: &[AotGraph],
    strings: &mut Interner,
) -> Option<FileByGraph> {
    let wrapper = Wrapper::parse(code);
    let inputs: Vec<&str> = wrapper.inputs.iter().map(String::as_str).collect();
    let at = graphs.iter().rposition(|it| it.has_inputs(&inputs))?;
    let graph = &graphs[at];
    let forward = graphs[..at].iter().rfind(|it| graph.is_backward() && !it.is_backward());
    let is_in_forward = forward.map_or_else(Vec::new, |it| graph.is_in(it));
    let frames: Vec<OriginFrame> = graph.places.iter().map(|it| frame(it, strings)).collect();
    let origins: Vec<CallOrigins> = nodes_of_calls(graph, &wrapper)
        .iter()
        .map(|nodes| {
            let is_recomputed =
                !is_in_forward.is_empty() && nodes.iter().all(|&it| is_in_forward[it]);
            let mut with_place =
                nodes.iter().map(|&it| &graph.nodes[it]).filter(|it| it.place.is_some());
            let is_corrected = with_place.all(|it| it.is_corrected);
            let origins = CallOrigins::of_nodes(nodes, graph, &frames);
            CallOrigins { is_recomputed, is_corrected, ..origins }
        })
        .collect();
    let call = |&(first_line, last_line, call): &(u32, u32, usize)| {
        let CallOrigins { stacks, runs, is_recomputed, is_corrected } =
            origins.get(call).filter(|it| !it.stacks.is_empty())?.clone();
        let call = GeneratedCall { first_line, last_line, origins: stacks, runs, is_recomputed };
        Some((call, is_corrected))
    };
    let (calls, is_corrected): (Vec<GeneratedCall>, Vec<bool>) =
        wrapper.lines.iter().filter_map(call).unzip();
    let mut line = |(place, &OriginFrame { file, line, .. }): (&GraphPlace, &OriginFrame)| {
        CompiledLine { file, line, text: strings.intern(&place.text) }
    };
    let mut lines: Vec<CompiledLine> = graph.places.iter().zip(&frames).map(&mut line).collect();
    lines.sort_by_key(|it| (it.file, it.line));
    lines.dedup();
    let is_backward = is_backward(code);
    let file = GeneratedFile { path, is_backward, lines, calls };
    (!file.calls.is_empty()).then_some(FileByGraph { file, is_corrected })
}

/// `noted` with what `by_graph` adds: which calls compute again what was computed, the places that single operations had, and the calls of
/// which nothing was noted. The compiler does not note all that it makes (of what is computed again in a backward pass, PyTorch 2.11
/// notes no product).
pub(crate) fn with_graph(mut noted: GeneratedFile, by_graph: FileByGraph) -> GeneratedFile {
    let FileByGraph { file: by_graph, is_corrected } = by_graph;
    let mut missing = Vec::new();
    for (call, is_corrected) in by_graph.calls.into_iter().zip(is_corrected) {
        let next = noted.calls.partition_point(|of| of.last_line < call.first_line);
        match noted.calls.get_mut(next).filter(|of| of.first_line <= call.last_line) {
            Some(of) => {
                of.is_recomputed = call.is_recomputed;
                if is_corrected {
                    correct(of, call);
                }
            }
            None => missing.push(call),
        }
    }
    noted.calls.extend(missing);
    noted.calls.sort_by_key(|it| it.first_line);
    noted.lines.extend(by_graph.lines);
    noted.lines.sort_by_key(|it| (it.file, it.line));
    noted.lines.dedup_by_key(|it| (it.file, it.line));
    noted
}

/// Gives `noted`, of one operation, the place that it has in `by_graph`. What called the function is the same for all of its lines.
fn correct(noted: &mut GeneratedCall, by_graph: GeneratedCall) {
    let ([stack], [place]) = (&mut noted.origins[..], &by_graph.origins[..]) else { return };
    let (Some(last), [place]) = (stack.last_mut(), &place[..]) else { return };
    if (last.file, last.function) == (place.file, place.function) {
        *last = *place;
    } else {
        *stack = vec![*place];
    }
    noted.runs = by_graph.runs;
}

/// Whether a generated text was made of the graph of a backward pass: its inputs have the names that they have in the graph.
pub(crate) fn is_backward(code: &str) -> bool {
    code.contains(GRADIENT)
}

/// What a call was made from.
#[derive(Debug, Clone, Default)]
struct CallOrigins {
    /// One frame each.
    stacks: Vec<Vec<OriginFrame>>,
    /// As [`GeneratedCall::runs`].
    runs: Vec<u32>,
    /// As [`GeneratedCall::is_recomputed`].
    is_recomputed: bool,
    /// As in [`FileByGraph`].
    is_corrected: bool,
}

impl CallOrigins {
    /// Of operations in the order of the graph: each place once in each run.
    fn of_nodes(nodes: &[usize], graph: &AotGraph, frames: &[OriginFrame]) -> Self {
        let mut origins = Self::default();
        let (mut run, mut before) = (0, None);
        for &node in nodes {
            let Some(place) = graph.nodes[node].place else { continue };
            // What has no place makes no difference.
            let between = before.map_or(node..node, |it: usize| it + 1..node);
            if graph.nodes[between].iter().any(|it| it.place.is_some()) {
                run += 1;
            }
            before = Some(node);
            let stack = vec![frames[place]];
            if origins.stacks.last() != Some(&stack) || origins.runs.last() != Some(&run) {
                origins.stacks.push(stack);
                origins.runs.push(run);
            }
        }
        origins
    }
}

fn frame(place: &GraphPlace, strings: &mut Interner) -> OriginFrame {
    let (file, function) = (strings.intern(&place.file), strings.intern(&place.function));
    OriginFrame { file, line: place.line, function }
}
