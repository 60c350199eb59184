//! Where lines are now, in files that are open and in others.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use ide::PlacedSource;
use ledger::{Evidence, LineKey};
use metrics::mark_in_text;
use serde_json::{Value, json};
use tower_lsp::lsp_types::{Range, Url};

use crate::document::Document;
use crate::loaded::LoadedRecording;
use crate::session_snapshot::SessionSnapshot;
use crate::{paths, to_proto};

/// The files of a recording, as they are now.
pub(super) struct CurrentFiles<'a> {
    snapshot: &'a SessionSnapshot,
    loaded: &'a LoadedRecording,
    open: BTreeMap<&'a str, &'a Arc<Document>>,
}

impl<'a> CurrentFiles<'a> {
    /// Of several open documents with the same cell, such as a notebook and what Jupytext made of it, the one at `here`.
    pub(super) fn new(
        snapshot: &'a SessionSnapshot,
        loaded: &'a LoadedRecording,
        documents: &'a [Arc<Document>],
        here: Option<&Url>,
    ) -> Self {
        let keys = |it: &'a Arc<Document>| {
            loaded.keys_of(it, &snapshot.folders).into_iter().map(move |key| (key, it))
        };
        let (last, others): (Vec<_>, Vec<_>) =
            documents.iter().partition(|it| Some(&it.uri) == here);
        let documents = others.into_iter().chain(last);
        Self { snapshot, loaded, open: documents.flat_map(keys).collect() }
    }

    /// The keys of a file: none where the recording does not know it, several where it is a notebook as plain text.
    pub(super) fn keys(&self, uri: &Url) -> Vec<&'a str> {
        let open = self.open.iter().filter(|(_, document)| document.uri == *uri);
        let keys: Vec<&str> = open.map(|(key, _)| *key).collect();
        if !keys.is_empty() {
            return keys;
        }
        paths::of_uri(uri).map(|path| self.loaded.keys_of_path(&path)).unwrap_or_default()
    }

    /// Calls `work` with a file as it is now.
    pub(super) fn with_source<T>(
        &self,
        key: &str,
        work: impl FnOnce(&PlacedSource<'_>) -> T,
    ) -> Option<T> {
        match self.open.get(key) {
            Some(document) => {
                let (books, folders) = (&self.snapshot.books, &self.snapshot.folders);
                Some(self.loaded.with_document(books, document, key, folders, work))
            }
            None => self.loaded.with_file(&self.snapshot.books, key, work),
        }
    }

    /// Where each of `lines` is now: its file's URI and, if it is still there, its `line`, `range`, `source` and
    /// whether it is `stale`.
    pub(super) fn of(&self, lines: impl IntoIterator<Item = LineKey>) -> Vec<Value> {
        let lines: Vec<LineKey> = lines.into_iter().collect();
        // Each file is looked at once, however many of its lines are asked for.
        let mut wanted: HashMap<&str, HashSet<u32>> = HashMap::new();
        for line in &lines {
            wanted.entry(&line.file).or_default().insert(line.line);
        }
        let now = |(file, lines): (_, HashSet<u32>)| {
            (file, self.with_source(file, |it| self.lines_of(it, &lines)).unwrap_or_default())
        };
        let files: HashMap<&str, HashMap<u32, Value>> = wanted.into_iter().map(now).collect();
        let place = |line: &LineKey| {
            let file = self.name(&line.file);
            let mut place =
                json!({"file": file, "uri": self.uri(&line.file), "recordedLine": line.line});
            let now = files.get(line.file.as_str()).and_then(|it| it.get(&line.line));
            if let Some(now) = now {
                extend(&mut place, now.clone());
            }
            place
        };
        lines.iter().map(place).collect()
    }

    /// What a file is called: the key, but that of a cell of a text as the text, whose lines its places are.
    pub(super) fn name<'n>(&self, key: &'n str) -> Cow<'n, str> {
        match self.open.get(key).map(|it| (it, it.path())) {
            Some((document, Some(path))) if self.loaded.is_cell_of_text(document, key) => {
                let root = paths::real(self.loaded.root());
                let below = path.strip_prefix(&root).and_then(|it| it.strip_prefix('/'));
                Cow::Owned(below.unwrap_or(path).to_owned())
            }
            Some(_) => Cow::Borrowed(key),
            None => {
                let text = pysource::split_text_cell_path(Path::new(key));
                text.map_or(Cow::Borrowed(key), |(file, _)| file.to_string_lossy())
            }
        }
    }

    fn uri(&self, key: &str) -> Option<Url> {
        match self.open.get(key) {
            Some(document) => Some(document.uri.clone()),
            None => self.loaded.path_of(key).and_then(paths::to_uri),
        }
    }

    /// Where the recorded lines `wanted` of a file are that are still there.
    fn lines_of(&self, source: &PlacedSource<'_>, wanted: &HashSet<u32>) -> HashMap<u32, Value> {
        let place = |recorded: u32, line: u32, is_stale: bool| {
            let text = source.text.get(source.index.line_range(line)?)?.trim();
            let range = self.range(source, line);
            Some((
                recorded,
                json!({"line": line, "stale": is_stale, "source": text, "range": range}),
            ))
        };
        let lines = source.lines().into_iter().filter(|it| wanted.contains(&it.recorded));
        let mut places: HashMap<u32, Value> =
            lines.filter_map(|it| place(it.recorded, it.line, it.is_stale)).collect();
        // Lines without numbers, such as those on which functions begin.
        for &line in wanted {
            if !places.contains_key(&line)
                && let Some(now) = source.map.and_then(|map| map.current(line))
            {
                places.extend(place(line, now.line, now.is_edited));
            }
        }
        places
    }

    /// A whole line, without its end.
    pub(super) fn range(&self, source: &PlacedSource<'_>, line: u32) -> Option<Range> {
        let range = source.index.line_range(line)?;
        Some(to_proto::range(source.index, range.start, range.end, self.snapshot.encoding()))
    }
}

/// What stands before the numbers of a place: how it is known, and whether its line was changed since.
pub(super) fn mark(place: &Value, evidence: Evidence) -> &'static str {
    mark_in_text(evidence, place["stale"] == true)
}

/// Puts the fields of an object into another.
pub(super) fn extend(object: &mut Value, more: Value) {
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
        object.extend(more);
    }
}

/// Puts rows into an answer. `json!` would copy them, and there may be thousands.
pub(super) fn put_rows(answer: &mut Value, name: &str, rows: Vec<Value>) {
    answer[name] = Value::Array(rows);
}

/// Nanoseconds or bytes: whole, as they were recorded.
pub(super) fn whole(value: f64) -> Value {
    json!(value.round() as i64)
}

/// A count; the mean of several to hundredths.
pub(super) fn count(value: f64) -> Value {
    let hundredths = (value * 100.0).round();
    if hundredths % 100.0 == 0.0 {
        json!((hundredths / 100.0) as i64)
    } else {
        json!(hundredths / 100.0)
    }
}
