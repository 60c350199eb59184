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
mod cache_folder;
mod chosen;
mod compile_cache;
mod compile_logs;
mod compressed;
mod cycles;
mod damage;
mod description;
mod discover;
mod display_names;
mod error;
mod file_identity;
mod flight_dumps;
mod git_repository;
mod git_texts;
mod graph_captures;
mod hand_over;
mod kept_ledgers;
mod kept_texts;
mod ledger_cache;
mod ledgers;
mod load;
mod memory_limit;
mod names;
mod one_run;
mod open;
mod options;
mod panics;
mod places;
mod plain_file;
mod plan;
mod process;
mod project_file;
mod python_environment;
mod recorded_at;
mod recording_text;
mod run;
mod signature;
mod source_folders;
mod source_mapping;
mod source_search;
mod sources;
mod spill;
mod stable_hash;
#[cfg(test)]
mod thread_tests;
mod threads;
mod timing;
mod unpack;
mod user_code;
mod utf16;
mod walk;
mod watch;
mod workers;
mod zstd;

pub use attribution::StackOptions;
pub use cache_folder::{
    CacheContents, CacheUsage, cache_contents, cache_fault, cache_folder, clear_cache,
};
pub use compile_cache::compile_caches;
pub use description::RecordingDescription;
pub use device_memory::MemoryHistory;
pub use discover::DiscoveredRun;
pub use display_names::display_names;
pub use error::{Error, STANDARD_INPUT, shown};
pub use event_timeline::EventTimeline;
pub use flight_dumps::{FlightDumpFile, FlightDumps, flight_dumps};
pub use flight_recorder::{
    FlightDump, FlightFrame, GroupDiagnosis, GroupState, SharedCall, diagnose,
};
pub use ledger_cache::LedgerCache;
pub use ledgers::to_ledger_file;
pub use memory_limit::{InvalidMemoryLimit, MemoryLimit};
pub use options::{FirstStepsChoice, LoadOptions, RankChoice, StackChoice, TimelineChoice};
pub use project_file::{PROJECT_FILE, leads_out, project_file};
pub use python_environment::library_roots;
pub use recorded::{
    CommitId, GitBlob, RecordedCommit, TextOrigin, TextThatRan, TextsByFile, work_of_server,
};
pub use recording_text::RecordingText;
pub use remote_files::{is_url, named as named_input};
pub use run::{Input, InputKind, PartialRun, Rank, Run, StepsSoFar, other_choice};
pub use signature::Signature;
pub use source_folders::{SourceFolders, is_source, source_folders};
pub use source_mapping::{InvalidMapping, SourceMapping};
pub use spill::SpillFile;
pub use stack_books::{EventChoice, ModulePattern, StackBooks, StepChoice, StepNumbers};
pub use timing::{KeptTime, Times, Timing};
pub use user_code::{InvalidPattern, MinePattern, looks_like_library};
pub use watch::{Progress, Stage, Watch};

use std::path::{Path, PathBuf};

use profile::Profile;
use recorded::{RecordedSources, recorded_files};

/// The recordings below `directory`, newest first.
#[must_use]
pub fn discover(directory: &Path) -> Vec<DiscoveredRun> {
    discover::discover(directory)
}

/// Whether `path` is a folder, on disk or behind a URL, in which recordings may be.
#[must_use]
pub fn is_folder(path: &Path) -> bool {
    places::is_folder(path)
}

/// The source files below `directory` that a recording may be of, in order of path.
#[must_use]
pub fn sources_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk::files(directory, source_folders::has_source_ending, |it| found.push(it.to_owned()));
    found
}

/// Describes the recording that these files are, by their first bytes.
#[must_use]
pub fn describe(inputs: &[PathBuf]) -> RecordingDescription {
    description::describe(inputs)
}

/// The recording before that of `inputs` among `runs`, which are newest first; `None` if that is the oldest, or is none of them.
#[must_use]
pub fn recording_before<'a>(
    runs: &'a [DiscoveredRun],
    inputs: &[PathBuf],
) -> Option<&'a DiscoveredRun> {
    description::before(runs, inputs)
}

/// The recording of `inputs` as it was kept by an earlier load, without reading it. `None` where a part of it was not kept, or
/// changed since.
#[must_use]
pub fn load_kept(inputs: &[PathBuf], options: &LoadOptions, watch: &Watch<'_>) -> Option<Run> {
    load::load_kept(inputs, options, watch)
}

/// Reads the first complete steps of the first of `inputs` that is an uncompressed trace and long enough, for those who would wait
/// for all of it. `None` if there is none, if it was kept, or where its steps cannot be distinguished from what comes
/// later: those of what PyTorch exports can. A side-car is not used.
#[must_use]
pub fn load_first_steps(
    inputs: &[PathBuf],
    options: &LoadOptions,
    choice: FirstStepsChoice,
    watch: &Watch<'_>,
) -> Option<PartialRun> {
    load::load_first_steps(inputs, options, choice, watch)
}

/// Finds the sources of a trace: your code under `root`, libraries under `sites`.
#[must_use]
pub fn find_sources(profile: &Profile, root: &Path, sites: &[PathBuf]) -> RecordedSources {
    let options = LoadOptions::new(root, Some(sites.to_vec()));
    let (files, at) = (recorded_files(profile), recorded_at::RecordedAt::default());
    sources::Finder::new(&options).find(&files, &TextsByFile::new(), at)
}

/// Reads `inputs`, charges their events to lines and merges their books. Each is opened once, so that pipes can be read;
/// [`STANDARD_INPUT`] stands for the standard input. A recording that is there twice counts once, with a warning.
///
/// # Errors
/// If no input can be read at all, or loading was cancelled. An input that is damaged is read up to and around the
/// damage and says so in its warnings.
pub fn load(inputs: &[PathBuf], options: &LoadOptions, watch: &Watch<'_>) -> Result<Run, Error> {
    load_timed(inputs, options, watch).map(|(run, _)| run)
}

/// Like [`load`], with what the time went to.
///
/// # Errors
/// As [`load`].
pub fn load_timed(
    inputs: &[PathBuf],
    options: &LoadOptions,
    watch: &Watch<'_>,
) -> Result<(Run, Timing), Error> {
    load::load(inputs, options, watch)
}
