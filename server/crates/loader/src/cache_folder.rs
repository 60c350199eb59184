//! The folder in which Perfline keeps what it wants to find again: private to the user, bounded, shared by all processes.
//!
//! Files are written whole under another name and renamed, so that processes do not disturb one another and nobody sees half of
//! one. The last one that writes wins. Where something cannot be kept, nothing is said: nothing depends on it.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The variable that names the folder; empty, nothing is kept.
const VARIABLE: &str = "PERFLINE_CACHE_DIR";

/// How long a file is kept that nobody asks for.
const MAX_AGE: Duration = Duration::from_secs(180 * 24 * 60 * 60);

/// After how long a file that is being written is none that a process still writes: it was ended before it could delete it.
const ABANDONED_AFTER: Duration = Duration::from_secs(60 * 60);

/// After how long it is noted that somebody asked for a file.
const NOTED_AFTER: Duration = Duration::from_secs(60 * 60);

/// The folder in which texts and ledgers are kept: what `PERFLINE_CACHE_DIR` names, else `perfline` in the user's cache folder.
/// `None` where the variable is empty, or where there is no such folder.
#[must_use]
pub fn cache_folder() -> Option<PathBuf> {
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

/// Why nothing is kept in `folder`, and nothing of it is used, with what to do: others than the user can enter it.
#[must_use]
pub fn cache_fault(folder: &Path) -> Option<String> {
    let found = folder.metadata().ok()?;
    if CacheFolder::new(folder, FileSort::Ledgers).is_private() {
        return None;
    }
    let shown = folder.display();
    if !found.is_dir() {
        return Some(format!(
            "{shown}: is no folder, so nothing is kept; name another: PERFLINE_CACHE_DIR"
        ));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let user = rustix::process::geteuid().as_raw();
        if found.uid() != user {
            return Some(format!(
                "{shown}: belongs to another user, so nothing is kept in it and nothing of it is used; name a folder of yours: PERFLINE_CACHE_DIR"
            ));
        }
        let mode = found.mode() & 0o777;
        Some(format!(
            "{shown}: others can enter it (mode {mode:04o}), so nothing is kept in it and nothing of it is used; close it: chmod 700"
        ))
    }
    #[cfg(not(unix))]
    None
}

/// What is kept in a folder, by what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheContents {
    /// Ledgers of recordings.
    pub ledgers: CacheUsage,
    /// Texts of sources that ran.
    pub texts: CacheUsage,
}

/// What some files take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheUsage {
    /// Number of files.
    pub files: usize,
    /// Their bytes on disk.
    pub bytes: u64,
    /// The bytes that they take at most; the files that were not used for longest are deleted first.
    pub limit: u64,
}

/// What is kept in `folder`.
#[must_use]
pub fn cache_contents(folder: &Path) -> CacheContents {
    let [ledgers, texts] = [FileSort::Ledgers, FileSort::Texts].map(|sort| {
        let files = CacheFolder::new(folder, sort).files();
        let bytes = files.iter().map(|it| it.size).sum();
        CacheUsage { files: files.len(), bytes, limit: sort.limit() }
    });
    CacheContents { ledgers, texts }
}

/// Deletes what is kept in `folder`, and nothing else that lies there.
///
/// # Errors
/// If a file cannot be deleted.
pub fn clear_cache(folder: &Path) -> io::Result<()> {
    for sort in [FileSort::Ledgers, FileSort::Texts] {
        for file in CacheFolder::new(folder, sort).files() {
            match fs::remove_file(&file.path) {
                // Another process deleted it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                result => result?,
            }
        }
    }
    Ok(())
}

/// What files of the folder are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileSort {
    /// Texts of sources that ran.
    Texts,
    /// Ledgers of recordings.
    Ledgers,
}

impl FileSort {
    /// What the names of the files end with.
    fn ending(self) -> &'static str {
        match self {
            Self::Texts => ".texts.json.gz",
            Self::Ledgers => ".ledger.gz",
        }
    }

    /// What the names of files begin with that are being written.
    fn prefix(self) -> &'static str {
        match self {
            Self::Texts => ".texts-",
            Self::Ledgers => ".ledger-",
        }
    }

    /// Bytes of all files of the sort.
    fn limit(self) -> u64 {
        match self {
            Self::Texts => 256 << 20,
            Self::Ledgers => 1 << 30,
        }
    }
}

/// The files of one sort.
#[derive(Debug, Clone)]
pub(crate) struct CacheFolder {
    folder: PathBuf,
    sort: FileSort,
}

/// A file of the folder.
struct FolderEntry {
    path: PathBuf,
    modified: SystemTime,
    size: u64,
    /// Whether it is being written, or was.
    is_partial: bool,
}

impl CacheFolder {
    pub(crate) fn new(folder: &Path, sort: FileSort) -> Self {
        Self { folder: folder.to_owned(), sort }
    }

    /// Where the file of a key is.
    pub(crate) fn path(&self, key: u128) -> PathBuf {
        self.folder.join(format!("{key:032x}{}", self.sort.ending()))
    }

    /// Opens the file of a key; `None` where there is none that can be trusted. That it was of use is noted by its time.
    pub(crate) fn open(&self, key: u128) -> Option<File> {
        let path = self.path(key);
        let found = path.symlink_metadata().ok()?;
        if !found.is_file() || !self.is_private() {
            return None;
        }
        let file = File::open(&path).ok()?;
        // If it cannot be noted, the file is deleted earlier.
        if found.modified().ok()?.elapsed().is_ok_and(|age| NOTED_AFTER < age) {
            let _ = File::options()
                .append(true)
                .open(&path)
                .and_then(|it| it.set_modified(SystemTime::now()));
        }
        Some(file)
    }

