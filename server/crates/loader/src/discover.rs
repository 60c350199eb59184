//! Finds recordings on disk and groups the files of one run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::panics::caught;
use crate::{InputKind, names, open, walk};

/// Files of one run are written within this time of each other.
const SAME_RUN: Duration = Duration::from_secs(120);

const ENDINGS: [&str; 9] = [
    ".json",
    ".json.gz",
    ".json.zst",
    ".pickle",
    ".pickle.gz",
    ".pickle.zst",
    ".pkl",
    ".pkl.gz",
    ".pkl.zst",
];

/// A recording found on disk: the files of one run, all ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveredRun {
    /// Traces and snapshots of the run, in rank order.
    pub inputs: Vec<PathBuf>,
    /// When the newest of them was changed.
    pub modified: SystemTime,
}

struct Candidate {
    path: PathBuf,
    modified: SystemTime,
    kind: InputKind,
    rank: Option<u32>,
}

/// The recordings below `directory`, newest first.
pub(crate) fn discover(directory: &Path) -> Vec<DiscoveredRun> {
    let mut by_run: BTreeMap<(PathBuf, String), Vec<Candidate>> = BTreeMap::new();
    walk::files(
        directory,
        |path| ENDINGS.iter().any(|ending| has_ending(path, ending)),
        |path| {
            if !walk::stays_below(path, &[directory]) {
                return;
            }
            let Some(found) = look_at(path) else { return };
            let folder = path.parent().map(Path::to_owned).unwrap_or_default();
            by_run.entry((folder, names::run_key(path))).or_default().push(found);
        },
    );
    let mut recordings: Vec<DiscoveredRun> = by_run.into_values().flat_map(runs).collect();
    recordings.sort_by(|a, b| (b.modified, &a.inputs).cmp(&(a.modified, &b.inputs)));
    recordings
}

/// Whether a file may be a recording, by its name alone.
pub(crate) fn has_ending(path: &Path, ending: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ending))
}

fn look_at(path: &Path) -> Option<Candidate> {
    let modified = path.metadata().ok()?.modified().ok()?;
    let kind = caught(path, || open::found(path)).ok()?.kind?;
    // Side-cars are found by the trace they belong to. Lists of numbers, as timelines are, may be anything.
    (!matches!(kind, InputKind::Callers | InputKind::Timeline)).then(|| Candidate {
        path: path.to_owned(),
        modified,
        kind,
        rank: names::rank(path),
    })
}

/// Splits files of one folder and name into runs: a rank that comes again, or a long pause, begins another.
fn runs(mut files: Vec<Candidate>) -> Vec<DiscoveredRun> {
    files.sort_by(|a, b| (b.modified, &b.path).cmp(&(a.modified, &a.path)));
    let mut runs: Vec<Vec<Candidate>> = Vec::new();
    for file in files {
        let fits = |run: &Vec<Candidate>| {
            let is_near =
                run[0].modified.duration_since(file.modified).unwrap_or_default() <= SAME_RUN;
            // Without ranks, one trace and one snapshot make a run.
            is_near && run.iter().all(|other| (other.kind, other.rank) != (file.kind, file.rank))
        };
        match runs.last_mut().filter(|run| fits(run)) {
            Some(run) => run.push(file),
            None => runs.push(vec![file]),
        }
    }
    let recording = |mut run: Vec<Candidate>| {
        let modified = run.iter().map(|file| file.modified).max().unwrap_or(SystemTime::UNIX_EPOCH);
        run.sort_by(|a, b| (a.kind, a.rank, &a.path).cmp(&(b.kind, b.rank, &b.path)));
        DiscoveredRun { inputs: run.into_iter().map(|file| file.path).collect(), modified }
    };
    runs.into_iter().map(recording).collect()
}
