//! What the dumps of several ranks say together.

use std::collections::{BTreeMap, BTreeSet};

use crate::{CollectiveEntry, FlightDump, FlightFrame};

/// Collectives whose tensors have as many elements, of the same type, on every rank. Of others, such as `all_to_all`, ranks may
/// send different amounts.
const SAME_SIZES: [&str; 6] = [
    "all_reduce",
    "broadcast",
    "reduce",
    "reduce_scatter",
    "_reduce_scatter_base",
    "_all_gather_base",
];

/// What is the matter with a process group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupState {
    /// Ranks called different collectives under one number, or one with different sizes: none of them can end rightly.
    Mismatch,
    /// Some ranks wait in a collective that others have not called.
    NotCalled,
    /// All ranks called the collective, and it has not ended.
    Running,
    /// All that was called has ended.
    Ended,
}

/// One process group.
#[derive(Debug)]
pub struct GroupDiagnosis<'a> {
    /// Its name, which all of its ranks know it by.
    pub name: &'a str,
    /// What the program calls it; may be empty.
    pub description: &'a str,
    /// Its ranks, as the dumps list them, or else those that called something in it.
    pub ranks: Vec<u32>,
    /// Those of them that left no dump.
    pub without_dump: Vec<u32>,
    /// What is the matter.
    pub state: GroupState,
    /// The number of the collective that it is about: the first that has not ended on every rank, or that ranks differ in; the last
    /// where all have ended. 0 where there is none.
    pub sequence: u64,
    /// What ranks called under that number; the call of most ranks first.
    pub calls: Vec<SharedCall<'a>>,
    /// Those that called nothing under that number, with their last call in this group, if the dump has it.
    pub behind: Vec<SharedCall<'a>>,
    /// Those of them of which the dump has no call in this group.
    pub silent: Vec<u32>,
    /// Ranks that say when collectives begin on the device, and on which this one has not.
    pub not_started: Vec<u32>,
    /// Ranks on which it has ended.
    pub ended: Vec<u32>,
    /// Sends and receives that have not ended.
    pub pending: Vec<SharedCall<'a>>,
}

/// A call that ranks have in common: kind, sizes and place.
#[derive(Debug, Clone)]
pub struct SharedCall<'a> {
    /// Who made it.
    pub ranks: Vec<u32>,
    /// That of the first of them.
    pub entry: &'a CollectiveEntry,
    /// The frames of the user's code, innermost first; all where none is.
    pub stack: Vec<&'a FlightFrame>,
}

/// Finds out what the process groups wait for. Those with something the matter come first.
///
/// `dumps` are of one job, each with its rank, at most one of a rank. `is_library` says of a recorded path that it is no code of the
/// user.
#[must_use]
pub fn diagnose<'a>(
    dumps: &[(u32, &'a FlightDump)],
    is_library: &dyn Fn(&str) -> bool,
) -> Vec<GroupDiagnosis<'a>> {
    let mut groups: BTreeMap<(&'a str, &'a str, Vec<u32>), Vec<RankInGroup<'a>>> = BTreeMap::new();
    for &(rank, dump) in dumps {
        let mut entries: BTreeMap<(&'a str, &'a str), Vec<&'a CollectiveEntry>> = BTreeMap::new();
        for entry in &dump.entries {
            entries.entry((&entry.group, &entry.description)).or_default().push(entry);
        }
        let n_groups = entries.len();
        for ((name, description), entries) in entries {
            let ranks = ranks_of(dump, name, n_groups);
            let of_rank = RankInGroup::new(rank, dump, entries);
            groups.entry((name, description, ranks)).or_default().push(of_rank);
        }
    }
    let with_dump: BTreeSet<u32> = dumps.iter().map(|(rank, _)| *rank).collect();
    let mut found: Vec<GroupDiagnosis<'a>> = groups
        .into_iter()
        .map(|((name, description, ranks), members)| {
            let group = Group { name, description, ranks, members, with_dump: &with_dump };
            group.diagnose(is_library)
        })
        .collect();
    found.sort_by_key(|it| it.state);
    found
}

/// The ranks of a group as a dump lists them; empty where it does not.
fn ranks_of(dump: &FlightDump, name: &str, n_groups: usize) -> Vec<u32> {
    let listed = dump.group_ranks.get(name);
    // Gloo lists its only group under no name.
    let only =
        dump.group_ranks.values().next().filter(|_| n_groups == 1 && dump.group_ranks.len() == 1);
    let mut ranks = listed.or(only).cloned().unwrap_or_default();
    ranks.sort_unstable();
    ranks
}

/// What one rank did in one group.
struct RankInGroup<'a> {
    rank: u32,
    /// By number.
    collectives: BTreeMap<u64, &'a CollectiveEntry>,
    point_to_point: Vec<&'a CollectiveEntry>,
    called: u64,
    started: Option<u64>,
    ended: u64,
}

impl<'a> RankInGroup<'a> {
    fn new(rank: u32, dump: &FlightDump, entries: Vec<&'a CollectiveEntry>) -> Self {
        let progress = entries.first().and_then(|it| dump.progress.get(&it.group_id));
        let progress = progress.copied().unwrap_or_default();
        let (point_to_point, collectives): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|it| it.is_point_to_point);
        let last = |wanted: fn(&CollectiveEntry) -> bool| {
            collectives.iter().filter(|it| wanted(it)).map(|it| it.sequence).max()
        };
        let started = progress.started.max(last(|it| it.has_started));
        Self {
            rank,
            called: progress.called.max(last(|_| true)).unwrap_or_default(),
            started,
            ended: progress.ended.max(last(|it| it.has_ended)).unwrap_or_default(),
            collectives: collectives.iter().map(|it| (it.sequence, *it)).collect(),
            point_to_point,
        }
    }
}

