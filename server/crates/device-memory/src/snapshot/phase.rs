//! Parts of a training step, as far as the frames of an allocation show.

use ledger::Phase;
use profile::{Snapshot, SnapshotFrame};
use recorded::is_python;
use stack_books::{TrainingPhase, is_checkpoint_file};

/// The phase that the frames of a stack show (innermost first): the innermost sign counts.
pub(super) fn of_stack(snapshot: &Snapshot, frames: &[SnapshotFrame]) -> Phase {
    if let Some(phase) = frames.iter().find_map(|frame| of_frame(snapshot, frame)) {
        return phase;
    }
    // The threads of autograd have no Python frames but those of functions that are written in Python.
    let outermost = frames.iter().rev().find(|frame| is_python(snapshot, frame));
    let file = outermost.map(|frame| snapshot.strings.get(frame.file)).unwrap_or_default();
    let is_own_function = file.replace('\\', "/").contains("torch/autograd/function.py");
    if is_own_function { Phase::Backward } else { Phase::Forward }
}

/// Whether a stack is below activation checkpointing.
pub(super) fn is_checkpointed(snapshot: &Snapshot, frames: &[SnapshotFrame]) -> bool {
    frames.iter().any(|frame| is_checkpoint_file(snapshot.strings.get(frame.file)))
}

fn of_frame(snapshot: &Snapshot, frame: &SnapshotFrame) -> Option<Phase> {
    let file = snapshot.strings.get(frame.file);
    let function = snapshot.strings.get(frame.function);
    let of_code = TrainingPhase::of_code(file, function).and_then(TrainingPhase::of_step);
    of_code.or_else(|| function.starts_with("torch::autograd::Engine::").then_some(Phase::Backward))
}
