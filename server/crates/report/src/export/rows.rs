//! A row for each stack: what tables are written from.

use ledger::Evidence;
use loader::StackBooks;
use stack_books::StackRow;

use super::folded::entry;
use super::names::{ExportedStacks, FrameName, metrics_of};

/// A stack with any amount.
pub(super) struct StackTableRow<'a> {
    /// Where its amounts are.
    pub(super) row: StackRow,
    /// Its entries, outermost first, with `;` between them.
    pub(super) stack: String,
    /// Its innermost entry, if that is no line.
    pub(super) leaf: Option<&'a str>,
    /// The innermost line, which the amounts are charged to, if there is one.
    pub(super) line: Option<LineOfStack<'a>>,
}

/// The line that the amounts of a stack are charged to.
#[derive(Clone, Copy)]
pub(super) struct LineOfStack<'a> {
    pub(super) function: &'a str,
    pub(super) file: &'a str,
    /// From 1.
    pub(super) number: u32,
    pub(super) evidence: Evidence,
}

/// The stacks with any amount, those of the chosen metric first, in its order.
pub(super) fn rows<'a>(
    stacks: &ExportedStacks<'a>,
) -> impl Iterator<Item = StackTableRow<'a>> + use<'a> {
    let &ExportedStacks { books, metric, names, .. } = stacks;
    let mut is_listed = vec![false; books.len()];
    let listed = metrics_of(books, metric).into_iter().flat_map(|it| books.in_order(it));
    listed
        .filter(move |row| !std::mem::replace(&mut is_listed[row.index()], true))
        .map(|row| row_of(books, names, row))
}

fn row_of<'a>(books: &StackBooks, names: &'a [FrameName], row: StackRow) -> StackTableRow<'a> {
    let entries = books.entries(row);
    let names: Vec<&FrameName> = entries.iter().map(|it| &names[it.index()]).collect();
    let whole: Vec<String> = names.iter().map(|it| entry(&it.whole)).collect();
    let leaf = names.last().filter(|it| it.place.is_none());
    let line = names.iter().rev().find_map(|it| {
        let (file, number) = it.place.as_ref()?;
        let evidence = it.evidence?;
        Some(LineOfStack { function: &it.function, file, number: *number, evidence })
    });
    StackTableRow { row, stack: whole.join(";"), leaf: leaf.map(|it| it.whole.as_str()), line }
}
