//! What inference answers: places by event, and the candidates that it could not decide between.

use std::collections::BTreeMap;

use ledger::Evidence;
use profile::HostEventId;
use rustc_hash::FxHashMap;

/// No site: the event is unexplained.
pub(crate) const NO_SITE: u32 = u32::MAX;

/// A line of a file, as a row of [`CallSites::places`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlaceId(u32);

impl PlaceId {
    /// The row.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedLine<'a> {
    /// The path as recorded.
    pub file: &'a str,
    /// 1-based.
    pub line: u32,
}

/// What is assigned to an event: a place, and whether that is only its function's definition, because no stack shows that
/// function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Assignment(u32);

impl Assignment {
    /// The recording says, or nothing can be said.
    pub(crate) const NOTHING: Self = Self(u32::MAX);
    /// Set in places that are only those of a definition.
    const FUNCTION: u32 = 1 << 31;

    pub(crate) fn inferred(place: PlaceId) -> Self {
        Self(place.0)
    }

    pub(crate) fn function(place: PlaceId) -> Self {
        Self(place.0 | Self::FUNCTION)
    }

    fn place(self) -> Option<(PlaceId, Evidence)> {
        let is_function = self.0 & Self::FUNCTION != 0;
        (self != Self::NOTHING).then_some((
            PlaceId(self.0 & !Self::FUNCTION),
            if is_function { Evidence::Function } else { Evidence::Inferred },
        ))
    }

    /// The same about another place.
    pub(crate) fn with_place(self, place: PlaceId) -> Self {
        match self.place() {
            Some((_, Evidence::Function)) => Self::function(place),
            _ => Self::inferred(place),
        }
    }
}

/// The distinct places.
#[derive(Debug, Default)]
pub(crate) struct RecordedLines {
    files: Vec<String>,
    file_index: FxHashMap<String, u32>,
    rows: Vec<(u32, u32)>,
    index: FxHashMap<(u32, u32), PlaceId>,
}

impl RecordedLines {
    /// The place of a line; `file` is the path as recorded.
    pub(crate) fn place(&mut self, file: &str, line: u32) -> PlaceId {
        let file = match self.file_index.get(file) {
            Some(&row) => row,
            None => {
                let row = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
                self.files.push(file.to_owned());
                self.file_index.insert(file.to_owned(), row);
                row
            }
        };
        let rows = &mut self.rows;
        *self.index.entry((file, line)).or_insert_with(|| {
            rows.push((file, line));
            PlaceId(u32::try_from(rows.len() - 1).unwrap_or(u32::MAX))
        })
    }
}

/// Inferred call sites by host event.
#[derive(Debug, Default)]
pub struct CallSites {
    pub(crate) assigned: Vec<Assignment>,
    pub(crate) places: RecordedLines,
    /// See [`Self::tied`].
    pub(crate) tied: FxHashMap<PlaceId, BTreeMap<Vec<u32>, u64>>,
}

impl CallSites {
    /// Where the event was called, or ran if it is an operator, and how that is known: [`Evidence::Inferred`], or
    /// [`Evidence::Function`] where only the function is known. `None` where the recording says so itself, or nothing
    /// can be said.
    #[must_use]
    pub fn of_event(&self, event: HostEventId) -> Option<(PlaceId, Evidence)> {
        self.assigned.get(event.index())?.place()
    }

    /// All places, in the order of their rows.
    pub fn places(&self) -> impl Iterator<Item = RecordedLine<'_>> {
        let rows = self.places.rows.iter();
        rows.map(|&(file, line)| RecordedLine { file: &self.places.files[file as usize], line })
    }

    /// By the place of a function's definition: how many events several of its lines explain equally well, by those
    /// lines.
    pub fn tied(&self) -> impl Iterator<Item = (PlaceId, &BTreeMap<Vec<u32>, u64>)> {
        self.tied.iter().map(|(&place, tied)| (place, tied))
    }
}

/// What is assigned to the children of a sequence.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// The line of each child that is assigned one, else 0.
    pub(crate) lines: Vec<u32>,
    /// The site of each child, where no other site explains it nearly as well; else [`NO_SITE`]. Of two calls in one line, it
    /// says which.
    pub(crate) sites: Vec<u32>,
    /// The lines that are about equally good, where there are several: of each child without a line.
    pub(crate) tied: Vec<Vec<u32>>,
}

/// Where the children of a sequence came from.
pub(crate) struct AlignedFrame {
    /// The site of each child on the best path, or [`NO_SITE`].
    pub(crate) sites: Vec<u32>,
    /// Whether no other site explains a child nearly as well.
    pub(crate) is_clear: Vec<bool>,
    /// The sites at which the best path leaves something, once for each time that it comes by, where that is clear.
    pub(crate) visited: Vec<u32>,
    /// The edges that it takes between those, likewise.
    pub(crate) edges: Vec<(u32, u32)>,
}
