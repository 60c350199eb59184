//! Puts the kernels of replayed graphs on the lines that launched the same kernels where the program ran without graphs: both run
//! them in nearly the same order, so the one sequence of names is aligned with the other.

use std::cmp::Reverse;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};
use line_stacks::Node;
use profile::{DeviceEventId, DeviceKind, Profile, StrId};
use recorded::{Launches, RecordedSources};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::captured_stacks::{StackTable, StackWriter};
use crate::graph_replays::{Replay, WorkOfStreams, replays};
use crate::options::AttributionOptions;
use crate::timeline_pass::lines_pass;

/// Names that follow one another, by which places in a run are found.
const N_NAMES: usize = 4;

/// Places that are looked at to find where a replay may begin in a run, at most.
const MAX_PLACES: usize = 1 << 17;

/// Places where a replay may begin, and of these, the parts of runs that it is aligned with, at most.
const MAX_BEGINS: usize = 256;
const MAX_PARTS: usize = 16;

/// Kernels of a replay times parts, at most, but for one part: aligning takes time quadratic in what differs.
const MAX_ALIGNED: usize = 1 << 16;

/// How much longer than a replay the parts are at both ends, in quarters of its length: where graphs fuse kernels, more is launched
/// without them.
const MORE_QUARTERS: [usize; 4] = [0, 1, 2, 4];

/// Of the kernels of a replay beyond so many, one of so many may have another name than what is launched without graphs.
const ALL_ALIKE: usize = 8;
const ONE_OTHER_OF: usize = 4;

/// What was launched, kernel by kernel, while one or several traces were recorded.
#[derive(Debug, Default)]
pub struct GraphlessRuns {
    /// The stacks of lines, from the begin of the program on, and the text of every name.
    stacks: StackTable,
    /// By trace and device, in the order of the launches.
    runs: Vec<Vec<LaunchedKernel>>,
}

/// A kernel, copy or fill that a call of its own launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct LaunchedKernel {
    name: StrId,
    /// Row of the stacks of [`GraphlessRuns`].
    stack: u32,
}

/// How many replays of a trace were aligned with runs without graphs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlignedReplays {
    /// Replays in the trace whose kernels are not known from elsewhere.
    pub replays: u64,
    /// Of these, the ones that are like a part of a run.
    pub aligned: u64,
    /// The first replay of those that are like no part of a run.
    pub refused: Option<UnlikeReplay>,
}

/// A replay that is like no part of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnlikeReplay {
    /// How many kernels, copies and fills it has.
    pub kernels: usize,
    /// The name of the first.
    pub first: String,
    /// How many have their names in a part of a run, at most; in the same order, if these are enough.
    pub alike: usize,
    /// How many would have to.
    pub needed: usize,
}

impl GraphlessRuns {
    /// Adds what was launched one by one while `profile` was recorded; whether there was any of it.
    pub fn add(
        &mut self,
        profile: &Profile,
        sources: &RecordedSources,
        options: AttributionOptions,
    ) -> bool {
        let launches = Launches::new(profile);
        let (host, device) = (&profile.host, &profile.device);
        let call = |event: DeviceEventId| Some((launches.own_call(profile, event)?, event));
        let mut launched: Vec<_> = device.ids().filter_map(call).collect();
        launched.sort_by_key(|(call, event)| {
            let row = event.index();
            (device.device[row], host.start[call.index()], device.start[row])
        });
        if launched.is_empty() {
            return false;
        }
        let events = lines_pass(profile, sources, options).events;
        let mut known = FxHashMap::default();
        for of_device in launched
            .chunk_by(|one, other| device.device[one.1.index()] == device.device[other.1.index()])
        {
            let kernel = |&(_, event): &(_, DeviceEventId)| {
                let mut nodes = launches.candidates(event).map(|it| events.stack_of[it.index()]);
                let node = nodes.find(|it| !it.is_empty()).unwrap_or(Node::EMPTY);
                let stack = *known
                    .entry(node)
                    .or_insert_with(|| self.stacks.row(&events.stacks, node, Node::EMPTY));
                LaunchedKernel { name: self.stacks.strings.intern(name(profile, event)), stack }
            };
            self.runs.push(of_device.iter().map(kernel).collect());
        }
        true
    }

    /// Whether a launch has a line.
    #[must_use]
    pub fn has_lines(&self) -> bool {
        self.stacks.has_lines()
    }
}

