//! Finds the files that a recording names: your code under the root, libraries under the library roots.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ledger::SourceFit;
use pysource::{LineIndex, Module, NotebookCell, may_have_text_cells};
use recorded::{
    CallsByFile, RecordedFile, RecordedSource, RecordedSources, TextOrigin, TextThatRan,
    TextsByFile, is_generated_file,
};

use crate::file_identity::FileIdentity;
use crate::git_texts::{GitText, GitTexts};
use crate::python_environment::library_roots;
use crate::recorded_at::RecordedAt;
use crate::source_folders::{RecordedPath, SourceFolders, source_folders};
use crate::stable_hash::StableHash;
use crate::user_code::{
    MinePattern, after_library_folder, is_in_library_folder, is_plumbing, looks_like_library,
};
use crate::{LoadOptions, SourceMapping, python_environment, walk};

/// Components that the end of a recorded path and that of a file must have in common for the file to be believed by its
/// path; where only the name of the file agrees, most of its functions must be there too.
const MIN_EQUAL_COMPONENTS: usize = 2;

/// A Python file on disk.
#[derive(Clone)]
struct PythonFile {
    module: Arc<Module>,
    text: Arc<str>,
}

/// A cell of a notebook on disk, or of a text with cells.
#[derive(Clone)]
struct CellFile {
    /// Relative to the root (`pysource::cell_path`).
    relative: PathBuf,
    text: Arc<str>,
}

/// What the system says of a file, and whether a change from then on would change it; `None` of what is no file.
type SeenFile = Option<(FileIdentity, bool)>;

/// Finds files, and remembers what it found: the ranks of a run name the same ones.
pub(crate) struct Finder {
    /// Without links, if it is there.
    root: PathBuf,
    /// Without links, best first.
    libraries: Vec<PathBuf>,
    folders: SourceFolders,
    mine: Vec<MinePattern>,
    /// Where recorded folders are: absolute, without links if they are there.
    mappings: Vec<SourceMapping>,
    /// Python files below the root by file name, relative to the root. Filled when first needed.
    by_name: OnceLock<BTreeMap<String, Vec<PathBuf>>>,
    /// Cells of notebooks below the root by the number in the name of their file (`pysource::cell_hash`). Filled when first
    /// needed.
    cells: OnceLock<BTreeMap<u32, CellFile>>,
    /// Those of texts with cells below the root, likewise. Filled when a cell is in no notebook.
    text_cells: OnceLock<BTreeMap<u32, CellFile>>,
    /// The files that are there; `None` of what cannot be read.
    files: Mutex<HashMap<PathBuf, Option<PythonFile>>>,
    /// What the system said of files before they were read, those included that are not there although their folder is.
    seen: Mutex<HashMap<PathBuf, SeenFile>>,
    /// Whether folders of files are there: a recording names many files of packages that this machine does not have.
    has_folder: Mutex<HashMap<PathBuf, bool>>,
    /// Texts that ran, by the path as recorded.
    known_texts: TextsByFile,
    /// Texts of commits, if they are to be looked for.
    git: Option<GitTexts>,
}

impl Finder {
    pub(crate) fn new(options: &LoadOptions) -> Self {
        let root = options.root.canonicalize().unwrap_or_else(|_| options.root.clone());
        let libraries = python_environment::libraries(&library_roots(options));
        let libraries = libraries.iter().filter_map(|it| it.canonicalize().ok()).collect();
        let folders = source_folders(options);
        Self {
            git: options.git_texts.then(|| GitTexts::new(&root)),
            libraries,
            folders,
            mine: options.mine.clone(),
            mappings: options.mappings.iter().map(|it| it.absolute(&root)).collect(),
            by_name: OnceLock::new(),
            cells: OnceLock::new(),
            text_cells: OnceLock::new(),
            files: Mutex::default(),
            seen: Mutex::default(),
            has_folder: Mutex::default(),
            known_texts: options.known_texts.clone(),
            root,
        }
    }

    /// Your code, without links.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// What may be read.
    pub(crate) fn folders(&self) -> &SourceFolders {
        &self.folders
    }

    /// The repository that holds the root, if texts are looked for there.
    pub(crate) fn git(&self) -> Option<&GitTexts> {
        self.git.as_ref()
    }

