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
use profile::{HostEventId, Profile};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::Sources;
use crate::names::Names;
use crate::stacks::{LineId, Lines};

pub(crate) use compiled::is_range;

/// Rounds of aligning and learning. Later rounds change nothing in the recordings at hand.
const ROUNDS: usize = 3;

/// Inferred lines by host event; [`LineId::NONE`] where the recording says, or nothing can be said.
#[derive(Debug, Default)]
pub(crate) struct Inferred {
    line: Vec<LineId>,
    /// The events whose line is only that of the function's definition, because no stack shows that function.
    function: FxHashSet<HostEventId>,
    /// By the line of a function's definition: how many events several of its lines explain equally well, by those.
    pub(crate) readings: FxHashMap<LineId, BTreeMap<Vec<u32>, u64>>,
}

impl Inferred {
    /// The line that made the call, or ran the operator, `event`, and how it is known.
    pub(crate) fn line(&self, event: HostEventId) -> Option<(LineId, Evidence)> {
        let line = self.line.get(event.index()).and_then(|line| line.get())?;
        let is_function = self.function.contains(&event);
        Some((line, if is_function { Evidence::Function } else { Evidence::Inferred }))
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
    let line = vec![LineId::NONE; profile.host.len()];
    let mut inferred = Inferred { line, ..Inferred::default() };
    let classes = facts::Classes::new(sources);
    let mut learned = learn::Learned::default();
    for round in 0..ROUNDS {
        let is_last = round + 1 == ROUNDS;
        let mut next = learn::Learned::default();
        for (code_index, code) in structure.codes.iter().enumerate() {
            let mut aligner = align::Aligner::new(code, &structure, &learned, code_index, &classes);
            for sequence in &code.sequences {
                let aligned = aligner.align(sequence);
                next.add(code_index, &aligner, sequence, &aligned);
                if is_last {
                    structure.tell(code, sequence, &aligned, lines, &mut inferred);
                }
            }
        }
        learned = next;
    }
    structure.tell_others(profile, names, lines, &mut inferred);
    inferred
}
