//! Files that a command writes where the user says.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// What the names of source files end with. A page or a picture is never called so, but a name may be mistyped.
const SOURCES: [&str; 10] = ["py", "pyi", "pyx", "ipynb", "c", "cc", "cpp", "cu", "h", "hpp"];

/// What the names of files begin and end with that are being written.
const PARTIAL: [&str; 2] = [".perfline-", ".partial"];

/// After how long such a file is none that a process still writes: it was ended before it could delete it.
const ABANDONED_AFTER: Duration = Duration::from_secs(60 * 60);

/// Writes `content` to the file `path`, whole or not at all: until all of it is written, what was there stays. No link is
/// followed, and no file of `inputs` is replaced, however it is spelled.
///
/// # Errors
/// If the file must not be replaced or cannot be written. The message names it and says what to do.
pub(crate) fn write<'a>(
    path: &Path,
    content: impl AsRef<[u8]>,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> io::Result<()> {
    let on_file =
        |what: &dyn std::fmt::Display| io::Error::other(format!("{}: {what}", path.display()));
    if let Some(why) = refusal(path, inputs) {
        return Err(on_file(&why));
    }
    replace(path, content.as_ref()).map_err(|error| on_file(&error))
}

/// Why `path` must not be written to, if so.
fn refusal<'a>(path: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> Option<&'static str> {
    let ending = path.extension().unwrap_or_default();
    if SOURCES.iter().any(|it| ending.eq_ignore_ascii_case(it)) {
        return Some("is the name of a source file; name another file");
    }
    let there = path.symlink_metadata().ok()?;
    if there.is_symlink() {
        return Some("is a link; name the file itself");
    }
    if !there.is_file() {
        return Some("is no regular file; name another");
    }
    let is_input = inputs.into_iter().any(|input| is_same_file(path, input));
    is_input.then_some("is an input of this run; name another file")
}

/// The content goes to a file of its own in the same folder, whose name cannot be predicted, and which then
/// takes its place.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    delete_abandoned(folder);
    let [prefix, suffix] = PARTIAL;
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).suffix(suffix);
    // As any new file: who may read it is for the user to say (umask).
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// Deletes what processes left in the folder that were killed while they wrote.
fn delete_abandoned(folder: &Path) {
    let [prefix, suffix] = PARTIAL;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_partial = name.starts_with(prefix) && name.ends_with(suffix);
        // Of a link this is the link.
        let found = entry.metadata().ok().filter(|it| is_partial && it.is_file());
        let modified = found.and_then(|it| it.modified().ok());
        let age = modified.and_then(|it| it.elapsed().ok());
        if age.is_some_and(|it| ABANDONED_AFTER < it) {
            // That it cannot be deleted, or is gone already, changes nothing about what is written now.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether two paths lead to one file.
fn is_same_file(a: &Path, b: &Path) -> bool {
    identity(a).is_ok_and(|a| identity(b).is_ok_and(|b| a == b))
}

/// Device and number of the file that a path leads to: the same for all of its names.
#[cfg(unix)]
fn identity(path: &Path) -> io::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    path.metadata().map(|it| (it.dev(), it.ino()))
}

/// The one spelling of a path.
#[cfg(not(unix))]
fn identity(path: &Path) -> io::Result<std::path::PathBuf> {
    path.canonicalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::time::SystemTime;

    /// What a folder holds: names and texts.
    fn listed(folder: &Path) -> Vec<(String, String)> {
        let entries = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
        let text = |path: PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        };
        let mut listed: Vec<_> = entries.map(text).collect();
        listed.sort();
        listed
    }

    fn entry(name: &str, text: &str) -> (String, String) {
        (name.to_owned(), text.to_owned())
    }

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        for text in ["first", "second"] {
            write(&path, text, []).unwrap();
            assert_eq!(listed(folder.path()), [entry("report.html", text)]);
        }
    }

    #[test]
    fn what_a_killed_process_left_is_deleted_and_what_another_writes_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let names =
            [".perfline-a.partial", ".perfline-b.partial", ".perfline-notes", "mine.partial"];
        for name in names {
            fs::write(folder.path().join(name), name).unwrap();
        }
        for name in [names[0], names[2], names[3]] {
            let file = fs::File::options().append(true).open(folder.path().join(name)).unwrap();
            file.set_modified(SystemTime::now() - 2 * ABANDONED_AFTER).unwrap();
        }
        write(&folder.path().join("report.html"), "text", []).unwrap();
        let mut expected: Vec<_> = names[1..].iter().map(|it| entry(it, it)).collect();
        expected.push(entry("report.html", "text"));
        expected.sort();
        assert_eq!(listed(folder.path()), expected);
    }

    #[cfg(unix)]
    #[test]
    fn others_may_read_what_is_written_as_they_may_read_any_new_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        write(&at("report.html"), "text", []).unwrap();
        fs::write(at("any"), "").unwrap();
        let mode = |name: &str| at(name).metadata().unwrap().permissions().mode();
        assert_eq!(mode("report.html"), mode("any"));
    }

    #[test]
    fn what_cannot_be_written_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missing").join("report.html");
        let error = write(&path, "text", []).unwrap_err().to_string();
        assert!(error.starts_with(&path.display().to_string()), "{error}");
        assert_eq!(error.lines().count(), 1);
        assert_eq!(listed(folder.path()), []);
    }

    #[test]
    fn sources_and_folders_are_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |name: &str| {
            let error = write(&folder.path().join(name), "text", []).unwrap_err().to_string();
            error.split(": ").nth(1).unwrap().to_owned()
        };
        for name in ["train.py", "TRAIN.PY", "cells.ipynb", "kernel.cu"] {
            assert_eq!(refused(name), "is the name of a source file; name another file");
        }
        assert_eq!(listed(folder.path()), []);
        fs::create_dir(folder.path().join("report.html")).unwrap();
        assert_eq!(refused("report.html"), "is no regular file; name another");
    }

    #[cfg(unix)]
    #[test]
    fn inputs_are_not_replaced_whatever_they_are_called_and_links_are_not_followed() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("trace.json"), "trace").unwrap();
        fs::write(at("other.txt"), "other").unwrap();
        symlink("trace.json", at("named")).unwrap();
        fs::hard_link(at("trace.json"), at("hard.html")).unwrap();
        symlink("other.txt", at("link.html")).unwrap();
        symlink("/dev/null", at("null.html")).unwrap();
        let before = listed(folder.path());
        for (name, why) in [
            ("trace.json", "is an input of this run; name another file"),
            ("hard.html", "is an input of this run; name another file"),
            ("link.html", "is a link; name the file itself"),
            ("null.html", "is a link; name the file itself"),
        ] {
            let inputs = [at("missing.json"), at("named")];
            let error = write(&at(name), "text", inputs.iter().map(PathBuf::as_path));
            let expected = format!("{}: {why}", at(name).display());
            assert_eq!(error.unwrap_err().to_string(), expected);
        }
        assert_eq!(listed(folder.path()), before);
    }
}
