//! What the names of Python events, exact callers and call stacks say.

use ledger::Evidence;
use line_stacks::{FileId, LineId, Lines, Node, StackFile, Stacks};
use profile::{Profile, StrId};
use rustc_hash::FxHashMap;

use crate::checkpoints::CheckpointFrame;
use crate::options::AttributionOptions;
use recorded::{
    Frame, RecordedSources, UNNAMED, is_inductor_file, is_waiting_call, parse_caller, provenance,
    waits_for_backward,
};

/// What a Python event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PythonName {
    /// A frame, with its definition line, how well that line shows where the frame is, what it does in activation
    /// checkpointing, and whether its code is what Inductor generated.
    Frame { line: LineId, evidence: Evidence, checkpoint: CheckpointFrame, is_generated: bool },
    /// A call without lines of its own. `waits_for_backward` marks the engine's entry, `run_backward`; `is_waiting` what
    /// only waits; `is_unnamed` what may be a function with lines, which the trace does not spell.
    Call { waits_for_backward: bool, is_waiting: bool, is_unnamed: bool },
}

/// What the operators' call stacks are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallStacks {
    /// There are none, or Python events show more.
    Unused,
    /// torch 1.8–1.10: current lines.
    Exact,
    /// torch 1.11 and 1.12: definition lines, root first. (1.13 and later: leaf first, and Python events beside.)
    Definition,
}

/// Parsed names, each distinct text once.
pub(crate) struct Names<'a> {
    profile: &'a Profile,
    sources: &'a RecordedSources,
    use_callers: bool,
    pub(crate) call_stacks: CallStacks,
    /// Whether the recording says anything about Python.
    pub(crate) has_stacks: bool,
    files: FxHashMap<String, FileId>,
    python: Vec<Option<PythonName>>,
    caller: Vec<Option<LineId>>,
    call_stack: FxHashMap<StrId, CallStack>,
    provenance: FxHashMap<StrId, Node>,
}

/// A parsed call stack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallStack {
    pub(crate) node: Node,
    /// Whether it holds the Python side of the autograd engine.
    pub(crate) waits_for_backward: bool,
}

impl<'a> Names<'a> {
    pub(crate) fn new(
        profile: &'a Profile,
        sources: &'a RecordedSources,
        options: AttributionOptions,
    ) -> Self {
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
            provenance: FxHashMap::default(),
        }
    }

    /// Whether exact callers are used.
    pub(crate) fn uses_callers(&self) -> bool {
        self.use_callers
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
                let checkpoint = CheckpointFrame::of(frame);
                let is_generated = is_inductor_file(frame.file);
                PythonName::Frame { line, evidence, checkpoint, is_generated }
            }
            None => PythonName::Call {
                waits_for_backward: waits_for_backward(text),
                is_waiting: is_waiting_call(text),
                is_unnamed: text == UNNAMED,
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
        let Some(id) = json.get() else { return Node::EMPTY };
        if let Some(&known) = self.provenance.get(&id) {
            return known;
        }
        let mut node = Node::EMPTY;
        for (file, line, function) in provenance(self.profile.strings.get(id)) {
            let file = self.file(&file, &mut stacks.lines);
            let line = stacks.lines.line(file, line);
            if !function.is_empty() {
                stacks.lines.name(line, &function);
            }
            node = stacks.push(node, line, Evidence::Exact);
        }
        self.provenance.insert(id, node);
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
        let id = lines.file(StackFile::new(recorded, self.sources));
        self.files.insert(recorded.to_owned(), id);
        id
    }
}
