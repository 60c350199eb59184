//! Inputs to a run: reads each, pairs traces with side-cars, charges, merges.

use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use attribution::{
    StackOptions, TraceBooks, TraceParts, attribute_parts, join_callers, join_lines, join_modules,
    join_snapshot,
};
use device_memory::{
    MemoryHistory, SnapshotBooks, SnapshotParts, TracedDevices, attribute_snapshot,
    attribute_timeline,
};
use event_timeline::EventTimeline;
use ledger::{DeviceKey, Ledger};
use profile::{Callers, Profile, RecordedText, WarningKind, Warnings};
use recorded::{
    RecordedCommit, RecordedFile, TextOrigin, TextThatRan, TextsByFile, end_with_whole_step,
    recorded_calls, recorded_snapshot_files, unnamed_calls,
};
use snapshot_reader::{SnapshotReader, TimelineReader};
use stack_books::StackBooks;
use trace_reader::callers::read_callers;
use trace_reader::graph_stacks::read_graph_stacks;
use trace_reader::{SpeculativeReader, Trace, TraceBegin, TraceLists, TraceReader};

use crate::blocks::{self, End};
use crate::chosen::chosen;
use crate::compile_cache::{find_generated_files, join_cached_graphs};
use crate::compile_logs::{LogFile, join_logs};
use crate::damage::{Damage, add_damage, is_cut};
use crate::git_repository::commit_id;
use crate::graph_captures::{
    CaptureContent, CaptureFile, CaptureFiles, CaptureOrigin, CaptureTrace, files_of_all,
    join_captures_of, replays_graph, unused,
};
use crate::hand_over::HandOver;
use crate::kept_ledgers::{Beside, LedgerStore, MadeFrom};
use crate::kept_texts::RecordingKey;
use crate::ledgers::LedgerFileReader;
use crate::memory_limit::MemoryBudget;
use crate::one_run::{InputSigns, RankSigns, other_run};
use crate::open::{self, Opened};
use crate::panics::caught;
use crate::plan::{InputFile, Plan, SideCar, SideCarText, unknown};
use crate::recorded_at::RecordedAt;
use crate::source_search::{HasKeptMore, SourceSearch};
use crate::sources::Finder;
use crate::spill::SpillFile;
use crate::timing::{KeptTime, Times, Timing};
use crate::workers::{self, n_cores};
use crate::{
    Error, FirstStepsChoice, Input, InputKind, LoadOptions, PartialRun, Progress, Rank, Run,
    StackChoice, Stage, StepsSoFar, TimelineChoice, Watch, shown,
};

/// Cores that one input is read with at most: what they read is put together on one, a tenth of the work.
const MAX_CORES: usize = 8;

/// Reads `inputs`, charges their events to lines and merges their books.
pub(crate) fn load(
    inputs: &[PathBuf],
    options: &LoadOptions,
    watch: &Watch<'_>,
) -> Result<(Run, Timing), Error> {
    let begin = Instant::now();
    let mut plan = Plan::new(inputs, watch.cancelled);
    plan.choose(&options.ranks);
    let mut failed = std::mem::take(&mut plan.failed);
    let mut job = LoadContext::new(options, watch, &plan);
    let (kept, unkept) = job.take_kept(&plan);
    job.n_cores = n_cores().div_ceil(unkept.len().clamp(1, n_cores())).min(MAX_CORES);
    job.total = unkept.iter().map(|one| one.input.size).sum();
    let read = workers::map(&unkept, |one| job.load(one, &plan).map(|it| job.added_up(it)));
    let mut loaded: Vec<(&InputFile, _)> = unkept.into_iter().zip(read).collect();
    loaded.extend(kept.into_iter().map(|(one, kept)| (one, Ok(kept))));
    loaded.sort_by_key(|(one, _)| one.order);
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
    if plan.is_only_pair {
        give_one_rank(&mut results);
    }
    let times = results.iter().flat_map(|loaded| loaded.times.clone()).collect();
    let kept = results.iter().flat_map(|loaded| loaded.kept.clone()).collect();
    let merging = Instant::now();
    let sum = (job.sum, &job.spill_file);
    let run = merge(results, sum, &failed, options, &plan.unread)?;
    let timing = Timing { inputs: times, kept, merging: merging.elapsed(), total: begin.elapsed() };
    Ok((run, timing))
}

/// What was kept of `inputs`; `None` where a part of them would have to be read.
pub(crate) fn load_kept(
    inputs: &[PathBuf],
    options: &LoadOptions,
    watch: &Watch<'_>,
) -> Option<Run> {
    let mut plan = Plan::new(inputs, watch.cancelled);
    plan.choose(&options.ranks);
    let job = LoadContext::new(options, watch, &plan);
    let (kept, unkept) = job.take_kept(&plan);
    if kept.is_empty() || !unkept.is_empty() || !plan.failed.is_empty() {
        return None;
    }
    let mut results: Vec<LoadedInput> = kept.into_iter().map(|(_, kept)| kept).collect();
    if plan.is_only_pair {
        give_one_rank(&mut results);
    }
    merge(results, (job.sum, &job.spill_file), &[], options, &plan.unread).ok()
}

