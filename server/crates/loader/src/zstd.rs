//! Zstandard (RFC 8878): one frame after the other, each held against what its header and its checksum say.
//!
//! The decoder that is used computes the checksum of a frame and compares it with nothing, ignores the size that the
//! header says, and keeps the last megabytes of a frame to itself when the frame is damaged. All of that is done here.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::compressed::Compressed;
use crate::damage::Damage;

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Largest window in bytes, which is memory that a frame asks for: that of the `zstd` command.
const MAX_WINDOW: u64 = 128 << 20;

/// A frame that ends at once: a last block, which is empty, and a checksum in case there is to be one.
const END: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

/// Whether a file that begins with `magic` is compressed with zstd.
pub(crate) fn is_zstd(magic: &[u8]) -> bool {
    magic == MAGIC || is_skippable(magic)
}

/// Whether what begins with `magic` is a frame with something for other programs.
fn is_skippable(magic: &[u8]) -> bool {
    matches!(magic, [0x50..=0x5f, 0x2a, 0x4d, 0x18])
}

/// The decompressed bytes of a zstd file.
pub(crate) struct Zstd<R> {
    source: Compressed<R>,
    decoder: FrameDecoder,
    frame: Option<ZstdFrame>,
    /// Where the block, or what stands between blocks, begins that is at hand.
    part: u64,
    /// Decompressed bytes that were handed out.
    handed_out: u64,
}

/// The frame at hand.
struct ZstdFrame {
    /// Where it begins in the compressed bytes, and in the decompressed ones.
    start: [u64; 2],
    /// Decompressed bytes that its header promises.
    content: Option<u64>,
    /// Why nothing more of it can be decompressed.
    broken: Option<io::Error>,
}

impl<R: Read> Zstd<R> {
    pub(crate) fn new(source: Compressed<R>) -> Self {
        Self { source, decoder: FrameDecoder::new(), frame: None, part: 0, handed_out: 0 }
    }

    pub(crate) fn source(&self) -> &Compressed<R> {
        &self.source
    }

    /// Where in the compressed bytes the part begins that is at hand, and is damaged if anything is.
    pub(crate) fn part(&self) -> u64 {
        self.part
    }

    /// Reads on; 0 at the end. A frame that is not what it says it was is added to `damage`, and the next one is read.
    ///
    /// # Errors
    /// If the bytes cannot be decompressed any further. All that could be was handed out before.
    pub(crate) fn read(
        &mut self,
        buffer: &mut [u8],
        damage: &mut Vec<Damage>,
    ) -> io::Result<usize> {
        loop {
            let frame = match &mut self.frame {
                Some(frame) => frame,
                None if self.source.fill_buf()?.is_empty() => return Ok(0),
                None => {
                    if let Some(frame) = self.begin()? {
                        self.frame = Some(frame);
                    }
                    continue;
                }
            };
            let n = self.decoder.read(buffer)?;
            if n > 0 || buffer.is_empty() {
                self.handed_out += n as u64;
                return Ok(n);
            }
            if let Some(error) = frame.broken.take() {
                return Err(error);
            }
            if self.decoder.is_finished() {
                let end = [self.source.used(), self.handed_out];
                damage.extend(frame.mismatch(&self.decoder, end));
                self.frame = None;
                continue;
            }
            let one = BlockDecodingStrategy::UptoBlocks(1);
            self.part = self.source.used();
            if let Err(error) = self.decoder.decode_blocks(&mut self.source, one) {
                frame.broken = Some(io::Error::other(error));
                // The decoder gives the last part of a frame only when the frame has ended.
                let _ = self.decoder.decode_blocks(&END[..], BlockDecodingStrategy::All);
            }
        }
    }

    /// Begins the next frame; `None` if it holds nothing for us.
    fn begin(&mut self) -> io::Result<Option<ZstdFrame>> {
        self.part = self.source.used();
        let start = [self.part, self.handed_out];
        let mut magic = [0; 4];
        self.source.read_exact(&mut magic)?;
        if is_skippable(&magic) {
            let mut length = [0; 4];
            self.source.read_exact(&mut length)?;
            self.source.skip(u64::from(u32::from_le_bytes(length)))?;
            return Ok(None);
        }
        if magic != MAGIC {
            return Err(io::Error::other("here a frame should begin"));
        }
        let header = ZstdFrameHeader::read(&mut self.source)?;
        if header.window > MAX_WINDOW {
            return Err(io::Error::other(format!(
                "it needs {} MiB of memory; compress it again without --long or --ultra",
                header.window >> 20
            )));
        }
        // One that was used before refuses windows that a new one takes.
        self.decoder = FrameDecoder::new();
        self.decoder.reset(header.bytes()).map_err(io::Error::other)?;
        Ok(Some(ZstdFrame { start, content: header.content, broken: None }))
    }
}

