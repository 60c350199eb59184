//! Opens an input and determines its format. What is looked at and what is read come from one handle, so that a pipe loses
//! nothing and a file that is exchanged meanwhile is not taken for the one that was looked at. What was read to look is kept of
//! what can be read only once, and of URLs; a file is read again from its begin.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use flight_recorder::looks_like_dump;
use profile::{Meta, Profile};
use remote_files::RemoteFile;
use trace_reader::TraceReader;

use crate::damage::Damage;
use crate::file_identity::FileIdentity;
use crate::stable_hash::StableHash;
use crate::unpack::Unpacked;
use crate::{Error, InputKind, STANDARD_INPUT, names};

/// Compressed bytes that are asked for at once.
const BUFFER: usize = 256 << 10;

/// The same while looking at an input: what is asked for may be kept until it is read.
const LOOK_BUFFER: usize = 16 << 10;

/// Decompressed bytes that are looked at to determine what a file is.
const PREFIX: usize = 64 << 10;

/// Bytes of a file that are read for these at most: what a compressed file begins with may hold nothing.
const MAX_HEAD: u64 = 1 << 20;

/// Parts of a file that are hashed to recognise it, and the bytes of each. They are few enough for a disk that has to seek. Of a
/// compressed file the last part is enough: it holds the checksum of all.
const SAMPLES: u64 = 16;
const SAMPLE: u64 = 4 << 10;

/// An input that was looked at and can be read, once.
pub(crate) struct Opened {
    pub(crate) path: PathBuf,
    /// Bytes on disk; 0 where it is not known, as of a pipe.
    pub(crate) size: u64,
    /// What the first bytes say it is.
    pub(crate) kind: Option<InputKind>,
    /// Whether there is nothing in it.
    pub(crate) is_empty: bool,
    /// What is wrong with its first bytes.
    pub(crate) damage: Option<Damage>,
    /// Of the decompressed bytes that were looked at.
    prefix_digest: u64,
    /// Of all, once somebody asked for it.
    digest: Option<Option<u64>>,
    /// Whether these name the time of an event: no two recordings begin with the same then.
    has_times: bool,
    /// What was read to look at it; nothing of a file.
    head: Vec<u8>,
    source: ByteSource,
}

/// Where the bytes of an input come from.
enum ByteSource {
    /// A regular file, which is read at any place.
    File(File),
    /// What can be read only once, as a pipe.
    Stream(File),
    Remote(RemoteFile),
}

/// What two names of one file have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Identity {
    /// Device and number.
    #[cfg(unix)]
    Number([u64; 2]),
    /// The one spelling of its name.
    Name(PathBuf),
}

impl Identity {
    /// Of what `path` names, without opening it: a pipe would wait.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        if remote_files::is_url(path) {
            return Some(Self::Name(path.to_owned()));
        }
        Self::of_file(path)
    }

    #[cfg(unix)]
    fn of_file(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let metadata = if path == Path::new(STANDARD_INPUT) {
            standard_input().and_then(|file| file.metadata())
        } else {
            std::fs::metadata(path)
        };
        metadata.ok().map(|it| Self::Number([it.dev(), it.ino()]))
    }

    /// Hard links are recognised by their content alone.
    #[cfg(not(unix))]
    fn of_file(path: &Path) -> Option<Self> {
        if path == Path::new(STANDARD_INPUT) {
            return Some(Self::Name(path.to_owned()));
        }
        std::fs::canonicalize(path).ok().map(Self::Name)
    }
}

/// Opens an input that somebody named, and looks at it: a file, a pipe, a device, `-`, or a URL.
///
/// # Errors
/// If it cannot be opened, or its first bytes cannot be read.
pub(crate) fn named(path: &Path) -> Result<Opened, Error> {
    let source = if path == Path::new(STANDARD_INPUT) {
        standard_input().and_then(ByteSource::of_standard_input)
    } else if remote_files::is_url(path) {
        RemoteFile::open(path).map(ByteSource::Remote)
    } else {
        open_file(path).and_then(ByteSource::of_file)
    };
    source
        .and_then(|source| Opened::new(path, source))
        .map_err(|source| Error::Io { path: path.to_owned(), source })
}

