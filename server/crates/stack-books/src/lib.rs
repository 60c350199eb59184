//! What a recording cost by whole stacks: a tree of source lines with calls, operators and kernels as leaves, and amounts
//! by node. Exports and flame graphs are made from it.
//!
//! *Owns*: the tree, its amounts, the sum of several trees, the view in which only user code has nodes, parts of it, and which
//! phase of training a stack is of.
//!
//! *Never*: decides which stack an event has, or what is charged; formats a number or a name; knows a file format.
//!
//! *The test that says so*: `tests/tests/stacks.rs` holds the sums of each line, reason and metric against the ledger on
//! every recording; the unit tests of `books` and `parts` hold the tree and its parts.

mod books;
mod event_choice;
mod module_pattern;
mod parts;
mod phase;
mod step_numbers;

pub use books::{
    FrameRow, FramedLine, SizedOperator, StackAmount, StackBooks, StackFrame, StackRow,
};
pub use event_choice::EventChoice;
pub use module_pattern::ModulePattern;
pub use phase::{TrainingPhase, is_backward_node, is_checkpoint_file, recomputes};
pub use step_numbers::{StepChoice, StepNumbers};
