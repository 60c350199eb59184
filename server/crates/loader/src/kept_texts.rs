//! Copies of the texts that ran, kept when a recording is loaded for the first time: later the files may be other ones.
//!
//! A folder of the user's cache holds a file for each recording, called after what the recording holds, so that moving,
//! copying or compressing it anew changes nothing. It is written whole and renamed, so that processes do not disturb
//! one another; the last one that writes wins.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use profile::{Profile, Snapshot};
use recorded::{TextOrigin, TextThatRan, TextsByFile};

/// The variable that names the folder; empty, nothing is kept.
const VARIABLE: &str = "PERFLINE_CACHE_DIR";

/// What the names of the files end with.
const ENDING: &str = ".texts.json.gz";

/// Bytes of the texts of one recording: more than programs have.
const MAX_TEXTS: u64 = 32 << 20;

/// Bytes of all files of the folder; the oldest are deleted first.
const MAX_FOLDER: u64 = 256 << 20;

/// How long a file is kept that nobody asks for.
const MAX_AGE: Duration = Duration::from_secs(180 * 24 * 60 * 60);

/// After how long it is noted that somebody asked for a file.
const NOTED_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// The folder in which texts are kept: what `PERFLINE_CACHE_DIR` names, else `perfline` in the user's cache folder. `None`
/// where the variable is empty, or where there is no such folder.
#[must_use]
pub fn text_cache_folder() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        return (!named.is_empty()).then(|| PathBuf::from(named));
    }
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let system = || absolute("LOCALAPPDATA").filter(|_| cfg!(windows));
    let home = || absolute("HOME").map(|home| home.join(".cache"));
    let caches = absolute("XDG_CACHE_HOME").or_else(system).or_else(home)?;
    Some(caches.join("perfline"))
}

/// What a recording is known by: its content, whatever the file is called and however it is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordingKey(u128);

impl RecordingKey {
    pub(crate) fn of_trace(profile: &Profile) -> Self {
        let mut hash = Self::new();
        hash.number(profile.meta.base.0);
        profile.host.start.iter().zip(&profile.host.duration).for_each(|(start, duration)| {
            hash.number(start.0);
            hash.number(duration.0);
        });
        profile.strings.iter().for_each(|(_, text)| hash.text(text));
        hash
    }

    pub(crate) fn of_snapshot(snapshot: &Snapshot) -> Self {
        let mut hash = Self::new();
        for frame in snapshot.stacks.iter().flatten() {
            hash.number(i64::from(frame.line));
        }
        for device in &snapshot.devices {
            hash.number(i64::try_from(device.events.len()).unwrap_or(i64::MAX));
        }
        snapshot.strings.iter().for_each(|(_, text)| hash.text(text));
        hash
    }

    /// FNV-1a with 128 bits, word by word: the same in every version of Perfline.
    fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn number(&mut self, number: i64) {
        let word = u128::from(number.cast_unsigned());
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }

    fn text(&mut self, text: &str) {
        self.number(i64::try_from(text.len()).unwrap_or(i64::MAX));
        for part in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.number(i64::from_le_bytes(word));
        }
    }
}

/// The folder with the copies.
#[derive(Debug, Clone)]
pub(crate) struct KeptTexts {
    folder: PathBuf,
}

impl KeptTexts {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// The texts that are kept of a recording, by the path as recorded; none where there are none that can be read.
    pub(crate) fn read(&self, key: RecordingKey) -> TextsByFile {
        let read = || -> Option<BTreeMap<String, String>> {
            let path = self.path(key);
            let found = path.symlink_metadata().ok()?;
            if !found.is_file() || !self.is_private() {
                return None;
            }
            let mut text = Vec::new();
            let file = File::open(&path).ok()?;
            GzDecoder::new(&file).take(MAX_TEXTS).read_to_end(&mut text).ok()?;
            // That it was of use is noted by its time; if it cannot be, it is deleted earlier.
            if found.modified().ok()?.elapsed().is_ok_and(|age| NOTED_AFTER < age) {
                let _ = File::options()
                    .append(true)
                    .open(&path)
                    .and_then(|it| it.set_modified(SystemTime::now()));
            }
            serde_json::from_slice(&text).ok()
        };
        let kept = |(file, text): (String, String)| {
            (file, TextThatRan { text: text.into(), origin: TextOrigin::Kept })
        };
        read().into_iter().flatten().map(kept).collect()
    }

    /// Keeps the texts of a recording in place of those that were kept. Where that is not possible they are not kept:
    /// nothing depends on it now.
    pub(crate) fn keep(&self, key: RecordingKey, texts: &TextsByFile) {
        let size: usize = texts.iter().map(|(file, it)| file.len() + it.text.len()).sum();
        // What is escaped in JSON takes more room.
        if texts.is_empty() || MAX_TEXTS / 8 < size as u64 {
            return;
        }
        if self.write(key, texts).is_ok() {
            self.tidy();
        }
    }

