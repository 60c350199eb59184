//! Finds recordings on disk and groups the files of one run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use profile::Profile;

use crate::cycles::{RecordedCycle, cycles_of_processes};
use crate::panics::caught;
use crate::recorded_at::{credible, recorded};
use crate::{InputKind, names, open, places, walk};

/// Files of one run are written within this time of each other.
const SAME_RUN: Duration = Duration::from_secs(120);

const ENDINGS: [&str; 10] = [
    ".json",
    ".json.gz",
    ".json.zst",
    ".pickle",
    ".pickle.gz",
    ".pickle.zst",
    ".pkl",
    ".pkl.gz",
    ".pkl.zst",
    ".perfline",
];

/// A recording found on disk: the files of one run, all ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveredRun {
    /// Traces and snapshots of the run, in rank order.
    pub inputs: Vec<PathBuf>,
    /// When the newest of them was changed.
    pub modified: SystemTime,
}

/// A file that may be of a recording.
pub(crate) struct Candidate {
    path: PathBuf,
    modified: SystemTime,
    pub(crate) kind: InputKind,
    /// Of a run of several ranks, or in the name.
    pub(crate) rank: Option<u32>,
    /// The process that wrote it, where the name says.
    process: Option<String>,
    /// When it was recorded by its name, else when it was changed.
    time: SystemTime,
    /// When recording began, of a trace that says it.
    recorded: Option<SystemTime>,
    /// What is equal of the files of one run.
    run_key: String,
    /// Of a trace that may be a cycle of a schedule.
    cycle: Option<RecordedCycle>,
}

impl Candidate {
    fn folder(&self) -> PathBuf {
        self.path.parent().map(Path::to_owned).unwrap_or_default()
    }
}

/// The recordings below `directory`, newest first.
pub(crate) fn discover(directory: &Path) -> Vec<DiscoveredRun> {
    let mut files: Vec<Candidate> = Vec::new();
    walk::files(
        directory,
        |path| ENDINGS.iter().any(|ending| has_ending(path, ending)),
        |path| {
            if walk::stays_below(path, &[directory]) {
                files.extend(look_at(path));
            }
        },
    );
    join_cycles(&mut files);
    let mut by_run: BTreeMap<(PathBuf, String), Vec<Candidate>> = BTreeMap::new();
    for file in files {
        by_run.entry((file.folder(), file.run_key.clone())).or_default().push(file);
    }
    let mut recordings: Vec<DiscoveredRun> = by_run.into_values().flat_map(runs).collect();
    recordings.sort_by(|a, b| (b.modified, &a.inputs).cmp(&(a.modified, &b.inputs)));
    captures_last(recordings)
}

/// Gives the cycles of a process the same key, and what goes with one of them, as a snapshot does.
fn join_cycles(files: &mut [Candidate]) {
    let cycles =
        files.iter().enumerate().filter_map(|(place, it)| Some((place, it.cycle.as_ref()?)));
    let mut keys: BTreeMap<(PathBuf, String), String> = BTreeMap::new();
    for (process, places) in cycles_of_processes(cycles) {
        for place in places {
            let file = &mut files[place];
            let old = (file.folder(), file.run_key.clone());
            keys.insert(old, names::cycle_key(&file.path));
            file.process = Some(process.clone());
        }
    }
    for file in files {
        if let Some(key) = keys.get(&(file.folder(), file.run_key.clone())) {
            file.run_key.clone_from(key);
        }
    }
}

/// Puts the captures of CUDA graphs behind the recordings that replay them: they are read with these.
fn captures_last(recordings: Vec<DiscoveredRun>) -> Vec<DiscoveredRun> {
    let (captures, mut others): (Vec<_>, Vec<_>) =
        recordings.into_iter().partition(|it| replays_of(it).is_some());
    // From the last to the first, so that those of one place stay in order.
    for capture in captures.into_iter().rev() {
        let replays = replays_of(&capture);
        let of_it = others.iter().rposition(|it| {
            let folder = it.inputs.first().and_then(|it| it.parent());
            replays_of(it).is_none() && folder == replays
        });
        let newer = others.iter().take_while(|it| capture.modified < it.modified).count();
        others.insert(of_it.map_or(newer, |it| newer.max(it + 1)), capture);
    }
    others
}

/// Where the recordings are that replay what this one captured, if its names say that it is a capture.
fn replays_of(recording: &DiscoveredRun) -> Option<&Path> {
    recording.inputs.first().and_then(|it| names::folder_of_replays(it))
}

/// Whether a file may be a recording, by its name alone.
pub(crate) fn has_ending(path: &Path, ending: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ending))
}

