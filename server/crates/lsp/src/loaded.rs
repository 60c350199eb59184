//! A recording that was loaded, and the files it speaks of.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use ide::{CriticalPath, Finding, LazyModule, PlacedSource, View};
use ledger::{Ledger, PathsByRank};
use loader::{
    Error, EventTimeline, LoadOptions, MemoryHistory, Run, Signature, SourceFolders, StackBooks,
    StackChoice, StepsSoFar, TextOrigin, TextThatRan, TextsByFile, TimelineChoice, Watch,
};
use pysource::{LineIndex, LineMap, Module};
use report::{RecordingPart, StackFilter};

use crate::config::Recordings;
use crate::document::{CellThatRan, Document};
use crate::load_failure::LoadFailure;
use crate::part_books::{LoadedPart, ShownBooks};
use crate::paths;
use crate::text_notebook::{PlacedCell, RecordedCells};

/// Books that cannot be read.
static EMPTY: LazyLock<Ledger> = LazyLock::new(Ledger::default);

/// A recording that was loaded.
pub(crate) struct LoadedRecording {
    /// Which load it was.
    pub(crate) generation: u64,
    pub(crate) signature: Signature,
    pub(crate) run: Run,
    /// How much of the recording this is, if the rest of it is not read yet.
    pub(crate) so_far: Option<StepsSoFar>,
    /// The books of each of several ranks, once they were asked for.
    by_rank: HashMap<u32, OnceLock<Ledger>>,
    /// What it was loaded from, and against what.
    inputs: Vec<PathBuf>,
    options: LoadOptions,
    /// The amounts by whole stacks of a rank or of all, once they were asked for.
    stacks: Mutex<Option<(Option<u32>, LoadedStacks)>>,
    /// What threads and devices of a rank did when, once it was asked for.
    timeline: Mutex<Option<(TimelineChoice, LoadedTimeline)>>,
    /// What devices held when, once that was asked for.
    histories: Mutex<Option<LoadedHistories>>,
    /// Where library code was looked for.
    pub(crate) sites: Vec<PathBuf>,
    /// What sources are read from.
    sources: SourceFolders,
    /// Keys of the files that were found, by the one spelling of their path.
    by_path: HashMap<String, String>,
    /// Keys of the files that are cells of notebooks, by the hash of the text that ran.
    cells: HashMap<u32, String>,
    /// The texts that ran, as far as they were asked for.
    texts: Mutex<HashMap<String, Option<TextThatRan>>>,
    /// Files that are not open, as they were read last.
    closed: Mutex<HashMap<String, Arc<Closed>>>,
    /// What was found last: it does not change with the text, so not with every keystroke either.
    found: Mutex<Option<FindingsOfRank>>,
    path: Mutex<Option<PathOfRank>>,
}

/// The amounts by whole stacks; `None` where a part of the recording is a ledger file, which holds none.
type LoadedStacks = Option<Arc<StackBooks>>;
/// What threads and devices of a rank did when; `None` where there is no trace of the rank.
type LoadedTimeline = Option<Arc<EventTimeline>>;
/// What devices held when.
type LoadedHistories = Arc<Vec<MemoryHistory>>;

/// What there is to find in the books of a rank.
struct FindingsOfRank {
    rank: Option<u32>,
    view: View,
    findings: Arc<[Finding]>,
}

/// The critical path of a rank, or of all, if one is known.
type PathOfRank = (Option<u32>, Option<Arc<CriticalPath>>);

/// A file that is not open, as it is on disk.
struct Closed {
    /// Length and time of the last change: what says that it must be read again.
    version: (u64, SystemTime),
    /// What it is called, of a cell of a text: that of the text.
    name: Option<String>,
    /// Of a cell of a text, all of the text.
    text: Arc<str>,
    index: LineIndex,
    module: LazyModule,
    map: Option<LineMap>,
}

