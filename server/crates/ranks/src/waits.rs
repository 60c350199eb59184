//! How long each rank waited in a collective, and who was last.

use ledger::Ns;

use crate::matching::{Matched, Part, Route};

/// What one rank's part in a collective went to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Shares {
    /// Before all ranks had begun.
    pub(crate) wait: Ns,
    /// After.
    pub(crate) transfer: Ns,
}

/// When the ranks of a collective were all there. It is found once for all parts, of which there are as many as ranks.
#[derive(Debug, Clone, Copy)]
pub struct Meeting<'a> {
    matched: &'a Matched,
    /// When the last rank began.
    pub all_began: Ns,
    /// The rank that began last; of several, the one with the lowest number.
    pub last: u32,
}

impl Meeting<'_> {
    /// How long the rank of a part of the collective waited for others; the rest of the part is transfer. What was sent before the
    /// receiver was there was buffered for it: such a sender did not wait.
    #[must_use]
    pub fn wait(&self, part: &Part) -> Ns {
        if self.is_buffered(part) {
            return Ns::ZERO;
        }
        self.all_began.min(part.end).saturating_sub(part.start).max(Ns::ZERO)
    }

    /// Whether a part is the sending of a message, and over before the receiver began.
    fn is_buffered(&self, part: &Part) -> bool {
        let is_sender = |it: Route| it.source == part.rank;
        self.matched.route.is_some_and(is_sender) && part.end < self.all_began
    }

    /// Whether a part needed nothing of the other ranks.
    pub(crate) fn is_alone(&self, part: &Part) -> bool {
        match self.matched.route {
            Some(_) => self.is_buffered(part),
            None => !self.matched.kind.is_synchronising() && part.end <= self.all_began,
        }
    }
}

impl Matched {
    /// When its ranks were all there.
    #[must_use]
    pub fn meeting(&self) -> Meeting<'_> {
        let last = self.parts.iter().max_by_key(|it| (it.start, std::cmp::Reverse(it.rank)));
        let (all_began, last) = last.map_or((Ns::ZERO, 0), |it| (it.start, it.rank));
        Meeting { matched: self, all_began, last }
    }

    /// How long it took from when all had begun until it was done on all.
    #[must_use]
    pub fn transfer(&self) -> Ns {
        let end = self.parts.iter().map(|it| it.end).max().unwrap_or(Ns::ZERO);
        end.saturating_sub(self.meeting().all_began).max(Ns::ZERO)
    }

    /// What bus bandwidth is of algorithm bandwidth here; `None` unless the parts of all ranks of the group are recorded. Where
    /// the group is not, it is taken for that of all ranks.
    pub(crate) fn bus_factor(&self, world_size: Option<u32>) -> Option<f64> {
        let size = self.group.size_in(world_size)?;
        if self.is_whole(world_size) { self.kind.bus_factor(size) } else { None }
    }

    /// Whether the parts of all ranks of the group, or both ends of a message, are recorded.
    pub(crate) fn is_whole(&self, world_size: Option<u32>) -> bool {
        self.route.is_some()
            || self.group.size_in(world_size).is_some_and(|it| it as usize == self.parts.len())
    }
}

/// What collectives moved after all ranks had begun, of those whose size is known and of which all ranks of the group are recorded.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moved {
    bytes: f64,
    /// Bytes times the factor of the kind and the number of ranks; `None` where a kind has none.
    on_bus: Option<f64>,
    nanoseconds: f64,
}

impl Moved {
    pub(crate) fn add(&mut self, it: &Matched, world_size: Option<u32>) {
        let time = it.transfer().as_f64();
        let Some(bytes) = it.bytes.filter(|_| it.is_whole(world_size) && 0.0 < time) else {
            return;
        };
        let on_bus = it.bus_factor(world_size).map(|factor| bytes.as_f64() * factor);
        let before = if self.nanoseconds == 0.0 { Some(0.0) } else { self.on_bus };
        self.on_bus = before.zip(on_bus).map(|(before, it)| before + it);
        self.bytes += bytes.as_f64();
        self.nanoseconds += time;
    }

    /// Bytes per second by the time, and on the bus, as nccl-tests define them; `None` where nothing was moved.
    pub(crate) fn rates(&self) -> Option<(f64, Option<f64>)> {
        let rate = |bytes: f64| bytes * 1e9 / self.nanoseconds;
        (0.0 < self.nanoseconds).then(|| (rate(self.bytes), self.on_bus.map(rate)))
    }
}

#[cfg(test)]
mod tests {
    use ledger::{Bytes, CollectiveKind, ProcessGroup};

    use super::*;
    use crate::waited_for::CollectiveTime;

    #[test]
    fn the_time_before_all_had_begun_is_waiting() {
        let part = Part::between;
        let it = Matched {
            kind: CollectiveKind::AllReduce,
            group: ProcessGroup::default(),
            is_on_device: true,
            bytes: Some(Bytes(8)),
            step: None,
            parts: vec![part(0, 0, 130), part(1, 100, 131), part(2, 40, 129)],
            route: None,
        };
        let shares = it.parts.iter().map(|part| {
            let mut time = CollectiveTime::default();
            time.add(part.start, part.end, it.meeting().wait(part));
            time.shares()
        });
        let expect = |wait, transfer| Shares { wait: Ns(wait), transfer: Ns(transfer) };
        assert_eq!(shares.collect::<Vec<_>>(), [expect(100, 30), expect(0, 31), expect(60, 29)]);
        assert_eq!((it.meeting().last, it.transfer()), (1, Ns(31)));
    }

    #[test]
    fn a_sender_that_is_done_early_does_not_wait() {
        let part = Part::between;
        let it = Matched {
            kind: CollectiveKind::Broadcast,
            group: ProcessGroup::default(),
            is_on_device: true,
            bytes: None,
            step: None,
            parts: vec![part(0, 0, 10), part(1, 100, 110)],
            route: None,
        };
        let part = &it.parts[0];
        let mut time = CollectiveTime::default();
        time.add(part.start, part.end, it.meeting().wait(part));
        assert_eq!(time.shares(), Shares { wait: Ns(10), transfer: Ns(0) });
    }
}
