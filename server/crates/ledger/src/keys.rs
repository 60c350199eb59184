//! What books are kept of: lines, devices, threads.

/// A line of a source file: 1-based, in the text as recorded.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct LineKey {
    /// Key of [`crate::Ledger::files`].
    pub file: String,
    /// 1-based line.
    pub line: u32,
}

/// A device of a rank.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct DeviceKey {
    /// Rank of the recording; 0 where it names none.
    pub rank: u32,
    /// Device ordinal.
    pub device: i32,
}

/// A thread of a rank.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct ThreadKey {
    /// Rank of the recording; 0 where it names none.
    pub rank: u32,
    /// Thread id as recorded.
    pub thread: String,
}
