//! Which files may be read as sources, and the only way to read one.
//!
//! A recording may come from a stranger, and so may the folder that it lies in. The names in it decide which files
//! are looked for, so they must never lead anybody to read, and to show as their own code, what lies elsewhere.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::python_environment::{libraries, library_roots};
use crate::{LoadOptions, plain_file};

/// What a source file is called at its end.
const ENDINGS: [&str; 3] = ["py", "pyi", "ipynb"];

/// Bytes of the largest file that is read: far more than anybody writes by hand.
const MAX_BYTES: u64 = 16 << 20;

/// The folders that the sources of a recording are read from. Touches the disk.
#[must_use]
pub fn source_folders(options: &LoadOptions) -> SourceFolders {
    let libraries = libraries(&library_roots(options));
    let mapped = options.mappings.iter().map(|it| options.root.join(it.folder()));
    let mapped: Vec<PathBuf> = mapped.collect();
    SourceFolders::new(std::iter::once(&options.root).chain(&libraries).chain(&mapped))
}

/// The folders that sources are read from: the root and the library roots, with the standard libraries beside them, and the
/// folders that others are mapped to.
#[derive(Debug, Clone, Default)]
pub struct SourceFolders {
    /// Without links.
    folders: Vec<PathBuf>,
}

impl SourceFolders {
    /// Reads from below `folders`. Those that are not there are left out. Touches the disk.
    #[must_use]
    pub fn new(folders: impl IntoIterator<Item = impl AsRef<Path>>) -> Self {
        let folders = folders.into_iter().filter_map(|it| it.as_ref().canonicalize().ok());
        Self { folders: folders.collect() }
    }

    /// These folders and `more`.
    #[must_use]
    pub fn and(mut self, more: impl IntoIterator<Item = impl AsRef<Path>>) -> Self {
        self.folders.extend(Self::new(more).folders);
        self
    }

    /// The text of a source file. `None` if it is not there or cannot be read, and for everything that must not be
    /// read: what does not lie below one of the folders when all links are followed, is not named as Python sources
    /// and notebooks (Markdown too) are, is no regular file, or has more than 16 MiB.
    ///
    /// The path of a cell (`pysource::cell_path`) gives the text of that cell.
    #[must_use]
    pub fn read(&self, path: &Path) -> Option<String> {
        let Some((notebook, index)) = path.to_str().and_then(pysource::split_cell_path) else {
            return self.read_file(path);
        };
        let notebook = Path::new(notebook);
        let cells = pysource::code_cells(notebook, &self.read_file(notebook)?);
        cells.into_iter().find(|cell| cell.index == index).map(|cell| cell.text)
    }

    /// The text of the file itself.
    pub(crate) fn read_file(&self, path: &Path) -> Option<String> {
        let mut bytes = Vec::new();
        // A file may grow while it is read, and those of `/proc` have no length.
        self.open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes).ok()?;
        if MAX_BYTES < bytes.len() as u64 {
            return None;
        }
        let text = String::from_utf8(bytes);
        Some(text.unwrap_or_else(|it| String::from_utf8_lossy(it.as_bytes()).into_owned()))
    }

    fn open(&self, path: &Path) -> Option<File> {
        let place = self.place(path)?;
        let file = plain_file::open(&place, MAX_BYTES)?;
        // By now the path may lead elsewhere.
        (self.place(path)? == place).then_some(file)
    }

    /// Where `path` leads to when all links are followed, if a source may lie there.
    fn place(&self, path: &Path) -> Option<PathBuf> {
        let place = path.canonicalize().ok()?;
        let is_below = self.folders.iter().any(|folder| place.starts_with(folder));
        (is_below && is_source(&place)).then_some(place)
    }
}

/// Whether a file is named as sources are: Python, notebook files, and texts that may have cells.
#[must_use]
pub fn is_source(path: &Path) -> bool {
    has_source_ending(path) || pysource::may_have_text_cells(path)
}

/// Whether a file is named as Python sources and notebook files are.
pub(crate) fn has_source_ending(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default();
    ENDINGS.iter().any(|it| ending.eq_ignore_ascii_case(it))
}

/// The path of a source file as a recording names it, of whatever system: without `.` and `..`, so that joined to a
/// folder it stays below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordedPath<'a> {
    /// The names from the first to the last; never empty.
    pub(crate) names: Vec<&'a str>,
    /// What stands before the first name of an absolute path: `/`, or nothing before a drive.
    lead: Option<&'static str>,
}

impl<'a> RecordedPath<'a> {
    /// `None` for what names no source file: `<string>`, other endings, and paths that climb out of where they begin.
    /// A program that puts `scripts/..` into `sys.path` gets it into the names of files, so a name and the `..` after it
    /// cancel out.
    pub(crate) fn new(recorded: &'a str) -> Option<Self> {
        if recorded.starts_with('<') || !has_source_ending(Path::new(recorded)) {
            return None;
        }
        let mut names = Vec::new();
        for name in recorded.split(['/', '\\']) {
            match name {
                "" | "." => {}
                ".." => {
                    names.pop()?;
                }
                name => names.push(name),
            }
        }
        let has_drive = names.first().is_some_and(|it| it.as_bytes().get(1) == Some(&b':'));
        let lead =
            if has_drive { Some("") } else { recorded.starts_with(['/', '\\']).then_some("/") };
        (!names.is_empty()).then_some(Self { names, lead })
    }

