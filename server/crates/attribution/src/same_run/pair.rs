//! Which allocation of a snapshot is which of a trace.

use profile::{Bytes, Ns};
use rustc_hash::FxHashMap;

/// What an allocator did, as a trace or a snapshot recorded it: it handed out a block, or was given one back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AllocatorEvent {
    /// When, in nanoseconds since the Unix epoch, or since anything where the clock is not known; -1 where there is none.
    pub(super) at: Ns,
    pub(super) address: u64,
    /// Size of the block in a trace, what was asked for in a snapshot.
    pub(super) bytes: Bytes,
    pub(super) is_alloc: bool,
}

impl AllocatorEvent {
    /// Kept within what sums of a few cannot overflow, whatever a file claims.
    pub(super) fn new(at: Ns, address: u64, bytes: Bytes, is_alloc: bool) -> Self {
        let (at, bytes) = (at.clamp(Ns(-1), Ns(1 << 61)), bytes.clamp(Bytes::ZERO, Bytes(1 << 61)));
        Self { at, address, bytes, is_alloc }
    }
}

/// What was paired.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Pairs {
    /// Events of the trace with their events of the snapshot, in order.
    pub(super) pairs: Vec<(usize, usize)>,
    /// Events of the trace during the snapshot's history: the rest was dropped, or came after it.
    pub(super) n_during: usize,
}

/// Why nothing was paired.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Fewer than [`MIN_PAIRS`] events of the trace are in the snapshot's history.
    TooFew(usize),
    /// Both clocks show the time of day, and this much lies between them.
    OtherTime(Ns),
    /// Of so many events of the trace during the snapshot's history, only so many are in it.
    Mismatch(usize, usize),
    /// There are several ways to pair them, which show different lines.
    Ambiguous,
}

/// Events that must be paired: fewer may fit by chance.
const MIN_PAIRS: usize = 8;

/// Share of the trace's events during the snapshot's history, in percent, that must be in it.
const MIN_PERCENT: usize = 95;

/// Clocks of one machine that show the time of day differ by less: another run began at another time.
const CLOCKS_APART: Ns = Ns(1_000_000_000);

/// Times before this one (in 2001) are not counted from the Unix epoch.
const MIN_EPOCH: Ns = Ns(1_000_000_000_000_000_000);

/// Trace and snapshot read the clock one after the other; what comes between lasts less, but for a few times.
const BETWEEN: Ns = Ns(20_000);

/// A pair may be this far from where the ones before it were.
const TOLERANCE: Ns = Ns(100_000);

/// Clocks of one machine drift apart by at most one part in so many.
const DRIFT: i64 = 2_000;

/// Events of the trace that vote for a difference of the clocks, and events of the snapshot that each may mean.
const MAX_VOTERS: usize = 2_000;
const MAX_MEANT: usize = 256;

/// Differences that are tried.
const MAX_TRIED: usize = 4;

/// Comparisons at most where there are no times.
const MAX_COMPARED: usize = 50_000_000;

/// The allocator splits off what is left of a block unless that is less than this (`kLargeBuffer`), and rounds up to
/// less than double the size.
const MAX_ROUNDED: Bytes = Bytes(20 << 20);

/// Pairs the events of a trace (in order of time) with those of a snapshot (in order), both of one device.
///
/// The two hold the same addresses in the same order; of the same program run twice that is true as well, so that times
/// decide: their difference must be nearly the same for all pairs. `is_same` says whether two events of the snapshot
/// show the same, so that it does not matter which is meant.
pub(super) fn pair(
    trace: &[AllocatorEvent],
    snapshot: &[AllocatorEvent],
    is_same: impl Fn(usize, usize) -> bool,
) -> Result<Pairs, Refused> {
    if snapshot.iter().all(|event| event.at >= Ns::ZERO) {
        by_time(trace, snapshot, is_same)
    } else {
        by_order(trace, snapshot, is_same)
    }
}

fn by_time(
    trace: &[AllocatorEvent],
    snapshot: &[AllocatorEvent],
    is_same: impl Fn(usize, usize) -> bool,
) -> Result<Pairs, Refused> {
    let is_time_of_day =
        [trace, snapshot].iter().all(|it| it.first().is_some_and(|it| MIN_EPOCH <= it.at));
    if let (true, Some(apart)) = (is_time_of_day, apart(trace, snapshot)) {
        return Err(Refused::OtherTime(apart));
    }
    let meant = Meant::new(snapshot);
    let mut best: Option<AlignedEvents> = None;
    let mut refused = Refused::TooFew(0);
    let mut rivals = Vec::new();
    for difference in differences(trace, snapshot, &meant) {
        match align(trace, snapshot, &meant, difference) {
            Err(why) => {
                if let (Refused::TooFew(_), true) = (&refused, rivals.is_empty()) {
                    refused = why;
                }
            }
            Ok(aligned) => match &best {
                Some(it) if it.spread <= aligned.spread => rivals.push(aligned),
                _ => rivals.extend(best.replace(aligned)),
            },
        }
    }
    let Some(best) = best else { return Err(refused) };
    if is_time_of_day && CLOCKS_APART < best.difference.abs() {
        return Err(Refused::OtherTime(best.difference));
    }
    // As regular as a loop can be: the next turn fits as well.
    let as_good = rivals.iter().filter(|it| it.spread <= best.spread * 3 + Ns(1_000));
    if as_good.into_iter().any(|it| !show_the_same(trace, &best.pairs, &it.pairs, &is_same)) {
        return Err(Refused::Ambiguous);
    }
    Ok(best.pairs)
}

