//! Call-site inference: which line each call and operator came from, where the recording does not say.
//!
//! The source is at hand, so a frame's children, in the order in which they were recorded, must be a path through the
//! frame's control flow (`pysource::flow`). For every distinct sequence of children of a function, the path that
//! explains it at the least cost is found by dynamic programming (`align`); what an expression is likely to leave is
//! told by names and by Python's and PyTorch's conventions (`affinity`), and learned over the whole recording: which
//! site leads to which callee is the same in every iteration (`learn`). A line is only told where every other line
//! would cost clearly more.

mod affinity;
mod align;
mod coarse;
mod compiled;
mod definitions;
mod facts;
mod keys;
mod learn;
mod structure;

use std::collections::BTreeMap;

use ledger::Evidence;
use line_stacks::{LineId, Lines};
use profile::{HostEventId, Profile};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use rustc_hash::FxHashMap;

use crate::names::Names;
use recorded::Sources;

/// Rounds of aligning and learning. Later rounds change nothing in the recordings at hand.
const ROUNDS: usize = 3;

/// What is told of an event: the line that it came from, and whether that is only its function's definition, because no
/// stack shows that function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Told(u32);

impl Told {
    /// The recording says, or nothing can be said.
    const NOTHING: Self = Self(u32::MAX);
    /// Set in lines that are only those of a definition.
    const FUNCTION: u32 = 1 << 31;

    fn inferred(line: LineId) -> Self {
        Self(line.0)
    }

    fn function(line: LineId) -> Self {
        Self(line.0 | Self::FUNCTION)
    }

    fn line(self) -> Option<(LineId, Evidence)> {
        let is_function = self.0 & Self::FUNCTION != 0;
        (self != Self::NOTHING).then_some((
            LineId(self.0 & !Self::FUNCTION),
            if is_function { Evidence::Function } else { Evidence::Inferred },
        ))
    }

    /// The same about another line.
    fn of_line(self, line: LineId) -> Self {
        match self.line() {
            Some((_, Evidence::Function)) => Self::function(line),
            _ => Self::inferred(line),
        }
    }
}

/// Inferred lines by host event.
#[derive(Debug, Default)]
pub(crate) struct Inferred {
    told: Vec<Told>,
    /// By the line of a function's definition: how many events several of its lines explain equally well, by those.
    pub(crate) readings: FxHashMap<LineId, BTreeMap<Vec<u32>, u64>>,
}

impl Inferred {
    /// The line that made the call, or ran the operator, `event`, and how it is known.
    pub(crate) fn line(&self, event: HostEventId) -> Option<(LineId, Evidence)> {
        self.told.get(event.index())?.line()
    }
}

/// Infers the lines of all calls without an exact caller, and of all outermost operators, whose frame has a source.
pub(crate) fn infer(
    profile: &Profile,
    sources: &Sources,
    names: &mut Names<'_>,
    lines: &mut Lines,
    order: &[HostEventId],
) -> Inferred {
    let structure = structure::Structure::new(profile, sources, names, lines, order);
    if structure.codes.is_empty() {
        return Inferred::default();
    }
    let told = vec![Told::NOTHING; profile.host.len()];
    let mut inferred = Inferred { told, ..Inferred::default() };
    let classes = facts::Classes::new(sources);
    let mut learned = learn::Learned::default();
    let codes: Vec<usize> = (0..structure.codes.len()).collect();
    for _ in 1..ROUNDS {
        let lessons: Vec<_> = codes
            .par_iter()
            .map(|&code_index| {
                let code = &structure.codes[code_index];
                let mut aligner =
                    align::Aligner::new(code, &structure, &learned, code_index, &classes);
                let mut lesson = learn::Learned::default();
                for sequence in &code.sequences {
                    lesson.add(code_index, &aligner.align(sequence), sequence, &aligner);
                }
                lesson
            })
            .collect();
        learned = learn::Learned::default();
        lessons.into_iter().for_each(|lesson| learned.merge(lesson));
    }
    let aligned: Vec<_> = codes
        .par_iter()
        .map(|&code_index| {
            let code = &structure.codes[code_index];
            let mut aligner = align::Aligner::new(code, &structure, &learned, code_index, &classes);
            code.sequences.iter().map(|it| aligner.align(it).told()).collect::<Vec<_>>()
        })
        .collect();
    for (code, aligned) in structure.codes.iter().zip(&aligned) {
        for (sequence, aligned) in code.sequences.iter().zip(aligned) {
            structure.tell(code, sequence, aligned, lines, &mut inferred);
        }
    }
    structure.tell_others(profile, names, lines, &mut inferred);
    inferred
}
