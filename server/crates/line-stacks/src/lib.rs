//! The distinct lines and line stacks of a recording, as tables with `u32` handles.
//!
//! *Owns*: which file and line a handle stands for, the prefix tree of line stacks, the line that an amount on a stack is
//! charged to, and how the ledger and the books of stacks name lines and files.
//!
//! *Never*: decides which line an event has; holds an amount.
//!
//! *The test that says so*: `tests/tests/tidy/` holds the dependency list; the amounts are held by
//! `tests/tests/accounting.rs`.

mod booked;
mod dense;
mod ledger_lines;
mod tree;

pub use booked::BookedStacks;
pub use dense::{amount, grow_to};
pub use ledger_lines::{evidence_by_line, function, line_key, post_file};
pub use tree::{FileId, FusedLines, LineId, Lines, Node, StackFile, Stacks};