    /// Adds where it looks to a hash.
    pub(crate) fn add_places_to(&self, hash: &mut StableHash) {
        for folder in std::iter::once(&self.root).chain(&self.libraries) {
            hash.bytes(folder.as_os_str().as_encoded_bytes());
        }
    }

    /// A hash of what the disk says, without a file being read, of all files that [`Self::find`] looks at for these recorded
    /// paths: where it is the same, the same is found. `None` where one of them was changed a moment ago.
    pub(crate) fn fingerprint<'a>(&self, recorded: impl Iterator<Item = &'a str>) -> Option<u128> {
        let mut hash = StableHash::new();
        let mut is_settled = true;
        let mut note = |path: &Path| {
            hash.bytes(path.as_os_str().as_encoded_bytes());
            if let Some((identity, settled)) = self.see(path) {
                identity.add_to(&mut hash);
                is_settled &= settled;
            }
        };
        let mut has_cells = false;
        for recorded in recorded {
            has_cells |= pysource::recorded_cell(recorded).is_some();
            let Some(path) = RecordedPath::new(recorded) else { continue };
            self.mapped(&path).iter().for_each(|it| note(it));
            let candidates = self.candidates(&path);
            candidates.iter().for_each(|(it, _)| note(&self.root.join(it)));
            self.library_paths(&path).for_each(|it| note(&it));
        }
        if has_cells {
            walk::files(&self.root, |it| is_notebook(it) || may_have_text_cells(it), note);
        }
        is_settled.then_some(hash.0)
    }

    /// What the system says of a file, when it was first asked.
    fn see(&self, path: &Path) -> SeenFile {
        if !self.has_folder(path.parent()?) {
            return None;
        }
        remembered(&self.seen, path, || FileIdentity::of_path(path).map(|it| (it, it.is_settled())))
    }

    /// Whether a folder was there when it was first asked for.
    fn has_folder(&self, path: &Path) -> bool {
        remembered(&self.has_folder, path, || path.is_dir())
    }

    /// What is known about each of `files`. `texts` are those that ran as far as they are known, by the path as recorded.
    pub(crate) fn find(
        &self,
        files: &[RecordedFile],
        texts: &TextsByFile,
        at: RecordedAt,
    ) -> RecordedSources {
        let mut found: Vec<(&RecordedFile, RecordedSource)> = Vec::with_capacity(files.len());
        let mut rest = Vec::new();
        for file in files {
            let ran = TextOfFile::new(file, [texts, &self.known_texts]);
            if let Some(hash) = pysource::recorded_cell(&file.path) {
                let source = self.cell(hash).unwrap_or_else(|| match ran {
                    Some(ran) => ran.source(missing(file)),
                    None => missing(file),
                });
                found.push((file, RecordedSource { is_user_code: true, ..source }));
            } else if is_generated_file(&file.path) {
                // Nobody wrote it, wherever it lies.
                let source = ran.map_or_else(|| missing(file), |ran| ran.source(missing(file)));
                found.push((file, RecordedSource { is_user_code: false, ..source }));
            } else if let Some(source) = self.own(file, ran, at) {
                found.push((file, source));
            } else if self.mine.iter().any(|it| it.is_match(&file.path)) {
                let source = self.library(file).unwrap_or_else(|| missing(file));
                found.push((file, RecordedSource { is_user_code: true, ..source }));
            } else {
                rest.push(file);
            }
        }
        // What else was captured does not change whose lines those of the recording are.
        let of_recording = |(file, _): &&(&RecordedFile, RecordedSource)| !file.is_captured;
        let has_own =
            found.iter().filter(of_recording).any(|(_, source)| source.fit != SourceFit::Missing);
        for file in rest {
            let source = self.library(file).or_else(|| self.gone(file, at));
            let source = source.unwrap_or_else(|| RecordedSource {
                // When nothing of the recording is here, whatever is no library's is yours.
                is_user_code: !has_own && !looks_like_library(&file.path),
                ..missing(file)
            });
            found.push((file, source));
        }
        // Where nothing is yours, as in a recording of a server, the packages that it runs take its place.
        let has_own = found.iter().filter(of_recording).any(|(_, source)| source.is_user_code);
        let mut sources = RecordedSources::default();
        for (file, mut source) in found {
            source.is_user_code |= !has_own && !is_plumbing(&file.path);
            sources.insert(&file.path, source);
        }
        sources
    }

    /// Gives the files of yours of which nobody knows the text that ran a text that it may have been: that of the file, with
    /// functions and calls put on the lines on which a trace names them. `calls` are those of some of `files`.
    pub(crate) fn arrange(
        &self,
        files: &[RecordedFile],
        sources: &mut RecordedSources,
        calls: impl FnOnce(&BTreeSet<&str>) -> CallsByFile,
    ) {
        let is_unknown = |file: &&RecordedFile| {
            let source = sources.get(&file.path).filter(|it| it.is_user_code);
            let is_cell = pysource::recorded_cell(&file.path).is_some();
            source.is_some_and(|it| match it.text {
                None => it.fit == SourceFit::Edited && !is_cell && it.path.is_some(),
                Some(_) => it.origin == TextOrigin::NewerFile,
            })
        };
        let unknown: Vec<&RecordedFile> = files.iter().filter(is_unknown).collect();
        if unknown.is_empty() {
            return;
        }
        let calls = calls(&unknown.iter().map(|it| it.path.as_str()).collect());
        for file in unknown {
            let Some(source) = sources.get(&file.path).cloned() else { continue };
            let Some(now) = source.path.as_ref().and_then(|it| self.python_file(it)) else {
                continue;
            };
            let calls = calls.get(&file.path).map(Vec::as_slice).unwrap_or_default();
            let arranged = pysource::arranged(&now.text, &file.functions, calls);
            // What already fits is not made again.
            let is_other = |it: &String| source.text.is_none() || !is_same_text(it, &now.text);
            let Some(text) = arranged.filter(is_other) else { continue };
            let module = Arc::new(Module::parse(&text));
            let arranged =
                TextOfFile { text: text.into(), origin: TextOrigin::ArrangedFile, module };
            sources.insert(&file.path, arranged.source(source));
        }
    }

    /// The cell whose text has `hash`, which says that it is the one that ran.
    fn cell(&self, hash: u32) -> Option<RecordedSource> {
        let found = self.cells().get(&hash).or_else(|| self.text_cells().get(&hash));
        let CellFile { relative, text } = found?.clone();
        Some(RecordedSource {
            key: relative.to_string_lossy().replace('\\', "/"),
            path: Some(self.root.join(&relative)),
            is_user_code: true,
            fit: SourceFit::Fits,
            module: Some(Arc::new(Module::parse(&text))),
            text: Some(text),
            ..RecordedSource::default()
        })
    }

    fn cells(&self) -> &BTreeMap<u32, CellFile> {
        self.cells.get_or_init(|| {
            self.cells_in(is_notebook, |_, text| {
                let cells = pysource::notebook_cells(text).into_iter();
                let texts = |it: NotebookCell| {
                    (it.index, pysource::texts_of_cell(&it.text).map(Cow::into_owned).collect())
                };
                cells.map(texts).collect()
            })
        })
    }

    fn text_cells(&self) -> &BTreeMap<u32, CellFile> {
        self.text_cells.get_or_init(|| {
            self.cells_in(may_have_text_cells, |file, text| {
                let cells = pysource::text_cells(file, text).into_iter();
                cells.map(|it| (it.index, it.texts().map(|it| it.text.into()).collect())).collect()
            })
        })
    }

    /// The cells of the files below the root that `is_wanted` knows by their names, of which `cells` gives each cell's place among
    /// all with the texts that may have run. Of several cells with one text, which have one file, the first one of the first file.
    fn cells_in(
        &self,
        is_wanted: impl Fn(&Path) -> bool,
        cells: impl Fn(&Path, &str) -> Vec<(usize, Vec<String>)>,
    ) -> BTreeMap<u32, CellFile> {
        let mut found = BTreeMap::new();
        walk::files(&self.root, is_wanted, |path| {
            let Ok(file) = path.strip_prefix(&self.root) else { return };
            self.see(path);
            let text = self.folders.read_file(path).unwrap_or_default();
            for (index, texts) in cells(file, &text) {
                for text in texts {
                    found.entry(pysource::cell_hash(&text)).or_insert_with(|| CellFile {
                        relative: pysource::cell_path(file, index),
                        text: text.into(),
                    });
                }
            }
        });
        found
    }

    /// The file of yours that `file` is, if there is one whose functions it has. Where the text that ran is known, the
    /// file of that text is it, else the one that the path leads to, whatever is in it now.
    fn own(
        &self,
        file: &RecordedFile,
        ran: Option<TextOfFile>,
        at: RecordedAt,
    ) -> Option<RecordedSource> {
        let path = RecordedPath::new(&file.path);
        let is_mapped = path.as_ref().is_some_and(|it| self.mapped_file(it).is_some());
        if ran.is_none() && !is_mapped && self.is_of_library(file) {
            return None;
        }
        let mut best: Option<((bool, Match), PathBuf, PythonFile)> = None;
        let mut others = Vec::new();
        let candidates = path.map(|it| self.candidates(&it)).unwrap_or_default();
        for (relative, is_certain) in candidates {
            let Some(python) = self.python_file(&self.root.join(&relative)) else { continue };
            let is_text = ran.as_ref().is_some_and(|it| is_same_text(&it.text, &python.text));
            let found = Match::new(file, &python.module);
            let Some(found) = found.or((is_certain && ran.is_some()).then_some(Match::NOTHING))
            else {
                continue;
            };
            if !is_text && !is_certain && !found.has_most() {
                continue;
            }
            let rank = (is_text, found);
            match best.as_ref().map_or(std::cmp::Ordering::Greater, |(other, ..)| rank.cmp(other)) {
                std::cmp::Ordering::Greater => {
                    others.clear();
                    best = Some((rank, relative, python));
                }
                std::cmp::Ordering::Equal => others.push(relative),
                std::cmp::Ordering::Less => {}
            }
        }
        let Some(((is_text, found), relative, python)) = best else {
            return ran.map(|ran| ran.source(missing(file)));
        };
        let source = RecordedSource {
            key: relative.to_string_lossy().replace('\\', "/"),
            path: Some(self.root.join(&relative)),
            is_user_code: true,
            // What has no functions of its own says nothing of which one it is.
            others: if has_named_functions(file) { others } else { Vec::new() },
            ..RecordedSource::default()
        };
        if let Some(ran) = ran {
            let fit = if is_text { SourceFit::Fits } else { SourceFit::Edited };
            return Some(ran.source(RecordedSource { fit, ..source }));
        }
        let fit = found.fit();
        // What was changed since may begin its functions where the text that ran does.
        let is_newer = at.is_newer(&self.root.join(&relative));
        let edited = RecordedSource { fit: SourceFit::Edited, ..source.clone() };
        if fit != SourceFit::Fits || is_newer {
            match self.committed(file, &relative, at) {
                Some(ran) if !is_same_text(&ran.text, &python.text) => {
                    return Some(ran.source(edited));
                }
                None if fit == SourceFit::Fits => {
                    let PythonFile { module, text } = python;
                    return Some(
                        TextOfFile { text, origin: TextOrigin::NewerFile, module }.source(edited),
                    );
                }
                _ => {}
            }
        }
        // Recorded lines mean nothing in a text that was edited since.
        let python = (fit == SourceFit::Fits).then_some(python);
        let (module, text) = python.map(|it| (it.module, it.text)).unzip();
        Some(RecordedSource { fit, module, text, ..source })
    }

    /// Whether a file of a known package, or of the standard library, is the one that the libraries have: a copy of it below
    /// the root is none of yours.
    fn is_of_library(&self, file: &RecordedFile) -> bool {
        let is_cut = RecordedPath::new(&file.path).is_some_and(|it| !it.is_absolute());
        is_cut
            && looks_like_library(&file.path)
            && has_named_functions(file)
            && self.library(file).is_some_and(|it| it.fit == SourceFit::Fits)
    }

    /// The text of a commit that `file` had when it ran, whose place is `relative` now.
    fn committed(
        &self,
        file: &RecordedFile,
        relative: &Path,
        at: RecordedAt,
    ) -> Option<TextOfFile> {
        let git = self.git.as_ref()?;
        let fits = |module: &Module| fits(file, module);
        let found = git.at(relative, at, fits).map(TextOfFile::from);
        found.or_else(|| self.moved(file, at))
    }

    /// The same, where it was then.
    fn moved(&self, file: &RecordedFile, at: RecordedAt) -> Option<TextOfFile> {
        let path = RecordedPath::new(&file.path)?;
        // By its functions alone it must be certain which one it is.
        if is_in_library_folder(&path.text()) || !has_named_functions(file) {
            return None;
        }
        let least = if path.is_absolute() { 1 } else { path.names.len() };
        let fits = |module: &Module| fits(file, module);
        self.git.as_ref()?.named(&path.names, least, at, fits).map(TextOfFile::from)
    }

    /// A file of yours that is gone, with the text that it had when it ran.
    fn gone(&self, file: &RecordedFile, at: RecordedAt) -> Option<RecordedSource> {
        if looks_like_library(&file.path) {
            return None;
        }
        Some(self.moved(file, at)?.source(missing(file)))
    }

    /// Likewise of a path as it is recorded.
    pub(crate) fn mapped_path(&self, recorded: &str) -> Option<PathBuf> {
        self.mapped(&RecordedPath::new(recorded)?)
    }

    /// Where the file of a recorded path should be as somebody said, whether it is there or not.
    fn mapped(&self, recorded: &RecordedPath<'_>) -> Option<PathBuf> {
        SourceMapping::path(&self.mappings, recorded)
    }

    /// The same, if it is there.
    fn mapped_file(&self, recorded: &RecordedPath<'_>) -> Option<PathBuf> {
        self.mapped(recorded).filter(|it| self.python_file(it).is_some())
    }

    /// The file that a mapping leads to, else files under the root whose path ends like the recorded one; those that agree
    /// longest, shortest path first. What is below the root is relative to it. With each, whether so much of the path agrees
    /// that it is believed to be the file.
    fn candidates(&self, recorded: &RecordedPath<'_>) -> Vec<(PathBuf, bool)> {
        if let Some(path) = self.mapped_file(recorded) {
            return vec![(path.strip_prefix(&self.root).unwrap_or(&path).to_owned(), true)];
        }
        let text = recorded.text();
        if is_in_library_folder(&text) {
            return Vec::new();
        }
        if let Ok(relative) = Path::new(&text).strip_prefix(&self.root) {
            return vec![(relative.to_owned(), true)];
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
            candidates.push(PathBuf::from(&text));
        }
        candidates.sort_by_key(|candidate| (candidate.components().count(), candidate.clone()));
        candidates.dedup();
        let is_certain = |it: &Path| {
            MIN_EQUAL_COMPONENTS <= most || !recorded.is_absolute() && it == Path::new(&text)
        };
        let certain = |it: PathBuf| {
            let is_certain = is_certain(&it);
            (it, is_certain)
        };
        candidates.into_iter().map(certain).collect()
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
    fn library(&self, file: &RecordedFile) -> Option<RecordedSource> {
        let recorded = RecordedPath::new(&file.path)?;
        let found = |path: PathBuf| Some((self.python_file(&path)?, path));
        let (python, path) = self.library_paths(&recorded).find_map(found)?;
        let found = Match::new(file, &python.module);
        // Another version of the library: its text must not be shown as the one that ran.
        let fit = found.map_or(SourceFit::Edited, |it| it.fit());
        let python = (fit == SourceFit::Fits).then_some(python);
        let (module, text) = python.map(|it| (it.module, it.text)).unzip();
        Some(RecordedSource {
            key: file.path.clone(),
            path: Some(path),
            is_user_code: false,
            fit,
            module,
            text,
            ..RecordedSource::default()
        })
    }

    /// Where the file of a recorded path may be in the libraries, best first.
    fn library_paths(&self, recorded: &RecordedPath<'_>) -> impl Iterator<Item = PathBuf> {
        let text = recorded.text();
        let is_absolute = recorded.is_absolute();
        self.libraries.iter().filter_map(move |library| {
            let inside = after_library_folder(&text).map(Path::new);
            let relative = inside
                .or((!is_absolute).then_some(Path::new(&text)))
                .or_else(|| Path::new(&text).strip_prefix(library).ok())?;
            Some(library.join(relative))
        })
    }

    fn python_file(&self, path: &Path) -> Option<PythonFile> {
        // Before it is read: a change from now on is seen by the next load.
        self.see(path)?;
        remembered(&self.files, path, || {
            let text: Arc<str> = self.folders.read(path)?.into();
            Some(PythonFile { module: Arc::new(Module::parse(&text)), text })
        })
    }
}

