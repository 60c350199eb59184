//! Walks a folder without getting lost in environments, caches and version control.

use std::path::{Path, PathBuf};

/// Folders that hold neither recordings nor sources of yours.
const SKIPPED: [&str; 9] = [
    "__pycache__",
    "node_modules",
    "site-packages",
    "dist-packages",
    "target",
    "venv",
    "env",
    "build",
    "dist",
];

/// Deepest folder that is entered.
const DEEPEST: usize = 12;

/// Entries looked at in all, so that a home or data folder opened by mistake does not stall anything.
const MAX_ENTRIES: usize = 200_000;

/// Calls `found` with each regular file below `root` that `wanted` accepts, in order of path.
pub(crate) fn files(root: &Path, wanted: impl Fn(&Path) -> bool, mut found: impl FnMut(&Path)) {
    if remote_files::is_url(root) {
        let files = files_of_url(root, wanted);
        // Each is looked at next.
        remote_files::look_ahead(&files);
        files.iter().for_each(|it| found(it));
        return;
    }
    let mut folders: Vec<(PathBuf, usize)> = vec![(root.to_owned(), 0)];
    let mut n_seen = 0;
    while let Some((folder, depth)) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        let mut entries: Vec<_> = entries.flatten().collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            n_seen += 1;
            if n_seen > MAX_ENTRIES {
                return;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() {
                let is_environment = path.join("pyvenv.cfg").exists();
                if is_entered(&entry.file_name().to_string_lossy(), depth) && !is_environment {
                    folders.push((path, depth + 1));
                }
            } else if wanted(&path) && (kind.is_file() || path.is_file()) {
                found(&path);
            }
        }
    }
}

fn files_of_url(root: &Path, wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let is_wanted = |name: &str| {
        let (folders, file) = name.rsplit_once('/').unwrap_or(("", name));
        let mut folders = folders.split('/').filter(|it| !it.is_empty()).enumerate();
        wanted(Path::new(file)) && folders.all(|(depth, name)| is_entered(name, depth))
    };
    // Why a folder cannot be listed is said where it is opened.
    remote_files::below(root, MAX_ENTRIES, is_wanted).unwrap_or_default()
}

/// Whether a folder of this name, so many folders below the root, may hold recordings or sources of yours.
pub(crate) fn is_entered(name: &str, depth: usize) -> bool {
    depth < DEEPEST && !name.starts_with('.') && !SKIPPED.contains(&name)
}

/// Whether `path` is no link, or leads to a place below one of `folders`. A folder from elsewhere must not make anybody
/// read by a link what lies outside of it.
pub(crate) fn stays_below(path: &Path, folders: &[&Path]) -> bool {
    if !path.symlink_metadata().is_ok_and(|it| it.is_symlink()) {
        return true;
    }
    let Ok(place) = path.canonicalize() else { return false };
    folders.iter().filter_map(|it| it.canonicalize().ok()).any(|it| place.starts_with(it))
}
