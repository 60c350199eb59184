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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// Gives few bytes at once, is interrupted again and again, and fails or ends after some bytes as a disk does.
    struct Faulty<'a> {
        bytes: &'a [u8],
        at: usize,
        fails_at: Option<usize>,
        n_reads: usize,
    }

    impl Read for Faulty<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.n_reads += 1;
            if self.n_reads.is_multiple_of(3) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if self.fails_at.is_some_and(|it| it <= self.at) {
                return Err(io::Error::other("Input/output error"));
            }
            let end = self.fails_at.unwrap_or(self.bytes.len()).min(self.bytes.len());
            let n = (end - self.at).min(buffer.len()).min(1 + self.n_reads % 7);
            buffer[..n].copy_from_slice(&self.bytes[self.at..self.at + n]);
            self.at += n;
            Ok(n)
        }
    }

    fn text() -> Vec<u8> {
        (0..4000_u32)
            .flat_map(|it| format!("{{\"ts\": {}}},", it.wrapping_mul(2_654_435_761)).into_bytes())
            .collect()
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(text).unwrap();
        gzip.finish().unwrap()
    }

    /// What comes out, block by block, and what is said of it.
    fn read(bytes: &[u8], fails_at: Option<usize>) -> (Vec<u8>, Vec<Damage>) {
        let file = Faulty { bytes, at: 0, fails_at, n_reads: 0 };
        let mut unpacked = Unpacked::new(file, 512);
        let (mut out, mut block) = (Vec::new(), vec![0; 1000]);
        loop {
            let n = unpacked.fill(&mut block);
            out.extend_from_slice(&block[..n]);
            if n < block.len() {
                return (out, unpacked.into_damage());
            }
        }
    }

    #[test]
    fn short_and_interrupted_reads_change_nothing() {
        let text = text();
        let zstd =
            ruzstd::encoding::compress_to_vec(&*text, ruzstd::encoding::CompressionLevel::Fastest);
        for bytes in [text.clone(), gzip(&text), zstd] {
            let (found, damage) = read(&bytes, None);
            assert!(found == text);
            assert_eq!(damage, []);
        }
    }

    #[test]
    fn what_came_before_a_failure_of_the_disk_counts_and_the_failure_is_named() {
        let text = text();
        let zstd =
            ruzstd::encoding::compress_to_vec(&*text, ruzstd::encoding::CompressionLevel::Fastest);
        for bytes in [text.clone(), gzip(&text), zstd] {
            for part in 0..40 {
                let fails_at = part * bytes.len() / 40;
                let (found, damage) = read(&bytes, Some(fails_at));
                assert!(text.starts_with(&found));
                let expected = "reading the file failed (Input/output error): ";
                let is_named = damage.iter().all(|it| it.message.starts_with(expected));
                assert!(is_named && !damage.is_empty(), "{fails_at}: {damage:?}");
                if bytes == text {
                    assert_eq!(found.len(), fails_at, "all that was read counts");
                }
            }
        }
    }

    #[test]
    fn what_was_cut_off_while_it_was_read_counts_as_far_as_it_goes() {
        let text = text();
        let packed = gzip(&text);
        for part in 1..40 {
            let end = part * packed.len() / 40;
            let (found, damage) = read(&packed[..end], None);
            assert!(text.starts_with(&found));
            assert!(
                damage[0].message.starts_with("the gzip data breaks off at compressed byte "),
                "{damage:?}"
            );
        }
    }
}
