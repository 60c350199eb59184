//! From line stacks to the books of stacks.

use ledger::Reason;
use recorded::RecordedSources;
use stack_books::{FrameRow, FramedLine, StackBooks, StackFrame, StackRow};

use crate::ledger_lines::{function, line_key};
use crate::tree::{LineId, Node, Stacks};

/// Books of stacks that are filled from line stacks. Stacks without an amount get no place in them.
#[derive(Debug)]
pub struct BookedStacks<'a> {
    stacks: &'a Stacks,
    sources: &'a RecordedSources,
    /// What is filled.
    pub books: StackBooks,
    frames: Vec<Option<FrameRow>>,
    rows: Vec<Option<StackRow>>,
}

impl<'a> BookedStacks<'a> {
    /// Empty books of a recording with these line stacks.
    #[must_use]
    pub fn new(stacks: &'a Stacks, sources: &'a RecordedSources) -> Self {
        let (frames, rows) = (vec![None; stacks.lines.len()], vec![None; stacks.len()]);
        Self { stacks, sources, books: StackBooks::default(), frames, rows }
    }

    /// The place of a line stack in the books; that of the empty one says why there is no line.
    pub fn row(&mut self, node: Node, reason: Reason) -> StackRow {
        if node.is_empty() {
            let frame = self.books.frame(StackFrame::NoLine(reason));
            return self.books.push(StackRow::ROOT, frame);
        }
        let (mut missing, mut at) = (Vec::new(), node);
        let known = loop {
            if at.is_empty() {
                break StackRow::ROOT;
            }
            if let Some(row) = self.rows[at.index()] {
                break row;
            }
            missing.push(at);
            at = self.stacks.parent(at);
        };
        missing.into_iter().rev().fold(known, |parent, node| {
            let frame = self.frame(self.stacks.line(node));
            self.books.add_evidence(frame, self.stacks.evidence(node));
            let row = self.books.push(parent, frame);
            self.rows[node.index()] = Some(row);
            row
        })
    }

    fn frame(&mut self, line: LineId) -> FrameRow {
        let Self { stacks, sources, books, frames, .. } = self;
        *frames[line.index()].get_or_insert_with(|| {
            books.frame(StackFrame::Line(FramedLine {
                key: line_key(&stacks.lines, line),
                function: function(&stacks.lines, sources, line),
                is_user_code: stacks.lines.is_user_code(line),
            }))
        })
    }
}