impl LoadedRecording {
    /// Reads the sources of your code that the run does not hold. Texts that `before` has of the same recording are kept:
    /// they are nearer to what ran than what is on disk now.
    pub(crate) fn new(
        generation: u64,
        signature: Signature,
        (run, inputs): (Run, Vec<PathBuf>),
        options: LoadOptions,
        before: Option<&Self>,
    ) -> Self {
        let sites = loader::library_roots(&options);
        let sources = loader::source_folders(&options);
        let sources = sources.and(loader::compile_caches(&run, &options.root));
        let mut texts: HashMap<String, Option<TextThatRan>> = HashMap::new();
        let (mut by_path, mut cells) = (HashMap::new(), HashMap::new());
        if let Some(before) = before.filter(|it| it.signature == signature) {
            texts.clone_from(&before.texts.lock().unwrap_or_else(PoisonError::into_inner));
        }
        for (key, file) in &run.merged.files {
            if let Some(hash) = pysource::recorded_cell(&file.recorded) {
                cells.insert(hash, key.clone());
            }
            let Some(path) = &file.path else { continue };
            by_path.insert(paths::real(path), key.clone());
            if file.is_user_code && !run.texts.contains_key(key) {
                let text = || run.text_that_ran(key, |path| sources.read(path));
                texts.entry(key.clone()).or_insert_with(text);
            }
        }
        let known = run.texts.iter().map(|(key, it)| (key.clone(), Some(it.clone())));
        texts.extend(known);
        let by_rank = match &run.ranks[..] {
            [_] => HashMap::new(),
            several => several.iter().map(|it| (it.rank, OnceLock::new())).collect(),
        };
        Self {
            generation,
            signature,
            run,
            so_far: None,
            by_rank,
            sites,
            inputs,
            options,
            stacks: Mutex::default(),
            timeline: Mutex::default(),
            histories: Mutex::default(),
            sources,
            by_path,
            cells,
            texts: Mutex::new(texts),
            closed: Mutex::default(),
            found: Mutex::default(),
            path: Mutex::default(),
        }
    }

    /// What files are called, by their key in the ledger.
    pub(crate) fn names(&self) -> BTreeMap<&str, String> {
        loader::display_names(&self.run.merged, &self.options.root)
    }

    /// The texts that ran, for another load of the same recording: by now files may have been changed.
    pub(crate) fn known_texts(&self) -> TextsByFile {
        let texts = self.run.texts.iter().filter_map(|(key, it)| {
            let recorded = self.run.merged.files.get(key)?.recorded.clone();
            let origin = match it.origin {
                TextOrigin::File => TextOrigin::Kept,
                known => known,
            };
            Some((recorded, TextThatRan { text: Arc::clone(&it.text), origin }))
        });
        texts.collect()
    }

    /// A rank, if it is one of several.
    pub(crate) fn of_several(&self, rank: Option<u32>) -> Option<u32> {
        rank.filter(|it| self.by_rank.contains_key(it))
    }

    /// The amounts by whole stacks, of a rank or of all. The first time they are asked for, the recording is read once more:
    /// ledgers do without them, and most sessions too. Who asks meanwhile waits for that. Those of one choice are kept.
    ///
    /// # Errors
    /// If the recording cannot be read, or `cancelled` is set.
    pub(crate) fn stacks(
        &self,
        rank: Option<u32>,
        recordings: &dyn Recordings,
        cancelled: &AtomicBool,
    ) -> Result<LoadedStacks, Error> {
        let mut stacks = self.stacks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = stacks.as_ref().filter(|(known, _)| *known == rank) {
            return Ok(known.clone());
        }
        let run = self.read_again(recordings, cancelled, |it| {
            it.stacks = StackChoice::WherePossible;
            it.ranks.ranks.extend(rank);
        })?;
        Ok(stacks.insert((rank, run.stacks.map(Arc::new))).1.clone())
    }

    /// What the threads and devices of a rank did when. The first time it is asked for of a rank, the recording is read once
    /// more, as for [`Self::stacks`]; of one rank it is kept.
    ///
    /// # Errors
    /// If the recording cannot be read, or `cancelled` is set.
    pub(crate) fn timeline(
        &self,
        rank: Option<u32>,
        recordings: &dyn Recordings,
        cancelled: &AtomicBool,
    ) -> Result<LoadedTimeline, Error> {
        let choice = rank.map_or(TimelineChoice::First, TimelineChoice::Rank);
        let mut timeline = self.timeline.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = timeline.as_ref().filter(|(known, _)| *known == choice) {
            return Ok(known.clone());
        }
        let run = self.read_again(recordings, cancelled, |it| it.timeline = choice)?;
        Ok(timeline.insert((choice, run.timeline.map(Arc::new))).1.clone())
    }

