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

pub use kept::{KeptFile, KeptHead, KeptMoment, KeptText, MAX_KEPT_BYTES};
pub use packed::{pack, unpack};

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;

use flate2::{Compression, Crc, GzBuilder};
use ledger::Ledger;
use profile::Warning;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What the decompressed file begins with; the version of the format, a space, that of Perfline, and a line break follow.
const MAGIC: &[u8] = b"perfline ledger ";

/// The version of the format. It changes with every change of a type of the ledger: values stand in the file one after the
/// other, without names.
pub const VERSION: u32 = 17;

/// Bytes of the first line at most.
const MAX_HEAD: usize = 64;

/// Bytes of a length at most: 64 bits, seven to a byte.
const MAX_VARINT: usize = 10;

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
    /// They were made from something that Perfline does not read.
    #[error("names an input of the unknown kind `{0}`")]
    UnknownKind(String),
    /// What is said of a rank, or of all inputs, is larger than what may be read.
    #[error(
        "holds a rank of {} MiB and may have {}; raise the memory limit (--memory-limit, in editors perfline.memoryLimit)",
        length.div_ceil(1 << 20),
        max >> 20
    )]
    TooLarge {
        /// Its bytes.
        length: u64,
        /// Bytes that it may have.
        max: u64,
    },
    /// They cannot be written.
    #[error("a ledger could not be written: {0}")]
    NotWritten(String),
}

/// What a file of ledgers says of where they come from. It stands before the ledgers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LedgerHead {
    /// The inputs that were read, in the order of [`Self::to_bytes`] when they come from a file.
    pub inputs: Vec<LedgerInput>,
    /// Inputs that could not be read, a line each.
    pub failures: Vec<String>,
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

impl LedgerHead {
    /// The bytes of the file, gzip, with the ledger of each rank in order of the numbers. The same ledgers give the same bytes, in
    /// whichever order their inputs were added. Each ledger is written before the next one is asked for.
    ///
    /// # Errors
    /// If one of the ledgers cannot be had, or has a path that cannot be written.
    pub fn to_bytes<'a>(
        &self,
        ledgers: impl ExactSizeIterator<Item = Result<(u32, Cow<'a, Ledger>), Error>>,
    ) -> Result<Vec<u8>, Error> {
        let mut sorted = self.clone();
        sorted.inputs.sort_by_cached_key(LedgerInput::place);
        sorted.failures.sort_unstable();
        let head = format!("{VERSION} {}\n", env!("CARGO_PKG_VERSION"));
        // Without a time, so that equal ledgers are equal files.
        let mut gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
        let failed = |it: std::io::Error| Error::NotWritten(it.to_string());
        gzip.write_all(MAGIC).map_err(failed)?;
        gzip.write_all(head.as_bytes()).map_err(failed)?;
        sorted.each_part(ledgers, |bytes| gzip.write_all(bytes).map_err(failed))?;
        gzip.finish().map_err(failed)
    }