    pub(crate) fn is_absolute(&self) -> bool {
        self.lead.is_some()
    }

    /// The names with `/` between them, and what an absolute path begins with.
    pub(crate) fn text(&self) -> String {
        self.folder(self.names.len())
    }

    /// Likewise of the folder that the first `n_names` lead to.
    pub(crate) fn folder(&self, n_names: usize) -> String {
        let names = self.names.get(..n_names).unwrap_or(&self.names);
        format!("{}{}", self.lead.unwrap_or_default(), names.join("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_paths_are_without_steps_up() {
        let rows = [
            ("train.py", Some("train.py")),
            ("./pkg//train.py", Some("pkg/train.py")),
            ("/home/me/scripts/../train.py", Some("/home/me/train.py")),
            (r"C:\job\pkg\train.py", Some("C:/job/pkg/train.py")),
            ("x/site-packages//etc/passwd.py", Some("x/site-packages/etc/passwd.py")),
            ("cells.ipynb", Some("cells.ipynb")),
            ("../train.py", None),
            ("../../../../etc/passwd", None),
            ("/../train.py", None),
            ("pkg/../../train.py", None),
            (r"pkg\..\..\train.py", None),
            ("/etc/passwd", None),
            ("/proc/self/environ", None),
            ("snapshot.pickle", None),
            ("train.py/..", None),
            ("train.py:stream", None),
            ("<string>", None),
            ("<ipython-input-1>.py", None),
            ("", None),
        ];
        for (recorded, expected) in rows {
            let path = RecordedPath::new(recorded);
            assert_eq!(path.as_ref().map(RecordedPath::text).as_deref(), expected, "{recorded}");
        }
        let is_absolute = |it| RecordedPath::new(it).is_some_and(|it| it.is_absolute());
        assert!(is_absolute("/a.py") && is_absolute("c:/a.py") && is_absolute(r"\\host\a.py"));
        assert!(!is_absolute("a.py") && !is_absolute("pkg/a.py"));
    }

    #[test]
    fn what_is_too_large_or_no_source_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let folders = SourceFolders::new([folder.path(), Path::new("/no/such/folder")]);
        std::fs::write(at("a.py"), b"x = '\xff'\n").unwrap();
        std::fs::write(at("a.pickle"), "x = 1\n").unwrap();
        File::create(at("most.py")).unwrap().set_len(MAX_BYTES).unwrap();
        File::create(at("more.py")).unwrap().set_len(MAX_BYTES + 1).unwrap();
        std::fs::create_dir(at("folder.py")).unwrap();
        assert_eq!(folders.read(&at("a.py")).as_deref(), Some("x = '\u{fffd}'\n"));
        assert_eq!(folders.read(&at("most.py")).map(|it| it.len()), Some(16 << 20));
        for name in ["a.pickle", "more.py", "folder.py", "missing.py"] {
            assert_eq!(folders.read(&at(name)), None, "{name}");
        }
    }

    #[test]
    fn what_lies_outside_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["root", "site", "other", "root-2"] {
            std::fs::create_dir(at(name)).unwrap();
            std::fs::write(at(name).join("a.py"), name).unwrap();
        }
        let folders = SourceFolders::new([at("root"), at("site")]);
        let read = |name: &str| folders.read(&at(name));
        assert_eq!(read("root/a.py").as_deref(), Some("root"));
        assert_eq!(read("site/a.py").as_deref(), Some("site"));
        for name in ["other/a.py", "root/../other/a.py", "root-2/a.py"] {
            assert_eq!(read(name), None, "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_where_they_lead_to_a_source_that_may_be_read() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["root", "site", "other"] {
            std::fs::create_dir(at(name)).unwrap();
            std::fs::write(at(name).join("a.py"), name).unwrap();
            std::fs::write(at(name).join("a.txt"), name).unwrap();
        }
        symlink("a.py", at("root/b.py")).unwrap();
        symlink(at("site"), at("root/lib")).unwrap();
        symlink("a.txt", at("root/text.py")).unwrap();
        symlink(at("other/a.py"), at("root/file.py")).unwrap();
        symlink(at("other"), at("root/folder")).unwrap();
        symlink("/proc/self/environ", at("root/environ.py")).unwrap();
        symlink(at("root"), at("spelled")).unwrap();
        let folders = SourceFolders::new([at("spelled"), at("site")]);
        let read = |name: &str| folders.read(&at(name));
        assert_eq!(read("root/b.py").as_deref(), Some("root"));
        assert_eq!(read("spelled/a.py").as_deref(), Some("root"));
        assert_eq!(read("root/lib/a.py").as_deref(), Some("site"));
        for name in ["text.py", "file.py", "folder/a.py", "environ.py"] {
            assert_eq!(folders.read(&at("root").join(name)), None, "{name}");
        }
    }
}