/// Reads a file that lies beside a recording: `named`, if the user named it too, else what is found at `path`.
///
/// # Errors
/// If it cannot be opened, or those of `read`.
pub(crate) fn named_or_found<T>(
    named: Option<&Opened>,
    path: &Path,
    read: impl FnOnce(&Opened) -> Result<T, Error>,
) -> Result<T, Error> {
    match named {
        Some(named) => read(named),
        None => read(&found(path)?),
    }
}

/// Opens a file that the user did not name, and looks at it. What is no regular file is never opened: a pipe waits for a
/// program that writes into it, and a device may do anything.
///
/// # Errors
/// If it is something else or cannot be opened, or its first bytes cannot be read.
pub(crate) fn found(path: &Path) -> Result<Opened, Error> {
    if remote_files::is_url(path) {
        return named(path);
    }
    let refused = || io::Error::new(io::ErrorKind::InvalidInput, "is no regular file");
    let open = || {
        if !std::fs::metadata(path)?.is_file() {
            return Err(refused());
        }
        match ByteSource::of_file(open_file(path)?)? {
            // It was exchanged meanwhile.
            ByteSource::Stream(_) => Err(refused()),
            source => Opened::new(path, source),
        }
    };
    open().map_err(|source| Error::Io { path: path.to_owned(), source })
}

impl Opened {
    fn new(path: &Path, source: ByteSource) -> io::Result<Self> {
        let size = source.size()?;
        let mut head = Vec::new();
        let mut prefix = vec![0; PREFIX];
        let tee = Tee { source: source.bytes_from(0), head: &mut head };
        let mut unpacked = Unpacked::new(tee.take(MAX_HEAD), LOOK_BUFFER);
        let n = unpacked.fill(&mut prefix);
        prefix.truncate(n);
        let mut damage = unpacked.into_damage();
        if head.len() as u64 == MAX_HEAD {
            // That looking ended there is no damage.
            damage.clear();
        }
        let damage = damage.into_iter().next();
        // Of a run there may be thousands of files.
        match source {
            ByteSource::File(_) => head = Vec::new(),
            ByteSource::Stream(_) | ByteSource::Remote(_) => head.shrink_to_fit(),
        }
        let mut hasher = DefaultHasher::new();
        prefix.hash(&mut hasher);
        Ok(Self {
            path: path.to_owned(),
            size: size.unwrap_or(0),
            kind: kind(&prefix),
            is_empty: prefix.is_empty() && damage.is_none(),
            damage,
            prefix_digest: hasher.finish(),
            digest: None,
            has_times: prefix.windows(4).any(|it| it == b"\"ts\""),
            head,
            source,
        })
    }

    /// The decompressed bytes. Bytes of the file are added to `done` when they are read.
    pub(crate) fn unpacked<'a>(&'a self, done: &'a AtomicU64) -> Unpacked<impl Read + Send + 'a> {
        Unpacked::new(CountingReader { inner: self.bytes(), done }, BUFFER)
    }

