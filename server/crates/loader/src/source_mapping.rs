//! Where the files of a recorded folder are on this machine, as somebody said.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::source_folders::RecordedPath;

/// Where the files of a recorded folder are: `/srv/app=services/app`. It may be of a single file, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceMapping {
    /// The folder as recorded, with `/` between names and none at the end; that of the whole machine is empty.
    recorded: String,
    /// Where it is; what is not absolute is below the root.
    folder: PathBuf,
}

/// A mapping that cannot be read. The message is one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid mapping `{0}`, expected RECORDED=FOLDER (`/srv/app=services/app`)")]
pub struct InvalidMapping(String);

impl SourceMapping {
    /// The folder `recorded` is `folder`.
    ///
    /// # Errors
    /// If one of them is empty.
    pub fn new(recorded: &str, folder: impl Into<PathBuf>) -> Result<Self, InvalidMapping> {
        let folder = folder.into();
        let names = recorded.trim().replace('\\', "/");
        if names.is_empty() || folder.as_os_str().is_empty() {
            return Err(InvalidMapping(format!("{recorded}={}", folder.display())));
        }
        Ok(Self { recorded: names.trim_end_matches('/').to_owned(), folder })
    }

    /// The folder as recorded.
    #[must_use]
    pub fn recorded(&self) -> &str {
        if self.recorded.is_empty() { "/" } else { &self.recorded }
    }

    /// Where it is; what is not absolute is below the root.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The same with an absolute folder, without links if it is there.
    pub(crate) fn absolute(&self, root: &Path) -> Self {
        let folder = root.join(&self.folder);
        Self { folder: folder.canonicalize().unwrap_or(folder), recorded: self.recorded.clone() }
    }

    /// What leads from a recorded path to the place of its file below the root: all but the names that both end with. A name
    /// of the recorded path is left, so that it says nothing of other files.
    #[must_use]
    pub fn between(recorded: &str, relative: &Path) -> Option<Self> {
        let path = RecordedPath::new(recorded)?;
        let names: Vec<&str> = relative.iter().map(|it| it.to_str()).collect::<Option<_>>()?;
        let pairs = path.names.iter().rev().zip(names.iter().rev());
        let n_common = pairs.take_while(|(a, b)| a == b).count().min(path.names.len() - 1);
        let folder: PathBuf = names[..names.len() - n_common].iter().collect();
        let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
        Self::new(&path.folder(path.names.len() - n_common), folder).ok()
    }

    /// Of the mappings that have a file of a recorded path, the one of the innermost folder leads there.
    pub(crate) fn path(mappings: &[Self], recorded: &RecordedPath<'_>) -> Option<PathBuf> {
        let text = recorded.text();
        let rest = |it: &Self| {
            let rest = text.strip_prefix(&it.recorded)?;
            if rest.is_empty() {
                Some(String::new())
            } else {
                rest.strip_prefix('/').map(str::to_owned)
            }
        };
        let found = mappings.iter().filter_map(|it| Some((it, rest(it)?)));
        let (mapping, rest) = found.max_by_key(|(it, _)| it.recorded.len())?;
        Some(if rest.is_empty() { mapping.folder.clone() } else { mapping.folder.join(rest) })
    }

    /// The mapping by which most of the files of some recorded paths are in `folder`, with how many these are; `None` if none
    /// is there. Each file is looked for by as many names of its path as possible; an `__init__.py`, which every package has,
    /// says less than any other file. Touches the disk.
    #[must_use]
    pub fn locate<'a>(
        recorded: impl IntoIterator<Item = &'a str>,
        folder: &Path,
    ) -> Option<(Self, usize)> {
        let mut n_found: BTreeMap<(String, PathBuf), (usize, usize)> = BTreeMap::new();
        for path in recorded.into_iter().filter_map(RecordedPath::new) {
            let names = &path.names;
            let first = (0..names.len())
                .find(|first| folder.join(names[*first..].iter().collect::<PathBuf>()).is_file());
            let mapping = match first {
                None => continue,
                // A relative path has no folder that all of it is below.
                Some(0) if !path.is_absolute() => (path.folder(1), folder.join(names[0])),
                Some(first) => (path.folder(first), folder.to_owned()),
            };
            let (n_named, n_files) = n_found.entry(mapping).or_default();
            *n_named += usize::from(names.last().is_some_and(|it| *it != "__init__.py"));
            *n_files += 1;
        }
        let ((recorded, folder), (_, n_files)) = n_found.into_iter().max_by_key(|(_, n)| *n)?;
        Some((Self::new(&recorded, folder).ok()?, n_files))
    }
}

/// `RECORDED=FOLDER`, in which the folder has no `=`.
impl FromStr for SourceMapping {
    type Err = InvalidMapping;

    fn from_str(text: &str) -> Result<Self, InvalidMapping> {
        let (recorded, folder) =
            text.rsplit_once('=').ok_or_else(|| InvalidMapping(text.to_owned()))?;
        Self::new(recorded, folder).map_err(|_| InvalidMapping(text.to_owned()))
    }
}

