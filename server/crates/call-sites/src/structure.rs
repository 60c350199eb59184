//! From events to frames and their children: what is to be aligned.

use profile::{HostEventId, HostKind, Ns, Profile, StrId};
use pysource::flows;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use recorded::{Frame, RecordedSources, is_compiled_range, parse_caller};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::answer::{Answer, Assignment, CallSites};
use crate::code::{Child, FunctionCode, Python};
use crate::compiled;
use crate::definitions::{Definition, Definitions, Start};
use crate::keys::{self, Keys};
use crate::microseconds::MicrosecondTimes;

/// So many generators that take their elements from one another are looked at.
const MAX_GENERATORS: usize = 64;

/// All frames of a recording by function, and what their children are.
pub(crate) struct Structure {
    pub(crate) codes: Vec<FunctionCode>,
    pub(crate) keys: Keys,
    pub(crate) python: Python,
    children: Children,
    /// The children of frames that `torch.compile` wrote, with the code of the frame and their line.
    compiled: Vec<(HostEventId, usize, u32)>,
}

impl Structure {
    pub(crate) fn new(
        profile: &Profile,
        sources: &RecordedSources,
        order: &[HostEventId],
        callers: &mut CallersOfFrames<'_>,
    ) -> Self {
        let children = Children::new(profile, order);
        let mut definitions = Definitions::new(profile, sources);
        let (codes, code_of) = codes(profile, &mut definitions, &children);
        let python = Python::of(profile, sources);
        let mut structure =
            Self { codes, keys: Keys::default(), python, children, compiled: Vec::new() };
        let host = &profile.host;
        let mut kinds = Kinds::new(profile);
        let ends = ThreadEnds::new(profile);
        let returned = structure.returned(profile, &code_of);
        let mut resumed = FxHashSet::default();
        let (mut row, mut within) = (Vec::new(), Vec::new());
        for (frame, parent, events) in structure.children.of_frames() {
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
            row.clear();
            for &event in events {
                let (kind, name) = (host.kind[event.index()], host.name[event.index()]);
                let keys = &mut structure.keys;
                let key = if kind == HostKind::Operator {
                    keys.operator(profile, name)
                } else if kinds.of(name, &mut definitions).looks_within > 0 {
                    within.clear();
                    structure.children.add_within(
                        profile,
                        &mut definitions,
                        &mut kinds,
                        event,
                        u32::MAX,
                        &mut within,
                    );
                    within.sort_unstable();
                    within.dedup();
                    keys.call_within(profile, &mut definitions, name, &within)
                } else {
                    keys.call(profile, &mut definitions, name)
                };
                let key = match kind == HostKind::Python
                    && kinds.of(name, &mut definitions).is_resumed
                    && structure.children.ran_on(profile, &mut definitions, &mut kinds, event)
                {
                    true => structure.keys.ran_on(key),
                    false => key,
                };
                let detail = host.detail_row(event);
                let exact = if kind == HostKind::Python {
                    if kinds.of(name, &mut definitions).is_resumed {
                        resumed.insert(key);
                    }
                    host.python.caller[detail]
                } else {
                    host.operators.line(detail)
                };
                let exact = callers.of(exact).map_or(0, |(_, line)| line);
                if structure.keys.is_module_generator(key) {
                    resumed.insert(key);
                }
                if let Some(&Child { key: before, .. }) = row.last()
                    && structure.keys.goes_on(before, key)
                {
                    resumed.extend([before, key]);
                }
                row.push(Child { key, exact });
            }
            let is_idle = |event: &HostEventId| {
                host.kind[event.index()] == HostKind::Python
                    && structure.children.run_of[event.index()] == u32::MAX
            };
            let name = |event: &HostEventId| host.name[event.index()];
            let mut closed = FxHashSet::default();
            // A generator that takes its elements from one of the same function is closed with that.
            let mut closes_all = || {
                events.chunk_by(|one, other| name(one) == name(other)).all(|same| {
                    let name = name(&same[0]);
                    kinds.of(name, &mut definitions).is_resumed && closed.insert(name)
                })
            };
            // A loop over a generator resumes that one. Where several are resumed, each once, and do nothing, this one was closed at its
            // `yield`, and those that it took its elements from with it.
            if let Start::Within(line) = start
                && events.iter().all(is_idle)
                && closes_all()
                && 1 < closed.len()
            {
                row.iter_mut().filter(|it| it.exact == 0).for_each(|it| it.exact = line);
            }
            let is_cut = events.last().is_some_and(|&last| ends.is_cut(profile, parent, last));
            let returned = returned[parent.index()];
            structure.codes[code].add(start, is_cut, returned, &row, frame);
        }
        structure.keys.mark_generators(&resumed);
        structure
    }

