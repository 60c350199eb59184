//! A loaded recording, with what its files are called and where their text comes from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use ledger::{LineKey, Ns, SourceFit};
use loader::{Run, SourceFolders};
use pysource::LineMap;

use crate::model::Place;
use crate::terminal::clean;

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
    /// What a file is called, by its key in the ledger.
    #[must_use]
    pub fn file<'n>(&'n self, key: &'n str) -> &'n str {
        self.names.get(key).map_or(key, String::as_str)
    }

    /// The names of the inputs.
    #[must_use]
    pub fn title(&self) -> String {
        let names = self.run.inputs.iter().filter_map(|it| it.path.file_name());
        let names: BTreeSet<_> = names.map(|it| it.to_string_lossy()).collect();
        names.into_iter().collect::<Vec<_>>().join(", ")
    }

    /// The key of a file by what it is called where hidden characters are replaced: on a page, in a picture.
    #[must_use]
    pub fn key_of(&self, shown: &str) -> Option<&str> {
        self.names.iter().find(|(_, name)| clean(name) == shown).map(|(key, _)| *key)
    }

    /// A file as it is now, by its key; the text that ran where there is no file. `None` where the text that ran is not
    /// known, so that no line of the ledger can be found in it. Of a cell of a text, all of the text.
    #[must_use]
    pub fn present(&self, key: &str) -> Option<PresentText> {
        let read = |path: &Path| self.sources.read(path);
        let ran = self.run.text_that_ran(key, read)?;
        let file = self.run.merged.files.get(key)?;
        if let Some((path, index)) = file.path.as_deref().and_then(pysource::split_text_cell_path) {
            // Readers find a cell of a text by the lines of the text.
            let text = read(path)?;
            let map = pysource::lines_of_text_cell(path, &text, index, &ran.text)?;
            return Some(PresentText { text: text.into(), map: Some(map) });
        }
        if file.fit != SourceFit::Edited {
            return Some(PresentText { text: ran.text, map: None });
        }
        let text: Arc<str> = read(file.path.as_ref()?)?.into();
        let map = Some(ran.lines_in(&text));
        Some(PresentText { text, map })
    }

    /// The text of a line as it ran, without the space around it; `None` where the text that ran is not known.
    pub(crate) fn statement(&self, line: &LineKey) -> Option<String> {
        let ran = self.run.text_that_ran(&line.file, |path| self.sources.read(path))?;
        let text = ran.text.lines().nth((line.line as usize).checked_sub(1)?)?;
        Some(text.trim().to_owned())
    }

    pub(crate) fn place(&self, line: &LineKey) -> Place {
        Place { file: self.file(&line.file).to_owned(), line: line.line }
    }
}

/// How long a step of a rank takes in the mean, by its ranges; `None` where it has none.
pub(crate) fn mean_step(run: &Run, rank: u32) -> Option<Ns> {
    let steps = &run.ranks.iter().find(|it| it.rank == rank)?.steps;
    let n = i64::try_from(steps.len()).ok().filter(|&n| n != 0)?;
    Some(steps.values().sum::<Ns>() / n)
}

/// A file as it is now.
#[derive(Debug)]
pub struct PresentText {
    /// Its text.
    pub text: Arc<str>,
    /// From the text that ran; `None` where it is that text.
    pub map: Option<LineMap>,
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
