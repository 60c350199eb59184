//! Which events the books are made of.

use std::collections::BTreeSet;

/// Which events the books are made of: all, unless threads or streams are named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventChoice {
    /// Threads by id or name as recorded: what happened on them, and what they launched.
    pub threads: Vec<String>,
    /// Streams of devices by number: what ran on them. Of the host then nothing counts.
    pub streams: BTreeSet<i64>,
}

impl EventChoice {
    /// Whether nothing is left out.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.threads.is_empty() && self.streams.is_empty()
    }

    /// Whether a thread counts.
    #[must_use]
    pub fn has_thread(&self, id: &str, name: &str) -> bool {
        self.threads.is_empty() || self.threads.iter().any(|it| it == id || it == name)
    }

    /// Whether a stream counts.
    #[must_use]
    pub fn has_stream(&self, stream: i64) -> bool {
        self.streams.is_empty() || self.streams.contains(&stream)
    }
}
