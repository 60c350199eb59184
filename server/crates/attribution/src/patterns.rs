//! Patterns of events that stand for habits which cost time: one walk over the events after the sweep, in its order.
//!
//! What is found is charged to own lines. It is a view: the books of time are not changed by it.

mod copies;
mod indexing;
mod walk;
mod words;

use ledger::{Ns, Pattern, PatternBooks};
use profile::Profile;
use recorded::{Launches, Steps};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::device::DeviceStacks;
use crate::stacks::LineId;
use crate::sweep::Swept;

/// What was found, by own line.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) books: FxHashMap<(LineId, Pattern), PatternBooks>,
    steps: FxHashSet<(LineId, Pattern, u32)>,
}

impl Found {
    /// Charges what began at `at`. What happens outside of the steps does not slow them down, and is left out.
    fn charge(
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

/// Looks for all patterns.
pub(crate) fn find(
    profile: &Profile,
    launches: &Launches,
    stacks: &DeviceStacks,
    steps: &Steps,
    swept: &mut Swept<'_>,
) -> Found {
    let mut found = walk::walk(profile, launches, steps, swept);
    copies::find(profile, launches, stacks, steps, swept, &mut found);
    found
}
