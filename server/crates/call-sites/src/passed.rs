//! Conditions that the caller decides: `f(x, training=False)` is called where `f` asks `if training:`.
//!
//! Two branches may leave the same events, so that a frame by itself does not show which of them ran. Once the call is on a line, the
//! constants that are passed there say which. Then what the function calls itself is on lines, too, and may be passed others.

use profile::HostEventId;
use pysource::flow::{Binding, Callee, SiteKind};
use pysource::{Function, FunctionKind};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::align::{Aligner, Assumptions};
use crate::answer::{Answer, CallSites};
use crate::code::FunctionCode;
use crate::definitions::Start;
use crate::facts::is_class_name;
use crate::structure::{CallOfFrame, Structure};

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
    let events: FxHashSet<HostEventId> = frames.map(|&it| structure.event_of(it)).collect();
    let calls = structure.calls_of(&events);
    for _ in 0..MAX_ROUNDS {
        let found: Vec<_> = open
            .par_iter()
            .flat_map_iter(|(code, rows)| {
                let mut constants = PassedConstants {
                    structure,
                    calls: &calls,
                    sites: &*sites,
                    code: *code,
                    known: FxHashMap::default(),
                };
                let mut aligner = aligner(*code);
                let parts = &parts;
                rows.iter().filter_map(move |&row| {
                    let groups = constants.groups(&structure.codes[*code].sequences[row].frames);
                    let before: Option<&Vec<AnsweredFrames>> = parts.get(&(*code, row));
                    let is_known = match before {
                        Some(before) => before
                            .iter()
                            .map(|it| (it.given, &it.frames))
                            .eq(groups.iter().map(|(given, frames)| (*given, frames))),
                        None => groups.iter().all(|(given, _)| *given == Assumptions::default()),
                    };
                    if is_known {
                        return None;
                    }
                    let sequence = &structure.codes[*code].sequences[row];
                    let answered = groups.into_iter().map(|(given, frames)| {
                        let is_likely =
                            given != Assumptions::default() && aligner.is_likely(sequence, given);
                        let answer = match is_likely {
                            true => aligner.answer(sequence, given),
                            false => answers[*code][row].clone(),
                        };
                        AnsweredFrames { frames, given, answer }
                    });
                    Some(((*code, row), answered.collect::<Vec<_>>()))
                })
            })
            .collect();
        if found.is_empty() {
            break;
        }
        for ((code, row), answered) in found {
            for it in &answered {
                structure.assign(&structure.codes[code], &it.frames, &it.answer, sites);
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

/// What callers pass to the frames of a function.
struct PassedConstants<'a> {
    structure: &'a Structure,
    calls: &'a FxHashMap<HostEventId, CallOfFrame>,
    sites: &'a CallSites,
    /// The code of the function.
    code: usize,
    /// By the code of the caller, and the line of the call.
    known: FxHashMap<(usize, u32), Assumptions>,
}

impl PassedConstants<'_> {
    /// Frames by what their callers decide.
    fn groups(&mut self, frames: &[u32]) -> Vec<(Assumptions, Vec<u32>)> {
        let mut groups: Vec<(Assumptions, Vec<u32>)> = Vec::new();
        for &frame in frames {
            let given = self.given(self.structure.event_of(frame)).unwrap_or_default();
            match groups.iter_mut().find(|(it, _)| *it == given) {
                Some((_, frames)) => frames.push(frame),
                None => groups.push((given, vec![frame])),
            }
        }
        groups
    }

    fn given(&mut self, frame: HostEventId) -> Option<Assumptions> {
        let call = self.calls.get(&frame)?;
        let line = match call.exact {
            0 => self.sites.inferred_line(frame)?,
            exact => exact,
        };
        let (structure, code) = (self.structure, self.code);
        let find = || {
            let minor = structure.python.minor;
            decided(&structure.codes[call.code], line, &structure.codes[code], minor)
        };
        Some(*self.known.entry((call.code, line)).or_insert_with(find))
    }
}

/// What the calls of `callee` on a line of `caller` decide, as far as they agree.
fn decided(caller: &FunctionCode, line: u32, callee: &FunctionCode, minor: u8) -> Assumptions {
    let functions = callee.module.functions();
    let function = &functions[callee.flow.function];
    let class = function.parent.map(|it| &functions[it]);
    let class = class.filter(|it| it.kind == FunctionKind::Class);
    let mut decided: Option<Vec<(u32, bool)>> = None;
    for site in caller.flow.sites.iter().filter(|it| it.line_in(minor) == line) {
        let SiteKind::Call { callee: called, arguments, .. } = &site.kind else { continue };
        let Some(is_bound) = binds(function, class, called) else { continue };
        let mut here: Vec<_> = callee.flow.decided_by(arguments, is_bound).collect();
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
        Binding::Imported { name } if called.path.len() == 1 => name,
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
