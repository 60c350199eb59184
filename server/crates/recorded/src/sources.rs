//! What is known about the files that a recording names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ledger::SourceFit;
use pysource::Module;
use rustc_hash::FxHashMap;

/// Where the text that ran comes from; what is more certain to have run is less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TextOrigin {
    /// The recording holds it.
    Recorded,
    /// A copy was kept when the recording was loaded before.
    Kept,
    /// The file as it was when the recording was loaded: the functions that ran are where the recording names them.
    #[default]
    File,
}

/// The text of a file that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextThatRan {
    /// The text; recorded lines are lines of it.
    pub text: Arc<str>,
    /// Where it comes from.
    pub origin: TextOrigin,
}

/// Texts that ran, by a name of their file: the path as recorded, or the key in the ledger.
pub type TextsByFile = BTreeMap<String, TextThatRan>;

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
    /// What the text that ran says, if that text is known; the file on disk may be another one (`fit`).
    pub module: Option<Arc<Module>>,
    /// The text that ran, likewise.
    pub text: Option<Arc<str>>,
    /// Where `text` comes from.
    pub origin: TextOrigin,
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

    /// The texts of your code that ran, by their key in the ledger.
    #[must_use]
    pub fn own_texts(&self) -> TextsByFile {
        let own = self.files.values().filter(|source| source.is_user_code);
        let texts = own.filter_map(|source| {
            let text = Arc::clone(source.text.as_ref()?);
            Some((source.key.clone(), TextThatRan { text, origin: source.origin }))
        });
        texts.collect()
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