    /// Writes the file of a key in place of the one that was there, and deletes others where there are too many.
    ///
    /// # Errors
    /// If it cannot be written, or others than the user may write to the folder.
    pub(crate) fn write(&self, key: u128, bytes: &[u8]) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.folder)?;
        if !self.is_private() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        // Its own name cannot be predicted, and nobody else may read it.
        let mut file =
            tempfile::Builder::new().prefix(self.sort.prefix()).tempfile_in(&self.folder)?;
        file.write_all(bytes)?;
        file.persist(self.path(key))?;
        self.tidy();
        Ok(())
    }

    /// Deletes the file of a key that is of no use.
    pub(crate) fn remove(&self, key: u128) {
        // Another process may have deleted it.
        let _ = fs::remove_file(self.path(key));
    }

    fn files(&self) -> Vec<FolderEntry> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let files = entries.filter_map(|it| {
            let name = it.file_name();
            let name = name.to_string_lossy();
            let is_partial = name.starts_with(self.sort.prefix());
            let is_mine = is_partial || name.ends_with(self.sort.ending());
            let data = it.metadata().ok().filter(|it| is_mine && it.is_file())?;
            let (modified, size) = (data.modified().ok()?, data.len());
            Some(FolderEntry { path: it.path(), modified, size, is_partial })
        });
        files.collect()
    }

    /// Deletes what is old or was never finished, and the oldest where there is too much.
    fn tidy(&self) {
        let mut files = self.files();
        files.sort_unstable_by(|a, b| (b.modified, &b.path).cmp(&(a.modified, &a.path)));
        let mut total = 0;
        for file in files {
            total += file.size;
            let max_age = if file.is_partial { ABANDONED_AFTER } else { MAX_AGE };
            let is_old = file.modified.elapsed().is_ok_and(|age| max_age < age);
            if self.sort.limit() < total || is_old {
                // Another process may have deleted it.
                let _ = fs::remove_file(file.path);
            }
        }
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

    #[test]
    fn old_files_are_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CacheFolder::new(&folder.path().join("perfline"), FileSort::Ledgers);
        cache.write(1, b"a").unwrap();
        let file = File::options().append(true).open(cache.path(1)).unwrap();
        file.set_modified(SystemTime::now() - 2 * MAX_AGE).unwrap();
        cache.write(2, b"b").unwrap();
        assert!(cache.open(1).is_none() && cache.open(2).is_some());
    }

    #[test]
    fn what_was_never_finished_is_deleted_an_hour_later() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("perfline");
        let cache = CacheFolder::new(&at, FileSort::Ledgers);
        cache.write(1, b"a").unwrap();
        for (name, age) in [(".ledger-old", 2 * ABANDONED_AFTER), (".ledger-new", Duration::ZERO)] {
            fs::write(at.join(name), "half").unwrap();
            let file = File::options().append(true).open(at.join(name)).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        }
        cache.write(2, b"b").unwrap();
        assert!(!at.join(".ledger-old").exists() && at.join(".ledger-new").exists());
        assert!(cache.open(1).is_some() && cache.open(2).is_some());
    }

    #[test]
    fn too_much_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("perfline");
        let cache = CacheFolder::new(&at, FileSort::Ledgers);
        for key in 1..4 {
            cache.write(key, b"a").unwrap();
            let file = File::options().append(true).open(cache.path(key)).unwrap();
            file.set_len(400 << 20).unwrap();
            let age = Duration::from_secs(60 * (4 - u64::try_from(key).unwrap()));
            file.set_modified(SystemTime::now() - age).unwrap();
        }
        cache.write(4, b"a").unwrap();
        let there: Vec<bool> = (1..5).map(|key| cache.open(key).is_some()).collect();
        assert_eq!(there, [false, true, true, true]);
        let ledgers = cache_contents(&at).ledgers;
        assert_eq!((ledgers.files, ledgers.bytes), (3, (800 << 20) + 1));
    }

    #[test]
    fn what_is_kept_is_cleared_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("perfline");
        for sort in [FileSort::Ledgers, FileSort::Texts] {
            CacheFolder::new(&at, sort).write(1, b"ab").unwrap();
        }
        fs::write(at.join("other"), "").unwrap();
        let contents = cache_contents(&at);
        assert_eq!((contents.ledgers.files, contents.texts.bytes), (1, 2));
        clear_cache(&at).unwrap();
        let left: Vec<_> = fs::read_dir(&at).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(left, ["other"]);
        clear_cache(&at.join("nowhere")).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn the_folder_is_the_users_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("cache/perfline");
        let cache = CacheFolder::new(&at, FileSort::Ledgers);
        cache.write(1, b"a").unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&at), mode(&cache.path(1))), (0o700, 0o600));
        fs::set_permissions(&at, fs::Permissions::from_mode(0o770)).unwrap();
        assert!(cache.open(1).is_none());
        assert!(cache.write(2, b"b").is_err() && !cache.path(2).exists());
        let fault = cache_fault(&at).unwrap();
        assert!(fault.starts_with(&at.display().to_string()), "{fault}");
        assert!(fault.contains("(mode 0770)") && fault.ends_with("chmod 700"), "{fault}");
        fs::set_permissions(&at, fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(cache_fault(&at), None);
        assert_eq!(cache_fault(&at.join("nowhere")), None);
        assert!(cache_fault(&cache.path(1)).unwrap().contains("is no folder"));
    }
}
