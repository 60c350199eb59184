//! Changes of a text that make it faster and are provably what they say.
//!
//! Each looks from the line of a finding for what has to be changed, which may be elsewhere in the file: the
//! constructor of the optimizer that steps there, the loader that is looped over. Where the text leaves a choice (a
//! name that is bound twice, arguments that are handed on with `**`), nothing is offered. What the text cannot show and
//! the change relies on is for the caller to say ([`What`] names it).

mod arguments;
mod collected;
mod context;
mod data_loader;
mod optimizer;
mod origins;
mod pinned;
mod zero_grad;

pub use context::{Change, Recorded, Replacement, What};

use context::EditContext;

use crate::semantic::FileNames;
use crate::stack_guard::with_tree;
use crate::{LineIndex, Module};

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
