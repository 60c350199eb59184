//! Comments that suppress findings: `# perfline: ignore`.

use std::cell::RefCell;
use std::collections::BTreeMap;

use ledger::{LineKey, SourceFit};
use pysource::Module;

use crate::recording::Recording;

/// The lines of which the author of the code does not want findings. Reads a file when it is first asked about.
pub(crate) struct Suppression<'a> {
    recording: &'a Recording<'a>,
    modules: RefCell<BTreeMap<String, Option<Module>>>,
}

impl<'a> Suppression<'a> {
    pub(crate) fn new(recording: &'a Recording<'a>) -> Self {
        Self { recording, modules: RefCell::default() }
    }

    /// Whether a comment on the statement suppresses findings of a rule. In a text that was changed since the recording
    /// it is not known which line it is.
    pub(crate) fn covers(&self, place: &LineKey, rule: &str) -> bool {
        let mut modules = self.modules.borrow_mut();
        let module = modules.entry(place.file.clone()).or_insert_with(|| {
            let file = self.recording.run.merged.files.get(&place.file)?;
            let path = file.path.as_ref().filter(|_| file.fit == SourceFit::Fits)?;
            Some(Module::parse(&self.recording.sources.read(path)?))
        });
        let suppresses = |module: &Module| {
            module.directives(place.line).any(|it| insights::is_suppressed(&it.text, rule))
        };
        module.as_ref().is_some_and(suppresses)
    }
}
