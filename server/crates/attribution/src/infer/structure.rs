//! From events to frames and their children: what is to be aligned.

use std::sync::Arc;

use profile::{HostEventId, HostKind, Ns, Profile, StrId};
use pysource::flow::{Flow, flows};
use rustc_hash::{FxHashMap, FxHashSet};

use super::align::Aligned;
use super::keys::{KeyId, Keys};
use crate::Sources;
use crate::names::{Frame, Names};
use crate::stacks::{FileId, LineId, Lines};

/// A function whose frames were recorded and whose source is at hand.
pub(crate) struct Code {
    pub(crate) file: FileId,
    pub(crate) flow: Flow,
    /// The text of the file.
    pub(crate) text: Arc<str>,
    pub(crate) sequences: Vec<Sequence>,
    index: FxHashMap<(Start, Vec<Child>), usize>,
}

/// Where a frame's path begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Start {
    /// At the function's beginning.
    Entry,
    /// Anywhere from this line on: the frame was open when recording began, or is a generator that goes on.
    Within(u32),
}

/// A child as the aligner sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Child {
    pub(crate) key: KeyId,
    /// The line it is known to come from; 0 where it is to be inferred.
    pub(crate) exact: u32,
}

/// A distinct sequence of children, with the frames that had it.
pub(crate) struct Sequence {
    pub(crate) start: Start,
    pub(crate) children: Vec<Child>,
    /// The events of each such frame, one after the other.
    pub(crate) events: Vec<HostEventId>,
    /// How many frames had it.
    pub(crate) weight: u32,
}

/// All frames of a recording by function, and what their children are.
pub(crate) struct Structure {
    pub(crate) codes: Vec<Code>,
    pub(crate) keys: Keys,
    pub(crate) python: Python,
}

impl Structure {
    pub(crate) fn new(
        profile: &Profile,
        sources: &Sources,
        names: &mut Names<'_>,
        lines: &mut Lines,
        order: &[HostEventId],
    ) -> Self {
        let children = Children::new(profile, order);
        let mut structure =
            Self { codes: Vec::new(), keys: Keys::default(), python: Python::of(profile) };
        let mut codes = CodeTable::new(profile, sources);
        let host = &profile.host;
        let mut resumed = FxHashSet::default();
        for (parent, events) in children.of_frames() {
            let name = host.name[parent.index()];
            let Some((code, start)) = codes.code(name, names, lines, &mut structure.codes) else {
                continue;
            };
            let mut row = Vec::with_capacity(events.len());
            for &event in events {
                let kind = host.kind[event.index()];
                let key = structure.keys.key(profile, sources, kind, host.name[event.index()]);
                if kind == HostKind::Python && codes.is_resumed(host.name[event.index()]) {
                    resumed.insert(key);
                }
                let exact = match kind {
                    HostKind::Python => {
                        let caller = host.python.caller[host.detail[event.index()] as usize];
                        names.caller(caller, lines).map_or(0, |line| lines.number(line))
                    }
                    _ => 0,
                };
                if let Some(&Child { key: before, .. }) = row.last()
                    && structure.keys.goes_on(before, key)
                {
                    resumed.extend([before, key]);
                }
                row.push(Child { key, exact });
            }
            structure.codes[code].add(start, row, events);
        }
        structure.keys.mark_generators(&resumed);
        structure
    }

    /// Notes the lines of `sequence` for each frame that had it.
    pub(crate) fn tell(
        &self,
        code: &Code,
        sequence: &Sequence,
        aligned: &Aligned,
        lines: &mut Lines,
        told: &mut [LineId],
    ) {
        for events in sequence.events.chunks(sequence.children.len().max(1)) {
            for (&event, &line) in events.iter().zip(&aligned.lines) {
                if line > 0 {
                    told[event.index()] = lines.line(code.file, line);
                }
            }
        }
    }
}

impl Code {
    fn add(&mut self, start: Start, children: Vec<Child>, events: &[HostEventId]) {
        let sequences = &mut self.sequences;
        let row = *self.index.entry((start, children)).or_insert_with_key(|(start, children)| {
            let children = children.clone();
            sequences.push(Sequence { start: *start, children, events: Vec::new(), weight: 0 });
            sequences.len() - 1
        });
        let sequence = &mut self.sequences[row];
        sequence.weight += 1;
        sequence.events.extend(events);
    }
}

