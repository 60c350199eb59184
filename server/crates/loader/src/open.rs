//! Opens a file, tells what it is, and decompresses it.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Kind;
use crate::utf16::FromUtf16;

/// Compressed bytes that are asked for at once.
const BUFFER: usize = 256 << 10;

/// Decompressed bytes that are looked at to tell what a file is.
const PREFIX: usize = 64 << 10;

/// What the first bytes say a file is, and those bytes.
pub(crate) struct Sniffed {
    pub(crate) kind: Option<Kind>,
    pub(crate) prefix: Vec<u8>,
}

/// Tells what `path` is from its first bytes.
pub(crate) fn sniff(path: &Path) -> io::Result<Sniffed> {
    let counted = AtomicU64::new(0);
    let mut prefix = Vec::new();
    let read = decompressed(path, &counted)?.take(PREFIX as u64).read_to_end(&mut prefix);
    // A compressed file that is cut within the first bytes still shows what it holds.
    read.or_else(|error| if prefix.is_empty() { Err(error) } else { Ok(0) })?;
    let kind = if snapshot_reader::looks_like_snapshot(&prefix) {
        Some(Kind::Snapshot)
    } else if trace_reader::callers::looks_like_callers(&prefix) {
        Some(Kind::Callers)
    } else if trace_reader::looks_like_trace(&prefix) {
        Some(Kind::Kineto)
    } else if snapshot_reader::looks_like_timeline(&prefix) {
        Some(Kind::Timeline)
    } else {
        None
    };
    Ok(Sniffed { kind, prefix })
}

/// Fills `block` as far as the reader goes, so that what was decompressed before an error is not lost.
pub(crate) fn fill(reader: &mut impl Read, block: &mut [u8]) -> (usize, Option<io::Error>) {
    let mut filled = 0;
    while filled < block.len() {
        match reader.read(&mut block[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (filled, Some(error)),
        }
    }
    (filled, None)
}

/// The decompressed bytes of `path`, text in UTF-16 as UTF-8. Bytes read from the disk are added to `done`.
pub(crate) fn decompressed<'a>(
    path: &Path,
    done: &'a AtomicU64,
) -> io::Result<Box<dyn Read + Send + 'a>> {
    let mut file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder; name a file in it"));
    }
    let mut magic = [0; 4];
    let (n_magic, error) = fill(&mut file, &mut magic);
    if let Some(error) = error {
        return Err(error);
    }
    let file = Counted { inner: Cursor::new(magic[..n_magic].to_vec()).chain(file), done };
    let bytes: Box<dyn Read + Send + 'a> = match magic {
        [0x1f, 0x8b, ..] => {
            Box::new(flate2::read::MultiGzDecoder::new(BufReader::with_capacity(BUFFER, file)))
        }
        [0x28, 0xb5, 0x2f, 0xfd] => Box::new(Zstd::new(BufReader::with_capacity(BUFFER, file))),
        _ => Box::new(file),
    };
    Ok(Box::new(FromUtf16::new(bytes)))
}

/// Counts the bytes that go through.
struct Counted<'a, R> {
    inner: R,
    done: &'a AtomicU64,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.done.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// A zstd file: one frame after the other.
struct Zstd<R: Read + io::BufRead> {
    source: R,
    decoder: ruzstd::decoding::FrameDecoder,
    is_in_frame: bool,
}

impl<R: io::BufRead> Zstd<R> {
    fn new(source: R) -> Self {
        Self { source, decoder: ruzstd::decoding::FrameDecoder::new(), is_in_frame: false }
    }
}

impl<R: io::BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use ruzstd::decoding::BlockDecodingStrategy;
        loop {
            if !self.is_in_frame {
                if self.source.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                self.decoder.reset(&mut self.source).map_err(io::Error::other)?;
                self.is_in_frame = true;
            }
            if self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let strategy = BlockDecodingStrategy::UptoBytes(buffer.len().max(1));
                self.decoder.decode_blocks(&mut self.source, strategy).map_err(io::Error::other)?;
            }
            let n = self.decoder.read(buffer)?;
            if n > 0 {
                return Ok(n);
            }
            self.is_in_frame = !self.decoder.is_finished();
        }
    }
}
