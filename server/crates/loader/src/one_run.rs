//! Whether the recordings that were read as one run may be of one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ledger::{Ledger, LineBooks, Ns, TimeRange};
use profile::{Warning, WarningKind};

use crate::recorded_at::credible;
use crate::stable_hash::StableHash;
use crate::{Rank, shown};

/// How many functions of a rank are compared with those of the others.
const MAX_FUNCTIONS: usize = 16;
/// Share of the cost of these functions, in ‰, below which those that another rank has too do not make it the same program: a
/// launcher runs many.
const MIN_SHARED: u64 = 100;
/// Ranks of a run are recorded at the same time, or nearly so where nothing keeps them in step. Programs that are started one after
/// the other are further apart.
const MAX_PAUSE: Ns = Ns(10_000_000_000);

/// What the recordings of a rank say about the run that they are of.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunSigns {
    world_size: Option<u32>,
    /// From the first to the last step that was recorded, by a clock that counts from the Unix epoch.
    recorded: Option<TimeRange>,
    /// The functions of your code that took most time.
    by_time: Functions,
    /// The functions of your code that allocated most. A snapshot knows no others.
    by_bytes: Functions,
}

impl RunSigns {
    pub(crate) fn of(ledger: &Ledger) -> Self {
        Self {
            world_size: ledger.communication.values().filter_map(|it| it.world_size).max(),
            recorded: ledger
                .overviews
                .values()
                .filter_map(|it| it.recorded.filter(|it| credible(it.start).is_some()))
                .reduce(TimeRange::until_end_of),
            by_time: Functions::first(ledger, |it| it.cpu_own.0.max(it.cuda_own.0)),
            by_bytes: Functions::first(ledger, |it| it.alloc.0),
        }
    }

    fn add(&mut self, other: &Self) {
        self.world_size = self.world_size.max(other.world_size);
        self.recorded =
            [self.recorded, other.recorded].into_iter().flatten().reduce(TimeRange::until_end_of);
        self.by_time.add(&other.by_time);
        self.by_bytes.add(&other.by_bytes);
    }

    /// Whether one was recorded long after the other, and neither is of a job that says how many ranks it has.
    fn are_apart(&self, other: &Self) -> bool {
        let (Some(mine), Some(theirs)) = (self.recorded, other.recorded) else { return false };
        let pause = |first: TimeRange, next: TimeRange| next.start.saturating_sub(first.end);
        let length = |it: TimeRange| it.end.saturating_sub(it.start);
        let longest = length(mine).max(length(theirs));
        let pause = pause(mine, theirs).max(pause(theirs, mine));
        self.world_size.is_none() && other.world_size.is_none() && MAX_PAUSE.max(longest) < pause
    }

    /// Whether both are of one program, as far as both say.
    fn is_same_program(&self, other: &Self) -> bool {
        let by_time = self.by_time.have_in_common(&other.by_time);
        let by_bytes = self.by_bytes.have_in_common(&other.by_bytes);
        by_time == Some(true) || by_bytes == Some(true) || by_time.or(by_bytes).is_none()
    }
}

/// Functions by a hash of their names, with their share of the cost of all of these, in ‰.
#[derive(Debug, Clone, Default)]
struct Functions(BTreeMap<u64, u64>);

impl Functions {
    /// Those with the highest `cost`, which is that of one line.
    fn first(ledger: &Ledger, cost: impl Fn(&LineBooks) -> i64) -> Self {
        let mut costs: BTreeMap<u64, u64> = BTreeMap::new();
        for (key, books) in &ledger.lines {
            let cost = u64::try_from(cost(books)).unwrap_or(0);
            if 0 < cost && ledger.files.get(&key.file).is_some_and(|it| it.is_user_code) {
                let sum = costs.entry(function_hash(&key.file, &books.function)).or_default();
                *sum = sum.saturating_add(cost);
            }
        }
        let mut costs: Vec<(u64, u64)> = costs.into_iter().collect();
        costs.sort_unstable_by_key(|&(function, cost)| (Reverse(cost), function));
        costs.truncate(MAX_FUNCTIONS);
        let all: u128 = costs.iter().map(|(_, cost)| u128::from(*cost)).sum();
        let share = |cost| u64::try_from(u128::from(cost) * 1000 / all.max(1)).unwrap_or(1000);
        Self(costs.into_iter().map(|(function, cost)| (function, share(cost))).collect())
    }

    fn add(&mut self, other: &Self) {
        for (&function, &share) in &other.0 {
            let mine = self.0.entry(function).or_default();
            *mine = share.max(*mine);
        }
    }

