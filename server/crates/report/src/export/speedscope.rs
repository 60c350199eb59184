//! The JSON of speedscope: <https://www.speedscope.app/file-format-schema.json>.

use std::io::{self, Write};

use ledger::Metric;
use loader::StackBooks;

use super::names::{FrameName, metrics_of, unit};
use crate::fields::{FieldValue, object};
use crate::recording::Recording;

/// Writes a profile for each metric that the recording has anything of, `metric` first. A stack is a sample with the weight
/// of its amount; they are in the order of a flame graph, so that the view by time shows one, too.
pub(super) fn write(
    out: &mut dyn Write,
    recording: &Recording<'_>,
    books: &StackBooks,
    metric: Metric,
    names: &[FrameName],
) -> io::Result<()> {
    writeln!(out, r#"{{"$schema": "https://www.speedscope.app/file-format-schema.json","#)?;
    let inputs = recording.run.inputs.iter().map(|it| loader::shown(&it.path).into_owned());
    let name = inputs.collect::<Vec<_>>().join(", ");
    let exporter = concat!("perfline ", env!("CARGO_PKG_VERSION"));
    writeln!(out, r#" "name": {}, "exporter": "{exporter}","#, FieldValue::text(name).json())?;
    writeln!(out, r#" "activeProfileIndex": 0, "shared": {{"frames": ["#)?;
    for (index, it) in names.iter().enumerate() {
        let mut fields = vec![("name", FieldValue::text(&*it.whole))];
        if let Some((file, line)) = &it.place {
            fields.push(("file", FieldValue::text(&**file)));
            fields.push(("line", FieldValue::number(*line)));
        }
        writeln!(out, "  {}{}", object(&fields), comma(index, names.len()))?;
    }
    writeln!(out, r#" ]}}, "profiles": ["#)?;
    let metrics = metrics_of(books, metric);
    for (index, &metric) in metrics.iter().enumerate() {
        profile(out, books, metric)?;
        writeln!(out, "{}", comma(index, metrics.len()))?;
    }
    writeln!(out, " ]}}")
}

fn profile(out: &mut dyn Write, books: &StackBooks, metric: Metric) -> io::Result<()> {
    let stacks = books.in_order(metric);
    let fields = [
        ("type", FieldValue::text("sampled")),
        ("name", FieldValue::text(metric.label())),
        ("unit", FieldValue::text(unit(metric.unit()))),
        ("startValue", FieldValue::number(0)),
        ("endValue", FieldValue::number(books.total(metric))),
    ];
    let head = object(&fields);
    writeln!(out, r#"  {}, "samples": ["#, head.trim_end_matches('}'))?;
    for (index, &stack) in stacks.iter().enumerate() {
        let entries = books.entries(stack);
        let rows: Vec<String> = entries.iter().map(|it| it.index().to_string()).collect();
        writeln!(out, "   [{}]{}", rows.join(","), comma(index, stacks.len()))?;
    }
    let weights: Vec<String> =
        stacks.iter().map(|&it| books.amount(metric, it).to_string()).collect();
    write!(out, r#"  ], "weights": [{}]}}"#, weights.join(","))
}

/// What stands between the entry at `index` of `n` and the next.
fn comma(index: usize, n: usize) -> &'static str {
    if index + 1 < n { "," } else { "" }
}
