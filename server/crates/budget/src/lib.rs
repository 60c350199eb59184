//! What a run may cost: the table `budget` of a `perfline.toml` (`docs/budgets.md`), read into limits.
//!
//! *Owns*: the names and units that a budget may use, and which of them go together; the line of the text that states each
//! limit, so that what exceeds it can be reported there.
//!
//! *Never*: reads a file; knows a recording, or whether a limit is exceeded (`report`).
//!
//! *The tests that say so*: beside each part; `server/tests/check.rs` on recordings.

mod amount;
mod code;
mod error;
mod parse;

pub use amount::{Allowed, AllowedFindings};
pub use code::{CodePart, CodePlace};
pub use error::BudgetError;

use metrics::{Quantity, Unit};

/// What may be written of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitValue {
    /// A time.
    Time,
    /// A share of something.
    Share,
    /// A number of things.
    Count,
    /// An amount of this unit; of times and bytes also a share.
    Amount(Unit),
    /// No limit, but the path of a file or folder.
    Path,
}

/// The limits of a run.
#[derive(Debug, Default)]
pub struct Budget {
    /// Of the run as a whole.
    pub run: Vec<RunLimit>,
    /// Of parts of the code.
    pub code: Vec<CodeLimit>,
    /// Of what the rules find.
    pub findings: Vec<FindingLimit>,
    /// Of what the run may cost more than another.
    pub baseline: Option<BaselineLimits>,
}

impl Budget {
    /// How many limits there are.
    #[must_use]
    pub fn len(&self) -> usize {
        let of_baseline = self.baseline.as_ref().map_or(0, |it| it.limits.len());
        self.run.len() + self.code.len() + self.findings.len() + of_baseline
    }

    /// Whether there is no limit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What a run as a whole may take, in the mean step of a rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RunAllowance {
    /// The mean step, in nanoseconds.
    Step(f64),
    /// The share (of 1) of CPU time, and that of CUDA time, that has no line.
    Unattributed(f64),
    /// All of a quantity, with what has no line.
    Quantity(Quantity, Allowed),
}

/// A limit of the run as a whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunLimit {
    /// What is allowed.
    pub allowed: RunAllowance,
    /// The line that states it, from 1.
    pub line: u32,
}

/// A limit of a part of the code: the sum over its lines, in the mean step of a rank.
#[derive(Debug, Clone)]
pub struct CodeLimit {
    /// Which lines.
    pub place: CodePlace,
    /// What is limited.
    pub quantity: Quantity,
    /// To what.
    pub allowed: Allowed,
    /// The line that states it, from 1.
    pub line: u32,
}

/// A limit of what a rule finds, or all rules.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FindingLimit {
    /// Id of the rule; `None` of all together.
    pub rule: Option<&'static str>,
    /// What is allowed.
    pub allowed: AllowedFindings,
    /// The line that states it, from 1.
    pub line: u32,
}

/// What a run may cost more than another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BaselineAllowance {
    /// By how much the mean step may be longer: a share (of 1) of that of the baseline.
    Step(f64),
    /// By how much any line may take longer: a share (of 1) of the step of the baseline.
    Line(f64),
    /// By how much the peak of memory may be higher: a share (of 1) of that of the baseline.
    Peak(f64),
    /// How many findings there may be that the baseline does not have, on lines that differ.
    Findings(u32),
}

/// A limit against a baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BaselineLimit {
    /// What is allowed.
    pub allowed: BaselineAllowance,
    /// The line that states it, from 1.
    pub line: u32,
}

/// A baseline with its limits.
#[derive(Debug, Default)]
pub struct BaselineLimits {
    /// The recording that it is compared with, as the text names it.
    pub recording: Option<String>,
    /// The folder of the code as that recording ran it, as the text names it.
    pub root: Option<String>,
    /// The limits.
    pub limits: Vec<BaselineLimit>,
    /// The line where its table begins, from 1.
    pub line: u32,
}
