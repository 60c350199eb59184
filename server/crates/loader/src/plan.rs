//! What to read: each input opened once, its format determined, and put with those that it belongs to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use flight_recorder::looks_like_dump;

use crate::compile_logs::{CompileLogs, LogFile};
use crate::damage::Damage;
use crate::hand_over::HandOver;
use crate::memory_limit::MemoryBudget;
use crate::open::{self, Identity, Opened};
use crate::panics::caught;
use crate::process::Process;
use crate::{Error, InputKind, RankChoice, blocks, names, places, walk};

/// What to read.
pub(crate) struct Plan {
    /// Snapshots first: a trace waits for the one of its rank.
    pub(crate) jobs: Vec<InputFile>,
    /// Side-cars that were named as inputs.
    callers: Vec<Arc<SideCar>>,
    /// Logs of `torch.compile`.
    logs: CompileLogs,
    /// The ranks of the snapshots.
    pub(crate) snapshots: BTreeMap<u32, HandOver>,
    /// Whether there is one trace and one snapshot whose name has no rank: they belong together.
    pub(crate) is_only_pair: bool,
    /// With snapshots, the ranks of the traces that say what was allocated.
    with_memory: BTreeSet<u32>,
    /// Whether there is any trace.
    pub(crate) has_traces: bool,
    /// The ranks whose inputs are not read, because others were asked for.
    pub(crate) unread: BTreeSet<u32>,
    /// Inputs that cannot even be looked at.
    pub(crate) failed: Vec<Error>,
}

/// InputFile trace or snapshot.
pub(crate) struct InputFile {
    pub(crate) input: Opened,
    /// Other names of the same file.
    pub(crate) same_file: Vec<PathBuf>,
    /// Other files with the same recording.
    pub(crate) copies: Vec<Opened>,
    /// Place among the inputs.
    pub(crate) order: usize,
    pub(crate) kind: InputKind,
    pub(crate) rank_by_name: Option<u32>,
    /// The process that wrote it, where that is known. It is looked for where there are several files.
    process: OnceLock<Option<Process>>,
    /// Place among the processes that wrote files of this kind, for files that name no rank.
    pub(crate) place: u32,
    is_only_trace: bool,
}

impl Plan {
    /// Opens and looks at `inputs`. It ends early when `cancelled` is set.
    pub(crate) fn new(inputs: &[PathBuf], cancelled: &AtomicBool) -> Self {
        let mut plan = Self {
            jobs: Vec::new(),
            callers: Vec::new(),
            logs: CompileLogs::default(),
            snapshots: BTreeMap::new(),
            is_only_pair: false,
            with_memory: BTreeSet::new(),
            has_traces: false,
            unread: BTreeSet::new(),
            failed: Vec::new(),
        };
        remote_files::look_ahead(inputs);
        // The job that reads each file, if there is one.
        let mut known: BTreeMap<Identity, Option<usize>> = BTreeMap::new();
        for path in inputs {
            let identity = Identity::of(path);
            if let Some(job) = identity.as_ref().and_then(|it| known.get(it)) {
                let job = job.and_then(|it| plan.jobs.get_mut(it));
                job.into_iter().for_each(|job| job.same_file.push(path.clone()));
                continue;
            }
            let job = caught(path, || plan.add(open::named(path)?, cancelled));
            known.extend(identity.map(|it| (it, job.as_ref().ok().copied().flatten())));
            plan.failed.extend(job.err());
        }
        plan.pair();
        plan
    }

    /// Takes an input: the job that reads it, if it is no side-car.
    fn add(&mut self, mut input: Opened, cancelled: &AtomicBool) -> Result<Option<usize>, Error> {
        let kind = match input.kind {
            None => return Err(unknown(&input)),
            Some(InputKind::Callers) => {
                self.callers.push(Arc::new(SideCar::new(input.path.clone(), Some(input))));
                return Ok(None);
            }
            Some(InputKind::CompileLog) => {
                self.logs.add(input);
                return Ok(None);
            }
            Some(InputKind::GraphCapture) => {
                let message = "these are the stacks of CUDA graphs: name them with --capture, beside the trace that replays the graphs";
                return Err(unreadable(&input.path, message, 0));
            }
            Some(kind) => kind,
        };
        for (index, job) in self.jobs.iter_mut().enumerate() {
            let is_same = job.input.is_same_recording(&mut input, cancelled);
            if is_same.map_err(|source| Error::Io { path: input.path.clone(), source })? {
                job.copies.push(input);
                return Ok(Some(index));
            }
        }
        let mut new = InputFile {
            rank_by_name: names::rank(&input.path),
            input,
            same_file: Vec::new(),
            copies: Vec::new(),
            order: self.jobs.len(),
            kind,
            process: OnceLock::new(),
            place: 0,
            is_only_trace: false,
        };
        let others = self.jobs.iter().filter(|job| job.kind == kind);
        // What one process wrote are the cycles of its schedule.
        let is_cycle = |job: &&InputFile| {
            job.process().zip(new.process()).is_some_and(|(one, other)| one.is_same(other))
        };
        new.place = match others.clone().find(is_cycle) {
            Some(job) => job.place,
            None => others.map(|job| job.place + 1).max().unwrap_or(0),
        };
        self.jobs.push(new);
        Ok(Some(self.jobs.len() - 1))
    }

