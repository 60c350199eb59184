//! Critical paths, by the lines that were charged.

use std::collections::{BTreeMap, BTreeSet};

use critical_path::{CriticalPaths, LaunchedEvent, Lead, RecordedPiece};
use ledger::{
    LineKey, Ns, PathCollective, PathLineId, PathPiece, PathTime, RankPaths, StepPath, TimeRange,
};
use line_stacks::{LineId, line_key};
use profile::Profile;
use run_summary::{CollectiveEvent, RecordedCollective};
use rustc_hash::FxHashMap;

use super::device::DeviceStacks;
use crate::event_stacks::EventStacks;
use crate::host_charges::PathCharges;

/// What the ledger keeps of `paths`; `host` is what the timeline pass charged for them.
pub(crate) fn critical_paths(
    profile: &Profile,
    paths: &CriticalPaths,
    collectives: &[RecordedCollective],
    stacks: &DeviceStacks,
    (events, host): (&EventStacks<'_>, &PathCharges),
) -> RankPaths {
    let mut charging =
        PathCharging { profile, stacks, events, collectives, lines: BTreeMap::new() };
    let mut charges: Vec<Vec<LineTimes>> = paths
        .steps
        .iter()
        .map(|it| it.pieces.iter().map(|it| charging.launched(it)).collect())
        .collect();
    for (&(at, line), &time) in host {
        charges[at.step][at.piece].entry(line).or_default().host += time;
    }
    let named = paths.steps.iter().flat_map(|it| &it.pieces).filter_map(|it| it.collective);
    let lines: Vec<LineId> = named
        .map(|(row, _)| charging.line(LaunchedEvent::of(&collectives[row])))
        .chain(charges.iter().flatten().flat_map(|it| it.keys().copied()))
        .collect();
    charging.name_lines(lines);
    let mut steps = BTreeMap::new();
    for (step, charges) in paths.steps.iter().zip(charges) {
        let pieces = step.pieces.iter().zip(charges).map(|(it, times)| charging.piece(it, times));
        steps.insert(step.number, StepPath { pieces: pieces.collect() });
    }
    RankPaths { lines: charging.lines.into_keys().collect(), steps }
}

/// What the time of a piece went to.
type LineTimes = FxHashMap<LineId, PathTime>;

struct PathCharging<'a> {
    profile: &'a Profile,
    stacks: &'a DeviceStacks,
    events: &'a EventStacks<'a>,
    collectives: &'a [RecordedCollective],
    /// The place of each line in the order of all.
    lines: BTreeMap<LineKey, u32>,
}

impl PathCharging<'_> {
    fn name_lines(&mut self, lines: Vec<LineId>) {
        let known = lines.into_iter().filter_map(LineId::get);
        let key = |line| line_key(&self.events.stacks.lines, line);
        let keys: BTreeSet<LineKey> = known.map(key).collect();
        self.lines = keys.into_iter().zip(0..).collect();
    }

    fn place(&self, line: LineId) -> PathLineId {
        let line = line_key(&self.events.stacks.lines, line.get()?);
        self.lines.get(&line).copied()
    }

    fn line(&self, event: LaunchedEvent) -> LineId {
        match event {
            LaunchedEvent::Device(event) => {
                self.events.stacks.charged_line(self.stacks.node(event))
            }
            LaunchedEvent::Host(Some(launch)) => self.events.charged_line(launch),
            LaunchedEvent::Host(None) => LineId::NONE,
        }
    }

    /// What was launched in a piece.
    fn launched(&self, piece: &RecordedPiece) -> LineTimes {
        let mut times = LineTimes::default();
        for it in &piece.launched {
            let time = times.entry(self.line(it.event)).or_default();
            time.device += it.ran;
            *match it.lead {
                Lead::Launch => &mut time.launch,
                Lead::Gap => &mut time.gap,
            } += it.led;
        }
        times
    }

    fn piece(&self, piece: &RecordedPiece, times: LineTimes) -> PathPiece {
        let at = |time: Ns| self.profile.meta.base.saturating_add(time);
        let mut lines: BTreeMap<PathLineId, PathTime> = BTreeMap::new();
        for (line, time) in times {
            lines.entry(self.place(line)).or_default().add(&time);
        }
        // A thread on which nothing was recorded meanwhile.
        let until = piece.collective.map_or(piece.end, |(_, from)| from);
        let known = lines.values().fold(Ns::ZERO, |sum, it| sum.saturating_add(it.sum()));
        lines.entry(None).or_default().host += until - piece.start - known;
        PathPiece {
            before: piece.before.and_then(|it| u32::try_from(it).ok()),
            time: TimeRange { start: at(piece.start), end: at(piece.end) },
            collective: piece.collective.map(|(row, from)| {
                let it = &self.collectives[row];
                PathCollective {
                    start: at(it.start),
                    from: at(from),
                    is_on_device: matches!(it.event, CollectiveEvent::Device(_)),
                    line: self.place(self.line(LaunchedEvent::of(it))),
                }
            }),
            lines: lines.into_iter().filter(|(_, time)| time.sum() != Ns::ZERO).collect(),
        }
    }
}
