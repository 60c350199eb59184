//! Finds the files that a recording names: your code under the root, libraries under the library roots.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ledger::SourceFit;
use pysource::Module;
use recorded::{RecordedFile, Source, Sources};

use crate::source_folders::{RecordedPath, SourceFolders};
use crate::{Options, python_environment, walk};

/// Top-level names of the standard library (`sys.stdlib_module_names` of Python 3.8 – 3.13).
const STANDARD_LIBRARY: &str = include_str!("../data/standard_library.txt");

/// Top-level names of well-known packages, for recordings from machines whose libraries are not here.
const KNOWN_PACKAGES: &str = include_str!("../data/known_packages.txt");

/// A Python file on disk.
#[derive(Clone)]
struct PythonFile {
    module: Arc<Module>,
    text: Arc<str>,
}

/// Finds files, and remembers what it found: the ranks of a run name the same ones.
pub(crate) struct Finder {
    /// Without links, if it is there.
    root: PathBuf,
    /// Without links, best first.
    libraries: Vec<PathBuf>,
    folders: SourceFolders,
    /// Python files below the root by file name, relative to the root. Filled when first needed.
    by_name: OnceLock<BTreeMap<String, Vec<PathBuf>>>,
    files: Mutex<BTreeMap<PathBuf, Option<PythonFile>>>,
}

impl Finder {
    pub(crate) fn new(options: &Options) -> Self {
        let root = options.root.canonicalize().unwrap_or_else(|_| options.root.clone());
        let libraries = python_environment::libraries(&crate::library_roots(options));
        let libraries = libraries.iter().filter_map(|it| it.canonicalize().ok()).collect();
        let folders = crate::source_folders(options);
        Self { root, libraries, folders, by_name: OnceLock::new(), files: Mutex::default() }
    }

    /// What is known about each of `files`.
    pub(crate) fn find(&self, files: &[RecordedFile]) -> Sources {
        let mut sources = Sources::default();
        let mut rest = Vec::new();
        let mut has_own = false;
        for file in files {
            match self.own(file) {
                Some(source) => {
                    has_own = true;
                    sources.insert(&file.path, source);
                }
                None => rest.push(file),
            }
        }
        for file in rest {
            let found = self.library(file);
            let source = found.unwrap_or_else(|| Source {
                key: file.path.clone(),
                path: None,
                // When nothing of the recording is here, whatever is no library's is yours.
                is_own: !has_own && !looks_like_library(&file.path),
                fit: SourceFit::Missing,
                module: None,
                text: None,
            });
            sources.insert(&file.path, source);
        }
        sources
    }

    /// The file of yours that `file` is, if there is one whose functions it has.
    fn own(&self, file: &RecordedFile) -> Option<Source> {
        let mut best: Option<(Match, PathBuf, PythonFile)> = None;
        for relative in self.candidates(&RecordedPath::new(&file.path)?) {
            let Some(python) = self.python_file(&self.root.join(&relative)) else { continue };
            let Some(found) = Match::new(file, &python.module) else { continue };
            if best.as_ref().is_none_or(|(other, ..)| found > *other) {
                best = Some((found, relative, python));
            }
        }
        let (found, relative, python) = best?;
        let key = relative.to_string_lossy().replace('\\', "/");
        let path = Some(self.root.join(&relative));
        let fit = found.fit();
        // Recorded lines mean nothing in a text that was edited since.
        let python = (fit == SourceFit::Fits).then_some(python);
        let (module, text) = python.map(|it| (it.module, it.text)).unzip();
        Some(Source { key, path, is_own: true, fit, module, text })
    }

    /// Files under the root whose path ends like the recorded one; those that agree longest, shortest path first.
    fn candidates(&self, recorded: &RecordedPath<'_>) -> Vec<PathBuf> {
        let text = recorded.text();
        if is_in_library_folder(&text) {
            return Vec::new();
        }
        if let Ok(relative) = Path::new(&text).strip_prefix(&self.root) {
            return vec![relative.to_owned()];
        }
        // A relative path was cut at an entry of `sys.path`, so all of it must agree.
        let names = &recorded.names;
        let least = if recorded.is_absolute() { 1 } else { names.len() };
        let mut candidates: Vec<(usize, &PathBuf)> = Vec::new();
        for candidate in names.last().and_then(|it| self.by_name().get(*it)).into_iter().flatten() {
            let theirs = candidate.iter().rev();
            let n_common = theirs
                .zip(names.iter().rev())
                .take_while(|(a, b)| *a == std::ffi::OsStr::new(b))
                .count();
            if n_common >= least {
                candidates.push((n_common, candidate));
            }
        }
        let most = candidates.iter().map(|(n_common, _)| *n_common).max().unwrap_or(0);
        let mut candidates: Vec<PathBuf> = candidates
            .into_iter()
            .filter(|(n_common, _)| *n_common == most)
            .map(|(_, candidate)| candidate.clone())
            .collect();
        // A file may be just where the path says, where the walk does not go.
        if !recorded.is_absolute() {
            candidates.push(PathBuf::from(text));
        }
        candidates.sort_by_key(|candidate| (candidate.components().count(), candidate.clone()));
        candidates.dedup();
        candidates
    }

