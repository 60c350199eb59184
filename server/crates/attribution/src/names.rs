//! What the names of Python events, exact callers and call stacks say.

use std::collections::{BTreeMap, BTreeSet};

use ledger::Evidence;
use profile::{HostKind, Profile, Snapshot, StrId};
use rustc_hash::FxHashMap;

use crate::stacks::{File, FileId, LineId, Lines, Node, Stacks};
use crate::waiting::is_waiting_call;
use crate::{Options, Sources};

/// A file that a recording names, with the functions that ran in it: enough to find and confirm it on disk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedFile {
    /// The path as recorded.
    pub path: String,
    /// The functions that ran, with a line as recorded: mostly the definition's, sometimes one inside.
    pub functions: Vec<(String, u32)>,
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
            && let Some((file, _)) = parse_caller(profile.strings.get(caller))
        {
            files.file(file);
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
            provenance(profile.strings.get(stack)).iter().for_each(|(file, _, _)| files.file(file));
        }
    }
    files.finish()
}

/// The files that a snapshot names, by recorded path. Frames without a line (C++) are left out.
#[must_use]
pub fn recorded_snapshot_files(snapshot: &Snapshot) -> Vec<RecordedFile> {
    let mut files = Files::default();
    for frame in
        snapshot.stacks.iter().flatten().filter(|frame| crate::snapshot::is_python(snapshot, frame))
    {
        let (file, function) =
            (snapshot.strings.get(frame.file), snapshot.strings.get(frame.function));
        files.add(Frame { file, line: frame.line, function });
    }
    files.finish()
}

/// Collects functions by file.
#[derive(Default)]
struct Files(BTreeMap<String, BTreeSet<(String, u32)>>);

impl Files {
    fn add(&mut self, frame: Frame<'_>) {
        self.file(frame.file);
        if let Some(functions) = self.0.get_mut(frame.file) {
            functions.insert((frame.function.to_owned(), frame.line));
        }
    }

    fn file(&mut self, file: &str) {
        if !self.0.contains_key(file) {
            self.0.insert(file.to_owned(), BTreeSet::new());
        }
    }

    fn finish(self) -> Vec<RecordedFile> {
        let file = |(path, functions): (_, BTreeSet<_>)| RecordedFile {
            path,
            functions: functions.into_iter().collect(),
        };
        self.0.into_iter().map(file).collect()
    }
}

/// A frame as event names and call stacks spell it: `file(line): function`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub(crate) file: &'a str,
    pub(crate) line: u32,
    pub(crate) function: &'a str,
}

impl<'a> Frame<'a> {
    /// `None` for everything else that a Python event can be called (`nn.Module: X_0`, `<built-in …>`).
    ///
    /// Where `torch.compile` breaks a graph, the rest of the function runs in one made for it, called
    /// `torch_dynamo_resume_in_step_at_76`: that is the frame of `step`, going on at line 76.
    pub(crate) fn parse(name: &'a str) -> Option<Self> {
        // A path may hold parentheses and a function name may not, so the last match is the right one.
        let (head, function) = name.rsplit_once("): ")?;
        let (file, line) = head.rsplit_once('(')?;
        let function = function_of(function);
        (!file.is_empty()).then_some(Self { file, line: line.parse().ok()?, function })
    }
}

/// The function that a recorded one is, or goes on.
pub(crate) fn function_of(recorded: &str) -> &str {
    let resumed = recorded.strip_prefix("torch_dynamo_resume_in_");
    resumed.and_then(|it| it.rsplit_once("_at_")).map_or(recorded, |it| it.0)
}

/// An exact caller: `file:line`.
fn parse_caller(caller: &str) -> Option<(&str, u32)> {
    let (file, line) = caller.rsplit_once(':')?;
    let line = line.parse().ok().filter(|&line| line > 0)?;
    (!file.is_empty()).then_some((file, line))
}

/// The frames of a device event's `stack` (Inductor provenance), innermost last: `File "x.py", line 3, in f` and
/// `x.py:3` and `x.py(3): f`, in a JSON string or list of strings, with or without line breaks.
fn provenance(json: &str) -> Vec<(String, u32, String)> {
    let texts: Vec<String> = match serde_json::from_str(json) {
        Ok(serde_json::Value::String(text)) => vec![text],
        Ok(serde_json::Value::Array(items)) => {
            items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    };
    let mut frames = Vec::new();
    for line in texts.iter().flat_map(|text| text.lines()) {
        let line = line.trim();
        if let Some(frame) = Frame::parse(line) {
            frames.push((frame.file.to_owned(), frame.line, frame.function.to_owned()));
        } else if let Some((file, rest)) =
            line.strip_prefix("File \"").and_then(|rest| rest.split_once("\", line "))
        {
            let (number, function) = rest.split_once(", in ").unwrap_or((rest, ""));
            if let Ok(number) = number.trim_end_matches(',').parse() {
                frames.push((file.to_owned(), number, function.to_owned()));
            }
        } else if let Some((file, number)) = parse_caller(line) {
            frames.push((file.to_owned(), number, String::new()));
        }
    }
    frames
}

/// What a Python event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PythonName {
    /// A frame, with its definition line and how well that line tells where the frame is.
    Frame { line: LineId, evidence: Evidence },
    /// A call without lines of its own. `waits_for_backward` marks the engine's entry, `run_backward`; `is_waiting` what
    /// only waits.
    Call { waits_for_backward: bool, is_waiting: bool },
}

