//! A run to be compared: its books, and what is known of its sources.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{Ledger, LineBooks, LineKey};

/// A run to be compared.
#[derive(Debug, Clone)]
pub struct ComparedRun<'a> {
    /// Its books.
    pub ledger: &'a Ledger,
    /// What its files are called, by key of the ledger: what has one name in both runs is one file.
    pub names: BTreeMap<&'a str, &'a str>,
    /// The texts that ran, of your files, by key of the ledger, as far as they are known.
    pub texts: BTreeMap<&'a str, &'a str>,
}

/// A file whose text is known where it has to be.
pub(crate) struct ComparedFile<'a> {
    pub(crate) key: &'a str,
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
}

impl<'a> ComparedRun<'a> {
    fn name(&self, key: &'a str) -> &'a str {
        self.names.get(key).copied().unwrap_or(key)
    }

    /// The files that can be compared by their text: those of which the other run has the text too, or has no such file.
    pub(crate) fn comparable_files(&self, other: &Self) -> Vec<ComparedFile<'a>> {
        let without_text: BTreeSet<&str> = other.names_without_text();
        let texts = self.texts.iter().map(|(&key, &text)| {
            let name = self.name(key);
            ComparedFile { key, name, text }
        });
        texts.filter(|it| !without_text.contains(it.name)).collect()
    }

    /// The last parts of the names of your files, by key of the ledger.
    pub(crate) fn names_of_your_files(&self) -> BTreeMap<&'a str, &'a str> {
        let yours = self.ledger.files.iter().filter(|(_, it)| it.is_user_code);
        let last = |name: &'a str| name.rsplit(['/', '\\']).next().unwrap_or(name);
        yours.map(|(key, _)| (key.as_str(), last(self.name(key)))).collect()
    }

    fn names_without_text(&self) -> BTreeSet<&'a str> {
        let files = self.ledger.files.keys().map(String::as_str);
        files.filter(|key| !self.texts.contains_key(key)).map(|key| self.name(key)).collect()
    }

    /// What a line that no text matches goes by.
    pub(crate) fn unit_name(&self, other: &Self, key: &LineKey, books: &LineBooks) -> String {
        let name = self.names.get(key.file.as_str()).copied().unwrap_or(&key.file);
        let is_user_code = self.ledger.files.get(&key.file).is_some_and(|it| it.is_user_code);
        let has_text = |run: &Self| {
            run.texts.keys().any(|it| run.names.get(it).copied().unwrap_or(it) == name)
        };
        if is_user_code && !has_text(self) && !has_text(other) {
            return format!("{name}:{}", key.line);
        }
        format!("{} {}", within_library(name), books.function)
    }
}

/// The path within the folder of libraries, which has another name in another environment.
fn within_library(path: &str) -> &str {
    let folders = ["site-packages/", "dist-packages/"];
    folders.iter().find_map(|it| path.rsplit_once(it)).map_or(path, |(_, within)| within)
}