/// Looks at the first bytes of a file; `None` where they are of no recording.
pub(crate) fn look_at(path: &Path) -> Option<Candidate> {
    let modified = places::modified(path).ok()?;
    let opened = caught(path, || open::found(path)).ok()?;
    let kind = opened.kind?;
    // Side-cars are found by the trace they belong to. Lists of numbers, as timelines are, may be anything.
    if kind.is_side_car() || kind == InputKind::Timeline {
        return None;
    }
    let head = match kind {
        InputKind::Kineto => caught(path, || Ok(opened.head_profile())).unwrap_or_default(),
        _ => Profile::default(),
    };
    let meta = &head.meta;
    let recorded_rank = meta.rank.filter(|_| 1 < meta.world_size.unwrap_or(1));
    let rank_by_name = names::rank(path);
    // Where names do not say which rank it is, they differ by machine and process, or in any other way.
    let run_key = match (recorded_rank, rank_by_name, meta.world_size) {
        (Some(_), None, Some(world_size)) => format!("/{world_size} ranks"),
        _ => names::run_key(path),
    };
    let (process, named) = names::process_and_time(path).unzip();
    let rank = recorded_rank.or(rank_by_name);
    Some(Candidate {
        path: path.to_owned(),
        modified,
        kind,
        rank,
        process,
        time: named.unwrap_or(modified),
        recorded: recorded(&head).and_then(|it| credible(it.start)),
        cycle: RecordedCycle::of(path, rank, &head),
        run_key,
    })
}

/// Splits files of one folder and key into runs: a rank that another process wrote again, or a long pause, begins another.
/// What one process wrote is of one run: the cycles of its schedule.
fn runs(mut files: Vec<Candidate>) -> Vec<DiscoveredRun> {
    files.sort_by(|a, b| (b.time, &b.path).cmp(&(a.time, &a.path)));
    let mut runs: Vec<RunFiles> = Vec::new();
    for file in files {
        let last = runs.len().saturating_sub(1);
        let place = runs.iter().position(|run| run.is_of_process(&file));
        let written_last = || runs.last().filter(|run| run.was_written_with(&file)).map(|_| last);
        let place = place.or_else(written_last);
        let place = place.or_else(|| runs.iter().rposition(|run| run.was_recorded_with(&file)));
        match place {
            Some(place) => runs[place].add(file),
            None => runs.push(RunFiles::new(file)),
        }
    }
    let recording = |mut run: Vec<Candidate>| {
        let modified = run.iter().map(|file| file.modified).max().unwrap_or(SystemTime::UNIX_EPOCH);
        run.sort_by(|a, b| (a.kind, a.rank, &a.path).cmp(&(b.kind, b.rank, &b.path)));
        DiscoveredRun { inputs: run.into_iter().map(|file| file.path).collect(), modified }
    };
    runs.into_iter().map(|it| recording(it.files)).collect()
}

/// The files of a run, from the newest on.
struct RunFiles {
    files: Vec<Candidate>,
    /// Without ranks, one trace and one snapshot make a run.
    ranks: BTreeSet<(InputKind, Option<u32>)>,
    /// What wrote files of each rank, where names say so.
    processes: BTreeMap<Option<u32>, BTreeSet<String>>,
    /// The time of the oldest file.
    oldest: SystemTime,
    /// When the first trace was recorded that says so.
    recorded: Option<SystemTime>,
}

impl RunFiles {
    fn new(file: Candidate) -> Self {
        let mut run = Self {
            files: Vec::new(),
            ranks: BTreeSet::new(),
            processes: BTreeMap::new(),
            oldest: file.time,
            recorded: None,
        };
        run.add(file);
        run
    }

    fn add(&mut self, file: Candidate) {
        self.ranks.insert((file.kind, file.rank));
        self.processes.entry(file.rank).or_default().extend(file.process.clone());
        self.oldest = file.time;
        self.recorded = self.recorded.or(file.recorded);
        self.files.push(file);
    }

    fn is_of_process(&self, file: &Candidate) -> bool {
        let of_rank = self.processes.get(&file.rank);
        of_rank.zip(file.process.as_ref()).is_some_and(|(known, it)| known.contains(it))
    }

    /// Whether this rank is still missing in the run, and `file`, which is no newer than the others, was written soon before them:
    /// writing the files of many ranks may take long, but not long between two of them.
    fn was_written_with(&self, file: &Candidate) -> bool {
        let pause = self.oldest.duration_since(file.time).unwrap_or_default();
        pause <= SAME_RUN && self.lacks(file)
    }

    /// Whether this rank is still missing in the run, and was recorded at the same time, whenever the files were copied.
    fn was_recorded_with(&self, file: &Candidate) -> bool {
        let (Some(mine), Some(of_it)) = (self.recorded, file.recorded) else { return false };
        let pause = mine.duration_since(of_it).or_else(|_| of_it.duration_since(mine));
        pause.unwrap_or_default() <= SAME_RUN && self.lacks(file)
    }

    fn lacks(&self, file: &Candidate) -> bool {
        !self.ranks.contains(&(file.kind, file.rank))
    }
}
