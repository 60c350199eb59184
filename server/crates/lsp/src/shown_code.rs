//! Which lines are shown, of those that have numbers: what `perfline.setFilter` says.

use std::collections::{BTreeMap, HashSet};

use ide::PlacedSource;
use ledger::{Ledger, LineKey};
use report::CodeFilter;

use crate::session::SessionSnapshot;

/// The code that is shown of a recording.
pub(crate) struct ShownCode<'a> {
    filter: &'a CodeFilter,
    ledger: &'a Ledger,
    /// What files are called, by their key in the ledger.
    names: BTreeMap<&'a str, String>,
}

impl<'a> ShownCode<'a> {
    /// `None` where all lines are shown.
    pub(crate) fn new(snapshot: &'a SessionSnapshot) -> Option<Self> {
        let filter = &*snapshot.filter;
        let loaded = snapshot.loaded.as_ref().filter(|_| !filter.is_empty())?;
        Some(Self { filter, ledger: snapshot.ledger()?, names: loaded.names() })
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
}
