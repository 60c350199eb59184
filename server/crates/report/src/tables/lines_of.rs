//! The lines of your code below which something ran.

use std::collections::BTreeMap;

use ledger::LineKey;
use loader::StackBooks;
use stack_books::{StackFrame, StackRow};

use crate::model::{Cell, Place};
use crate::recording::Recording;

/// Lines that a row names.
const MAX_LINES: usize = 3;

/// By line, what was charged to it; what has no line is left out.
#[derive(Debug, Default)]
pub(super) struct LinesOf<'a>(BTreeMap<&'a LineKey, i64>);

impl<'a> FromIterator<(&'a LineKey, i64)> for LinesOf<'a> {
    fn from_iter<I: IntoIterator<Item = (&'a LineKey, i64)>>(amounts: I) -> Self {
        Self(amounts.into_iter().collect())
    }
}

impl<'a> LinesOf<'a> {
    /// Adds what is on a stack.
    pub(super) fn add(&mut self, books: &'a StackBooks, stack: StackRow, amount: i64) {
        if let Some(line) = innermost_line(books, stack) {
            let sum = self.0.entry(line).or_default();
            *sum = sum.saturating_add(amount);
        }
    }

    /// The lines with most of it.
    pub(super) fn cell(&self, recording: &Recording<'_>) -> Cell {
        let mut lines: Vec<_> = self.0.iter().filter(|(_, amount)| **amount != 0).collect();
        if lines.is_empty() {
            return Cell::default();
        }
        lines.sort_by_key(|(_, amount)| std::cmp::Reverse(**amount));
        let places: Vec<Place> =
            lines.iter().take(MAX_LINES).map(|(key, _)| recording.place(key)).collect();
        let mut text = names(&places).join(", ");
        let more = lines.len().saturating_sub(MAX_LINES);
        if 0 < more {
            text += &format!(" +{more}");
        }
        Cell { text, ..Cell::places(places) }
    }
}

/// What lines are called in one cell: a file that several in a row are of is named once.
pub(super) fn names(places: &[Place]) -> Vec<String> {
    let before = std::iter::once(None).chain(places.iter().map(Some));
    let name = |(place, before): (&Place, Option<&Place>)| match before {
        Some(before) if before.file == place.file => format!(":{}", place.line),
        _ => place.to_string(),
    };
    places.iter().zip(before).map(name).collect()
}

/// The innermost line of a stack.
fn innermost_line(books: &StackBooks, stack: StackRow) -> Option<&LineKey> {
    books.outwards(stack).find_map(|it| match books.frame_of(it) {
        StackFrame::Line(line) => Some(&line.key),
        _ => None,
    })
}
