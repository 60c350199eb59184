//! From events to frames and their children: what is to be aligned.

use std::sync::Arc;

use profile::{HostEventId, HostKind, Ns, Profile, StrId};
use pysource::Module;
use pysource::flow::{Flow, flows};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Inferred;
use super::align::Aligned;
use super::coarse::Coarse;
use super::compiled;
use super::definitions::{Definition, Definitions, Start};
use super::keys::{KeyId, Keys};
use crate::Sources;
use crate::names::{Frame, Names};
use crate::stacks::{FileId, LineId, Lines};

/// How many functions that wrap one another are looked through.
const DEEPEST_WRAPPER: u32 = 3;

/// A function whose frames were recorded and whose source is at hand.
pub(crate) struct Code {
    pub(crate) file: FileId,
    /// The file as recorded.
    pub(crate) recorded: String,
    pub(crate) flow: Flow,
    /// The text of the file.
    pub(crate) text: Arc<str>,
    /// What the text says.
    pub(crate) module: Arc<Module>,
    /// Whether its frames are recorded without file and line: those of `Module.__call__`.
    is_unnamed: bool,
    pub(crate) sequences: Vec<Sequence>,
    index: FxHashMap<(Start, Vec<Child>), usize>,
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
    /// Operators that have the line of a call, with that call.
    run_by: Vec<(HostEventId, HostEventId)>,
    /// The children of frames that `torch.compile` wrote, with the code of the frame and their line.
    compiled: Vec<(HostEventId, usize, u32)>,
    /// Whether times are too coarse to tell what a call holds.
    is_coarse: bool,
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
        let mut definitions = Definitions::new(profile, sources);
        let (codes, code_of) = codes(profile, &mut definitions, &children, names, lines);
        let (keys, python) = (Keys::default(), Python::of(profile, sources));
        let mut structure = Self {
            codes,
            keys,
            python,
            run_by: Vec::new(),
            compiled: Vec::new(),
            is_coarse: children.is_coarse,
        };
        let host = &profile.host;
        let mut resumed = FxHashSet::default();
        for (parent, events) in children.of_frames() {
            let name = host.name[parent.index()];
            let Some(&(code, start)) = code_of.get(&name) else { continue };
            let texts = || events.iter().map(|it| profile.strings.get(host.name[it.index()]));
            if compiled::is_compiled(texts()) {
                if let Some(frame) = Frame::parse(profile.strings.get(name)) {
                    let texts: Vec<&str> = texts().collect();
                    let lines = compiled::lines(&texts, frame.line);
                    structure
                        .compiled
                        .extend(events.iter().zip(lines).map(|(&event, line)| (event, code, line)));
                }
                continue;
            }
            let mut row = Vec::with_capacity(events.len());
            for &event in events {
                let (kind, name) = (host.kind[event.index()], host.name[event.index()]);
                let mut within = Vec::new();
                children.add_within(profile, &mut definitions, event, DEEPEST_WRAPPER, &mut within);
                within.sort_unstable();
                within.dedup();
                let key = structure.keys.key(profile, &mut definitions, kind, name, within);
                let detail = host.detail[event.index()] as usize;
                let exact = if kind == HostKind::Python {
                    if definitions.of(name).is_some_and(|it| it.is_resumed()) {
                        resumed.insert(key);
                    }
                    host.python.caller[detail]
                } else {
                    host.operators.line(detail)
                };
                let exact = names.caller(exact, lines).map_or(0, |line| lines.number(line));
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
        structure.run_by = children.run_by;
        structure
    }

    /// Notes the lines of `sequence` for each frame that had it.
    pub(crate) fn tell(
        &self,
        code: &Code,
        sequence: &Sequence,
        aligned: &Aligned,
        lines: &mut Lines,
        inferred: &mut Inferred,
    ) {
        let definition = code.module.functions()[code.flow.function].first_line;
        let untold = aligned.readings.iter().zip(&aligned.lines).filter(|&(_, &line)| line == 0);
        for (readings, _) in untold.filter(|(readings, _)| readings.len() > 1) {
            let line = lines.line(code.file, definition);
            let of_line = inferred.readings.entry(line).or_default();
            *of_line.entry(readings.clone()).or_default() += u64::from(sequence.weight);
        }
        for events in sequence.events.chunks(sequence.children.len().max(1)) {
            for (&event, &line) in events.iter().zip(&aligned.lines) {
                if line > 0 {
                    inferred.line[event.index()] = lines.line(code.file, line);
                } else if code.is_unnamed || self.is_coarse {
                    inferred.line[event.index()] = lines.line(code.file, definition);
                    inferred.function.insert(event);
                }
            }
        }
    }
}

impl Structure {
    /// Notes the lines that are not found by aligning: in frames that `torch.compile` wrote, and of operators that have
    /// the line of a call, when those of all calls are told.
    pub(crate) fn tell_others(
        &self,
        profile: &Profile,
        names: &mut Names<'_>,
        lines: &mut Lines,
        inferred: &mut Inferred,
    ) {
        let host = &profile.host;
        for &(event, code, line) in &self.compiled {
            inferred.line[event.index()] = lines.line(self.codes[code].file, line);
        }
        for &(operator, call) in &self.run_by {
            let caller = host.python.caller[host.detail[call.index()] as usize];
            let line = names.caller(caller, lines).or(inferred.line[call.index()].get());
            inferred.line[operator.index()] = line.unwrap_or(LineId::NONE);
            if inferred.function.contains(&call) {
                inferred.function.insert(operator);
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
    fn of(profile: &Profile, sources: &Sources) -> Self {
        let texts = || profile.strings.iter().map(|(_, text)| text);
        let minor = |text: &str| -> Option<u8> {
            let (_, rest) = text.split_once("/python3.")?;
            rest.split(|it: char| !it.is_ascii_digit()).next()?.parse().ok()
        };
        // Paths below `site-packages` are recorded without what is before; where the libraries were found tells, too.
        let told = texts().find_map(minor).or_else(|| {
            let mut paths = sources.paths().filter_map(|path| minor(path.to_str()?));
            paths.next()
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

/// The functions whose frames have children, and which of them the frames of a name are of. Each file is read once.
fn codes<'a>(
    profile: &'a Profile,
    definitions: &mut Definitions<'a>,
    children: &Children,
    names: &mut Names<'_>,
    lines: &mut Lines,
) -> (Vec<Code>, FxHashMap<StrId, (usize, Start)>) {
    let mut of_name: FxHashMap<StrId, (usize, Start)> = FxHashMap::default();
    let mut of_function: FxHashMap<(&str, usize), usize> = FxHashMap::default();
    let mut of_file: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    let mut wanted: Vec<Definition<'_>> = Vec::new();
    for (parent, _) in children.of_frames() {
        let name = profile.host.name[parent.index()];
        if of_name.contains_key(&name) {
            continue;
        }
        let Some(definition) = definitions.of(name) else { continue };
        let code =
            *of_function.entry((definition.file, definition.function)).or_insert_with(|| {
                of_file.entry(definition.file).or_default().push(wanted.len());
                wanted.push(definition);
                wanted.len() - 1
            });
        of_name.insert(name, (code, definition.start));
    }
    let mut found: Vec<Option<Code>> = wanted.iter().map(|_| None).collect();
    for (file, rows) in of_file {
        let Some((text, module)) =
            wanted[rows[0]].source.text.clone().zip(wanted[rows[0]].source.module.clone())
        else {
            continue;
        };
        let functions: Vec<usize> = rows.iter().map(|&row| wanted[row].function).collect();
        let id = names.file(file, lines);
        for (&row, flow) in rows.iter().zip(flows(&text, &functions)) {
            found[row] = Some(Code {
                file: id,
                recorded: file.to_owned(),
                flow,
                text: text.clone(),
                module: module.clone(),
                is_unnamed: wanted[row].is_unnamed,
                sequences: Vec::new(),
                index: FxHashMap::default(),
            });
        }
    }
    // A definition has a text, so that each of them is found.
    (found.into_iter().flatten().collect(), of_name)
}

/// The children of each Python event: Python calls and outermost operators, in order.
struct Children {
    /// Which run of `runs` holds the children of an event; `u32::MAX` without children.
    run_of: Vec<u32>,
    /// Operators that are not among the children because a call beside them ran them, with that call.
    run_by: Vec<(HostEventId, HostEventId)>,
    /// Whether times are too coarse to tell what a call holds.
    is_coarse: bool,
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
        let mut coarse = Coarse::new(profile);
        let mut rank_of_parent = vec![u32::MAX; host.len()];
        let mut n_parents = 0;
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
            let mut below = match stack.iter().rev().find(|&&(end, ..)| end > start) {
                Some(&(_, below, HostKind::Python)) => Some(below),
                _ => None,
            };
            // What outlives the call that it began in is a range that this opened (`RecordFunctionFast.__enter__`).
            let is_range = kind == HostKind::Operator
                && coarse.is_none()
                && below.is_some_and(|below| host.end(below) < end);
            if kind == HostKind::Operator
                && compiled::is_range(profile.strings.get(host.name[id.index()]))
            {
                continue;
            }
            if let Some(coarse) = &mut coarse {
                below = coarse.parent(profile, id, below);
            }
            if let Some(below) = below {
                let rank = &mut rank_of_parent[below.index()];
                if *rank == u32::MAX {
                    *rank = n_parents;
                    n_parents += 1;
                }
                pairs.push((*rank, id));
            }
            if !is_range {
                stack.push((end, id, kind));
            }
        }
        // Stable: children stay in order.
        pairs.sort_by_key(|&(rank, _)| rank);
        let is_coarse = coarse.is_some();
        let run_by = coarse.map_or_else(Vec::new, |coarse| coarse.settle(profile, &mut pairs));
        let mut parents = vec![HostEventId::NONE; n_parents as usize];
        for id in host.ids() {
            if let Some(parent) = parents.get_mut(rank_of_parent[id.index()] as usize) {
                *parent = id;
            }
        }
        let mut runs: Vec<(HostEventId, usize)> = Vec::with_capacity(parents.len());
        let mut end = 0;
        for (rank, parent) in (0..).zip(parents) {
            end += pairs[end..].partition_point(|&(it, _)| it == rank);
            runs.push((parent, end));
        }
        let events = pairs.into_iter().map(|(_, id)| id).collect();
        Self { run_of: rank_of_parent, events, runs, run_by, is_coarse }
    }

    /// Adds the names of the calls that `event` makes by itself, if they tell where it was called; of what may wrap
    /// another function in turn, that function's too, down to `depth`.
    fn add_within(
        &self,
        profile: &Profile,
        definitions: &mut Definitions<'_>,
        event: HostEventId,
        depth: u32,
        within: &mut Vec<StrId>,
    ) {
        let host = &profile.host;
        let (kind, name) = (host.kind[event.index()], host.name[event.index()]);
        if depth == 0 || !Keys::looks_within(profile, definitions, kind, name) {
            return;
        }
        for &child in self.of(event) {
            if host.kind[child.index()] == HostKind::Python {
                within.push(host.name[child.index()]);
                self.add_within(profile, definitions, child, depth - 1, within);
            }
        }
    }

    /// The children of an event.
    fn of(&self, event: HostEventId) -> &[HostEventId] {
        let Some(&(_, end)) = self.runs.get(self.run_of[event.index()] as usize) else {
            return &[];
        };
        let from = match self.run_of[event.index()] as usize {
            0 => 0,
            run => self.runs[run - 1].1,
        };
        &self.events[from..end]
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
