//! What had to be done on a rank before its steps, and the collectives in them, could end: `docs/accounting.md`, The critical path.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::amount::Amount;
use crate::{Ledger, LineKey, Ns, PackedList, TimeRange};

/// The critical paths of the steps of one rank.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RankPaths {
    /// The lines on them, in order.
    pub lines: Vec<LineKey>,
    /// By step; one without a number of a recording without steps.
    pub steps: BTreeMap<Option<u32>, StepPath>,
}

/// A line of [`RankPaths::lines`] by its place; `None` where the line is not known.
pub type PathLineId = Option<u32>;

impl RankPaths {
    /// The line with the place `id`.
    #[must_use]
    pub fn line(&self, id: PathLineId) -> Option<&LineKey> {
        self.lines.get(id? as usize)
    }

    /// What the paths of several ranks are joined by.
    #[must_use]
    pub fn outline(&self) -> PathOutline {
        let piece = |it: &PathPiece| PieceOutline {
            before: it.before,
            time: it.time,
            collective: it.collective,
        };
        let steps = self.steps.iter();
        steps.map(|(&step, path)| (step, path.pieces.iter().map(piece).collect())).collect()
    }

    /// Whether every instant of each path is on one line, or in one collective.
    #[must_use]
    pub fn are_whole(&self) -> bool {
        self.steps.values().all(StepPath::is_whole)
    }

    /// Adds those of another recording of the rank. Of a step that both have, the longer one is kept.
    pub(crate) fn merge(&mut self, other: &Self) {
        let mut theirs = other.clone();
        let lines: BTreeSet<LineKey> = self.lines.iter().chain(&theirs.lines).cloned().collect();
        let lines: Vec<LineKey> = lines.into_iter().collect();
        self.name_lines(&lines);
        theirs.name_lines(&lines);
        for (step, theirs) in theirs.steps {
            match self.steps.get_mut(&step) {
                Some(mine) if (theirs.length(), &theirs) <= (mine.length(), mine) => {}
                _ => {
                    self.steps.insert(step, theirs);
                }
            }
        }
        self.keep_used_lines();
    }

    /// Names lines by their places in `lines`, which are in order and hold all of its own.
    fn name_lines(&mut self, lines: &[LineKey]) {
        let places: Vec<PathLineId> = self
            .lines
            .iter()
            .map(|it| lines.binary_search(it).ok().and_then(|it| u32::try_from(it).ok()))
            .collect();
        let place = |id: PathLineId| places.get(id? as usize).copied().flatten();
        for piece in self.steps.values_mut().flat_map(|it| &mut it.pieces) {
            piece.lines = piece.lines.iter().map(|(line, time)| (place(line), time)).collect();
            if let Some(it) = &mut piece.collective {
                it.line = place(it.line);
            }
        }
        self.lines = lines.to_vec();
    }

    /// Forgets lines of steps that were not kept, so that the order of merging makes no difference.
    fn keep_used_lines(&mut self) {
        let pieces = self.steps.values().flat_map(|it| &it.pieces);
        let ids = pieces.flat_map(|it| {
            let collective = it.collective.as_ref().and_then(|it| it.line);
            it.lines.iter().filter_map(|(line, _)| line).chain(collective)
        });
        let used: BTreeSet<u32> = ids.collect();
        if used.len() < self.lines.len() {
            let lines: Vec<LineKey> =
                used.iter().filter_map(|&it| self.line(Some(it)).cloned()).collect();
            self.name_lines(&lines);
        }
    }
}

/// By step, [`StepPath::pieces`] without what their time went to. Of a run of thousands of ranks, the paths take more than all else
/// that is known of it, and few of them are a part of the path of the run.
pub type PathOutline = BTreeMap<Option<u32>, Vec<PieceOutline>>;

/// A [`PathPiece`] without what its time went to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PieceOutline {
    /// [`PathPiece::before`].
    pub before: Option<u32>,
    /// [`PathPiece::time`].
    pub time: TimeRange,
    /// [`PathPiece::collective`].
    pub collective: Option<PathCollective>,
}

/// What knows the critical paths of ranks.
pub trait PathsByRank {
    /// The outlines of the paths, by rank.
    fn outlines(&self) -> BTreeMap<u32, Cow<'_, PathOutline>>;

