//! Inputs and what lies beside them, on disk or behind a URL. Sources are not asked for here: their names are a stranger's.

use std::fs::DirEntry;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::file_identity::FileIdentity;

/// Whether there is a file that can be read.
pub(crate) fn is_file(path: &Path) -> bool {
    match remote_files::is_url(path) {
        true => remote_files::metadata(path).is_some(),
        false => path.is_file(),
    }
}

/// Whether there is a folder.
pub(crate) fn is_folder(path: &Path) -> bool {
    match remote_files::is_url(path) {
        true => remote_files::is_folder(path),
        false => path.is_dir(),
    }
}

/// The files in a folder, and the folders in it. Of one that cannot be listed there are none.
pub(crate) fn entries(folder: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    if remote_files::is_url(folder) {
        let entries = remote_files::entries(folder).unwrap_or_default();
        let (folders, files): (Vec<_>, Vec<_>) =
            entries.iter().cloned().partition(|it| it.is_folder);
        let paths = |it: Vec<remote_files::RemoteEntry>| it.into_iter().map(|it| it.path).collect();
        return (paths(files), paths(folders));
    }
    // A link to a folder is one: who enters it asks before where it leads to.
    let is_folder = |it: &DirEntry| match it.file_type() {
        Ok(kind) if !kind.is_symlink() => kind.is_dir(),
        _ => it.path().is_dir(),
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(is_folder);
    let paths = |it: Vec<DirEntry>| it.iter().map(DirEntry::path).collect();
    (paths(files), paths(folders))
}

/// Bytes of a file; 0 where that is not known.
pub(crate) fn size(path: &Path) -> u64 {
    match remote_files::is_url(path) {
        true => remote_files::metadata(path).map_or(0, |it| it.size),
        false => path.metadata().map_or(0, |it| it.len()),
    }
}

/// When a file was written.
///
/// # Errors
/// If that is not known, or it is no file.
pub(crate) fn modified(path: &Path) -> io::Result<SystemTime> {
    if remote_files::is_url(path) {
        let modified = remote_files::metadata(path).and_then(|it| it.modified);
        return modified.ok_or_else(|| io::ErrorKind::NotFound.into());
    }
    let metadata = path.metadata()?;
    if !metadata.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    metadata.modified()
}

/// What changes when a file changes.
pub(crate) fn identity(path: &Path) -> Option<FileIdentity> {
    match remote_files::is_url(path) {
        true => FileIdentity::of_remote(&remote_files::metadata(path)?),
        false => FileIdentity::of_path(path),
    }
}
