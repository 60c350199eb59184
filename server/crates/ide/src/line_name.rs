//! What hovers call other lines.

use ledger::LineKey;

use crate::place::{PlacedSource, base_name};
use crate::sections::RichText;

/// A line as readers find it: `line 17` in this file, `model.py:17` in another.
pub(crate) fn line_name(source: &PlacedSource<'_>, line: &LineKey) -> RichText {
    if line.file != source.key {
        return RichText::code(&format!("{}:{}", base_name(&line.file), line.line));
    }
    RichText::words(match source.map.map(|map| map.current(line.line)) {
        Some(Some(carried)) => format!("line {}", carried.line),
        Some(None) => "a line that is gone".to_owned(),
        None => format!("line {} as recorded", line.line),
    })
}
