//! How loading is watched and stopped.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// How far loading is.
#[derive(Debug, Clone)]
pub struct Progress {
    /// The file being worked on.
    pub path: PathBuf,
    /// What is being done with it.
    pub stage: Stage,
    /// Bytes of all inputs on disk that were read so far.
    pub done: u64,
    /// Bytes of all inputs on disk.
    pub total: u64,
}

/// What loading is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Reading the file.
    Reading,
    /// Charging events to lines.
    Attributing,
}

/// How the caller of [`crate::load`] watches and stops it.
pub struct Watch<'a> {
    /// Called often (several times a second at least) from the loading thread.
    pub progress: &'a (dyn Fn(&Progress) + Sync),
    /// Loading ends with [`crate::Error::Cancelled`] soon after this is set.
    pub cancelled: &'a AtomicBool,
}