    /// Whether the inputs may be of several ranks, each of which names its own.
    pub(crate) fn may_have_ranks(&self) -> bool {
        let has_ledgers = self.jobs.iter().any(|job| job.kind == InputKind::Ledger);
        has_ledgers || 1 < self.jobs.len() && !self.is_only_pair
    }

    /// Whether a trace of the rank of the snapshot `one` says what was allocated on devices.
    pub(crate) fn are_allocations_traced(&self, one: &InputFile) -> bool {
        match self.is_only_pair {
            true => !self.with_memory.is_empty(),
            false => self.with_memory.contains(&one.rank_or_place()),
        }
    }

    /// Leaves out the inputs that are known to be of no rank that was asked for, before they are read. Of which ranks a
    /// group is stands in the inputs.
    pub(crate) fn choose(&mut self, choice: &RankChoice) {
        if choice.ranks.is_empty() || !choice.groups.is_empty() || self.is_only_pair {
            return;
        }
        let unread = &mut self.unread;
        self.jobs.retain(|job| {
            let rank = match job.kind {
                InputKind::Kineto => job.input.head_meta().rank.or(job.rank_by_name),
                // It may hold several.
                InputKind::Ledger => None,
                _ => Some(job.rank_or_place()),
            };
            let left_out = rank.filter(|it| !choice.ranks.contains(it));
            unread.extend(left_out);
            left_out.is_none()
        });
        // No trace may wait for a snapshot that is not read.
        self.snapshots.retain(|rank, _| choice.ranks.contains(rank));
    }

    /// Finds out which inputs belong together.
    fn pair(&mut self) {
        if let (true, Some(callers)) = (self.jobs.is_empty(), self.callers.first()) {
            let message = "holds the exact callers of a trace; name the trace itself";
            self.failed.push(unreadable(&callers.path, message, 0));
        }
        if let (true, Some(log)) = (self.jobs.is_empty(), self.logs.first_named()) {
            let message = "is a log of torch.compile; name the trace that it belongs to as well";
            self.failed.push(unreadable(log, message, 0));
        }
        let n_traces = self.jobs.iter().filter(|one| one.kind == InputKind::Kineto).count();
        for one in &mut self.jobs {
            one.is_only_trace = n_traces <= 1;
        }
        self.has_traces = n_traces > 0;
        let snapshots = || self.jobs.iter().filter(|one| one.kind == InputKind::Snapshot);
        self.is_only_pair = n_traces == 1
            && snapshots().count() == 1
            && snapshots().all(|one| one.rank_by_name.is_none());
        self.snapshots =
            snapshots().map(|one| (one.rank_or_place(), HandOver::default())).collect();
        if !self.snapshots.is_empty() {
            let traces = self.jobs.iter().filter(|one| one.kind == InputKind::Kineto);
            let with_memory = traces.filter_map(|one| {
                let meta = one.input.head_meta();
                meta.has_memory.then(|| meta.rank.unwrap_or_else(|| one.rank_or_place()))
            });
            self.with_memory = with_memory.collect();
        }
        self.jobs.sort_by_key(|one| one.kind != InputKind::Snapshot);
    }

    /// The snapshot of the same rank as a trace of `rank`; what is in use of device memory is taken from it.
    pub(crate) fn snapshot_of(&self, rank: u32) -> Option<&HandOver> {
        let only = self.snapshots.values().next().filter(|_| self.is_only_pair);
        only.or_else(|| self.snapshots.get(&rank))
    }