/// The Python that recorded, as far as the recording shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Python {
    /// Minor version, by which expressions have other lines.
    pub(crate) minor: u8,
    /// Whether comprehensions are frames (up to 3.11) or part of their function; `None` where it does not show.
    pub(crate) has_comprehension_frames: Option<bool>,
}

impl Python {
    fn of(profile: &Profile) -> Self {
        let texts = || profile.strings.iter().map(|(_, text)| text);
        let told: Option<u8> = texts().find_map(|text| {
            let (_, rest) = text.split_once("/python3.")?;
            rest.split(|it: char| !it.is_ascii_digit()).next()?.parse().ok()
        });
        let is_comprehension = |text: &str| {
            ["<listcomp>", "<dictcomp>", "<setcomp>"].iter().any(|it| text.ends_with(it))
        };
        let has_frames = texts().any(is_comprehension);
        match told {
            Some(minor) => Self { minor, has_comprehension_frames: Some(minor < 12) },
            None if has_frames => Self { minor: 11, has_comprehension_frames: Some(true) },
            // Most programs have a comprehension somewhere, so it probably is a Python that inlines them.
            None => Self { minor: 12, has_comprehension_frames: None },
        }
    }
}

/// Finds the code of a frame by its name, and reads the flow of each function once.
struct CodeTable<'a> {
    profile: &'a Profile,
    sources: &'a Sources,
    by_name: FxHashMap<StrId, Option<(usize, Start)>>,
    by_function: FxHashMap<(String, usize), usize>,
    resumed: FxHashMap<StrId, bool>,
}

impl<'a> CodeTable<'a> {
    fn new(profile: &'a Profile, sources: &'a Sources) -> Self {
        Self {
            profile,
            sources,
            by_name: FxHashMap::default(),
            by_function: FxHashMap::default(),
            resumed: FxHashMap::default(),
        }
    }

    fn code(
        &mut self,
        name: StrId,
        names: &mut Names<'_>,
        lines: &mut Lines,
        codes: &mut Vec<Code>,
    ) -> Option<(usize, Start)> {
        if let Some(&known) = self.by_name.get(&name) {
            return known;
        }
        let found = self.find(name, names, lines, codes);
        self.by_name.insert(name, found);
        found
    }

    /// Whether a frame called `name` begins elsewhere than its definition, as those of resumed generators do.
    fn is_resumed(&mut self, name: StrId) -> bool {
        if let Some(&known) = self.resumed.get(&name) {
            return known;
        }
        let frame = Frame::parse(self.profile.strings.get(name));
        let definition = frame.and_then(|frame| {
            let module = self.sources.get(frame.file)?.module.as_deref()?;
            module.definition(frame.function, frame.line).map(|function| (frame, function))
        });
        let is_resumed = definition.is_some_and(|(frame, function)| {
            frame.function != "<module>"
                && ![function.first_line, function.def_line].contains(&frame.line)
        });
        self.resumed.insert(name, is_resumed);
        is_resumed
    }

    fn find(
        &mut self,
        name: StrId,
        names: &mut Names<'_>,
        lines: &mut Lines,
        codes: &mut Vec<Code>,
    ) -> Option<(usize, Start)> {
        let text = self.profile.strings.get(name);
        let (file, function, start) = match Frame::parse(text) {
            Some(frame) => {
                let module = self.sources.get(frame.file)?.module.as_deref()?;
                let function = module.definition(frame.function, frame.line)?;
                let is_definition = [function.first_line, function.def_line].contains(&frame.line);
                let is_module = frame.function == "<module>";
                let start = if is_definition && !is_module {
                    Start::Entry
                } else {
                    Start::Within(frame.line)
                };
                let index = module.functions().iter().position(|it| std::ptr::eq(it, function))?;
                (frame.file, index, start)
            }
            // The frame of `Module.__call__` is recorded as `nn.Module: …`, without file and line.
            None if text.starts_with("nn.Module: ") => {
                let file = "torch/nn/modules/module.py";
                let module = self.sources.get(file)?.module.as_deref()?;
                let call =
                    module.named("_wrapped_call_impl").chain(module.named("_call_impl")).next()?;
                let index = module.functions().iter().position(|it| std::ptr::eq(it, call))?;
                (file, index, Start::Entry)
            }
            None => return None,
        };
        let by_function = (file.to_owned(), function);
        if let Some(&code) = self.by_function.get(&by_function) {
            return Some((code, start));
        }
        let text = self.sources.get(file)?.text.clone()?;
        let flow = flows(&text, &[function]).into_iter().next()?;
        let file = names.file(file, lines);
        codes.push(Code { file, flow, text, sequences: Vec::new(), index: FxHashMap::default() });
        self.by_function.insert(by_function, codes.len() - 1);
        Some((codes.len() - 1, start))
    }
}

