//! An open document.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ide::LazyModule;
use loader::TextThatRan;
use pysource::{Encoding, LineIndex, LineMap};
use tower_lsp::lsp_types::{TextDocumentContentChangeEvent, Url};

use crate::carried_lines::CarriedLines;
use crate::text_notebook::{PlacedCell, RecordedCells, TextCells};
use crate::{from_proto, paths};

/// Changes of one message from which on they are made at once, where they can be: one by one, each would cost a look at the whole text.
const MANY_CHANGES: usize = 256;

/// One version of an open document. A change makes another one, so that requests keep what they began with.
pub(crate) struct Document {
    /// As the client spells it.
    pub(crate) uri: Url,
    pub(crate) version: i32,
    pub(crate) text: Arc<str>,
    pub(crate) index: Arc<LineIndex>,
    pub(crate) module: LazyModule,
    /// The path on disk, in its one spelling; the same for all versions.
    path: Arc<OnceLock<Option<String>>>,
    carried: Mutex<Option<LinesOfLoad>>,
    cell: Mutex<Option<CellThatRan>>,
    text_cells: TextCells,
}

/// The cell of a recording that the document is.
#[derive(Clone)]
pub(crate) struct CellThatRan {
    /// Which load it belongs to.
    pub(crate) generation: u64,
    /// The key of its file.
    pub(crate) key: String,
    /// Its text as it ran: the document's when it was first seen.
    pub(crate) text: Arc<str>,
}

/// Where the lines of a recording are in the document.
#[derive(Clone)]
struct LinesOfLoad {
    /// Which load they belong to.
    generation: u64,
    /// `None` where the text that ran is not known.
    lines: Option<Arc<CarriedLines>>,
}

impl Document {
    pub(crate) fn new(uri: Url, version: i32, text: String) -> Self {
        let index = Arc::new(LineIndex::new(&text));
        let text: Arc<str> = text.into();
        Self {
            version,
            module: read_later(&uri, &text),
            uri,
            text,
            index,
            path: Arc::default(),
            carried: Mutex::new(None),
            cell: Mutex::new(None),
            text_cells: TextCells::default(),
        }
    }

    /// The document after `changes`, in their order. Lines that were carried before will be carried on through them.
    pub(crate) fn changed(
        &self,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
        encoding: Encoding,
    ) -> Self {
        let mut text = self.text.to_string();
        let mut index = Arc::clone(&self.index);
        let mut edits = Vec::new();
        for change in self.at_once(changes, encoding) {
            let range = match change.range {
                Some(range) => from_proto::range(&index, &text, range, encoding),
                None => 0..text.len(),
            };
            text.replace_range(range.clone(), &change.text);
            index = Arc::new(LineIndex::new(&text));
            edits.push((range, change.text));
        }
        let known = self.carried.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let carried = known.and_then(|LinesOfLoad { generation, lines }| {
            let lines = match lines {
                Some(lines) => Some(lines.changed(&self.text, &self.index, edits)?),
                None => None,
            };
            Some(LinesOfLoad { generation, lines })
        });
        let text: Arc<str> = text.into();
        Self {
            uri: self.uri.clone(),
            version,
            module: read_later(&self.uri, &text),
            text,
            index,
            path: Arc::clone(&self.path),
            carried: Mutex::new(carried),
            cell: Mutex::new(self.cell.lock().unwrap_or_else(PoisonError::into_inner).clone()),
            text_cells: self.text_cells.of_next_version(),
        }
    }

    /// Many changes as one that has the same effect on the text, if each stands on lines before those of the one before it, as
    /// editors send what they format, replace everywhere or type at several places; else as they are.
    fn at_once(
        &self,
        changes: Vec<TextDocumentContentChangeEvent>,
        encoding: Encoding,
    ) -> Vec<TextDocumentContentChangeEvent> {
        let ranges: Option<Vec<_>> = (MANY_CHANGES <= changes.len())
            .then(|| {
                let range = |it: &TextDocumentContentChangeEvent| {
                    Some(from_proto::range(&self.index, &self.text, it.range?, encoding))
                };
                changes.iter().map(range).collect()
            })
            .flatten();
        let Some(ranges) = ranges else { return changes };
        let is_before = |pair: &[std::ops::Range<usize>]| {
            self.index.line(pair[1].end) < self.index.line(pair[0].start)
        };
        if !ranges.windows(2).all(is_before) {
            return changes;
        }
        let mut text = String::with_capacity(self.text.len());
        let mut at = 0;
        for (range, change) in ranges.iter().zip(&changes).rev() {
            text.push_str(&self.text[at..range.start]);
            text.push_str(&change.text);
            at = range.end;
        }
        text.push_str(&self.text[at..]);
        vec![TextDocumentContentChangeEvent { range: None, range_length: None, text }]
    }

    /// The path on disk in its one spelling; `None` for what is not on disk. Touches the disk the first time.
    pub(crate) fn path(&self) -> Option<&str> {
        self.path.get_or_init(|| Some(paths::real(&paths::of_uri(&self.uri)?))).as_deref()
    }

