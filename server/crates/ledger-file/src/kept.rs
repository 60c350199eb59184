//! Ledgers that Perfline keeps for itself, so that a recording is not read twice: the ledgers of one input, and what they were made
//! from. Unlike files for people they are of one build of Perfline alone.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use flate2::{Compression, GzBuilder};
use ledger::SourceFit;
use serde::{Deserialize, Serialize};

use crate::{Error, MAX_HEAD};

/// Decompressed bytes of an entry at most.
pub const MAX_KEPT_BYTES: usize = 1 << 30;

/// What the decompressed file begins with; the build of Perfline and a line break follow.
const MAGIC: &[u8] = b"perfline kept ledger ";

/// What the ledgers of an input were made from, as far as its own bytes do not say it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptHead {
    /// The hash of parts of the input.
    pub sample: u128,
    /// What the recording is known by, whatever it is called; `None` where no texts are kept of it.
    pub recording: Option<u128>,
    /// The files that the recording names.
    pub files: Vec<KeptFile>,
    /// The texts that the recording holds, by the path as recorded.
    pub recorded_texts: BTreeMap<String, String>,
    /// When the recording was made.
    pub at: KeptMoment,
    /// Whether texts were looked for in a git repository, so that its state is a part of `fingerprint`.
    pub uses_git: bool,
    /// The hash of what the disk said of the sources; equal, nothing of `files` changed. `None` where it was about to
    /// change.
    pub fingerprint: Option<u128>,
}

/// When a recording was made, as far as it decides which text ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptMoment {
    /// What was changed later did not run: nanoseconds since the Unix epoch.
    pub latest: Option<u64>,
    /// When recording began: seconds since the Unix epoch.
    pub began: Option<i64>,
    /// The commit that the recording names, and whether files differed from it.
    pub commit: Option<([u8; 20], bool)>,
}

/// A file that a recording names, and what was found for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptFile {
    /// The path as recorded.
    pub recorded: String,
    /// The functions that ran, with a line as recorded.
    pub functions: Vec<(String, u32)>,
    /// The lines on which something was called, as far as the recording names them.
    pub call_lines: Vec<u32>,
    /// Whether the trace of the capture of its graphs names it, and the recording itself does not.
    pub is_captured: bool,
    /// Key in the ledger.
    pub key: String,
    /// Where it is on this machine, if it was found.
    pub path: Option<PathBuf>,
    /// Whether it is user code.
    pub is_user_code: bool,
    /// Whether the text on disk is the one that ran.
    pub fit: SourceFit,
    /// Files that it may be as well, relative to the root.
    pub others: Vec<PathBuf>,
    /// The text that ran.
    pub text: KeptText,
}

/// Where the text that ran comes from, with its hash.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeptText {
    /// No text is known.
    #[default]
    Unknown,
    /// The recording holds it.
    Recorded(u128),
    /// A copy was kept.
    Copy(u128),
    /// A blob of the git repository that holds the root.
    Git {
        /// The hash of the text.
        hash: u128,
        /// The blob.
        blob: [u8; 20],
        /// A commit that has it.
        commit: [u8; 20],
        /// When that was made: seconds since the Unix epoch.
        time: i64,
    },
    /// The file on disk.
    File(u128),
    /// The file on disk, which was changed after the recording.
    NewerFile(u128),
}

impl KeptHead {
    /// The bytes of the file, gzip. `ledgers` are from [`crate::LedgerHead::to_body`].
    ///
    /// # Errors
    /// If they need more than 1 GiB.
    pub fn pack(&self, build: &str, ledgers: &[u8]) -> Result<Vec<u8>, Error> {
        let head = postcard::to_allocvec(self).map_err(|it| Error::NotWritten(it.to_string()))?;
        if MAX_KEPT_BYTES < head.len() + ledgers.len() {
            return Err(Error::NotWritten("it needs more than 1 GiB".to_owned()));
        }
        // It is written to be read a few times on this machine: speed counts more than size.
        let mut gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::fast());
        let parts = [MAGIC, build.as_bytes(), b"\n", &head, ledgers];
        let written = parts.iter().try_for_each(|it| gzip.write_all(it));
        written.and_then(|()| gzip.finish()).map_err(|it| Error::NotWritten(it.to_string()))
    }

    /// Reads the decompressed bytes of a file that `build` wrote; with the head, the bytes of the ledgers, for
    /// [`crate::read_body`].
    ///
    /// # Errors
    /// If they are something else, of another build, or damaged.
    pub fn unpack<'a>(bytes: &'a [u8], build: &str) -> Result<(Self, &'a [u8]), Error> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(Error::NoLedger)?;
        let end = rest.iter().take(MAX_HEAD).position(|it| *it == b'\n').ok_or(Error::Damaged)?;
        if &rest[..end] != build.as_bytes() {
            return Err(Error::Damaged);
        }
        postcard::take_from_bytes(&rest[end + 1..]).map_err(|_| Error::Damaged)
    }
}
