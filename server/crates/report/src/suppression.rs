//! Comments that suppress findings: `# perfline: ignore`.

use std::cell::RefCell;
use std::collections::BTreeMap;

use ledger::LineKey;
use pysource::{LineMap, Module};

use crate::recording::Recording;

/// The lines of which the author of the code does not want findings. Reads a file when it is first asked about.
pub(crate) struct Suppression<'a> {
    recording: &'a Recording<'a>,
    modules: RefCell<BTreeMap<String, Option<PresentModule>>>,
}

/// What a file says as it is now.
struct PresentModule {
    module: Module,
    /// Where the recorded lines are in it; `None` where they did not move.
    map: Option<LineMap>,
}

impl<'a> Suppression<'a> {
    pub(crate) fn new(recording: &'a Recording<'a>) -> Self {
        Self { recording, modules: RefCell::default() }
    }

    /// Whether a comment on the statement suppresses findings of a rule: in the file as it is now, because the comment is
    /// often the answer to what was reported. Where the text that ran is not known, it is not known which line it is.
    pub(crate) fn covers(&self, place: &LineKey, rule: &str) -> bool {
        let mut modules = self.modules.borrow_mut();
        let present = modules.entry(place.file.clone()).or_insert_with(|| {
            let present = self.recording.present(&place.file)?;
            Some(PresentModule { module: Module::parse(&present.text), map: present.map })
        });
        let suppresses = |PresentModule { module, map }: &PresentModule| {
            let line = match map {
                Some(map) => map.current(place.line).map(|it| it.line),
                None => Some(place.line),
            };
            line.is_some_and(|line| {
                module.directives(line).any(|it| insights::is_suppressed(&it.text, rule))
            })
        };
        present.as_ref().is_some_and(suppresses)
    }
}
