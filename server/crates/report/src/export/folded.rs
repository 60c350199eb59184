//! Collapsed stacks, a line of text for each.

use std::io::{self, Write};

use super::names::ExportedStacks;
use crate::terminal::clean;

/// Writes a line for each stack that has an amount of the metric: its entries with `;` between them, a space, and the amount in
/// nanoseconds or bytes.
pub(super) fn write(out: &mut dyn Write, stacks: &ExportedStacks<'_>) -> io::Result<()> {
    let &ExportedStacks { books, metric, names, .. } = stacks;

    let names: Vec<String> = names.iter().map(|it| entry(&it.whole)).collect();
    for stack in books.in_order(metric) {
        let entries = books.entries(stack);
        let entries: Vec<&str> = entries.iter().map(|it| &*names[it.index()]).collect();
        writeln!(out, "{} {}", entries.join(";"), books.amount(metric, stack))?;
    }
    Ok(())
}

/// The name of an entry. The format knows no escapes: `;` in a name is written as `:`, as the scripts around `flamegraph.pl`
/// do, and what a terminal would obey is replaced.
pub(super) fn entry(name: &str) -> String {
    clean(name).replace(';', ":")
}