    /// Whether what both have takes a good part of the cost of one of them. `None` where one has none.
    fn have_in_common(&self, other: &Self) -> Option<bool> {
        let shared = |of: &Self, with: &Self| {
            of.0.iter()
                .filter(|(it, _)| with.0.contains_key(it))
                .map(|(_, share)| share)
                .sum::<u64>()
        };
        let are_known = !self.0.is_empty() && !other.0.is_empty();
        are_known.then(|| MIN_SHARED <= shared(self, other).max(shared(other, self)))
    }
}

/// Folders differ over machines, and qualified names are known where the source was found.
fn function_hash(file: &str, function: &str) -> u64 {
    let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let function = function.rsplit('.').next().unwrap_or(function);
    let mut hash = StableHash::new();
    hash.bytes(file.as_bytes());
    hash.bytes(function.as_bytes());
    hash.0 as u64
}

/// What one input holds of each rank.
pub(crate) struct InputSigns {
    pub(crate) path: PathBuf,
    pub(crate) ranks: Vec<RankSigns>,
}

pub(crate) struct RankSigns {
    pub(crate) rank: u32,
    steps: BTreeSet<u32>,
    signs: RunSigns,
}

impl RankSigns {
    pub(crate) fn of_ledger(rank: u32, ledger: &Ledger) -> Self {
        Self { rank, steps: ledger.steps.keys().copied().collect(), signs: RunSigns::of(ledger) }
    }

    pub(crate) fn of_rank(rank: &Rank) -> Self {
        let steps = rank.steps.keys().copied().collect();
        Self { rank: rank.rank, steps, signs: rank.signs.clone() }
    }
}

/// Inputs that may be of one run.
struct InputGroup<'a> {
    first: &'a Path,
    signs: RunSigns,
    ranks: BTreeSet<u32>,
    /// Rank and step.
    steps: BTreeSet<(u32, u32)>,
}

impl<'a> InputGroup<'a> {
    fn new(first: &'a Path) -> Self {
        Self { first, signs: RunSigns::default(), ranks: BTreeSet::new(), steps: BTreeSet::new() }
    }

    fn add(&mut self, input: &InputSigns) {
        for it in &input.ranks {
            self.signs.add(&it.signs);
            self.ranks.insert(it.rank);
            self.steps.extend(it.steps.iter().map(|&step| (it.rank, step)));
        }
    }

    /// Why `input` is not of this run, if that is known.
    fn contradiction(&self, input: &InputSigns) -> Option<String> {
        let first = shown(self.first);
        let mut all = RunSigns::default();
        for it in &input.ranks {
            if let Some(step) = it.steps.iter().find(|&&step| self.steps.contains(&(it.rank, step)))
            {
                return Some(format!("both have step {step} of rank {}", it.rank));
            }
            all.add(&it.signs);
        }
        if let (Some(mine), Some(theirs)) = (self.signs.world_size, all.world_size)
            && mine != theirs
        {
            return Some(format!("its job has {theirs} ranks, that of {first} has {mine}"));
        }
        if !self.signs.is_same_program(&all) {
            return Some("hardly any function of your code is in both".to_owned());
        }
        // What a process recorded from time to time is of one rank.
        let is_rank_known = input.ranks.iter().any(|it| self.ranks.contains(&it.rank));
        let is_other = !is_rank_known && self.signs.are_apart(&all);
        is_other.then(|| {
            "one was recorded after the other, and neither names a job of several ranks".to_owned()
        })
    }
}

/// A warning for the first input that is of another run than those before it, where the inputs cannot be of one.
pub(crate) fn other_run(inputs: &[InputSigns]) -> Option<(&Path, Warning)> {
    let mut groups: Vec<InputGroup<'_>> = Vec::new();
    let mut reason = None;
    for input in inputs {
        let fit = groups.iter().position(|group| group.contradiction(input).is_none());
        let index = fit.unwrap_or_else(|| {
            reason = reason.take().or_else(|| groups.first()?.contradiction(input));
            groups.push(InputGroup::new(&input.path));
            groups.len() - 1
        });
        groups[index].add(input);
    }
    let [first, second, others @ ..] = &*groups else { return None };
    let all = match others.len() {
        0 => "both".to_owned(),
        n => format!("these and {n} more runs"),
    };
    let message = format!(
        "this is of another run than {}: {}; what is shown is the sum of {all}: name the recordings of one run, or compare two with \
         `perfline diff`",
        shown(first.first),
        reason?,
    );
    let warning = Warning { kind: WarningKind::OtherRun, message, offset: None, count: 1 };
    Some((second.first, warning))
}
