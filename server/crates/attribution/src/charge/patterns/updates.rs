//! Tensors that are updated one by one, as the parameters of a model are in a loop written by hand.

use ledger::{Ns, PatternBooks};
use line_stacks::LineId;
use profile::StrId;
use rustc_hash::FxHashMap;

/// What one call of a function of yours did in place, operator by operator.
#[derive(Debug, Default)]
pub(super) struct Updates {
    by_operator: FxHashMap<(LineId, StrId), Repeated>,
}

/// An operator on a line.
#[derive(Debug)]
struct Repeated {
    /// When it first began.
    start: Ns,
    books: PatternBooks,
    /// The sizes of its arguments when it first ran, and whether they were others later: parameters differ, what a loop
    /// over time steps changes does not.
    sizes: StrId,
    is_varied: bool,
}

impl Updates {
    /// Counts an operator with the text of its sizes.
    pub(super) fn operator(
        &mut self,
        (line, name): (LineId, StrId),
        sizes: StrId,
        (start, end): (Ns, Ns),
        cuda: Ns,
    ) {
        let first = || Repeated { start, books: PatternBooks::default(), sizes, is_varied: false };
        let it = self.by_operator.entry((line, name)).or_insert_with(first);
        it.is_varied |= it.sizes != sizes;
        it.books.add(&PatternBooks { ops: 1, cpu: end - start, cuda, ..PatternBooks::default() });
    }

    /// Each operator that ran over tensors of different sizes: its line, when it first began, and what it cost.
    pub(super) fn runs(self) -> impl Iterator<Item = (LineId, Ns, PatternBooks)> {
        self.by_operator.into_iter().filter(|(_, it)| it.is_varied).map(|((line, _), it)| {
            let most = it.books.ops;
            (line, it.start, PatternBooks { count: 1, most, ..it.books })
        })
    }
}