struct Group<'a, 'b> {
    name: &'a str,
    description: &'a str,
    ranks: Vec<u32>,
    members: Vec<RankInGroup<'a>>,
    with_dump: &'b BTreeSet<u32>,
}

impl<'a> Group<'a, '_> {
    fn diagnose(self, is_library: &dyn Fn(&str) -> bool) -> GroupDiagnosis<'a> {
        let Self { name, description, mut ranks, members, with_dump } = self;
        if ranks.is_empty() {
            ranks = members.iter().map(|it| it.rank).collect();
        }
        let mut silent: Vec<u32> = ranks
            .iter()
            .copied()
            .filter(|rank| with_dump.contains(rank) && !members.iter().any(|it| it.rank == *rank))
            .collect();
        let called = members.iter().map(|it| it.called).max().unwrap_or_default();
        // What has ended elsewhere a rank has called, too, although its dump no longer has it.
        let all_ended = members.iter().map(|it| it.ended).min().unwrap_or_default();
        let differing = first_difference(&members);
        let sequence = differing.unwrap_or_else(|| (all_ended + 1).min(called));
        let (there, behind): (Vec<_>, Vec<_>) =
            members.iter().partition(|it| sequence <= it.called);
        let state = if differing.is_some() {
            GroupState::Mismatch
        } else if called <= all_ended {
            GroupState::Ended
        } else if behind.is_empty() && silent.is_empty() {
            GroupState::Running
        } else {
            GroupState::NotCalled
        };
        if state == GroupState::Ended {
            silent.clear();
        }
        let of = |it: &&RankInGroup<'a>| Some((it.rank, *it.collectives.get(&sequence)?));
        let last = |it: &&RankInGroup<'a>| Some((it.rank, *it.collectives.values().next_back()?));
        let pending = members.iter().flat_map(|it| {
            let waiting = it.point_to_point.iter().filter(|entry| !entry.has_ended);
            waiting.map(|entry| (it.rank, *entry))
        });
        let ended = |it: &&&RankInGroup<'a>| sequence <= it.ended;
        let begun = |it: &&&RankInGroup<'a>| it.started.is_some_and(|it| sequence <= it);
        GroupDiagnosis {
            name,
            description,
            without_dump: ranks.iter().copied().filter(|it| !with_dump.contains(it)).collect(),
            ranks,
            state,
            sequence,
            calls: grouped(there.iter().filter_map(of), is_library),
            behind: grouped(behind.iter().filter_map(last), is_library),
            silent,
            not_started: there
                .iter()
                .filter(|it| it.started.is_some() && !ended(it) && !begun(it))
                .map(|it| it.rank)
                .collect(),
            ended: there.iter().filter(ended).map(|it| it.rank).collect(),
            pending: grouped(pending, is_library),
        }
    }
}

/// The first number under which ranks called what does not go together.
fn first_difference(members: &[RankInGroup<'_>]) -> Option<u64> {
    let mut first: BTreeMap<u64, (&str, Option<Size<'_>>)> = BTreeMap::new();
    let mut differing: Option<u64> = None;
    for (&sequence, entry) in members.iter().flat_map(|it| &it.collectives) {
        let size = SAME_SIZES.contains(&entry.kind.as_str()).then(|| Size::of(entry));
        let this = (entry.kind.as_str(), size);
        if *first.entry(sequence).or_insert(this) != this {
            differing = Some(differing.map_or(sequence, |it| it.min(sequence)));
        }
    }
    differing
}

/// Elements in all, and the type of each tensor: how they are cut is the caller's business.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size<'a> {
    elements: u64,
    types: &'a [String],
}

impl<'a> Size<'a> {
    fn of(entry: &'a CollectiveEntry) -> Self {
        let elements = entry.input_elements.iter().fold(0, |sum: u64, it| sum.saturating_add(*it));
        Self { elements, types: &entry.input_types }
    }
}

/// Calls that are equal, with their ranks; those of most ranks first.
fn grouped<'a>(
    calls: impl Iterator<Item = (u32, &'a CollectiveEntry)>,
    is_library: &dyn Fn(&str) -> bool,
) -> Vec<SharedCall<'a>> {
    let mut found: Vec<SharedCall<'a>> = Vec::new();
    for (rank, entry) in calls {
        let own: Vec<_> = entry.frames.iter().filter(|it| !is_library(&it.file)).collect();
        let stack = if own.is_empty() { entry.frames.iter().collect() } else { own };
        let same = found.iter_mut().find(|it| {
            it.entry.kind == entry.kind
                && it.entry.sequence == entry.sequence
                && it.entry.input_elements == entry.input_elements
                && it.entry.input_types == entry.input_types
                && it.stack == stack
        });
        match same {
            Some(same) => same.ranks.push(rank),
            None => found.push(SharedCall { ranks: vec![rank], entry, stack }),
        }
    }
    found.sort_by_key(|it| (std::cmp::Reverse(it.ranks.len()), it.ranks.first().copied()));
    found
}
