//! Conditions that the caller decides: `f(x, training=False)` is called where `f` asks `if training:`.
//!
//! Two branches may leave the same events, so that a frame by itself does not show which of them ran. Once the call is on a line, the
//! constants that are passed there say which. Then what the function calls itself is on lines, too, and may be passed others. A parameter
//! that a function hands on (`f(x, training=training)`) is what it was passed itself.

use profile::HostEventId;
use pysource::flow::{Binding, CallArguments, Callee, Flow, KnownValue, SiteKind};
use pysource::{Function, FunctionKind};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use rustc_hash::FxHashMap;

use crate::align::{Aligner, Assumptions};
use crate::answer::{Answer, CallSites, NO_SITE};
use crate::code::Child;
use crate::definitions::Start;
use crate::facts::is_class_name;
use crate::structure::Structure;

/// How far down constants decide what is called, which passes others.
const MAX_ROUNDS: usize = 4;

/// Frames of a sequence that are answered alike.
pub(crate) struct AnsweredFrames {
    /// As those of [`crate::code::Sequence`].
    pub(crate) frames: Vec<u32>,
    given: Assumptions,
    pub(crate) answer: Answer,
}

/// By code and sequence: its frames in parts, where callers decide something for some of them.
pub(crate) type Parts = FxHashMap<(usize, usize), Vec<AnsweredFrames>>;

/// Where a frame was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct CallPlace {
    /// The code of the frame that called it.
    code: usize,
    /// 0 where it is not known.
    line: u32,
    /// Which call on that line; [`NO_SITE`] where that is not known.
    site: u32,
}

/// The call of a frame.
#[derive(Debug, Clone, Copy)]
struct CallOfFrame {
    place: CallPlace,
    /// The frame that called it.
    frame: u32,
}

/// A call in a text, and whether Python itself passes the first parameter of what it calls.
type CallInText<'a> = (&'a CallArguments, bool);

/// Where frames were called, by the events of these.
struct CallsOfFrames<'a> {
    structure: &'a Structure,
    calls: FxHashMap<HostEventId, Option<CallOfFrame>>,
}

impl<'a> CallsOfFrames<'a> {
    /// Those of `frames`, and of the frames that call these and hand on what they were passed, with what `answers` say.
    fn new(
        structure: &'a Structure,
        frames: impl Iterator<Item = u32>,
        answers: &[Vec<Answer>],
    ) -> Self {
        let mut wanted: Vec<HostEventId> = frames.map(|it| structure.event_of(it)).collect();
        let mut calls = Self { structure, calls: FxHashMap::default() };
        for _ in 0..MAX_ROUNDS {
            if wanted.is_empty() {
                break;
            }
            calls.calls.extend(wanted.into_iter().map(|it| (it, None)));
            for (code, (it, answers)) in structure.codes.iter().zip(answers).enumerate() {
                for (sequence, answer) in it.sequences.iter().zip(answers) {
                    calls.note(code, &sequence.children, &sequence.frames, answer);
                }
            }
            wanted = calls.handing_on();
        }
        calls
    }

    /// What is answered for frames of `code` that had the sequence `children`.
    fn note(&mut self, code: usize, children: &[Child], frames: &[u32], answer: &Answer) {
        for &frame in frames {
            let events = self.structure.events_of(frame);
            let rows = events.iter().zip(children).zip(&answer.lines).zip(&answer.sites);
            for (((event, child), &line), &site) in rows {
                if let Some(call) = self.calls.get_mut(event) {
                    let line = if child.exact == 0 { line } else { child.exact };
                    *call = Some(CallOfFrame { place: CallPlace { code, line, site }, frame });
                }
            }
        }
    }

    /// The calls of frames that hand on what they were passed, as far as they are not known yet.
    fn handing_on(&self) -> Vec<HostEventId> {
        let calls = self.calls.values().flatten();
        let callers = calls.filter(|it| {
            let mut sites = self.sites_of(it.place);
            sites.any(|(_, arguments)| arguments.hands_on())
        });
        let mut events: Vec<_> = callers.map(|it| self.structure.event_of(it.frame)).collect();
        events.retain(|it| !self.calls.contains_key(it));
        events.sort_unstable();
        events.dedup();
        events
    }

    fn of(&self, frame: u32) -> Option<CallOfFrame> {
        let call = self.calls.get(&self.structure.event_of(frame)).copied().flatten();
        call.filter(|it| it.place.line != 0)
    }

