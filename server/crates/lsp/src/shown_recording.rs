//! The recording that is shown of a workspace folder. In a workspace of several folders each has its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ide::{Baseline, Period};
use loader::Signature;
use report::StackFilter;
use report::diff::Difference;
use settings::Settings;

use crate::loaded::LoadedRecording;
use crate::part_books::{PartBooks, PartKey};

/// What is shown, and is to be shown, of one workspace folder.
#[derive(Default)]
pub(crate) struct ShownRecording {
    /// The folder of the code: a workspace folder, or that of a recording which was named where there are none.
    pub(crate) folder: PathBuf,
    /// What counts of what the client and the project say, for recordings of this folder.
    pub(crate) settings: Arc<Settings>,
    /// Files that the user named, which no newer recording takes the place of.
    pub(crate) pinned: Option<Pinned>,
    pub(crate) period: Option<Period>,
    pub(crate) rank: Option<u32>,
    /// Which lines are shown, and which part of the recording.
    pub(crate) filter: Arc<StackFilter>,
    /// The books of that part, once they were read.
    pub(crate) part: Option<Arc<PartBooks>>,
    pub(crate) loaded: Option<Arc<LoadedRecording>>,
    /// What is being loaded.
    pub(crate) loading: Option<Loading>,
    /// What cannot be loaded, or was stopped: not tried again until it changes.
    pub(crate) failed: Option<Failed>,
    /// The load that began last.
    pub(crate) generation: u64,
    /// What the recording that is shown is compared with.
    pub(crate) baseline: Option<Arc<LoadedRecording>>,
    /// What came of it, once it was compared.
    pub(crate) comparison: Option<BaselineComparison>,
}

/// Files that the user named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pinned {
    pub(crate) paths: Vec<PathBuf>,
    /// The load that they were named for: what was named last goes before what was named earlier.
    pub(crate) since: u64,
}

/// A recording beside the baseline.
#[derive(Clone)]
pub(crate) struct BaselineComparison {
    /// Which load was compared.
    pub(crate) generation: u64,
    pub(crate) lines: Arc<Baseline>,
    pub(crate) difference: Arc<Difference>,
    /// Whether the steps differ and how many lines do, in a sentence.
    pub(crate) verdict: Arc<str>,
}

/// A load that is under way.
pub(crate) struct Loading {
    pub(crate) inputs: Arc<[PathBuf]>,
    pub(crate) signature: Signature,
    pub(crate) cancelled: Arc<AtomicBool>,
}

impl Loading {
    /// Ends it as soon as it notices.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
    }
}

/// A load that came to nothing.
#[derive(Clone)]
pub(crate) struct Failed {
    pub(crate) signature: Signature,
    /// Why, in one line; `None` where it was stopped.
    pub(crate) message: Option<Arc<str>>,
}

impl ShownRecording {
    /// Whether there is, or will be, something to see.
    pub(crate) fn shows(&self) -> bool {
        self.loaded.is_some() || self.loading.is_some()
    }

    /// Whether a recording differs from what is shown, being loaded, or known to be broken.
    pub(crate) fn is_news(&self, signature: &Signature) -> bool {
        self.loaded.as_ref().is_none_or(|it| it.signature != *signature)
            && self.loading.as_ref().is_none_or(|it| it.signature != *signature)
            && self.failed.as_ref().is_none_or(|it| it.signature != *signature)
    }

    /// Shows nothing. What the user chose to see of a recording stays.
    pub(crate) fn clear(&mut self) {
        self.pinned = None;
        self.loaded = None;
        self.failed = None;
        self.generation = 0;
        self.stop();
    }

    /// Ends what is being loaded.
    pub(crate) fn stop(&mut self) {
        if let Some(loading) = self.loading.take() {
            loading.cancel();
        }
    }

    /// What a filter leaves of the recording that is loaded, of a rank or of all; `None` where that is all of it, or nothing is
    /// loaded.
    pub(crate) fn part_key(&self, filter: &Arc<StackFilter>, rank: Option<u32>) -> Option<PartKey> {
        PartKey::new(self.loaded.as_ref()?.generation, rank, filter)
    }

    /// The part that is shown, nothing while it is being read; `None` where all of the recording is shown.
    pub(crate) fn shown_part(&self) -> Option<Arc<PartBooks>> {
        let key = self.part_key(&self.filter, self.rank)?;
        let known = self.part.as_ref().filter(|it| it.of.as_ref() == Some(&key));
        Some(known.map_or_else(Arc::default, Arc::clone))
    }
}
