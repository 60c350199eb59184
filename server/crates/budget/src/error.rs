//! Why a text is no budget.

use std::ops::Range;

/// Why a text is no budget. Shown as `line 4: …`, one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct BudgetError {
    /// The line that is at fault, from 1.
    pub line: u32,
    /// What is wrong with it, and what is expected.
    pub message: String,
}

/// The text of a budget, which knows its lines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BudgetText<'a>(pub(crate) &'a str);

impl BudgetText<'_> {
    /// The line, from 1, in which a range of bytes begins.
    pub(crate) fn at(self, span: &Range<usize>) -> u32 {
        let before = self.0.as_bytes().get(..span.start).unwrap_or(self.0.as_bytes());
        let breaks = before.iter().filter(|it| **it == b'\n').count();
        u32::try_from(breaks).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// An error about what begins there.
    pub(crate) fn error(self, span: &Range<usize>, message: impl Into<String>) -> BudgetError {
        BudgetError { line: self.at(span), message: message.into() }
    }
}
