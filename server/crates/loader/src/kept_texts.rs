//! Copies of the texts that ran, kept when a recording is loaded for the first time: later the files may be other ones.
//!
//! The cache folder holds a file for each recording, called after what the recording holds, so that moving, copying or
//! compressing it anew changes nothing.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use profile::{Profile, Snapshot};
use recorded::{TextOrigin, TextThatRan, TextsByFile};

use crate::cache_folder::{CacheFolder, FileSort};
use crate::stable_hash::StableHash;

/// Bytes of the texts of one recording: more than programs have.
const MAX_TEXTS: u64 = 32 << 20;

/// What a recording is known by: its content, whatever the file is called and however it is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordingKey(pub(crate) u128);

impl RecordingKey {
    pub(crate) fn of_trace(profile: &Profile) -> Self {
        let mut hash = StableHash::new();
        hash.number(profile.meta.base.0);
        profile.host.start.iter().zip(&profile.host.duration).for_each(|(start, duration)| {
            hash.number(start.0);
            hash.number(duration.0);
        });
        profile.strings.iter().for_each(|(_, text)| hash.bytes(text.as_bytes()));
        Self(hash.0)
    }

    pub(crate) fn of_snapshot(snapshot: &Snapshot) -> Self {
        let mut hash = StableHash::new();
        for frame in snapshot.stacks.iter().flatten() {
            hash.number(i64::from(frame.line));
        }
        for device in &snapshot.devices {
            hash.number(i64::try_from(device.events.len()).unwrap_or(i64::MAX));
        }
        snapshot.strings.iter().for_each(|(_, text)| hash.bytes(text.as_bytes()));
        Self(hash.0)
    }
}

/// The copies in a folder.
#[derive(Debug, Clone)]
pub(crate) struct KeptTexts {
    folder: CacheFolder,
}

impl KeptTexts {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: CacheFolder::new(folder, FileSort::Texts) }
    }

    /// The bytes of the file with the texts of a recording; empty where there is none.
    pub(crate) fn packed(&self, key: RecordingKey) -> Vec<u8> {
        let mut bytes = Vec::new();
        let read = self.folder.open(key.0).map(|it| it.take(MAX_TEXTS).read_to_end(&mut bytes));
        if read.is_none_or(|it| it.is_err()) {
            bytes.clear();
        }
        bytes
    }

    /// The texts that are kept of a recording, by the path as recorded; none where there are none that can be read.
    pub(crate) fn read(&self, key: RecordingKey) -> TextsByFile {
        let unpack = || -> Option<BTreeMap<String, String>> {
            let mut text = Vec::new();
            let packed = self.packed(key);
            GzDecoder::new(&*packed).take(MAX_TEXTS).read_to_end(&mut text).ok()?;
            serde_json::from_slice(&text).ok()
        };
        let kept = |(file, text): (String, String)| {
            (file, TextThatRan { text: text.into(), origin: TextOrigin::Kept })
        };
        unpack().into_iter().flatten().map(kept).collect()
    }

    /// Keeps the texts of a recording in place of those that were kept. Where that is not possible they are not kept:
    /// nothing depends on it now.
    pub(crate) fn keep(&self, key: RecordingKey, texts: &TextsByFile) {
        let size: usize = texts.iter().map(|(file, it)| file.len() + it.text.len()).sum();
        // What is escaped in JSON takes more room.
        if texts.is_empty() || MAX_TEXTS / 8 < size as u64 {
            return;
        }
        let _ = pack(texts).and_then(|it| self.folder.write(key.0, &it));
    }
}

fn pack(texts: &TextsByFile) -> io::Result<Vec<u8>> {
    let texts: BTreeMap<&str, &str> = texts.iter().map(|(file, it)| (&**file, &*it.text)).collect();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&serde_json::to_vec(&texts)?)?;
    packed.finish()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn texts(text: &str) -> TextsByFile {
        let text = TextThatRan { text: text.into(), origin: TextOrigin::Kept };
        [("train.py".to_owned(), text)].into()
    }

    fn kept() -> (tempfile::TempDir, KeptTexts) {
        let folder = tempfile::tempdir().unwrap();
        let kept = KeptTexts::new(&folder.path().join("cache/perfline"));
        (folder, kept)
    }

    #[test]
    fn what_is_kept_is_read_again() {
        let (folder, kept) = kept();
        assert_eq!(kept.read(RecordingKey(1)), TextsByFile::new());
        kept.keep(RecordingKey(1), &texts("a\né\n"));
        assert_eq!(kept.read(RecordingKey(1)), texts("a\né\n"));
        assert_eq!(kept.read(RecordingKey(2)), TextsByFile::new());
        kept.keep(RecordingKey(1), &texts("b"));
        assert_eq!(kept.read(RecordingKey(1)), texts("b"));
        assert_eq!(fs::read_dir(folder.path().join("cache/perfline")).unwrap().count(), 1);
    }

    #[test]
    fn damaged_files_are_as_if_they_were_not_there() {
        let (_folder, kept) = kept();
        kept.keep(RecordingKey(1), &texts("a"));
        let whole = fs::read(kept.folder.path(1)).unwrap();
        for bytes in [&b""[..], b"text", &whole[..whole.len() / 2]] {
            fs::write(kept.folder.path(1), bytes).unwrap();
            assert_eq!(kept.read(RecordingKey(1)), TextsByFile::new());
        }
    }
}
