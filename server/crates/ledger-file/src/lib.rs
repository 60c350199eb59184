//! Ledgers as a file: what was read from recordings and attributed, without the recordings. `docs/ledger.md` has the format.
//!
//! *Owns*: the bytes of such a file, what is believed of one that somebody else wrote, and ledgers in memory as bytes.
//!
//! *Never*: opens a file, decompresses (the loader does, as of every input), decides what goes into a ledger.
//!
//! *The tests that say so*: at the end of this file, on damaged bytes; `server/tests/ledger_files.rs` on recordings of every
//! kind.

mod kept;
mod packed;

pub use kept::{KeptFile, KeptHead, KeptText};
pub use packed::PackedLedger;

use std::collections::BTreeMap;
use std::io::Write;

use flate2::{Compression, Crc, GzBuilder};
use ledger::Ledger;
use profile::Warning;
use serde::{Deserialize, Serialize};

/// What the decompressed file begins with; the version of the format, a space, that of Perfline, and a line break follow.
const MAGIC: &[u8] = b"perfline ledger ";

/// The version of the format. It changes with every change of a type of the ledger: values stand in the file one after the
/// other, without names.
pub const VERSION: u32 = 1;

/// Decompressed bytes of a file at most, so that a small file cannot take all memory.
pub const MAX_BYTES: usize = 1 << 30;

/// Bytes of the first line at most.
const MAX_HEAD: usize = 64;

/// Why bytes cannot be taken for ledgers.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// They begin otherwise.
    #[error("is no ledger; name a file that `perfline ledger` wrote")]
    NoLedger,
    /// Another version of Perfline wrote them.
    #[error(
        "has version {found} of the format, written by Perfline {by}; this is Perfline {}, which reads version {VERSION}: write the ledger again from the traces",
        env!("CARGO_PKG_VERSION")
    )]
    Version {
        /// The version of the format.
        found: String,
        /// The version of Perfline.
        by: String,
    },
    /// They break off, or are damaged.
    #[error("is damaged or ends early: write the ledger again from the traces")]
    Damaged,
    /// They can be read, but their sums do not agree.
    #[error("its books do not balance, so it is damaged: write the ledger again from the traces")]
    Unbalanced,
    /// They cannot be written.
    #[error("a ledger could not be written: {0}")]
    NotWritten(String),
}

/// The ledgers of a run, by rank, with what is said of where they come from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LedgerFile {
    /// The inputs that were read, in the order of [`LedgerFile::to_bytes`] when they come from a file.
    pub inputs: Vec<LedgerInput>,
    /// Inputs that could not be read, a line each.
    pub failures: Vec<String>,
    /// The ledger of each rank.
    pub ranks: BTreeMap<u32, Ledger>,
    /// Of the source files that were found, by their key in [`Ledger::files`]: what their text was.
    pub texts: BTreeMap<String, TextDigest>,
}

/// An input that ledgers were made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerInput {
    /// Where it was.
    pub path: String,
    /// What it was: the stable name of the kind.
    pub kind: String,
    /// Its rank.
    pub rank: u32,
    /// Events read.
    pub events: u64,
    /// Decompressed bytes read.
    pub bytes: u64,
    /// Whether it was read to its end without loss.
    pub complete: bool,
    /// The anomalies that were found.
    pub warnings: Vec<Warning>,
}

impl LedgerInput {
    /// What inputs are in order of: rank, traces before what goes with them, each before its side-car.
    fn place(&self) -> (u32, bool, String, bool) {
        let is_callers = self.kind == "callers";
        let is_trace = self.kind == "kineto" || is_callers;
        (self.rank, !is_trace, self.path.replace(".callers", ""), is_callers)
    }
}

/// What a text is recognised by. It protects against mistakes, not against an opponent, who could write the ledger anyway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextDigest {
    /// Bytes of UTF-8.
    pub length: u64,
    /// Their CRC-32, as gzip has it.
    pub crc: u32,
}

impl TextDigest {
    /// The digest of `text`.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut crc = Crc::new();
        crc.update(text.as_bytes());
        Self { length: text.len() as u64, crc: crc.sum() }
    }
}

