//! The tables of an exported memory timeline (`export_memory_timeline`).

use crate::{Bytes, Ns};

/// Bytes of one device in use over time, by category.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct MemoryTimeline {
    /// When, in nanoseconds since the epoch of the recording; rising. What was there before has the first time.
    pub at: Vec<Ns>,
    /// Bytes in use from then on, in the order of PyTorch's categories: parameter, optimizer state, input, temporary,
    /// activation, gradient, autograd detail, and what has none.
    pub bytes: Vec<[Bytes; 8]>,
}
