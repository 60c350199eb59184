//! Compressed bytes on the way to a decoder.

use std::io::{self, BufRead, BufReader, Read};

/// Compressed bytes, and how far they were used.
pub(crate) struct Compressed<R> {
    inner: BufReader<R>,
    used: u64,
    /// Whether more was asked for than there is.
    pub(crate) has_ended: bool,
    /// Why reading failed. Decoders do not hand this on as it is.
    pub(crate) failure: Option<io::Error>,
}

impl<R: Read> Compressed<R> {
    pub(crate) fn new(inner: R, buffer: usize) -> Self {
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
