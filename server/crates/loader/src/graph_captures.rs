//! Traces of the capture of CUDA graphs, files of stacks by node, and traces of the program without graphs: which go with a trace that
//! replays graphs, and what became of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use attribution::{
    AlignedReplays, AttributionOptions, GraphCaptures, GraphlessRuns, JoinedReplays, RefusedReplay,
    UnlikeReplay, join_captures, join_graphless_runs, join_node_stacks,
};
use ledger::shorten_kernel_name;
use profile::{NodeStacks, Profile, WarningKind, Warnings};
use recorded::{RecordedFile, RecordedSources, launches_graph, recorded_files};

use crate::compile_logs::LogFile;
use crate::discover::has_ending;
use crate::plan::SideCar;
use crate::{Input, InputKind, LoadOptions, names, open, places, walk};

/// Endings of traces.
const ENDINGS: [&str; 3] = [".json", ".json.gz", ".json.zst"];

/// Traces that are looked at if nobody named them, at most: SGLang writes one for each size of a batch.
const MAX_FOUND: usize = 64;

/// The ending of the folder in which Perfline's recorder puts the captures of a recording, after the stem of its trace.
const RECORDED: &str = ".captures";

/// How a capture came to be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CaptureOrigin {
    /// The user named it.
    Named,
    /// The recorder put it beside its trace.
    Recorded,
    /// Its name says that it may hold a capture.
    Found,
    /// The user named it as a trace of the program without graphs.
    Graphless,
}

impl CaptureOrigin {
    /// Whether the user named it.
    pub(crate) fn is_named(self) -> bool {
        matches!(self, Self::Named | Self::Graphless)
    }
}

/// A trace that may hold the capture of graphs, or what they launch where none is used.
pub(crate) struct CaptureFile {
    pub(crate) path: PathBuf,
    pub(crate) origin: CaptureOrigin,
    /// Its exact callers, if they are to be used.
    pub(crate) side_car: Option<SideCar>,
    /// Logs of `torch.compile` that may belong to it, if they are to be used, and are none of those of the trace.
    pub(crate) logs: Vec<Arc<LogFile>>,
}

/// One that was read.
pub(crate) struct CaptureTrace {
    pub(crate) path: PathBuf,
    pub(crate) kind: InputKind,
    /// Whether it is an input even if nothing of it is used: the user named it, or it belongs to the trace and is damaged.
    pub(crate) is_listed: bool,
    pub(crate) events: u64,
    pub(crate) bytes: u64,
    pub(crate) warnings: Warnings,
    /// What it holds; `None` where it cannot be read.
    pub(crate) content: Option<CaptureContent>,
}

/// What a file of a capture holds.
pub(crate) enum CaptureContent {
    /// A trace that was recorded meanwhile.
    Trace(Box<Profile>),
    /// The Python stack of each node.
    Stacks(NodeStacks),
}

/// The traces that may hold captures.
#[derive(Default)]
pub(crate) struct CaptureFiles {
    /// Those that nobody named, by the folder of the traces that they may belong to: it is listed once for all ranks in it.
    found: Mutex<BTreeMap<PathBuf, Vec<FoundCapture>>>,
}

/// A file that may hold a capture by its name.
struct FoundCapture {
    path: PathBuf,
    /// The rank in its name.
    rank: Option<u32>,
}

impl CaptureFiles {
    /// Those that may belong to the trace at `path`, of `rank`: the named captures, else those that were recorded with it, else those
    /// whose names say so, in its folder and the folders in that one; and traces of the program without graphs, which somebody must
    /// name. Of several that were named, each goes with its rank.
    pub(crate) fn of(
        &self,
        options: &LoadOptions,
        path: &Path,
        rank: Option<u32>,
    ) -> Vec<CaptureFile> {
        let of_ranks = |named: &[PathBuf], origin| -> Vec<CaptureFile> {
            let is_of_it = |it: &&PathBuf| named.len() == 1 || is_of_rank(names::rank(it), rank);
            named.iter().filter(is_of_it).map(|it| CaptureFile::new(it.clone(), origin)).collect()
        };
        let mut files = match options.captures.is_empty() {
            true => self.beside(path, rank, &options.root),
            false => of_ranks(&options.captures, CaptureOrigin::Named),
        };
        files.extend(of_ranks(&options.lines_from, CaptureOrigin::Graphless));
        files
    }

