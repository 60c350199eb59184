//! The file with the settings of a project, which may come from a stranger as the folder may that it lies in.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::plain_file;

/// What the file is called.
pub const PROJECT_FILE: &str = "perfline.toml";

/// Bytes of the largest file that is read.
const MAX_BYTES: u64 = 1 << 20;

/// The text of the `perfline.toml` in a folder; `None` where there is none. A link is followed if it leads to a file in the
/// folder or below. Touches the disk.
///
/// # Errors
/// If it cannot be read, lies elsewhere, is no regular file, or has more than 1 MiB.
pub fn project_file(folder: &Path) -> io::Result<Option<String>> {
    let path = folder.join(PROJECT_FILE);
    match path.symlink_metadata() {
        Ok(_) => {}
        Err(error) => {
            let is_absent =
                matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
            return if is_absent { Ok(None) } else { Err(error) };
        }
    }
    let refused = |why: &str| Err(io::Error::other(why));
    let place = path.canonicalize()?;
    if !place.starts_with(folder.canonicalize()?) {
        return refused("it is a link to a file outside of its folder, and such are not followed");
    }
    let found = place.symlink_metadata()?;
    if !found.is_file() {
        return refused("it is no regular file");
    }
    if MAX_BYTES < found.len() {
        return refused("it has more than 1 MiB");
    }
    let Some(file) = plain_file::open(&place, MAX_BYTES) else {
        return refused("it cannot be opened");
    };
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Whether a path below `folder` leads out of it when all links are followed. What is not there leads nowhere. Touches the disk.
#[must_use]
pub fn leads_out(folder: &Path, path: &Path) -> bool {
    let real = |path: PathBuf| path.canonicalize().ok();
    match (real(folder.to_owned()), real(folder.join(path))) {
        (Some(folder), Some(place)) => !place.starts_with(folder),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_in_the_folder_is_read() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(project_file(folder.path()).unwrap(), None);
        assert_eq!(project_file(&folder.path().join("missing")).unwrap(), None);
        std::fs::write(folder.path().join(PROJECT_FILE), "cache = false\n").unwrap();
        assert_eq!(project_file(folder.path()).unwrap().as_deref(), Some("cache = false\n"));
        std::fs::write(folder.path().join(PROJECT_FILE), vec![b' '; 1 << 20]).unwrap();
        assert!(project_file(folder.path()).unwrap().is_some());
        std::fs::write(folder.path().join(PROJECT_FILE), vec![b' '; (1 << 20) + 1]).unwrap();
        let error = project_file(folder.path()).unwrap_err();
        assert_eq!(error.to_string(), "it has more than 1 MiB");
    }

    #[cfg(unix)]
    #[test]
    fn nothing_else_is_read_and_nothing_is_waited_for() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("project")).unwrap();
        std::fs::create_dir(at("other")).unwrap();
        std::fs::write(at("other/perfline.toml"), "secret").unwrap();
        let project = at("project");
        let error = || project_file(&project).unwrap_err().to_string();
        symlink("../other/perfline.toml", project.join(PROJECT_FILE)).unwrap();
        assert!(error().starts_with("it is a link to a file outside of its folder"), "{}", error());
        std::fs::remove_file(project.join(PROJECT_FILE)).unwrap();
        let made = std::process::Command::new("mkfifo").arg(project.join(PROJECT_FILE)).status();
        assert!(made.unwrap().success());
        assert_eq!(error(), "it is no regular file");
        symlink("../other", project.join("out")).unwrap();
        symlink(".", project.join("in")).unwrap();
        let leads_out = |path: &str| leads_out(&project, Path::new(path));
        assert!(leads_out("out") && leads_out("out/perfline.toml") && leads_out("../other"));
        assert!(!leads_out("in") && !leads_out("missing") && !leads_out("."));
    }
}
