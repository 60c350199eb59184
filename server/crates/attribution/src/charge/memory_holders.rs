//! Who allocates and releases memory: the line of each memory event, and the part of the step.

use std::iter::successors;

use device_memory::{Holder, HolderPhase, MemoryHolders};
use ledger::Phase;
use line_stacks::{LineId, Node, function, line_key};
use profile::{HostEventId, HostKind};
use rustc_hash::FxHashMap;
use stack_books::{TrainingPhase, is_backward_node};

use super::stacks::StackSources;

/// Who acts in each memory event, in their order.
pub(crate) fn memory_holders(from: &StackSources<'_>) -> MemoryHolders {
    let mut found = MemoryHolders::default();
    let (mut rows, mut groups) = (FxHashMap::default(), FxHashMap::default());
    let mut phases: FxHashMap<Node, Option<Phase>> = FxHashMap::default();
    let lines = &from.events.stacks.lines;
    for (&node, &event) in from.events.memory_stacks.iter().zip(&from.by_event.memory) {
        let of_lines = *phases.entry(node).or_insert_with(|| phase_of_lines(from, node));
        let phase = of_lines.unwrap_or_else(|| phase_of_operators(from, event));
        let charged = from.events.stacks.charged_line(node);
        let mut row_of = |line: LineId| {
            *rows.entry((line, phase)).or_insert_with(|| {
                let line = line
                    .get()
                    .map(|line| (line_key(lines, line), function(lines, from.sources, line)));
                found.holders.push(Holder { line, phase: HolderPhase::In(phase) });
                last_row(&found.holders)
            })
        };
        let group = *groups.entry((charged, phase)).or_insert_with(|| {
            // As the ledger divides what is on a line that stands for several.
            found.groups.push(lines.own_lines(charged).map(&mut row_of).collect());
            last_row(&found.groups)
        });
        found.of_event.push(group);
    }
    found
}

fn last_row<T>(rows: &[T]) -> u32 {
    u32::try_from(rows.len().saturating_sub(1)).unwrap_or(u32::MAX)
}

/// Of a line that stands for several, the first.
fn first_of(from: &StackSources<'_>, line: LineId) -> LineId {
    let parts = from.events.stacks.lines.parts(line);
    parts.and_then(|it| it.first()?.last().copied()).unwrap_or(line)
}

/// The phase that the lines of a stack show: the innermost sign counts, as in snapshots.
fn phase_of_lines(from: &StackSources<'_>, node: Node) -> Option<Phase> {
    let stacks = &from.events.stacks;
    let phase = |line: LineId| {
        let file = &stacks.lines.files[stacks.lines.file_of(line).0 as usize];
        TrainingPhase::of_code(&file.recorded, stacks.lines.function(line))?.of_step()
    };
    let lines = stacks.outwards(node).map(|it| stacks.line(it));
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
