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
mod definitions;
mod facts;
mod keys;
mod learn;
mod structure;

use profile::{HostEventId, Profile};

use crate::Sources;
use crate::names::Names;
use crate::stacks::{LineId, Lines};

/// Rounds of aligning and learning. Later rounds change nothing in the recordings at hand.
const ROUNDS: usize = 3;

/// Inferred lines by host event; [`LineId::NONE`] where the recording says, or nothing can be said.
pub(crate) struct Inferred {
    line: Vec<LineId>,
}

impl Inferred {
    /// The line that made the call, or ran the operator, `event`.
    pub(crate) fn line(&self, event: HostEventId) -> Option<LineId> {
        self.line.get(event.index()).and_then(|line| line.get())
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
    let mut inferred = Inferred {
        line: vec![LineId::NONE; if structure.codes.is_empty() { 0 } else { profile.host.len() }],
    };
    let mut learned = learn::Learned::default();
    for round in 0..ROUNDS {
        let is_last = round + 1 == ROUNDS;
        let mut next = learn::Learned::default();
        for (code_index, code) in structure.codes.iter().enumerate() {
            let mut aligner =
                align::Aligner::new(code, &structure.keys, &learned, code_index, structure.python);
            for sequence in &code.sequences {
                let aligned = aligner.align(sequence);
                next.add(code_index, &aligner, sequence, &aligned);
                if is_last {
                    structure.tell(code, sequence, &aligned, lines, &mut inferred.line);
                }
            }
        }
        learned = next;
    }
    inferred
}
