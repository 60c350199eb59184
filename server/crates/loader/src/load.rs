//! Inputs to a run: reads each, pairs traces with side-cars, charges, merges.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use attribution::parallel::{self, n_cores};
use attribution::{
    attribute, attribute_snapshot, attribute_timeline, join_callers, join_snapshot, recorded_files,
    recorded_snapshot_files,
};
use ledger::{DeviceKey, Ledger};
use profile::{Callers, Profile, WarningKind, Warnings};
use snapshot_reader::{SnapshotReader, read_timeline};
use trace_reader::callers::read_callers;
use trace_reader::{StretchReader, TraceReader};

use crate::blocks::{self, End};
use crate::hand_over::HandOver;
use crate::open;
use crate::sources::Finder;
use crate::timing::{Times, Timing};
use crate::{Error, Input, Kind, Options, Progress, Rank, Run, Stage, Watch, names, walk};

/// Cores that one input is read with at most: what they read is put together on one, a tenth of the work.
const MOST_CORES: usize = 8;

/// Reads `inputs`, charges their events to lines and merges their books.
pub(crate) fn load(
    inputs: &[PathBuf],
    options: &Options,
    watch: &Watch<'_>,
) -> Result<(Run, Timing), Error> {
    let begin = Instant::now();
    let plan = Plan::new(inputs);
    let job = Job {
        options,
        watch,
        finder: Finder::new(options),
        done: AtomicU64::new(0),
        n_cores: n_cores().div_ceil(plan.jobs.len().clamp(1, n_cores())).min(MOST_CORES),
        total: plan.jobs.iter().map(|job| job.size).sum(),
    };
    let loaded = parallel::map(&plan.jobs, |one| job.load(one, &plan));
    let mut loaded: Vec<(&One, _)> = plan.jobs.iter().zip(loaded).collect();
    loaded.sort_by_key(|(one, _)| one.order);
    let is_only_pair = plan.is_only_pair;
    let mut failed = plan.failed;
    let mut results = Vec::new();
    for (_, result) in loaded {
        match result {
            Ok(result) => results.push(result),
            Err(Error::Cancelled) => return Err(Error::Cancelled),
            Err(error) => failed.push(error),
        }
    }
    // An input that cannot be read must not take the others with it.
    if results.is_empty()
        && let Some(error) = failed.pop()
    {
        return Err(error);
    }
    if is_only_pair {
        give_one_rank(&mut results);
    }
    let times = results.iter().flat_map(|loaded| loaded.times.clone()).collect();
    let merging = Instant::now();
    let run = merge(results, &failed);
    let timing = Timing { inputs: times, merging: merging.elapsed(), total: begin.elapsed() };
    Ok((run, timing))
}

/// A snapshot tells no rank: where it goes with the only trace, it has that one's.
fn give_one_rank(results: &mut [Loaded]) {
    let is = |loaded: &Loaded, kind| loaded.inputs.iter().any(|input| input.kind == kind);
    let Some(rank) = results.iter().find(|it| is(it, Kind::Kineto)).map(|it| it.rank) else {
        return;
    };
    for loaded in results.iter_mut().filter(|it| is(it, Kind::Snapshot)) {
        loaded.rank = rank;
        loaded.inputs.iter_mut().for_each(|input| input.rank = rank);
        let memory = std::mem::take(&mut loaded.ledger.memory);
        let of_rank = memory.into_iter().map(|(key, memory)| (DeviceKey { rank, ..key }, memory));
        loaded.ledger.memory = of_rank.collect();
    }
}

/// What to read.
struct Plan {
    /// Snapshots first: a trace waits for the one of its rank.
    jobs: Vec<One>,
    /// Side-cars that were named as inputs.
    callers: Vec<PathBuf>,
    /// The ranks of the snapshots.
    snapshots: BTreeMap<u32, HandOver>,
    /// Whether there is one trace and one snapshot whose name tells no rank: they belong together.
    is_only_pair: bool,
    /// Whether there is any trace.
    has_traces: bool,
    /// Inputs that cannot even be looked at.
    failed: Vec<Error>,
}

/// One trace or snapshot.
struct One {
    path: PathBuf,
    /// Place among the inputs.
    order: usize,
    kind: Kind,
    size: u64,
    rank_by_name: Option<u32>,
    /// Place among the traces, for files that tell no rank.
    place: u32,
    is_only_trace: bool,
}

