//! Text in UTF-16, which is what Windows PowerShell writes where output is redirected into a file, as UTF-8.

use std::io::{self, Read};

/// Bytes of UTF-16 that are read at once.
const CHUNK: usize = 64 << 10;

/// A byte that is in no UTF-8 text: stands for what is no character, so that the reader of the text reports it.
const NO_CHARACTER: u8 = 0xff;

/// Gives the text of `inner` in UTF-8 where a byte order mark says that it is UTF-16, and its bytes as they are where not.
pub(crate) struct FromUtf16<R> {
    inner: R,
    /// The first two bytes, and how many of them are known.
    head: [u8; 2],
    n_head: usize,
    state: Utf16State,
}

enum Utf16State {
    /// The first two bytes are not known yet.
    Start,
    /// It is not UTF-16. So many bytes of the head were given.
    Other {
        n_given: usize,
    },
    Utf16(Decoder),
}

impl<R: Read> FromUtf16<R> {
    /// Nothing is read yet.
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, head: [0; 2], n_head: 0, state: Utf16State::Start }
    }

    /// What the text comes from.
    pub(crate) fn inner_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// Gives back what the text comes from.
    pub(crate) fn into_inner(self) -> R {
        self.inner
    }

    /// Determines which it is.
    fn start(&mut self) -> io::Result<Utf16State> {
        while self.n_head < self.head.len() {
            match self.inner.read(&mut self.head[self.n_head..])? {
                0 => break,
                n => self.n_head += n,
            }
        }
        Ok(match self.head[..self.n_head] {
            [0xff, 0xfe] => Utf16State::Utf16(Decoder::new(u16::from_le_bytes)),
            [0xfe, 0xff] => Utf16State::Utf16(Decoder::new(u16::from_be_bytes)),
            _ => Utf16State::Other { n_given: 0 },
        })
    }
}

impl<R: Read> Read for FromUtf16<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Utf16State::Start = self.state {
            self.state = self.start()?;
        }
        match &mut self.state {
            Utf16State::Utf16(decoder) => decoder.read(&mut self.inner, buffer),
            Utf16State::Other { n_given } if *n_given < self.n_head => {
                let n = (&self.head[*n_given..self.n_head]).read(buffer)?;
                *n_given += n;
                Ok(n)
            }
            Utf16State::Start | Utf16State::Other { .. } => self.inner.read(buffer),
        }
    }
}

/// Decodes UTF-16 piece by piece.
struct Decoder {
    unit: fn([u8; 2]) -> u16,
    /// The first byte of a unit whose second was not read yet.
    half: Option<u8>,
    /// The first unit of a surrogate pair whose second was not read yet.
    high: Option<u16>,
    /// Text in UTF-8, and how much of it was given.
    text: Vec<u8>,
    n_given: usize,
    chunk: Vec<u8>,
}

impl Decoder {
    fn new(unit: fn([u8; 2]) -> u16) -> Self {
        let (text, chunk) = (Vec::new(), vec![0; CHUNK]);
        Self { unit, half: None, high: None, text, n_given: 0, chunk }
    }

    fn read(&mut self, inner: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
        while self.n_given == self.text.len() {
            let n = inner.read(&mut self.chunk)?;
            self.text.clear();
            self.n_given = 0;
            if n == 0 {
                if self.half.take().is_none() & self.high.take().is_none() {
                    return Ok(0);
                }
                self.text.push(NO_CHARACTER);
            }
            for index in 0..n {
                self.byte(self.chunk[index]);
            }
        }
        let n = (&self.text[self.n_given..]).read(buffer)?;
        self.n_given += n;
        Ok(n)
    }

    fn byte(&mut self, byte: u8) {
        let Some(first) = self.half.take() else {
            self.half = Some(byte);
            return;
        };
        let unit = (self.unit)([first, byte]);
        let is_low = matches!(unit, 0xdc00..=0xdfff);
        match self.high.take() {
            Some(high) if is_low => return self.characters(&[high, unit]),
            Some(_) => self.text.push(NO_CHARACTER),
            None => {}
        }
        match unit {
            0xd800..=0xdbff => self.high = Some(unit),
            _ => self.characters(&[unit]),
        }
    }

    fn characters(&mut self, units: &[u16]) {
        for character in char::decode_utf16(units.iter().copied()) {
            match character {
                Ok(character) => {
                    self.text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Err(_) => self.text.push(NO_CHARACTER),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives at most `step` bytes at once.
    struct Slow<'a> {
        bytes: &'a [u8],
        step: usize,
    }

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let n = self.step.min(buffer.len());
            self.bytes.read(&mut buffer[..n])
        }
    }

    fn utf16(text: &str) -> [Vec<u8>; 2] {
        let units = || std::iter::once(0xfeff).chain(text.encode_utf16());
        [units().flat_map(u16::to_le_bytes).collect(), units().flat_map(u16::to_be_bytes).collect()]
    }

    fn decoded(bytes: &[u8], step: usize) -> Vec<u8> {
        let mut text = Vec::new();
        let mut reader = FromUtf16::new(Slow { bytes, step });
        let mut buffer = vec![0; step + 1];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return text,
                Ok(n) => text.extend_from_slice(&buffer[..n]),
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn text_comes_out_as_utf_8_however_it_is_cut() {
        let text = "{\"name\": \"é 漢 😀 \\u0041\"}".repeat(3);
        for bytes in utf16(&text) {
            for step in [1, 2, 3, 7, 1000] {
                assert_eq!(decoded(&bytes, step), text.as_bytes(), "{step}");
            }
        }
    }

    #[test]
    fn text_longer_than_a_chunk_is_whole() {
        let text = "a😀".repeat(CHUNK);
        for bytes in utf16(&text) {
            assert_eq!(decoded(&bytes, 1 << 20), text.as_bytes());
        }
    }

    #[test]
    fn anything_else_stays_as_it_is() {
        for bytes in
            [&b""[..], b"{", b"{}", b"\xff", b"\xfe\xfe\xff", b"\x1f\x8b\x08", b"\xef\xbb\xbf{}"]
        {
            for step in [1, 2, 5] {
                assert_eq!(decoded(bytes, step), bytes);
            }
        }
    }

    #[test]
    fn what_is_no_character_is_seen() {
        let cases: [(&[u16], &[u8]); 5] = [
            (&[0x61, 0xd83d, 0x62], b"a\xffb"),
            (&[0x61, 0xde00, 0x62], b"a\xffb"),
            (&[0xd83d, 0xd83d, 0xde00], b"\xff\xf0\x9f\x98\x80"),
            (&[0x61, 0xd83d], b"a\xff"),
            (&[], b""),
        ];
        for (units, expected) in cases {
            let bytes: Vec<u8> =
                std::iter::once(&0xfeff).chain(units).flat_map(|it| it.to_le_bytes()).collect();
            assert_eq!(decoded(&bytes, 3), expected, "{units:x?}");
        }
        assert_eq!(decoded(b"\xff\xfea\0b", 3), b"a\xff");
    }
}
