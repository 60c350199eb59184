//! A loaded recording, with what its files are called and where their text comes from.

use std::collections::BTreeMap;
use std::path::Path;

use ledger::LineKey;
use loader::{Run, SourceFolders};

use crate::model::Place;

/// What is printed from.
#[derive(Clone)]
pub struct Recording<'a> {
    /// The ledgers and inputs.
    pub run: &'a Run,
    /// What the files of the ledgers are called in output, by their key (`loader::display_names`).
    pub names: BTreeMap<&'a str, String>,
    /// Where their text comes from.
    pub sources: &'a dyn SourceTexts,
}

impl Recording<'_> {
    /// What a file is called.
    pub(crate) fn file<'n>(&'n self, key: &'n str) -> &'n str {
        self.names.get(key).map_or(key, String::as_str)
    }

    pub(crate) fn place(&self, line: &LineKey) -> Place {
        Place { file: self.file(&line.file).to_owned(), line: line.line }
    }
}

/// Where source text comes from.
pub trait SourceTexts {
    /// The text of a file; `None` if it cannot be read.
    fn read(&self, path: &Path) -> Option<String>;
}

impl SourceTexts for SourceFolders {
    fn read(&self, path: &Path) -> Option<String> {
        SourceFolders::read(self, path)
    }
}
