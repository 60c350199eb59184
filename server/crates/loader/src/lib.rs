//! From paths to ledgers.
//!
//! *Owns*: everything that touches the disk on the way from a recording to its books: finding recordings, determining
//! what a file is from its first bytes, decompressing, pairing traces with side-cars, finding the sources and the
//! library roots, grouping ranks, merging.
//!
//! *Never*: parses a format or attributes anything itself; runs Python or any other program; knows LSP.
//!
//! *The tests that say so*: `tests/` of this crate, on the recordings in `fixtures/`.

mod blocks;
mod discover;
mod display_names;
mod hand_over;
mod load;
mod names;
mod open;
mod panics;
mod plan;
mod python_environment;
mod source_folders;
mod sources;
mod timing;
mod unpack;
mod user_code;
mod utf16;
mod walk;
mod workers;
mod zstd;

pub use display_names::display_names;
pub use source_folders::SourceFolders;
pub use timing::{Times, Timing};
pub use user_code::{InvalidPattern, MinePattern};

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use ledger::{Ledger, SourceFile, SourceFit};
use profile::{Profile, Warning};
use recorded::{Sources, recorded_files};

/// The path that stands for the standard input where inputs are named; a file of that name is `./-`.
pub const STANDARD_INPUT: &str = "-";

/// What to load a recording against.
#[derive(Debug, Clone)]
pub struct Options {
    /// Folder of your code.
    pub root: PathBuf,
    /// Library roots (`site-packages` folders); `None` finds those of the active Python environment.
    pub sites: Option<Vec<PathBuf>>,
    /// Library files that count as the user's code.
    pub mine: Vec<MinePattern>,
    /// Pretends that the recording holds no exact evidence (CallFrom, side-car, Call stack): how inference is measured.
    pub ignore_exact: bool,
}

impl Options {
    /// Against the code in `root` and the libraries in `sites`; `None` finds those of the active Python environment.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>, sites: Option<Vec<PathBuf>>) -> Self {
        Self { root: root.into(), sites, mine: Vec::new(), ignore_exact: false }
    }
}

/// What an input turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A Kineto Chrome trace.
    Kineto,
    /// A CUDA memory snapshot.
    Snapshot,
    /// A memory timeline by category (`export_memory_timeline`).
    Timeline,
    /// The recorder's exact callers.
    Callers,
}

impl Kind {
    /// Stable name in machine-readable output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kineto => "kineto",
            Self::Snapshot => "snapshot",
            Self::Timeline => "timeline",
            Self::Callers => "callers",
        }
    }
}

/// One file that was read.
#[derive(Debug, Clone)]
pub struct Input {
    /// Where it is.
    pub path: PathBuf,
    /// What it is.
    pub kind: Kind,
    /// Its rank; from `distributedInfo`, else from the file name, else by its place among the inputs.
    pub rank: u32,
    /// Events read.
    pub events: u64,
    /// Decompressed bytes read.
    pub bytes: u64,
    /// Whether it was read to its end without loss.
    pub complete: bool,
    /// The anomalies that were found.
    pub warnings: Vec<Warning>,
}

/// The books of one rank.
#[derive(Debug, Clone)]
pub struct Rank {
    /// Rank number.
    pub rank: u32,
    /// Its books.
    pub ledger: Ledger,
}

/// A loaded recording: the inputs of one run.
#[derive(Debug, Clone)]
pub struct Run {
    /// The files it was read from.
    pub inputs: Vec<Input>,
    /// Inputs that could not be read at all: one line each, with the path and what to do.
    pub failures: Vec<String>,
    /// The books by rank, in rank order.
    pub ranks: Vec<Rank>,
    /// The sum of all ranks.
    pub merged: Ledger,
}

impl Run {
    /// What is doubtful about the sources: one line for the files on disk that are not the text that ran, and one for
    /// those that were not found. Time in them is shown on functions where the recording names no line.
    #[must_use]
    pub fn source_doubts(&self) -> Vec<String> {
        let doubt = |fit: SourceFit, what: [&str; 2], remedy: &str| {
            // What is no Python file cannot be looked for. Your files come first.
            let is_python =
                |file: &&SourceFile| fit != SourceFit::Missing || file.recorded.ends_with(".py");
            let files = self.merged.files.values().filter(|it| it.fit == fit).filter(is_python);
            let mut files: Vec<&SourceFile> = files.collect();
            files.sort_by_key(|file| !file.is_user_code);
            let first = files.first()?;
            let path =
                first.path.as_ref().map_or(String::new(), |it| format!(", {}", it.display()));
            let files = match files.len() {
                1 => format!("{}{path} {}", first.recorded, what[0]),
                n => format!("{n} source files {} (e.g. {}{path})", what[1], first.recorded),
            };
            Some(format!(
                "{files}: where the trace has no line, time is shown on the function's `def`; {remedy}"
            ))
        };
        let edited = doubt(
            SourceFit::Edited,
            ["is not the text that ran", "are not the text that ran"],
            "check out the version that was recorded",
        );
        let missing =
            doubt(SourceFit::Missing, ["was not found", "were not found"], "pass --root or --site");
        edited.into_iter().chain(missing).collect()
    }
}

