//! The frames of stacks as columns, with their texts: the part that `perfline.flame/1` and `perfline.timeline/1` share
//! (docs/pictures.md).

use ledger::Evidence;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use stack_books::StackFrame;

use crate::recording::Recording;
use crate::terminal::clean;

/// Names of the kinds of frames; `kind` of a frame is a row of it.
pub(crate) const KINDS: [&str; 8] =
    ["user", "library", "noLine", "call", "operator", "runtime", "device", "smaller"];
/// The kind of a frame that stands for several that are too small.
pub(crate) const SMALLER: usize = 7;

/// Frames and their texts, as far as they are shown.
pub(crate) struct FrameTable<'a> {
    recording: &'a Recording<'a>,
    /// The first is empty.
    strings: Vec<String>,
    string_rows: FxHashMap<String, usize>,
    name: Vec<usize>,
    kind: Vec<usize>,
    file: Vec<usize>,
    line: Vec<u32>,
    evidence: Vec<usize>,
    /// Rows of frames of the books.
    frame_rows: FxHashMap<usize, usize>,
}

impl<'a> FrameTable<'a> {
    /// No frames, with the names that files have in a recording.
    pub(crate) fn new(recording: &'a Recording<'a>) -> Self {
        Self {
            recording,
            strings: vec![String::new()],
            string_rows: FxHashMap::from_iter([(String::new(), 0)]),
            name: Vec::new(),
            kind: Vec::new(),
            file: Vec::new(),
            line: Vec::new(),
            evidence: Vec::new(),
            frame_rows: FxHashMap::default(),
        }
    }

    /// The texts, by row.
    pub(crate) fn strings(&self) -> &[String] {
        &self.strings
    }

    /// The columns by frame.
    pub(crate) fn columns(&self) -> Value {
        json!({
            "name": self.name, "kind": self.kind, "file": self.file, "line": self.line, "evidence": self.evidence,
        })
    }

    /// The row of a text.
    pub(crate) fn string(&mut self, text: &str) -> usize {
        let text = clean(text);
        if let Some(row) = self.string_rows.get(&text) {
            return *row;
        }
        let row = self.strings.len();
        self.strings.push(text.clone());
        self.string_rows.insert(text, row);
        row
    }

    /// The row of a frame of the books, by its place there.
    pub(crate) fn frame(&mut self, index: usize, frame: &StackFrame, evidence: Evidence) -> usize {
        if let Some(row) = self.frame_rows.get(&index) {
            return *row;
        }
        let row = self.push(self.recording, frame, evidence);
        self.frame_rows.insert(index, row);
        row
    }

    /// A frame of books that is not in the table, with the name that its file has in `recording`.
    pub(crate) fn push(
        &mut self,
        recording: &Recording<'_>,
        frame: &StackFrame,
        evidence: Evidence,
    ) -> usize {
        match frame {
            StackFrame::Line(line) => {
                let function = if line.function.is_empty() { "?" } else { &line.function };
                let file = recording.file(&line.key.file).to_owned();
                let kind = usize::from(!line.is_user_code);
                self.add(function, kind, Some((&file, line.key.line)), evidence)
            }
            StackFrame::NoLine(reason) => {
                self.add(&format!("[not on a line: {}]", reason.name()), 2, None, evidence)
            }
            StackFrame::Call(name) => self.add(name, 3, None, evidence),
            StackFrame::Operator(name) => self.add(name, 4, None, evidence),
            StackFrame::SizedOperator(it) => self.add(&it.to_string(), 4, None, evidence),
            StackFrame::Runtime(name) => self.add(name, 5, None, evidence),
            StackFrame::Device(name) => self.add(name, 6, None, evidence),
        }
    }

    /// The file of a frame, as a row of the texts, and its line.
    pub(crate) fn place(&self, frame: usize) -> (usize, u32) {
        (self.file[frame], self.line[frame])
    }

    /// A frame that is not in the table.
    pub(crate) fn add(
        &mut self,
        name: &str,
        kind: usize,
        place: Option<(&str, u32)>,
        evidence: Evidence,
    ) -> usize {
        let name = self.string(name);
        self.name.push(name);
        self.kind.push(kind);
        let (file, line) = place.map_or((0, 0), |(file, line)| (self.string(file), line));
        self.file.push(file);
        self.line.push(line);
        self.evidence.push(match evidence {
            Evidence::Exact => 0,
            Evidence::Inferred => 1,
            Evidence::Function => 2,
        });
        self.name.len() - 1
    }
}
