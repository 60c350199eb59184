//! How a server works.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ::loader::{
    DiscoveredRun, Error, FirstStepsChoice, LedgerCache, LoadOptions, PartialRun, Run, Watch,
};

/// How a server works, for those who run it elsewhere than on stdin and stdout.
#[derive(Clone)]
pub struct Config {
    /// Where recordings come from.
    pub recordings: Arc<dyn Recordings>,
    /// How often recordings are looked for where the client does not watch files. A search that takes long is repeated
    /// less often: twenty times its own time passes in between, and where searches find nothing new up to 320 times, but then two
    /// minutes at most.
    pub poll: Duration,
    /// The same where the client watches files: it does not see all of them.
    pub poll_watched: Duration,
    /// How long a recording must not have changed before it is read: it may still be being written.
    pub quiet_period: Duration,
    /// How long changes are gathered before diagnostics and refresh requests follow them.
    pub gather: Duration,
    /// How often the process that `initialize` names is looked at: the session ends with it.
    pub poll_parent: Duration,
    /// Where the texts that ran are kept; `None` keeps none.
    pub text_cache: Option<PathBuf>,
    /// Where the ledgers of recordings are kept; `None` keeps none.
    pub ledger_cache: Option<Arc<LedgerCache>>,
}

impl Default for Config {
    /// Recordings on disk, looked for every 2 s (10 s where the client watches, too) and read 1 s after their last change;
    /// the process that started the server is looked at every 3 s.
    fn default() -> Self {
        Self {
            recordings: Arc::new(Disk),
            poll: Duration::from_secs(2),
            poll_watched: Duration::from_secs(10),
            quiet_period: Duration::from_secs(1),
            gather: Duration::from_millis(100),
            poll_parent: Duration::from_secs(3),
            text_cache: ::loader::cache_folder(),
            ledger_cache: ::loader::cache_folder().map(|it| Arc::new(LedgerCache::new(it))),
        }
    }
}

/// Where recordings come from.
pub trait Recordings: Send + Sync {
    /// The recordings below a folder, newest first.
    fn discover(&self, folder: &Path) -> Vec<DiscoveredRun>;

    /// Reads the files of one run.
    ///
    /// # Errors
    /// As [`::loader::load`].
    fn load(
        &self,
        inputs: &[PathBuf],
        options: &LoadOptions,
        watch: &Watch<'_>,
    ) -> Result<Run, Error>;

    /// The files of one run as an earlier load kept them, without reading them; `None` where they were not kept.
    fn load_kept(
        &self,
        inputs: &[PathBuf],
        options: &LoadOptions,
        watch: &Watch<'_>,
    ) -> Option<Run>;

    /// The first steps of a long run, for those who would wait for all of it; `None` where there is no need, or no way.
    fn load_first_steps(
        &self,
        _inputs: &[PathBuf],
        _options: &LoadOptions,
        _watch: &Watch<'_>,
    ) -> Option<PartialRun> {
        None
    }
}

/// Recordings on disk.
#[derive(Debug, Clone, Copy)]
pub struct Disk;

impl Recordings for Disk {
    fn discover(&self, folder: &Path) -> Vec<DiscoveredRun> {
        ::loader::discover(folder)
    }

    fn load(
        &self,
        inputs: &[PathBuf],
        options: &LoadOptions,
        watch: &Watch<'_>,
    ) -> Result<Run, Error> {
        ::loader::load(inputs, options, watch)
    }

    fn load_kept(
        &self,
        inputs: &[PathBuf],
        options: &LoadOptions,
        watch: &Watch<'_>,
    ) -> Option<Run> {
        ::loader::load_kept(inputs, options, watch)
    }

    fn load_first_steps(
        &self,
        inputs: &[PathBuf],
        options: &LoadOptions,
        watch: &Watch<'_>,
    ) -> Option<PartialRun> {
        ::loader::load_first_steps(inputs, options, FirstStepsChoice::default(), watch)
    }
}