/// Whether decompressed bytes begin as a ledger does.
#[must_use]
pub fn looks_like_ledger(prefix: &[u8]) -> bool {
    prefix.starts_with(MAGIC)
}

impl LedgerFile {
    /// The bytes of the file, gzip. The same ledgers give the same bytes, in whichever order their inputs were added.
    ///
    /// # Errors
    /// If the ledgers need more than [`MAX_BYTES`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let mut sorted = self.clone();
        sorted.inputs.sort_by_cached_key(LedgerInput::place);
        sorted.failures.sort_unstable();
        let body = sorted.to_body()?;
        if MAX_BYTES < body.len() {
            return Err(Error::NotWritten(
                "it needs more than 1 GiB; name fewer inputs".to_owned(),
            ));
        }
        let head = format!("{VERSION} {}\n", env!("CARGO_PKG_VERSION"));
        // Without a time, so that equal ledgers are equal files.
        let mut gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
        let written = gzip
            .write_all(MAGIC)
            .and_then(|()| gzip.write_all(head.as_bytes()))
            .and_then(|()| gzip.write_all(&body))
            .and_then(|()| gzip.finish());
        written.map_err(|it| Error::NotWritten(it.to_string()))
    }

    /// Reads the decompressed bytes of a file. Nothing in them is believed that can be checked: lengths are held against the
    /// bytes that there are, and the books of each rank must balance.
    ///
    /// # Errors
    /// If they are no ledger, one of another version, or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(Error::NoLedger)?;
        let end = rest.iter().take(MAX_HEAD).position(|it| *it == b'\n').ok_or(Error::Damaged)?;
        let head = std::str::from_utf8(&rest[..end]).map_err(|_| Error::Damaged)?;
        let (found, by) = head.split_once(' ').ok_or(Error::Damaged)?;
        if found != VERSION.to_string() {
            return Err(Error::Version { found: found.to_owned(), by: by.to_owned() });
        }
        Self::from_body(&rest[end + 1..])
    }

    /// The bytes of the ledgers alone, as they are.
    ///
    /// # Errors
    /// If a path cannot be written.
    pub fn to_body(&self) -> Result<Vec<u8>, Error> {
        postcard::to_allocvec(self).map_err(|it| Error::NotWritten(it.to_string()))
    }

    /// Reads what [`Self::to_body`] wrote, with the checks of [`Self::from_bytes`].
    ///
    /// # Errors
    /// If the bytes are damaged.
    pub fn from_body(bytes: &[u8]) -> Result<Self, Error> {
        let (file, rest): (Self, _) =
            postcard::take_from_bytes(bytes).map_err(|_| Error::Damaged)?;
        if !rest.is_empty() {
            return Err(Error::Damaged);
        }
        if !file.ranks.values().all(Ledger::adds_up) {
            return Err(Error::Unbalanced);
        }
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use ledger::{
        CollectiveCall, CollectiveKind, CollectiveSite, LineBooks, LineKey, Metric, Ns, PerStep,
        ProcessGroup, RankCommunication, Reason, SourceFile, ThreadKey,
    };
    use profile::WarningKind;
    use proptest::prelude::*;

    use super::*;

    pub(crate) fn sample() -> LedgerFile {
        let mut ledger = Ledger { ranks: 1, ..Ledger::default() };
        let key = LineKey { file: "train.py".to_owned(), line: 7 };
        let thread = ThreadKey { rank: 1, thread: "1".to_owned() };
        let books = LineBooks {
            function: "step".to_owned(),
            cpu_own: Ns(70),
            cpu_total: Ns(80),
            steps: [(3, PerStep { cpu: Ns(70), ..PerStep::default() })].into(),
            by_thread: [(thread.clone(), Ns(70))].into(),
            ..LineBooks::default()
        };
        ledger.lines.insert(key.clone(), books);
        ledger.totals.cpu = Ns(100);
        ledger.unattributed.charge(Reason::NoPythonFrame, Metric::Cpu, 30);
        ledger.threads.insert(thread, Ns(100));
        ledger.steps.insert(3, Ns(90));
        let file = SourceFile { recorded: "/a/train.py".to_owned(), ..SourceFile::default() };
        ledger.files.insert("train.py".to_owned(), file);
        let site = CollectiveSite {
            kind: CollectiveKind::AllReduce,
            group: ProcessGroup { name: "0".to_owned(), ranks: "[0, 1]".to_owned(), size: 2 },
            bytes: None,
            is_on_device: true,
            line: Some(key),
        };
        let call = CollectiveCall { start: Ns(5), end: Ns(9), step: Some(3), sequence: None };
        let sites = [(site, vec![call])].into();
        let communication = RankCommunication { sites, ..RankCommunication::default() };
        ledger.communication.insert(1, communication);
        LedgerFile {
            inputs: vec![LedgerInput {
                path: "rank1.json.gz".to_owned(),
                kind: "kineto".to_owned(),
                rank: 1,
                events: 12,
                bytes: 3456,
                complete: false,
                warnings: vec![Warning {
                    kind: WarningKind::Truncated,
                    message: "ends early".to_owned(),
                    offset: Some(3000),
                    count: 1,
                }],
            }],
            failures: vec!["rank2.json.gz: there is no such file".to_owned()],
            ranks: [(1, ledger)].into(),
            texts: [("train.py".to_owned(), TextDigest::of("step()\n"))].into(),
        }
    }

    fn unpacked(file: &LedgerFile) -> Vec<u8> {
        let mut bytes = Vec::new();
        let packed = file.to_bytes().unwrap();
        flate2::read::GzDecoder::new(&*packed).read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_is_written_is_read_again() {
        let bytes = unpacked(&sample());
        assert!(looks_like_ledger(&bytes) && bytes.starts_with(b"perfline ledger 1 "));
        assert_eq!(LedgerFile::from_bytes(&bytes), Ok(sample()));
    }

    #[test]
    fn the_order_of_inputs_does_not_matter() {
        let mut one = sample();
        let other =
            LedgerInput { path: "rank0.json.gz".to_owned(), rank: 0, ..one.inputs[0].clone() };
        one.inputs.push(other);
        let mut two = one.clone();
        two.inputs.reverse();
        assert_eq!(one.to_bytes(), two.to_bytes());
    }

    #[test]
    fn what_cannot_be_believed_is_refused() {
        assert_eq!(LedgerFile::from_bytes(b"{}"), Err(Error::NoLedger));
        let newer = b"perfline ledger 9 2.0.0\nxyz";
        let version = Error::Version { found: "9".to_owned(), by: "2.0.0".to_owned() };
        assert_eq!(LedgerFile::from_bytes(newer), Err(version));
        let mut bytes = unpacked(&sample());
        bytes.push(0);
        assert_eq!(LedgerFile::from_bytes(&bytes), Err(Error::Damaged));
        let mut unbalanced = sample();
        unbalanced.ranks.values_mut().for_each(|it| it.totals.cpu = Ns(99));
        assert_eq!(LedgerFile::from_bytes(&unpacked(&unbalanced)), Err(Error::Unbalanced));
    }

    proptest! {
        #[test]
        fn damage_is_no_panic(
            cut in any::<prop::sample::Index>(),
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
            whole in any::<bool>(),
        ) {
            let mut bytes = unpacked(&sample());
            for (at, value) in &flips {
                let at = at.index(bytes.len());
                bytes[at] = *value;
            }
            let end = if whole { bytes.len() } else { cut.index(bytes.len()) };
            let read = LedgerFile::from_bytes(&bytes[..end]);
            let is_part = flips.is_empty() && end < bytes.len();
            prop_assert!(!is_part || read.is_err(), "a part is never taken for the whole");
        }

        #[test]
        fn noise_is_no_panic(noise in prop::collection::vec(any::<u8>(), 0..400)) {
            let bytes = [b"perfline ledger 1 0\n", &*noise].concat();
            let _ = LedgerFile::from_bytes(&bytes);
        }
    }
}
