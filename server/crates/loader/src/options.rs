//! What to load a recording against.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use attribution::StackOptions;
use recorded::TextsByFile;

use crate::{LedgerCache, MemoryLimit, MinePattern, SourceMapping};

/// What to load a recording against.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// Folder of your code.
    pub root: PathBuf,
    /// Library roots (`site-packages` folders); `None` finds those of the active Python environment.
    pub sites: Option<Vec<PathBuf>>,
    /// Library files that count as the user's code.
    pub mine: Vec<MinePattern>,
    /// Where the files of recorded folders are, as somebody said.
    pub mappings: Vec<SourceMapping>,
    /// Traces of the capture of the CUDA graphs that the recording replays; where there is none, those in the folder of a trace
    /// whose names say so are tried.
    pub captures: Vec<PathBuf>,
    /// Traces of the same program without CUDA graphs: what is known of no capture has the lines of the like kernels there.
    pub lines_from: Vec<PathBuf>,
    /// What the ranges are called that are steps, with a `*` for any text; empty where the recording shall say it: `ProfilerStep#N`, else
    /// the passes of a server.
    pub step_ranges: Vec<String>,
    /// Pretends that the recording holds no exact evidence (CallFrom, side-car, Call stack): how inference is measured.
    pub ignore_exact: bool,
    /// Texts that are known to have run, by the path as recorded: those of an earlier load of the same recording.
    pub known_texts: TextsByFile,
    /// Whether a text that ran is looked for in the git repository that holds the root, where the file is another one by now.
    pub git_texts: bool,
    /// Folder in which the texts that ran are kept ([`crate::cache_folder`]); `None` keeps none and uses none.
    pub text_cache: Option<PathBuf>,
    /// Ledgers of recordings that were read before, and where that of this one goes when the owner of the cache has time for
    /// it ([`LedgerCache::write_pending`]); `None` reads every recording.
    pub ledger_cache: Option<Arc<LedgerCache>>,
    /// Which ranks are read.
    pub ranks: RankChoice,
    /// The most memory that the process may have while it loads; what does not fit is left out, with a warning.
    pub memory_limit: MemoryLimit,
    /// Whether amounts are kept by whole stacks, too ([`crate::Run::stacks`]).
    pub stacks: StackChoice,
    /// How these stacks are made.
    pub stack_options: StackOptions,
    /// Whether it is kept what threads and devices did when ([`crate::Run::timeline`]). Amounts by whole stacks are kept with it.
    pub timeline: TimelineChoice,
    /// Whether it is kept what devices held when ([`crate::Run::histories`]).
    pub histories: bool,
}

/// The rank of which it is kept what threads and devices did when: a timeline holds every event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TimelineChoice {
    /// Of none.
    #[default]
    No,
    /// The lowest of those that are read from traces.
    First,
    /// This one.
    Rank(u32),
}

/// When the first steps of a recording are read before all of it, and how much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstStepsChoice {
    /// Least bytes of a trace.
    pub min_bytes: u64,
    /// Bytes that are read of it at most, and four times as many where these hold no complete step.
    pub read_bytes: u64,
}

impl FirstStepsChoice {
    /// So many times more is read where a smaller part holds no complete step.
    pub(crate) const ENLARGED: u64 = 4;
}

impl Default for FirstStepsChoice {
    /// 64 MiB of traces of a gigabyte or more: what is read in a fraction of a second of what takes more than one.
    fn default() -> Self {
        Self { min_bytes: 1_000_000_000, read_bytes: 64 << 20 }
    }
}

/// Whether amounts are kept by whole stacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StackChoice {
    /// They are not.
    #[default]
    No,
    /// If that can be done for all of a run; files of ledgers hold the amounts of lines alone.
    WherePossible,
    /// Files of ledgers are refused.
    Always,
}

/// Which ranks of a run are read: all, unless some are named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RankChoice {
    /// By number.
    pub ranks: BTreeSet<u32>,
    /// By a process group that they are in: its name, or its description.
    pub groups: Vec<String>,
}

impl RankChoice {
    /// Whether nothing is left out.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.ranks.is_empty() && self.groups.is_empty()
    }

    /// Whether a rank is asked for, or may be: which ranks are in a group is known when they were read.
    pub(crate) fn may_have(&self, rank: u32) -> bool {
        self.ranks.is_empty() || !self.groups.is_empty() || self.ranks.contains(&rank)
    }
}

impl LoadOptions {
    /// Against the code in `root` and the libraries in `sites`; `None` finds those of the active Python environment. No texts
    /// and no ledgers are kept, and no repository is read.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>, sites: Option<Vec<PathBuf>>) -> Self {
        Self {
            root: root.into(),
            sites,
            mine: Vec::new(),
            mappings: Vec::new(),
            captures: Vec::new(),
            lines_from: Vec::new(),
            step_ranges: Vec::new(),
            ignore_exact: false,
            known_texts: TextsByFile::new(),
            ranks: RankChoice::default(),
            git_texts: false,
            text_cache: None,
            ledger_cache: None,
            memory_limit: MemoryLimit::default(),
            stacks: StackChoice::No,
            stack_options: StackOptions::default(),
            timeline: TimelineChoice::No,
            histories: false,
        }
    }
}
