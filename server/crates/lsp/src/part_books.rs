//! The books of a part of a recording, in the place of those of the whole: what `perfline.setFilter` says of stacks.

use std::sync::Arc;

use ide::ViewPart;
use ledger::Ledger;
use report::StackFilter;

/// Which books of a recording are shown.
#[derive(Clone, Default)]
pub(crate) struct ShownBooks {
    /// Those of one rank; `None` for all.
    pub(crate) rank: Option<u32>,
    /// What takes their place.
    pub(crate) part: Option<Arc<PartBooks>>,
}

/// The books of a part of a recording, of a rank or of all.
pub(crate) struct PartBooks {
    pub(crate) ledger: Ledger,
    /// Which part it is; or why there are no books.
    pub(crate) described: Result<Arc<ViewPart>, Arc<str>>,
    /// What they are of.
    pub(crate) of: Option<PartKey>,
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
        let described = Err("the part is being read".into());
        Self { ledger: Ledger::default(), described, of: None }
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