    /// Which calls are known to have returned, by event: those behind which the function that called them went on, though it has no
    /// handler that would have kept what they raised. What C code calls in between may be kept by that.
    fn returned(&self, profile: &Profile, code_of: &FxHashMap<StrId, (usize, Start)>) -> Vec<bool> {
        let host = &profile.host;
        let mut returned = vec![false; host.len()];
        for (_, parent, events) in self.children.of_frames() {
            let code = code_of.get(&host.name[parent.index()]);
            if code.is_none_or(|&(code, _)| self.codes[code].flow.catches) {
                continue;
            }
            for &event in events.iter().rev().skip(1) {
                let code = code_of.get(&host.name[event.index()]).map(|&(code, _)| code);
                let function = code.map(|code| {
                    let it = &self.codes[code];
                    &it.module.functions()[it.flow.function]
                });
                returned[event.index()] =
                    function.is_some_and(|it| !it.is_generator && !is_run_by_c(&it.name));
            }
        }
        returned
    }

    /// The event of a frame, which is a run of the children.
    pub(crate) fn event_of(&self, frame: u32) -> HostEventId {
        self.children.runs[frame as usize].0
    }

    /// The events of a frame's children, in the order of its sequence.
    pub(crate) fn events_of(&self, frame: u32) -> &[HostEventId] {
        self.children.of_run(frame as usize)
    }

    /// Notes the candidates that are left open for `n_frames`.
    pub(crate) fn note_tied(
        &self,
        code: &FunctionCode,
        n_frames: usize,
        answer: &Answer,
        sites: &mut CallSites,
    ) {
        let definition = code.module.functions()[code.flow.function].first_line;
        for tied in &answer.tied {
            let place = sites.places.place(&code.recorded, definition);
            let of_place = sites.tied.entry(place).or_default();
            *of_place.entry(tied.clone()).or_default() += n_frames as u64;
        }
    }

    /// Assigns lines to the children of frames that had one sequence.
    pub(crate) fn assign(
        &self,
        code: &FunctionCode,
        frames: &[u32],
        answer: &Answer,
        sites: &mut CallSites,
    ) {
        let definition = code.module.functions()[code.flow.function].first_line;
        let assigned: Vec<Assignment> = answer
            .lines
            .iter()
            .map(|&line| match line {
                0 if code.is_unnamed || self.children.has_microseconds => {
                    Assignment::function(sites.places.place(&code.recorded, definition))
                }
                0 => Assignment::NOTHING,
                _ => Assignment::inferred(sites.places.place(&code.recorded, line)),
            })
            .collect();
        for &frame in frames {
            for (&event, &it) in self.children.of_run(frame as usize).iter().zip(&assigned) {
                sites.assigned[event.index()] = it;
            }
        }
    }

    /// Assigns the lines that are not found by aligning: in frames that `torch.compile` wrote, and of operators that have
    /// the line of a call, once those of all calls are assigned.
    pub(crate) fn assign_others(
        &self,
        profile: &Profile,
        callers: &mut CallersOfFrames<'_>,
        sites: &mut CallSites,
    ) {
        let host = &profile.host;
        for &(event, code, line) in &self.compiled {
            let place = sites.places.place(&self.codes[code].recorded, line);
            sites.assigned[event.index()] = Assignment::inferred(place);
        }
        for &(operator, call) in &self.children.run_by {
            let caller = host.python.caller[host.detail_row(call)];
            let assigned = sites.assigned[call.index()];
            sites.assigned[operator.index()] = match callers.of(caller) {
                Some((file, line)) => assigned.with_place(sites.places.place(file, line)),
                None => assigned,
            };
        }
    }
}

/// Whether C code mostly runs a method of this name, and takes some of what it raises for an answer: `__getattr__`, `__next__`.
fn is_run_by_c(name: &str) -> bool {
    name.starts_with("__") && !matches!(name, "__call__" | "__init__" | "__enter__")
}

