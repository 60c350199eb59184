//! Where recorded lines are in the text as it is now.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::{Deref, RangeInclusive};
use std::sync::{Arc, LazyLock};

use ledger::{Evidence, Ledger, LineBooks, LineKey};
use pysource::{Function, FunctionKind, LineIndex, LineMap, Module};

/// What a text says, read when it is looked at for the first time: most of what is shown while somebody types needs
/// no syntax tree.
pub type LazyModule = LazyLock<Module, Box<dyn FnOnce() -> Module + Send>>;

/// What `text` says, not read yet.
#[must_use]
pub fn read_later(text: Arc<str>) -> LazyModule {
    LazyLock::new(Box::new(move || Module::parse(&text)))
}

/// A file as it is now, and what was recorded of it.
#[derive(Debug, Clone, Copy)]
pub struct PlacedSource<'a> {
    /// The books.
    pub ledger: &'a Ledger,
    /// Which file this is: its key in [`Ledger::files`].
    pub key: &'a str,
    /// What it is called, where that is another name: a notebook as plain text has several keys.
    pub name: &'a str,
    /// The text as it is now.
    pub text: &'a str,
    /// Index of `text`.
    pub index: &'a LineIndex,
    /// What `text` says.
    pub module: &'a LazyModule,
    /// From the text that ran to `text`; `None` where the text that ran is not known, so that numbers can only stand
    /// on the definition of their function.
    pub map: Option<&'a LineMap>,
}

/// A recorded line where it is now.
#[derive(Debug, Clone)]
pub(crate) struct Placed<'a> {
    /// 1-based line in the text as it is now.
    pub(crate) line: u32,
    /// 1-based line in the text that ran.
    pub(crate) recorded: u32,
    /// What was charged.
    pub(crate) books: PlacedBooks<'a>,
    /// Whether the line was changed since.
    pub(crate) is_stale: bool,
    /// Whether the books are those of a function of which no line, or no line any more, is known.
    pub(crate) is_function: bool,
}

/// The books of a placed line. Not a `Cow`, which has room for all of them in place: thousands of lines are placed for
/// each request, and moved about.
#[derive(Debug, Clone)]
pub(crate) enum PlacedBooks<'a> {
    /// Of one line of the ledger.
    Line(&'a LineBooks),
    /// The sum of several.
    Sum(Box<LineBooks>),
}

impl Deref for PlacedBooks<'_> {
    type Target = LineBooks;

    fn deref(&self) -> &LineBooks {
        match self {
            Self::Line(books) => books,
            Self::Sum(books) => books,
        }
    }
}

/// The placed lines, in line order, that are among `lines`.
pub(crate) fn among<'p, 'a>(
    placed: &'p [Placed<'a>],
    lines: &RangeInclusive<u32>,
) -> &'p [Placed<'a>] {
    let from = placed.partition_point(|it| it.line < *lines.start());
    let n = placed[from..].partition_point(|it| it.line <= *lines.end());
    &placed[from..from + n]
}

/// The lines of `ledger` in a file.
pub(crate) fn lines_of<'a>(
    ledger: &'a Ledger,
    file: &str,
) -> impl Iterator<Item = (&'a LineKey, &'a LineBooks)> + use<'a> {
    let key = |line| LineKey { file: file.to_owned(), line };
    let lines = ledger.lines.range(key(0)..=key(u32::MAX));
    lines.map(|(key, books)| (key, &**books))
}

/// Whether the functions that the ledger names for the lines of `file` are on these lines of `module`: whether a file
/// that was found by its name alone may be the one that ran.
#[must_use]
pub fn fits(ledger: &Ledger, file: &str, module: &Module) -> bool {
    let mut lines = lines_of(ledger, file).peekable();
    lines.peek().is_some()
        && lines.all(|(key, books)| {
            let name = last_name(&books.function);
            name.starts_with('<')
                || module.functions().iter().any(|it| it.name == name && it.contains(key.line))
        })
}