    /// The paths of a rank that has an outline.
    ///
    /// # Errors
    /// If they cannot be read from where they were put.
    fn paths_of(&self, rank: u32) -> io::Result<Cow<'_, RankPaths>>;
}

impl PathsByRank for Ledger {
    fn outlines(&self) -> BTreeMap<u32, Cow<'_, PathOutline>> {
        self.critical_paths.iter().map(|(&rank, it)| (rank, Cow::Owned(it.outline()))).collect()
    }

    fn paths_of(&self, rank: u32) -> io::Result<Cow<'_, RankPaths>> {
        Ok(self.critical_paths.get(&rank).map_or_else(Cow::default, Cow::Borrowed))
    }
}

/// The critical path of a step of one rank, and of each collective launched in it.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct StepPath {
    /// The first is what the step ended with.
    pub pieces: Vec<PathPiece>,
}

impl StepPath {
    fn is_whole(&self) -> bool {
        let begin = self.pieces.iter().map(|it| it.time.start).min();
        self.pieces.iter().all(|it| {
            let follows = match it.before {
                None => Some(it.time.start) == begin,
                Some(before) => {
                    let before = self.pieces.get(before as usize);
                    before.is_some_and(|before| before.time.end == it.time.start)
                }
            };
            follows && it.is_whole()
        })
    }

    fn length(&self) -> Ns {
        let Some(last) = self.pieces.first() else { return Ns::ZERO };
        let begin = self.pieces.iter().map(|it| it.time.start).min().unwrap_or(last.time.end);
        last.time.end.saturating_sub(begin)
    }
}

/// What was done one after the other, up to a collective or to where paths meet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct PathPiece {
    /// The piece before, by its place in [`StepPath::pieces`]. The step begins with one that has none.
    pub before: Option<u32>,
    /// From when until when, since the Unix epoch by the clock of the host.
    pub time: TimeRange,
    /// The collective that the piece ends with.
    pub collective: Option<PathCollective>,
    /// What the time went to, by line, but for the collective.
    pub lines: PackedList<(PathLineId, PathTime)>,
}

impl PathPiece {
    fn is_whole(&self) -> bool {
        let TimeRange { start, end } = self.time;
        let until = self.collective.as_ref().map_or(end, |it| it.from);
        let known = self.lines.iter().fold(Ns::ZERO, |sum, (_, it)| sum.saturating_add(it.sum()));
        start <= until && until <= end && known == until.saturating_sub(start)
    }
}

/// A collective on a critical path, to the end of the piece.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct PathCollective {
    /// When it began on the rank, since the Unix epoch by the clock of the host: [`crate::CollectiveCall::start`].
    pub start: Ns,
    /// From when it is on the path: later if what came before on its stream was not over.
    pub from: Ns,
    /// Whether a device ran it.
    pub is_on_device: bool,
    /// The line that launched it.
    pub line: PathLineId,
}

/// What time on a critical path went to.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct PathTime {
    /// A thread that was on the line.
    pub host: Ns,
    /// From the call of a launch to the begin of what was launched.
    pub launch: Ns,
    /// Device events that do not communicate.
    pub device: Ns,
    /// Collectives, from when all ranks that are recorded had begun.
    pub communication: Ns,
    /// From when what a device event waited for was done to its begin.
    pub gap: Ns,
}

impl PathTime {
    /// All of it.
    #[must_use]
    pub fn sum(&self) -> Ns {
        let Self { host, launch, device, communication, gap } = *self;
        [launch, device, communication, gap].into_iter().fold(host, Ns::saturating_add)
    }

    /// The parts with stable names.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, Ns); 5] {
        [
            ("device", self.device),
            ("host", self.host),
            ("launch", self.launch),
            ("communication", self.communication),
            ("gap", self.gap),
        ]
    }

    /// Adds `other`.
    pub fn add(&mut self, other: &Self) {
        let Self { host, launch, device, communication, gap } = *other;
        self.host.gain(host);
        self.launch.gain(launch);
        self.device.gain(device);
        self.communication.gain(communication);
        self.gap.gain(gap);
    }
}
