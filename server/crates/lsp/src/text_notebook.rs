//! Notebooks as plain text: documents with several cells, each of which a kernel compiled as a file of its own.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use pysource::{LineIndex, LineMap};

/// A cell of a recording, in a document.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlacedCell {
    /// The key of its file.
    pub(crate) key: String,
    /// Where its lines are in the document.
    pub(crate) map: Arc<LineMap>,
}

/// The cells that a recording has.
pub(crate) struct RecordedCells<'a> {
    /// The keys of their files, by the hash of the text that ran.
    pub(crate) by_hash: &'a HashMap<u32, String>,
    /// The text that ran, of one whose text is in no other file now.
    pub(crate) text: &'a dyn Fn(&str) -> Option<Arc<str>>,
}

/// Which cells of a recording a document has.
#[derive(Default)]
pub(crate) struct TextCells {
    /// Of this version of the document, with the load that they belong to.
    placed: Mutex<Option<(u64, Arc<[PlacedCell]>)>>,
    /// The texts of cells that this document had, by the key of their file, so that one that is edited is still known. The
    /// same for all versions.
    seen: Arc<Mutex<(u64, TextsByKey)>>,
}

/// The texts of cells that ran, by the key of their file.
type TextsByKey = BTreeMap<String, Arc<str>>;

impl TextCells {
    /// Of the version after this one.
    pub(crate) fn of_next_version(&self) -> Self {
        Self { placed: Mutex::default(), seen: Arc::clone(&self.seen) }
    }

    /// The cells of a load's recording in this version of the document, whose text is `text`.
    pub(crate) fn of(
        &self,
        generation: u64,
        path: &Path,
        text: &str,
        recorded: &RecordedCells<'_>,
    ) -> Arc<[PlacedCell]> {
        let mut placed = self.placed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = placed.as_ref().filter(|(of, _)| *of == generation) {
            return Arc::clone(known);
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.0 != generation {
            *seen = (generation, TextsByKey::new());
        }
        let found: Arc<[PlacedCell]> = place(path, text, recorded, &mut seen.1).into();
        *placed = Some((generation, Arc::clone(&found)));
        found
    }
}

/// The cells of a recording in a text, in the order of the text: those that are as they ran, known by their hash, and those that
/// were edited since, where what ran is known.
fn place(
    path: &Path,
    text: &str,
    recorded: &RecordedCells<'_>,
    seen: &mut TextsByKey,
) -> Vec<PlacedCell> {
    let n_lines = LineIndex::new(text).n_lines();
    let mut placed: Vec<(u32, PlacedCell)> = Vec::new();
    let mut edited = Vec::new();
    let mut keys = BTreeSet::new();
    for cell in pysource::text_cells(path, text) {
        let found = cell.texts().find_map(|it| {
            let key = recorded.by_hash.get(&pysource::cell_hash(&it.text))?;
            Some((key, it))
        });
        let Some((key, ran)) = found else {
            edited.push(cell);
            continue;
        };
        // Of two cells with one text, which have one file, the first.
        if keys.insert(key.clone()) {
            let map = Arc::new(cell.lines_of(&ran.text, n_lines));
            seen.insert(key.clone(), ran.text.into_owned().into());
            placed.push((cell.first_line, PlacedCell { key: key.clone(), map }));
        }
    }
    let gone = recorded.by_hash.values().filter(|key| !keys.contains(*key));
    let texts = gone.filter_map(|key| {
        let text = seen.get(key).cloned().or_else(|| (recorded.text)(key))?;
        Some((key, text))
    });
    let texts: Vec<(&String, Arc<str>)> = texts.collect();
    let ran: Vec<&str> = texts.iter().map(|(_, text)| &**text).collect();
    let now: Vec<&str> = edited.iter().map(|cell| cell.body).collect();
    for (was, is) in pysource::similar_texts(&ran, &now) {
        let (key, cell) = (texts[was].0.clone(), &edited[is]);
        let map = Arc::new(cell.lines_of(ran[was], n_lines));
        placed.push((cell.first_line, PlacedCell { key, map }));
    }
    placed.sort_by_key(|(line, _)| *line);
    placed.into_iter().map(|(_, it)| it).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "import torch\nx = torch.ones(3)";
    const LOOP: &str = "for _ in range(3):\n    x = x + 1\n    y = x.sum()\nprint(y)";

    fn placed(text: &str, seen: &mut TextsByKey) -> Vec<(String, Vec<(u32, bool)>)> {
        let cells = [(FIRST, "first"), (LOOP, "loop")];
        let by_hash: HashMap<u32, String> =
            cells.map(|(text, key)| (pysource::cell_hash(text), key.to_owned())).into();
        // The texts of a recording may hold one of a cell.
        let text_of = |key: &str| (key == "loop").then(|| Arc::from(LOOP));
        let recorded = RecordedCells { by_hash: &by_hash, text: &text_of };
        let cells = place(Path::new("/w/run.py"), text, &recorded, seen).into_iter();
        let lines = |map: &LineMap| {
            (1..=4).filter_map(|it| map.current(it)).map(|it| (it.line, it.is_edited)).collect()
        };
        cells.map(|it| (it.key, lines(&it.map))).collect()
    }

    #[test]
    fn cells_are_known_by_what_ran_and_followed_where_that_is_known() {
        let mut seen = BTreeMap::new();
        let now = |it: u32| (it, false);
        let first = ("first".to_owned(), vec![now(2), now(3)]);
        let text = format!("# %%\n{FIRST}\n\n# %% two\n{LOOP}\n");
        let whole = ("loop".to_owned(), vec![now(6), now(7), now(8), now(9)]);
        assert_eq!(placed(&text, &mut seen), [first.clone(), whole.clone()]);
        // The cells change their places, and one is edited.
        let text = format!("# %%\n{}\n# %%\n{FIRST}\n", LOOP.replace("+ 1", "+ 2"));
        let edited = ("loop".to_owned(), vec![now(2), (3, true), now(4), now(5)]);
        let moved = ("first".to_owned(), vec![now(7), now(8)]);
        assert_eq!(placed(&text, &mut seen), [edited.clone(), moved]);
        assert_eq!(placed(&text, &mut BTreeMap::new())[0], edited, "the recording has its text");
        // One whose text the recording does not have is followed if it was seen.
        let text = format!("# %%\n{}\n", FIRST.replace('3', "4"));
        let edited = ("first".to_owned(), vec![now(2), (3, true)]);
        assert_eq!(placed(&text, &mut seen), [edited]);
        assert_eq!(placed(&text, &mut BTreeMap::new()), []);
        assert_eq!(placed("# %%\nprint(1)\n", &mut seen), []);
        assert_eq!(placed(&format!("{FIRST}\n"), &mut seen), [], "no cells");
        let twice = format!("# %%\n{FIRST}\n# %%\n{FIRST}\n");
        assert_eq!(placed(&twice, &mut seen), [first]);
    }
}
