//! Ledgers, and parts of them, as bytes that never leave the process.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value as compressed bytes; `None` of what has none, as a path that is not UTF-8.
#[must_use]
pub fn pack(value: &impl Serialize) -> Option<Vec<u8>> {
    let body = postcard::to_allocvec(value).ok()?;
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&body).ok()?;
    encoder.finish().ok()
}

/// The value that was packed; `None` of other bytes than [`pack`] gave.
#[must_use]
pub fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let mut body = Vec::new();
    DeflateDecoder::new(bytes).read_to_end(&mut body).ok()?;
    postcard::from_bytes(&body).ok()
}

#[cfg(test)]
mod tests {
    use ledger::{Ledger, SourceFile};

    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        let ledger = crate::tests::sample().1.remove(&1).unwrap();
        assert_ne!(ledger, Ledger::default());
        let mut bytes = pack(&ledger).unwrap();
        assert_eq!(unpack(&bytes), Some(ledger));
        bytes.truncate(bytes.len() / 2);
        assert_eq!(unpack::<Ledger>(&bytes), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_path_that_is_not_utf_8_has_no_bytes() {
        use std::os::unix::ffi::OsStrExt;

        let path = std::ffi::OsStr::from_bytes(b"/models/\xff.py");
        let file = SourceFile { path: Some(path.into()), ..SourceFile::default() };
        let files = [("model.py".to_owned(), file)].into();
        assert_eq!(pack(&Ledger { files, ..Ledger::default() }), None);
    }
}
