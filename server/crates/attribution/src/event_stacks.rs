//! The line stack of every event: what the timeline pass finds, and all charging goes by.

use ledger::Evidence;
use line_stacks::{LineId, Lines, Node, Stacks};
use profile::{HostEventId, HostKind, PlaceInFrame, Profile};
use recorded::Frame;

use crate::compute_pass::ComputePass;
use crate::names::Names;

/// Where an event came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventLine {
    /// A Python call or an outermost operator.
    pub event: HostEventId,
    /// Key of the file in the ledger.
    pub file: String,
    /// 1-based line.
    pub line: u32,
    /// How the line is known.
    pub evidence: Evidence,
}

/// Where events are.
pub(crate) struct EventStacks<'a> {
    pub(crate) names: Names<'a>,
    pub(crate) stacks: Stacks,
    /// All host events in the order of `docs/accounting.md`.
    pub(crate) order: Vec<HostEventId>,
    /// The line stack of each host event.
    pub(crate) stack_of: Vec<Node>,
    /// The outermost operator around each host event (itself, if it is one) and inside the innermost Python event.
    /// Empty without device events.
    pub(crate) operator: Vec<HostEventId>,
    /// By host event, the pass in which it computes; shorter where the rest is of the forward pass.
    pub(crate) passes: Vec<ComputePass>,
    /// One more than the row in `backward_nodes` of the node that each host event runs in, or 0.
    pub(crate) backward_node: Vec<u32>,
    /// Backward nodes in order.
    pub(crate) backward_nodes: Vec<HostEventId>,
    /// The line stack of each memory event, in their order.
    pub(crate) memory_stacks: Vec<Node>,
}

/// The line of a place in a frame whose function is defined on the line `definition`, or `None` where it is not known.
pub(crate) fn line_in_frame(
    place: PlaceInFrame,
    definition: LineId,
    lines: &mut Lines,
) -> Option<LineId> {
    match place {
        PlaceInFrame::Unknown => None,
        PlaceInFrame::Definition => Some(definition),
        PlaceInFrame::Line(number) => Some(lines.line(lines.file_of(definition), number)),
    }
}

impl EventStacks<'_> {
    /// The outermost operator around `event` inside the innermost Python event; none in recordings without devices.
    pub(crate) fn operator_around(&self, event: HostEventId) -> Option<HostEventId> {
        self.operator.get(event.index()).and_then(|operator| operator.get())
    }

    /// The pass in which a host event computes.
    pub(crate) fn pass(&self, event: HostEventId) -> ComputePass {
        self.passes.get(event.index()).copied().unwrap_or_default()
    }

    /// The line that amounts of a host event are charged to, or [`LineId::NONE`].
    pub(crate) fn charged_line(&self, event: HostEventId) -> LineId {
        self.stacks.charged_line(self.stack_of[event.index()])
    }

    /// The line that made each Python call and ran each outermost operator.
    pub(crate) fn event_lines(&self, profile: &Profile) -> Vec<EventLine> {
        let host = &profile.host;
        let mut found = Vec::new();
        for &event in &self.order {
            let stack = self.stack_of[event.index()];
            let node = match host.kind[event.index()] {
                HostKind::Python
                    if Frame::parse(profile.strings.get(host.name[event.index()])).is_some() =>
                {
                    self.stacks.parent(stack)
                }
                HostKind::Python | HostKind::Operator => stack,
                HostKind::Annotation | HostKind::Runtime => continue,
            };
            if let Some(line) = self.stacks.line(node).get() {
                let lines = &self.stacks.lines;
                let file = lines.files[lines.file_of(line).0 as usize].key.clone();
                let evidence = self.stacks.evidence(node);
                found.push(EventLine { event, file, line: lines.number(line), evidence });
            }
        }
        found
    }
}
