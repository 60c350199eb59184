//! What changes are made from, and what they are.

use std::ops::{Range, RangeInclusive};

use ruff_python_ast::ExprCall;
use ruff_python_ast::token::Tokens;
use ruff_text_size::Ranged;

use crate::LineIndex;
use crate::semantic::FileNames;

/// What is known of the run that the text is to be made faster for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The version of torch, where the recording says: `(2, 3)`.
    pub torch: Option<(u32, u32)>,
    /// Whether the line launched work on a device.
    pub is_on_device: bool,
}

/// What a change does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// `foreach=True` for an optimizer: rounding may differ, and intermediate values take memory.
    Foreach,
    /// `fused=True` for an optimizer. Relies on all parameters being floating point numbers.
    Fused,
    /// `set_to_none=True`. Optimizers skip parameters without a gradient, where they used the zeros.
    SetToNone,
    /// Collects tensors instead of numbers, and reads them after the loop. Each takes a block of device memory meanwhile.
    Collected,
    /// `non_blocking=True` for a copy from pinned memory.
    NonBlocking,
    /// `pin_memory=True` for the loader that a copy is fed by, and `non_blocking=True` for the copy.
    PinMemory,
    /// `num_workers=…` for a loader that has none. Relies on a data set that can be handed to processes.
    Workers(u32),
}

/// A change of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it does.
    pub what: What,
    /// 1-based line of the call that is changed, as far as that is one.
    pub line: u32,
    /// In the order of the text; they do not overlap.
    pub replacements: Vec<Replacement>,
}

/// Bytes of a text, and what is to be there instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// Which bytes.
    pub range: Range<usize>,
    /// What is there instead.
    pub text: String,
}

impl Change {
    /// The text with the change.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for it in self.replacements.iter().rev() {
            text.replace_range(it.range.clone(), &it.text);
        }
        text
    }
}

/// A text with its tree, and where the finding is.
pub(super) struct EditContext<'t, 'a> {
    pub(super) text: &'t str,
    pub(super) lines: &'t LineIndex,
    pub(super) tokens: &'t Tokens,
    pub(super) names: &'t FileNames<'a>,
    pub(super) statement: RangeInclusive<u32>,
    pub(super) recorded: Recorded,
}

impl<'a> EditContext<'_, 'a> {
    /// The calls of methods named so that begin or end in the statement, in source order.
    pub(super) fn methods(&self, names: &[&str]) -> Vec<&'a ExprCall> {
        let is_here = |it: &&&ExprCall| {
            let attribute = it.func.as_attribute_expr();
            attribute.is_some_and(|func| {
                names.contains(&func.attr.as_str())
                    && self.statement.contains(&self.line_of(func.attr.range.start().to_usize()))
            })
        };
        self.names.calls.iter().filter(is_here).copied().collect()
    }

    pub(super) fn line_of(&self, offset: usize) -> u32 {
        self.lines.line(offset)
    }

    /// A change of one call.
    pub(super) fn change(
        &self,
        what: What,
        call: &ExprCall,
        replacements: Option<Vec<Replacement>>,
    ) -> Option<Change> {
        let line = self.line_of(call.start().to_usize());
        Some(Change { what, line, replacements: replacements? })
    }
}
