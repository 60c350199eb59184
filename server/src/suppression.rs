//! Comments that silence findings: `# perfline: ignore`.

use std::cell::RefCell;
use std::collections::BTreeMap;

use ledger::{Ledger, LineKey, SourceFit};
use pysource::Module;

use crate::sources::Sources;

/// Which lines the author of the code does not want to be told of. Reads a file when it is asked about it first.
pub(crate) struct Suppression<'a> {
    ledger: &'a Ledger,
    sources: &'a dyn Sources,
    modules: RefCell<BTreeMap<String, Option<Module>>>,
}

impl<'a> Suppression<'a> {
    pub(crate) fn new(ledger: &'a Ledger, sources: &'a dyn Sources) -> Self {
        Self { ledger, sources, modules: RefCell::default() }
    }

    /// Whether a comment on the statement says that findings of a rule are not to be told. Of a text that was changed
    /// since the recording nobody knows which line it is.
    pub(crate) fn covers(&self, place: &LineKey, rule: &str) -> bool {
        let mut modules = self.modules.borrow_mut();
        let module = modules.entry(place.file.clone()).or_insert_with(|| {
            let file = self.ledger.files.get(&place.file)?;
            let path = file.path.as_ref().filter(|_| file.fit == SourceFit::Fits)?;
            Some(Module::parse(&self.sources.read(path)?))
        });
        let says = |module: &Module| {
            module.directives(place.line).any(|it| insights::is_suppressed(&it.text, rule))
        };
        module.as_ref().is_some_and(says)
    }
}
