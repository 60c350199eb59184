//! A ledger in memory that is not looked at for now.

use std::borrow::Cow;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use ledger::Ledger;

/// A ledger as compressed bytes: of a rank with 6,700 lines 0.1 MB in place of 25 MB. It never leaves the process.
#[derive(Debug, Clone)]
pub struct PackedLedger(Form);

#[derive(Debug, Clone)]
enum Form {
    Bytes(Box<[u8]>),
    /// A ledger with a path that is not UTF-8 has no bytes.
    Whole(Box<Ledger>),
}

impl PackedLedger {
    /// Packs a ledger.
    #[must_use]
    pub fn new(ledger: Ledger) -> Self {
        Self(match deflated(&ledger) {
            Some(bytes) => Form::Bytes(bytes.into()),
            None => Form::Whole(Box::new(ledger)),
        })
    }

    /// The ledger.
    #[must_use]
    pub fn unpack(&self) -> Cow<'_, Ledger> {
        match &self.0 {
            // These bytes were written by this process and are what it reads.
            Form::Bytes(bytes) => Cow::Owned(inflated(bytes).unwrap_or_default()),
            Form::Whole(ledger) => Cow::Borrowed(ledger),
        }
    }
}

fn deflated(ledger: &Ledger) -> Option<Vec<u8>> {
    let body = postcard::to_allocvec(ledger).ok()?;
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&body).ok()?;
    encoder.finish().ok()
}

fn inflated(bytes: &[u8]) -> Option<Ledger> {
    let mut body = Vec::new();
    DeflateDecoder::new(bytes).read_to_end(&mut body).ok()?;
    postcard::from_bytes(&body).ok()
}

#[cfg(test)]
mod tests {
    use ledger::SourceFile;

    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        let ledger = crate::tests::sample().1.remove(&1).unwrap();
        assert_ne!(ledger, Ledger::default());
        let packed = PackedLedger::new(ledger.clone());
        assert!(matches!(packed.0, Form::Bytes(_)));
        assert_eq!(*packed.unpack(), ledger);
    }

    #[cfg(unix)]
    #[test]
    fn a_path_that_is_not_utf_8_is_no_loss() {
        use std::os::unix::ffi::OsStrExt;

        let path = std::ffi::OsStr::from_bytes(b"/models/\xff.py");
        let file = SourceFile { path: Some(path.into()), ..SourceFile::default() };
        let files = [("model.py".to_owned(), file)].into();
        let ledger = Ledger { files, ..Ledger::default() };
        let packed = PackedLedger::new(ledger.clone());
        assert_eq!(*packed.unpack(), ledger);
    }
}
