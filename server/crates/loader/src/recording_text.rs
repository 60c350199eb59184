//! The decompressed bytes of a recording, for what passes them on.

use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::AtomicU64;

use crate::open::{self, Opened};
use crate::{Error, InputKind};

/// A recording that can be read, once.
pub struct RecordingText {
    opened: Opened,
    done: AtomicU64,
}

impl RecordingText {
    /// Opens a recording that somebody named.
    ///
    /// # Errors
    /// If it cannot be opened, or its first bytes cannot be read.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Ok(Self { opened: open::named(path)?, done: AtomicU64::new(0) })
    }

    /// What its first bytes say it is.
    #[must_use]
    pub fn kind(&self) -> Option<InputKind> {
        self.opened.kind
    }

    /// Its bytes, decompressed, text in UTF-16 as UTF-8; they end where the file cannot be read any further.
    pub fn reader(&self) -> impl Read + '_ {
        let mut unpacked = self.opened.unpacked(&self.done);
        FromFill(move |block: &mut [u8]| unpacked.fill(block))
    }
}

/// Reads with what fills a block.
struct FromFill<F>(F);

impl<F: FnMut(&mut [u8]) -> usize> Read for FromFill<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok((self.0)(buffer))
    }
}