/// The first steps of the first trace that is long enough and was not kept.
pub(crate) fn load_first_steps(
    inputs: &[PathBuf],
    options: &LoadOptions,
    choice: FirstStepsChoice,
    watch: &Watch<'_>,
) -> Option<PartialRun> {
    let is_long = |path: &PathBuf| {
        path.metadata().is_ok_and(|it| it.is_file() && choice.min_bytes <= it.len())
    };
    if !inputs.iter().any(is_long) {
        return None;
    }
    let planned = |inputs: &[PathBuf]| {
        let mut plan = Plan::new(inputs, watch.cancelled);
        plan.choose(&options.ranks);
        plan
    };
    let all = planned(inputs);
    let whole = LoadContext::new(options, watch, &all);
    let (_, unkept) = whole.take_kept(&all);
    let is_wanted = |it: &&InputFile| it.kind == InputKind::Kineto && is_long(&it.input.path);
    let path = &unkept.into_iter().find(is_wanted)?.input.path;
    // What it goes with is read with all of it.
    let plan = planned(std::slice::from_ref(path));
    let one = plan.jobs.first()?;
    let n_bytes = choice.read_bytes.min(whole.budget.max_whole() / FirstStepsChoice::ENLARGED);
    // What fails here is read with all of it.
    let (trace, so_far) =
        caught(path, || Ok(read_first_steps(&one.input, n_bytes, &options.step_ranges))).ok()??;
    // Nothing is kept of a part.
    let options = LoadOptions { text_cache: None, ledger_cache: None, ..options.clone() };
    let watch = Watch { progress: &|_| (), cancelled: watch.cancelled };
    let job = LoadContext { so_far: Some(so_far), ..LoadContext::new(&options, &watch, &plan) };
    let read = || Ok((trace, End::default()));
    let load = || job.load_trace(&one.input, one, &plan, read);
    let loaded = job.added_up(caught(&one.input.path, load).ok()?);
    let run = merge(vec![loaded], (job.sum, &job.spill_file), &[], &options, &plan.unread).ok()?;
    Some(PartialRun { run, so_far })
}

/// The first complete steps of a trace, in `n_bytes` of it if one fits into these.
fn read_first_steps(
    input: &Opened,
    n_bytes: u64,
    step_ranges: &[String],
) -> Option<(Trace, StepsSoFar)> {
    let read = |place, buffer: &mut [u8]| input.read_at(place, buffer);
    // Of what is compressed nothing is found.
    let lists = TraceLists::find(input.size, read).ok()??;
    [n_bytes, n_bytes.saturating_mul(FirstStepsChoice::ENLARGED)].into_iter().find_map(|n_bytes| {
        let TraceBegin { mut trace, known_until } = lists.read_begins(n_bytes, read).ok()??;
        trace.profile.step_ranges = step_ranges.to_vec();
        let steps = end_with_whole_step(&mut trace.profile, known_until)?;
        let share = lists.share_until(steps.last()?.end);
        Some((trace, StepsSoFar { n_steps: steps.len(), share }))
    })
}

/// A snapshot names no rank: where it goes with the only trace, it has that one's.
fn give_one_rank(results: &mut [LoadedInput]) {
    let is = |loaded: &LoadedInput, kind| loaded.inputs.iter().any(|input| input.kind == kind);
    let trace = results.iter().find(|it| is(it, InputKind::Kineto));
    let Some(rank) = trace.and_then(|it| it.ledgers.first()).map(|(rank, _)| *rank) else {
        return;
    };
    for loaded in results.iter_mut().filter(|it| is(it, InputKind::Snapshot)) {
        loaded.inputs.iter_mut().for_each(|input| input.rank = rank);
        for (rank_of_ledger, ledger) in &mut loaded.ledgers {
            *rank_of_ledger = rank;
            let memory = std::mem::take(&mut ledger.memory).into_iter();
            ledger.memory = memory.map(|(key, it)| (DeviceKey { rank, ..key }, it)).collect();
        }
    }
}

/// What became of a side-car.
#[derive(Default)]
struct JoinedSideCar {
    /// Calls that it knows.
    calls: u64,
    bytes: u64,
    warnings: Warnings,
    commit: Option<RecordedCommit>,
}

/// A loaded input with its books.
struct LoadedInput {
    inputs: Vec<Input>,
    /// By rank: one, but of a file of ledgers. Empty once they were added to the sum of all ranks.
    ledgers: Vec<(u32, Ledger)>,
    /// What was added to the sum of all ranks.
    ranks: Vec<Rank>,
    /// The ranks that a file of ledgers has beside those that were asked for.
    unread: BTreeSet<u32>,
    /// What a file of ledgers says of inputs that could not be read for it.
    failures: Vec<String>,
    /// The texts of your code that ran, by key in the ledger.
    texts: TextsByFile,
    /// The commit that it names.
    commit: Option<RecordedCommit>,
    /// Of what was read.
    times: Option<Times>,
    /// Of what was not read because its ledger was kept.
    kept: Option<KeptTime>,
    /// The amounts of the one ledger by whole stacks, if they were asked for and there are any.
    stacks: Option<StackBooks>,
    /// What threads and devices did when, if that was asked for of this rank.
    timeline: Option<EventTimeline>,
    /// What each device held when, if that was asked for.
    histories: Vec<MemoryHistory>,
}

impl LoadedInput {
    /// An input of one rank that was read.
    fn read(
        inputs: Vec<Input>,
        ledger: (u32, Ledger),
        texts: TextsByFile,
        times: Option<Times>,
    ) -> Self {
        Self {
            inputs,
            ledgers: vec![ledger],
            ranks: Vec::new(),
            unread: BTreeSet::new(),
            failures: Vec::new(),
            texts,
            commit: None,
            times,
            kept: None,
            stacks: None,
            timeline: None,
            histories: Vec::new(),
        }
    }

    /// Its rank; the first, of a file of ledgers.
    fn rank(&self) -> Option<u32> {
        let added_up = self.ranks.first().map(|it| it.rank);
        self.ledgers.first().map(|(rank, _)| *rank).or(added_up)
    }

    /// With the amounts by whole stacks.
    fn with(self, stacks: Option<StackBooks>) -> Self {
        Self { stacks, ..self }
    }

    /// Whether the input, which stands before its side-car, was read without loss.
    fn signs(&self) -> Option<InputSigns> {
        let ledgers = self.ledgers.iter().map(|(rank, it)| RankSigns::of_ledger(*rank, it));
        let ranks = self.ranks.iter().map(RankSigns::of_rank);
        let path = self.inputs.first()?.path.clone();
        Some(InputSigns { path, ranks: ledgers.chain(ranks).collect() })
    }

    fn is_complete(&self) -> bool {
        self.inputs.first().is_some_and(|it| it.complete)
    }