    /// The captures that nobody named.
    fn beside(&self, path: &Path, rank: Option<u32>, root: &Path) -> Vec<CaptureFile> {
        if !places::is_file(path) {
            return Vec::new();
        }
        let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let of_rank = |found: &[FoundCapture], origin| -> Vec<CaptureFile> {
            let is_itself =
                |it: &Path| it.file_name() == path.file_name() && it.parent() == Some(folder);
            let of_it = |it: &&FoundCapture| is_of_rank(it.rank, rank) && !is_itself(&it.path);
            let of_it = found.iter().filter(of_it).take(MAX_FOUND);
            of_it.map(|it| CaptureFile::new(it.path.clone(), origin)).collect()
        };
        let recorded = folder.join(names::stem(path) + RECORDED);
        if places::is_folder(&recorded) && walk::stays_below(&recorded, &[folder, root]) {
            let found = captures_in(Vec::new(), &[recorded], &[folder, root]);
            return of_rank(&found, CaptureOrigin::Recorded);
        }
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let found = found.entry(folder.to_owned()).or_insert_with_key(|folder| {
            let (files, folders) = places::entries(folder);
            captures_in(files, &folders, &[folder, root])
        });
        of_rank(found, CaptureOrigin::Found)
    }
}

/// Whether a file whose name has `found`, if any, may be of `rank`.
fn is_of_rank(found: Option<u32>, rank: Option<u32>) -> bool {
    found.is_none_or(|found| rank.is_none_or(|rank| rank == found))
}

/// What may be captures among `files` and in `folders`, by path, without links out of `within`.
fn captures_in(files: Vec<PathBuf>, folders: &[PathBuf], within: &[&Path]) -> Vec<FoundCapture> {
    let mut found: BTreeSet<PathBuf> =
        files.into_iter().filter(|it| names::says_capture(it)).collect();
    let is_entered = |it: &&PathBuf| names::says_capture(it) && walk::stays_below(it, within);
    let of_captures = folders.iter().filter(is_entered);
    found.extend(of_captures.flat_map(|it| places::entries(it).0));
    let is_trace = |it: &PathBuf| {
        ENDINGS.iter().any(|ending| has_ending(it, ending))
            && !names::is_side_car(it)
            && places::is_file(it)
            && walk::stays_below(it, within)
    };
    let found = found.into_iter().filter(is_trace);
    found.map(|path| FoundCapture { rank: names::rank(&path), path }).collect()
}

/// What the user named beside a trace that replays no graph: it is opened at most.
pub(crate) fn unused(files: &[CaptureFile]) -> Vec<CaptureTrace> {
    let unused = |file: &CaptureFile| {
        let mut capture = file.unread();
        let why = match open::named(&file.path) {
            Err(error) => error.to_string(),
            Ok(_) => "the trace replays no graph".to_owned(),
        };
        capture.warnings.add(WarningKind::Other, None, format!("not used: {why}"));
        capture
    };
    files.iter().filter(|it| it.origin.is_named()).map(unused).collect()
}

impl CaptureFile {
    fn new(path: PathBuf, origin: CaptureOrigin) -> Self {
        Self { path, origin, side_car: None, logs: Vec::new() }
    }

    /// What it is as an input.
    pub(crate) fn kind(&self) -> InputKind {
        match self.origin {
            CaptureOrigin::Graphless => InputKind::GraphlessRun,
            CaptureOrigin::Named | CaptureOrigin::Recorded | CaptureOrigin::Found => {
                InputKind::GraphCapture
            }
        }
    }

    /// The file before it is read.
    pub(crate) fn unread(&self) -> CaptureTrace {
        CaptureTrace {
            path: self.path.clone(),
            kind: self.kind(),
            is_listed: self.origin.is_named(),
            events: 0,
            bytes: 0,
            warnings: Warnings::default(),
            content: None,
        }
    }
}

/// Whether a trace replays a graph.
pub(crate) fn replays_graph(profile: &Profile) -> bool {
    profile.device.graph_id.iter().any(|it| *it > 0)
        || (!profile.device.is_empty() && profile.strings.iter().any(|(_, it)| launches_graph(it)))
}

