//! Two runs of a program beside each other: `docs/accounting.md`, Two runs.
//!
//! *Owns*: which lines of the two runs are one, through the edits between their sources (with `pysource`); by how much each
//! line, function, operator and kernel differs per step; which of these differences exceed the noise of the steps and of the
//! machine (`noise`); which edited lines do other work, whatever the times say (`other_work`); which kernels took the place of others, and what holds memory at the peak that did not before.
//!
//! *Never*: reads a file, words anything, decides what is shown.
//!
//! *The tests that say so*: beside each part; `tests/tests/comparison.rs` on recordings of programs before and after edits
//! that are known.

mod compared;
mod lines;
mod named;
mod noise;
mod other_work;
mod run;
mod same_work;
mod significance;

pub use compared::{Difference, FunctionDifference, StepDifference};
pub use lines::{AmountDifference, ComparedLine, EditedLines};
pub use named::{KernelReplacement, NamedDifference};
pub use noise::{Drift, LeastDifference, Shift};
pub use other_work::{OperatorCalls, OtherWork};
pub use run::ComparedRun;