    /// Says which inputs hold the same recording and do not count.
    fn add_duplicates(&mut self, left_out: Vec<PathBuf>, damaged: Vec<PathBuf>) {
        let mut warnings = Warnings::default();
        for (paths, why) in [(left_out, "is the same recording"), (damaged, "is a damaged copy")] {
            for path in paths {
                let message =
                    format!("{} {why} and was left out, so that it counts once", shown(&path));
                warnings.add(WarningKind::Duplicate, None, message);
            }
        }
        if let Some(input) = self.inputs.first_mut() {
            input.warnings.extend(warnings.iter().cloned());
        }
    }
}

struct LoadContext<'a> {
    options: &'a LoadOptions,
    watch: &'a Watch<'a>,
    finder: Finder,
    captures: CaptureFiles,
    budget: MemoryBudget,
    done: AtomicU64,
    /// The lowest rank of a trace that was read so far.
    first_rank: AtomicU32,
    /// The books of all ranks, added up as they come, so that those of each are not whole at once; `None` where it is not known
    /// yet of which ranks and with which numbers.
    sum: Option<Mutex<Ledger>>,
    /// Where the books of each rank are, once they were added.
    spill_file: Arc<SpillFile>,
    /// Cores for each input.
    n_cores: usize,
    total: u64,
    /// What is read of the only trace, if that is not all of it.
    so_far: Option<StepsSoFar>,
}

impl<'a> LoadContext<'a> {
    fn new(options: &'a LoadOptions, watch: &'a Watch<'a>, plan: &Plan) -> Self {
        let adds_up = plan.may_have_ranks() && options.ranks.is_all();
        Self {
            options,
            watch,
            finder: Finder::new(options),
            captures: CaptureFiles::default(),
            budget: MemoryBudget::new(options.memory_limit),
            done: AtomicU64::new(0),
            first_rank: AtomicU32::new(u32::MAX),
            sum: adds_up.then(Mutex::default),
            spill_file: Arc::default(),
            n_cores: 1,
            total: 0,
            so_far: None,
        }
    }