/// What is known of a path, which `find` finds where it is the first time; others may look for it meanwhile.
fn remembered<T: Clone>(
    known: &Mutex<HashMap<PathBuf, T>>,
    path: &Path,
    find: impl FnOnce() -> T,
) -> T {
    let known = || known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known().get(path) {
        return known.clone();
    }
    let found = find();
    known().entry(path.to_owned()).or_insert(found).clone()
}

fn is_notebook(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "ipynb")
}

/// The text of a file that ran, known from elsewhere than the file.
struct TextOfFile {
    text: Arc<str>,
    origin: TextOrigin,
    module: Arc<Module>,
}

impl TextOfFile {
    /// The first text of `file` in which the functions that ran are where the recording names them: what was written
    /// beside the trace need not be what Python had read.
    fn new(file: &RecordedFile, texts: [&TextsByFile; 2]) -> Option<Self> {
        texts.into_iter().find_map(|texts| {
            let TextThatRan { text, origin } = texts.get(&file.path)?.clone();
            let module = Arc::new(Module::parse(&text));
            fits(file, &module).then_some(Self { text, origin, module })
        })
    }

    /// `source`, with this as the text that ran.
    fn source(self, source: RecordedSource) -> RecordedSource {
        let (module, text) = (Some(self.module), Some(self.text));
        RecordedSource { is_user_code: true, module, text, origin: self.origin, ..source }
    }
}

