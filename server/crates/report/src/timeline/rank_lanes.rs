//! The collectives of each rank of a run beside the timeline of one of them, by the aligned clocks.

use std::cmp::Reverse;

use event_timeline::{LaneSpan, SpanName};
use ledger::{Ledger, LineKey, Ns};
use loader::EventTimeline;
use ranks::AlignedCollectives;
use rustc_hash::FxHashMap;

/// The most ranks that have a lane.
const MAX_RANKS: usize = 16;

/// What a rank does in a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CollectivePart {
    /// It waits for a rank, the last one that begins.
    WaitsFor(u32),
    /// All ranks have begun.
    Transfers,
}

/// What a span of a lane is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct RankSpan<'a> {
    /// The line that launched the collective, where it is known.
    pub(super) line: Option<&'a LineKey>,
    /// What is communicated: `all_reduce`.
    pub(super) collective: &'static str,
    /// What of the collective it is.
    pub(super) part: CollectivePart,
}

/// The lanes of ranks. Times are those of the timeline that they are shown with.
#[derive(Debug)]
pub(super) struct RankLanes {
    collectives: AlignedCollectives,
    /// From the times of `collectives` to those of the timeline.
    shift: Ns,
    /// The ranks that have a lane, by number.
    pub(super) ranks: Vec<u32>,
    /// How many others there are.
    pub(super) left_out: usize,
}

impl RankLanes {
    /// Those of a run; `None` where there is no collective that `timeline` and another rank of it recorded. Of many ranks
    /// those are chosen that others waited for longest, beside that of the timeline.
    pub(super) fn new(ledger: &Ledger, timeline: &EventTimeline) -> Option<Self> {
        let collectives = AlignedCollectives::new(ledger);
        let clock = collectives.clocks.0.get(&timeline.rank)?;
        let shift = Ns::ZERO.saturating_sub(timeline.base).saturating_sub(clock.shift);
        let waited_for = collectives.waited_for();
        let mut ranks: Vec<u32> = waited_for.keys().copied().collect();
        ranks.sort_by_key(|it| (*it != timeline.rank, Reverse(waited_for[it]), *it));
        let left_out = ranks.len().saturating_sub(MAX_RANKS);
        ranks.truncate(MAX_RANKS);
        ranks.sort_unstable();
        Some(Self { collectives, shift, ranks, left_out })
    }

    /// By how much the times of the ranks may be wrong beside each other, where their clocks had to be aligned.
    pub(super) fn uncertainty(&self) -> Option<Ns> {
        let clocks = &self.collectives.clocks;
        clocks.are_shifted().then(|| clocks.uncertainty())
    }

    /// What is in a range: the distinct spans, and by rank the times with rows of them, in order.
    pub(super) fn spans(&self, (from, to): (Ns, Ns)) -> (Vec<RankSpan<'_>>, Vec<Vec<LaneSpan>>) {
        let mut names: Vec<RankSpan<'_>> = Vec::new();
        let mut rows: FxHashMap<RankSpan<'_>, u32> = FxHashMap::default();
        let mut lanes: Vec<Vec<LaneSpan>> = vec![Vec::new(); self.ranks.len()];
        for it in &self.collectives.matched {
            let meeting = it.meeting();
            for part in &it.parts {
                let Ok(lane) = self.ranks.binary_search(&part.rank) else { continue };
                let [start, end] = [part.start, part.end].map(|at| at.saturating_add(self.shift));
                let all_began = start.saturating_add(meeting.wait(part));
                for (part_of_it, start, end) in [
                    (CollectivePart::WaitsFor(meeting.last), start, all_began),
                    (CollectivePart::Transfers, all_began, end),
                ] {
                    if end <= start || end <= from || to <= start {
                        continue;
                    }
                    let (line, collective) = (part.line.as_deref(), it.kind.name());
                    let name = RankSpan { line, collective, part: part_of_it };
                    let row = *rows.entry(name).or_insert_with(|| {
                        names.push(name);
                        u32::try_from(names.len() - 1).unwrap_or(u32::MAX)
                    });
                    lanes[lane].push(LaneSpan { start, end, name: SpanName::Named(row) });
                }
            }
        }
        lanes.iter_mut().for_each(|it| it.sort_by_key(|it| (it.start, Reverse(it.end))));
        (names, lanes)
    }
}