    /// The calls in the text that `place` may be.
    fn sites_of(&self, place: CallPlace) -> impl Iterator<Item = (&'a Callee, &'a CallArguments)> {
        let CallPlace { code, line, site } = place;
        let minor = self.structure.python.minor;
        let sites = (0_u32..).zip(&self.structure.codes[code].flow.sites);
        let sites = sites.filter(move |(_, it)| it.line_in(minor) == line);
        let sites = sites.filter(move |(row, _)| site == NO_SITE || *row == site);
        sites.filter_map(|(_, it)| match &it.kind {
            SiteKind::Call { callee, arguments, .. } => Some((callee, arguments)),
            _ => None,
        })
    }

    /// Those of them that call `callee`, as far as it is known.
    fn calls_at(&self, place: CallPlace, callee: usize) -> Vec<CallInText<'a>> {
        let callee = &self.structure.codes[callee];
        let functions = callee.module.functions();
        let function = &functions[callee.flow.function];
        let class = function.parent.map(|it| &functions[it]);
        let class = class.filter(|it| it.kind == FunctionKind::Class);
        let calls = self.sites_of(place);
        calls.filter_map(|(it, arguments)| Some((arguments, binds(function, class, it)?))).collect()
    }

    /// What the frame `frame` of `code` was passed for a parameter, as far as `depth` calls show it.
    fn passed(
        &self,
        frame: u32,
        code: usize,
        parameter: usize,
        depth: usize,
    ) -> Option<KnownValue> {
        let call = self.of(frame).filter(|_| depth > 0)?;
        let of_caller = |row| self.passed(call.frame, call.place.code, row, depth - 1);
        let flow = &self.structure.codes[code].flow;
        let calls = self.calls_at(call.place, code).into_iter();
        let mut values = calls
            .map(|(arguments, is_bound)| flow.passed_by(arguments, parameter, is_bound, of_caller));
        let value = values.next()?;
        value.filter(|it| values.all(|other| other.as_ref() == Some(it)))
    }
}

/// Answers anew for frames whose callers decide what is open in their sequences, and assigns the lines. `answers` are those of all
/// sequences, by code, whose lines `sites` has; `aligner` makes that of a code.
pub(crate) fn answer_by_callers<'a>(
    structure: &'a Structure,
    aligner: impl Fn(usize) -> Aligner<'a> + Sync,
    answers: &[Vec<Answer>],
    sites: &mut CallSites,
) -> Parts {
    let mut parts = Parts::default();
    let open = open_sequences(structure, answers);
    let frames = open.iter().flat_map(|(code, rows)| {
        let sequences = &structure.codes[*code].sequences;
        rows.iter().flat_map(|&row| &sequences[row].frames)
    });
    let mut calls = CallsOfFrames::new(structure, frames.copied(), answers);
    for _ in 0..MAX_ROUNDS {
        let found: Vec<_> = open
            .par_iter()
            .flat_map_iter(|(code, rows)| {
                let (code, parts) = (*code, &parts);
                let mut callee = CalledCode {
                    structure,
                    calls: &calls,
                    code,
                    aligner: aligner(code),
                    answers: &answers[code],
                    known: FxHashMap::default(),
                };
                rows.iter().filter_map(move |&row| {
                    let before = parts.get(&(code, row)).map_or(&[][..], Vec::as_slice);
                    Some(((code, row), callee.answer(row, before)?))
                })
            })
            .collect();
        if found.is_empty() {
            break;
        }
        for ((code, row), answered) in found {
            let children = &structure.codes[code].sequences[row].children;
            for it in &answered {
                structure.assign(&structure.codes[code], &it.frames, &it.answer, sites);
                calls.note(code, children, &it.frames, &it.answer);
            }
            parts.insert((code, row), answered);
        }
    }
    parts
}

/// By code, the sequences with open lines of functions that ask for their parameters.
fn open_sequences(structure: &Structure, answers: &[Vec<Answer>]) -> Vec<(usize, Vec<usize>)> {
    let codes = structure.codes.iter().zip(answers).enumerate();
    let asking = codes.filter(|(_, (code, _))| code.flow.asks_for_parameters());
    let open = asking.map(|(row, (code, answers))| {
        let sequences = code.sequences.iter().zip(answers).enumerate();
        let open = sequences.filter(|(_, (sequence, answer))| {
            sequence.start == Start::Entry && answer.lines.contains(&0)
        });
        (row, open.map(|(row, _)| row).collect::<Vec<_>>())
    });
    open.filter(|(_, rows)| !rows.is_empty()).collect()
}

