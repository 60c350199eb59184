//! Traces of the capture of CUDA graphs, and files of stacks by node: which go with a trace that replays graphs, and what became of
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use attribution::{
    AttributionOptions, GraphCaptures, JoinedReplays, RefusedReplay, join_captures,
    join_node_stacks,
};
use ledger::shorten_kernel_name;
use profile::{NodeStacks, Profile, WarningKind, Warnings};
use recorded::{RecordedFile, RecordedSources, launches_graph, recorded_files};

use crate::discover::has_ending;
use crate::plan::SideCar;
use crate::{Input, InputKind, names, open, places, walk};

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
}

/// A trace that may hold the capture of graphs.
pub(crate) struct CaptureFile {
    pub(crate) path: PathBuf,
    pub(crate) origin: CaptureOrigin,
    /// Its exact callers, if they are to be used.
    pub(crate) side_car: Option<SideCar>,
}

/// One that was read.
pub(crate) struct CaptureTrace {
    pub(crate) path: PathBuf,
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

/// Those that may belong to the trace at `path`, of `rank`: the named ones, else those that were recorded with it, else those
/// whose names say so, in its folder and the folders in that one. Of several that were named, each goes with its rank.
pub(crate) fn capture_files(
    named: &[PathBuf],
    path: &Path,
    rank: Option<u32>,
    root: &Path,
) -> Vec<CaptureFile> {
    let new = |path: PathBuf, origin| CaptureFile { path, origin, side_car: None };
    let is_of_rank =
        |it: &Path| names::rank(it).is_none_or(|of_it| rank.is_none_or(|rank| rank == of_it));
    if !named.is_empty() {
        let of_rank = named.iter().filter(|it| named.len() == 1 || is_of_rank(it));
        return of_rank.map(|it| new(it.clone(), CaptureOrigin::Named)).collect();
    }
    if !places::is_file(path) {
        return Vec::new();
    }
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_entered =
        |it: &&PathBuf| names::says_capture(it) && walk::stays_below(it, &[folder, root]);
    let recorded = folder.join(names::stem(path) + RECORDED);
    let (origin, (files, folders)) = match places::is_folder(&recorded) && is_entered(&&recorded) {
        true => (CaptureOrigin::Recorded, (Vec::new(), vec![recorded])),
        false => (CaptureOrigin::Found, places::entries(folder)),
    };
    let is_other = |it: &PathBuf| it.file_name() != path.file_name() && names::says_capture(it);
    let mut found: BTreeSet<PathBuf> = files.into_iter().filter(is_other).collect();
    let of_captures = folders.iter().filter(is_entered);
    found.extend(of_captures.flat_map(|it| places::entries(it).0));
    let is_trace = |it: &PathBuf| {
        ENDINGS.iter().any(|ending| has_ending(it, ending))
            && !names::is_side_car(it)
            && places::is_file(it)
            && walk::stays_below(it, &[folder, root])
            && is_of_rank(it)
    };
    let found = found.into_iter().filter(is_trace).take(MAX_FOUND);
    found.map(|path| new(path, origin)).collect()
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
    files.iter().filter(|it| it.origin == CaptureOrigin::Named).map(unused).collect()
}

impl CaptureFile {
    /// The file before it is read.
    pub(crate) fn unread(&self) -> CaptureTrace {
        CaptureTrace {
            path: self.path.clone(),
            is_listed: self.origin == CaptureOrigin::Named,
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

/// Joins captures with the replays in `profile`; the inputs that were used, or that the user named.
pub(crate) fn join_captures_of(
    captures: Vec<CaptureTrace>,
    profile: &mut Profile,
    sources: &RecordedSources,
    options: AttributionOptions,
    rank: u32,
) -> Vec<Input> {
    let mut graphs = GraphCaptures::default();
    let mut of_trace = Vec::with_capacity(captures.len());
    let mut of_stacks = Vec::new();
    for mut capture in captures {
        let first = graphs.graphs.len();
        let content = capture.content.take();
        if let Some(CaptureContent::Stacks(stacks)) = content {
            of_stacks.extend(join_stacks_of(capture, profile, &stacks, rank));
            continue;
        }
        if let Some(CaptureContent::Trace(trace)) = &content {
            graphs.add(trace, sources, options);
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
        let named = of_trace.into_iter().map(|(it, _)| it).filter(|it| it.is_listed);
        return of_stacks.into_iter().chain(named.map(|it| to_input(it, rank))).collect();
    }
    let joined = join_captures(profile, &graphs);
    of_trace
        .retain(|(it, of_it)| it.is_listed || joined.kernels[of_it.clone()].iter().any(|&n| n > 0));
    if let (Some((capture, _)), Some(message)) =
        (of_trace.first_mut(), not_joined(&graphs, &joined))
    {
        capture.warnings.add(WarningKind::Other, None, message);
    }
    of_stacks.into_iter().chain(of_trace.into_iter().map(|(it, _)| to_input(it, rank))).collect()
}

/// Joins the stacks of nodes with `profile`; the input, if it was used or the user named it.
fn join_stacks_of(
    mut file: CaptureTrace,
    profile: &mut Profile,
    stacks: &NodeStacks,
    rank: u32,
) -> Option<Input> {
    let joined = join_node_stacks(profile, stacks);
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
    Some(to_input(file, rank))
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

fn to_input(capture: CaptureTrace, rank: u32) -> Input {
    let CaptureTrace { path, events, bytes, warnings, .. } = capture;
    Input {
        path,
        kind: InputKind::GraphCapture,
        rank,
        events,
        bytes,
        complete: warnings.is_empty(),
        warnings: warnings.iter().cloned().collect(),
    }
}
