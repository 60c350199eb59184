//! Which lines are shown, of those that have numbers: what `perfline.setFilter` says.

use std::collections::{BTreeMap, HashSet};

use ide::PlacedSource;
use ledger::{Ledger, LineKey};
use report::CodeFilter;

/// The code that is shown of a recording.
pub(crate) struct ShownCode<'a> {
    filter: &'a CodeFilter,
    ledger: &'a Ledger,
    /// What files are called, by their key in the ledger.
    names: BTreeMap<&'a str, String>,
}

impl<'a> ShownCode<'a> {
    /// The code of a ledger, with what its files are called.
    pub(crate) fn new(
        filter: &'a CodeFilter,
        ledger: &'a Ledger,
        names: BTreeMap<&'a str, String>,
    ) -> Self {
        Self { filter, ledger, names }
    }

    /// Whether a recorded line is shown.
    pub(crate) fn has(&self, file: &str, line: u32) -> bool {
        let key = LineKey { file: file.to_owned(), line };
        let function = self.ledger.lines.get(&key).map_or("", |it| &it.function);
        self.filter.passes(self.names.get(file).map_or(file, String::as_str), function)
    }

    /// The lines of a file as it is now that are shown.
    pub(crate) fn lines_of(&self, source: &PlacedSource<'_>) -> HashSet<u32> {
        let lines = source.lines().into_iter().filter(|it| self.has(source.key, it.recorded));
        lines.map(|it| it.line).collect()
    }

    /// Whether a line of a file as it is now is shown, or begins a function with a line that is.
    pub(crate) fn is_around(&self, source: &PlacedSource<'_>, line: u32) -> bool {
        let shown = self.lines_of(source);
        let functions = source.module.functions().iter();
        let mut functions = functions.filter(|it| it.def_line == line);
        shown.contains(&line)
            || functions
                .any(|it| shown.iter().any(|at| (it.first_line..=it.last_line).contains(at)))
    }
}
