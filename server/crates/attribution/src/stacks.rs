//! Lines and line stacks, and what the names of events say about them.

mod dense;
mod ledger_lines;
mod names;
mod tree;

pub(crate) use dense::grow_to;
pub(crate) use ledger_lines::{evidence_by_line, function, line_key, post_file};
pub(crate) use names::{CallStacks, Names, PythonName};
pub(crate) use tree::{File, FileId, LineId, Lines, Node, Stacks};
