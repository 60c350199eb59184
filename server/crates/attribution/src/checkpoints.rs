//! Activation checkpointing: the frames of PyTorch in which the forward pass is computed again.

use recorded::Frame;
use stack_books::recomputes;

use crate::compute_pass::ComputePass;

/// What a frame does in `torch.utils.checkpoint`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum CheckpointFrame {
    /// Nothing.
    #[default]
    Other,
    /// It computes again what saved tensors were, while a node of the backward pass runs (`use_reentrant=False`).
    Recompute,
    /// It is a node of the backward pass: it computes again, and runs a backward pass of its own (`use_reentrant=True`).
    Backward,
    /// It runs a backward pass.
    Autograd,
}

impl CheckpointFrame {
    /// By the file and the function of a frame.
    pub(crate) fn of(frame: Frame<'_>) -> Self {
        match frame.function {
            "backward" if recomputes(frame.file, frame.function) => Self::Backward,
            _ if recomputes(frame.file, frame.function) => Self::Recompute,
            "backward" if is_autograd_file(frame.file) => Self::Autograd,
            _ => Self::Other,
        }
    }

    /// The pass of what is in the frame, given the frame that called it and the pass of that.
    pub(crate) fn pass(self, caller: Self, of_caller: ComputePass) -> ComputePass {
        match (self, caller) {
            (Self::Recompute | Self::Backward, _) => ComputePass::Recompute,
            (Self::Autograd, Self::Backward) => ComputePass::Forward,
            _ => of_caller,
        }
    }
}

fn is_autograd_file(path: &str) -> bool {
    path.replace('\\', "/").ends_with("torch/autograd/__init__.py")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_known_by_file_and_function() {
        for (name, expected) in [
            ("torch/utils/checkpoint.py(1988): recompute_fn", CheckpointFrame::Recompute),
            ("torch/utils/checkpoint.py(1351): unpack_hook", CheckpointFrame::Other),
            ("torch/utils/checkpoint.py(383): unpack", CheckpointFrame::Recompute),
            (
                r"C:\venv\Lib\site-packages\torch\utils\checkpoint.py(284): backward",
                CheckpointFrame::Backward,
            ),
            ("torch/autograd/__init__.py(255): backward", CheckpointFrame::Autograd),
            ("torch/_tensor.py(566): backward", CheckpointFrame::Other),
            ("checkpoint.py(12): recompute_fn", CheckpointFrame::Other),
        ] {
            assert_eq!(Frame::parse(name).map(CheckpointFrame::of), Some(expected), "{name}");
        }
    }
}
