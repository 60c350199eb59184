//! From line stacks to the books of stacks.

use ledger::Reason;
use recorded::RecordedSources;
use rustc_hash::FxHashMap;
use stack_books::{FrameRow, FramedLine, StackBooks, StackFrame, StackRow};

use crate::ledger_lines::{function, line_key};
use crate::tree::{LineId, Node, Stacks};

/// Books of stacks that are filled from line stacks. Stacks that nothing is booked on get no place in them.
#[derive(Debug)]
pub struct BookedStacks<'a> {
    stacks: &'a Stacks,
    sources: &'a RecordedSources,
    /// What is filled.
    pub books: StackBooks,
    frames: Vec<Option<FrameRow>>,
    /// By part of the line that stands for several, where there is one, and by stack.
    rows: FxHashMap<(Node, usize), StackRow>,
}

impl<'a> BookedStacks<'a> {
    /// Empty books of a recording with these line stacks.
    #[must_use]
    pub fn new(stacks: &'a Stacks, sources: &'a RecordedSources) -> Self {
        let frames = vec![None; stacks.lines.len()];
        Self { stacks, sources, books: StackBooks::default(), frames, rows: FxHashMap::default() }
    }

    /// Among how many places amounts of a line stack are divided: more than one where they belong to several lines.
    #[must_use]
    pub fn n_parts(&self, node: Node) -> usize {
        let charged = self.stacks.charged_line(node).get();
        charged.and_then(|it| self.stacks.lines.parts(it)).map_or(1, |it| it.len())
    }

    /// The place of a line stack in the books, or of one of its parts; that of the empty one says why there is no line.
    pub fn row(&mut self, node: Node, part: usize, reason: Reason) -> StackRow {
        if node.is_empty() {
            let frame = self.books.frame(StackFrame::NoLine(reason));
            return self.books.push(StackRow::ROOT, frame);
        }
        let (mut missing, mut at) = (Vec::new(), node);
        let known = loop {
            if at.is_empty() {
                break StackRow::ROOT;
            }
            if let Some(&row) = self.rows.get(&(at, part)) {
                break row;
            }
            missing.push(at);
            at = self.stacks.parent(at);
        };
        missing.into_iter().rev().fold(known, |parent, node| {
            let line = self.stacks.line(node);
            let parts = self.stacks.lines.parts(line);
            let lines = match parts.and_then(|it| it.get(part).or(it.first())) {
                // The part that is the line around it.
                Some(lines)
                    if lines[..] == [self.stacks.charged_line(self.stacks.parent(node))] =>
                {
                    &[]
                }
                Some(lines) => &lines[..],
                None => &[line],
            };
            let row = lines.iter().fold(parent, |parent, &line| {
                let frame = self.frame(line);
                self.books.add_evidence(frame, self.stacks.evidence(node));
                self.books.push(parent, frame)
            });
            self.rows.insert((node, part), row);
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
