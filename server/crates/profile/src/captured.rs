//! What the kernels of a CUDA graph were captured by: joined from a trace of the capture, or from a file of stacks by node.

use std::collections::BTreeMap;

use crate::{DeviceEventId, Interner, OriginFrame};

/// How well a line of a captured stack is known, as in the trace that it comes from; best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CapturedEvidence {
    /// It is recorded.
    Exact,
    /// It was worked out from the source, or from the order of several graphs that are alike.
    Inferred,
    /// Only the function is known; the line is the one where it is defined.
    Function,
}

/// An entry of a captured stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CapturedLine {
    /// One part with one frame; of a kernel that was fused from several lines, a part for each, outermost frame first.
    pub parts: Vec<Vec<OriginFrame>>,
    /// How it is known.
    pub evidence: CapturedEvidence,
}

/// The stacks of lines that the launches of replayed kernels were captured with.
#[derive(Debug, Default)]
pub struct CapturedStacks {
    /// One more than the number in [`Self::stacks`] by device event, 0 where it is not known. Empty where nothing was joined.
    pub of_event: Vec<u32>,
    /// The distinct stacks, outermost line first, without what was around the capture.
    pub stacks: Vec<Vec<CapturedLine>>,
    /// By stack, whether it begins where the program does rather than where the capture began.
    pub are_whole: Vec<bool>,
}

/// The Python stacks with which the nodes of CUDA graphs were created, from a file beside a trace.
#[derive(Debug, Default)]
pub struct NodeStacks {
    /// The text of every path and function.
    pub strings: Interner,
    /// The stack of each node, outermost frame first, with the lines that were executing; by the id of the node, in whose upper
    /// half the id of the graph may be.
    pub by_node: BTreeMap<u64, Vec<OriginFrame>>,
}

impl CapturedStacks {
    /// The number of the stack that the launch of `event` was captured with.
    #[must_use]
    pub fn number(&self, event: DeviceEventId) -> Option<usize> {
        let number = self.of_event.get(event.index()).copied().unwrap_or(0);
        (number as usize).checked_sub(1)
    }

    /// All frames of all stacks.
    pub fn frames(&self) -> impl Iterator<Item = &OriginFrame> {
        let lines = self.stacks.iter().flatten();
        lines.flat_map(|it| it.parts.iter().flatten())
    }
}