/// How far loading is.
#[derive(Debug, Clone)]
pub struct Progress {
    /// The file being worked on.
    pub path: PathBuf,
    /// What is being done with it.
    pub stage: Stage,
    /// Bytes of all inputs on disk that were read so far.
    pub done: u64,
    /// Bytes of all inputs on disk.
    pub total: u64,
}

/// What loading is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Reading the file.
    Reading,
    /// Charging events to lines.
    Attributing,
}

/// How the caller of [`load`] watches and stops it.
pub struct Watch<'a> {
    /// Called often (several times a second at least) from the loading thread.
    pub progress: &'a (dyn Fn(&Progress) + Sync),
    /// Loading ends with [`Error::Cancelled`] soon after this is set.
    pub cancelled: &'a AtomicBool,
}

/// Why nothing could be loaded. The message is one line: what happened, where, what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened or read.
    #[error("{}: {source}", shown(path))]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is neither a trace nor a snapshot, or nothing in it could be read.
    #[error("{}: {message} (at byte {offset})", shown(path))]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What is wrong and what to do.
        message: String,
        /// Where in the decompressed bytes.
        offset: u64,
    },
    /// Perfline itself failed.
    #[error(
        "{}: reading it failed inside Perfline ({message}); this is a fault of Perfline, please report it",
        shown(path)
    )]
    Panicked {
        /// Which file was read.
        path: PathBuf,
        /// What the panic said.
        message: String,
    },
    /// [`Watch::cancelled`] was set.
    #[error("cancelled")]
    Cancelled,
}

impl Error {
    fn panicked(path: &Path, message: String) -> Self {
        Self::Panicked { path: path.to_owned(), message }
    }
}

/// An input as messages name it.
#[must_use]
pub fn shown(path: &Path) -> Cow<'_, str> {
    if path == Path::new(STANDARD_INPUT) {
        Cow::Borrowed("standard input")
    } else {
        path.to_string_lossy()
    }
}

/// A recording found on disk: the files of one run, all ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// Traces and snapshots of the run, in rank order.
    pub inputs: Vec<PathBuf>,
    /// When the newest of them was changed.
    pub modified: std::time::SystemTime,
}

/// The recordings below `directory`, newest first.
#[must_use]
pub fn discover(directory: &Path) -> Vec<Recording> {
    discover::discover(directory)
}

/// Finds the sources of a trace: your code under `root`, libraries under `sites`.
#[must_use]
pub fn find_sources(profile: &Profile, root: &Path, sites: &[PathBuf]) -> Sources {
    let options = Options::new(root, Some(sites.to_vec()));
    sources::Finder::new(&options).find(&recorded_files(profile))
}

/// The library roots that a recording is loaded against: those that were named, else those of the active Python
/// environment.
#[must_use]
pub fn library_roots(options: &Options) -> Vec<PathBuf> {
    options.sites.clone().unwrap_or_else(|| {
        let root = options.root.canonicalize();
        python_environment::sites(root.as_deref().unwrap_or(&options.root))
    })
}

/// The folders that the sources of a recording are read from. Touches the disk.
#[must_use]
pub fn source_folders(options: &Options) -> SourceFolders {
    let libraries = python_environment::libraries(&library_roots(options));
    SourceFolders::new(std::iter::once(&options.root).chain(&libraries))
}

/// Reads `inputs`, charges their events to lines and merges their books. Each is opened once, so that pipes can be read;
/// [`STANDARD_INPUT`] stands for the standard input. A recording that is there twice counts once, with a warning.
///
/// # Errors
/// If no input can be read at all, or loading was cancelled. An input that is damaged is read up to and around the
/// damage and says so in its warnings.
pub fn load(inputs: &[PathBuf], options: &Options, watch: &Watch<'_>) -> Result<Run, Error> {
    load_timed(inputs, options, watch).map(|(run, _)| run)
}

/// Like [`load`], with what the time went to.
///
/// # Errors
/// As [`load`].
pub fn load_timed(
    inputs: &[PathBuf],
    options: &Options,
    watch: &Watch<'_>,
) -> Result<(Run, Timing), Error> {
    load::load(inputs, options, watch)
}
