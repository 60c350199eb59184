//! From the protocol's types to ours.

use std::ops::Range;

use pysource::{Encoding, LineIndex, Position};
use tower_lsp::lsp_types;

/// The 1-based line of a position.
pub(crate) fn line(position: lsp_types::Position) -> u32 {
    position.line.saturating_add(1)
}

/// The byte offset of a position; the end of the text where it has no such line.
pub(crate) fn offset(
    index: &LineIndex,
    text: &str,
    position: lsp_types::Position,
    encoding: Encoding,
) -> usize {
    let position = Position { line: line(position), column: position.character };
    index.offset(position, encoding).unwrap_or(text.len())
}

/// The bytes of a range; an end before the start is taken for the start.
pub(crate) fn range(
    index: &LineIndex,
    text: &str,
    range: lsp_types::Range,
    encoding: Encoding,
) -> Range<usize> {
    let start = offset(index, text, range.start, encoding);
    start..offset(index, text, range.end, encoding).max(start)
}