    /// What the devices of snapshots held when. The first time it is asked for, the recording is read once more, as for
    /// [`Self::stacks`].
    ///
    /// # Errors
    /// If the recording cannot be read, or `cancelled` is set.
    pub(crate) fn histories(
        &self,
        recordings: &dyn Recordings,
        cancelled: &AtomicBool,
    ) -> Result<LoadedHistories, Error> {
        let mut histories = self.histories.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*histories {
            return Ok(Arc::clone(known));
        }
        let run = self.read_again(recordings, cancelled, |it| it.histories = true)?;
        Ok(Arc::clone(histories.insert(Arc::new(run.histories))))
    }

    /// All three; the timeline of a rank, the others of all. Where none is known yet, the recording is read once for them.
    ///
    /// # Errors
    /// If the recording cannot be read, or `cancelled` is set.
    pub(crate) fn pictures(
        &self,
        rank: Option<u32>,
        recordings: &dyn Recordings,
        cancelled: &AtomicBool,
    ) -> Result<(LoadedStacks, LoadedTimeline, LoadedHistories), Error> {
        self.read_all(rank, recordings, cancelled)?;
        Ok((
            self.stacks(None, recordings, cancelled)?,
            self.timeline(rank, recordings, cancelled)?,
            self.histories(recordings, cancelled)?,
        ))
    }

    fn read_all(
        &self,
        rank: Option<u32>,
        recordings: &dyn Recordings,
        cancelled: &AtomicBool,
    ) -> Result<(), Error> {
        let mut stacks = self.stacks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut timeline = self.timeline.lock().unwrap_or_else(PoisonError::into_inner);
        let mut histories = self.histories.lock().unwrap_or_else(PoisonError::into_inner);
        if stacks.is_some() || timeline.is_some() || histories.is_some() {
            return Ok(());
        }
        let choice = rank.map_or(TimelineChoice::First, TimelineChoice::Rank);
        let run = self.read_again(recordings, cancelled, |it| {
            it.stacks = StackChoice::WherePossible;
            it.timeline = choice;
            it.histories = true;
        })?;
        *stacks = Some((None, run.stacks.map(Arc::new)));
        *timeline = Some((choice, run.timeline.map(Arc::new)));
        *histories = Some(Arc::new(run.histories));
        Ok(())
    }

    /// The recording once more, for what ledgers do without and `change` asks for.
    fn read_again(
        &self,
        recordings: &dyn Recordings,
        cancelled: &AtomicBool,
        change: impl FnOnce(&mut LoadOptions),
    ) -> Result<Run, Error> {
        let mut options = LoadOptions {
            known_texts: self.known_texts(),
            ledger_cache: None,
            ..self.options.clone()
        };
        change(&mut options);
        recordings.load(&self.inputs, &options, &Watch { progress: &|_| (), cancelled })
    }

    /// The folder of the code that it is about.
    pub(crate) fn root(&self) -> &Path {
        &self.options.root
    }

    /// The files that it was loaded from.
    pub(crate) fn inputs(&self) -> &[PathBuf] {
        &self.inputs
    }

    /// The name of its first file.
    pub(crate) fn name(&self) -> String {
        let name = self.inputs.first().and_then(|it| it.file_name());
        name.unwrap_or_default().to_string_lossy().into_owned()
    }

