//! What had to be done before the steps of the job could end: the critical paths of its ranks, joined at the collectives.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use ledger::{
    Ledger, LineKey, Ns, PathCollective, PathLineId, PathOutline, PathTime, PathsByRank,
    PieceOutline, RankPaths,
};

use crate::clocks::Clocks;
use crate::comparison::Comparison;
use crate::matching::Matched;
use crate::waits::Meeting;

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
    /// Joins `paths`, those of the ranks of a run, of which `compared` is the [`Comparison`], if it has several. `None` where none is known.
    ///
    /// # Errors
    /// If paths cannot be read.
    pub fn new(paths: &dyn PathsByRank, compared: Option<&Comparison>) -> io::Result<Option<Self>> {
        let (no_matches, no_clocks) = (Vec::new(), Clocks::default());
        let (matched, clocks) =
            compared.map_or((&no_matches, &no_clocks), |it| (&it.matched, &it.clocks));
        let joined = JoinedPaths::new(paths.outlines(), matched, clocks);
        let ends = joined.ends();
        let mut visits: BTreeMap<u32, RankVisits> = BTreeMap::new();
        for (&step, &(end, rank)) in &ends {
            joined.walk((rank, step, 0), end, &mut visits);
        }
        let mut lines: BTreeMap<Option<LineKey>, PathLine> = BTreeMap::new();
        for (rank, visits) in visits {
            let paths = paths.paths_of(rank)?;
            for (id, time) in visits.times(&paths) {
                let mine = lines.entry(paths.line(id).cloned()).or_default();
                mine.time.add(&time);
                add_to(&mut mine.by_rank, rank, time.sum());
            }
        }
        let mut sum = PathLine::default();
        lines.values().for_each(|it| sum.add(it));
        let lines = lines.into_iter().map(|(line, it)| PathLine { line, ..it });
        let mut lines: Vec<PathLine> = lines.collect();
        lines.sort_by_key(|it| std::cmp::Reverse(it.time.sum()));
        let steps = ends.len() as u64;
        Ok((steps != 0).then_some(Self { steps, time: sum.time, by_rank: sum.by_rank, lines }))
    }

    /// Joins `paths`, those of the ranks in `ledger`, which are compared for that. `None` where none is known.
    ///
    /// # Errors
    /// If paths cannot be read.
    pub fn of_ranks(paths: &dyn PathsByRank, ledger: &Ledger) -> io::Result<Option<Self>> {
        Self::new(paths, Comparison::new(ledger).as_ref())
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

/// What of the paths of a rank is on the path of the run.
#[derive(Default)]
struct RankVisits {
    /// Pieces, by step and place.
    pieces: Vec<(Option<u32>, u32)>,
    /// Collectives: which lines launched them, and what of them is on the path.
    collectives: Vec<(PathLineId, Ns)>,
}

impl RankVisits {
    /// What the time went to, by line of `paths`, those of the rank.
    fn times(&self, paths: &RankPaths) -> BTreeMap<PathLineId, PathTime> {
        let mut times: BTreeMap<PathLineId, PathTime> = BTreeMap::new();
        for &(line, communication) in &self.collectives {
            let time = PathTime { communication, ..PathTime::default() };
            times.entry(line).or_default().add(&time);
        }
        for (step, place) in &self.pieces {
            let piece = paths.steps.get(step).and_then(|it| it.pieces.get(*place as usize));
            for (line, time) in piece.into_iter().flat_map(|it| it.lines.iter()) {
                times.entry(line).or_default().add(&time);
            }
        }
        times
    }
}

/// The outlines of the paths of all ranks.
struct JoinedPaths<'a> {
    meetings: Vec<Meeting<'a>>,
    outlines: BTreeMap<u32, Cow<'a, PathOutline>>,
    /// The piece that ends with a collective.
    of_calls: BTreeMap<CallKey, PieceKey>,
    /// Which of `meetings` a collective is; of messages that run as one, that of which the last rank began last.
    matches: BTreeMap<CallKey, usize>,
    clocks: &'a Clocks,
}

