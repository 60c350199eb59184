//! Parts of a training step, as far as the frames of an allocation show.

use ledger::Phase;
use profile::{Snapshot, SnapshotFrame};
use recorded::is_python;

/// The phase that the frames of a stack show (innermost first): the innermost sign counts.
pub(super) fn of_stack(snapshot: &Snapshot, frames: &[SnapshotFrame]) -> Phase {
    if let Some(phase) = frames.iter().find_map(|frame| of_frame(snapshot, frame)) {
        return phase;
    }
    // The threads of autograd have no Python frames but those of functions that are written in Python.
    let outermost = frames.iter().rev().find(|frame| is_python(snapshot, frame));
    let file = outermost.map(|frame| snapshot.strings.get(frame.file)).unwrap_or_default();
    if is_in(file, "torch/autograd/function.py") { Phase::Backward } else { Phase::Forward }
}

fn of_frame(snapshot: &Snapshot, frame: &SnapshotFrame) -> Option<Phase> {
    let file = snapshot.strings.get(frame.file);
    let function = snapshot.strings.get(frame.function);
    if is_in(file, "torch/optim/") && !is_in(file, "lr_scheduler.py") {
        return Some(Phase::Optimizer);
    }
    let is_engine = function.starts_with("torch::autograd::Engine::")
        || function == "_engine_run_backward"
        || (function == "backward"
            && (is_in(file, "torch/_tensor.py") || is_in(file, "torch/autograd/__init__.py")));
    is_engine.then_some(Phase::Backward)
}

fn is_in(file: &str, part: &str) -> bool {
    file.contains(part) || (file.contains('\\') && file.replace('\\', "/").contains(part))
}
