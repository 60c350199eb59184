//! Inference of call sites: which line each call and operator came from, where the recording does not say.
//!
//! *Owns*: what a frame's children are (`structure`, `code`, `keys`, `definitions`), what an expression is likely to leave
//! in a recording (`affinity`, `facts`, `costs`), the search for the most likely path (`align`), what the recording at
//! hand teaches (`learn`), what the constants that callers pass decide (`passed`), frames that `torch.compile` wrote
//! (`compiled`) and recordings with times in whole microseconds (`microseconds`).
//!
//! *Never*: charges an amount, reads a file, changes what the recording says exactly.
//!
//! *The tests that say so*: the programs in `tests.rs`; `tests/tests/accuracy` hides the exact evidence of recordings, and
//! compares its `table.txt`; `tests/tests/tidy/` holds the dependency list.
//!
//! # The model
//! For each function a hidden Markov model. Its states are the sites of the function's flow ([`pysource::flow`]): the
//! expressions that can leave an event, with the control flow between them. What is observed is a frame's children in the
//! order in which they were recorded: Python calls, built-ins, operators.
//!
//! - The *emission* of a child at a site says how likely that expression leaves such an event: by names first, then by the
//!   conventions of Python and PyTorch (`affinity::emission`). One site may leave several events in a row
//!   (`affinity::repeat_cost`).
//! - The *transition* between two sites is the shortest path over the sites between, each of which leaves nothing and is
//!   skipped at a cost (`affinity::skip_cost`); an exception, or a branch that is never taken, costs more.
//! - A child may stay *unexplained*: then the path stays where it is, at a high cost.
//!
//! A cost is −4 ln p, rounded, so that costs of what happens one after the other add up ([`Costs`]).
//!
//! The best path is found by the Viterbi algorithm. For each child and site, the cost of the best path up to it (`forward`)
//! and of the best path from it on (`rest`) give the cost of the best path through it. A line is assigned only if every path
//! through another line costs at least [`Costs::min_margin`] more; else the event stays with the function, and the lines
//! that come close are kept as tied candidates.
//!
//! The costs are re-estimated from the recording itself, by hard expectation maximization: each of three rounds aligns all
//! sequences and counts, where the best path is clear, what each site left and how often it was skipped (`learn`); the
//! next round blends the counts with the costs that are set. Each distinct sequence of children is aligned once, and counts
//! as often as it was recorded.
//!
//! # An example
//! ```python
//! def f(x, flag):
//!     a = scale(x)        # 2
//!     if flag:
//!         a = scale(a)    # 4
//!     return scale(a)     # 5
//! ```
//! A frame of `f` has two children, `scale` and `scale`. Each site of the same name emits them at cost 0; skipping a call
//! of a function of the same text costs 12 ([`Costs::skip_defined`]: one in twenty leaves nothing).
//!
//! | paths | skipped | cost |
//! |---|---|---|
//! | 2, 5 | none: the branch is not taken | 0 |
//! | 2, 4 | line 5 | 12 |
//! | 4, 5 | line 2 | 12 |
//!
//! For the first child, the best path through line 2 costs 0 and through line 4 costs 12, more than the margin of 4: it is
//! assigned line 2, and the second one line 5. With three children, all of them are explained at cost 0. Where the `if` had
//! an `else` with another `scale(a)`, two paths of three children would cost the same: the second child would stay with
//! `f`, with lines 4 and 6 as tied candidates. `docs/inference.md` draws this example.

mod affinity;
mod align;
mod answer;
mod c_objects;
mod code;
mod compiled;
mod costs;
mod definitions;
mod facts;
mod generators;
mod keys;
mod learn;
mod microseconds;
mod passed;
mod structure;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use profile::{HostEventId, Profile};
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use recorded::RecordedSources;

use align::{Aligner, Assumptions, Prior};
use answer::Assignment;
use learn::Learned;
use structure::{CallersOfFrames, Structure};

pub use answer::{CallSites, PlaceId, RecordedLine};
pub use costs::Costs;

/// Rounds of aligning and learning. Later rounds change nothing in the recordings at hand.
const ROUNDS: usize = 3;

/// Infers the lines of all calls without an exact caller, and of all outermost operators, whose frame has a source.
///
/// `order` are the host events in order of time ([`recorded::in_order`]). `uses_exact` is false where exact callers must be
/// left out, as when inference is measured against them.
#[must_use]
pub fn infer(
    profile: &Profile,
    sources: &RecordedSources,
    order: &[HostEventId],
    uses_exact: bool,
    costs: &Costs,
) -> CallSites {
    let mut callers = CallersOfFrames::new(profile, uses_exact);
    let structure = Structure::new(profile, sources, order, &mut callers);
    if structure.codes.is_empty() {
        return CallSites::default();
    }
    let assigned = vec![Assignment::NOTHING; profile.host.len()];
    let mut sites = CallSites { assigned, ..CallSites::default() };
    let classes = facts::Classes::new(sources);
    let keys = &structure.keys;
    let priors: Vec<Prior<'_>> = structure
        .codes
        .par_iter()
        .map(|code| Prior::new(code, &classes, keys, structure.python, costs))
        .collect();
    let mut learned = Learned::default();
    for _ in 1..ROUNDS {
        let lessons: Vec<Learned> = priors
            .par_iter()
            .enumerate()
            .map(|(row, prior)| {
                let mut aligner = Aligner::new(prior, keys, &learned, row, costs);
                let mut lesson = Learned::default();
                for sequence in &structure.codes[row].sequences {
                    let aligned = aligner.align(sequence);
                    lesson.add(row, &aligned, sequence, |site| prior.teachers(site));
                }
                lesson
            })
            .collect();
        let before = std::mem::take(&mut learned);
        lessons.into_iter().for_each(|lesson| learned.merge(lesson));
        learned.keep_receivers(before);
    }
    let answers: Vec<Vec<_>> = priors
        .par_iter()
        .enumerate()
        .map(|(row, prior)| {
            let mut aligner = Aligner::new(prior, keys, &learned, row, costs);
            let sequences = structure.codes[row].sequences.iter();
            sequences.map(|it| aligner.answer(it, Assumptions::default())).collect()
        })
        .collect();
    for (code, answers) in structure.codes.iter().zip(&answers) {
        for (sequence, answer) in code.sequences.iter().zip(answers) {
            structure.assign(code, &sequence.frames, answer, &mut sites);
        }
    }
    let aligner = |row: usize| Aligner::new(&priors[row], keys, &learned, row, costs);
    let parts = passed::answer_by_callers(&structure, aligner, &answers, &mut sites);
    for (code, (it, answers)) in structure.codes.iter().zip(&answers).enumerate() {
        for (row, (sequence, answer)) in it.sequences.iter().zip(answers).enumerate() {
            match parts.get(&(code, row)) {
                Some(parts) => parts.iter().for_each(|part| {
                    structure.note_tied(it, part.frames.len(), &part.answer, &mut sites);
                }),
                None => structure.note_tied(it, sequence.frames.len(), answer, &mut sites),
            }
        }
    }
    structure.assign_others(profile, &mut callers, &mut sites);
    sites
}
