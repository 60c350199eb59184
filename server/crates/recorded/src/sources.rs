//! What is known about the files that a recording names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ledger::SourceFit;
use pysource::Module;
use rustc_hash::FxHashMap;

/// One source file of a recording.
#[derive(Debug, Clone, Default)]
pub struct RecordedSource {
    /// Key in the ledger: the path relative to the root where it was found there, else the path as recorded.
    pub key: String,
    /// Where it is on this machine, if it was found.
    pub path: Option<PathBuf>,
    /// Whether it is your code.
    pub is_user_code: bool,
    /// Whether the text on disk is the one that ran.
    pub fit: SourceFit,
    /// What the text says, if it was found and is the one that ran.
    pub module: Option<Arc<Module>>,
    /// The text itself, likewise.
    pub text: Option<Arc<str>>,
}

/// The source files of a recording by their recorded paths. A file that is not listed counts as a library's, unfound.
#[derive(Debug, Clone, Default)]
pub struct RecordedSources {
    files: FxHashMap<String, RecordedSource>,
}

impl RecordedSources {
    /// Lists a file.
    pub fn insert(&mut self, recorded: &str, source: RecordedSource) {
        self.files.insert(recorded.to_owned(), source);
    }

    /// Lists a file of your code of which only the recorded path is known.
    pub fn insert_own(&mut self, recorded: &str) {
        let source = RecordedSource {
            key: recorded.to_owned(),
            is_user_code: true,
            fit: SourceFit::Missing,
            ..RecordedSource::default()
        };
        self.insert(recorded, source);
    }

    /// What all texts say that are at hand.
    pub fn modules(&self) -> impl Iterator<Item = &Arc<Module>> {
        self.files.values().filter_map(|source| source.module.as_ref())
    }

    /// Where the files are that were found.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.values().filter_map(|source| source.path.as_deref())
    }

    /// What is known about a recorded path.
    #[must_use]
    pub fn get(&self, recorded: &str) -> Option<&RecordedSource> {
        self.files.get(recorded)
    }

    /// Whether the file with this key in the ledger is your code.
    #[must_use]
    pub fn is_user_code(&self, key: &str) -> bool {
        self.files.values().any(|source| source.key == key && source.is_user_code)
    }

    /// Whether the text of the file with this key in the ledger is at hand and is the one that ran.
    #[must_use]
    pub fn has_text(&self, key: &str) -> bool {
        self.files.values().any(|source| source.key == key && source.text.is_some())
    }
}
