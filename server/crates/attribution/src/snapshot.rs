//! Memory snapshots to the ledger: every frame of a snapshot carries the line that was executing.

use ledger::{Evidence, Ledger, Metric, Reason};
use profile::{Snapshot, SnapshotAction, SnapshotFrame, StackId};

use crate::Sources;
use crate::memory::{MemoryCharges, Replay};
use crate::post::{evidence_by_line, post_file, post_memory};
use crate::stacks::{File, LineId, Lines, Node, Stacks};

/// Charges every allocation in the history of `snapshot` to its own line.
///
/// Where a device has no history (torch 2.0), the blocks that are in use stand for it.
#[must_use]
pub fn attribute_snapshot(snapshot: &Snapshot, sources: &Sources) -> Ledger {
    let mut stacks = Stacks::new(Lines::default());
    let nodes: Vec<Node> = (0..snapshot.stacks.len())
        .map(|stack| line_stack(snapshot, sources, stack, &mut stacks))
        .collect();
    let own =
        |stack: StackId| nodes.get(stack.0 as usize).map_or(LineId::NONE, |&node| stacks.own(node));
    let mut charges = MemoryCharges::default();
    let mut ordinals: Vec<i32> = snapshot.devices.iter().map(|device| device.device).collect();
    ordinals.extend(snapshot.segments.iter().map(|segment| segment.device));
    ordinals.sort_unstable();
    ordinals.dedup();
    for ordinal in ordinals {
        let mut replay = Replay::default();
        let mut has_history = false;
        let events = snapshot
            .devices
            .iter()
            .filter(|device| device.device == ordinal)
            .flat_map(|it| &it.events);
        for event in events {
            match event.action {
                SnapshotAction::Alloc => {
                    has_history = true;
                    replay.alloc(event.address, event.size, own(event.stack));
                }
                SnapshotAction::FreeCompleted => replay.free(event.address, event.size),
                _ => {}
            }
        }
        if !has_history {
            let segments = snapshot.segments.iter().filter(|segment| segment.device == ordinal);
            for block in
                segments.flat_map(|segment| &segment.blocks).filter(|block| block.is_allocated)
            {
                replay.alloc(block.address, block.size, own(block.stack));
            }
        }
        charges.add(&format!("cuda:{ordinal}"), &replay);
    }
    let mut ledger = Ledger { ranks: 1, ..Ledger::default() };
    for file in &stacks.lines.files {
        post_file(&mut ledger, sources, file);
    }
    let mut books = vec![ledger::LineBooks::default(); stacks.lines.len()];
    post_memory(&mut books, &charges);
    for (line, mut books) in stacks.lines.ids().zip(books) {
        if books.allocs > 0 {
            let file = &stacks.lines.files[stacks.lines.file_of(line).0 as usize];
            books.evidence = evidence_by_line(&stacks, &[])[line.index()];
            books.function = crate::post::function(&stacks.lines, sources, line);
            let key = ledger::LineKey { file: file.key.clone(), line: stacks.lines.number(line) };
            ledger.lines.insert(key, books);
        }
    }
    ledger.totals.alloc = charges.total;
    ledger.unattributed.charge(Reason::NoSnapshotFrame, Metric::Alloc, charges.without_line);
    ledger
}

/// Whether a frame is Python's: C++ frames have no line, or a file of another language.
pub(crate) fn is_python(snapshot: &Snapshot, frame: &SnapshotFrame) -> bool {
    let file = snapshot.strings.get(frame.file);
    let is_source =
        [".py", ".pyx"].iter().any(|ending| file.ends_with(ending)) || file.starts_with('<');
    frame.line > 0 && is_source
}

fn line_stack(snapshot: &Snapshot, sources: &Sources, stack: usize, stacks: &mut Stacks) -> Node {
    let mut node = Node::EMPTY;
    for frame in snapshot.stacks[stack].iter().rev().filter(|frame| is_python(snapshot, frame)) {
        let recorded = snapshot.strings.get(frame.file);
        let source = sources.get(recorded);
        let file = stacks.lines.file(File {
            key: source.map_or(recorded, |source| source.key.as_str()).to_owned(),
            recorded: recorded.to_owned(),
            is_own: source.is_some_and(|source| source.is_own),
        });
        let line = stacks.lines.line(file, frame.line);
        stacks.lines.name(line, snapshot.strings.get(frame.function));
        node = stacks.push(node, line, Evidence::Exact);
    }
    node
}