/// As it is read.
impl fmt::Display for SourceMapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.recorded(), self.folder.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(text: &str) -> SourceMapping {
        text.parse().unwrap()
    }

    #[test]
    fn mappings_are_read_and_written() {
        let rows = [
            ("/srv/app=services/app", Some("/srv/app=services/app")),
            ("/srv/app/=app", Some("/srv/app=app")),
            (r"C:\job\app=app", Some("C:/job/app=app")),
            ("/out/lr=0.1=app", Some("/out/lr=0.1=app")),
            ("/=.", Some("/=.")),
            ("/srv/app", None),
            ("=app", None),
            ("/srv/app=", None),
        ];
        for (text, expected) in rows {
            let read = text.parse::<SourceMapping>().map(|it| it.to_string());
            assert_eq!(read.as_deref().ok(), expected, "{text}");
        }
        let error = "app".parse::<SourceMapping>().unwrap_err().to_string();
        assert_eq!(
            error,
            "invalid mapping `app`, expected RECORDED=FOLDER (`/srv/app=services/app`)"
        );
    }

    #[test]
    fn the_innermost_folder_leads_to_a_file() {
        let mappings =
            ["/srv=a", "/srv/app=b", "/srv/app/models/net.py=c/net2.py", "pkg=d", "C:/job=e"]
                .map(mapping);
        let rows = [
            ("/srv/x.py", Some("a/x.py")),
            ("/srv/app/x.py", Some("b/x.py")),
            ("/srv/app2/x.py", Some("a/app2/x.py")),
            ("/srv/app/models/net.py", Some("c/net2.py")),
            ("pkg/x.py", Some("d/x.py")),
            (r"C:\job\x.py", Some("e/x.py")),
            ("/home/x.py", None),
            ("/srv/../etc/x.py", None),
        ];
        for (recorded, expected) in rows {
            let path = RecordedPath::new(recorded).unwrap();
            let found = SourceMapping::path(&mappings, &path);
            assert_eq!(found.as_deref(), expected.map(Path::new), "{recorded}");
        }
        let path = RecordedPath::new("/srv/x.py").unwrap();
        assert_eq!(SourceMapping::path(&[mapping("/=.")], &path), Some("./srv/x.py".into()));
    }

    #[test]
    fn a_mapping_says_where_one_file_is_and_nothing_of_others() {
        let rows = [
            ("/srv/app/models/net.py", "b/models/net.py", Some("/srv/app=b")),
            ("/srv/app/models/net.py", "models/net.py", Some("/srv/app=.")),
            ("models/net.py", "b/models/net.py", Some("models=b/models")),
            ("net.py", "b/net.py", Some("net.py=b/net.py")),
            ("/net.py", "b/net.py", Some("/net.py=b/net.py")),
            ("<string>", "b/net.py", None),
        ];
        for (recorded, relative, expected) in rows {
            let found = SourceMapping::between(recorded, Path::new(relative));
            assert_eq!(found.map(|it| it.to_string()).as_deref(), expected, "{recorded}");
            if let Some(expected) = expected {
                let path = RecordedPath::new(recorded).unwrap();
                let leads_to = SourceMapping::path(&[mapping(expected)], &path).unwrap();
                assert_eq!(leads_to.strip_prefix(".").unwrap_or(&leads_to), Path::new(relative));
            }
        }
    }

    #[test]
    fn a_folder_is_located_by_the_files_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        std::fs::create_dir(here.join("models")).unwrap();
        for file in ["train.py", "models/__init__.py", "models/net.py", "models/head.py"] {
            std::fs::write(here.join(file), "").unwrap();
        }
        let locate = |recorded: &[&str], folder: &Path| {
            let (mapping, n_files) = SourceMapping::locate(recorded.iter().copied(), folder)?;
            let place =
                mapping.folder().strip_prefix(here).unwrap().to_string_lossy().replace('\\', "/");
            Some((mapping.recorded().to_owned(), place, n_files))
        };
        let found =
            |recorded: &str, place: &str, n| Some((recorded.to_owned(), place.to_owned(), n));
        let recorded = ["/srv/app/train.py", "/srv/app/models/net.py", "/opt/net.py"];
        assert_eq!(locate(&recorded, here), found("/srv/app", "", 2));
        assert_eq!(
            locate(&recorded[1..2], &here.join("models")),
            found("/srv/app/models", "models", 1)
        );
        assert_eq!(
            locate(&["models/net.py", "models/head.py"], here),
            found("models", "models", 2)
        );
        assert_eq!(
            locate(&["net/model/net.py", "torch/__init__.py"], &here.join("models")),
            found("net/model", "models", 1)
        );
        assert_eq!(locate(&["train.py"], here), found("train.py", "train.py", 1));
        assert_eq!(locate(&["/srv/app/other.py", "<string>"], here), None);
    }
}