    /// All bytes as they are.
    fn bytes(&self) -> impl Read + Send + '_ {
        Cursor::new(&*self.head).chain(self.source.bytes_from(self.head.len() as u64))
    }

    /// What the head of a trace says about the recording; that of some versions stands behind the events.
    pub(crate) fn head_meta(&self) -> Meta {
        self.head_profile().meta
    }

    /// What the head of a trace holds.
    pub(crate) fn head_profile(&self) -> Profile {
        let mut reader = TraceReader::new();
        reader.feed(&self.prefix());
        reader.finish().profile
    }

    /// The first decompressed bytes: those that were looked at.
    pub(crate) fn prefix(&self) -> Vec<u8> {
        self.first_bytes(PREFIX)
    }

    /// As many decompressed bytes as there are of the first `length`; of a file on another machine, in the part that was looked at.
    pub(crate) fn first_bytes(&self, length: usize) -> Vec<u8> {
        let n_bytes = match self.source {
            ByteSource::File(_) => MAX_HEAD.max(length as u64),
            ByteSource::Stream(_) | ByteSource::Remote(_) => self.head.len() as u64,
        };
        let mut bytes = vec![0; length];
        let n = Unpacked::new(self.bytes().take(n_bytes), LOOK_BUFFER).fill(&mut bytes);
        bytes.truncate(n);
        bytes
    }

    /// The bytes that stand at `place` of a file as it is, as many as `buffer` has.
    ///
    /// # Errors
    /// If they cannot be read, or there are not as many, or all can be read only once.
    pub(crate) fn read_at(&self, place: u64, buffer: &mut [u8]) -> io::Result<()> {
        match &self.source {
            ByteSource::File(_) => self.source.bytes_from(place).read_exact(buffer),
            ByteSource::Stream(_) | ByteSource::Remote(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// What the system says of the file; `None` of a pipe.
    pub(crate) fn identity(&self) -> Option<FileIdentity> {
        match &self.source {
            ByteSource::File(file) => FileIdentity::of(&file.metadata().ok()?),
            ByteSource::Stream(_) => None,
            ByteSource::Remote(file) => FileIdentity::of_remote(&file.metadata()),
        }
    }

    /// The hash of parts of the file as it is, from the first bytes to the last. Of a URL it is that of the first bytes: the tag of
    /// its content is part of its identity.
    ///
    /// # Errors
    /// If it cannot be read, or only once.
    pub(crate) fn sample(&self) -> io::Result<u128> {
        let mut hash = StableHash::new();
        match &self.source {
            ByteSource::Stream(_) => return Err(io::ErrorKind::Unsupported.into()),
            ByteSource::Remote(_) => hash.bytes(&self.head),
            ByteSource::File(_) => {
                let mut part = Vec::new();
                let last = self.size.saturating_sub(SAMPLE);
                for at in (0..SAMPLES - 1).map(|it| last / (SAMPLES - 1) * it).chain([last]) {
                    part.clear();
                    self.source.bytes_from(at).take(SAMPLE).read_to_end(&mut part)?;
                    hash.bytes(&part);
                }
            }
        }
        Ok(hash.0)
    }

    /// Whether a side-car may lie beside it.
    pub(crate) fn is_regular(&self) -> bool {
        !matches!(self.source, ByteSource::Stream(_))
    }

    /// Whether both hold the same recording, although they are different files. Nothing is read for traces: their first
    /// events name the time in nanoseconds. Others must be equal to the last byte, and are read for that, once, where
    /// their names or sizes suggest it and they are regular files.
    ///
    /// # Errors
    /// If one of them cannot be put back to where it was.
    pub(crate) fn is_same_recording(
        &mut self,
        other: &mut Self,
        cancelled: &AtomicBool,
    ) -> io::Result<bool> {
        if (self.kind, self.prefix_digest) != (other.kind, other.prefix_digest) {
            return Ok(false);
        }
        if self.kind == Some(InputKind::Kineto) && self.has_times {
            return Ok(true);
        }
        if self.size != other.size && names::stem(&self.path) != names::stem(&other.path) {
            return Ok(false);
        }
        let digest = self.digest(cancelled)?;
        Ok(digest.is_some() && digest == other.digest(cancelled)?)
    }

    /// Of all decompressed bytes; `None` of what is damaged or can be read only once.
    fn digest(&mut self, cancelled: &AtomicBool) -> io::Result<Option<u64>> {
        if self.digest.is_none() && self.is_regular() {
            let digest = self.read_digest(cancelled);
            if let ByteSource::Remote(file) = &self.source {
                let mut file = file;
                file.seek(SeekFrom::Start(self.head.len() as u64))?;
            }
            self.digest = Some(digest);
        }
        Ok(self.digest.flatten())
    }

    fn read_digest(&self, cancelled: &AtomicBool) -> Option<u64> {
        let done = AtomicU64::new(0);
        let mut unpacked = self.unpacked(&done);
        let mut block = vec![0; PREFIX];
        let mut hasher = DefaultHasher::new();
        loop {
            let n = unpacked.fill(&mut block);
            block[..n].hash(&mut hasher);
            if cancelled.load(Ordering::Relaxed) {
                return None;
            }
            if n < block.len() {
                return unpacked.into_damage().is_empty().then(|| hasher.finish());
            }
        }
    }
}

fn kind(prefix: &[u8]) -> Option<InputKind> {
    if looks_like_dump(prefix) {
        None
    } else if snapshot_reader::looks_like_snapshot(prefix) {
        Some(InputKind::Snapshot)
    } else if ledger_file::looks_like_ledger(prefix) {
        Some(InputKind::Ledger)
    } else if trace_reader::callers::looks_like_callers(prefix) {
        Some(InputKind::Callers)
    } else if compile_log::looks_like_compile_log(prefix) {
        Some(InputKind::CompileLog)
    } else if trace_reader::graph_stacks::looks_like_graph_stacks(prefix) {
        Some(InputKind::GraphCapture)
    } else if trace_reader::looks_like_trace(prefix) {
        Some(InputKind::Kineto)
    } else if snapshot_reader::looks_like_timeline(prefix) {
        Some(InputKind::Timeline)
    } else {
        None
    }
}

/// The standard input as a file of its own: closing it closes nothing else, and nothing stays in a buffer.
fn standard_input() -> io::Result<File> {
    #[cfg(unix)]
    let owned = std::os::fd::AsFd::as_fd(&io::stdin()).try_clone_to_owned();
    #[cfg(windows)]
    let owned = std::os::windows::io::AsHandle::as_handle(&io::stdin()).try_clone_to_owned();
    owned.map(File::from)
}

/// Opens a file. Inputs stay open from the first look to the last byte, and a run may have a thousand ranks.
#[cfg(unix)]
fn open_file(path: &Path) -> io::Result<File> {
    let are_too_many = |result: &io::Result<File>| {
        let code = result.as_ref().err().and_then(io::Error::raw_os_error);
        code == Some(rustix::io::Errno::MFILE.raw_os_error())
    };
    let mut result = File::open(path);
    if are_too_many(&result) && raise_limit_of_files() {
        result = File::open(path);
    }
    if are_too_many(&result) {
        let message = "too many open files; allow more (ulimit -n) or name fewer inputs";
        return Err(io::Error::other(message));
    }
    result
}

#[cfg(not(unix))]
fn open_file(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Whether this process may open more files now than before: many shells allow less than the system does.
#[cfg(unix)]
fn raise_limit_of_files() -> bool {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    limit.current != limit.maximum && setrlimit(Resource::Nofile, raised).is_ok()
}

impl ByteSource {
    /// # Errors
    /// If it is a folder, or nothing is known of it.
    fn of_file(file: File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            let message = "is a folder; name a file in it";
            return Err(io::Error::new(io::ErrorKind::IsADirectory, message));
        }
        Ok(if metadata.is_file() { Self::File(file) } else { Self::Stream(file) })
    }

    /// # Errors
    /// Those of [`Self::of_file`].
    fn of_standard_input(mut file: File) -> io::Result<Self> {
        // Another program may have read its begin.
        let is_at_begin = file.stream_position().is_ok_and(|place| place == 0);
        Ok(match Self::of_file(file)? {
            Self::File(file) if !is_at_begin => Self::Stream(file),
            source => source,
        })
    }

    /// Bytes in all; `None` of what can be read only once.
    ///
    /// # Errors
    /// If nothing is known of it.
    fn size(&self) -> io::Result<Option<u64>> {
        Ok(match self {
            Self::File(file) => Some(file.metadata()?.len()),
            Self::Stream(_) => None,
            Self::Remote(file) => Some(file.metadata().size),
        })
    }

    /// The bytes from `place`. What is no file goes on where it was left.
    fn bytes_from(&self, place: u64) -> BytesFrom<'_> {
        BytesFrom { source: self, place }
    }
}

/// Reads on from a place. Several may read one file.
struct BytesFrom<'a> {
    source: &'a ByteSource,
    /// Where the next byte of a file is.
    place: u64,
}

impl Read for BytesFrom<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.source {
            ByteSource::File(file) => {
                let n = read_at(file, buffer, self.place)?;
                self.place += n as u64;
                Ok(n)
            }
            ByteSource::Stream(file) => (&mut &*file).read(buffer),
            ByteSource::Remote(file) => (&mut &*file).read(buffer),
        }
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], place: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, place)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], place: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, place)
}

/// Keeps what goes through.
struct Tee<'a> {
    source: BytesFrom<'a>,
    head: &'a mut Vec<u8>,
}

impl Read for Tee<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(buffer)?;
        self.head.extend_from_slice(&buffer[..n]);
        Ok(n)
    }
}

/// Counts the bytes that go through.
struct CountingReader<'a, R> {
    inner: R,
    done: &'a AtomicU64,
}

impl<R: Read> Read for CountingReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.done.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}