    fn write(&self, key: RecordingKey, texts: &TextsByFile) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.folder)?;
        if !self.is_private() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let texts: BTreeMap<&str, &str> =
            texts.iter().map(|(file, it)| (&**file, &*it.text)).collect();
        // Its own name cannot be predicted, and nobody else may read it.
        let mut file = tempfile::Builder::new().prefix(".texts-").tempfile_in(&self.folder)?;
        let mut packed = GzEncoder::new(file.as_file_mut(), Compression::fast());
        packed.write_all(&serde_json::to_vec(&texts)?)?;
        packed.finish()?;
        file.persist(self.path(key))?;
        Ok(())
    }

    /// Deletes what is old, and the oldest where there is too much.
    fn tidy(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter(|it| {
                let name = it.file_name();
                let name = name.to_string_lossy();
                name.ends_with(ENDING) || name.starts_with(".texts-")
            })
            .filter_map(|it| {
                let data = it.metadata().ok().filter(fs::Metadata::is_file)?;
                Some((data.modified().ok()?, data.len(), it.path()))
            })
            .collect();
        files.sort_unstable_by(|a, b| b.cmp(a));
        let mut total = 0;
        for (modified, size, path) in files {
            total += size;
            if MAX_FOLDER < total || modified.elapsed().is_ok_and(|age| MAX_AGE < age) {
                // Another process may have deleted it.
                let _ = fs::remove_file(path);
            }
        }
    }

    fn path(&self, key: RecordingKey) -> PathBuf {
        self.folder.join(format!("{:032x}{ENDING}", key.0))
    }

    /// Whether the folder is one that only the user can write to: what lies in it is shown as the user's code.
    #[cfg(unix)]
    fn is_private(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        let user = rustix::process::geteuid().as_raw();
        let is_own = |it: fs::Metadata| it.is_dir() && it.uid() == user && it.mode() & 0o077 == 0;
        self.folder.metadata().is_ok_and(is_own)
    }

    #[cfg(not(unix))]
    fn is_private(&self) -> bool {
        self.folder.is_dir()
    }
}

#[cfg(test)]
mod tests {
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
        let (_folder, kept) = kept();
        assert_eq!(kept.read(RecordingKey(1)), TextsByFile::new());
        kept.keep(RecordingKey(1), &texts("a\né\n"));
        assert_eq!(kept.read(RecordingKey(1)), texts("a\né\n"));
        assert_eq!(kept.read(RecordingKey(2)), TextsByFile::new());
        kept.keep(RecordingKey(1), &texts("b"));
        assert_eq!(kept.read(RecordingKey(1)), texts("b"));
        assert_eq!(fs::read_dir(&kept.folder).unwrap().count(), 1);
    }

    #[test]
    fn damaged_files_are_as_if_they_were_not_there() {
        let (_folder, kept) = kept();
        kept.keep(RecordingKey(1), &texts("a"));
        let whole = fs::read(kept.path(RecordingKey(1))).unwrap();
        for bytes in [&b""[..], b"text", &whole[..whole.len() / 2]] {
            fs::write(kept.path(RecordingKey(1)), bytes).unwrap();
            assert_eq!(kept.read(RecordingKey(1)), TextsByFile::new());
        }
    }

    #[test]
    fn old_files_are_deleted() {
        let (_folder, kept) = kept();
        kept.keep(RecordingKey(1), &texts("a"));
        let file = File::options().append(true).open(kept.path(RecordingKey(1))).unwrap();
        file.set_modified(SystemTime::now() - 2 * MAX_AGE).unwrap();
        kept.keep(RecordingKey(2), &texts("b"));
        assert_eq!(kept.read(RecordingKey(1)), TextsByFile::new());
        assert_eq!(kept.read(RecordingKey(2)), texts("b"));
    }

    #[cfg(unix)]
    #[test]
    fn the_folder_is_the_users_alone() {
        use std::os::unix::fs::PermissionsExt;
        let (_folder, kept) = kept();
        kept.keep(RecordingKey(1), &texts("a"));
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&kept.folder), mode(&kept.path(RecordingKey(1)))), (0o700, 0o600));
        fs::set_permissions(&kept.folder, fs::Permissions::from_mode(0o770)).unwrap();
        assert_eq!(kept.read(RecordingKey(1)), TextsByFile::new());
        kept.keep(RecordingKey(2), &texts("b"));
        assert!(!kept.path(RecordingKey(2)).exists());
    }
}
