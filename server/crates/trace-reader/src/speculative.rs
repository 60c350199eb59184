//! Chunks of a trace that are read ahead, on other cores, and put in their place afterwards.
//!
//! Whether a chunk begins where an event does is not known while it is read: it begins where that is likely. When its
//! turn comes, the [`TraceReader`] has read everything before, and takes the chunk over only if it arrives between two
//! events at exactly that byte. Otherwise, and where the chunk has an anomaly whose handling depends on what came
//! before, it reads the bytes itself. So the result is that of reading the bytes one after the other, whatever they are.

use memchr::memmem;
use profile::WarningKind;

use crate::chunk::ParsedChunk;
use crate::event::Event;
use crate::reader::TraceReader;
use crate::tables::Tables;
use crate::template::TemplateCache;

/// Reads chunks of traces. Each core has one of its own.
#[derive(Debug)]
pub struct SpeculativeReader {
    /// What was learned from the chunks before; it makes no difference to the result.
    templates: TemplateCache,
}

impl Default for SpeculativeReader {
    fn default() -> Self {
        Self::new()
    }
}

impl SpeculativeReader {
    /// A reader that has learned nothing.
    #[must_use]
    pub fn new() -> Self {
        Self { templates: TemplateCache::new() }
    }

    /// Reads the events that are whole in `bytes`, a piece of a trace; `None` if none is seen to begin, or what was
    /// read is better read in its place.
    pub fn read(&mut self, bytes: &[u8]) -> Option<ParsedChunk> {
        let start = first_boundary(bytes)?;
        let templates = std::mem::replace(&mut self.templates, TemplateCache::new());
        let mut reader = TraceReader::among_events(templates);
        let mut event = Event::new();
        let mut end = start;
        while let Some(next) = reader.next_event(bytes, end, &mut event) {
            end = next;
        }
        let (tables, templates) = reader.into_tables();
        self.templates = templates;
        tables.is_independent().then_some(ParsedChunk { start, end, tables })
    }
}

/// Position behind the first event that is followed by another one, as far as can be seen: only events begin with `ph`.
fn first_boundary(bytes: &[u8]) -> Option<usize> {
    memmem::find_iter(bytes, b"\"ph\"").find_map(|key| {
        let before = |end: usize, expected: u8| {
            let at = bytes[..end].iter().rposition(|it| !it.is_ascii_whitespace())?;
            (bytes[at] == expected).then_some(at)
        };
        let brace = before(key, b'{')?;
        let comma = before(brace, b',')?;
        before(comma, b'}').map(|end| end + 1)
    })
}

impl Tables {
    /// Whether nothing in the tables would be otherwise had other events been read before. Warnings that report one
    /// event alone make no difference; of texts, only the first reading of an id of a thread warns.
    fn is_independent(&self) -> bool {
        let of_one_event = |kind| {
            matches!(
                kind,
                WarningKind::UnknownCategory
                    | WarningKind::BareWord
                    | WarningKind::NumberOutOfRange
                    | WarningKind::MissingTime
                    | WarningKind::NegativeDuration
                    | WarningKind::NotCredible
                    | WarningKind::Other
            )
        };
        self.open.values().all(Vec::is_empty)
            && self.warnings.iter().all(|warning| of_one_event(warning.kind))
    }
}
