//! What a step worked on, where the name of its range says so.

use std::fmt;

/// What the range of a step says of the work in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct StepWork {
    /// `prefill`, `decode` or `mixed` of servers of language models, another word of theirs (`verify`, `draft`), or what the ranges that
    /// the user names are called.
    pub kind: String,
    /// Requests in the batch.
    pub requests: Option<u64>,
    /// Tokens that are computed.
    pub tokens: Option<u64>,
}

impl fmt::Display for StepWork {
    /// `mixed, 46 requests, 8192 tokens`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        for (number, one, several) in
            [(self.requests, "request", "requests"), (self.tokens, "token", "tokens")]
        {
            match number {
                Some(1) => write!(f, ", 1 {one}")?,
                Some(number) => write!(f, ", {number} {several}")?,
                None => {}
            }
        }
        Ok(())
    }
}
