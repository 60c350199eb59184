//! What was read of a trace before its turn.

use crate::tables::Tables;

/// The events of a chunk, to be given to [`crate::TraceReader::feed_chunk`].
#[derive(Debug)]
pub struct ParsedChunk {
    /// The bytes that were read, counted from where the piece of input begins.
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) tables: Tables,
}

impl ParsedChunk {
    /// Events that were read.
    #[must_use]
    pub fn n_events(&self) -> usize {
        usize::try_from(self.tables.events).unwrap_or(usize::MAX)
    }
}
