//! The tables: by rank, and by line.

use std::collections::BTreeMap;

use ledger::{Bytes, CollectiveKind, Ledger, LineKey, Ns};

use crate::clocks::Clocks;
use crate::matching::{Matched, collectives};
use crate::messages::messages;
use crate::rank_summary::{RankSummary, host_of, rank_summaries};
use crate::replay::JobReplay;
use crate::spread::ranks_of;
use crate::straggler::{Straggler, straggler};
use crate::waited_for::{CollectiveTime, Standstills, waited_for};
use crate::waits::{Moved, Shares};

/// The ranks of a run beside each other.
#[derive(Debug, Clone, Default)]
pub struct Comparison {
    /// How many ranks the job has, where the recordings say.
    pub world_size: Option<u32>,
    /// Each recorded rank.
    pub ranks: Vec<RankSummary>,
    /// The collectives and messages that at least two ranks recorded, by the aligned clocks.
    pub matched: Vec<Matched>,
    /// Collectives of which one rank alone is recorded, or whose parts cannot be of one collective, and sends and receives of which
    /// it is not known which belong together.
    pub unmatched: u64,
    /// What the clocks differ by.
    pub clocks: Clocks,
    /// How long the others waited for a rank in a step, directly or because one that they waited for stood still for it, by step
    /// and rank: of those that waited for it, the one that waited longest. What is in no step has `None`.
    pub waited_for: BTreeMap<(Option<u32>, u32), Ns>,
    /// Collectives by line and kind, those with most waiting first.
    pub lines: Vec<LineCommunication>,
    /// The rank that the others wait for step after step, if there is one.
    pub straggler: Option<Straggler>,
    /// The ranks as they depend on each other; `None` where no rank is late, or no step is known.
    pub replay: Option<JobReplay>,
}

/// The matched collectives of one kind that were launched from one line. Sums over the recording.
#[derive(Debug, Clone, PartialEq)]
pub struct LineCommunication {
    /// Which line; `None` of all whose line is not known.
    pub line: Option<LineKey>,
    /// What is communicated.
    pub kind: CollectiveKind,
    /// Collectives, each once however many ranks took part; a message counts at the line that sends and at the one that receives.
    pub collectives: u64,
    /// How long ranks waited, added up over ranks. Time in which a rank waits in several of them at once counts once.
    pub wait: Ns,
    /// The other time in them, added up over ranks.
    pub transfer: Ns,
    /// Size of the messages, each once; `None` where one is not known.
    pub bytes: Option<Bytes>,
    /// Bytes per second as nccl-tests define it, by the time after all had begun.
    pub algorithm_bandwidth: Option<f64>,
    /// The same, times the factor of the kind and the number of ranks.
    pub bus_bandwidth: Option<f64>,
    /// The rank that was last most often, and how often.
    pub last: Option<(u32, u64)>,
}

/// The collectives of the ranks beside each other.
#[derive(Debug, Clone, Default)]
pub struct AlignedCollectives {
    /// See [`Comparison::matched`].
    pub matched: Vec<Matched>,
    /// See [`Comparison::unmatched`].
    pub unmatched: u64,
    /// See [`Comparison::clocks`].
    pub clocks: Clocks,
}

impl AlignedCollectives {
    /// Those of `ledger`.
    #[must_use]
    pub fn new(ledger: &Ledger) -> Self {
        let (mut matched, messages_alone) = messages(&ledger.communication);
        let (collectives, collectives_alone) = collectives(&ledger.communication);
        matched.extend(collectives);
        let alone = messages_alone + collectives_alone;
        let clocks = Clocks::new(&matched, |rank| host_of(ledger, rank));
        let impossible = clocks.align(&mut matched);
        Self { matched, unmatched: alone + impossible, clocks }
    }

    /// How long the others waited for each rank of which there are collectives: [`Comparison::waited_for`] of all steps.
    #[must_use]
    pub fn waited_for(&self) -> BTreeMap<u32, Ns> {
        let parts = self.matched.iter().flat_map(|it| &it.parts);
        let mut sums: BTreeMap<u32, Ns> = parts.map(|it| (it.rank, Ns::ZERO)).collect();
        for ((_, rank), time) in waited_for(&self.matched, &Standstills::new(&self.matched)) {
            let sum = sums.entry(rank).or_default();
            *sum = sum.saturating_add(time);
        }
        sums
    }
}

