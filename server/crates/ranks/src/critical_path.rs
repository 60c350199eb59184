//! What had to be done before the steps of the job could end: the critical paths of its ranks, joined at the collectives.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{Ledger, LineKey, Ns, PathCollective, PathLineId, PathPiece, PathTime, RankPaths};

use crate::clocks::Clocks;
use crate::comparison::Comparison;
use crate::matching::Matched;

/// The critical path of the steps of a run. Times are sums over the steps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CriticalPath {
    /// How many steps.
    pub steps: u64,
    /// What the time went to.
    pub time: PathTime,
    /// How long it was on each rank.
    pub by_rank: BTreeMap<u32, Ns>,
    /// By line, those with most first; `None` of what has none.
    pub lines: Vec<PathLine>,
}

/// What a line has on the critical path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathLine {
    /// Which line.
    pub line: Option<LineKey>,
    /// What its time went to.
    pub time: PathTime,
    /// How long it was on each rank.
    pub by_rank: BTreeMap<u32, Ns>,
}

impl PathLine {
    /// Adds what another line has.
    pub fn add(&mut self, other: &Self) {
        self.time.add(&other.time);
        other.by_rank.iter().for_each(|(&rank, &time)| add_to(&mut self.by_rank, rank, time));
    }
}

/// A piece, by rank, step and place.
type PieceKey = (u32, Option<u32>, u32);

/// A collective of a rank: the rank, its begin by the aligned clocks, whether a device ran it.
type CallKey = (u32, Ns, bool);

impl CriticalPath {
    /// Joins the paths of the ranks in `ledger` at the collectives `matched`, by the aligned `clocks`. `None` where no path is known.
    #[must_use]
    fn new(ledger: &Ledger, matched: &[Matched], clocks: &Clocks) -> Option<Self> {
        let joined = JoinedPaths::new(ledger, matched, clocks);
        let mut ends: BTreeMap<Option<u32>, (Ns, u32)> = BTreeMap::new();
        for (&rank, paths) in &ledger.critical_paths {
            for (&step, path) in &paths.steps {
                let Some(last) = path.pieces.first() else { continue };
                let end = (joined.aligned(rank, last.time.end), rank);
                let latest = ends.entry(step).or_insert(end);
                *latest = (*latest).max(end);
            }
        }
        let mut lines: BTreeMap<Option<LineKey>, PathLine> = BTreeMap::new();
        for (&step, &(end, rank)) in &ends {
            joined.walk((rank, step, 0), end, &mut |rank, line, time| {
                let mine = lines.entry(line.cloned()).or_default();
                mine.time.add(time);
                add_to(&mut mine.by_rank, rank, time.sum());
            });
        }
        let mut sum = PathLine::default();
        lines.values().for_each(|it| sum.add(it));
        let lines = lines.into_iter().map(|(line, it)| PathLine { line, ..it });
        let mut lines: Vec<PathLine> = lines.collect();
        lines.sort_by_key(|it| std::cmp::Reverse(it.time.sum()));
        let steps = ends.len() as u64;
        (steps != 0).then_some(Self { steps, time: sum.time, by_rank: sum.by_rank, lines })
    }

    /// The path of the run in `ledger`. `None` where none is known.
    #[must_use]
    pub fn of_ledger(ledger: &Ledger) -> Option<Self> {
        Self::of_run(ledger, Comparison::new(ledger).as_ref())
    }

    /// The path of the run in `ledger`, of which `compared` is the [`Comparison`], if it has several ranks. `None` where none is known.
    #[must_use]
    pub fn of_run(ledger: &Ledger, compared: Option<&Comparison>) -> Option<Self> {
        match compared {
            Some(it) => Self::new(ledger, &it.matched, &it.clocks),
            None => Self::new(ledger, &[], &Clocks::default()),
        }
    }

    /// What a line has on the path; `None` where it has nothing.
    #[must_use]
    pub fn line(&self, line: &LineKey) -> Option<&PathLine> {
        self.lines.iter().find(|it| it.line.as_ref() == Some(line))
    }