/// Notes in `profile` which lines launched kernels like those of each replay when the program ran without graphs; all of these lines
/// are inferred at best. Replays that are like no part of `runs`, and those whose lines are known, stay as they are.
pub fn join_graphless_runs(profile: &mut Profile, runs: &mut GraphlessRuns) -> AlignedReplays {
    let mut aligned = AlignedReplays::default();
    let mut of_event = std::mem::take(&mut profile.captured.of_event);
    of_event.resize(profile.device.len(), 0);
    let GraphlessRuns { stacks, runs } = runs;
    let mut aligner = ReplayAligner { runs, places: [const { None }; N_NAMES], stacks };
    let mut known: FxHashMap<WorkOfStreams<'_>, Alignment> = FxHashMap::default();
    let mut found = Vec::new();
    for replay in replays(profile) {
        if replay.events().any(|it| of_event[it.index()] != 0) {
            continue;
        }
        aligned.replays += 1;
        let alignment = known
            .entry(replay.work(profile))
            .or_insert_with(|| aligner.alignment(profile, &replay));
        let n_events = alignment.rows.len();
        if alignment.alike < needed(n_events) {
            aligned.refused.get_or_insert_with(|| UnlikeReplay {
                kernels: n_events,
                needed: needed(n_events),
                first: in_order_of_time(profile, &replay)
                    .first()
                    .map_or("", |it| name(profile, *it))
                    .to_owned(),
                alike: alignment.alike,
            });
            continue;
        }
        aligned.aligned += 1;
        let rows = replay.events().zip(&alignment.rows);
        let rows = rows.filter_map(|(event, row)| Some((event, (*row)?)));
        // Of a launch without a Python stack nothing is known.
        found.extend(rows.filter(|(_, row)| !aligner.stacks.lines(*row).is_empty()));
    }
    let mut writer = StackWriter::new(aligner.stacks, true);
    for (event, row) in found {
        of_event[event.index()] = writer.number(profile, row, false);
    }
    profile.captured.of_event = of_event;
    aligned
}

/// What an event is compared by. Which memory a copy or fill is in is not known within graphs: `Memset (Unknown)` there is
/// `Memset (Device)`.
fn name(profile: &Profile, event: DeviceEventId) -> &str {
    let name = profile.strings.get(profile.device.name[event.index()]);
    match profile.device.kind[event.index()] {
        DeviceKind::Kernel => name,
        _ => name.split(" (").next().unwrap_or(name),
    }
}

fn in_order_of_time(profile: &Profile, replay: &Replay) -> Vec<DeviceEventId> {
    let mut events: Vec<DeviceEventId> = replay.events().collect();
    events.sort_by_key(|it| profile.device.start[it.index()]);
    events
}

/// What runs say of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Alignment {
    /// How many events have their names there, in order.
    alike: usize,
    /// How many kernels between these have no event.
    skipped: usize,
    /// By event in the order of the streams, the stack of the lines that launched it.
    rows: Vec<Option<u32>>,
}

/// A kernel, copy or fill of a replay.
#[derive(Debug, Clone, Copy)]
struct ReplayedWork {
    /// `None` of what no run launches.
    name: Option<StrId>,
    /// Its place in the order of time.
    place: usize,
}

/// How many of the events of a replay must have their names in a part of a run, in order: few kernels are alike by chance.
fn needed(n_events: usize) -> usize {
    n_events - n_events.saturating_sub(ALL_ALIKE) / ONE_OTHER_OF
}

/// The names that begin at a place; fewer than [`N_NAMES`] are filled up.
type NameRun = [StrId; N_NAMES];

/// By names that follow one another, the runs and the rows in them where they begin.
type Places = FxHashMap<NameRun, Vec<(u32, u32)>>;

struct ReplayAligner<'a> {
    runs: &'a [Vec<LaunchedKernel>],
    /// By how many names but one.
    places: [Option<Places>; N_NAMES],
    stacks: &'a mut StackTable,
}

