//! The phases of training, by what is on a stack.

use std::str::FromStr;

use ledger::Phase;

use crate::books::StackFrame;

/// A phase of training. Of several on a stack the outermost counts, so that what a closure of the optimizer runs is of the
/// optimizer; but what `torch.utils.checkpoint` computes again in the backward pass is a phase of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrainingPhase {
    /// In a call of a module of the model.
    Forward,
    /// In the backward pass: below a node of autograd, or a call of `backward`.
    Backward,
    /// In what `torch.utils.checkpoint` computes again for the backward pass.
    Recompute,
    /// In the code of an optimizer of PyTorch: steps, setting gradients to zero.
    Optimizer,
    /// In a data loader of PyTorch.
    Loader,
}

impl TrainingPhase {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Forward, Self::Backward, Self::Recompute, Self::Optimizer, Self::Loader];

    /// Stable name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Recompute => "recompute",
            Self::Optimizer => "optimizer",
            Self::Loader => "loader",
        }
    }

    /// The phase that begins with an entry of a stack.
    #[must_use]
    pub fn beginning_at(frame: &StackFrame) -> Option<Self> {
        if let Some((name, _)) = frame.operator() {
            return is_backward_node(name).then_some(Self::Backward);
        }
        let StackFrame::Line(line) = frame else { return None };
        Self::of_code(&line.key.file, &line.function)
    }

    /// The phase that begins in a function of PyTorch, wherever PyTorch is installed: by its file, and its name, which may be
    /// qualified.
    #[must_use]
    pub fn of_code(file: &str, function: &str) -> Option<Self> {
        let is_in = |part: &str| {
            file.contains(part) || (file.contains('\\') && file.replace('\\', "/").contains(part))
        };
        let function = function.rsplit('.').next().unwrap_or(function);
        if recomputes(file, function) {
            return Some(Self::Recompute);
        }
        // Schedulers of learning rates wrap `step`, whose own frame follows.
        if is_in("torch/optim/") && !is_in("lr_scheduler.py") {
            return Some(Self::Optimizer);
        }
        // Of the files of autograd most are for the forward pass: `no_grad`, functions of one's own.
        let is_backward = match function {
            "backward" => is_in("torch/_tensor.py") || is_in("torch/autograd/__init__.py"),
            "grad" => is_in("torch/autograd/__init__.py"),
            "_engine_run_backward" => true,
            _ => false,
        };
        if is_backward {
            return Some(Self::Backward);
        }
        // PyTorch before 2.0 records the call of a module in place of this function, which then has no name.
        let calls_module =
            matches!(function, "" | "_call_impl" | "_wrapped_call_impl" | "__call__")
                && is_in("torch/nn/modules/module.py");
        if calls_module {
            return Some(Self::Forward);
        }
        is_in("torch/utils/data/").then_some(Self::Loader)
    }

    /// The part of a training step that memory is allocated in; `None` of what is no sign of one: the forward pass is what is neither of
    /// the others.
    #[must_use]
    pub fn of_step(self) -> Option<Phase> {
        match self {
            Self::Optimizer => Some(Phase::Optimizer),
            Self::Backward | Self::Recompute => Some(Phase::Backward),
            Self::Forward | Self::Loader => None,
        }
    }

    /// Whether an entry of a stack is a node of autograd that computes again, and then runs the backward pass of that.
    #[must_use]
    pub(crate) fn is_checkpoint_node(frame: &StackFrame) -> bool {
        let StackFrame::Line(line) = frame else { return false };
        Self::beginning_at(frame) == Some(Self::Recompute) && line.function.ends_with("backward")
    }
}

impl FromStr for TrainingPhase {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|it| it.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("unknown phase `{name}`, expected one of: {names}")
        })
    }
}

/// The file of activation checkpointing. Until PyTorch 2.0 its hook `unpack` computes again, since then `recompute_fn`, and
/// where it re-enters autograd, `backward`.
const CHECKPOINT: &str = "torch/utils/checkpoint.py";

/// Whether a file is that of activation checkpointing, wherever PyTorch is installed.
#[must_use]
pub fn is_checkpoint_file(path: &str) -> bool {
    path.ends_with(CHECKPOINT)
        || (path.contains('\\') && path.replace('\\', "/").ends_with(CHECKPOINT))
}

/// Whether a function of a file computes again what the forward pass has computed.
#[must_use]
pub fn recomputes(file: &str, function: &str) -> bool {
    matches!(function, "recompute_fn" | "unpack" | "backward") && is_checkpoint_file(file)
}

/// Whether an operator is a node of autograd, of the backward pass.
#[must_use]
pub fn is_backward_node(operator: &str) -> bool {
    operator.starts_with(BACKWARD_NODE)
}

/// What the ranges of autograd's nodes are called (`torch/csrc/autograd/engine.cpp`).
const BACKWARD_NODE: &str = "autograd::engine::evaluate_function";
