//! The files that a recording names, with the functions that ran in them.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use profile::{HostKind, Profile, Snapshot, StrId};
use pysource::RecordedCall;

use crate::frames::{Frame, is_python, parse_caller, provenance};
use crate::waiting::built_in;

/// A file that a recording names, with the functions that ran in it: enough to find and confirm it on disk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedFile {
    /// The path as recorded.
    pub path: String,
    /// The functions that ran, with a line as recorded: mostly the definition's, sometimes one inside.
    pub functions: Vec<(String, u32)>,
    /// The lines on which something was called, as far as the recording names them: of a snapshot, none.
    pub call_lines: Vec<u32>,
    /// Whether the trace of the capture of its graphs names it, and the recording itself does not.
    pub is_captured: bool,
}

/// The files that a trace names, by recorded path.
#[must_use]
pub fn recorded_files(profile: &Profile) -> Vec<RecordedFile> {
    let mut files = Files::default();
    let mut seen = vec![false; profile.strings.len()];
    let mut is_new =
        |id: StrId| id.get().is_some_and(|id| !std::mem::replace(&mut seen[id.index()], true));
    let host = &profile.host;
    for id in host.ids().filter(|id| host.kind[id.index()] == HostKind::Python) {
        let name = host.name[id.index()];
        if is_new(name)
            && let Some(frame) = Frame::parse(profile.strings.get(name))
        {
            files.add(frame);
        }
    }
    for &caller in &host.python.caller {
        if is_new(caller)
            && let Some((file, line)) = parse_caller(profile.strings.get(caller))
        {
            files.file(file).call_lines.insert(line);
        }
    }
    for &stack in &host.operators.call_stack {
        if is_new(stack) {
            profile
                .strings
                .get(stack)
                .split(';')
                .filter_map(Frame::parse)
                .for_each(|frame| files.add(frame));
        }
    }
    for &stack in &profile.device.stack {
        if is_new(stack) {
            for (file, _, _) in provenance(profile.strings.get(stack)) {
                files.file(&file);
            }
        }
    }
    let calls = profile.generated.iter().flat_map(|it| &it.calls);
    for frame in calls.flat_map(|it| it.origins.iter().flatten()) {
        if is_new(frame.file) {
            files.file(profile.strings.get(frame.file));
        }
    }
    for frame in profile.captured.frames() {
        if is_new(frame.file) {
            files.file(profile.strings.get(frame.file));
        }
    }
    files.finish()
}

/// What was called on which lines, by recorded path.
pub type CallsByFile = BTreeMap<String, Vec<RecordedCall>>;

/// The calls of which a trace names the line in one of `files`.
#[must_use]
pub fn recorded_calls(profile: &Profile, files: &BTreeSet<&str>) -> CallsByFile {
    let mut calls = CallsByFile::new();
    let mut seen = HashSet::new();
    let host = &profile.host;
    for id in host.ids().filter(|id| host.kind[id.index()] == HostKind::Python) {
        let caller = host.python.caller[host.detail_row(id)];
        let name = host.name[id.index()];
        if caller.get().is_none() || !seen.insert((caller, name)) {
            continue;
        }
        if let Some((file, line)) = parse_caller(profile.strings.get(caller))
            && files.contains(file)
        {
            let name = profile.strings.get(name);
            let frame = Frame::parse(name).map(|it| it.function);
            let built_in = built_in(name).map(|(function, _)| function);
            calls.entry(file.to_owned()).or_default().push(RecordedCall {
                line,
                name: frame.or(built_in).unwrap_or_default().to_owned(),
                is_built_in: frame.is_none() && built_in.is_some(),
            });
        }
    }
    calls
}

/// The files that a snapshot names, by recorded path. Frames without a line (C++) are left out.
#[must_use]
pub fn recorded_snapshot_files(snapshot: &Snapshot) -> Vec<RecordedFile> {
    let mut files = Files::default();
    for frame in snapshot.stacks.iter().flatten().filter(|frame| is_python(snapshot, frame)) {
        let (file, function) =
            (snapshot.strings.get(frame.file), snapshot.strings.get(frame.function));
        files.add(Frame { file, line: frame.line, function });
    }
    files.finish()
}

/// Collects what ran by file.
#[derive(Default)]
struct Files(BTreeMap<String, RanInFile>);

/// What ran in a file.
#[derive(Default)]
struct RanInFile {
    functions: BTreeSet<(String, u32)>,
    call_lines: BTreeSet<u32>,
}

impl Files {
    fn add(&mut self, frame: Frame<'_>) {
        self.file(frame.file).functions.insert((frame.function.to_owned(), frame.line));
    }

    fn file(&mut self, file: &str) -> &mut RanInFile {
        self.0.entry(file.to_owned()).or_default()
    }

    fn finish(self) -> Vec<RecordedFile> {
        let file = |(path, ran): (_, RanInFile)| RecordedFile {
            path,
            functions: ran.functions.into_iter().collect(),
            call_lines: ran.call_lines.into_iter().collect(),
            is_captured: false,
        };
        self.0.into_iter().map(file).collect()
    }
}
