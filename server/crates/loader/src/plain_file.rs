//! Opens regular files, and nothing else: no link is followed, no pipe is waited for.

use std::fs::{File, Metadata, OpenOptions};
use std::path::Path;

/// The file at `place`, a path without links, if it is a regular file of at most `max_bytes`.
pub(crate) fn open(place: &Path, max_bytes: u64) -> Option<File> {
    let is_readable = |file: &Metadata| file.is_file() && file.len() <= max_bytes;
    // Opening alone can do harm: it waits for a writer of a FIFO, and devices act on it.
    let found = place.symlink_metadata().ok().filter(is_readable)?;
    let file = options().open(place).ok()?;
    // From here on, what counts is what was opened: by now the path may lead elsewhere.
    let opened = file.metadata().ok().filter(is_readable)?;
    is_same(&found, &opened).then_some(file)
}

/// How a file is opened whose path holds no link: one that was put there meanwhile is not followed, and a FIFO that was
/// put there meanwhile is not waited for.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        libc::O_NOFOLLOW | libc::O_NONBLOCK,
    );
    options
}

/// Whether a file or folder belongs to who owns the root, or to the user: in a folder that everybody can write to, anybody can make one.
#[cfg(unix)]
pub(crate) fn has_known_owner(found: &Metadata, root: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = found.uid();
    owner == rustix::process::geteuid().as_raw()
        || root.metadata().is_ok_and(|it| it.uid() == owner)
}

/// Other systems do not say whose a file is without unsafe code.
#[cfg(not(unix))]
pub(crate) fn has_known_owner(_: &Metadata, _: &Path) -> bool {
    true
}

#[cfg(unix)]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// Other systems do not say which file a handle belongs to; that the path is still the same has to do.
#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_at_most_so_many_bytes_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.py");
        std::fs::write(&path, "x = 1\n").unwrap();
        assert!(open(&path, 6).is_some());
        assert!(open(&path, 5).is_none());
        assert!(open(folder.path(), 1 << 20).is_none());
        assert!(open(&folder.path().join("b.py"), 1 << 20).is_none());
    }

    #[cfg(unix)]
    #[test]
    fn a_fifo_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe.py");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        assert!(open(&path, 1 << 20).is_none());
        // Were it put there after the check, opening it would not wait either.
        let opened = options().open(&path).unwrap();
        assert!(!opened.metadata().unwrap().is_file());
    }
}