impl<'a> ReplayAligner<'a> {
    /// What the parts of runs that are most like `replay` say of it. Of lines in which they differ it is what these have in common.
    fn alignment(&mut self, profile: &Profile, replay: &Replay) -> Alignment {
        let order = in_order_of_time(profile, replay);
        let place: FxHashMap<DeviceEventId, usize> =
            order.iter().enumerate().map(|(at, event)| (*event, at)).collect();
        let strings = &self.stacks.strings;
        let work = |event: &DeviceEventId| ReplayedWork {
            name: strings.find(name(profile, *event)),
            place: place[event],
        };
        let streams: Vec<Vec<ReplayedWork>> =
            replay.streams.iter().map(|it| it.iter().map(work).collect()).collect();
        let begins = self.begins(&streams);
        let mut likeness = Likeness::new(&streams);
        let mut best: Vec<Alignment> = Vec::new();
        for quarters in MORE_QUARTERS {
            let n_more = order.len() * quarters / 4;
            let before = best.first().map(|it| it.alike);
            for part in self.likely_parts(&begins, n_more, &mut likeness) {
                let alignment = self.align(&streams, part);
                let rank = |it: &Alignment| (it.alike, Reverse(it.skipped));
                let most = best.first().map(rank);
                if most.is_none_or(|it| rank(&alignment) > it) {
                    best.clear();
                }
                if most.is_none_or(|it| rank(&alignment) >= it) && !best.contains(&alignment) {
                    best.push(alignment);
                }
            }
            let most = best.first().map(|it| it.alike);
            if most == Some(order.len()) || (before.is_some() && most == before) {
                break;
            }
        }
        let Some((first, others)) = best.split_first() else {
            let rows = vec![None; order.len()];
            return Alignment { alike: likeness.most, skipped: 0, rows };
        };
        let mut first = first.clone();
        for (at, row) in first.rows.iter_mut().enumerate() {
            let rows = others.iter().map(|it| it.rows[at]);
            let all: Option<Vec<u32>> = rows.chain([*row]).collect();
            *row = all.and_then(|it| self.stacks.row_in_common(it));
        }
        first
    }

    /// Where a replay may begin in each run: where its rarest names say so, those first that are named most often. Where no [`N_NAMES`]
    /// names follow one another there, fewer count.
    fn begins(&mut self, streams: &[Vec<ReplayedWork>]) -> Vec<(usize, usize)> {
        let mut votes: FxHashMap<(u32, u32), usize> = FxHashMap::default();
        for n_names in (1..=N_NAMES).rev() {
            let runs = self.runs;
            let places = self.places[n_names - 1].get_or_insert_with(|| places(runs, n_names));
            let found = streams.iter().flat_map(|it| it.windows(n_names)).filter_map(|work| {
                let names: Option<Vec<StrId>> = work.iter().map(|it| it.name).collect();
                Some((places.get(&filled_up(names?))?, work[0].place))
            });
            let mut found: Vec<_> = found.collect();
            found.sort_by_key(|(places, at)| (places.len(), *at));
            let mut room = MAX_PLACES;
            for (places, at) in found {
                let places = &places[..room.min(places.len())];
                room -= places.len();
                for &(run, place) in places {
                    let begin = place.saturating_sub(u32::try_from(at).unwrap_or(u32::MAX));
                    *votes.entry((run, begin)).or_default() += 1;
                }
            }
            if !votes.is_empty() {
                break;
            }
        }
        let mut votes: Vec<_> = votes.into_iter().map(|(begin, votes)| (votes, begin)).collect();
        votes.sort_unstable_by_key(|&(votes, begin)| (Reverse(votes), begin));
        let begins = votes.into_iter().take(MAX_BEGINS);
        begins.map(|(_, (run, begin))| (run as usize, begin as usize)).collect()
    }

