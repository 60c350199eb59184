//! Nodes that follow each other, as pieces between collectives.

use ledger::Ns;
use profile::{DeviceEventId, HostEventId};
use run_summary::{CollectiveEvent, RecordedCollective};
use rustc_hash::FxHashMap;

use crate::nodes::{PathNode, PathTarget};

/// The critical path of a step, and of the collectives in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepPieces {
    /// The number of the step.
    pub number: Option<u32>,
    /// The first is what it ended with.
    pub pieces: Vec<RecordedPiece>,
}

/// What was done one after the other, with nothing between that another path branches off from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedPiece {
    /// The piece before, by its place in [`StepPieces::pieces`]; the step began with one that has none.
    pub before: Option<usize>,
    /// When it began, relative to the base of the recording.
    pub start: Ns,
    /// When it ended.
    pub end: Ns,
    /// The collective that it ends with, by its row in those of the recording, and when that began.
    pub collective: Option<(usize, Ns)>,
    /// What was launched in it.
    pub launched: Vec<Launched>,
}

/// What was launched, in a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launched {
    /// What ran.
    pub event: LaunchedEvent,
    /// How long it ran; of a collective, zero.
    pub ran: Ns,
    /// What came before it began.
    pub lead: Lead,
    /// How long that took.
    pub led: Ns,
}

/// What a launch made run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaunchedEvent {
    /// A device event.
    Device(DeviceEventId),
    /// A collective on the host, with the operator that launched it, where that is recorded.
    Host(Option<HostEventId>),
}

impl LaunchedEvent {
    /// What ran `collective`.
    #[must_use]
    pub fn of(collective: &RecordedCollective) -> Self {
        match collective.event {
            CollectiveEvent::Device(event) => Self::Device(event),
            CollectiveEvent::Host(_, launch) => Self::Host(launch),
        }
    }
}

/// What comes before the begin of what was launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lead {
    /// Its launch, from the call to the begin of the event.
    Launch,
    /// The time since what it waited for was done, or since it was launched, where what else it waited for is not known.
    Gap,
}

/// Which piece of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PieceId {
    /// The place of the step in [`crate::CriticalPaths::steps`].
    pub step: usize,
    /// The place of the piece in [`StepPieces::pieces`].
    pub piece: usize,
}

/// What a thread did for a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostPart {
    /// Which piece.
    pub piece: PieceId,
    /// From when, relative to the base of the recording.
    pub start: Ns,
    /// Until when.
    pub end: Ns,
}

/// Joins the nodes of the step with the place `step`. Parts of threads go to `host`.
pub(crate) fn pieces(
    step: usize,
    nodes: &[PathNode],
    collectives: &[RecordedCollective],
    on_device: &FxHashMap<DeviceEventId, usize>,
    host: &mut [Vec<HostPart>],
) -> Vec<RecordedPiece> {
    let collective = |node: &PathNode| match node.target {
        PathTarget::Device(event) => on_device.get(&event).copied(),
        PathTarget::HostCollective(row) => Some(row),
        PathTarget::Host(..) => None,
    };
    let places = places(nodes, |row| collective(&nodes[row]).is_some());
    let n_pieces = places.iter().max().map_or(0, |it| it + 1);
    let mut pieces =
        vec![RecordedPiece { start: Ns::MAX, end: Ns::MIN, ..RecordedPiece::default() }; n_pieces];
    for (row, node) in nodes.iter().enumerate() {
        let place = places[row];
        let piece = &mut pieces[place];
        piece.start = piece.start.min(node.from);
        piece.end = piece.end.max(node.end);
        if let Some(before) = node.before.filter(|it| places[*it] != place) {
            piece.before = Some(places[before]);
        }
        let it = collective(node);
        piece.collective = piece.collective.or(it.map(|row| (row, node.start)));
        let (ran, led) = (node.end - node.start, node.start - node.from);
        let event = match node.target {
            PathTarget::Device(event) => LaunchedEvent::Device(event),
            PathTarget::HostCollective(row) => LaunchedEvent::of(&collectives[row]),
            PathTarget::Host(thread, _) => {
                let part = HostPart {
                    piece: PieceId { step, piece: place },
                    start: node.start,
                    end: node.end,
                };
                host[thread].push(part);
                continue;
            }
        };
        let ran = if it.is_some() { Ns::ZERO } else { ran };
        let lead = if node.is_launched { Lead::Launch } else { Lead::Gap };
        piece.launched.push(Launched { event, ran, lead, led });
    }
    pieces
}

/// The place of the piece of each node: a collective has its own, and so has what comes before it or before several nodes. What the step ended
/// with, the first node, is in the first.
fn places(nodes: &[PathNode], is_collective: impl Fn(usize) -> bool) -> Vec<usize> {
    const SEVERAL: usize = usize::MAX - 1;
    const NONE: usize = usize::MAX;
    let mut after = vec![NONE; nodes.len()];
    for (row, node) in nodes.iter().enumerate() {
        if let Some(before) = node.before {
            after[before] = if after[before] == NONE { row } else { SEVERAL };
        }
    }
    let goes_on = |row: usize| {
        let next = after[row];
        if SEVERAL <= next {
            return None;
        }
        let is_end = row == 0 || is_collective(row) || is_collective(next);
        (!is_end).then_some(next)
    };
    let mut places = vec![NONE; nodes.len()];
    let mut n_places = 0;
    for row in 0..nodes.len() {
        let mut chain = vec![row];
        let place = loop {
            let last = chain[chain.len() - 1];
            if places[last] != NONE {
                break places[last];
            }
            match goes_on(last) {
                Some(next) => chain.push(next),
                None => {
                    n_places += 1;
                    break n_places - 1;
                }
            }
        };
        chain.into_iter().for_each(|it| places[it] = place);
    }
    places
}