    fn by_name(&self) -> &BTreeMap<String, Vec<PathBuf>> {
        self.by_name.get_or_init(|| {
            let mut by_name: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
            walk::files(
                &self.root,
                |path| path.extension().is_some_and(|extension| extension == "py"),
                |path| {
                    if let (Ok(relative), Some(name)) =
                        (path.strip_prefix(&self.root), path.file_name())
                    {
                        by_name
                            .entry(name.to_string_lossy().into_owned())
                            .or_default()
                            .push(relative.to_owned());
                    }
                },
            );
            by_name
        })
    }

    /// The library file that `file` is.
    fn library(&self, file: &RecordedFile) -> Option<Source> {
        let recorded = RecordedPath::new(&file.path)?;
        let text = recorded.text();
        let inside = after_library_folder(&text).map(Path::new);
        let relative = inside.or((!recorded.is_absolute()).then_some(Path::new(&text)));
        let (path, python) = self.libraries.iter().find_map(|library| {
            let relative = relative.or_else(|| Path::new(&text).strip_prefix(library).ok())?;
            let path = library.join(relative);
            let python = self.python_file(&path)?;
            Some((path, python))
        })?;
        let found = Match::new(file, &python.module);
        // Another version of the library: its text must not be shown as the one that ran.
        let fit = found.map_or(SourceFit::Edited, |it| it.fit());
        let python = (fit == SourceFit::Fits).then_some(python);
        let (module, text) = python.map(|it| (it.module, it.text)).unzip();
        Some(Source { key: file.path.clone(), path: Some(path), is_own: false, fit, module, text })
    }

    fn python_file(&self, path: &Path) -> Option<PythonFile> {
        let files = || self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = files().get(path) {
            return known.clone();
        }
        let file = self.folders.read(path).map(|text| {
            let text: Arc<str> = text.into();
            PythonFile { module: Arc::new(Module::parse(&text)), text }
        });
        files().insert(path.to_owned(), file.clone());
        file
    }
}

/// How well a file agrees with what was recorded; a better one is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Match {
    /// Functions defined on the recorded line, per thousand.
    in_place: usize,
    /// Functions that are there at all, per thousand.
    present: usize,
}

impl Match {
    /// `None` if functions were recorded and none of them is in the file.
    fn new(file: &RecordedFile, module: &Module) -> Option<Self> {
        // Comprehensions and module bodies tell nothing: every file may have them, and not every Python calls them.
        let named: Vec<&(String, u32)> =
            file.functions.iter().filter(|(name, _)| !name.starts_with('<')).collect();
        if named.is_empty() {
            return Some(Self { in_place: 1000, present: 1000 });
        }
        let share = |n: usize| n * 1000 / named.len();
        let in_place =
            named.iter().filter(|(name, line)| module.definition(name, *line).is_some()).count();
        let present = named.iter().filter(|(name, _)| module.named(name).next().is_some()).count();
        (present > 0).then(|| Self { in_place: share(in_place), present: share(present) })
    }

    fn fit(self) -> SourceFit {
        if self.in_place == 1000 { SourceFit::Fits } else { SourceFit::Edited }
    }
}

/// Whether a path lies where Python keeps libraries.
fn is_in_library_folder(path: &str) -> bool {
    after_library_folder(path).is_some()
}

/// The part of a path below `site-packages`, `dist-packages` or `lib/python3.x`.
fn after_library_folder(path: &str) -> Option<&str> {
    for folder in ["site-packages/", "dist-packages/", "site-packages\\"] {
        if let Some(at) = path.rfind(folder) {
            return Some(&path[at + folder.len()..]);
        }
    }
    let (at, folder) = path.match_indices("/lib/python3").last()?;
    path[at + folder.len()..].split_once('/').map(|(_, rest)| rest)
}

