//! What a step worked on, where the name of its range says so.

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
