//! What had to be done on a rank before its steps, and the collectives in them, could end: `docs/accounting.md`, The critical path.

use std::collections::BTreeMap;

use crate::amount::Amount;
use crate::{LineKey, Ns, TimeRange};

/// The critical paths of the steps of one rank, by step; one without a number of a recording without steps.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RankPaths(pub BTreeMap<Option<u32>, StepPath>);

impl RankPaths {
    /// Whether every instant of each path is on one line, or in one collective.
    #[must_use]
    pub fn are_whole(&self) -> bool {
        self.0.values().all(StepPath::is_whole)
    }

    /// Adds those of another recording of the rank. Of a step that both have, the longer one is kept.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (step, theirs) in &other.0 {
            let mine = self.0.entry(*step).or_insert_with(|| theirs.clone());
            if (mine.length(), &*mine) < (theirs.length(), theirs) {
                mine.clone_from(theirs);
            }
        }
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
    /// What the time went to, by line, but for the collective; `None` where the line is not known.
    pub lines: BTreeMap<Option<LineKey>, PathTime>,
}

impl PathPiece {
    fn is_whole(&self) -> bool {
        let TimeRange { start, end } = self.time;
        let until = self.collective.as_ref().map_or(end, |it| it.from);
        let known = self.lines.values().fold(Ns::ZERO, |sum, it| sum.saturating_add(it.sum()));
        start <= until && until <= end && known == until.saturating_sub(start)
    }
}

/// A collective on a critical path, to the end of the piece.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct PathCollective {
    /// When it began on the rank, since the Unix epoch by the clock of the host: [`crate::CollectiveCall::start`].
    pub start: Ns,
    /// From when it is on the path: later if what came before on its stream was not over.
    pub from: Ns,
    /// Whether a device ran it.
    pub is_on_device: bool,
    /// The line that launched it, where it is known.
    pub line: Option<LineKey>,
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
