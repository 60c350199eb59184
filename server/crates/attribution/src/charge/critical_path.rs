//! Critical paths, by the lines that were charged.

use critical_path::{CriticalPaths, LaunchedEvent, Lead, Piece};
use ledger::{LineKey, Ns, PathCollective, PathPiece, PathTime, RankPaths, StepPath, TimeRange};
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
    let charging = PathCharging { profile, stacks, events };
    let mut steps: Vec<StepPath> = paths
        .steps
        .iter()
        .map(|it| StepPath {
            pieces: it.pieces.iter().map(|it| charging.piece(it, collectives)).collect(),
        })
        .collect();
    for (&(at, line), &time) in host {
        steps[at.step].pieces[at.piece].lines.entry(charging.key(line)).or_default().host += time;
    }
    for piece in steps.iter_mut().flat_map(|it| &mut it.pieces) {
        // A thread on which nothing was recorded meanwhile.
        let TimeRange { start, end } = piece.time;
        let until = piece.collective.as_ref().map_or(end, |it| it.from);
        let known = piece.lines.values().fold(Ns::ZERO, |sum, it| sum.saturating_add(it.sum()));
        let rest = until.saturating_sub(start).saturating_sub(known);
        if rest != Ns::ZERO {
            piece.lines.entry(None).or_default().host += rest;
        }
    }
    RankPaths(paths.steps.iter().map(|it| it.number).zip(steps).collect())
}

struct PathCharging<'a> {
    profile: &'a Profile,
    stacks: &'a DeviceStacks,
    events: &'a EventStacks<'a>,
}

impl PathCharging<'_> {
    fn key(&self, line: LineId) -> Option<LineKey> {
        line.get().map(|line| line_key(&self.events.stacks.lines, line))
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

    fn piece(&self, piece: &Piece, collectives: &[RecordedCollective]) -> PathPiece {
        let at = |time: Ns| self.profile.meta.base.saturating_add(time);
        let mut times: FxHashMap<LineId, PathTime> = FxHashMap::default();
        for it in &piece.launched {
            let time = times.entry(self.line(it.event)).or_default();
            time.device += it.ran;
            *match it.lead {
                Lead::Launch => &mut time.launch,
                Lead::Gap => &mut time.gap,
            } += it.led;
        }
        let lines = times.into_iter().filter(|(_, time)| time.sum() != Ns::ZERO);
        PathPiece {
            before: piece.before.and_then(|it| u32::try_from(it).ok()),
            time: TimeRange { start: at(piece.start), end: at(piece.end) },
            collective: piece.collective.map(|(row, from)| {
                let it = &collectives[row];
                let event = match it.event {
                    CollectiveEvent::Device(event) => LaunchedEvent::Device(event),
                    CollectiveEvent::Host(_, launch) => LaunchedEvent::Host(launch),
                };
                PathCollective {
                    start: at(it.start),
                    from: at(from),
                    is_on_device: matches!(it.event, CollectiveEvent::Device(_)),
                    line: self.key(self.line(event)),
                }
            }),
            lines: lines.map(|(line, time)| (self.key(line), time)).collect(),
        }
    }
}
