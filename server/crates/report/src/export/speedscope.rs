//! The JSON of speedscope: <https://www.speedscope.app/file-format-schema.json>.

use std::io::{self, Write};

use ledger::Metric;
use loader::StackBooks;

use super::names::{ExportedStacks, FrameName, metrics_of, unit};
use crate::fields::{FieldValue, object, write_list};

/// Writes a profile for each metric that the recording has anything of, the chosen one first. A stack is a sample with the
/// weight of its amount; they are in the order of a flame graph, so that the view by time shows one, too.
pub(super) fn write(out: &mut dyn Write, stacks: &ExportedStacks<'_>) -> io::Result<()> {
    let &ExportedStacks { recording, books, metric, names } = stacks;
    writeln!(out, r#"{{"$schema": "https://www.speedscope.app/file-format-schema.json","#)?;
    let inputs = recording.run.inputs.iter().map(|it| loader::shown(&it.path).into_owned());
    let name = inputs.collect::<Vec<_>>().join(", ");
    let exporter = concat!("perfline ", env!("CARGO_PKG_VERSION"));
    writeln!(out, r#" "name": {}, "exporter": "{exporter}","#, FieldValue::text(name).json())?;
    writeln!(out, r#" "activeProfileIndex": 0, "shared": {{"#)?;
    write_list(out, "frames", names.iter().map(frame))?;
    writeln!(out, "}},")?;
    let profiles = metrics_of(books, metric).into_iter();
    write_list(out, "profiles", profiles.map(|it| profile(books, it)))?;
    writeln!(out, "}}")
}

fn frame(name: &FrameName) -> String {
    let mut fields = vec![("name", FieldValue::text(&*name.whole))];
    if let Some((file, line)) = &name.place {
        fields.push(("file", FieldValue::text(&**file)));
        fields.push(("line", FieldValue::number(*line)));
    }
    object(&fields)
}

fn profile(books: &StackBooks, metric: Metric) -> String {
    let stacks = books.in_order(metric);
    let fields = [
        ("type", FieldValue::text("sampled")),
        ("name", FieldValue::text(metric.label())),
        ("unit", FieldValue::text(unit(metric.unit()))),
        ("startValue", FieldValue::number(0)),
        ("endValue", FieldValue::number(books.total(metric))),
    ];
    let sample = |stack| {
        let rows = books.entries(stack).into_iter().map(|it| it.index().to_string());
        format!("[{}]", rows.collect::<Vec<_>>().join(","))
    };
    let samples: Vec<String> = stacks.iter().map(|&it| sample(it)).collect();
    let weights: Vec<String> =
        stacks.iter().map(|&it| books.amount(metric, it).to_string()).collect();
    format!(
        "{}, \"samples\": [{}], \"weights\": [{}]}}",
        object(&fields).trim_end_matches('}'),
        samples.join(",\n   "),
        weights.join(",")
    )
}
