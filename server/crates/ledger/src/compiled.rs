//! What the log of `torch.compile` says of the functions that it compiled.

use std::collections::{BTreeMap, BTreeSet};

use crate::{CompilePhases, LineKey, Ns};

/// A function that was compiled, over the whole run of the program: compiling is over before most recordings begin.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CompiledFunction {
    /// Its name.
    pub name: String,
    /// How often it, or the rest of it behind a graph break, was compiled.
    pub compiles: u64,
    /// How long that took, all phases together, the backward passes included.
    pub time: Ns,
    /// What of it each phase took, as far as the log says.
    pub phases: CompilePhases,
    /// Why it was compiled again.
    pub reasons: BTreeMap<RecompileCause, RecompileReason>,
}

/// What changed, so that no version of a function fitted any more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub enum RecompileCause {
    /// A size or stride of a tensor: `size of 'x' at index 0`.
    Dimension(String),
    /// A number that is compiled in: `self.count`.
    Number(String),
    /// Anything else: the guard that failed.
    Guard(String),
}

/// A cause, as often as it was one.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RecompileReason {
    /// How often.
    pub count: u64,
    /// The whole numbers that what changed was, where it is none of other kinds.
    pub values: BTreeSet<u64>,
    /// The lines that ran what was compiled: those that called the function while the recording was made; of what is behind
    /// a graph break, the line that breaks it.
    pub lines: BTreeSet<LineKey>,
}