    /// The parts of runs that have the most of the names of a replay, if these are enough, with `n_more` kernels at both ends; parts
    /// that are alike are there once.
    fn likely_parts(
        &self,
        begins: &[(usize, usize)],
        n_more: usize,
        likeness: &mut Likeness,
    ) -> Vec<&'a [LaunchedKernel]> {
        let mut seen = FxHashSet::default();
        let mut parts = Vec::new();
        for &(run, begin) in begins {
            let kernels = &self.runs[run][..];
            let end = (begin + likeness.n_events + n_more).min(kernels.len());
            let part = &kernels[begin.saturating_sub(n_more)..end];
            if !seen.insert(part) {
                continue;
            }
            let alike = likeness.of(part);
            if alike >= needed(likeness.n_events) {
                parts.push((alike, part));
            }
        }
        parts.sort_by_key(|it| Reverse(it.0));
        let n_parts = (MAX_ALIGNED / likeness.n_events.max(1)).clamp(1, MAX_PARTS);
        parts.into_iter().take(n_parts).map(|it| it.1).collect()
    }

    /// Aligns what runs on each stream with a part of a run: each kernel of the part goes to one stream, the longest first.
    fn align(&mut self, streams: &[Vec<ReplayedWork>], part: &[LaunchedKernel]) -> Alignment {
        let mut by_length: Vec<usize> = (0..streams.len()).collect();
        by_length.sort_by_key(|it| Reverse(streams[*it].len()));
        let mut rows: Vec<Vec<Option<u32>>> =
            streams.iter().map(|it| vec![None; it.len()]).collect();
        let (mut alike, mut first, mut last) = (0, part.len(), 0);
        let mut left: Vec<(usize, LaunchedKernel)> = part.iter().copied().enumerate().collect();
        for stream in by_length {
            let mut input = InternedInput::default();
            input.update_before(streams[stream].iter().map(|it| it.name));
            input.update_after(left.iter().map(|it| Some(it.1.name)));
            let mut diff = Diff::compute(Algorithm::Myers, &input);
            // Of kernels that may be skipped, the later ones are: a branch goes on until another one begins.
            diff.postprocess_no_heuristic(&input);
            let rows = &mut rows[stream];
            let mut is_taken = vec![false; left.len()];
            let (mut before, mut after) = (0, 0);
            let mut differing = Vec::new();
            for hunk in diff.hunks() {
                let (same, other) = (hunk.before.start as usize, hunk.after.start as usize);
                for (row, (_, kernel)) in rows[before..same].iter_mut().zip(&left[after..other]) {
                    *row = Some(kernel.stack);
                }
                is_taken[after..other].fill(true);
                alike += same - before;
                (before, after) = (hunk.before.end as usize, hunk.after.end as usize);
                differing.push((same..before, other..after));
            }
            for (row, (_, kernel)) in rows[before..].iter_mut().zip(&left[after..]) {
                *row = Some(kernel.stack);
            }
            is_taken[after..].fill(true);
            alike += rows.len() - before;
            for (events, kernels) in differing {
                let stack = self.stack_between(rows, &events, &left[kernels]);
                rows[events].fill(stack);
            }
            let mut is_taken = is_taken.into_iter();
            left.retain(|(place, _)| {
                let is_taken = is_taken.next().unwrap_or(false);
                if is_taken {
                    first = first.min(*place);
                    last = last.max(*place);
                }
                !is_taken
            });
        }
        let skipped = (last + 1).saturating_sub(first + alike);
        Alignment { alike, skipped, rows: rows.concat() }
    }

    /// The lines that all kernels have in common which ran in place of `events` without graphs, and if there are none, those before and
    /// behind. Of what has no like kernel before it or behind it nothing is known.
    fn stack_between(
        &mut self,
        rows: &[Option<u32>],
        events: &Range<usize>,
        kernels: &[(usize, LaunchedKernel)],
    ) -> Option<u32> {
        let before = rows[..events.start].last().copied().flatten()?;
        let behind = rows.get(events.end).copied().flatten()?;
        match kernels {
            [] => self.stacks.row_in_common([before, behind]),
            _ => self.stacks.row_in_common(kernels.iter().map(|it| it.1.stack)),
        }
    }
}

/// Where each sequence of `n_names` begins.
fn places(runs: &[Vec<LaunchedKernel>], n_names: usize) -> Places {
    let mut places = Places::default();
    for (run, kernels) in (0_u32..).zip(runs) {
        for (place, kernels) in (0_u32..).zip(kernels.windows(n_names)) {
            let names = filled_up(kernels.iter().map(|it| it.name));
            places.entry(names).or_default().push((run, place));
        }
    }
    places
}

fn filled_up(names: impl IntoIterator<Item = StrId>) -> NameRun {
    let mut filled = [StrId::NONE; N_NAMES];
    filled.iter_mut().zip(names).for_each(|(to, name)| *to = name);
    filled
}

/// How much of a replay is in parts of runs, in whatever order.
struct Likeness {
    n_events: usize,
    /// How often each name is there.
    count: FxHashMap<StrId, usize>,
    /// The most that a part has.
    most: usize,
}

impl Likeness {
    fn new(streams: &[Vec<ReplayedWork>]) -> Self {
        let mut count = FxHashMap::default();
        for name in streams.iter().flatten().filter_map(|it| it.name) {
            *count.entry(name).or_default() += 1;
        }
        Self { n_events: streams.iter().map(Vec::len).sum(), count, most: 0 }
    }

    /// How many names of the replay are in `part`.
    fn of(&mut self, part: &[LaunchedKernel]) -> usize {
        let mut left = self.count.clone();
        let mut alike = 0;
        for kernel in part {
            if let Some(left) = left.get_mut(&kernel.name).filter(|it| **it > 0) {
                *left -= 1;
                alike += 1;
            }
        }
        self.most = self.most.max(alike);
        alike
    }
}
