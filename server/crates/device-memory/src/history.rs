//! What a device held when, allocation by allocation, and what of it a picture of a range of time can show.

use std::cmp::Reverse;

use ledger::{Bytes, LineKey, Phase, StepMemory};

use crate::space::{Space, SpaceChange};

/// What one device held over time, filled only if a load asks for it: it has a row for each allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryHistory {
    /// The rank that it is of.
    pub rank: u32,
    /// Ordinal of the device; [`Self::HOST`] is the memory of the host.
    pub device: i32,
    /// What it is called: `cuda:0`, `cpu`.
    pub name: String,
    /// Whether `at` counts nanoseconds; else it counts events.
    pub has_times: bool,
    /// When each event was, counted from the first one; never falls.
    pub at: Vec<i64>,
    /// Bytes in use before the first event.
    pub active_at_start: Bytes,
    /// Bytes in use after each event.
    pub active: Vec<Bytes>,
    /// Bytes reserved before the first event.
    pub reserved_at_start: Bytes,
    /// Bytes reserved after each event.
    pub reserved: Vec<Bytes>,
    /// Who allocates.
    pub holders: Vec<Holder>,
    /// Every allocation that is known of. What is alive after an event adds up to `active`.
    pub allocations: Vec<HeldAllocation>,
    /// The steps that could be distinguished, in order.
    pub steps: Vec<StepMemory>,
    /// What is reserved at the end.
    pub(crate) space_at_end: Space,
    /// The events that reserve memory or give it back to the device.
    pub(crate) space_changes: Vec<(u32, SpaceChange)>,
}

/// What memory is charged to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Holder {
    /// The line, and its function; `None` where no line is known.
    pub line: Option<(LineKey, String)>,
    /// When in the step it allocates.
    pub phase: HolderPhase,
}

/// When what a holder has was allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HolderPhase {
    /// Before recording began.
    Before,
    /// In this part of a training step.
    In(Phase),
}

impl HolderPhase {
    /// All of them, in order of time.
    pub const ALL: [Self; 4] = [
        Self::Before,
        Self::In(Phase::Forward),
        Self::In(Phase::Backward),
        Self::In(Phase::Optimizer),
    ];

    /// Stable name in machine-readable output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::In(phase) => phase.name(),
        }
    }
}

/// One allocation: a row of [`MemoryHistory::holders`], and the events that began and ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldAllocation {
    /// Who made it.
    pub holder: u32,
    /// Who gave it back, where that is known.
    pub released_by: Option<u32>,
    /// Where it begins.
    pub address: u64,
    /// Its size.
    pub bytes: Bytes,
    /// The event that made it; `None` if it is older than the first.
    pub from: Option<u32>,
    /// The event that released it; `None` while it is in use.
    pub to: Option<u32>,
}

/// Which part of a history is drawn, and how finely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryRange {
    /// From when to when, as [`MemoryHistory::at`] counts; `None` is all of it.
    pub range: Option<(i64, i64)>,
    /// In how many parts of equal length it is divided.
    pub parts: usize,
    /// How many holders are shown by themselves.
    pub holders: usize,
    /// How many allocations are listed.
    pub blocks: usize,
}

/// A range of a history, in moments: of each part of the range the one at which the most was in use. Parts in which nothing
/// changes are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryLevels {
    /// When the range begins and ends.
    pub range: (i64, i64),
    /// When the part of each moment begins; it ends where the next one begins.
    pub at: Vec<i64>,
    /// After which event the moment is; `None` for before the first.
    pub events: Vec<Option<u32>>,
    /// Bytes in use at each moment.
    pub active: Vec<Bytes>,
    /// The most bytes reserved in the part of each moment.
    pub reserved: Vec<Bytes>,
    /// Holders with what they hold at each moment; those that hold the most come first.
    pub holders: Vec<(u32, Vec<Bytes>)>,
    /// How many other holders hold something at these moments. What they hold is what is missing from `active`.
    pub left_out: usize,
    /// The largest allocations that are alive at any of these moments: rows of [`MemoryHistory::allocations`].
    pub blocks: Vec<usize>,
}

/// Whether what one event began (`None`: it is older than the first) and another ended is in use after `event`.
pub(crate) fn is_alive(from: Option<u32>, to: Option<u32>, event: Option<u32>) -> bool {
    from <= event && to.is_none_or(|to| Some(to) > event)
}

impl MemoryHistory {
    /// Stands for the memory of the host in place of the ordinal of a device.
    pub const HOST: i32 = -1;

    /// When the last event was.
    #[must_use]
    pub fn end(&self) -> i64 {
        self.at.last().copied().unwrap_or(0)
    }

    /// After which event the most bytes were in use, and how many; `None` for before the first.
    #[must_use]
    pub fn peak(&self) -> (Option<u32>, Bytes) {
        let mut peak = (None, self.active_at_start);
        for (event, &active) in (0..).zip(&self.active) {
            if active > peak.1 {
                peak = (Some(event), active);
            }
        }
        peak
    }

