//! A row for each stack, as CSV.

use std::io::{self, Write};

use ledger::{Metric, Ns, Unit};
use loader::StackBooks;

use super::names::ExportedStacks;
use super::rows::rows;
use crate::fields::FieldValue;

/// Writes the stacks with any amount, those of the metric first, in its order.
pub(super) fn write(out: &mut dyn Write, stacks: &ExportedStacks<'_>) -> io::Result<()> {
    let metrics = StackBooks::METRICS;
    let ending = |it: Metric| if it.unit() == Unit::Ns { "us" } else { "bytes" };
    let columns = metrics.map(|it| format!("{}_{}", it.id(), ending(it)));
    writeln!(out, "stack,leaf,function,file,line,evidence,{}", columns.join(","))?;
    for it in rows(stacks) {
        let text = |text: &str| FieldValue::text(text.to_owned());
        let mut row = vec![text(&it.stack), text(it.leaf.unwrap_or_default())];
        row.extend(match it.line {
            Some(line) => [
                text(line.function),
                text(line.file),
                FieldValue::number(line.number),
                text(line.evidence.name()),
            ],
            None => [text(""), text(""), FieldValue::Unknown, text("")],
        });
        row.extend(metrics.map(|metric| {
            let amount = stacks.books.amount(metric, it.row);
            if metric.unit() == Unit::Ns {
                FieldValue::Time(Ns(amount))
            } else {
                FieldValue::number(amount)
            }
        }));
        writeln!(out, "{}", row.iter().map(FieldValue::csv).collect::<Vec<_>>().join(","))?;
    }
    Ok(())
}