/// What the operators' call stacks are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallStacks {
    /// There are none, or Python events tell more.
    Unused,
    /// torch 1.8–1.10: current lines.
    Exact,
    /// torch 1.11 and 1.12: definition lines, root first. (1.13 and later: leaf first, and Python events beside.)
    Definition,
}

/// Parsed names, each distinct text once.
pub(crate) struct Names<'a> {
    profile: &'a Profile,
    sources: &'a Sources,
    use_callers: bool,
    pub(crate) call_stacks: CallStacks,
    /// Whether the recording says anything about Python.
    pub(crate) has_stacks: bool,
    files: FxHashMap<String, FileId>,
    python: Vec<Option<PythonName>>,
    caller: Vec<Option<LineId>>,
    call_stack: FxHashMap<StrId, CallStack>,
}

/// A parsed call stack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallStack {
    pub(crate) node: Node,
    /// Whether it holds the Python side of the autograd engine.
    pub(crate) waits_for_backward: bool,
}

impl<'a> Names<'a> {
    pub(crate) fn new(profile: &'a Profile, sources: &'a Sources, options: Options) -> Self {
        let n_strings = profile.strings.len();
        let has_python = !profile.host.python.id.is_empty();
        let call_stacks = if has_python || options.ignore_exact {
            CallStacks::Unused
        } else {
            let mut texts = profile.host.operators.call_stack.iter().filter_map(|id| id.get());
            match texts.find(|&id| !profile.strings.get(id).is_empty()) {
                None => CallStacks::Unused,
                Some(id) if profile.strings.get(id).ends_with(';') => CallStacks::Definition,
                Some(_) => CallStacks::Exact,
            }
        };
        Self {
            profile,
            sources,
            use_callers: !options.ignore_exact,
            call_stacks,
            has_stacks: has_python || call_stacks != CallStacks::Unused,
            files: FxHashMap::default(),
            python: vec![None; n_strings],
            caller: vec![None; n_strings],
            call_stack: FxHashMap::default(),
        }
    }

    /// What the Python event called `name` is.
    pub(crate) fn python(&mut self, name: StrId, lines: &mut Lines) -> PythonName {
        if let Some(known) = self.python[name.index()] {
            return known;
        }
        let text = self.profile.strings.get(name);
        let parsed = match Frame::parse(text) {
            Some(frame) => {
                let (line, evidence) = self.definition(frame, lines);
                PythonName::Frame { line, evidence }
            }
            None => PythonName::Call {
                waits_for_backward: text.contains("run_backward"),
                is_waiting: is_waiting_call(text),
            },
        };
        self.python[name.index()] = Some(parsed);
        parsed
    }

    /// The line of an exact caller, or `None` where there is none or it must not be used.
    pub(crate) fn caller(&mut self, caller: StrId, lines: &mut Lines) -> Option<LineId> {
        let caller = caller.get().filter(|_| self.use_callers)?;
        let line = match self.caller[caller.index()] {
            Some(known) => known,
            None => {
                let parsed = parse_caller(self.profile.strings.get(caller));
                let line = parsed.map_or(LineId::NONE, |(file, line)| {
                    let file = self.file(file, lines);
                    lines.line(file, line)
                });
                self.caller[caller.index()] = Some(line);
                line
            }
        };
        line.get()
    }