impl<'a> PlacedSource<'a> {
    /// The recorded lines that are still there, in line order, one for each line.
    pub(crate) fn placed(&self) -> Vec<Placed<'a>> {
        let mut lines = match self.map {
            Some(map) => self.carried(map),
            None => self.folded(),
        };
        // A definition and its decorators may both have numbers; the line's own come first.
        lines.sort_by_key(|it| (it.line, it.is_function));
        lines.dedup_by_key(|it| it.line);
        lines
    }

    /// The same in the order of the lines that were recorded.
    pub(crate) fn placed_as_recorded(&self) -> Vec<Placed<'a>> {
        let mut lines = self.placed();
        lines.sort_by_key(|it| it.recorded);
        lines
    }

    /// What was recorded of one line.
    pub(crate) fn at(&self, line: u32) -> Option<Placed<'a>> {
        self.placed().into_iter().find(|placed| placed.line == line)
    }

    /// The recorded lines among `lines`, as they were counted then, that are not in the text any more.
    pub(crate) fn deleted(&self, lines: &RangeInclusive<u32>) -> Vec<Placed<'a>> {
        let Some(map) = self.map else { return Vec::new() };
        let key = |line: &u32| LineKey { file: self.key.to_owned(), line: *line };
        let recorded = self.ledger.lines.range(key(lines.start())..=key(lines.end()));
        let gone = recorded.filter(|(key, _)| map.current(key.line).is_none());
        let placed = gone.map(|(key, books)| Placed {
            line: 0,
            recorded: key.line,
            books: PlacedBooks::Line(books),
            is_stale: true,
            is_function: false,
        });
        placed.collect()
    }

    /// Whether statements among these lines were added, changed or taken away since the recording.
    pub(crate) fn is_edited(&self, lines: &RangeInclusive<u32>) -> bool {
        let has_code = |line| {
            let text = self.index.line_range(line).and_then(|range| self.text.get(range));
            let text = text.unwrap_or_default().trim_start();
            !text.is_empty() && !text.starts_with('#')
        };
        self.map.is_some_and(|map| map.is_edited(lines.clone(), has_code))
    }

    fn carried(&self, map: &LineMap) -> Vec<Placed<'a>> {
        let mut lines: Vec<Placed<'a>> = Vec::new();
        for (key, books) in lines_of(self.ledger, self.key) {
            let Some(carried) = map.current(key.line) else { continue };
            let is_function = books.evidence == Evidence::Function;
            let line = if is_function { self.def_line(carried.line) } else { carried.line };
            lines.push(Placed {
                line,
                recorded: key.line,
                books: PlacedBooks::Line(books),
                is_stale: carried.is_edited,
                is_function,
            });
        }
        lines
    }

    /// Python counts a decorated function from its first decorator, readers from its `def`.
    fn def_line(&self, first_line: u32) -> u32 {
        let text = self.index.line_range(first_line).and_then(|range| self.text.get(range));
        if !text.is_some_and(|text| text.trim_start().starts_with('@')) {
            return first_line;
        }
        let function =
            self.module.functions().iter().find(|it| it.first_line == first_line && is_def(it));
        function.map_or(first_line, |it| it.def_line)
    }

    /// Everything on the definition of its function: what is left to say about a file that was changed after it ran,
    /// when it is not known how.
    fn folded(&self) -> Vec<Placed<'a>> {
        let mut sums: BTreeMap<u32, Box<LineBooks>> = BTreeMap::new();
        for (_, books) in lines_of(self.ledger, self.key) {
            let Some(function) = self.function_named(&books.function) else { continue };
            match sums.entry(function.def_line) {
                Entry::Vacant(entry) => {
                    entry.insert(Box::new(books.clone()));
                }
                Entry::Occupied(mut entry) => entry.get_mut().merge_line(books),
            }
        }
        let placed = sums.into_iter().map(|(line, mut books)| {
            books.evidence = Evidence::Function;
            Placed {
                line,
                recorded: line,
                books: PlacedBooks::Sum(books),
                is_stale: true,
                is_function: true,
            }
        });
        placed.collect()
    }

    /// The function that goes by a name of the ledger, if only one does.
    fn function_named(&self, name: &str) -> Option<&'a Function> {
        let is_it = |function: &&Function| {
            if name.contains('.') { function.qualified_name == name } else { function.name == name }
        };
        let mut found = self.module.functions().iter().filter(|it| is_def(it)).filter(is_it);
        found.next().filter(|_| found.next().is_none())
    }
}

/// Whether a function begins with `def`.
pub(crate) fn is_def(function: &Function) -> bool {
    matches!(function.kind, FunctionKind::Def | FunctionKind::AsyncDef)
}

/// `forward` of `SlowModel.forward`.
pub(crate) fn last_name(qualified: &str) -> &str {
    qualified.rsplit('.').next().unwrap_or(qualified)
}
/// The last part of a path.
pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
