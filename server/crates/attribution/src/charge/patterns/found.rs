//! What was found.

use ledger::{Ns, Pattern, PatternBooks};
use line_stacks::LineId;
use recorded::Steps;
use rustc_hash::{FxHashMap, FxHashSet};

/// What was found, by charged line.
#[derive(Debug, Default)]
pub(crate) struct PatternCharges {
    pub(crate) books: FxHashMap<(LineId, Pattern), PatternBooks>,
    steps: FxHashSet<(LineId, Pattern, u32)>,
    /// The lines on which compiled code ran, with the number of the function that it was compiled for; empty without a log of
    /// the compiler.
    pub(crate) regions: FxHashSet<(LineId, u32)>,
}

impl PatternCharges {
    /// Charges what began at `at`. What happens outside of the steps does not slow them down, and is left out.
    pub(super) fn charge(
        &mut self,
        steps: &Steps,
        line: LineId,
        pattern: Pattern,
        at: Ns,
        books: &PatternBooks,
    ) {
        let step = steps.at(at);
        if line == LineId::NONE || (step.is_none() && !steps.0.is_empty()) {
            return;
        }
        let mine = self.books.entry((line, pattern)).or_default();
        mine.add(books);
        if let Some(step) = step
            && self.steps.insert((line, pattern, step))
        {
            mine.steps += 1;
        }
    }
}