/// The exact callers of a recording, each text parsed once.
pub(crate) struct CallersOfFrames<'a> {
    profile: &'a Profile,
    is_used: bool,
    known: FxHashMap<StrId, Option<(&'a str, u32)>>,
}

impl<'a> CallersOfFrames<'a> {
    /// `is_used` is false where exact callers must be left out.
    pub(crate) fn new(profile: &'a Profile, is_used: bool) -> Self {
        Self { profile, is_used, known: FxHashMap::default() }
    }

    /// The path as recorded and the line; `None` where there is no exact caller.
    pub(crate) fn of(&mut self, caller: StrId) -> Option<(&'a str, u32)> {
        let caller = caller.get().filter(|_| self.is_used)?;
        let profile = self.profile;
        *self.known.entry(caller).or_insert_with(|| parse_caller(profile.strings.get(caller)))
    }
}

/// The functions whose frames have children, and which of them the frames of a name are of. Each file is read once.
fn codes<'a>(
    profile: &'a Profile,
    definitions: &mut Definitions<'a>,
    children: &Children,
) -> (Vec<FunctionCode>, FxHashMap<StrId, (usize, Start)>) {
    let mut of_name: FxHashMap<StrId, (usize, Start)> = FxHashMap::default();
    let mut of_function: FxHashMap<(&str, usize), usize> = FxHashMap::default();
    let mut of_file: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    let mut wanted: Vec<Definition<'_>> = Vec::new();
    for (_, parent, _) in children.of_frames() {
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
    let mut found: Vec<Option<FunctionCode>> = wanted.iter().map(|_| None).collect();
    let of_file: Vec<(&str, Vec<usize>)> = of_file.into_iter().collect();
    let flows: Vec<_> = of_file
        .par_iter()
        .map(|(_, rows)| {
            let functions: Vec<usize> = rows.iter().map(|&row| wanted[row].function).collect();
            let text = wanted[rows[0]].source.text.as_deref();
            text.map_or_else(Vec::new, |text| flows(text, &functions))
        })
        .collect();
    for ((file, rows), flows) in of_file.into_iter().zip(flows) {
        let Some(module) = wanted[rows[0]].source.module.clone() else { continue };
        for (&row, flow) in rows.iter().zip(flows) {
            found[row] = Some(FunctionCode {
                recorded: file.to_owned(),
                flow,
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
    /// Whether times are whole microseconds, which do not show what a call holds.
    has_microseconds: bool,
    /// Events sorted by parent, then in order.
    events: Vec<HostEventId>,
    /// The parent of each run of `events`, with the end of the run.
    runs: Vec<(HostEventId, u32)>,
}

impl Children {
    fn new(profile: &Profile, order: &[HostEventId]) -> Self {
        let host = &profile.host;
        let mut stacks: Vec<Vec<(Ns, HostEventId, HostKind)>> =
            vec![Vec::new(); profile.threads.len()];
        let mut pairs: Vec<(u32, HostEventId)> = Vec::new();
        let mut microseconds = MicrosecondTimes::new(profile);
        let mut run_of = vec![u32::MAX; host.len()];
        let mut parents = Vec::new();
        let mut ranges: Vec<Option<bool>> = vec![None; profile.strings.len()];
        // A collection of garbage begins anywhere, and no line asks for it; what it calls (`__del__`) neither.
        let collection = profile.strings.find("Python GC");
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
                && microseconds.is_none()
                && below.is_some_and(|below| host.end(below) < end);
            if kind == HostKind::Operator {
                let name = host.name[id.index()];
                let is_range = ranges.get_mut(name.index()).is_some_and(|known| {
                    *known.get_or_insert_with(|| is_compiled_range(profile.strings.get(name)))
                });
                if is_range {
                    continue;
                }
            }
            if kind == HostKind::Python && Some(host.name[id.index()]) == collection {
                stack.push((end, id, kind));
                continue;
            }
            if let Some(microseconds) = &mut microseconds {
                below = microseconds.parent(profile, id, below);
            }
            if let Some(below) = below {
                let run = &mut run_of[below.index()];
                if *run == u32::MAX {
                    *run = u32::try_from(parents.len()).unwrap_or(u32::MAX);
                    parents.push(below);
                }
                pairs.push((*run, id));
            }
            if !is_range {
                stack.push((end, id, kind));
            }
        }
        let mut children = Self {
            run_of,
            run_by: Vec::new(),
            has_microseconds: false,
            events: Vec::new(),
            runs: vec![],
        };
        children.sort(&parents, &pairs);
        if let Some(microseconds) = microseconds {
            let sorted = children
                .of_frames()
                .flat_map(|(run, _, events)| events.iter().map(move |&event| (run, event)));
            pairs = sorted.collect();
            children.has_microseconds = true;
            children.run_by = microseconds.reorder(profile, &mut pairs);
            children.sort(&parents, &pairs);
        }
        children
    }

    /// Takes over events, each with the number of its parent: by parent, otherwise in the order that they have.
    fn sort(&mut self, parents: &[HostEventId], pairs: &[(u32, HostEventId)]) {
        let mut next = vec![0; parents.len()];
        for &(run, _) in pairs {
            next[run as usize] += 1;
        }
        let mut end = 0;
        for next in &mut next {
            (*next, end) = (end, end + *next);
        }
        self.events = vec![HostEventId::NONE; pairs.len()];
        for &(run, event) in pairs {
            let next = &mut next[run as usize];
            self.events[*next as usize] = event;
            *next += 1;
        }
        self.runs = parents.iter().copied().zip(next).collect();
    }

    /// Adds the names of the calls that `event` makes by itself, if they show where it was called; of what may wrap
    /// another function in turn, that function's too, down to `depth`.
    fn add_within(
        &self,
        profile: &Profile,
        definitions: &mut Definitions<'_>,
        kinds: &mut Kinds<'_>,
        event: HostEventId,
        depth: u32,
        within: &mut Vec<StrId>,
    ) {
        let host = &profile.host;
        let depth = depth.min(kinds.of(host.name[event.index()], definitions).looks_within);
        if depth == 0 {
            return;
        }
        for &child in self.of(event) {
            if host.kind[child.index()] == HostKind::Python {
                within.push(host.name[child.index()]);
                self.add_within(profile, definitions, kinds, child, depth - 1, within);
            }
        }
    }

    /// Whether a generator that goes on, and does nothing when it is closed, did more than to have others go on.
    fn ran_on(
        &self,
        profile: &Profile,
        definitions: &mut Definitions<'_>,
        kinds: &mut Kinds<'_>,
        mut event: HostEventId,
    ) -> bool {
        let host = &profile.host;
        for _ in 0..MAX_GENERATORS {
            if kinds.of(host.name[event.index()], definitions).cleans_up {
                return false;
            }
            let mut goes_on = |it: &HostEventId| {
                host.kind[it.index()] == HostKind::Python
                    && kinds.of(host.name[it.index()], definitions).is_resumed
            };
            if !self.of(event).iter().all(&mut goes_on) {
                return true;
            }
            let Some(&first) = self.of(event).first() else { return false };
            event = first;
        }
        false
    }

    /// The children of an event.
    fn of(&self, event: HostEventId) -> &[HostEventId] {
        self.of_run(self.run_of[event.index()] as usize)
    }

    fn of_run(&self, run: usize) -> &[HostEventId] {
        let Some(&(_, end)) = self.runs.get(run) else { return &[] };
        let from = run.checked_sub(1).map_or(0, |before| self.runs[before].1);
        &self.events[from as usize..end as usize]
    }

    /// All events with children: the run, the event, the children.
    fn of_frames(&self) -> impl Iterator<Item = (u32, HostEventId, &[HostEventId])> {
        let mut from = 0;
        (0..).zip(&self.runs).map(move |(run, &(parent, end))| {
            let events = &self.events[from as usize..end as usize];
            from = end;
            (run, parent, events)
        })
    }
}

/// When the last call of each thread ends. Those that are open when the recording ends are recorded to end all at once.
struct ThreadEnds(Vec<Ns>);

impl ThreadEnds {
    fn new(profile: &Profile) -> Self {
        let host = &profile.host;
        let mut ends = vec![Ns(i64::MIN); profile.threads.len()];
        for id in host.ids().filter(|it| host.kind[it.index()] == HostKind::Python) {
            let end = &mut ends[host.thread[id.index()].index()];
            *end = host.end(id).max(*end);
        }
        Self(ends)
    }

    /// Whether the recording ended within the call `last` of a frame.
    fn is_cut(&self, profile: &Profile, frame: HostEventId, last: HostEventId) -> bool {
        let host = &profile.host;
        let end = host.end(frame);
        host.end(last) == end && self.0[host.thread[frame.index()].index()] == end
    }
}

/// What the names of Python events show, each looked at once.
struct Kinds<'a> {
    profile: &'a Profile,
    known: Vec<Option<NameKind>>,
}

/// What the name of a Python event shows.
#[derive(Debug, Clone, Copy)]
struct NameKind {
    /// How many calls within one another say something about where it was called: see [`keys::looks_within`].
    looks_within: u32,
    /// Whether it is a frame that begins elsewhere than its function.
    is_resumed: bool,
    /// Whether its function may do something when the frame is left early.
    cleans_up: bool,
}

impl<'a> Kinds<'a> {
    fn new(profile: &'a Profile) -> Self {
        Self { profile, known: vec![None; profile.strings.len()] }
    }

    fn of(&mut self, name: StrId, definitions: &mut Definitions<'_>) -> NameKind {
        let text = self.profile.strings.get(name);
        let mut find = || {
            let looks_within = keys::looks_within(text, name, definitions);
            let definition = definitions.of(name);
            NameKind {
                looks_within,
                is_resumed: definition.is_some_and(|it| it.is_resumed()),
                cleans_up: definition.is_some_and(|it| it.function().cleans_up),
            }
        };
        match self.known.get_mut(name.index()) {
            Some(known) => *known.get_or_insert_with(find),
            None => find(),
        }
    }
}

#[cfg(test)]
mod tests {
    use recorded::in_order;
    use trace_reader::TraceReader;

    use super::*;

    /// The names of the children of each event with children, of a trace with one thread. Rows: category, name, start and
    /// duration in microseconds.
    fn children(rows: &[(&str, &str, f64, f64)]) -> Vec<(String, Vec<String>)> {
        let events: Vec<String> = rows
            .iter()
            .enumerate()
            .map(|(id, (category, name, start, duration))| {
                format!(
                    r#"{{"ph":"X","cat":"{category}","name":"{name}","pid":1,"tid":1,"ts":{start},"dur":{duration},"args":{{"Python id":{id}}}}}"#
                )
            })
            .collect();
        let mut reader = TraceReader::new();
        reader.feed(format!(r#"{{"traceEvents":[{}]}}"#, events.join(",")).as_bytes());
        let profile = reader.finish().profile;
        let name =
            |event: HostEventId| profile.strings.get(profile.host.name[event.index()]).to_owned();
        let children = Children::new(&profile, &in_order(&profile));
        children
            .of_frames()
            .map(|(_, parent, events)| (name(parent), events.iter().map(|&it| name(it)).collect()))
            .collect()
    }

    #[test]
    fn an_operator_hides_what_is_below() {
        let found = children(&[
            ("python_function", "m.py(1): f", 10.125, 90.5),
            ("cpu_op", "aten::linear", 20.125, 30.5),
            ("cpu_op", "aten::mm", 25.125, 5.5),
            ("python_function", "m.py(9): g", 60.125, 5.5),
        ]);
        let expected = ["aten::linear", "m.py(9): g"].map(str::to_owned).to_vec();
        assert_eq!(found, [("m.py(1): f".to_owned(), expected)]);
    }

    #[test]
    fn a_collection_of_garbage_is_nobodys_child() {
        let found = children(&[
            ("python_function", "m.py(1): f", 10.125, 90.5),
            ("python_function", "Python GC", 20.125, 30.5),
            ("python_function", "m.py(5): __del__", 25.125, 5.5),
            ("python_function", "m.py(9): g", 60.125, 5.5),
        ]);
        let of_f = ["m.py(9): g"].map(str::to_owned).to_vec();
        assert!(found.contains(&("m.py(1): f".to_owned(), of_f)), "{found:?}");
    }

    #[test]
    fn a_range_that_outlives_the_call_that_opened_it_hides_nothing() {
        let found = children(&[
            ("python_function", "m.py(1): f", 10.125, 90.5),
            ("python_function", "m.py(5): enter", 20.125, 10.5),
            ("cpu_op", "a range", 25.125, 50.5),
            ("cpu_op", "aten::mm", 40.125, 5.5),
        ]);
        let of_f = ["m.py(5): enter", "aten::mm"].map(str::to_owned).to_vec();
        assert!(found.contains(&("m.py(1): f".to_owned(), of_f)), "{found:?}");
    }
}
