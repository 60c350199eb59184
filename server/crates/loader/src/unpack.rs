//! Decompresses, and says of damage where it is, what it means and what to do.

use std::io::{self, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

use crate::compressed::Compressed;
use crate::damage::Damage;
use crate::utf16::FromUtf16;
use crate::zstd::{Zstd, is_zstd};

/// The decompressed bytes of a file, text in UTF-16 as UTF-8.
pub(crate) struct Unpacked<R> {
    text: FromUtf16<Decompressed<R>>,
    /// Bytes that were handed out.
    offset: u64,
}

/// The decompressed bytes of a file as they are.
struct Decompressed<R> {
    format: Compression<Started<R>>,
    damage: Vec<Damage>,
}

impl<R: Read> Read for Decompressed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.format {
            Compression::Plain(file) => file.read(buffer),
            Compression::Gzip(gzip) => gzip.read(buffer),
            Compression::Zstd(zstd) => zstd.read(buffer, &mut self.damage),
        }
    }
}

/// A file of which the first bytes were read to determine its format.
type Started<R> = io::Chain<Cursor<Vec<u8>>, R>;

enum Compression<R> {
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
            (true, _) => Compression::Gzip(Box::new(MultiGzDecoder::new(compressed(file)))),
            (_, true) => Compression::Zstd(Box::new(Zstd::new(compressed(file)))),
            _ => Compression::Plain(file),
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

impl<R: Read> Compression<R> {
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
                "the {name} data breaks off at compressed byte {}: nothing behind was read; copy the file again, or \
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