/// The files that a trace and the captures of its graphs name.
pub(crate) fn files_of_all(profile: &Profile, captures: &[CaptureTrace]) -> Vec<RecordedFile> {
    let files = recorded_files(profile);
    let captured: Vec<&CaptureContent> =
        captures.iter().filter_map(|it| it.content.as_ref()).collect();
    if captured.is_empty() {
        return files;
    }
    let mut by_path: BTreeMap<String, RecordedFile> =
        files.into_iter().map(|it| (it.path.clone(), it)).collect();
    for file in captured.into_iter().flat_map(files_of_capture) {
        let new =
            || RecordedFile { path: file.path.clone(), is_captured: true, ..Default::default() };
        let known = by_path.entry(file.path.clone()).or_insert_with(new);
        known.functions.extend(file.functions);
        known.functions.sort_unstable();
        known.functions.dedup();
    }
    by_path.into_values().collect()
}

fn files_of_capture(content: &CaptureContent) -> Vec<RecordedFile> {
    match content {
        CaptureContent::Trace(trace) => recorded_files(trace),
        CaptureContent::Stacks(stacks) => {
            let frames = stacks.by_node.values().flatten();
            let files: BTreeSet<&str> = frames.map(|it| stacks.strings.get(it.file)).collect();
            let file = |path: &str| RecordedFile { path: path.to_owned(), ..Default::default() };
            files.into_iter().map(file).collect()
        }
    }
}

/// Joins captures, and traces of the program without graphs, with the replays in `profile`; the inputs that were used, or that
/// the user named.
pub(crate) fn join_captures_of(
    captures: Vec<CaptureTrace>,
    profile: &mut Profile,
    sources: &RecordedSources,
    options: AttributionOptions,
    rank: u32,
) -> Vec<Input> {
    let (graphless, captures): (Vec<_>, Vec<_>) =
        captures.into_iter().partition(|it| it.kind == InputKind::GraphlessRun);
    let (stacks, traces): (Vec<_>, Vec<_>) =
        captures.into_iter().partition(|it| matches!(it.content, Some(CaptureContent::Stacks(_))));
    let joined = stacks.into_iter().filter_map(|it| join_stacks_of(it, profile));
    let mut joined: Vec<CaptureTrace> = joined.collect();
    joined.extend(join_traces_of(traces, profile, sources, options));
    joined.extend(join_runs_of(graphless, profile, sources, options));
    joined.into_iter().map(|it| to_input(it, rank)).collect()
}

/// Joins traces of captures with the replays in `profile`; those that were used, or that the user named.
fn join_traces_of(
    traces: Vec<CaptureTrace>,
    profile: &mut Profile,
    sources: &RecordedSources,
    options: AttributionOptions,
) -> Vec<CaptureTrace> {
    let mut graphs = GraphCaptures::default();
    let mut of_trace = Vec::with_capacity(traces.len());
    for mut capture in traces {
        let first = graphs.graphs.len();
        if let Some(CaptureContent::Trace(trace)) = capture.content.take() {
            graphs.add(&trace, sources, options);
            if graphs.graphs.len() == first {
                let message = "holds no capture of a graph: nothing was launched between StreamBeginCapture and StreamEndCapture; record the part of the program that captures its graphs";
                capture.warnings.add(WarningKind::Other, None, message);
            }
        }
        of_trace.push((capture, first..graphs.graphs.len()));
    }
    if replays_graph(profile) {
        // What was captured while the steps were recorded.
        graphs.add(profile, sources, options);
    }
    if !graphs.has_lines() && !graphs.graphs.is_empty() {
        for (capture, _) in of_trace.iter_mut().filter(|(_, graphs)| !graphs.is_empty()) {
            let message = "not used: the capture was recorded without Python stacks; record it with with_stack=True";
            capture.warnings.add(WarningKind::Other, None, message);
        }
        return of_trace.into_iter().map(|(it, _)| it).filter(|it| it.is_listed).collect();
    }
    let joined = join_captures(profile, &graphs);
    of_trace
        .retain(|(it, of_it)| it.is_listed || joined.kernels[of_it.clone()].iter().any(|&n| n > 0));
    if let (Some((capture, _)), Some(message)) =
        (of_trace.first_mut(), not_joined(&graphs, &joined))
    {
        capture.warnings.add(WarningKind::Other, None, message);
    }
    of_trace.into_iter().map(|(it, _)| it).collect()
}