/// Parents by `Python parent id`, in recordings with times in microseconds (up to torch 2.2): there a call may last no
/// time at all, and then does not hold what it called.
struct ParentIds(FxHashMap<i64, HostEventId>);

impl ParentIds {
    fn new(profile: &Profile) -> Self {
        let host = &profile.host;
        let is_coarse = host.start.iter().chain(&host.duration).all(|time| time % 1_000 == 0);
        let calls = host.ids().filter(|id| is_coarse && host.kind[id.index()] == HostKind::Python);
        Self(calls.map(|id| (host.python.id[host.detail[id.index()] as usize], id)).collect())
    }

    fn parent(&self, profile: &Profile, id: HostEventId) -> Option<HostEventId> {
        let host = &profile.host;
        if self.0.is_empty() || host.kind[id.index()] != HostKind::Python {
            return None;
        }
        let parent = *self.0.get(&host.python.parent[host.detail[id.index()] as usize])?;
        (host.thread[parent.index()] == host.thread[id.index()]).then_some(parent)
    }
}

/// The children of each Python event: Python calls and outermost operators, in order.
struct Children {
    /// Events sorted by parent, then in order.
    events: Vec<HostEventId>,
    /// The parent of each run of `events`, with the end of the run.
    runs: Vec<(HostEventId, usize)>,
}

impl Children {
    fn new(profile: &Profile, order: &[HostEventId]) -> Self {
        let host = &profile.host;
        let mut stacks: Vec<Vec<(Ns, HostEventId, HostKind)>> =
            vec![Vec::new(); profile.threads.len()];
        let mut pairs: Vec<(u32, HostEventId)> = Vec::new();
        let by_id = ParentIds::new(profile);
        let mut rank_of_parent = vec![u32::MAX; host.len()];
        let mut parents = Vec::new();
        for &id in order {
            let kind = host.kind[id.index()];
            if !matches!(kind, HostKind::Python | HostKind::Operator) {
                continue;
            }
            let (start, end) = (host.start[id.index()], host.end(id));
            let stack = &mut stacks[host.thread[id.index()].index()];
            while stack.last().is_some_and(|&(end, ..)| end <= start) {
                stack.pop();
            }
            // The innermost open event of the two kinds is the parent if it is a Python call; an operator hides it.
            let below = match stack.iter().rev().find(|&&(end, ..)| end > start) {
                Some(&(_, below, HostKind::Python)) => Some(below),
                _ => None,
            };
            if let Some(below) = by_id.parent(profile, id).or(below) {
                let rank = &mut rank_of_parent[below.index()];
                if *rank == u32::MAX {
                    *rank = u32::try_from(parents.len()).unwrap_or(u32::MAX);
                    parents.push(below);
                }
                pairs.push((*rank, id));
            }
            stack.push((end, id, kind));
        }
        // Stable: children stay in order.
        pairs.sort_by_key(|&(rank, _)| rank);
        let mut runs: Vec<(HostEventId, usize)> = Vec::new();
        for (at, &(rank, _)) in pairs.iter().enumerate() {
            match runs.last_mut().filter(|(parent, _)| *parent == parents[rank as usize]) {
                Some((_, end)) => *end = at + 1,
                None => runs.push((parents[rank as usize], at + 1)),
            }
        }
        Self { events: pairs.into_iter().map(|(_, id)| id).collect(), runs }
    }

    fn of_frames(&self) -> impl Iterator<Item = (HostEventId, &[HostEventId])> {
        let mut from = 0;
        self.runs.iter().map(move |&(parent, end)| {
            let events = &self.events[from..end];
            from = end;
            (parent, events)
        })
    }
}
