//! The books of a part of a recording, in the place of those of the whole: what `perfline.setFilter` says of stacks.

use std::sync::Arc;

use ide::ViewPart;
use ledger::Ledger;
use loader::Run;
use report::{RecordingPart, StackFilter};

/// Which books of a recording are shown.
#[derive(Clone, Default)]
pub(crate) struct ShownBooks {
    /// Those of one rank; `None` for all.
    pub(crate) rank: Option<u32>,
    /// What takes their place.
    pub(crate) part: Option<Arc<PartBooks>>,
}

impl ShownBooks {
    /// The part that is shown; `None` where all of the recording is.
    ///
    /// # Errors
    /// Why there is no such part.
    pub(crate) fn loaded_part(&self) -> Result<Option<&LoadedPart>, String> {
        let part = self.part.as_ref().map(|it| it.part.as_ref().map_err(ToString::to_string));
        part.transpose()
    }
}

/// The books of a part of a recording, of a rank or of all.
pub(crate) struct PartBooks {
    /// The part, or why there is none.
    pub(crate) part: Result<LoadedPart, Arc<str>>,
    /// What it is of.
    pub(crate) of: Option<PartKey>,
    /// The books where there are none.
    none: Ledger,
}

/// A part of a recording that was read.
pub(crate) struct LoadedPart {
    /// The recording with the books and the stacks of the part in the place of its own.
    pub(crate) run: Run,
    pub(crate) recorded: RecordingPart,
    /// Which part it is.
    pub(crate) described: Arc<ViewPart>,
}

impl LoadedPart {
    pub(crate) fn new(run: Run, recorded: RecordingPart) -> Self {
        let (filter, extent) = (recorded.text.clone(), recorded.extent.clone());
        Self { run, recorded, described: Arc::new(ViewPart { filter, extent }) }
    }
}

impl PartBooks {
    pub(crate) fn new(of: PartKey, part: Result<LoadedPart, Arc<str>>) -> Self {
        Self { part, of: Some(of), none: Ledger::default() }
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        self.part.as_ref().map_or(&self.none, |it| &it.run.merged)
    }
}

/// What a part is of.
#[derive(Clone)]
pub(crate) struct PartKey {
    /// Which load.
    generation: u64,
    pub(crate) rank: Option<u32>,
    pub(crate) filter: Arc<StackFilter>,
}

impl Default for PartBooks {
    /// Nothing yet.
    fn default() -> Self {
        let part = Err("the part is being read".into());
        Self { part, of: None, none: Ledger::default() }
    }
}

impl PartKey {
    /// The part of a load that passes a filter, of a rank or of all; `None` where that is all of it.
    pub(crate) fn new(
        generation: u64,
        rank: Option<u32>,
        filter: &Arc<StackFilter>,
    ) -> Option<Self> {
        let is_all = filter.part().is_empty();
        (!is_all).then(|| Self { generation, rank, filter: Arc::clone(filter) })
    }
}

impl PartialEq for PartKey {
    fn eq(&self, other: &Self) -> bool {
        (self.generation, self.rank) == (other.generation, other.rank)
            && Arc::ptr_eq(&self.filter, &other.filter)
    }
}
