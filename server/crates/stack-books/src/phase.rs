//! The phases of training, by what is on a stack.

use crate::books::StackFrame;

/// A phase of training. Of several on a stack the outermost counts: what is recomputed in the backward pass is of it, and what a
/// closure of the optimizer runs is of the optimizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrainingPhase {
    /// In a call of a module of the model.
    Forward,
    /// In the backward pass: below a node of autograd, or a call of `backward`.
    Backward,
    /// In the code of an optimizer of PyTorch: steps, setting gradients to zero.
    Optimizer,
    /// In a data loader of PyTorch.
    Loader,
}

impl TrainingPhase {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Forward, Self::Backward, Self::Optimizer, Self::Loader];

    /// Stable name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Optimizer => "optimizer",
            Self::Loader => "loader",
        }
    }

    /// The phase that begins with an entry of a stack.
    #[must_use]
    pub fn beginning_at(frame: &StackFrame) -> Option<Self> {
        if let Some((name, _)) = frame.operator() {
            return name.starts_with(BACKWARD_NODE).then_some(Self::Backward);
        }
        let StackFrame::Line(line) = frame else { return None };
        let path = line.key.file.replace('\\', "/");
        let is_in = |part: &str| path.contains(part);
        PLACES.iter().find(|(part, _)| is_in(part)).map(|(_, phase)| *phase)
    }
}

/// What the ranges of autograd's nodes are called (`torch/csrc/autograd/engine.cpp`).
const BACKWARD_NODE: &str = "autograd::engine::evaluate_function";

/// Files of PyTorch whose functions begin a phase, wherever PyTorch is installed.
const PLACES: [(&str, TrainingPhase); 4] = [
    ("torch/nn/modules/module.py", TrainingPhase::Forward),
    ("torch/autograd/", TrainingPhase::Backward),
    ("torch/optim/", TrainingPhase::Optimizer),
    ("torch/utils/data/", TrainingPhase::Loader),
];
