//! The passes of training that the own time of a line is divided into.

/// The pass in which an event computes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ComputePass {
    /// The forward pass, or none.
    #[default]
    Forward,
    /// It computes again for the backward pass what the forward pass has computed.
    Recompute,
    /// The backward pass, in compiled code: that is charged to lines of the forward pass. Without a compiler it is charged to the line
    /// that calls `backward`.
    Backward,
}
