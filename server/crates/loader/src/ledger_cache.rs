//! The entries of kept ledgers on disk: by which key, when they are written, and what is damaged.

use std::io::Read;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use flate2::read::GzDecoder;
use ledger_file::KeptHead;

use crate::cache_folder::{CacheFolder, FileSort, cache_fault};
use crate::file_identity::FileIdentity;
use crate::places;

/// The build of Perfline: its version, and a hash of the sources of all crates that a ledger goes through.
pub(crate) const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), " ", env!("PERFLINE_BUILD"));

/// Decompressed bytes of a recording from which on its ledger is kept: to read fewer takes a twentieth of a second at most.
const MIN_BYTES: u64 = 4 << 20;

/// Where ledgers are kept, and those that are to be written when there is time.
#[derive(Debug)]
pub struct LedgerCache {
    folder: PathBuf,
    min_bytes: u64,
    pending: Mutex<Vec<PendingEntry>>,
}

impl LedgerCache {
    /// A cache in `folder` ([`crate::cache_folder`]), which need not be there yet.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self::with_least(folder, MIN_BYTES)
    }

    /// A cache for recordings with at least `min_bytes` decompressed bytes.
    #[must_use]
    pub fn with_least(folder: PathBuf, min_bytes: u64) -> Self {
        Self { folder, min_bytes, pending: Mutex::default() }
    }

    /// Why what was loaded is not kept, if there is something to keep: others can enter the folder.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if pending.is_empty() { None } else { cache_fault(&self.folder) }
    }

    /// Writes the ledgers of what was loaded, which takes time that nobody who waits for a load should spend. What cannot be
    /// written is not kept.
    pub fn write_pending(&self) {
        let pending =
            std::mem::take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner));
        for entry in pending {
            // What was read must be what the key says.
            if entry
                .key
                .files
                .iter()
                .any(|(path, identity)| places::identity(path) != Some(*identity))
            {
                continue;
            }
            if let Ok(bytes) = entry.head.pack(BUILD, &entry.ledgers) {
                let _ = self.entries().write(entry.key.hash, &bytes);
            }
        }
    }

    /// Whether the ledger of a recording of so many decompressed bytes is kept.
    pub(crate) fn is_worth(&self, bytes: u64) -> bool {
        self.min_bytes <= bytes
    }

    fn entries(&self) -> CacheFolder {
        CacheFolder::new(&self.folder, FileSort::Ledgers)
    }

    /// The decompressed bytes of an entry.
    pub(crate) fn read(&self, hash: u128) -> Option<Vec<u8>> {
        let file = self.entries().open(hash)?;
        let mut bytes = Vec::new();
        let limit = ledger_file::MAX_KEPT_BYTES as u64;
        let read =
            GzDecoder::new(std::io::BufReader::new(file)).take(limit).read_to_end(&mut bytes);
        if read.is_err() {
            self.remove(hash);
            return None;
        }
        Some(bytes)
    }

    /// Deletes an entry that is damaged.
    pub(crate) fn remove(&self, hash: u128) {
        self.entries().remove(hash);
    }

    pub(crate) fn push(&self, entry: PendingEntry) {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }
}

/// An entry that is to be written.
#[derive(Debug)]
pub(crate) struct PendingEntry {
    pub(crate) key: EntryKey,
    pub(crate) head: KeptHead,
    pub(crate) ledgers: Vec<u8>,
}

/// What an entry is found by.
#[derive(Debug, Clone)]
pub(crate) struct EntryKey {
    pub(crate) hash: u128,
    /// The files that it stands for.
    pub(crate) files: Vec<(PathBuf, FileIdentity)>,
    /// Whether a change of them from the time on when the key was made, before they were read, would change it.
    pub(crate) is_settled: bool,
}