    /// The line stack of an operator's `Call stack`, or `None` where it is empty or must not be used.
    pub(crate) fn call_stack(&mut self, text: StrId, stacks: &mut Stacks) -> Option<CallStack> {
        let id = text.get().filter(|_| self.call_stacks != CallStacks::Unused)?;
        if let Some(&known) = self.call_stack.get(&id) {
            return (!known.node.is_empty()).then_some(known);
        }
        let text = self.profile.strings.get(id);
        let mut frames: Vec<Frame<'_>> = text.split(';').filter_map(Frame::parse).collect();
        let is_root_first = self.call_stacks == CallStacks::Definition
            && frames.first().is_some_and(|frame| frame.function == "<module>")
            && frames.last().is_some_and(|frame| frame.function != "<module>");
        if !is_root_first {
            frames.reverse();
        }
        let mut node = Node::EMPTY;
        let mut waits_for_backward = false;
        for frame in frames {
            waits_for_backward |= frame.file.ends_with("torch/autograd/__init__.py")
                && matches!(frame.function, "backward" | "grad");
            let (line, evidence) = if self.call_stacks == CallStacks::Exact {
                let file = self.file(frame.file, &mut stacks.lines);
                let line = stacks.lines.line(file, frame.line);
                stacks.lines.name(line, frame.function);
                (line, Evidence::Exact)
            } else {
                self.definition(frame, &mut stacks.lines)
            };
            node = stacks.push(node, line, evidence);
        }
        let parsed = CallStack { node, waits_for_backward };
        self.call_stack.insert(id, parsed);
        (!node.is_empty()).then_some(parsed)
    }

    /// The line stack of a device event's own `stack`, or the empty one.
    pub(crate) fn provenance(&mut self, json: StrId, stacks: &mut Stacks) -> Node {
        if json.get().is_none() {
            return Node::EMPTY;
        }
        let mut node = Node::EMPTY;
        for (file, line, function) in provenance(self.profile.strings.get(json)) {
            let file = self.file(&file, &mut stacks.lines);
            let line = stacks.lines.line(file, line);
            if !function.is_empty() {
                stacks.lines.name(line, &function);
            }
            node = stacks.push(node, line, Evidence::Exact);
        }
        node
    }

    /// The definition line of a recorded frame, corrected by the source where the recording carries another line.
    fn definition(&mut self, frame: Frame<'_>, lines: &mut Lines) -> (LineId, Evidence) {
        let file = self.file(frame.file, lines);
        let module = self.sources.get(frame.file).and_then(|source| source.module.as_deref());
        let function = module.and_then(|module| module.definition(frame.function, frame.line));
        let (number, evidence) = match function {
            // The whole function stands on one line, so that line is where it is, whatever it does.
            Some(it) if it.first_line == it.last_line => (frame.line, Evidence::Exact),
            Some(it) if frame.line == it.def_line => (frame.line, Evidence::Function),
            Some(it) => (it.first_line, Evidence::Function),
            None => (frame.line, Evidence::Function),
        };
        let line = lines.line(file, number);
        lines.name(line, frame.function);
        (line, evidence)
    }

    /// The file that a recorded path stands for.
    pub(crate) fn file(&mut self, recorded: &str, lines: &mut Lines) -> FileId {
        if let Some(&id) = self.files.get(recorded) {
            return id;
        }
        let source = self.sources.get(recorded);
        let key = source.map_or(recorded, |source| source.key.as_str()).to_owned();
        let is_own = source.is_some_and(|source| source.is_own);
        let id = lines.file(File { key, recorded: recorded.to_owned(), is_own });
        self.files.insert(recorded.to_owned(), id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_told_from_other_calls() {
        let frame = |file, line, function| Some(Frame { file, line, function });
        let cases = [
            ("train.py(29): train_step", frame("train.py", 29, "train_step")),
            ("a (copy)/b(1).py(7): <lambda>", frame("a (copy)/b(1).py", 7, "<lambda>")),
            (r"D:\x\y.py(3): f", frame(r"D:\x\y.py", 3, "f")),
            ("<string>(2): __init__", frame("<string>", 2, "__init__")),
            ("nn.Module: Linear_0", None),
            ("<built-in method run_backward of torch._C._EngineBase object at 0x7f>", None),
            ("(3): f", None),
            ("x.py(-3): f", None),
        ];
        for (name, expected) in cases {
            assert_eq!(Frame::parse(name), expected, "{name}");
        }
    }

    #[test]
    fn a_caller_is_a_path_and_a_line() {
        let cases = [
            ("train.py:9", Some(("train.py", 9))),
            (r"D:\train.py:9", Some((r"D:\train.py", 9))),
            ("train.py:0", None),
            ("train.py", None),
            (":9", None),
        ];
        for (caller, expected) in cases {
            assert_eq!(parse_caller(caller), expected, "{caller}");
        }
    }

    #[test]
    fn provenance_is_read_in_every_spelling() {
        let json = r#"["File \"m.py\", line 3, in forward", "n.py:4", "o.py(5): g", "no frame"]"#;
        let frame = |file: &str, line, function: &str| (file.to_owned(), line, function.to_owned());
        assert_eq!(
            provenance(json),
            [frame("m.py", 3, "forward"), frame("n.py", 4, ""), frame("o.py", 5, "g")]
        );
        assert_eq!(provenance(r#""File \"m.py\", line 3""#), [frame("m.py", 3, "")]);
        assert_eq!(provenance("{}"), []);
    }
}
