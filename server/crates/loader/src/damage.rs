//! Damage of files.

use std::io;

use profile::WarningKind;

/// What is wrong with a file on the way from the disk to its decompressed bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) kind: WarningKind,
    /// What happened, where in the compressed bytes, what it means, what to do.
    pub(crate) message: String,
    /// Decompressed bytes before it, where it has one place.
    pub(crate) offset: Option<u64>,
}

impl Damage {
    pub(crate) fn reading(error: &io::Error) -> Self {
        let message =
            format!("reading the file failed ({error}); everything before was read; copy it again");
        Self { kind: WarningKind::Truncated, message, offset: None }
    }

    /// What cannot be decompressed, or was decompressed to something else.
    pub(crate) fn compression(message: String) -> Self {
        Self { kind: WarningKind::BrokenCompression, message, offset: None }
    }
}