    /// The side-car of a trace that is read from `input`: named as an input, or lying beside it.
    /// An input that the user did not name is no link that leads out of the trace's folder and of `root`.
    pub(crate) fn callers_of(
        &self,
        one: &InputFile,
        input: &Opened,
        root: &Path,
    ) -> Option<Arc<SideCar>> {
        let stem = names::stem(&input.path);
        let named = self.callers.iter().find(|it| names::stem(&it.path) == stem);
        let only = self.callers.first().filter(|_| one.is_only_trace);
        let beside = || {
            let beside = input.is_regular().then(|| SideCar::beside(&input.path, root))?;
            beside.map(Arc::new)
        };
        named.or(only).cloned().or_else(beside)
    }
}

impl Plan {
    /// The logs of `torch.compile` that may belong to a trace that is read from `input`.
    pub(crate) fn logs_of(
        &self,
        one: &InputFile,
        input: &Opened,
        root: &Path,
    ) -> Vec<Arc<LogFile>> {
        self.logs.of(input, one.rank_of(input), root)
    }

    /// The logs of `torch.compile` that lie beside a trace of captures, or of the program without graphs, that goes with a trace of
    /// `rank`.
    pub(crate) fn logs_beside(
        &self,
        capture: &Path,
        rank: Option<u32>,
        root: &Path,
    ) -> Vec<Arc<LogFile>> {
        self.logs.beside(capture, rank, root)
    }
}

impl InputFile {
    /// The process that wrote it, where that is known.
    fn process(&self) -> Option<&Process> {
        let process = || Process::of(&self.input, self.kind, self.rank_by_name);
        self.process.get_or_init(process).as_ref()
    }

    /// The rank in its name, or the one that the head of `input`, which is it or a copy, says.
    pub(crate) fn rank_of(&self, input: &Opened) -> Option<u32> {
        self.rank_by_name.or_else(|| input.head_meta().rank)
    }

    /// The rank in its name, or the one that its place stands for.
    pub(crate) fn rank_or_place(&self) -> u32 {
        self.rank_by_name.unwrap_or(self.place)
    }
}

/// The exact callers of a trace. Several traces may share them, so what was read stays.
pub(crate) struct SideCar {
    path: PathBuf,
    /// `None` of one that the user did not name: it is opened when it is read.
    opened: Option<Opened>,
    text: OnceLock<Result<SideCarText, Error>>,
}

/// What a side-car holds.
pub(crate) struct SideCarText {
    pub(crate) bytes: Vec<u8>,
    pub(crate) damage: Vec<Damage>,
}

impl SideCar {
    fn new(path: PathBuf, opened: Option<Opened>) -> Self {
        Self { path, opened, text: OnceLock::new() }
    }

    /// The one beside a trace, which is no link that leads out of its folder and of `root`.
    pub(crate) fn beside(trace: &Path, root: &Path) -> Option<Self> {
        let stem = names::stem(trace);
        let folder = trace.with_file_name(".");
        let is_there = |it: &Path| places::is_file(it) && walk::stays_below(it, &[&folder, root]);
        let paths = names::SIDE_CARS.iter().map(|it| trace.with_file_name(format!("{stem}{it}")));
        paths.into_iter().find(|it| is_there(it)).map(|it| Self::new(it, None))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What it holds.
    ///
    /// # Errors
    /// If it cannot be opened, or is too large for `budget`.
    pub(crate) fn read(&self, budget: &MemoryBudget) -> Result<&SideCarText, &Error> {
        let read = |input: &Opened| {
            let (bytes, damage) = blocks::whole(input, budget)?;
            Ok(SideCarText { bytes, damage })
        };
        let read = || open::named_or_found(self.opened.as_ref(), &self.path, read);
        self.text.get_or_init(|| caught(&self.path, read)).as_ref()
    }
}

/// Why an input that is no recording is refused.
pub(crate) fn unknown(input: &Opened) -> Error {
    if let Some(Damage { message, offset, .. }) = &input.damage {
        return unreadable(&input.path, message, offset.unwrap_or(0));
    }
    let message = if input.is_empty {
        "the file is empty; was the recording still being written?"
    } else if looks_like_dump(&input.prefix()) {
        "this is a dump of the flight recorder; `perfline hang` reads it"
    } else {
        "neither a torch.profiler trace nor a CUDA memory snapshot nor a ledger; name a .json, .json.gz or .pickle that PyTorch wrote, or what `perfline ledger` wrote"
    };
    unreadable(&input.path, message, 0)
}

fn unreadable(path: &Path, message: &str, offset: u64) -> Error {
    Error::Unreadable { path: path.to_owned(), message: message.to_owned(), offset }
}