impl From<GitText> for TextOfFile {
    fn from(found: GitText) -> Self {
        let GitText { text, module, blob } = found;
        Self { text, module, origin: TextOrigin::Git(blob) }
    }
}

/// Whether all functions that ran begin where they were recorded, and all calls stand on lines of code.
fn fits(file: &RecordedFile, module: &Module) -> bool {
    Match::new(file, module).is_some_and(|it| it.fit() == SourceFit::Fits)
}

/// Comprehensions and module bodies identify no file: every file may have them, and not every Python calls them.
fn named_functions(file: &RecordedFile) -> impl Iterator<Item = &(String, u32)> {
    file.functions.iter().filter(|(name, _)| !name.starts_with('<'))
}

fn has_named_functions(file: &RecordedFile) -> bool {
    named_functions(file).next().is_some()
}

/// Whether two texts are the same but for how lines end.
fn is_same_text(a: &str, b: &str) -> bool {
    a == b || LineIndex::new(a).n_lines() == LineIndex::new(b).n_lines() && a.lines().eq(b.lines())
}

/// A file that was not found.
fn missing(file: &RecordedFile) -> RecordedSource {
    RecordedSource { key: file.path.clone(), fit: SourceFit::Missing, ..RecordedSource::default() }
}

/// How well a file agrees with what was recorded; a better one is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Match {
    /// Functions defined on the recorded line, per thousand.
    in_place: usize,
    /// Functions that are there at all, per thousand.
    present: usize,
    /// Whether all lines on which something was called are lines of code.
    has_calls: bool,
}

