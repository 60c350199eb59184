//! A row for each stack, as CSV.

use std::io::{self, Write};

use ledger::{Metric, Ns, Unit};
use loader::StackBooks;

use super::folded::entry;
use super::names::{ExportedStacks, FrameName, metrics_of};
use crate::fields::FieldValue;

/// Writes the stacks with any amount, those of the metric first, in its order.
pub(super) fn write(out: &mut dyn Write, stacks: &ExportedStacks<'_>) -> io::Result<()> {
    let &ExportedStacks { books, metric, names, .. } = stacks;

    let metrics = StackBooks::METRICS;
    let ending = |it: Metric| if it.unit() == Unit::Ns { "us" } else { "bytes" };
    let columns = metrics.map(|it| format!("{}_{}", it.id(), ending(it)));
    writeln!(out, "stack,leaf,function,file,line,evidence,{}", columns.join(","))?;
    let mut is_written = vec![false; books.len()];
    for stack in metrics_of(books, metric).into_iter().flat_map(|it| books.in_order(it)) {
        if std::mem::replace(&mut is_written[stack.index()], true) {
            continue;
        }
        let entries = books.entries(stack);
        let names: Vec<&FrameName> = entries.iter().map(|it| &names[it.index()]).collect();
        let whole: Vec<String> = names.iter().map(|it| entry(&it.whole)).collect();
        let leaf = names.last().filter(|it| it.place.is_none());
        let line = names
            .iter()
            .rev()
            .find_map(|it| Some((it.function.as_str(), it.place.as_ref()?, it.evidence?)));
        let text = |text: &str| FieldValue::text(text.to_owned());
        let mut row = vec![text(&whole.join(";")), text(leaf.map_or("", |it| &it.whole))];
        row.extend(match line {
            Some((function, (file, line), evidence)) => {
                [text(function), text(file), FieldValue::number(*line), text(evidence.name())]
            }
            None => [text(""), text(""), FieldValue::Unknown, text("")],
        });
        row.extend(metrics.map(|it| {
            let amount = books.amount(it, stack);
            if it.unit() == Unit::Ns {
                FieldValue::Time(Ns(amount))
            } else {
                FieldValue::number(amount)
            }
        }));
        writeln!(out, "{}", row.iter().map(FieldValue::csv).collect::<Vec<_>>().join(","))?;
    }
    Ok(())
}