impl Plan {
    fn new(inputs: &[PathBuf]) -> Self {
        let mut plan = Self {
            jobs: Vec::new(),
            callers: Vec::new(),
            snapshots: BTreeMap::new(),
            is_only_pair: false,
            has_traces: false,
            failed: Vec::new(),
        };
        let mut places: BTreeMap<Kind, u32> = BTreeMap::new();
        for path in inputs {
            match look_at(path) {
                Err(error) => plan.failed.push(error),
                Ok((Kind::Callers, _)) => plan.callers.push(path.clone()),
                Ok((kind, size)) => {
                    let place = places.entry(kind).or_default();
                    let rank_by_name = names::rank(path);
                    let path = path.clone();
                    plan.jobs.push(One {
                        path,
                        order: plan.jobs.len(),
                        kind,
                        size,
                        rank_by_name,
                        place: *place,
                        is_only_trace: false,
                    });
                    *place += 1;
                }
            }
        }
        if let (true, Some(path)) = (plan.jobs.is_empty(), plan.callers.first()) {
            plan.failed.push(unreadable(
                path,
                "holds the exact callers of a trace; name the trace itself",
                0,
            ));
        }
        let n_traces = plan.jobs.iter().filter(|one| one.kind == Kind::Kineto).count();
        for one in &mut plan.jobs {
            one.is_only_trace = n_traces <= 1;
        }
        plan.has_traces = n_traces > 0;
        let snapshots = || plan.jobs.iter().filter(|one| one.kind == Kind::Snapshot);
        let n_snapshots = snapshots().count();
        plan.is_only_pair =
            n_traces == 1 && n_snapshots == 1 && snapshots().all(|one| one.rank_by_name.is_none());
        plan.snapshots =
            snapshots().map(|one| (one.rank_or_place(), HandOver::default())).collect();
        plan.jobs.sort_by_key(|one| one.kind != Kind::Snapshot);
        plan
    }

    /// The snapshot of the same rank as a trace of `rank`; it tells device memory.
    fn snapshot_of(&self, rank: u32) -> Option<&HandOver> {
        let only = self.snapshots.values().next().filter(|_| self.is_only_pair);
        only.or_else(|| self.snapshots.get(&rank))
    }

    /// The side-car of a trace: named as an input, or lying beside it.
    fn callers_of(&self, one: &One, root: &Path) -> Option<PathBuf> {
        let stem = names::stem(&one.path);
        let named = self.callers.iter().find(|path| names::stem(path) == stem);
        let only = self.callers.first().filter(|_| one.is_only_trace);
        let beside = || {
            let candidates = [".callers.json.gz", ".callers.json", ".callers.json.zst"];
            let beside =
                candidates.iter().map(|ending| one.path.with_file_name(format!("{stem}{ending}")));
            let folder = one.path.with_file_name(".");
            let is_there = |it: &PathBuf| it.is_file() && walk::stays_below(it, &[&folder, root]);
            beside.into_iter().find(is_there)
        };
        named.or(only).cloned().or_else(beside)
    }
}

impl One {
    /// The rank that its name tells, or its place stands for.
    fn rank_or_place(&self) -> u32 {
        self.rank_by_name.unwrap_or(self.place)
    }
}

/// What `path` is, and its size on disk.
fn look_at(path: &Path) -> Result<(Kind, u64), Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let size = std::fs::metadata(path).map_err(io)?.len();
    let sniffed = open::sniff(path).map_err(io)?;
    match sniffed.kind {
        Some(kind) => Ok((kind, size)),
        None if sniffed.prefix.is_empty() => {
            Err(unreadable(path, "the file is empty; was the recording still being written?", 0))
        }
        None => Err(unreadable(
            path,
            "neither a torch.profiler trace nor a CUDA memory snapshot; name a .json, .json.gz or .pickle that PyTorch wrote",
            0,
        )),
    }
}

/// One loaded input with its books.
struct Loaded {
    inputs: Vec<Input>,
    ledger: Ledger,
    rank: u32,
    times: Option<Times>,
}

struct Job<'a> {
    options: &'a Options,
    watch: &'a Watch<'a>,
    finder: Finder,
    done: AtomicU64,
    /// Cores for each input.
    n_cores: usize,
    total: u64,
}