/// What lies between the two if one ended before the other began.
fn apart(trace: &[AllocatorEvent], snapshot: &[AllocatorEvent]) -> Option<Ns> {
    let span = |events: &[AllocatorEvent]| Some((events.first()?.at, events.last()?.at));
    let ((from, to), (first, last)) = (span(trace)?, span(snapshot)?);
    let apart = (first - to).max(from - last);
    (CLOCKS_APART < apart).then_some(apart)
}

/// Whether two ways to pair show the same of every allocation.
fn show_the_same(
    trace: &[AllocatorEvent],
    one: &Pairs,
    other: &Pairs,
    is_same: &impl Fn(usize, usize) -> bool,
) -> bool {
    let other: FxHashMap<usize, usize> = other.pairs.iter().copied().collect();
    let allocs = one.pairs.iter().filter(|&&(event, _)| trace[event].is_alloc);
    allocs.into_iter().all(|(event, here)| other.get(event).is_none_or(|it| is_same(*here, *it)))
}

/// Events of a snapshot, or of a trace, by what both have of them.
struct Meant(FxHashMap<(u64, bool), Vec<usize>>);

impl Meant {
    fn new(events: &[AllocatorEvent]) -> Self {
        let mut meant: FxHashMap<(u64, bool), Vec<usize>> = FxHashMap::default();
        for (index, event) in events.iter().enumerate() {
            meant.entry((event.address, event.is_alloc)).or_default().push(index);
        }
        Self(meant)
    }

    /// In order.
    fn by(&self, event: &AllocatorEvent) -> &[usize] {
        self.0.get(&(event.address, event.is_alloc)).map_or(&[], Vec::as_slice)
    }

    /// The next such event after the one at `index`.
    fn next(&self, event: &AllocatorEvent, index: usize) -> Option<usize> {
        let same = self.by(event);
        same.get(same.partition_point(|&it| it <= index)).copied()
    }
}

/// Whether an event of a trace may be one of a snapshot: blocks are not smaller than what was asked for.
fn fits(traced: &AllocatorEvent, recorded: &AllocatorEvent) -> bool {
    let rounded = traced.bytes - recorded.bytes;
    traced.address == recorded.address
        && traced.is_alloc == recorded.is_alloc
        && Bytes::ZERO <= rounded
        && rounded <= recorded.bytes.max(MAX_ROUNDED)
}

/// Differences of the clocks (trace less snapshot) that many events speak for, the most first.
fn differences(trace: &[AllocatorEvent], snapshot: &[AllocatorEvent], meant: &Meant) -> Vec<Ns> {
    let mut voters: Vec<(usize, usize)> = trace
        .iter()
        .enumerate()
        .map(|(index, event)| (meant.by(event).len(), index))
        .filter(|&(n, _)| 0 < n)
        .collect();
    // What is rare shows most; of equals some from everywhere.
    voters.sort_by_key(|&(n, index)| (n, index.wrapping_mul(0x9e37_79b9) & 0xffff));
    voters.truncate(MAX_VOTERS);
    let mut votes = Vec::new();
    for (_, index) in voters {
        let event = &trace[index];
        let near = meant.by(event);
        // The clocks mostly agree, so the nearest are the likeliest.
        let middle = near.partition_point(|&it| snapshot[it].at < event.at);
        let first = middle.saturating_sub(MAX_MEANT / 2).min(near.len().saturating_sub(MAX_MEANT));
        let near = near[first..].iter().take(MAX_MEANT).map(|&it| &snapshot[it]);
        votes.extend(near.filter(|it| fits(event, it)).map(|it| event.at - it.at));
    }
    votes.sort_unstable();
    let mut groups: Vec<(usize, Ns)> = Vec::new();
    let mut last = 0;
    for (first, &vote) in votes.iter().enumerate() {
        while votes.get(last).is_some_and(|&it| it <= vote + BETWEEN) {
            last += 1;
        }
        let group = (last - first, votes[first + (last - first) / 2]);
        // Windows that overlap are of one group.
        match groups.last_mut().filter(|it| group.1 - it.1 <= BETWEEN) {
            Some(before) if before.0 < group.0 => *before = group,
            Some(_) => {}
            None => groups.push(group),
        }
    }
    groups.sort_by_key(|&(n, difference)| (std::cmp::Reverse(n), difference.abs()));
    groups.into_iter().take(MAX_TRIED).map(|(_, difference)| difference).collect()
}