    /// What a report is made from. Touches the disk.
    pub(crate) fn recording(&self) -> report::Recording<'_> {
        let names = self.names();
        report::Recording { run: &self.run, names, sources: &self.sources }
    }

    /// The same with the books of a part, if one is shown. Touches the disk.
    pub(crate) fn recording_of<'a>(
        &'a self,
        part: Option<&'a LoadedPart>,
    ) -> report::Recording<'a> {
        report::Recording { run: part.map_or(&self.run, |it| &it.run), ..self.recording() }
    }

    /// What there is to find in the books of a rank, by a view of them.
    pub(crate) fn findings(&self, rank: Option<u32>, view: &View) -> Arc<[Finding]> {
        let known = || self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().as_ref().filter(|it| it.rank == rank && it.view == *view) {
            return Arc::clone(&found.findings);
        }
        // Not under the lock: the rules look at every line.
        let findings: Arc<[Finding]> = view.findings(self.of_rank(rank)).into();
        let found = FindingsOfRank { rank, view: view.clone(), findings: Arc::clone(&findings) };
        *known() = Some(found);
        findings
    }

    /// What had to be done before the steps of a rank, or of all, could end; `None` where it is not known.
    pub(crate) fn critical_path(&self, rank: Option<u32>) -> Option<Arc<CriticalPath>> {
        let known = || self.path.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, path)) = known().as_ref().filter(|(of, _)| *of == rank) {
            return path.clone();
        }
        // Not under the lock: ranks are compared.
        let ledger = self.of_rank(rank);
        let paths: &dyn PathsByRank =
            if self.of_several(rank).is_some() { ledger } else { &self.run };
        // Nothing is said of paths that cannot be read: the next hover may have them.
        let path = CriticalPath::of_ranks(paths, ledger).ok()?.map(Arc::new);
        *known() = Some((rank, path.clone()));
        path
    }

    /// The part of the recording that passes a filter, of a rank or of all, by step. The recording is read once more for it.
    ///
    /// # Errors
    /// If nothing passes, the recording cannot be read, or `cancelled` is set.
    pub(crate) fn part(
        &self,
        filter: &StackFilter,
        rank: Option<u32>,
        recordings: &dyn Recordings,
        cancelled: &AtomicBool,
    ) -> Result<LoadedPart, LoadFailure> {
        let part = filter.part();
        let mut run = self
            .read_again(recordings, cancelled, |it| {
                it.stacks = StackChoice::Always;
                it.stack_options.events = part.events.clone();
                it.stack_options.by_step = true;
                it.ranks.ranks.extend(rank);
            })
            .map_err(|error| match error {
                Error::NoStacks { .. } => {
                    LoadFailure::Unusable(format!("{error} ({} needs them)", part.text()))
                }
                error => error.into(),
            })?;
        part.leave(&mut run, &self.options.root).map_err(LoadFailure::Unusable)?;
        let part = RecordingPart::take(&mut run, &part, filter);
        Ok(LoadedPart::new(run, part))
    }

    /// The books that are shown.
    pub(crate) fn ledger<'a>(&'a self, books: &'a ShownBooks) -> &'a Ledger {
        books.part.as_ref().map_or_else(|| self.of_rank(books.rank), |it| it.ledger())
    }

    /// The books of a rank; of all where there is no such rank or none was chosen. Books that cannot be read are empty, as
    /// [`Self::read_rank`] says: the sum would be taken for those of the rank.
    fn of_rank(&self, rank: Option<u32>) -> &Ledger {
        self.read_rank(rank).unwrap_or(&EMPTY)
    }

    /// The books of a rank; of all where there is no such rank or none was chosen. Those of one of several ranks are read by the first
    /// call that can.
    ///
    /// # Errors
    /// If they cannot be read from where they were put.
    pub(crate) fn read_rank(&self, rank: Option<u32>) -> Result<&Ledger, Error> {
        let chosen = self.run.ranks.iter().find(|it| Some(it.rank) == rank);
        let several = chosen.and_then(|it| Some((it, self.by_rank.get(&it.rank)?)));
        let Some((chosen, books)) = several else { return Ok(&self.run.merged) };
        if let Some(known) = books.get() {
            return Ok(known);
        }
        let ledger = self.run.ledger_of(chosen)?.into_owned();
        Ok(books.get_or_init(|| ledger))
    }

    /// The cell of the recording that a document is.
    fn cell_of(&self, document: &Document) -> Option<CellThatRan> {
        let key_of_text = |text: &str| {
            let mut texts = pysource::texts_of_cell(text);
            texts.find_map(|it| self.cells.get(&pysource::cell_hash(&it)).cloned())
        };
        let is_cell = !self.cells.is_empty() && paths::is_cell(&document.uri);
        is_cell.then(|| document.cell(self.generation, key_of_text))?
    }

    /// The cells of the recording in a document that is a notebook as plain text.
    fn text_cells(&self, document: &Document) -> Arc<[PlacedCell]> {
        if self.cells.is_empty() {
            return Arc::default();
        }
        let path = document.path().map(Path::new);
        let is_elsewhere = |key: &str| {
            let found = self.path_of(key).and_then(Path::to_str);
            let file = found.and_then(|it| Some(pysource::split_cell_path(it)?.0));
            file.is_some_and(|it| Some(Path::new(it)) != path)
        };
        let text = |key: &str| {
            let text = || self.text_that_ran(key, None).map(|it| it.text);
            (!is_elsewhere(key)).then(text)?
        };
        let recorded = RecordedCells { by_hash: &self.cells, text: &text };
        document.text_cells(self.generation, &recorded)
    }

    /// The keys of a document's files: of its cells where it is a notebook as plain text, with that of the file itself.
    pub(crate) fn keys_of(&self, document: &Document, folders: &[PathBuf]) -> Vec<&str> {
        let cells = self.text_cells(document);
        let files = &self.run.merged.files;
        let cells = cells.iter().filter_map(|cell| files.get_key_value(&cell.key));
        cells.map(|(key, _)| key.as_str()).chain(self.key_of(document, folders)).collect()
    }

    /// Whether a document is one of its files, or has cells of it, for certain: not by names that its path ends with.
    pub(crate) fn has_document(&self, document: &Document) -> bool {
        document.path().is_some_and(|it| self.by_path.contains_key(it))
            || self.cell_of(document).is_some()
            || !self.text_cells(document).is_empty()
    }

    /// The key of a document's file: by its text where it is a cell of a notebook, else by its path, else by the names that the
    /// recorded path ends with.
    fn key_of(&self, document: &Document, folders: &[PathBuf]) -> Option<&str> {
        if let Some(cell) = self.cell_of(document) {
            return self.run.merged.files.get_key_value(&cell.key).map(|(key, _)| key.as_str());
        }
        let path = document.path()?;
        if let Some(key) = self.by_path.get(path) {
            return Some(key);
        }
        if !folders.iter().any(|folder| Path::new(path).starts_with(paths::real(folder))) {
            return None;
        }
        let not_found = self.run.merged.files.iter().filter(|(_, file)| file.path.is_none());
        let mut candidates: Vec<(usize, &str)> = not_found
            .filter_map(|(key, file)| {
                Some((paths::common_names(path, &file.recorded)?, key.as_str()))
            })
            .collect();
        candidates.sort_unstable();
        // Two that agree equally well are both as likely to be wrong.
        match candidates[..] {
            [.., (second, _), (first, _)] if second == first => None,
            [.., (_, key)] => Some(key),
            [] => None,
        }
    }

    /// The keys of a file that is not open, by its path. Touches the disk.
    pub(crate) fn keys_of_path(&self, path: &Path) -> Vec<&str> {
        let real = paths::real(path);
        let is_cell = |key: &&String| {
            let cell = self.path_of(key).and_then(pysource::split_text_cell_path);
            cell.is_some_and(|(text, _)| paths::normal(&text.to_string_lossy()) == real)
        };
        let cells = self.cells.values().filter(is_cell);
        cells.chain(self.by_path.get(&real)).map(String::as_str).collect()
    }

    /// Whether a key is that of a cell of an open notebook as plain text.
    pub(crate) fn is_cell_of_text(&self, document: &Document, key: &str) -> bool {
        self.text_cells(document).iter().any(|it| it.key == key)
    }

    /// The text of a file that ran; `None` where it is not known. A file of the recording that was not found may be an
    /// open document below one of some folders. Touches the disk the first time.
    fn text_that_ran(
        &self,
        key: &str,
        document: Option<(&Document, &[PathBuf])>,
    ) -> Option<TextThatRan> {
        let of_file = |text| TextThatRan { text, origin: TextOrigin::File };
        if let Some(cell) = document.and_then(|(it, _)| self.cell_of(it)) {
            return Some(of_file(cell.text));
        }
        let known = self.texts.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
        if let Some(text) = known {
            return text;
        }
        let file = self.run.merged.files.get(key)?;
        let text = match &file.path {
            Some(_) => self.run.text_that_ran(key, |path| self.sources.read(path)),
            // Found by its name alone: it must look like what ran.
            None => document
                .and_then(|(document, folders)| {
                    SourceFolders::new(folders).read(Path::new(document.path()?))
                })
                .filter(|text| ide::fits(&self.run.merged, key, &Module::parse(text)))
                .map(|text| of_file(text.into())),
        };
        self.texts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key.to_owned(), text.clone());
        text
    }

    /// Calls `work` with an open document as a source of `books`, by one of its keys ([`Self::keys_of`]).
    pub(crate) fn with_document<T>(
        &self,
        books: &ShownBooks,
        document: &Document,
        key: &str,
        folders: &[PathBuf],
        work: impl FnOnce(&PlacedSource<'_>) -> T,
    ) -> T {
        let cell = self.text_cells(document).iter().find(|it| it.key == key).cloned();
        let (name, map) = match cell {
            Some(cell) => (document.path().unwrap_or(key), Some(cell.map)),
            None => {
                let text = || self.text_that_ran(key, Some((document, folders)));
                (key, document.map(self.generation, text))
            }
        };
        work(&PlacedSource {
            ledger: self.ledger(books),
            key,
            name,
            text: &document.text,
            index: &document.index,
            module: &document.module,
            map: map.as_deref(),
        })
    }

    /// Calls `work` with a file that is not open, as it is on disk; `None` if it is not there or cannot be read.
    pub(crate) fn with_file<T>(
        &self,
        books: &ShownBooks,
        key: &str,
        work: impl FnOnce(&PlacedSource<'_>) -> T,
    ) -> Option<T> {
        let file = self.closed(key)?;
        Some(work(&PlacedSource {
            ledger: self.ledger(books),
            key,
            name: file.name.as_deref().unwrap_or(key),
            text: &file.text,
            index: &file.index,
            module: &file.module,
            map: file.map.as_ref(),
        }))
    }

    /// Reads a file again only if it was changed: this is asked for after every keystroke.
    fn closed(&self, key: &str) -> Option<Arc<Closed>> {
        let path = self.run.merged.files.get(key)?.path.as_ref()?;
        let notebook = path.to_str().and_then(pysource::split_cell_path);
        let data = notebook.map_or(path.as_path(), |(it, _)| Path::new(it)).metadata().ok()?;
        let version = (data.len(), data.modified().unwrap_or(SystemTime::UNIX_EPOCH));
        let known = self.closed.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
        if let Some(known) = known.filter(|it| it.version == version) {
            return Some(known);
        }
        let ran = self.text_that_ran(key, None);
        let (name, text, map) = match pysource::split_text_cell_path(path) {
            Some((file, index)) => {
                let text = self.sources.read(file)?;
                let lines =
                    |ran: TextThatRan| pysource::lines_of_text_cell(file, &text, index, &ran.text);
                let map = ran.and_then(lines);
                (Some(file.to_string_lossy().into_owned()), text.into(), map)
            }
            None => {
                let text: Arc<str> = self.sources.read(path)?.into();
                let map = ran.map(|ran| ran.lines_in(&text));
                (None, text, map)
            }
        };
        let (index, module) = (LineIndex::new(&text), ide::read_later(Arc::clone(&text)));
        let closed = Arc::new(Closed { version, name, text, index, module, map });
        self.closed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key.to_owned(), Arc::clone(&closed));
        Some(closed)
    }

    /// Where the file of a key is on disk.
    pub(crate) fn path_of(&self, key: &str) -> Option<&Path> {
        self.run.merged.files.get(key)?.path.as_deref()
    }
}