impl<'a> JoinedPaths<'a> {
    fn new(
        outlines: BTreeMap<u32, Cow<'a, PathOutline>>,
        matched: &'a [Matched],
        clocks: &'a Clocks,
    ) -> Self {
        let mut of_calls = BTreeMap::new();
        for (&rank, outline) in &outlines {
            for (&step, pieces) in &**outline {
                for (place, piece) in (0..).zip(pieces) {
                    if let Some(it) = &piece.collective {
                        of_calls.insert(call(clocks, rank, it), (rank, step, place));
                    }
                }
            }
        }
        let meetings: Vec<Meeting<'a>> = matched.iter().map(Matched::meeting).collect();
        let mut matches = BTreeMap::new();
        for (row, (it, meeting)) in matched.iter().zip(&meetings).enumerate() {
            for part in it.parts.iter().filter(|part| !meeting.is_alone(part)) {
                let call = (part.rank, part.start, it.is_on_device);
                let mine = matches.entry(call).or_insert(row);
                if meetings[*mine].all_began < meeting.all_began {
                    *mine = row;
                }
            }
        }
        Self { meetings, outlines, of_calls, matches, clocks }
    }

    /// When each step ended, by the aligned clocks, and on which rank.
    fn ends(&self) -> BTreeMap<Option<u32>, (Ns, u32)> {
        let mut ends: BTreeMap<Option<u32>, (Ns, u32)> = BTreeMap::new();
        for (&rank, outline) in &self.outlines {
            for (&step, pieces) in &**outline {
                let Some(last) = pieces.first() else { continue };
                let end = (aligned(self.clocks, rank, last.time.end), rank);
                let latest = ends.entry(step).or_insert(end);
                *latest = (*latest).max(end);
            }
        }
        ends
    }

    fn piece(&self, (rank, step, place): PieceKey) -> Option<&PieceOutline> {
        self.outlines.get(&rank)?.get(&step)?.get(place as usize)
    }

    /// Walks back from `until`, at which the piece `key` ended, to the begin of the step.
    fn walk(&self, mut key: PieceKey, mut until: Ns, visits: &mut BTreeMap<u32, RankVisits>) {
        // A file may say that pieces come before one another in a circle, and so may clocks that are not known well.
        let mut seen = BTreeSet::new();
        while let Some(piece) = self.piece(key) {
            let mut at = key;
            if let Some(it) = &piece.collective {
                let rank = key.0;
                let call = call(self.clocks, rank, it);
                let late = self.late_piece(call).filter(|it| it.0 != key);
                let from = late.map_or(aligned(self.clocks, rank, it.from), |it| it.1);
                let communication = until.saturating_sub(from).max(Ns::ZERO);
                visits.entry(rank).or_default().collectives.push((it.line, communication));
                at = late.map_or(key, |it| it.0);
            }
            let (rank, step, place) = at;
            let Some(piece) = self.piece(at).filter(|_| seen.insert(at)) else { return };
            visits.entry(rank).or_default().pieces.push((step, place));
            let Some(before) = piece.before else { return };
            (key, until) = ((rank, step, before), aligned(self.clocks, rank, piece.time.start));
        }
    }

    /// The piece of the rank that began the collective last, and when that was.
    fn late_piece(&self, call: CallKey) -> Option<(PieceKey, Ns)> {
        let it = &self.meetings[*self.matches.get(&call)?];
        let late = (it.last, it.all_began, call.2);
        Some((*self.of_calls.get(&late)?, it.all_began))
    }
}

fn call(clocks: &Clocks, rank: u32, it: &PathCollective) -> CallKey {
    (rank, aligned(clocks, rank, it.start), it.is_on_device)
}

fn aligned(clocks: &Clocks, rank: u32, time: Ns) -> Ns {
    time.saturating_add(clocks.0.get(&rank).map_or(Ns::ZERO, |it| it.shift))
}