    /// The inputs whose ledgers were kept, and those that must be read.
    fn take_kept<'p>(
        &self,
        plan: &'p Plan,
    ) -> (Vec<(&'p InputFile, LoadedInput)>, Vec<&'p InputFile>) {
        let found = workers::map(&plan.jobs, |one| {
            let kept = self.kept(one, plan)?;
            // Whether a snapshot is read nevertheless is not known yet.
            Some(if one.kind == InputKind::Snapshot { kept } else { self.added_up(kept) })
        });
        // A trace that is read needs the snapshot of its rank.
        let needs_snapshots = plan.has_traces && found.iter().any(Option::is_none);
        let (mut kept, mut unkept) = (Vec::new(), Vec::new());
        for (one, found) in plan.jobs.iter().zip(found) {
            match found {
                Some(found) if !needs_snapshots || one.kind != InputKind::Snapshot => {
                    kept.push((one, self.added_up(found)));
                }
                _ => unkept.push(one),
            }
        }
        (kept, unkept)
    }

    /// An input whose ledger was kept. Where other inputs hold the same recording, it must be without loss, else they may be
    /// better.
    fn kept(&self, one: &InputFile, plan: &Plan) -> Option<LoadedInput> {
        // Neither stacks nor timelines nor histories are kept.
        let is_enough = self.options.stacks == StackChoice::No
            && self.options.timeline == TimelineChoice::No
            && !self.options.histories;
        let store = self.store().filter(|_| is_enough)?;
        let beside = self.beside(&one.input, one, plan);
        let find = || {
            let key = store.key(&one.input, one, plan, &beside);
            Ok(key.and_then(|it| store.read(&it, &one.input, &beside)))
        };
        // What fails here is read.
        let found = caught(&one.input.path, find).ok()??;
        let kept = KeptTime { path: one.input.path.clone(), time: found.took };
        let mut loaded = LoadedInput {
            inputs: found.inputs,
            ledgers: found.ledgers,
            ranks: Vec::new(),
            unread: BTreeSet::new(),
            failures: Vec::new(),
            texts: found.texts,
            commit: found.commit,
            times: None,
            kept: Some(kept),
            stacks: None,
            timeline: None,
            histories: Vec::new(),
        };
        if !loaded.is_complete() && !one.copies.is_empty() {
            return None;
        }
        let copies = one.copies.iter().map(|it| it.path.clone());
        let left_out = one.same_file.iter().cloned().chain(copies).collect();
        loaded.add_duplicates(left_out, Vec::new());
        Some(loaded)
    }

    /// An input whose books were added to the sum of all ranks, if there is one.
    fn added_up(&self, mut loaded: LoadedInput) -> LoadedInput {
        if self.sum.is_none() {
            return loaded;
        }
        for (rank, ledger) in std::mem::take(&mut loaded.ledgers) {
            let add = |it: &Ledger| self.add_up(it);
            loaded.ranks.push(Rank::new(rank, ledger, &self.spill_file, add));
        }
        loaded
    }

    fn add_up(&self, ledger: &Ledger) {
        if let Some(sum) = &self.sum {
            sum.lock().unwrap_or_else(PoisonError::into_inner).merge(ledger);
        }
    }

    fn search(&self) -> SourceSearch<'_> {
        SourceSearch { finder: &self.finder, text_cache: self.options.text_cache.as_deref() }
    }

    /// The sources of `files`, with what an entry of the cache has to know of them. `recording` names the recording where texts
    /// are kept.
    fn find_sources(
        &self,
        store: Option<&LedgerStore<'_>>,
        files: Vec<RecordedFile>,
        recorded_texts: TextsByFile,
        recording: impl FnOnce() -> RecordingKey,
        at: RecordedAt,
    ) -> MadeFrom {
        let recording = self.options.text_cache.is_some().then(recording);
        let disk = store.and_then(|it| it.disk(&files));
        let (sources, HasKeptMore(has_kept_more)) =
            self.search().find_and_keep(&files, &recorded_texts, recording, at);
        MadeFrom { recording, files, recorded_texts, disk, at, sources, has_kept_more }
    }

    fn store(&self) -> Option<LedgerStore<'_>> {
        let cache = self.options.ledger_cache.as_deref()?;
        Some(LedgerStore { cache, options: self.options, search: self.search() })
    }

    /// What says more of an input.
    fn beside(&self, file: &Opened, one: &InputFile, plan: &Plan) -> Beside {
        let logs = self.logs(file, one, plan);
        Beside {
            side_car: self.side_car(file, one, plan),
            captures: self.captures(file, one, plan, &logs),
            logs,
        }
    }

    /// The traces that may hold the capture of the graphs that a trace replays, with what says more of them than `logs` of the trace.
    fn captures(
        &self,
        file: &Opened,
        one: &InputFile,
        plan: &Plan,
        logs: &[Arc<LogFile>],
    ) -> Vec<CaptureFile> {
        if one.kind != InputKind::Kineto {
            return Vec::new();
        }
        let rank = one.rank_of(file);
        let root = &self.options.root;
        let mut captures = self.captures.of(self.options, &file.path, rank);
        for capture in captures.iter_mut().filter(|_| !self.options.ignore_exact) {
            capture.side_car = SideCar::beside(&capture.path, root);
            capture.logs = plan.logs_beside(&capture.path, rank, root);
            capture.logs.retain(|log| logs.iter().all(|it| it.path() != log.path()));
        }
        captures
    }

    /// Reads the traces of captures, with what logs say of them.
    fn read_captures(
        &self,
        beside: &Beside,
        texts: &mut TextsByFile,
        rank: u32,
    ) -> Result<Vec<CaptureTrace>, Error> {
        let mut captures = Vec::with_capacity(beside.captures.len());
        for file in &beside.captures {
            let mut capture = file.unread();
            let read = || {
                let input = if file.origin.is_named() {
                    open::named(&file.path)
                } else {
                    open::found(&file.path)
                }?;
                match input.kind {
                    None => return Err(unknown(&input)),
                    Some(InputKind::Kineto) => {}
                    Some(InputKind::GraphCapture) if file.kind() == InputKind::GraphCapture => {
                        return self.read_stacks(&input, &mut capture);
                    }
                    Some(kind) => return Err(no_trace(&input, kind)),
                }
                let mut reader = TraceReader::new();
                let End { damage, .. } = self.each_chunk_of(&input, &mut reader)?;
                Ok(Some((reader.finish(), damage)))
            };
            match caught(&file.path, read) {
                Err(Error::Cancelled) => return Err(Error::Cancelled),
                Err(_) if file.origin == CaptureOrigin::Found => continue,
                Err(error) => {
                    capture.is_listed = true;
                    let message = format!("not used: {error}");
                    capture.warnings.add(WarningKind::Other, None, message);
                }
                Ok(None) => {}
                Ok(Some((mut trace, damage))) => {
                    let of_it = trace.profile.meta.rank.unwrap_or(rank);
                    let is_of_kind = |it: &&CaptureFile| it.kind() == file.kind();
                    if of_it != rank && beside.captures.iter().filter(is_of_kind).count() > 1 {
                        continue;
                    }
                    capture.is_listed |=
                        file.origin == CaptureOrigin::Recorded && !damage.is_empty();
                    (capture.events, capture.bytes) = (trace.events, trace.bytes);
                    capture.warnings = trace.warnings;
                    add_damage(&mut capture.warnings, damage);
                    if let Some(side_car) = &file.side_car {
                        let joined = self.join_side_car(side_car, &mut trace.profile, texts);
                        capture.warnings.extend(joined.warnings);
                    }
                    join_logs(&beside.logs, &mut trace.profile, texts, rank, &self.budget);
                    let profile = &mut trace.profile;
                    let logs = self.join_compiled(&file.logs, &file.path, profile, texts, rank);
                    for log in logs {
                        for it in &log.warnings {
                            let message = format!("{}: {}", shown(&log.path), it.message);
                            capture.warnings.add(it.kind, None, message);
                        }
                    }
                    capture.content = Some(CaptureContent::Trace(Box::new(trace.profile)));
                }
            }
            captures.push(capture);
        }
        Ok(captures)
    }

    /// Reads the stacks of the nodes of graphs into what is known of their capture; no trace.
    fn read_stacks(
        &self,
        input: &Opened,
        capture: &mut CaptureTrace,
    ) -> Result<Option<(Trace, Vec<Damage>)>, Error> {
        let (text, damage) = blocks::whole(input, &self.budget)?;
        let stacks = read_graph_stacks(&text).map_err(|error| Error::Unreadable {
            path: input.path.clone(),
            message: error.to_string(),
            offset: error.offset as u64,
        })?;
        (capture.events, capture.bytes) = (stacks.by_node.len() as u64, text.len() as u64);
        add_damage(&mut capture.warnings, damage);
        capture.content = Some(CaptureContent::Stacks(stacks));
        Ok(None)
    }

    /// Joins what is known of compiled code into the profile of the trace at `path`: what `logs` say, and the cache where they say nothing; the
    /// inputs that were used, or could not be.
    fn join_compiled(
        &self,
        logs: &[Arc<LogFile>],
        path: &Path,
        profile: &mut Profile,
        texts: &mut TextsByFile,
        rank: u32,
    ) -> Vec<Input> {
        let mut inputs = join_logs(logs, profile, texts, rank, &self.budget);
        if !self.options.ignore_exact {
            inputs.extend(join_cached_graphs(profile, texts, &self.options.root, path, rank));
        }
        inputs
    }

    /// The side-car of a trace, if it is to be used: it goes with all of the trace.
    fn side_car(&self, file: &Opened, one: &InputFile, plan: &Plan) -> Option<Arc<SideCar>> {
        let is_used =
            one.kind == InputKind::Kineto && !self.options.ignore_exact && self.so_far.is_none();
        is_used.then(|| plan.callers_of(one, file, &self.options.root))?
    }

    /// The logs of `torch.compile` that may belong to a trace, if they are to be used.
    fn logs(&self, file: &Opened, one: &InputFile, plan: &Plan) -> Vec<Arc<LogFile>> {
        match one.kind == InputKind::Kineto && !self.options.ignore_exact {
            true => plan.logs_of(one, file, &self.options.root),
            false => Vec::new(),
        }
    }

    /// Reads an input. Where that is damaged, and others hold the same recording, the best of them counts.
    fn load(&self, one: &InputFile, plan: &Plan) -> Result<LoadedInput, Error> {
        let mut best = self.load_input(&one.input, one, plan);
        let mut left_out = one.same_file.clone();
        let mut damaged = Vec::new();
        let mut kept = &one.input;
        for copy in &one.copies {
            if best.as_ref().is_ok_and(LoadedInput::is_complete) {
                left_out.push(copy.path.clone());
                continue;
            }
            if let Err(Error::Cancelled) = best {
                break;
            }
            let other = self.load_input(copy, one, plan);
            if priority(&best) < priority(&other) {
                damaged.push(kept.path.clone());
                (best, kept) = (other, copy);
            } else {
                damaged.push(copy.path.clone());
            }
        }
        let mut loaded = best?;
        loaded.add_duplicates(left_out, damaged);
        Ok(loaded)
    }

    /// Whether it is to be kept what the threads and devices of a rank did when. Of the lowest rank nobody knows before all are
    /// read that it is; what of others was kept meanwhile is left out in the end.
    fn has_timeline(&self, rank: u32) -> bool {
        match self.options.timeline {
            TimelineChoice::No => false,
            TimelineChoice::First => rank <= self.first_rank.fetch_min(rank, Ordering::Relaxed),
            TimelineChoice::Rank(wanted) => rank == wanted,
        }
    }

    fn load_input(
        &self,
        input: &Opened,
        one: &InputFile,
        plan: &Plan,
    ) -> Result<LoadedInput, Error> {
        caught(&input.path, || match one.kind {
            InputKind::Snapshot => self.load_snapshot(input, one, plan),
            InputKind::Timeline => self.load_timeline(input, one),
            InputKind::Ledger => self.load_ledgers(input),
            InputKind::Kineto
            | InputKind::Callers
            | InputKind::CompileLog
            | InputKind::CompileCache
            | InputKind::GraphCapture
            | InputKind::GraphlessRun => self.load_trace(input, one, plan, || {
                let mut reader = TraceReader::new();
                let end = self.each_chunk_of(input, &mut reader)?;
                Ok((reader.finish(), end))
            }),
        })
    }

    /// Charges the events of a trace that `read` reads.
    fn load_trace(
        &self,
        file: &Opened,
        one: &InputFile,
        plan: &Plan,
        read: impl FnOnce() -> Result<(Trace, End), Error>,
    ) -> Result<LoadedInput, Error> {
        let beside = self.beside(file, one, plan);
        let store = self.store();
        let entry = store.as_ref().and_then(|it| it.key(file, one, plan, &beside));
        let begin = Instant::now();
        let (mut trace, End { damage, spent }) = read()?;
        let reading = begin.elapsed();
        if let (0, Some(offset)) = (trace.events, trace.no_list) {
            return Err(nothing_in(file, &damage, NO_LIST, offset));
        }
        if !trace.looks_like_trace {
            return Err(nothing_in(file, &damage, NO_EVENTS, trace.bytes));
        }
        trace.profile.step_ranges.clone_from(&self.options.step_ranges);
        let mut warnings = trace.warnings;
        let is_damaged = !damage.is_empty();
        let is_cut = is_cut(&damage);
        add_damage(&mut warnings, damage);
        let rank = trace.profile.meta.rank.or(one.rank_by_name).unwrap_or(one.place);
        let mut inputs = Vec::new();
        let mut recorded_texts = TextsByFile::new();
        let mut commit = None;
        if let Some(callers) = &beside.side_car {
            let (input, named) = self.join(callers, &mut trace.profile, &mut recorded_texts, rank);
            inputs.push(input);
            commit = named;
        }
        let texts = &mut recorded_texts;
        let profile = &mut trace.profile;
        inputs.extend(self.join_compiled(&beside.logs, &file.path, profile, texts, rank));
        let snapshot = plan.snapshot_of(rank);
        if let Some(snapshot) = snapshot.filter(|_| !self.options.ignore_exact)
            && let Some(snapshot) = snapshot.wait()
        {
            warnings.extend(join_snapshot(&mut trace.profile, &snapshot));
        }
        let n_unnamed = unnamed_calls(&trace.profile);
        if n_unnamed > 0 {
            let message = format!(
                "Python calls without a name: {n_unnamed}; PyTorch writes `unknown` for functions, classes and files whose names are not ASCII, and what these calls took is on the lines that made them"
            );
            warnings.add(WarningKind::Other, None, message);
        }
        self.report(&file.path, Stage::Attributing)?;
        let begin = Instant::now();
        let captures = match replays_graph(&trace.profile) {
            true => self.read_captures(&beside, &mut recorded_texts, rank)?,
            false => unused(&beside.captures),
        };
        let are_captures_read = captures.iter().all(|it| it.content.is_some());
        let files = files_of_all(&trace.profile, &captures);
        let at = RecordedAt::of_trace(&trace.profile, &file.path, commit);
        let recording = || RecordingKey::of_trace(&trace.profile);
        let mut made_from = self.find_sources(store.as_ref(), files, recorded_texts, recording, at);
        let calls = |files: &BTreeSet<&str>| recorded_calls(&trace.profile, files);
        self.finder.arrange(&made_from.files, &mut made_from.sources, calls);
        let root = &self.options.root;
        find_generated_files(&made_from.files, &mut made_from.sources, root, &file.path);
        let sources = &made_from.sources;
        let finding = begin.elapsed();
        let options = attribution::AttributionOptions {
            ignore_exact: self.options.ignore_exact,
            device_memory: match snapshot {
                None => TracedDevices::Whole,
                Some(_) if trace.profile.meta.has_memory => TracedDevices::Allocations,
                Some(_) => TracedDevices::Nothing,
            },
        };
        let begin = Instant::now();
        let profile = &mut trace.profile;
        inputs.extend(join_captures_of(captures, profile, sources, options, rank));
        let all = StackOptions::default();
        let timeline = self.has_timeline(rank);
        let has_stacks = self.options.stacks != StackChoice::No;
        let parts = TraceParts {
            stacks: match timeline {
                true => Some(&all),
                false => has_stacks.then_some(&self.options.stack_options),
            },
            timeline,
            histories: self.options.histories,
        };
        let TraceBooks { ledger, stacks, timeline, histories } =
            attribute_parts(trace.profile, sources, options, rank, &parts);
        let times = Times {
            path: file.path.clone(),
            bytes: trace.bytes,
            events: trace.events,
            reading,
            unpacking: spent,
            finding,
            attributing: begin.elapsed(),
        };
        if let Some(so_far) = self.so_far {
            warnings.add(WarningKind::Other, None, format!("read so far: {so_far}"));
        }
        let complete = trace.complete && !is_damaged && self.so_far.is_none();
        let input = Input {
            path: file.path.clone(),
            kind: one.kind,
            rank,
            events: trace.events,
            bytes: trace.bytes,
            complete,
            warnings: warnings.iter().cloned().collect(),
        };
        inputs.insert(0, input);
        let ledger = (rank, ledger);
        let are_logs_read = beside.all_logs().all(|it| it.is_readable());
        // Why a side-car cannot be opened may change without the file.
        let is_side_car_read = beside.side_car.is_none_or(|it| it.read(&self.budget).is_ok());
        let are_all_read = is_side_car_read && are_logs_read && are_captures_read;
        if let Some(store) = store.filter(|_| are_all_read && !is_cut) {
            store.keep(file, entry, &made_from, &inputs, &ledger);
        }
        let loaded = LoadedInput::read(inputs, ledger, sources.own_texts(), Some(times));
        Ok(LoadedInput { commit, timeline, histories, ..loaded.with(stacks) })
    }

    /// The side-car of a trace as an input, and the commit that it names.
    fn join(
        &self,
        side_car: &SideCar,
        profile: &mut Profile,
        texts: &mut TextsByFile,
        rank: u32,
    ) -> (Input, Option<RecordedCommit>) {
        let joined = self.join_side_car(side_car, profile, texts);
        let input = Input {
            path: side_car.path().to_owned(),
            kind: InputKind::Callers,
            rank,
            events: joined.calls,
            bytes: joined.bytes,
            complete: joined.warnings.is_empty(),
            warnings: joined.warnings.iter().cloned().collect(),
        };
        (input, joined.commit)
    }

    /// Reads a side-car into its trace and the texts that ran, by the path as recorded. A side-car that cannot be used costs a
    /// warning, not the trace.
    fn join_side_car(
        &self,
        side_car: &SideCar,
        profile: &mut Profile,
        texts: &mut TextsByFile,
    ) -> JoinedSideCar {
        let mut joined = JoinedSideCar::default();
        let warnings = &mut joined.warnings;
        match side_car.read(&self.budget) {
            Err(error) => warnings.add(WarningKind::Other, None, format!("not used: {error}")),
            Ok(SideCarText { bytes, damage }) => {
                joined.bytes = bytes.len() as u64;
                add_damage(warnings, damage.clone());
                match read_callers(bytes) {
                    Err(error) => {
                        warnings.add(WarningKind::Other, None, format!("not used: {error}"));
                    }
                    Ok((callers, read_warnings)) => {
                        joined.calls = n_calls(&callers);
                        warnings.extend(read_warnings);
                        warnings.extend(join_callers(profile, &callers));
                        warnings.extend(join_lines(profile, &callers));
                        warnings.extend(join_modules(profile, &callers));
                        if warnings.iter().all(|it| it.kind != WarningKind::SideCarMismatch) {
                            profile.plain_steps.clone_from(&callers.plain_steps);
                            profile.loader_workers.clone_from(&callers.loader_workers);
                            profile.command.clone_from(&callers.command);
                        }
                        let text = |it: &RecordedText| {
                            let text = it.text.as_str().into();
                            let file = callers.strings.get(it.file).to_owned();
                            (file, TextThatRan { text, origin: TextOrigin::Recorded })
                        };
                        texts.extend(callers.texts.iter().map(text));
                        let is_dirty = callers.is_dirty;
                        let id = callers.commit.as_deref().and_then(commit_id);
                        joined.commit = id.map(|id| RecordedCommit { id, is_dirty });
                    }
                }
            }
        }
        joined
    }

    fn load_snapshot(
        &self,
        file: &Opened,
        one: &InputFile,
        plan: &Plan,
    ) -> Result<LoadedInput, Error> {
        let rank = one.rank_or_place();
        let giver = plan.snapshots.get(&rank).map(HandOver::giver);
        let store = self.store();
        let entry = store.as_ref().and_then(|it| it.key(file, one, plan, &Beside::default()));
        let begin = Instant::now();
        let mut reader = SnapshotReader::new();
        let mut bytes = 0;
        let End { damage, spent } = self.each_block(file, |block| {
            bytes += block.len() as u64;
            reader.feed(block);
        })?;
        let (snapshot, mut warnings) = reader
            .finish()
            .map_err(|error| nothing_in(file, &damage, &error.to_string(), error.offset()))?;
        let reading = begin.elapsed();
        let is_damaged = !damage.is_empty();
        let is_cut = is_cut(&damage);
        add_damage(&mut warnings, damage);
        let snapshot = Arc::new(snapshot);
        if let Some(giver) = giver {
            giver.give(plan.has_traces.then(|| Arc::clone(&snapshot)));
        }
        self.report(&file.path, Stage::Attributing)?;
        let begin = Instant::now();
        let files = recorded_snapshot_files(&snapshot);
        let at = RecordedAt::of_file(&file.path);
        let recording = || RecordingKey::of_snapshot(&snapshot);
        let made_from = self.find_sources(store.as_ref(), files, TextsByFile::new(), recording, at);
        let sources = &made_from.sources;
        let finding = begin.elapsed();
        let begin = Instant::now();
        let has_stacks = self.options.stacks != StackChoice::No;
        let parts = SnapshotParts {
            stacks: has_stacks,
            histories: self.options.histories,
            are_allocations_traced: plan.are_allocations_traced(one),
        };
        let SnapshotBooks { ledger, stacks, histories } =
            attribute_snapshot(&snapshot, sources, rank, parts);
        // A snapshot names no thread, and its streams are those of memory.
        let is_chosen = self.options.stack_options.events.is_all();
        let stacks = if is_chosen { stacks } else { StackBooks::default() };
        let stacks = has_stacks.then_some(stacks);
        let attributing = begin.elapsed();
        let input = Input {
            path: file.path.clone(),
            kind: InputKind::Snapshot,
            rank,
            events: snapshot.devices.iter().map(|device| device.events.len() as u64).sum(),
            bytes,
            complete: !is_damaged
                && !warnings.iter().any(|warning| warning.kind == WarningKind::Truncated),
            warnings: warnings.iter().cloned().collect(),
        };
        let times = Times {
            path: file.path.clone(),
            bytes,
            events: input.events,
            reading,
            unpacking: spent,
            finding,
            attributing,
        };
        let (inputs, ledger) = (vec![input], (rank, ledger));
        if let Some(store) = store.filter(|_| !is_cut) {
            store.keep(file, entry, &made_from, &inputs, &ledger);
        }
        let loaded = LoadedInput::read(inputs, ledger, sources.own_texts(), Some(times));
        Ok(LoadedInput { histories, ..loaded.with(stacks) })
    }

    /// Takes over what was read and attributed before. Its inputs stand for it.
    fn load_ledgers(&self, file: &Opened) -> Result<LoadedInput, Error> {
        if self.options.stacks == StackChoice::Always {
            return Err(Error::NoStacks { path: file.path.clone() });
        }
        // Nothing counts of a file that is damaged further on.
        let mut sum = self.sum.is_some().then(Ledger::default);
        let (mut ledgers, mut ranks, mut unread) = (Vec::new(), Vec::new(), BTreeSet::new());
        let mut each = |rank, ledger| match &mut sum {
            Some(sum) => {
                let add = |it: &Ledger| sum.merge(it);
                ranks.push(Rank::new(rank, ledger, &self.spill_file, add));
            }
            None if self.options.ranks.may_have(rank) => ledgers.push((rank, ledger)),
            None => drop(unread.insert(rank)),
        };
        let mut reader = LedgerFileReader::new(&self.finder, self.budget.max_whole());
        let mut read = Ok(());
        let End { damage, .. } = self.each_block(file, |block| {
            if read.is_ok() {
                read = reader.feed(block, &mut each);
            }
        })?;
        let refused = |message: &str| Err(nothing_in(file, &damage, message, 0));
        let head = match read.and_then(|()| reader.finish()) {
            Ok(_) if !damage.is_empty() => return refused("is damaged"),
            Ok(head) => head,
            Err(error) => return refused(&error.to_string()),
        };
        if let Some(sum) = sum {
            self.add_up(&sum);
        }
        let texts = TextsByFile::new();
        let kept = None;
        Ok(LoadedInput {
            inputs: head.inputs,
            ledgers,
            ranks,
            unread,
            failures: head.failures,
            texts,
            commit: None,
            times: None,
            kept,
            stacks: None,
            timeline: None,
            histories: Vec::new(),
        })
    }

    fn load_timeline(&self, file: &Opened, one: &InputFile) -> Result<LoadedInput, Error> {
        let mut reader = TimelineReader::new();
        let mut bytes = 0;
        let End { damage, .. } = self.each_block(file, |block| {
            bytes += block.len() as u64;
            reader.feed(block);
        })?;
        let Some((timeline, mut warnings)) = reader.finish() else {
            let message =
                "no memory timeline could be read; export it again with export_memory_timeline";
            return Err(nothing_in(file, &damage, message, 0));
        };
        add_damage(&mut warnings, damage);
        let rank = one.rank_or_place();
        let input = Input {
            path: file.path.clone(),
            kind: InputKind::Timeline,
            rank,
            events: timeline.at.len() as u64,
            bytes,
            complete: warnings.is_empty(),
            warnings: warnings.iter().cloned().collect(),
        };
        let ledger = attribute_timeline(&timeline, rank);
        Ok(LoadedInput::read(vec![input], (rank, ledger), TextsByFile::new(), None))
    }

    /// Feeds a trace to `reader`; with several cores, others read ahead.
    fn each_chunk_of(&self, file: &Opened, reader: &mut TraceReader) -> Result<End, Error> {
        self.report(&file.path, Stage::Reading)?;
        let reads_ahead = self.n_cores > 1;
        let prepare = || {
            let mut ahead = reads_ahead.then(SpeculativeReader::new);
            move |block: &[u8]| ahead.as_mut().and_then(|ahead| ahead.read(block))
        };
        blocks::each_block(file, &self.done, &self.budget, self.n_cores, prepare, |block, chunk| {
            reader.feed_chunk(block, chunk.as_ref());
            self.report(&file.path, Stage::Reading)
        })
    }

    /// Gives every block to `consume`.
    fn each_block(&self, file: &Opened, mut consume: impl FnMut(&[u8])) -> Result<End, Error> {
        self.report(&file.path, Stage::Reading)?;
        blocks::each_block(
            file,
            &self.done,
            &self.budget,
            1,
            || |_: &[u8]| (),
            |block, ()| {
                consume(block);
                self.report(&file.path, Stage::Reading)
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

const NO_EVENTS: &str =
    "no trace events were found; record again with torch.profiler and export_chrome_trace";

const NO_LIST: &str =
    "traceEvents is no list of events; record again with torch.profiler and export_chrome_trace";

/// Why nothing could be read: what damaged the file, if something did, else what is wrong at `offset`.
fn nothing_in(file: &Opened, damage: &[Damage], message: &str, offset: u64) -> Error {
    let damage = damage.first().map(|it| (&*it.message, it.offset.unwrap_or(0)));
    let (message, offset) = damage.unwrap_or((message, offset));
    Error::Unreadable { path: file.path.clone(), message: message.to_owned(), offset }
}

/// Why a file that should be a trace is not read.
fn no_trace(file: &Opened, kind: InputKind) -> Error {
    let message = format!("this is no trace of torch.profiler ({})", kind.name());
    Error::Unreadable { path: file.path.clone(), message, offset: 0 }
}

/// What is better has more: whether it is there, whether it is complete, events.
fn priority(loaded: &Result<LoadedInput, Error>) -> Option<(bool, u64)> {
    let loaded = loaded.as_ref().ok()?;
    Some((loaded.is_complete(), loaded.inputs.first().map_or(0, |it| it.events)))
}

/// The run of these inputs: the books of all ranks that were asked for, and of each of them. `sum` has what was added up before, with where
/// the books of each rank are put.
///
/// # Errors
/// If one was asked for that there is not, or the books of a rank cannot be read from where they were put.
fn merge(
    results: Vec<LoadedInput>,
    (sum, spill_file): (Option<Mutex<Ledger>>, &Arc<SpillFile>),
    failed: &[Error],
    options: &LoadOptions,
    unread: &BTreeSet<u32>,
) -> Result<Run, Error> {
    let mut unread = unread.clone();
    let mut inputs: Vec<Input> = Vec::new();
    let mut by_rank: BTreeMap<u32, Ledger> = BTreeMap::new();
    let mut packed: BTreeMap<u32, Rank> = BTreeMap::new();
    let mut failures: Vec<String> = failed.iter().map(Error::to_string).collect();
    let mut texts = TextsByFile::new();
    let mut commits: Vec<(u32, RecordedCommit)> = Vec::new();
    let mut stacks: Vec<(u32, StackBooks)> = Vec::new();
    let mut timelines: Vec<EventTimeline> = Vec::new();
    let mut histories: Vec<MemoryHistory> = Vec::new();
    let mut signs: Vec<InputSigns> = results.iter().filter_map(LoadedInput::signs).collect();
    for loaded in results {
        let rank = loaded.rank();
        inputs.extend(loaded.inputs);
        for (key, text) in loaded.texts {
            // What is more certain to have run counts; all ranks of a run ran the same.
            match texts.entry(key) {
                Entry::Vacant(entry) => drop(entry.insert(text)),
                Entry::Occupied(mut entry) if text.origin < entry.get().origin => {
                    entry.insert(text);
                }
                Entry::Occupied(_) => {}
            }
        }
        failures.extend(loaded.failures);
        unread.extend(loaded.unread);
        commits.extend(rank.zip(loaded.commit));
        stacks.extend(rank.zip(loaded.stacks));
        timelines.extend(loaded.timeline);
        histories.extend(loaded.histories);
        for (rank, mut ledger) in loaded.ledgers {
            if let Some(mine) = by_rank.get(&rank) {
                ledger.merge(mine);
            }
            // Several files of one rank are still one rank.
            ledger.ranks = 1;
            by_rank.insert(rank, ledger);
        }
        for rank in loaded.ranks {
            match packed.entry(rank.rank) {
                Entry::Vacant(entry) => drop(entry.insert(rank)),
                Entry::Occupied(mut entry) => {
                    entry.get_mut().merge(&rank, spill_file)?;
                }
            }
        }
    }
    let (merged, ranks) = match sum {
        Some(sum) => {
            let mut merged = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
            merged.ranks = u32::try_from(packed.len()).unwrap_or(u32::MAX);
            let ranks = match packed.first_key_value() {
                Some((&only, rank)) if packed.len() == 1 => {
                    let ledger = rank.own_ledger()?;
                    merged.critical_paths = ledger.unwrap_or_default().critical_paths;
                    vec![Rank::only(only, &merged)]
                }
                _ => packed.into_values().collect(),
            };
            (merged, ranks)
        }
        None => {
            let chosen = chosen(&options.ranks, &by_rank, &unread)?;
            by_rank.retain(|rank, _| chosen.contains(rank));
            sum_of(by_rank, spill_file)
        }
    };
    let is_there = |rank: u32| ranks.iter().any(|it| it.rank == rank);
    inputs.retain(|it| is_there(it.rank));
    signs.iter_mut().for_each(|it| it.ranks.retain(|it| is_there(it.rank)));
    if let Some((path, warning)) = other_run(&signs)
        && let Some(input) = inputs.iter_mut().find(|it| it.path == path)
    {
        input.warnings.push(warning);
    }
    let commits = commits.into_iter().filter(|(rank, _)| is_there(*rank));
    let commit = commits.min_by_key(|(rank, _)| *rank).map(|(_, it)| it);
    let stacks = (options.stacks != StackChoice::No).then(|| {
        let mut sum = StackBooks::default();
        stacks.iter().filter(|(rank, _)| is_there(*rank)).for_each(|(_, it)| sum.merge(it));
        sum
    });
    // A part of the run came without stacks.
    let is_whole = |sum: &StackBooks| {
        StackBooks::METRICS.into_iter().all(|it| sum.total(it) == merged.totals.get(it))
    };
    let stacks = stacks.filter(|it| options.stacks == StackChoice::Always || is_whole(it));
    let timelines = timelines.into_iter().filter(|it| is_there(it.rank));
    // Of several traces of the rank the longest.
    let timeline = timelines.min_by_key(|it| {
        let (from, to) = it.whole();
        (it.rank, Reverse(to - from))
    });
    histories.retain(|it| is_there(it.rank));
    // Of several snapshots of a device the one that its books are of: with the higher peak, then with more events.
    histories.sort_by_key(|it| (it.rank, it.device, Reverse((it.peak().1, it.at.len()))));
    histories.dedup_by_key(|it| (it.rank, it.device));
    Ok(Run { inputs, failures, ranks, merged, texts, commit, stacks, timeline, histories })
}

/// The sum of the books of these ranks, and the ranks. The books of an only rank are the sum.
fn sum_of(mut by_rank: BTreeMap<u32, Ledger>, spill_file: &Arc<SpillFile>) -> (Ledger, Vec<Rank>) {
    if by_rank.len() == 1
        && let Some((rank, ledger)) = by_rank.pop_first()
    {
        let only = Rank::only(rank, &ledger);
        return (ledger, vec![only]);
    }
    let mut sum = Ledger::default();
    let ranks = by_rank.into_iter();
    let ranks = ranks.map(|(rank, it)| Rank::new(rank, it, spill_file, |it| sum.merge(it)));
    let ranks = ranks.collect();
    (sum, ranks)
}