impl ZstdFrame {
    /// What contradicts the frame, which was decompressed and handed out as a whole and ends at `end`.
    fn mismatch(&self, decoder: &FrameDecoder, end: [u64; 2]) -> Option<Damage> {
        let ([start, first], [end, last]) = (self.start, end);
        let recorded = decoder.get_checksum_from_data();
        let what = if self.content.is_some_and(|it| it != last - first) {
            "does not have the size that its header states"
        } else if recorded.is_some() && recorded != decoder.get_calculated_checksum() {
            "does not match its checksum"
        } else {
            return None;
        };
        Some(Damage::compression(format!(
            "the zstd frame in compressed bytes {start} to {end} (decompressed: {first} to {last}) {what}: it is \
             damaged, and numbers from it may be wrong; copy the file again, or record again"
        )))
    }
}

/// What the header of a frame says.
struct ZstdFrameHeader {
    /// The header with its magic number, as the decoder reads it.
    bytes: [u8; 18],
    len: usize,
    /// Bytes of memory that decompressing needs.
    window: u64,
    /// Decompressed bytes of the frame, if the header states them.
    content: Option<u64>,
}

impl ZstdFrameHeader {
    /// Reads what follows the magic number.
    fn read(source: &mut impl Read) -> io::Result<Self> {
        let mut bytes = [0; 18];
        bytes[..4].copy_from_slice(&MAGIC);
        source.read_exact(&mut bytes[4..5])?;
        let descriptor = bytes[4];
        if descriptor & 0b1000 != 0 {
            return Err(io::Error::other("its header has a bit that no version of zstd sets"));
        }
        let is_single_segment = descriptor & 0b10_0000 != 0;
        let n_window = usize::from(!is_single_segment);
        let n_dictionary = [0, 1, 2, 4][usize::from(descriptor & 0b11)];
        let n_content = match descriptor >> 6 {
            0 => usize::from(is_single_segment),
            flag => 1 << flag,
        };
        let len = 5 + n_window + n_dictionary + n_content;
        source.read_exact(&mut bytes[5..len])?;
        let content = &bytes[len - n_content..len];
        let content = content.iter().rev().fold(0, |number, &it| number << 8 | u64::from(it));
        // A value below 256 may be written in two bytes.
        let content =
            (n_content > 0).then_some(if n_content == 2 { content + 256 } else { content });
        let window = if is_single_segment {
            content.unwrap_or(0)
        } else {
            let (exponent, eighths) = (bytes[5] >> 3, u64::from(bytes[5] & 0b111));
            let base = 1_u64 << (10 + exponent);
            base + base / 8 * eighths
        };
        Ok(Self { bytes, len, window, content })
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use crate::damage::Damage;
    use crate::unpack::Unpacked;

    fn unpack(bytes: &[u8]) -> (Vec<u8>, Vec<Damage>) {
        let mut unpacked = Unpacked::new(bytes, 64);
        let mut text = Vec::new();
        loop {
            let mut block = vec![0; 1 << 10];
            let n = unpacked.fill(&mut block);
            text.extend_from_slice(&block[..n]);
            if n < block.len() {
                return (text, unpacked.into_damage());
            }
        }
    }

    #[test]
    fn every_single_flipped_bit_that_changes_anything_is_noticed() {
        let text: Vec<u8> = (0..9000_u32).flat_map(|it| (it * it % 251).to_be_bytes()).collect();
        let packed = compress_to_vec(&text[..], CompressionLevel::Fastest);
        assert_eq!(unpack(&packed), (text.clone(), Vec::new()));
        for bit in 0..packed.len() * 8 {
            let mut bytes = packed.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let (read, damage) = unpack(&bytes);
            // Without the magic number it is something else, which is noticed later.
            let is_zstd = super::is_zstd(&bytes[..4]);
            assert!(read == text || !damage.is_empty() || !is_zstd, "bit {bit}");
        }
    }
}
