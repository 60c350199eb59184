//! What a request works on.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

use ide::{CriticalPath, Finding, View};
use ledger::Ledger;
use pysource::Encoding;
use report::StackFilter;
use report::diff::Difference;
use settings::Settings;

use crate::capabilities::Abilities;
use crate::document::Document;
use crate::loaded::LoadedRecording;
use crate::part_books::ShownBooks;
use crate::shown_code::ShownCode;

/// A moment of what is shown of a folder.
pub(crate) struct SessionSnapshot {
    pub(crate) folders: Arc<[PathBuf]>,
    /// Which one it is of; `None` where nothing is shown.
    pub(crate) folder: Option<PathBuf>,
    /// The load that the user named its files for, if it shows these and none that is newer.
    pub(crate) pinned: Option<u64>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) view: View,
    pub(crate) books: ShownBooks,
    /// Which lines are shown, and which part of the recording.
    pub(crate) filter: Arc<StackFilter>,
    pub(crate) loaded: Option<Arc<LoadedRecording>>,
    /// What that is compared with.
    pub(crate) baseline: Option<Arc<LoadedRecording>>,
    /// What came of the comparison.
    pub(crate) verdict: Option<Arc<str>>,
    /// What differs, where all of what is loaded is shown.
    pub(crate) difference: Option<Arc<Difference>>,
    /// Files that are being loaded.
    pub(crate) loading: Option<Arc<[PathBuf]>>,
    /// Why the last load came to nothing.
    pub(crate) failure: Option<Arc<str>>,
    pub(crate) abilities: Abilities,
}

impl SessionSnapshot {
    /// The books that are shown.
    pub(crate) fn ledger(&self) -> Option<&Ledger> {
        self.loaded.as_ref().map(|loaded| loaded.ledger(&self.books))
    }

    /// A number of what is shown: another one where it is of another recording, rank or part.
    pub(crate) fn version(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.loaded.as_ref().map(|it| it.generation).hash(&mut hasher);
        (self.filter.text(), self.books.rank).hash(&mut hasher);
        self.base().map(|(base, _)| base.inputs()).hash(&mut hasher);
        self.books.loaded_part().is_ok().hash(&mut hasher);
        // Pages count in numbers that hold 53 bits.
        hasher.finish() >> 32
    }

    /// What is compared with, and what differs, where all of what is loaded is shown.
    pub(crate) fn base(&self) -> Option<(&LoadedRecording, &Difference)> {
        Some((self.baseline.as_deref()?, self.difference.as_deref()?))
    }

    /// What there is to find in the whole recording, or in the rank, on the lines that are shown.
    pub(crate) fn findings(&self) -> Arc<[Finding]> {
        let Some(loaded) = &self.loaded else { return Arc::default() };
        let found = loaded.findings(self.books.rank, &self.view);
        if self.filter.is_empty() {
            return found;
        }
        let code = self.shown_code();
        let is_shown = |it: &&Finding| {
            let (file, line) = (&it.place.file, it.place.line);
            self.books.part.as_ref().is_none_or(|part| part.ledger().lines.contains_key(&it.place))
                && code.as_ref().is_none_or(|code| code.has(file, line))
        };
        found.iter().filter(is_shown).cloned().collect()
    }

    /// What had to be done before the steps of the whole recording, or of the rank, could end; `None` where it is not known.
    pub(crate) fn critical_path(&self) -> Option<Arc<CriticalPath>> {
        self.loaded.as_ref()?.critical_path(self.books.rank)
    }

    /// Which lines are shown; `None` where all are.
    pub(crate) fn shown_code(&self) -> Option<ShownCode<'_>> {
        let code = &self.filter.code;
        let loaded = self.loaded.as_ref().filter(|_| !code.is_empty())?;
        Some(ShownCode::new(code, loaded.ledger(&self.books), loaded.names()))
    }

    /// What `work` gives with an open document: once, where it is one of the files that were recorded; for each cell, where it
    /// is a notebook as plain text. Nothing where nothing was recorded of it.
    pub(crate) fn with_document<T>(
        &self,
        document: &Document,
        mut work: impl FnMut(&ide::PlacedSource<'_>) -> T,
    ) -> Vec<T> {
        let Some(loaded) = &self.loaded else { return Vec::new() };
        let keys = loaded.keys_of(document, &self.folders).into_iter();
        let of = |key| loaded.with_document(&self.books, document, key, &self.folders, &mut work);
        keys.map(of).collect()
    }

    pub(crate) fn encoding(&self) -> Encoding {
        self.abilities.encoding
    }
}
