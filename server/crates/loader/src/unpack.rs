//! Decompresses, and says of damage where it is, what it means and what to do.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;
use profile::WarningKind;

use crate::utf16::FromUtf16;
use crate::zstd::{Zstd, is_zstd};

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
    fn reading(error: &io::Error) -> Self {
        let message =
            format!("reading the file failed ({error}); everything before was read; copy it again");
        Self { kind: WarningKind::Truncated, message, offset: None }
    }

    /// What cannot be decompressed, or was decompressed to something else.
    pub(crate) fn compression(message: String) -> Self {
        Self { kind: WarningKind::BrokenCompression, message, offset: None }
    }
}

/// The decompressed bytes of a file, text in UTF-16 as UTF-8.
pub(crate) struct Unpacked<R> {
    text: FromUtf16<Decompressed<R>>,
    /// Bytes that were handed out.
    offset: u64,
}

/// The decompressed bytes of a file as they are.
struct Decompressed<R> {
    format: Format<Started<R>>,
    damage: Vec<Damage>,
}

impl<R: Read> Read for Decompressed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.format {
            Format::Plain(file) => file.read(buffer),
            Format::Gzip(gzip) => gzip.read(buffer),
            Format::Zstd(zstd) => zstd.read(buffer, &mut self.damage),
        }
    }
}

/// A file of which the first bytes were read to determine its format.
type Started<R> = io::Chain<Cursor<Vec<u8>>, R>;

enum Format<R> {
    Plain(R),
    Gzip(Box<MultiGzDecoder<Compressed<R>>>),
    Zstd(Box<Zstd<R>>),
}

impl<R: Read> Unpacked<R> {
    /// Of a file that is read by `buffer` bytes at once where it is compressed.
    pub(crate) fn new(mut file: R, buffer: usize) -> Self {
        let mut magic = vec![0; 4];
        let (n, error) = fill(&mut magic, |rest| file.read(rest));
        magic.truncate(n);
        let is_gzip = magic.starts_with(&[0x1f, 0x8b]);
        let is_zstd = is_zstd(&magic);
        let file = Cursor::new(magic).chain(file);
        let compressed = |file| Compressed::new(file, buffer);
        let format = match (is_gzip, is_zstd) {
            (true, _) => Format::Gzip(Box::new(MultiGzDecoder::new(compressed(file)))),
            (_, true) => Format::Zstd(Box::new(Zstd::new(compressed(file)))),
            _ => Format::Plain(file),
        };
        let damage = error.iter().map(Damage::reading).collect();
        Self { text: FromUtf16::new(Decompressed { format, damage }), offset: 0 }
    }

    /// Fills `block` as far as the file goes: less only where it ends or cannot be read any further.
    pub(crate) fn fill(&mut self, block: &mut [u8]) -> usize {
        let (n, error) = fill(block, |rest| self.text.read(rest));
        self.offset += n as u64;
        if let Some(error) = error {
            let file = self.text.inner_mut();
            let damage = file.format.damage(&error);
            file.damage.push(Damage { offset: Some(self.offset), ..damage });
        }
        n
    }

    /// What was damaged so far.
    pub(crate) fn into_damage(self) -> Vec<Damage> {
        self.text.into_inner().damage
    }
}

impl<R: Read> Format<R> {
    /// Why decompressing ended with `error`.
    fn damage(&self, error: &io::Error) -> Damage {
        let (name, source, at) = match self {
            Self::Plain(_) => return Damage::reading(error),
            Self::Gzip(gzip) => ("gzip", gzip.get_ref(), gzip.get_ref().used()),
            Self::Zstd(zstd) => ("zstd", zstd.source(), zstd.part()),
        };
        if let Some(failure) = &source.failure {
            return Damage::reading(failure);
        }
        Damage::compression(if source.has_ended {
            format!(
                "the {name} data breaks off at compressed byte {}; everything before was read; copy the file again, or \
                 wait until it is written",
                source.used()
            )
        } else {
            format!(
                "the {name} data is damaged at compressed byte {at} ({error}): nothing behind was read, and numbers from \
                 before may be wrong; copy the file again, or record again"
            )
        })
    }
}

/// Fills `block` as far as `read` goes, so that what was read before an error is not lost.
fn fill(
    block: &mut [u8],
    mut read: impl FnMut(&mut [u8]) -> io::Result<usize>,
) -> (usize, Option<io::Error>) {
    let mut filled = 0;
    while filled < block.len() {
        match read(&mut block[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (filled, Some(error)),
        }
    }
    (filled, None)
}

/// Compressed bytes, and how far they were used.
pub(crate) struct Compressed<R> {
    inner: BufReader<R>,
    used: u64,
    /// Whether more was asked for than there is.
    has_ended: bool,
    /// Why reading failed. Decoders do not hand this on as it is.
    failure: Option<io::Error>,
}

impl<R: Read> Compressed<R> {
    fn new(inner: R, buffer: usize) -> Self {
        let inner = BufReader::with_capacity(buffer, inner);
        Self { inner, used: 0, has_ended: false, failure: None }
    }

    /// Bytes that were used.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// Leaves out the next `n` bytes.
    pub(crate) fn skip(&mut self, n: u64) -> io::Result<()> {
        let skipped = io::copy(&mut Read::take(&mut *self, n), &mut io::sink())?;
        if skipped < n { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }
}

impl<R: Read> BufRead for Compressed<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self.inner.fill_buf() {
            Ok(bytes) => {
                self.has_ended = bytes.is_empty();
                Ok(bytes)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let kind = error.kind();
                self.failure = Some(error);
                Err(kind.into())
            }
        }
    }

    fn consume(&mut self, n: usize) {
        self.used += n as u64;
        self.inner.consume(n);
    }
}

impl<R: Read> Read for Compressed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(buffer)?;
        self.consume(n);
        Ok(n)
    }
}