    /// Which cell of a load's recording this is. `find` gives the key of the file that ran with a text: a cell that was
    /// edited since stays the one that it was when its text was last one that ran.
    pub(crate) fn cell(
        &self,
        generation: u64,
        find: impl FnOnce(&str) -> Option<String>,
    ) -> Option<CellThatRan> {
        let mut known = self.cell.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|it| it.generation != generation) {
            let text = Arc::clone(&self.text);
            *known = find(&text).map(|key| CellThatRan { generation, key, text });
        }
        known.clone()
    }

    /// The cells of a load's recording that this text has, if it is a notebook as plain text.
    pub(crate) fn text_cells(
        &self,
        generation: u64,
        recorded: &RecordedCells<'_>,
    ) -> Arc<[PlacedCell]> {
        match paths::of_uri(&self.uri) {
            Some(path) => self.text_cells.of(generation, &path, &self.text, recorded),
            None => Arc::default(),
        }
    }

    /// Where the lines of a load's recorded text are; `recorded` gives that text, if it is known.
    pub(crate) fn map(
        &self,
        generation: u64,
        recorded: impl FnOnce() -> Option<TextThatRan>,
    ) -> Option<Arc<LineMap>> {
        let known = self.carried.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // Not under the lock: a diff may take a while, and the next change waits for the lock.
        let carried = known.filter(|it| it.generation == generation).unwrap_or_else(|| {
            let map = recorded().map(|recorded| recorded.lines_in(&self.text));
            let carried = LinesOfLoad { generation, lines: map.map(CarriedLines::new) };
            *self.carried.lock().unwrap_or_else(PoisonError::into_inner) = Some(carried.clone());
            carried
        });
        carried.lines.map(|it| it.map())
    }
}

/// What a text says as Python; of Markdown, its cells.
fn read_later(uri: &Url, text: &Arc<str>) -> LazyModule {
    let code = paths::of_uri(uri).and_then(|path| pysource::code_among_prose(&path, text));
    ide::read_later(code.map_or_else(|| Arc::clone(text), Into::into))
}

#[cfg(test)]
mod tests {
    use loader::TextOrigin;
    use tower_lsp::lsp_types::{Position, Range};

    use super::*;

    fn change(range: Option<[u32; 4]>, text: &str) -> TextDocumentContentChangeEvent {
        let range = range
            .map(|[a, b, c, d]| Range { start: Position::new(a, b), end: Position::new(c, d) });
        TextDocumentContentChangeEvent { range, range_length: None, text: text.to_owned() }
    }

    fn document(text: &str) -> Document {
        Document::new(Url::parse("untitled:1").unwrap(), 1, text.to_owned())
    }

    #[test]
    fn changes_apply_in_order_and_in_the_clients_units() {
        // After `é` (2 bytes, 1 unit of UTF-16) and `𝄞` (4 bytes, 2 units).
        for (encoding, column) in [(Encoding::Utf8, 6), (Encoding::Utf16, 3), (Encoding::Utf32, 2)]
        {
            let changes = [
                change(Some([1, column, 1, column + 1]), "X"),
                change(Some([0, 0, 1, 0]), ""),
                change(None, "whole"),
            ];
            let document = document("a\né𝄞b\n");
            let text = |n: usize| document.changed(2, changes[..n].to_vec(), encoding).text;
            assert_eq!(&*text(1), "a\né𝄞X\n");
            assert_eq!(&*text(2), "é𝄞X\n");
            assert_eq!(&*text(3), "whole");
        }
    }

    #[test]
    fn many_changes_have_the_effect_of_each_after_the_other() {
        let text: String = (0..300).map(|it| format!("line {it}\r\né = {it}\n")).collect();
        let document = document(&text);
        let rows = [
            // From the last line to the first, and in other orders; several on a line; some that are not there.
            (0..300_u32)
                .rev()
                .map(|it| change(Some([2 * it, 1, 2 * it + 1, 1]), "x\n"))
                .collect::<Vec<_>>(),
            (0..2_000)
                .rev()
                .map(|it| change(Some([2 * it + 1, 0, 2 * it + 1, 9_999]), ""))
                .collect(),
            (0..260).map(|it| change(Some([2 * it, 1, 2 * it, 1]), "x\n")).collect(),
            (0..260).rev().map(|it| change(Some([it / 2, it % 2, it / 2, it % 2]), "yy")).collect(),
            (0..700).rev().map(|it| change(Some([it, 0, it, 0]), "z")).collect(),
        ];
        for (row, changes) in rows.into_iter().enumerate() {
            let one_by_one =
                changes.iter().fold(document.changed(2, Vec::new(), Encoding::Utf16), |it, one| {
                    it.changed(2, vec![one.clone()], Encoding::Utf16)
                });
            let at_once = document.changed(2, changes, Encoding::Utf16);
            assert!(at_once.text == one_by_one.text, "{row}");
        }
        let is_one = |changes| document.at_once(changes, Encoding::Utf16).len() == 1;
        assert!(is_one((0..300).rev().map(|it| change(Some([it, 0, it, 1]), "x")).collect()));
        assert!(!is_one((0..300).map(|it| change(Some([it, 0, it, 1]), "x")).collect()));
        assert!(!is_one((0..300).rev().map(|_| change(None, "x")).collect()));
    }

    #[test]
    fn a_range_that_is_not_there_is_cut() {
        let document = document("ab\n");
        let text =
            |range| document.changed(2, vec![change(Some(range), "X")], Encoding::Utf16).text;
        assert_eq!(&*text([0, 1, 9, 9]), "aX");
        assert_eq!(&*text([9, 0, 9, 0]), "ab\nX");
        assert_eq!(&*text([0, 2, 0, 1]), "abX\n", "an end before the start");
    }

    #[test]
    fn lines_are_carried_from_version_to_version() {
        let document = document("a\nb\n");
        let ran = TextThatRan { text: "a\nb\n".into(), origin: TextOrigin::File };
        assert!(document.map(1, || Some(ran)).is_some());
        let edited = document.changed(2, vec![change(Some([0, 0, 0, 0]), "new\n")], Encoding::Utf8);
        let map = edited.map(1, || panic!("the map of this load is known")).unwrap();
        assert_eq!(map.current(2).map(|it| (it.line, it.is_edited)), Some((3, false)));
        assert!(edited.map(2, || None).is_none(), "another load begins anew");
    }
}
