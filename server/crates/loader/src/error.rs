//! Why nothing could be loaded, and how inputs are named in messages.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// The path that stands for the standard input where inputs are named; a file of that name is `./-`.
pub const STANDARD_INPUT: &str = "-";

/// Why nothing could be loaded. The message is one line: what happened, where, what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened or read.
    #[error("{}: {source}", shown(path))]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is neither a trace nor a snapshot, or nothing in it could be read.
    #[error("{}: {message} (at byte {offset})", shown(path))]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What is wrong and what to do.
        message: String,
        /// Where in the decompressed bytes.
        offset: u64,
    },
    /// Perfline itself failed.
    #[error(
        "{}: reading it failed inside Perfline ({message}); this is a fault of Perfline, please report it",
        shown(path)
    )]
    Panicked {
        /// Which file was read.
        path: PathBuf,
        /// What the panic said.
        message: String,
    },
    /// [`crate::Watch::cancelled`] was set.
    #[error("cancelled")]
    Cancelled,
}

impl Error {
    pub(crate) fn panicked(path: &Path, message: String) -> Self {
        Self::Panicked { path: path.to_owned(), message }
    }
}

/// An input as messages name it.
#[must_use]
pub fn shown(path: &Path) -> Cow<'_, str> {
    if path == Path::new(STANDARD_INPUT) {
        Cow::Borrowed("standard input")
    } else {
        path.to_string_lossy()
    }
}