impl Match {
    /// None of the functions is there.
    const NOTHING: Self = Self { has_calls: false, in_place: 0, present: 0 };

    /// `None` if functions were recorded and none of them is in the file.
    fn new(file: &RecordedFile, module: &Module) -> Option<Self> {
        let named: Vec<&(String, u32)> = named_functions(file).collect();
        let has_calls = file.call_lines.iter().all(|it| module.has_code(*it));
        if named.is_empty() {
            return Some(Self { has_calls, in_place: 1000, present: 1000 });
        }
        let share = |n: usize| n * 1000 / named.len();
        let is_in_place = |name: &str, line: u32| {
            module.definition(name, line).is_some() || module.wrapper(line).is_some()
        };
        let in_place = named.iter().filter(|(name, line)| is_in_place(name, *line)).count();
        let is_present =
            |name: &str, line: u32| module.named(name).next().is_some() || is_in_place(name, line);
        let present = named.iter().filter(|(name, line)| is_present(name, *line)).count();
        let (in_place, present) = (share(in_place), share(present));
        (present > 0).then_some(Self { has_calls, in_place, present })
    }

    /// Whether more than half of the functions are there.
    fn has_most(self) -> bool {
        500 < self.present
    }

    fn fit(self) -> SourceFit {
        if self.has_calls && self.in_place == 1000 { SourceFit::Fits } else { SourceFit::Edited }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a finder for `root` and `sites` finds the file of a recorded path, and whether as yours.
    fn found(root: &Path, sites: &[PathBuf], recorded: &str) -> Option<(PathBuf, bool)> {
        let options = LoadOptions::new(root, Some(sites.to_vec()));
        let file = RecordedFile {
            path: recorded.to_owned(),
            functions: vec![("work".to_owned(), 1)],
            ..Default::default()
        };
        let sources = Finder::new(&options).find(
            std::slice::from_ref(&file),
            &TextsByFile::new(),
            RecordedAt::default(),
        );
        let source = sources.get(recorded)?;
        Some((source.path.clone()?, source.is_user_code))
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
            "project/vendor/torch/nn.py",
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
            let expected = expected.map(|(path, is_user_code)| (at.join(path), is_user_code));
            let sites = std::slice::from_ref(&site);
            assert_eq!(found(&root, sites, &recorded), expected, "{recorded}");
        }
        // A folder of libraries may be any folder that the user names.
        let sites = [at.join("elsewhere")];
        // Nothing else is recorded here, so it stands for code of the user.
        let expected = Some((at.join("elsewhere/secret.py"), true));
        assert_eq!(found(&root, &sites, &format!("{here}/elsewhere/secret.py")), expected);
    }