    /// What of a range a picture can show. Takes time in events and allocations, and memory in what is shown.
    #[must_use]
    pub fn levels(&self, wanted: &HistoryRange) -> HistoryLevels {
        let end = self.end().max(0).saturating_add(1);
        let (from, to) = wanted.range.unwrap_or((0, end));
        let range = (from.clamp(0, end), to.clamp(0, end));
        let mut levels = HistoryLevels { range, ..HistoryLevels::default() };
        self.choose_moments(wanted.parts, &mut levels);
        let (spans, ranked) = self.ranked_holders(&levels);
        levels.left_out = ranked.len().saturating_sub(wanted.holders);
        self.fill_holders(&ranked[..ranked.len() - levels.left_out], &spans, &mut levels);
        let mut blocks: Vec<usize> =
            (0..spans.len()).filter(|&row| spans[row].0 < spans[row].1).collect();
        // Of equal sizes what lives longest, so that the list does not depend on the order of the file.
        blocks.sort_by_key(|&row| {
            let (from, to) = spans[row];
            (Reverse(self.allocations[row].bytes), Reverse(to - from), row)
        });
        blocks.truncate(wanted.blocks);
        levels.blocks = blocks;
        levels
    }

    fn active_after(&self, event: Option<u32>) -> Bytes {
        event.map_or(self.active_at_start, |it| self.active[it as usize])
    }

    fn reserved_after(&self, event: Option<u32>) -> Bytes {
        event.map_or(self.reserved_at_start, |it| self.reserved[it as usize])
    }

    /// The moment of each part of the range, where it is another than that of the part before.
    fn choose_moments(&self, parts: usize, levels: &mut HistoryLevels) {
        let (from, to) = levels.range;
        let length = i128::from(to - from);
        let n_parts = i64::try_from(parts).unwrap_or(i64::MAX).clamp(1, (to - from).max(1));
        let begin_of = |part: i64| {
            from + i64::try_from(length * i128::from(part) / i128::from(n_parts)).unwrap_or(0)
        };
        let mut next = self.at.partition_point(|&at| at < from);
        let mut here = next.checked_sub(1).and_then(|it| u32::try_from(it).ok());
        for part in 0..n_parts {
            let until = begin_of(part + 1);
            // What is in use when a part begins counts for it, too.
            let (mut moment, mut reserved) = (here, self.reserved_after(here));
            while self.at.get(next).is_some_and(|&at| at < until) {
                here = u32::try_from(next).ok();
                if self.active_after(here) > self.active_after(moment) {
                    moment = here;
                }
                reserved = reserved.max(self.reserved_after(here));
                next += 1;
            }
            let is_new =
                levels.events.last() != Some(&moment) || levels.reserved.last() != Some(&reserved);
            if is_new {
                levels.at.push(begin_of(part));
                levels.events.push(moment);
                levels.active.push(self.active_after(moment));
                levels.reserved.push(reserved);
            }
        }
    }

    /// By allocation the moments at which it is alive, from one to before another; and the holders that hold something then,
    /// first those that hold the most, at the highest moment and on the average alike.
    fn ranked_holders(&self, levels: &HistoryLevels) -> (Vec<(usize, usize)>, Vec<u32>) {
        let n = levels.events.len();
        let highest = (0..n).max_by_key(|&it| (levels.active[it], Reverse(it)));
        // The weights are sums of products of bytes and moments.
        let mut weights = vec![0_i128; self.holders.len()];
        let spans = self.allocations.iter().map(|it| {
            let from = levels.events.partition_point(|&event| event < it.from);
            let to = match it.to {
                Some(to) => levels.events.partition_point(|&event| event < Some(to)),
                None => n,
            };
            let to = to.max(from);
            let moments =
                to - from + if highest.is_some_and(|it| (from..to).contains(&it)) { n } else { 0 };
            if let Some(weight) = weights.get_mut(it.holder as usize) {
                *weight += i128::from(it.bytes.0) * moments as i128;
            }
            (from, to)
        });
        let spans = spans.collect();
        let mut ranked: Vec<u32> =
            (0..).zip(&weights).filter(|(_, weight)| **weight > 0).map(|(row, _)| row).collect();
        ranked.sort_by_key(|&row| (Reverse(weights[row as usize]), &self.holders[row as usize]));
        (spans, ranked)
    }

    /// What each of these holders holds at each moment.
    fn fill_holders(&self, shown: &[u32], spans: &[(usize, usize)], levels: &mut HistoryLevels) {
        let n = levels.events.len();
        let mut place = vec![None; self.holders.len()];
        for (index, &row) in shown.iter().enumerate() {
            place[row as usize] = Some(index);
        }
        let mut amounts = vec![vec![Bytes::ZERO; n + 1]; shown.len()];
        for (it, &(from, to)) in self.allocations.iter().zip(spans) {
            if let Some(place) = place.get(it.holder as usize).copied().flatten() {
                // Differences from moment to moment, summed up below.
                amounts[place][from] += it.bytes;
                amounts[place][to] -= it.bytes;
            }
        }
        for amounts in &mut amounts {
            let mut sum = Bytes::ZERO;
            for amount in amounts.iter_mut() {
                sum += *amount;
                *amount = sum;
            }
            amounts.truncate(n);
        }
        levels.holders = shown.iter().copied().zip(amounts).collect();
    }
}