/// All events paired under one difference of the clocks.
struct AlignedEvents {
    difference: Ns,
    pairs: Pairs,
    /// How far most pairs are from that difference.
    spread: Ns,
}

fn align(
    trace: &[AllocatorEvent],
    snapshot: &[AllocatorEvent],
    meant: &Meant,
    difference: Ns,
) -> Result<AlignedEvents, Refused> {
    let (Some(first), Some(last)) = (snapshot.first(), snapshot.last()) else {
        return Err(Refused::TooFew(0));
    };
    let during = first.at + difference - BETWEEN..=last.at + difference + BETWEEN;
    let of_trace = Meant::new(trace);
    let (mut now, mut after) = (difference, 0);
    let (mut pairs, mut n_during, mut residuals) = (Vec::new(), 0, Vec::new());
    for (index, event) in trace.iter().enumerate().filter(|(_, it)| during.contains(&it.at)) {
        n_during += 1;
        let near = meant.by(event);
        let from = near.partition_point(|&it| snapshot[it].at + now < event.at - TOLERANCE);
        let near = near[from..]
            .iter()
            .take_while(|&&it| snapshot[it].at + now <= event.at + TOLERANCE)
            .filter(|&&it| after <= it && fits(event, &snapshot[it]));
        let distance = |it: usize| event.at - snapshot[it].at - now;
        let Some(&nearest) = near.min_by_key(|&&it| distance(it).abs()) else { continue };
        // Where an event is missing from the snapshot, the next one at its address is not taken for it.
        let is_of_next = of_trace.next(event, index).map(|it| &trace[it]).is_some_and(|next| {
            let of_next = next.at - snapshot[nearest].at - now;
            fits(next, &snapshot[nearest]) && of_next.abs() < distance(nearest).abs()
        });
        if is_of_next {
            continue;
        }
        after = nearest + 1;
        residuals.push(distance(nearest).abs());
        pairs.push((index, nearest));
        // Clocks drift, but not far.
        let room = BETWEEN + (event.at - trace[0].at).max(Ns::ZERO) / DRIFT;
        now = (now + distance(nearest) / 8).clamp(difference - room, difference + room);
    }
    if n_during < MIN_PAIRS {
        return Err(Refused::TooFew(n_during));
    }
    residuals.sort_unstable();
    let most = residuals.get(residuals.len() * 9 / 10).copied().unwrap_or(Ns::MAX);
    if pairs.len() * 100 < n_during * MIN_PERCENT || BETWEEN < most {
        let n_close = residuals.partition_point(|&it| it <= BETWEEN);
        return Err(Refused::Mismatch(n_during, n_close));
    }
    let spread = residuals[residuals.len() / 2];
    Ok(AlignedEvents { difference, pairs: Pairs { pairs, n_during }, spread })
}

/// Without times: the trace's events must be in the snapshot one after the other, without another between.
fn by_order(
    trace: &[AllocatorEvent],
    snapshot: &[AllocatorEvent],
    is_same: impl Fn(usize, usize) -> bool,
) -> Result<Pairs, Refused> {
    if trace.len() < MIN_PAIRS {
        return Err(Refused::TooFew(trace.len()));
    }
    let meant = Meant::new(snapshot);
    let mut compared = 0;
    let mut found: Option<usize> = None;
    let mut most = 0;
    for &start in meant.by(&trace[0]) {
        let here = trace.iter().zip(&snapshot[start..]);
        let n_fit = here.take_while(|(traced, recorded)| fits(traced, recorded)).count();
        compared += n_fit + 1;
        most = most.max(n_fit);
        if MAX_COMPARED < compared {
            return Err(Refused::Ambiguous);
        }
        if n_fit < trace.len() {
            continue;
        }
        match found {
            None => found = Some(start),
            Some(before) => {
                let mut allocs = (0..trace.len()).filter(|&it| trace[it].is_alloc);
                if !allocs.all(|it| is_same(before + it, start + it)) {
                    return Err(Refused::Ambiguous);
                }
            }
        }
    }
    let Some(start) = found else { return Err(Refused::Mismatch(trace.len(), most)) };
    let pairs = (0..trace.len()).map(|it| (it, start + it)).collect();
    Ok(Pairs { pairs, n_during: trace.len() })
}
