//! Joins the log of `torch.compile` with the trace of the same process: which lines of the user the kernels of generated files
//! were made from, what was compiled, and why.

use profile::{
    CompileLog, CompiledLine, FunctionCompile, GeneratedCall, GeneratedFile, GraphBreak,
    OriginFrame, Profile, StrId,
};
use recorded::{Frame, is_path_of, parse_caller};
use rustc_hash::{FxHashMap, FxHashSet};

/// Notes in `profile` what `log` says of compiled functions, and of the generated files that the trace names. These are returned: the path as recorded, and
/// the number of the file in the log.
pub fn join_compile_log(profile: &mut Profile, log: &CompileLog) -> Vec<(String, usize)> {
    let mut paths = LoggedPaths::new(profile);
    let mut files = Vec::new();
    let mut found = Vec::new();
    for (number, file) in log.files.iter().enumerate() {
        let Some(path) = paths.as_recorded(log.strings.get(file.path)) else { continue };
        found.push((path.to_owned(), number));
        files.push((path.to_owned(), file));
    }
    let of_user = files.iter().flat_map(|(_, it)| user_files(it));
    let compiled = log.compiles.iter().map(|it| it.file).chain(log.breaks.iter().map(|it| it.file));
    let of_user: FxHashSet<StrId> = of_user.chain(compiled).collect();
    for id in of_user.iter().copied() {
        paths.note(log.strings.get(id));
    }
    let spelled: FxHashMap<StrId, String> =
        of_user.iter().map(|&id| (id, paths.spelled(log.strings.get(id)))).collect();
    for (path, file) in files {
        let path = profile.strings.intern(&path);
        let mut spell = |file: StrId| profile.strings.intern(&spelled[&file]);
        let spelled_lines: Vec<StrId> = file.lines.iter().map(|it| spell(it.file)).collect();
        let line = |(it, file): (&CompiledLine, StrId)| {
            let text = profile.strings.intern(log.strings.get(it.text));
            CompiledLine { file, line: it.line, text }
        };
        let lines = file.lines.iter().zip(spelled_lines).map(line).collect();
        let calls = Vec::with_capacity(file.calls.len());
        let mut joined = GeneratedFile { path, is_backward: file.is_backward, lines, calls };
        for call in &file.calls {
            let mut frame = |it: &OriginFrame| {
                let (file, function) = (&spelled[&it.file], log.strings.get(it.function));
                let (file, function) =
                    (profile.strings.intern(file), profile.strings.intern(function));
                OriginFrame { file, line: it.line, function }
            };
            let stacks = call.origins.iter();
            let origins = stacks.map(|it| it.iter().map(&mut frame).collect()).collect();
            joined.calls.push(GeneratedCall { origins, ..call.clone() });
        }
        match profile.generated.iter_mut().find(|it| it.path == path) {
            Some(known) => *known = joined,
            None => profile.generated.push(joined),
        }
    }
    for it in &log.compiles {
        let reason = it.reason.get().map(|_| log.strings.get(it.reason));
        let reason = reason.map_or(StrId::NONE, |it| profile.strings.intern(it));
        let file = profile.strings.intern(&spelled[&it.file]);
        let function = profile.strings.intern(log.strings.get(it.function));
        profile.compiles.push(FunctionCompile { file, function, reason, ..*it });
    }
    for it in &log.breaks {
        let file = profile.strings.intern(&spelled[&it.file]);
        let reason = profile.strings.intern(log.strings.get(it.reason));
        profile.graph_breaks.push(GraphBreak { file, line: it.line, reason });
    }
    found
}

fn user_files(file: &GeneratedFile) -> impl Iterator<Item = StrId> {
    let frames = file.calls.iter().flat_map(|it| it.origins.iter().flatten());
    frames.map(|it| it.file)
}

/// Paths as the trace spells them: without the folder of `sys.path` that they are below.
struct LoggedPaths {
    /// By name of the file, the paths that the trace names.
    by_name: FxHashMap<String, Vec<String>>,
    /// Folders that were left out of user files, the longest first.
    left_out: Vec<String>,
}

impl LoggedPaths {
    fn new(profile: &Profile) -> Self {
        let mut by_name: FxHashMap<String, Vec<String>> = FxHashMap::default();
        let mut seen: FxHashSet<&str> = FxHashSet::default();
        for (_, text) in profile.strings.iter() {
            let frame = Frame::parse(text).map(|it| it.file);
            let Some(path) = frame.or_else(|| Some(parse_caller(text)?.0)) else { continue };
            if seen.insert(path) {
                by_name.entry(name(path).to_owned()).or_default().push(path.to_owned());
            }
        }
        Self { by_name, left_out: Vec::new() }
    }

    /// The path of the trace that is `logged`; of several the longest.
    fn as_recorded(&self, logged: &str) -> Option<&str> {
        let recorded = self.by_name.get(name(logged))?.iter();
        recorded.filter(|it| is_path_of(logged, it)).max_by_key(|it| it.len()).map(String::as_str)
    }

    /// Notes which folder the trace leaves out of `logged`, if it names that file.
    fn note(&mut self, logged: &str) {
        let folder = self.as_recorded(logged).and_then(|it| logged.strip_suffix(it));
        let folder = folder.filter(|it| !it.is_empty()).map(str::to_owned);
        self.left_out.extend(folder);
        self.left_out.sort_by_key(|it| std::cmp::Reverse(it.len()));
        self.left_out.dedup();
    }

    /// How the trace spells `logged`. A file that it does not name, because all that ran of it is compiled, is spelled like the
    /// others of its folder.
    fn spelled(&self, logged: &str) -> String {
        let recorded = self.as_recorded(logged);
        let below = || self.left_out.iter().find_map(|it| logged.strip_prefix(it.as_str()));
        recorded.or_else(below).unwrap_or(logged).to_owned()
    }
}

fn name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
