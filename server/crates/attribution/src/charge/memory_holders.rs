//! Who allocates and releases memory: the line of each memory event, and the part of the step.

use std::iter::successors;

use device_memory::{Holder, HolderPhase};
use ledger::Phase;
use line_stacks::{LineId, Node, function, line_key};
use profile::{HostEventId, HostKind};
use rustc_hash::FxHashMap;
use stack_books::{TrainingPhase, is_backward_node};

use super::stacks::StackSources;

/// The distinct holders, and by memory event, in their order, its row of them.
pub(crate) fn memory_holders(from: &StackSources<'_>) -> (Vec<Holder>, Vec<u32>) {
    let (mut holders, mut rows) = (Vec::new(), FxHashMap::default());
    let mut phases: FxHashMap<Node, Option<Phase>> = FxHashMap::default();
    let innermost = from.events.memory_stacks.iter().zip(&from.by_event.memory);
    let holder_of = innermost.map(|(&node, &event)| {
        let of_lines = *phases.entry(node).or_insert_with(|| phase_of_lines(from, node));
        let phase = of_lines.unwrap_or_else(|| phase_of_operators(from, event));
        let line = first_of(from, from.events.stacks.charged_line(node));
        *rows.entry((line, phase)).or_insert_with(|| {
            let lines = &from.events.stacks.lines;
            let line =
                line.get().map(|line| (line_key(lines, line), function(lines, from.sources, line)));
            holders.push(Holder { line, phase: HolderPhase::In(phase) });
            u32::try_from(holders.len() - 1).unwrap_or(u32::MAX)
        })
    });
    let holder_of = holder_of.collect();
    (holders, holder_of)
}

/// Of a line that stands for several, the first.
fn first_of(from: &StackSources<'_>, line: LineId) -> LineId {
    let parts = from.events.stacks.lines.parts(line);
    parts.and_then(|it| it.first()?.last().copied()).unwrap_or(line)
}

/// The phase that the lines of a stack show: the innermost sign counts, as in snapshots.
fn phase_of_lines(from: &StackSources<'_>, node: Node) -> Option<Phase> {
    let stacks = &from.events.stacks;
    let outwards = successors(Some(node), |it| Some(stacks.parent(*it)));
    let phase = |line: LineId| {
        let file = &stacks.lines.files[stacks.lines.file_of(line).0 as usize];
        match TrainingPhase::of_code(&file.recorded, stacks.lines.function(line))? {
            TrainingPhase::Optimizer => Some(Phase::Optimizer),
            TrainingPhase::Backward | TrainingPhase::Recompute => Some(Phase::Backward),
            TrainingPhase::Forward | TrainingPhase::Loader => None,
        }
    };
    let lines = outwards.take_while(|it| !it.is_empty()).map(|it| stacks.line(it));
    lines.map(|it| first_of(from, it)).find_map(phase)
}

/// The backward pass below a node of autograd, else the forward pass.
fn phase_of_operators(from: &StackSources<'_>, event: HostEventId) -> Phase {
    let host = &from.profile.host;
    let around = successors(event.get(), |it| from.by_event.below[it.index()].get());
    let mut operators = around.filter(|it| host.kind[it.index()] == HostKind::Operator);
    let is_backward =
        operators.any(|it| is_backward_node(from.profile.strings.get(host.name[it.index()])));
    if is_backward { Phase::Backward } else { Phase::Forward }
}