/// Aligns the replays in `profile` whose lines are not known with traces of the program without graphs. All of these are inputs:
/// the user named them.
fn join_runs_of(
    traces: Vec<CaptureTrace>,
    profile: &mut Profile,
    sources: &RecordedSources,
    options: AttributionOptions,
) -> Vec<CaptureTrace> {
    let mut runs = GraphlessRuns::default();
    let mut of_trace = Vec::with_capacity(traces.len());
    for mut run in traces {
        if let Some(CaptureContent::Trace(trace)) = run.content.take() {
            let message = match (runs.add(&trace, sources, options), runs.has_lines()) {
                (false, _) => Some(
                    "not used: it launches no kernel outside of graphs; switch CUDA graphs off and record again",
                ),
                (true, false) => Some(
                    "not used: it was recorded without Python stacks; record it with with_stack=True",
                ),
                (true, true) => None,
            };
            message.into_iter().for_each(|it| run.warnings.add(WarningKind::Other, None, it));
        }
        of_trace.push(run);
    }
    if runs.has_lines() {
        let aligned = join_graphless_runs(profile, &mut runs);
        if let (Some(run), Some(message)) = (of_trace.first_mut(), not_aligned(&aligned)) {
            run.warnings.add(WarningKind::Other, None, message);
        }
    }
    of_trace
}

/// Joins the stacks of nodes with `profile`; the file, if it was used or the user named it.
fn join_stacks_of(mut file: CaptureTrace, profile: &mut Profile) -> Option<CaptureTrace> {
    let Some(CaptureContent::Stacks(stacks)) = file.content.take() else { return Some(file) };
    let joined = join_node_stacks(profile, &stacks);
    if joined == 0 && !file.is_listed {
        return None;
    }
    if joined == 0 {
        let has_nodes = profile.device.graph_node.iter().any(|it| *it > 0);
        let message = if has_nodes {
            "no node of it was replayed in the recording: take the stacks from the process that was recorded"
        } else {
            "not used: the trace does not say which node of a graph a kernel is (graph node id)"
        };
        file.warnings.add(WarningKind::Other, None, message);
    }
    Some(file)
}

/// What of the replays was not joined, and why.
fn not_joined(graphs: &GraphCaptures, joined: &JoinedReplays) -> Option<String> {
    let JoinedReplays { replays, joined, refused, .. } = joined;
    let RefusedReplay { kernels, first, differs } = refused.as_ref()?;
    let why = match differs {
        Some((place, launched, ran)) => format!(
            "a capture with as many launches differs at number {place} ({} was launched, {} ran)",
            if launched.is_empty() { "another kind of work" } else { launched },
            shorten_kernel_name(ran),
        ),
        None => {
            let sizes = graphs.graphs.iter().map(Vec::len);
            let (least, most) = (sizes.clone().min()?, sizes.max()?);
            format!("captured were {} graphs with {least} to {most} launches", graphs.graphs.len())
        }
    };
    Some(format!(
        "{} of {replays} replays stay on the line that replays them: no capture fits the replay of {kernels} kernels that begins with {}; {why}",
        replays - joined,
        shorten_kernel_name(first),
    ))
}

/// What of the replays was not aligned, and why.
fn not_aligned(aligned: &AlignedReplays) -> Option<String> {
    let AlignedReplays { replays, aligned, refused, .. } = aligned;
    let UnlikeReplay { kernels, first, alike, needed } = refused.as_ref()?;
    Some(format!(
        "{} of {replays} replays stay on the line that replays them: of the replay of {kernels} kernels that begins with {}, at most {alike} are launched in this order without graphs; {needed} would have to be",
        replays - aligned,
        shorten_kernel_name(first),
    ))
}

fn to_input(capture: CaptureTrace, rank: u32) -> Input {
    let CaptureTrace { path, kind, events, bytes, warnings, .. } = capture;
    Input {
        path,
        kind,
        rank,
        events,
        bytes,
        complete: warnings.is_empty(),
        warnings: warnings.iter().cloned().collect(),
    }
}