/// A function, and what its callers pass.
struct CalledCode<'a> {
    structure: &'a Structure,
    calls: &'a CallsOfFrames<'a>,
    /// Which.
    code: usize,
    aligner: Aligner<'a>,
    /// What is answered for its sequences where callers decide nothing.
    answers: &'a [Answer],
    known: FxHashMap<CallPlace, CallsThere<'a>>,
}

/// The calls of a function at one place.
struct CallsThere<'a> {
    calls: Vec<CallInText<'a>>,
    /// What they decide, unless that depends on what the calling frame was passed.
    decided: Option<Assumptions>,
}

impl CalledCode<'_> {
    /// The frames of the sequence in `row`, answered by what their callers decide; `None` if that is no other than `before`.
    fn answer(&mut self, row: usize, before: &[AnsweredFrames]) -> Option<Vec<AnsweredFrames>> {
        let sequence = &self.structure.codes[self.code].sequences[row];
        let groups = self.groups(&sequence.frames);
        let is_undecided = groups.iter().all(|(given, _)| *given == Assumptions::default());
        let known = before.iter().map(|it| (it.given, &it.frames));
        let is_known = known.eq(groups.iter().map(|(given, frames)| (*given, frames)));
        if is_known || (before.is_empty() && is_undecided) {
            return None;
        }
        let mut answer = |given: Assumptions| {
            if given != Assumptions::default() && self.aligner.is_likely(sequence, given) {
                self.aligner.answer(sequence, given)
            } else {
                self.answers[row].clone()
            }
        };
        let answered = groups.into_iter().map(|(given, frames)| AnsweredFrames {
            answer: answer(given),
            frames,
            given,
        });
        Some(answered.collect())
    }

    /// Frames by what their callers decide.
    fn groups(&mut self, frames: &[u32]) -> Vec<(Assumptions, Vec<u32>)> {
        let mut groups: Vec<(Assumptions, Vec<u32>)> = Vec::new();
        for &frame in frames {
            let given = self.given(frame).unwrap_or_default();
            match groups.iter_mut().find(|(it, _)| *it == given) {
                Some((_, frames)) => frames.push(frame),
                None => groups.push((given, vec![frame])),
            }
        }
        groups
    }

    fn given(&mut self, frame: u32) -> Option<Assumptions> {
        let call = self.calls.of(frame)?;
        let flow = &self.structure.codes[self.code].flow;
        let there = self.known.entry(call.place).or_insert_with(|| {
            let calls = self.calls.calls_at(call.place, self.code);
            let is_fixed = calls.iter().all(|(arguments, _)| !arguments.hands_on());
            let decided = is_fixed.then(|| decided(flow, &calls, |_| None));
            CallsThere { calls, decided }
        });
        let of_caller = |row| self.calls.passed(call.frame, call.place.code, row, MAX_ROUNDS);
        Some(there.decided.unwrap_or_else(|| decided(flow, &there.calls, of_caller)))
    }
}

/// What `calls` of a function decide; where it is not known which one it is, what all of them decide alike.
fn decided(
    flow: &Flow,
    calls: &[CallInText<'_>],
    of_caller: impl Fn(usize) -> Option<KnownValue>,
) -> Assumptions {
    let mut decided: Option<Vec<(u32, bool)>> = None;
    for &(arguments, is_bound) in calls {
        let mut here: Vec<_> = flow.decided_by(arguments, is_bound, &of_caller).collect();
        if let Some(before) = decided {
            here.retain(|it| before.contains(it));
        }
        decided = Some(here);
    }
    let decided = decided.unwrap_or_default().into_iter();
    decided.fold(Assumptions::default(), |given, (condition, holds)| given.with(condition, holds))
}

/// Whether Python passes the first parameter of `function` where it is called so; `None` if another function is called, or that is not
/// known.
fn binds(function: &Function, class: Option<&Function>, called: &Callee) -> Option<bool> {
    let name = match &called.binding {
        // It may hold `partial(f, training=False)`.
        Binding::Variable { .. } if called.path.len() == 1 => return None,
        Binding::Imported { name, .. } if called.path.len() == 1 => name,
        _ => called.name()?,
    };
    let Some(class) = class else { return (name == function.name).then_some(false) };
    if function.name == "__init__" && name == class.name {
        return Some(true);
    }
    // `Base.forward(self, x)` passes it; a decorator may be that of a static method.
    let owner = called.path.iter().rev().nth(1);
    let is_of_class = owner.is_some_and(|it| is_class_name(it)) && !called.is_super;
    let is_decorated = function.first_line != function.def_line;
    let is_bound = name == function.name && called.is_method && !is_of_class && !is_decorated;
    is_bound.then_some(true)
}