/// Whether a path that was not found is a library's, by its looks.
fn looks_like_library(path: &str) -> bool {
    let generated =
        path.starts_with('<') || path.contains("torchinductor") || path.contains("/triton/cache/");
    if generated || is_in_library_folder(path) {
        return true;
    }
    let first = path.split(['/', '\\']).next().unwrap_or(path);
    let top = first.strip_suffix(".py").unwrap_or(first);
    let is_listed = |list: &str| list.lines().any(|name| name == top);
    is_listed(STANDARD_LIBRARY) || is_listed(KNOWN_PACKAGES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_told_by_their_paths() {
        let library = [
            "torch/nn/modules/linear.py",
            "threading.py",
            "contextlib.py",
            "<frozen importlib._bootstrap>",
            "/home/a/env/lib/python3.7/site-packages/x/y.py",
            "/usr/lib/python3.11/asyncio/base_events.py",
            "C:\\py\\Lib\\site-packages\\x.py",
            "/tmp/torchinductor_root/ab/cabc.py",
            "tqdm/_monitor.py",
        ];
        let own =
            ["train.py", "/home/a/project/train.py", "models/net.py", "resnet50_profiler_api.py"];
        for path in library {
            assert!(looks_like_library(path), "{path}");
        }
        for path in own {
            assert!(!looks_like_library(path), "{path}");
        }
    }

    #[test]
    fn the_part_below_a_library_folder_is_found() {
        let cases = [
            ("/a/lib/python3.7/site-packages/torch/x.py", Some("torch/x.py")),
            ("/usr/lib/python3.11/os.py", Some("os.py")),
            ("/home/a/train.py", None),
        ];
        for (path, expected) in cases {
            assert_eq!(after_library_folder(path), expected);
        }
    }

    /// Where a finder for `root` and `sites` finds the file of a recorded path, and whether as yours.
    fn found(root: &Path, sites: &[PathBuf], recorded: &str) -> Option<(PathBuf, bool)> {
        let options =
            Options { root: root.to_owned(), sites: Some(sites.to_vec()), ignore_exact: false };
        let file =
            RecordedFile { path: recorded.to_owned(), functions: vec![("work".to_owned(), 1)] };
        let sources = Finder::new(&options).find(std::slice::from_ref(&file));
        let source = sources.get(recorded)?;
        Some((source.path.clone()?, source.is_own))
    }

    #[test]
    fn files_are_found_below_the_root_and_the_sites_alone() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        let (root, site) = (at.join("project"), at.join("lib/python3.12/site-packages"));
        let files = [
            "project/train.py",
            "project/src/models/net.py",
            "project/.hidden/deep.py",
            "lib/python3.12/os.py",
            "lib/python3.12/site-packages/torch/nn.py",
            "elsewhere/secret.py",
        ];
        for name in files {
            let path = at.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "def work():\n    pass\n").unwrap();
        }
        let here = at.display();
        let rows = [
            // As torch writes it, cut at an entry of `sys.path`.
            ("train.py".to_owned(), Some(("project/train.py", true))),
            ("models/net.py".to_owned(), Some(("project/src/models/net.py", true))),
            (".hidden/deep.py".to_owned(), Some(("project/.hidden/deep.py", true))),
            (format!("{here}/project/train.py"), Some(("project/train.py", true))),
            (format!("{here}/project/scripts/../train.py"), Some(("project/train.py", true))),
            // Of another machine.
            (
                "/home/other/proj/models/net.py".to_owned(),
                Some(("project/src/models/net.py", true)),
            ),
            (r"C:\proj\models\net.py".to_owned(), Some(("project/src/models/net.py", true))),
            // Libraries.
            ("torch/nn.py".to_owned(), Some(("lib/python3.12/site-packages/torch/nn.py", false))),
            (
                "/opt/env/lib/python3.9/site-packages/torch/nn.py".to_owned(),
                Some(("lib/python3.12/site-packages/torch/nn.py", false)),
            ),
            ("os.py".to_owned(), Some(("lib/python3.12/os.py", false))),
            ("/usr/lib/python3.11/os.py".to_owned(), Some(("lib/python3.12/os.py", false))),
            // Neither: nothing of these is read.
            (format!("{here}/elsewhere/secret.py"), None),
            (format!("{here}/project/../elsewhere/secret.py"), None),
            ("../elsewhere/secret.py".to_owned(), None),
            (format!("x/site-packages/{here}/elsewhere/secret.py"), None),
            ("x/site-packages/../../../elsewhere/secret.py".to_owned(), None),
        ];
        for (recorded, expected) in rows {
            let expected = expected.map(|(path, is_own)| (at.join(path), is_own));
            let sites = std::slice::from_ref(&site);
            assert_eq!(found(&root, sites, &recorded), expected, "{recorded}");
        }
        // A folder of libraries may be any folder that the user names.
        let sites = [at.join("elsewhere")];
        let expected = Some((at.join("elsewhere/secret.py"), false));
        assert_eq!(found(&root, &sites, &format!("{here}/elsewhere/secret.py")), expected);
    }
}
