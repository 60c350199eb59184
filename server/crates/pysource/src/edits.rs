//! Changes of a text that make it faster and are provably what they say.
//!
//! Each looks from the line of a finding for what has to be changed, which may be elsewhere in the file: the
//! constructor of the optimizer that steps there, the loader that is looped over. Where the text leaves a choice (a
//! name that is bound twice, arguments that are handed on with `**`), nothing is offered. What the text cannot show and
//! the change relies on is for the caller to say ([`What`] names it).

mod arguments;
mod collected;
mod data_loader;
mod optimizer;
mod origins;
mod pinned;
mod zero_grad;

use std::ops::{Range, RangeInclusive};

use ruff_python_ast::ExprCall;
use ruff_python_ast::token::Tokens;
use ruff_text_size::Ranged;

use crate::semantic::FileNames;
use crate::stack_guard::with_tree;
use crate::{LineIndex, Module};

/// What is known of the run that the text is to be made faster for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The version of torch, where the recording says: `(2, 3)`.
    pub torch: Option<(u32, u32)>,
    /// Whether the line launched work on a device.
    pub is_on_device: bool,
}

/// What has to be made faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// An optimizer that updates one parameter after the other: the line of its `step()`.
    Optimizer,
    /// Gradients that are filled with zeros: the line of `zero_grad()`.
    ZeroGrad,
    /// A number that a loop reads in every pass and puts into a list: the line of `append()`.
    Collected,
    /// A copy to the device that the host waits for: the line of `.to()` or `.cuda()`.
    HostToDevice,
    /// Batches that are waited for: the line of the loop, or of `next()`.
    DataLoader,
}

impl Goal {
    /// One of these is in the statement.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Optimizer => &["step"],
            Self::ZeroGrad => &["zero_grad"],
            Self::Collected => &["append"],
            Self::HostToDevice => &[".to(", ".cuda("],
            Self::DataLoader => &["for", "next"],
        }
    }

    /// Whether there may be something to change for a statement that is written like this: most need no look at the tree.
    #[must_use]
    pub fn may_concern(self, statement: &str) -> bool {
        self.words().iter().any(|it| statement.contains(it))
    }
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
struct EditContext<'t, 'a> {
    text: &'t str,
    lines: &'t LineIndex,
    tokens: &'t Tokens,
    names: &'t FileNames<'a>,
    statement: RangeInclusive<u32>,
    recorded: Recorded,
}

impl<'a> EditContext<'_, 'a> {
    /// The calls of methods named so that begin or end in the statement, in source order.
    fn methods(&self, names: &[&str]) -> Vec<&'a ExprCall> {
        let is_here = |it: &&&ExprCall| {
            let attribute = it.func.as_attribute_expr();
            attribute.is_some_and(|func| {
                names.contains(&func.attr.as_str())
                    && self.statement.contains(&self.line_of(func.attr.range.start().to_usize()))
            })
        };
        self.names.calls.iter().filter(is_here).copied().collect()
    }

    fn line_of(&self, offset: usize) -> u32 {
        self.lines.line(offset)
    }

    /// A change of one call.
    fn change(
        &self,
        what: What,
        call: &ExprCall,
        replacements: Option<Vec<Replacement>>,
    ) -> Option<Change> {
        let line = self.line_of(call.start().to_usize());
        Some(Change { what, line, replacements: replacements? })
    }
}

impl Module {
    /// What can be changed in `text`, which this is the module of, for the statement on `line`; the best first. Every
    /// change leaves a text without errors.
    #[must_use]
    pub fn changes(&self, text: &str, line: u32, goal: Goal, recorded: Recorded) -> Vec<Change> {
        if self.has_errors {
            return Vec::new();
        }
        let lines = LineIndex::new(text);
        let statement = self.statement_lines(line);
        let ends = [statement.start(), statement.end()].map(|&it| lines.line_range(it));
        let [Some(first), Some(last)] = ends else { return Vec::new() };
        if !goal.may_concern(text.get(first.start..last.end).unwrap_or_default()) {
            return Vec::new();
        }
        let found = with_tree(text, |parsed| {
            let names = FileNames::of(parsed.syntax(), &lines, *statement.start());
            let place = EditContext {
                text,
                lines: &lines,
                tokens: parsed.tokens(),
                names: &names,
                statement: statement.clone(),
                recorded,
            };
            let changes = match goal {
                Goal::Optimizer => optimizer::changes(&place),
                Goal::ZeroGrad => zero_grad::change(&place).into_iter().collect(),
                Goal::Collected => collected::change(&place).into_iter().collect(),
                Goal::HostToDevice => pinned::change(&place).into_iter().collect(),
                Goal::DataLoader => data_loader::workers(&place).into_iter().collect(),
            };
            (changes, names.scopes.depth)
        });
        let mut changes = found.unwrap_or_default();
        changes.retain(|it| !Self::parse(&it.apply(text)).has_errors);
        changes
    }
}

#[cfg(test)]
mod tests;