impl Job<'_> {
    fn load(&self, one: &One, plan: &Plan) -> Result<Loaded, Error> {
        match one.kind {
            Kind::Snapshot => self.load_snapshot(one, plan),
            Kind::Timeline => self.load_timeline(one),
            Kind::Kineto | Kind::Callers => self.load_trace(one, plan),
        }
    }

    fn load_trace(&self, one: &One, plan: &Plan) -> Result<Loaded, Error> {
        let begin = Instant::now();
        let mut reader = TraceReader::new();
        let End { error: broken, spent } = self.each_stretch(&one.path, &mut reader)?;
        let mut trace = reader.finish();
        let reading = begin.elapsed();
        if !trace.looks_like_trace {
            let message = "no trace events were found; record again with torch.profiler and export_chrome_trace";
            return Err(unreadable(&one.path, message, trace.bytes));
        }
        let mut warnings = trace.warnings;
        let is_broken = broken.is_some();
        if let Some(error) = broken {
            warnings.add(WarningKind::BrokenCompression, trace.bytes, broken_message(&error));
        }
        let rank = trace.profile.meta.rank.or(one.rank_by_name).unwrap_or(one.place);
        let mut inputs = Vec::new();
        if let Some(callers) =
            plan.callers_of(one, &self.options.root).filter(|_| !self.options.ignore_exact)
        {
            inputs.push(self.join(&callers, &mut trace.profile, rank));
        }
        let snapshot = plan.snapshot_of(rank);
        if let Some(snapshot) = snapshot.filter(|_| !self.options.ignore_exact)
            && let Some(snapshot) = snapshot.wait()
        {
            warnings.extend(join_snapshot(&mut trace.profile, &snapshot));
        }
        self.report(&one.path, Stage::Attributing)?;
        let begin = Instant::now();
        let sources = self.finder.find(&recorded_files(&trace.profile));
        let finding = begin.elapsed();
        let options = attribution::Options {
            ignore_exact: self.options.ignore_exact,
            ignore_device_memory: snapshot.is_some(),
        };
        let begin = Instant::now();
        let ledger = attribute(&trace.profile, &sources, options, rank);
        let times = Times {
            path: one.path.clone(),
            bytes: trace.bytes,
            events: trace.events,
            reading,
            unpacking: spent,
            finding,
            attributing: begin.elapsed(),
        };
        let complete = trace.complete && !is_broken;
        let input = Input {
            path: one.path.clone(),
            kind: one.kind,
            rank,
            events: trace.events,
            bytes: trace.bytes,
            complete,
            warnings: warnings.iter().cloned().collect(),
        };
        inputs.insert(0, input);
        Ok(Loaded { inputs, ledger, rank, times: Some(times) })
    }

    /// Reads a side-car into its trace. One that cannot be used costs a warning, not the trace.
    fn join(&self, path: &Path, profile: &mut Profile, rank: u32) -> Input {
        let mut input = Input {
            path: path.to_owned(),
            kind: Kind::Callers,
            rank,
            events: 0,
            bytes: 0,
            complete: true,
            warnings: Vec::new(),
        };
        let mut warnings = Warnings::default();
        let mut text = Vec::new();
        // The side-car is small beside its trace, so its bytes are not counted into the progress.
        let done = AtomicU64::new(0);
        let read = blocks::each_block(
            path,
            &done,
            1,
            || |_: &[u8]| (),
            |block, ()| {
                text.extend_from_slice(block);
                Ok(())
            },
        );
        match read.map(|end| end.error) {
            Err(error) => warnings.add(WarningKind::Other, 0, format!("not used: {error}")),
            Ok(Some(error)) => warnings.add(
                WarningKind::BrokenCompression,
                text.len() as u64,
                broken_message(&error),
            ),
            Ok(None) => {}
        }
        input.bytes = text.len() as u64;
        match read_callers(&text) {
            Err(error) => warnings.add(WarningKind::Other, 0, format!("not used: {error}")),
            Ok((callers, read_warnings)) => {
                input.events = n_calls(&callers);
                warnings.extend(read_warnings);
                warnings.extend(join_callers(profile, &callers));
            }
        }
        input.complete = warnings.is_empty();
        input.warnings = warnings.iter().cloned().collect();
        input
    }

    fn load_snapshot(&self, one: &One, plan: &Plan) -> Result<Loaded, Error> {
        let rank = one.rank_or_place();
        let giver = plan.snapshots.get(&rank).map(HandOver::giver);
        let begin = Instant::now();
        let mut reader = SnapshotReader::new();
        let mut bytes = 0;
        let End { error: broken, spent } = self.each_block(&one.path, |block| {
            bytes += block.len() as u64;
            reader.feed(block);
        })?;
        let (snapshot, mut warnings) =
            reader.finish().map_err(|error| unreadable(&one.path, &error.to_string(), bytes))?;
        let reading = begin.elapsed();
        let is_broken = broken.is_some();
        if let Some(error) = broken {
            warnings.add(WarningKind::BrokenCompression, bytes, broken_message(&error));
        }
        let snapshot = Arc::new(snapshot);
        if let Some(giver) = giver {
            giver.give(plan.has_traces.then(|| Arc::clone(&snapshot)));
        }
        self.report(&one.path, Stage::Attributing)?;
        let begin = Instant::now();
        let sources = self.finder.find(&recorded_snapshot_files(&snapshot));
        let finding = begin.elapsed();
        let begin = Instant::now();
        let ledger = attribute_snapshot(&snapshot, &sources, rank);
        let attributing = begin.elapsed();
        let input = Input {
            path: one.path.clone(),
            kind: Kind::Snapshot,
            rank,
            events: snapshot.devices.iter().map(|device| device.events.len() as u64).sum(),
            bytes,
            complete: !is_broken
                && !warnings.iter().any(|warning| warning.kind == WarningKind::Truncated),
            warnings: warnings.iter().cloned().collect(),
        };
        let times = Times {
            path: one.path.clone(),
            bytes,
            events: input.events,
            reading,
            unpacking: spent,
            finding,
            attributing,
        };
        Ok(Loaded { inputs: vec![input], ledger, rank, times: Some(times) })
    }

    fn load_timeline(&self, one: &One) -> Result<Loaded, Error> {
        let mut bytes = Vec::new();
        let broken = self.each_block(&one.path, |block| bytes.extend_from_slice(block))?.error;
        let Some((timeline, mut warnings)) = read_timeline(&bytes) else {
            let message =
                "no memory timeline could be read; export it again with export_memory_timeline";
            return Err(unreadable(&one.path, message, 0));
        };
        if let Some(error) = broken {
            let message = broken_message(&error);
            warnings.add(WarningKind::BrokenCompression, bytes.len() as u64, message);
        }
        let rank = one.rank_or_place();
        let input = Input {
            path: one.path.clone(),
            kind: Kind::Timeline,
            rank,
            events: timeline.at.len() as u64,
            bytes: bytes.len() as u64,
            complete: warnings.is_empty(),
            warnings: warnings.iter().cloned().collect(),
        };
        let ledger = attribute_timeline(&timeline, rank);
        Ok(Loaded { inputs: vec![input], ledger, rank, times: None })
    }

    /// Feeds a trace to `reader`; with several cores, others read ahead.
    fn each_stretch(&self, path: &Path, reader: &mut TraceReader) -> Result<End, Error> {
        self.report(path, Stage::Reading)?;
        let reads_ahead = self.n_cores > 1;
        let prepare = || {
            let mut ahead = reads_ahead.then(StretchReader::new);
            move |block: &[u8]| ahead.as_mut().and_then(|ahead| ahead.read(block))
        };
        blocks::each_block(path, &self.done, self.n_cores, prepare, |block, stretch| {
            reader.feed_stretch(block, stretch.as_ref());
            self.report(path, Stage::Reading)
        })
    }

    /// Gives every block to `consume`.
    fn each_block(&self, path: &Path, mut consume: impl FnMut(&[u8])) -> Result<End, Error> {
        self.report(path, Stage::Reading)?;
        blocks::each_block(
            path,
            &self.done,
            1,
            || |_: &[u8]| (),
            |block, ()| {
                consume(block);
                self.report(path, Stage::Reading)
            },
        )
    }

    fn report(&self, path: &Path, stage: Stage) -> Result<(), Error> {
        if self.watch.cancelled.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        let done = self.done.load(Ordering::Relaxed).min(self.total);
        (self.watch.progress)(&Progress { path: path.to_owned(), stage, done, total: self.total });
        Ok(())
    }
}

fn n_calls(callers: &Callers) -> u64 {
    callers.threads.iter().map(|thread| thread.name.len() as u64).sum()
}

fn unreadable(path: &Path, message: &str, offset: u64) -> Error {
    Error::Unreadable { path: path.to_owned(), message: message.to_owned(), offset }
}

fn broken_message(error: &std::io::Error) -> String {
    format!("the compressed data breaks off ({error}); everything before was read")
}

/// Adds the books of each rank, and of all ranks.
fn merge(results: Vec<Loaded>, failed: &[Error]) -> Run {
    let mut inputs = Vec::new();
    let mut by_rank: BTreeMap<u32, Ledger> = BTreeMap::new();
    for loaded in results {
        inputs.extend(loaded.inputs);
        let ledger = by_rank.entry(loaded.rank).or_default();
        ledger.merge(&loaded.ledger);
        // Several files of one rank are still one rank.
        ledger.ranks = 1;
    }
    let mut merged = Ledger::default();
    for ledger in by_rank.values() {
        merged.merge(ledger);
    }
    let ranks = by_rank.into_iter().map(|(rank, ledger)| Rank { rank, ledger }).collect();
    Run { inputs, failures: failed.iter().map(Error::to_string).collect(), ranks, merged }
}