    /// What a time over all steps is in the mean step.
    #[must_use]
    pub fn per_step(&self, time: Ns) -> Ns {
        time / i64::try_from(self.steps.max(1)).unwrap_or(i64::MAX)
    }
}

fn add_to(sums: &mut BTreeMap<u32, Ns>, rank: u32, time: Ns) {
    let sum = sums.entry(rank).or_default();
    *sum = sum.saturating_add(time);
}

/// The paths of all ranks.
struct JoinedPaths<'a> {
    matched: &'a [Matched],
    paths: &'a BTreeMap<u32, RankPaths>,
    /// The piece that ends with a collective.
    of_calls: BTreeMap<CallKey, PieceKey>,
    /// Which of `matched` a collective is; of messages that run as one, that of which the last rank began last.
    matches: BTreeMap<CallKey, usize>,
    clocks: &'a Clocks,
}

impl<'a> JoinedPaths<'a> {
    fn new(ledger: &'a Ledger, matched: &'a [Matched], clocks: &'a Clocks) -> Self {
        let paths = &ledger.critical_paths;
        let (of_calls, matches) = (BTreeMap::new(), BTreeMap::new());
        let mut joined = Self { matched, paths, of_calls, matches, clocks };
        for (&rank, paths) in paths {
            for (&step, path) in &paths.steps {
                for (place, piece) in (0..).zip(&path.pieces) {
                    if let Some(it) = &piece.collective {
                        joined.of_calls.insert(joined.call(rank, it), (rank, step, place));
                    }
                }
            }
        }
        for (row, it) in matched.iter().enumerate() {
            for part in it.parts.iter().filter(|part| !it.is_alone(part)) {
                let call = (part.rank, part.start, it.is_on_device);
                let mine = joined.matches.entry(call).or_insert(row);
                if matched[*mine].all_began() < it.all_began() {
                    *mine = row;
                }
            }
        }
        joined
    }

    fn piece(&self, (rank, step, place): PieceKey) -> Option<&PathPiece> {
        self.paths.get(&rank)?.steps.get(&step)?.pieces.get(place as usize)
    }

    fn line(&self, rank: u32, id: PathLineId) -> Option<&LineKey> {
        self.paths.get(&rank)?.line(id)
    }

    fn call(&self, rank: u32, it: &PathCollective) -> CallKey {
        (rank, self.aligned(rank, it.start), it.is_on_device)
    }

    fn aligned(&self, rank: u32, time: Ns) -> Ns {
        time.saturating_add(self.clocks.0.get(&rank).map_or(Ns::ZERO, |it| it.shift))
    }

    /// Walks back from `until`, at which the piece `key` ended, to the begin of the step.
    fn walk(
        &self,
        mut key: PieceKey,
        mut until: Ns,
        add: &mut impl FnMut(u32, Option<&LineKey>, &PathTime),
    ) {
        // A file may say that pieces come before one another in a circle, and so may clocks that are not known well.
        let mut seen = BTreeSet::new();
        while let Some(piece) = self.piece(key) {
            let mut at = key;
            if let Some(it) = &piece.collective {
                let rank = key.0;
                let late = self.late_piece(self.call(rank, it)).filter(|it| it.0 != key);
                let from = late.map_or(self.aligned(rank, it.from), |it| it.1);
                let communication = until.saturating_sub(from).max(Ns::ZERO);
                let time = PathTime { communication, ..PathTime::default() };
                add(rank, self.line(rank, it.line), &time);
                at = late.map_or(key, |it| it.0);
            }
            let (rank, step, _) = at;
            let Some(piece) = self.piece(at).filter(|_| seen.insert(at)) else { return };
            for (line, time) in piece.lines.iter() {
                add(rank, self.line(rank, line), &time);
            }
            let Some(before) = piece.before else { return };
            (key, until) = ((rank, step, before), self.aligned(rank, piece.time.start));
        }
    }

    /// The piece of the rank that began the collective last, and when that was.
    fn late_piece(&self, call: CallKey) -> Option<(PieceKey, Ns)> {
        let it = &self.matched[*self.matches.get(&call)?];
        let began = it.all_began();
        let late = (it.last(), began, it.is_on_device);
        Some((*self.of_calls.get(&late)?, began))
    }
}
