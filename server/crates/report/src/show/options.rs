//! What is shown.

use metrics::Period;

use crate::filter::CodeFilter;
use crate::part::RecordingPart;

/// What of a line, a function, an operator or a kernel is shown.
#[derive(Debug, Clone)]
pub struct ShowOptions<'a> {
    /// Rows of each table at most.
    pub top: usize,
    /// When rules fire.
    pub rules: insights::RuleOptions,
    /// Which lines are meant.
    pub code: CodeFilter,
    /// The part of the recording whose amounts are in the place of the whole; `None` for all of it.
    pub part: Option<&'a RecordingPart>,
}

impl ShowOptions<'_> {
    /// What numbers stand for.
    pub(super) fn period(&self) -> Period {
        if self.part.is_some() { Period::Run } else { Period::Mean }
    }
}
