//! A table of texts, which formats name by their place in it.

use rustc_hash::FxHashMap;

/// Distinct texts in the order in which they were first asked for.
#[derive(Default)]
pub(super) struct TextTable {
    pub(super) texts: Vec<String>,
    rows: FxHashMap<String, usize>,
}

impl TextTable {
    /// The place of a text.
    pub(super) fn row(&mut self, text: &str) -> usize {
        if let Some(&row) = self.rows.get(text) {
            return row;
        }
        let row = self.texts.len();
        self.texts.push(text.to_owned());
        self.rows.insert(text.to_owned(), row);
        row
    }
}
