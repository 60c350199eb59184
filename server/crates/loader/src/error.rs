//! Why nothing could be loaded, and how inputs are named in messages.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

/// The path that stands for the standard input where inputs are named; a file of that name is `./-`.
pub const STANDARD_INPUT: &str = "-";

/// Why nothing could be loaded. The message is one line: what happened, where, what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened or read.
    #[error("{}: {}", shown(path), reason(source))]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
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
    /// Stacks were asked for, and the file holds the amounts of lines alone.
    #[error(
        "{}: a ledger holds no stacks; name the traces and snapshots that it was written from",
        shown(path)
    )]
    NoStacks {
        /// Which file.
        path: PathBuf,
    },
    /// There is no dump of the flight recorder where one was looked for.
    #[error(
        "{}: no dump of the flight recorder is here; name files such as nccl_trace_rank_0, or their folder",
        shown(path)
    )]
    NoDumps {
        /// Where it was looked for.
        path: PathBuf,
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
    /// No input is of a rank that was asked for.
    #[error("unknown rank `{rank}`, expected one of: {there}")]
    UnknownRank {
        /// The rank that was asked for.
        rank: u32,
        /// Those that there are.
        there: String,
    },
    /// No input is of a process group that was asked for.
    #[error("unknown process group `{group}`: {there}")]
    UnknownGroup {
        /// The group that was asked for.
        group: String,
        /// Those that there are, or what to do instead.
        there: String,
    },
    /// The books of a rank cannot be read from the temporary file that those of many ranks are put into.
    #[error(
        "{}: reading the books of a rank from a temporary file here failed: {source}; load the recordings again",
        folder.display()
    )]
    Spilled {
        /// The folder of temporary files.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// [`crate::Watch::cancelled`] was set.
    #[error("cancelled")]
    Cancelled,
}

impl Error {
    pub(crate) fn spilled(source: io::Error) -> Self {
        Self::Spilled { folder: std::env::temp_dir(), source }
    }

    pub(crate) fn panicked(path: &Path, message: String) -> Self {
        Self::Panicked { path: path.to_owned(), message }
    }
}

/// Why a file could not be read, and what to do about it where that is known.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => {
            "there is no such file or folder; check the path".to_owned()
        }
        io::ErrorKind::PermissionDenied => {
            "reading it is not permitted; change its permissions, or copy it to where it may be read".to_owned()
        }
        _ => format!("reading it failed: {error}"),
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