    /// The bytes of what the file says and of the ledgers alone, as they are.
    ///
    /// # Errors
    /// If a path cannot be written.
    pub fn to_body<'a>(
        &self,
        ledgers: impl ExactSizeIterator<Item = Result<(u32, Cow<'a, Ledger>), Error>>,
    ) -> Result<Vec<u8>, Error> {
        let mut body = Vec::new();
        self.each_part(ledgers, |bytes| {
            body.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(body)
    }

    fn each_part<'a>(
        &self,
        ledgers: impl ExactSizeIterator<Item = Result<(u32, Cow<'a, Ledger>), Error>>,
        mut write: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut write = |part: Vec<u8>| {
            write(&encoded(&(part.len() as u64))?)?;
            write(&part)
        };
        write(encoded(&(self, ledgers.len()))?)?;
        for ledger in ledgers {
            let (rank, ledger) = ledger?;
            write(encoded(&(rank, &*ledger))?)?;
        }
        Ok(())
    }
}

fn encoded(value: &impl Serialize) -> Result<Vec<u8>, Error> {
    postcard::to_allocvec(value).map_err(|it| Error::NotWritten(it.to_string()))
}

/// What [`LedgerHead::to_body`] wrote, of all ranks.
///
/// # Errors
/// If the bytes are something else, or damaged.
pub fn read_body(body: &[u8]) -> Result<(LedgerHead, Vec<(u32, Ledger)>), Error> {
    let mut reader = LedgerReader::of_body();
    reader.feed(body);
    let (mut head, mut ledgers) = (LedgerHead::default(), Vec::new());
    while let Some(part) = reader.next_part()? {
        match part {
            LedgerPart::Head(it) => head = it,
            LedgerPart::Rank(rank, ledger) => ledgers.push((rank, *ledger)),
        }
    }
    reader.finish()?;
    Ok((head, ledgers))
}

/// What a file of ledgers holds, one after the other.
#[derive(Debug, Clone, PartialEq)]
pub enum LedgerPart {
    /// Where the ledgers come from.
    Head(LedgerHead),
    /// The ledger of a rank. Ranks come in ascending order.
    Rank(u32, Box<Ledger>),
}

/// Reads ledgers from bytes that come one after the other, so that a file of many ranks is never whole in memory. Nothing in the file is
/// believed that can be checked: lengths are held against the bytes that come, and the books of each rank must balance.
#[derive(Debug)]
pub struct LedgerReader {
    /// Bytes of a part at most.
    max_part: u64,
    /// What was fed, of which all before `at` was read.
    bytes: Vec<u8>,
    at: usize,
    next: NextPart,
}

#[derive(Debug, PartialEq)]
enum NextPart {
    /// The line that a file begins with.
    Line,
    Head,
    /// How many ranks come, and which was the last.
    Rank {
        left: usize,
        last: Option<u32>,
    },
    /// An error was returned.
    Nothing,
}

impl LedgerReader {
    /// Of the decompressed bytes of a file. A part of more than `max_part` bytes is an error, so that a small file cannot take all
    /// memory.
    #[must_use]
    pub fn of_file(max_part: u64) -> Self {
        Self { max_part, next: NextPart::Line, ..Self::of_body() }
    }

    /// Of what [`LedgerHead::to_body`] wrote.
    fn of_body() -> Self {
        Self { max_part: u64::MAX, bytes: Vec::new(), at: 0, next: NextPart::Head }
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.at);
        self.at = 0;
        if self.next != NextPart::Nothing {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// The next part; `None` where more bytes are needed for it, and at the end.
    ///
    /// # Errors
    /// If the bytes are no ledgers, those of another version, damaged, or more than may be read. Nothing follows.
    pub fn next_part(&mut self) -> Result<Option<LedgerPart>, Error> {
        let next = self.read_part();
        if next.is_err() {
            (self.next, self.bytes, self.at) = (NextPart::Nothing, Vec::new(), 0);
        }
        next
    }

    /// To be asked when all parts were taken.
    ///
    /// # Errors
    /// If more bytes should have come.
    pub fn finish(self) -> Result<(), Error> {
        match self.next {
            NextPart::Rank { left: 0, .. } if self.at == self.bytes.len() => Ok(()),
            NextPart::Line if !looks_like_ledger(&self.bytes) => Err(Error::NoLedger),
            _ => Err(Error::Damaged),
        }
    }

    fn read_part(&mut self) -> Result<Option<LedgerPart>, Error> {
        if self.next == NextPart::Line && !self.read_line()? {
            return Ok(None);
        }
        match self.next {
            NextPart::Line | NextPart::Nothing => Ok(None),
            NextPart::Head => {
                let Some((head, left)) = self.value()? else { return Ok(None) };
                self.next = NextPart::Rank { left, last: None };
                Ok(Some(LedgerPart::Head(head)))
            }
            NextPart::Rank { left: 0, .. } => {
                if self.at == self.bytes.len() {
                    Ok(None)
                } else {
                    Err(Error::Damaged)
                }
            }
            NextPart::Rank { left, last } => {
                let Some((rank, ledger)) = self.value::<(u32, Box<Ledger>)>()? else {
                    return Ok(None);
                };
                if last.is_some_and(|last| rank <= last) {
                    return Err(Error::Damaged);
                }
                if !ledger.adds_up() {
                    return Err(Error::Unbalanced);
                }
                self.next = NextPart::Rank { left: left - 1, last: Some(rank) };
                Ok(Some(LedgerPart::Rank(rank, ledger)))
            }
        }
    }

    /// Whether the line that a file begins with was there to be read.
    fn read_line(&mut self) -> Result<bool, Error> {
        let n = self.bytes.len().min(MAGIC.len());
        if self.bytes[..n] != MAGIC[..n] {
            return Err(Error::NoLedger);
        }
        let rest = &self.bytes[n..];
        let Some(end) = rest.iter().take(MAX_HEAD).position(|it| *it == b'\n') else {
            return if rest.len() < MAX_HEAD { Ok(false) } else { Err(Error::Damaged) };
        };
        let head = std::str::from_utf8(&rest[..end]).map_err(|_| Error::Damaged)?;
        let (found, by) = head.split_once(' ').ok_or(Error::Damaged)?;
        if found != VERSION.to_string() {
            return Err(Error::Version { found: found.to_owned(), by: by.to_owned() });
        }
        (self.at, self.next) = (n + end + 1, NextPart::Head);
        Ok(true)
    }

    /// The value of the next part; `None` where not all of its bytes came yet.
    fn value<T: DeserializeOwned>(&mut self) -> Result<Option<T>, Error> {
        let rest = &self.bytes[self.at..];
        let (length, body) = match postcard::take_from_bytes::<u64>(rest) {
            Ok(it) => it,
            Err(_) if rest.len() < MAX_VARINT => return Ok(None),
            Err(_) => return Err(Error::Damaged),
        };
        if self.max_part < length {
            return Err(Error::TooLarge { length, max: self.max_part });
        }
        let Some(part) = usize::try_from(length).ok().and_then(|it| body.get(..it)) else {
            return Ok(None);
        };
        let (value, after) = postcard::take_from_bytes(part).map_err(|_| Error::Damaged)?;
        if !after.is_empty() {
            return Err(Error::Damaged);
        }
        self.at += rest.len() - body.len() + part.len();
        Ok(Some(value))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use ledger::{
        Blocked, CollectiveCall, CollectiveKind, CollectiveSite, LineBooks, LineKey, Metric, Ns,
        PathCollective, PathPiece, PathTime, PerStep, ProcessGroup, RankCommunication, RankPaths,
        Reason, SourceFile, StepPath, ThreadKey, TimeRange,
    };
    use profile::WarningKind;
    use proptest::prelude::*;

    use super::*;

    type Sample = (LedgerHead, BTreeMap<u32, Ledger>);

    pub(crate) fn sample() -> Sample {
        let mut ledger = Ledger { ranks: 1, ..Ledger::default() };
        let key = LineKey { file: "train.py".to_owned(), line: 7 };
        let thread = ThreadKey { rank: 1, thread: "1".to_owned() };
        let books = LineBooks {
            function: "step".to_owned(),
            cpu_own: Ns(70),
            cpu_total: Ns(80),
            steps: [(3, PerStep { cpu: Ns(70), ..PerStep::default() })].into(),
            by_rank: [ledger::RankShare::of_thread(1, Ns(70))].into_iter().collect(),
            ..LineBooks::default()
        };
        ledger.lines.insert(key.clone(), Box::new(books));
        ledger.totals.cpu = Ns(100);
        ledger.unattributed.charge(Reason::NoPythonFrame, Metric::Cpu, 30);
        ledger.threads.insert(thread, Ns(100));
        ledger.steps.insert(3, Ns(90));
        let work = ledger::StepWork { kind: "decode".to_owned(), requests: Some(4), tokens: None };
        ledger.step_work.insert(3, work);
        let file = SourceFile { recorded: "/a/train.py".to_owned(), ..SourceFile::default() };
        ledger.files.insert("train.py".to_owned(), file);
        let path_line = key.clone();
        let site = CollectiveSite {
            kind: CollectiveKind::AllReduce,
            group: ProcessGroup { name: "0".to_owned(), ranks: "[0, 1]".to_owned(), size: 2 },
            bytes: None,
            is_on_device: true,
            line: Some(key),
            message: None,
        };
        let call = CollectiveCall {
            start: Ns(5),
            end: Ns(9),
            step: Some(3),
            sequence: None,
            blocked: Blocked { from: Ns(1), until: Ns(4) },
        };
        let sites = [(site, vec![call])].into();
        let communication = RankCommunication { sites, ..RankCommunication::default() };
        ledger.communication.insert(1, communication);
        let on_path = PathTime { host: Ns(4), launch: Ns(1), ..PathTime::default() };
        let piece = PathPiece {
            before: None,
            time: TimeRange { start: Ns(0), end: Ns(9) },
            collective: Some(PathCollective {
                start: Ns(5),
                from: Ns(5),
                is_on_device: true,
                line: Some(0),
            }),
            lines: vec![(Some(0), on_path)].into(),
        };
        let steps = [(Some(3), StepPath { pieces: vec![piece] })].into();
        ledger.critical_paths.insert(1, RankPaths { lines: vec![path_line], steps });
        let head = LedgerHead {
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
            texts: [("train.py".to_owned(), TextDigest::of("step()\n"))].into(),
        };
        (head, [(1, ledger)].into())
    }

    fn to_bytes((head, ledgers): &Sample) -> Vec<u8> {
        let each = ledgers.iter().map(|(rank, it)| Ok((*rank, Cow::Borrowed(it))));
        head.to_bytes(each).unwrap()
    }

    fn read(bytes: &[u8]) -> Result<Sample, Error> {
        read_in_pieces(bytes, bytes.len().max(1), LedgerReader::of_file(u64::MAX))
    }

    fn read_in_pieces(
        bytes: &[u8],
        length: usize,
        mut reader: LedgerReader,
    ) -> Result<Sample, Error> {
        let mut read = Sample::default();
        for piece in bytes.chunks(length) {
            reader.feed(piece);
            while let Some(part) = reader.next_part()? {
                match part {
                    LedgerPart::Head(head) => read.0 = head,
                    LedgerPart::Rank(rank, ledger) => drop(read.1.insert(rank, *ledger)),
                }
            }
        }
        reader.finish()?;
        Ok(read)
    }

    fn unpacked(file: &Sample) -> Vec<u8> {
        let mut bytes = Vec::new();
        let packed = to_bytes(file);
        flate2::read::GzDecoder::new(&*packed).read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_is_written_is_read_again() {
        let bytes = unpacked(&sample());
        let head = format!("perfline ledger {VERSION} ");
        assert!(looks_like_ledger(&bytes) && bytes.starts_with(head.as_bytes()));
        assert_eq!(read(&bytes), Ok(sample()));
        for length in [1, 7, 100] {
            let reader = LedgerReader::of_file(u64::MAX);
            assert_eq!(read_in_pieces(&bytes, length, reader), Ok(sample()), "{length}");
        }
    }

    #[test]
    fn a_part_that_is_too_large_is_refused_before_it_came() {
        let bytes = unpacked(&sample());
        let read = read_in_pieces(&bytes, 1, LedgerReader::of_file(100));
        assert!(matches!(read, Err(Error::TooLarge { max: 100, .. })), "{read:?}");
        let mut reader = LedgerReader { max_part: 1 << 20, ..LedgerReader::of_body() };
        reader.feed(&postcard::to_allocvec(&(3_u64 << 20)).unwrap());
        let error = reader.next_part().unwrap_err().to_string();
        assert!(error.starts_with("holds a rank of 3 MiB and may have 1;"), "{error}");
        // Nothing follows an error.
        reader.feed(&bytes);
        assert_eq!(reader.next_part(), Ok(None));
        assert_eq!(reader.finish(), Err(Error::Damaged));
    }

    #[test]
    fn the_order_of_inputs_does_not_matter() {
        let mut one = sample();
        let other =
            LedgerInput { path: "rank0.json.gz".to_owned(), rank: 0, ..one.0.inputs[0].clone() };
        one.0.inputs.push(other);
        let mut two = one.clone();
        two.0.inputs.reverse();
        assert_eq!(to_bytes(&one), to_bytes(&two));
    }

    #[test]
    fn what_cannot_be_believed_is_refused() {
        assert_eq!(read(b"{}"), Err(Error::NoLedger));
        let newer = format!("perfline ledger {} 2.0.0\nxyz", VERSION + 1);
        let found = (VERSION + 1).to_string();
        let version = Error::Version { found, by: "2.0.0".to_owned() };
        assert_eq!(read(newer.as_bytes()), Err(version));
        let mut bytes = unpacked(&sample());
        bytes.push(0);
        assert_eq!(read(&bytes), Err(Error::Damaged));
        let mut several = sample();
        several.1.insert(3, several.1[&1].clone());
        assert_eq!(read(&unpacked(&several)), Ok(several.clone()));
        let each = [3, 1].map(|rank| Ok((rank, Cow::Borrowed(&several.1[&rank]))));
        let descending = several.0.to_body(each.into_iter()).unwrap();
        assert_eq!(read_body(&descending), Err(Error::Damaged));
        let mut unbalanced = sample();
        unbalanced.1.values_mut().for_each(|it| it.totals.cpu = Ns(99));
        assert_eq!(read(&unpacked(&unbalanced)), Err(Error::Unbalanced));
        let mut with_gap = sample();
        let paths = with_gap.1.values_mut().flat_map(|it| it.critical_paths.values_mut());
        paths.for_each(|it| it.steps.values_mut().for_each(|it| it.pieces[0].time.start = Ns(1)));
        assert_eq!(read(&unpacked(&with_gap)), Err(Error::Unbalanced));
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
            let read = read(&bytes[..end]);
            let is_part = flips.is_empty() && end < bytes.len();
            prop_assert!(!is_part || read.is_err(), "a part is never taken for the whole");
        }

        #[test]
        fn noise_is_no_panic(noise in prop::collection::vec(any::<u8>(), 0..400)) {
            let bytes = [format!("perfline ledger {VERSION} 0\n").as_bytes(), &*noise].concat();
            let _ = read(&bytes);
        }
    }
}