    #[test]
    fn mappings_lead_to_files_before_their_names_do() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().canonicalize().unwrap();
        let (root, site) = (at.join("project"), at.join("site-packages"));
        for name in [
            "project/a/models/net.py",
            "project/b/models/net.py",
            "project/train.py",
            "elsewhere/train.py",
            "elsewhere/vllm/core.py",
            "site-packages/vllm/core.py",
        ] {
            let path = at.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "def work():\n    pass\n").unwrap();
        }
        let find = |mappings: &[&str], recorded: &str| {
            let mappings = mappings.iter().map(|it| it.parse().unwrap()).collect();
            let options =
                LoadOptions { mappings, ..LoadOptions::new(&root, Some(vec![site.clone()])) };
            let file = RecordedFile {
                path: recorded.to_owned(),
                functions: vec![("work".to_owned(), 1)],
                ..Default::default()
            };
            let files = std::slice::from_ref(&file);
            let found =
                Finder::new(&options).find(files, &TextsByFile::new(), RecordedAt::default());
            let source = found.get(recorded).unwrap().clone();
            let path = source.path.unwrap().strip_prefix(&at).unwrap().to_owned();
            assert_eq!((source.fit, source.is_user_code), (SourceFit::Fits, true), "{recorded}");
            (path.to_string_lossy().into_owned(), source.key, source.others)
        };
        let net = "/srv/app/models/net.py";
        let elsewhere = format!("/srv={}", at.join("elsewhere").display());
        let rows = [
            // Of several files that are as likely the shortest path, in the order of letters.
            (&[][..], net, "project/a/models/net.py", &["b/models/net.py"][..]),
            (&["/srv/app=b"], net, "project/b/models/net.py", &[]),
            (&["/srv=elsewhere", "/srv/app/models=b/models"], net, "project/b/models/net.py", &[]),
            // Where the mapping leads to no file, names count.
            (&["/srv/app=c"], net, "project/a/models/net.py", &["b/models/net.py"]),
            (&[&elsewhere], "/srv/train.py", "elsewhere/train.py", &[]),
            (&[], "/srv/train.py", "project/train.py", &[]),
            // What is mapped is yours, be it a library's or not.
            (
                &[&format!("{elsewhere}/vllm").replace("/srv", "vllm")],
                "vllm/core.py",
                "elsewhere/vllm/core.py",
                &[],
            ),
        ];
        for (mappings, recorded, expected, others) in rows {
            let (path, key, found) = find(mappings, recorded);
            assert_eq!(path, expected, "{mappings:?} {recorded}");
            assert_eq!(found, others.iter().map(PathBuf::from).collect::<Vec<_>>());
            // A file outside of the root is known by all of its path.
            let place = at.join(&path);
            assert_eq!(Path::new(&key), place.strip_prefix(&root).unwrap_or(&place));
        }
    }

    #[test]
    fn patterns_and_recordings_without_user_code_decide_what_is_yours() {
        let folder = tempfile::tempdir().unwrap();
        let whose = |mine: &[&str], paths: &[&str]| -> Vec<String> {
            let mine = mine.iter().map(|it| it.parse().unwrap()).collect();
            let options = LoadOptions { mine, ..LoadOptions::new(folder.path(), Some(Vec::new())) };
            let functions = vec![("work".to_owned(), 1)];
            let file = |path: &&str| RecordedFile {
                path: (*path).to_owned(),
                functions: functions.clone(),
                ..Default::default()
            };
            let files: Vec<RecordedFile> = paths.iter().map(file).collect();
            let sources =
                Finder::new(&options).find(&files, &TextsByFile::new(), RecordedAt::default());
            let is_user_code = |path: &&&str| sources.get(path).is_some_and(|it| it.is_user_code);
            paths.iter().filter(is_user_code).map(|it| (*it).to_owned()).collect()
        };
        let server = ["vllm/v1/core.py", "torch/utils/_contextlib.py", "functools.py"];
        assert_eq!(whose(&[], &server), ["vllm/v1/core.py"]);
        let script = ["train.py", "vllm/v1/core.py", "torch/utils/_contextlib.py"];
        assert_eq!(whose(&[], &script), ["train.py"]);
        assert_eq!(whose(&["vllm"], &script), ["train.py", "vllm/v1/core.py"]);
    }

    #[test]
    fn a_file_of_the_same_name_is_not_taken_for_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("core/scheduler.py");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "def step():\n    pass\n\n\ndef schedule():\n    pass\n").unwrap();
        let options = LoadOptions::new(folder.path(), Some(Vec::new()));
        let is_found = |recorded: &str, functions: &[&str]| {
            let functions = functions.iter().map(|name| ((*name).to_owned(), 1)).collect();
            let file = RecordedFile { path: recorded.to_owned(), functions, ..Default::default() };
            Finder::new(&options)
                .find(&[file], &TextsByFile::new(), RecordedAt::default())
                .get(recorded)
                .unwrap()
                .path
                .is_some()
        };
        assert!(!is_found("/srv/vllm/scheduler.py", &["step", "add_request", "abort"]));
        assert!(is_found("/srv/vllm/scheduler.py", &["step", "schedule", "abort"]));
        assert!(!is_found("scheduler.py", &["step", "add_request", "abort"]));
        assert!(is_found("scheduler.py", &["step", "schedule", "abort"]));
        assert!(is_found("core/scheduler.py", &["step", "add_request", "abort"]));
        assert!(is_found("/srv/core/scheduler.py", &["step", "add_request", "abort"]));
    }

    #[test]
    fn a_text_in_which_calls_stand_on_no_code_did_not_run() {
        let text = "def work():\n    return 1\n\n# Calls it.\nwork(\n\n)\n";
        let fit = |functions: &[(&str, u32)], call_lines: &[u32]| {
            let functions = functions.iter().map(|(name, line)| ((*name).to_owned(), *line));
            let file = RecordedFile {
                functions: functions.collect(),
                call_lines: call_lines.to_vec(),
                ..Default::default()
            };
            Match::new(&file, &Module::parse(text)).map(Match::fit)
        };
        for functions in [&[("work", 1)][..], &[]] {
            assert_eq!(fit(functions, &[2, 5, 6, 7]), Some(SourceFit::Fits));
            for line in [3, 4, 8, 99] {
                assert_eq!(fit(functions, &[5, line]), Some(SourceFit::Edited), "{line}");
            }
        }
        let broken = RecordedFile { call_lines: vec![1], ..Default::default() };
        let broken = Match::new(&broken, &Module::parse("# \nwork("));
        assert_eq!(broken.map(Match::fit), Some(SourceFit::Fits), "not all of it was read");
    }

    #[test]
    fn a_wrapper_that_was_given_another_name_is_the_text_that_ran() {
        let text = "def decorator(function):\n    @wraps(function)\n    def wrapper():\n        pass\n    return wrapper\n";
        let fit = |name: &str, line: u32| {
            let file = RecordedFile {
                path: String::new(),
                functions: vec![(name.to_owned(), line)],
                ..Default::default()
            };
            Match::new(&file, &Module::parse(text)).map(Match::fit)
        };
        assert_eq!(fit("wrapper", 2), Some(SourceFit::Fits));
        assert_eq!(fit("no_grad", 2), Some(SourceFit::Fits));
        assert_eq!(fit("no_grad", 4), Some(SourceFit::Fits));
        assert_eq!(fit("wrapper", 1), Some(SourceFit::Edited));
        assert_eq!(fit("no_grad", 1), None);
    }
}