impl Comparison {
    /// Compares the ranks of `ledger`; `None` where it is of one rank of a job of one, or says nothing of ranks.
    #[must_use]
    pub fn new(ledger: &Ledger) -> Option<Self> {
        let communication = &ledger.communication;
        let world_size = communication.values().filter_map(|it| it.world_size).max();
        if ledger.overviews.len() < 2 && world_size.unwrap_or(1) < 2 {
            return None;
        }
        let AlignedCollectives { matched, unmatched, clocks } = AlignedCollectives::new(ledger);
        let standstills = Standstills::new(&matched);
        let waited_for = waited_for(&matched, &standstills);
        let ranks = rank_summaries(ledger, &ranks_of(ledger), &matched, &waited_for);
        let mut straggler = straggler(ledger, &ranks, &matched, &standstills, &waited_for);
        let replay = match &straggler {
            Some(_) => JobReplay::new(communication, &matched, &clocks),
            None => None,
        };
        if let (Some(it), Some(replay)) = (&mut straggler, &replay) {
            let n = ranks.iter().find(|of| of.rank == it.rank).map_or(1, |it| it.steps.max(1));
            let n = i64::try_from(n).unwrap_or(i64::MAX);
            let excess = it.cause.as_ref().map(|it| it.here.saturating_sub(it.others));
            it.saving = replay.saving(it.rank, excess.map(|it| it.saturating_mul(n)));
        }
        Some(Self {
            world_size,
            lines: lines(&matched, world_size),
            ranks,
            matched,
            unmatched,
            clocks,
            waited_for,
            straggler,
            replay,
        })
    }

    /// How long each rank waited and transferred in the matched collectives of each line, over the recording.
    #[must_use]
    pub fn waits_by_line(&self) -> BTreeMap<&LineKey, BTreeMap<u32, (Ns, Ns)>> {
        let mut times: BTreeMap<&LineKey, BTreeMap<u32, CollectiveTime>> = BTreeMap::new();
        for it in &self.matched {
            let meeting = it.meeting();
            for part in &it.parts {
                let Some(line) = &part.line else { continue };
                let time = times.entry(line).or_default().entry(part.rank).or_default();
                time.add(part.start, part.end, meeting.wait(part));
            }
        }
        let pair = |(rank, time): (u32, CollectiveTime)| {
            let shares = time.shares();
            (rank, (shares.wait, shares.transfer))
        };
        times.into_iter().map(|(line, it)| (line, it.into_iter().map(pair).collect())).collect()
    }

    /// What of a job was read, if not all: `2 of 128 ranks were read`, `rank 3 of 8 only was read`.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        let world_size = self.world_size.filter(|&it| u64::from(it) > self.ranks.len() as u64)?;
        Some(match self.ranks.as_slice() {
            [only] => format!("rank {} of {world_size} only was read", only.rank),
            several => format!("{} of {world_size} ranks were read", several.len()),
        })
    }
}

/// Sums of one line and kind.
#[derive(Default)]
struct Sums {
    collectives: u64,
    times: BTreeMap<u32, CollectiveTime>,
    bytes: Bytes,
    has_all_sizes: bool,
    moved: Moved,
    last: BTreeMap<u32, u64>,
}

fn lines(matched: &[Matched], world_size: Option<u32>) -> Vec<LineCommunication> {
    let mut sums: BTreeMap<(Option<&LineKey>, CollectiveKind), Sums> = BTreeMap::new();
    for it in matched {
        let meeting = it.meeting();
        for part in &it.parts {
            let empty = || Sums { has_all_sizes: true, ..Sums::default() };
            let mine = sums.entry((part.line.as_deref(), it.kind)).or_insert_with(empty);
            let time = mine.times.entry(part.rank).or_default();
            time.add(part.start, part.end, meeting.wait(part));
        }
        // Ranks that launch one collective from several lines are rare: it is counted on that of the first. A message is sent
        // by one line and received by another.
        let mut lines: Vec<_> = it.parts.iter().map(|part| part.line.as_deref()).collect();
        lines.truncate(if it.route.is_some() { 2 } else { 1 });
        lines.dedup();
        for line in lines {
            let Some(mine) = sums.get_mut(&(line, it.kind)) else { continue };
            mine.collectives += 1;
            *mine.last.entry(meeting.last).or_default() += 1;
            mine.bytes = mine.bytes.saturating_add(it.bytes.unwrap_or_default());
            mine.has_all_sizes &= it.bytes.is_some();
            mine.moved.add(it, world_size);
        }
    }
    let mut lines: Vec<LineCommunication> = sums
        .into_iter()
        .map(|((line, kind), it)| {
            let shares: Vec<Shares> = it.times.into_values().map(CollectiveTime::shares).collect();
            LineCommunication {
                line: line.cloned(),
                kind,
                collectives: it.collectives,
                wait: shares.iter().map(|it| it.wait).sum(),
                transfer: shares.iter().map(|it| it.transfer).sum(),
                bytes: (it.has_all_sizes && it.bytes != Bytes::ZERO).then_some(it.bytes),
                algorithm_bandwidth: it.moved.rates().map(|it| it.0),
                bus_bandwidth: it.moved.rates().and_then(|it| it.1),
                last: it.last.into_iter().max_by_key(|&(rank, n)| (n, std::cmp::Reverse(rank))),
            }
        })
        .collect();
    lines.sort_by_key(|it| std::cmp::Reverse(it.wait.saturating_add(it.transfer)));
    lines
}
