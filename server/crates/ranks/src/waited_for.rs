//! How long is waited for whom. Collectives of a rank may run beside each other (on several threads or streams): time during which
//! a rank waits in several at once counts once.

use std::collections::BTreeMap;

use ledger::Ns;

use crate::matching::Matched;
use crate::waits::Shares;

/// Instants of one rank: half-open intervals, which may overlap.
#[derive(Debug, Default)]
struct Instants(Vec<(Ns, Ns)>);

impl Instants {
    /// How many instants: those of several intervals count once.
    fn measure(mut self) -> Ns {
        self.0.sort_unstable();
        let mut sum = Ns::ZERO;
        let mut until = Ns::MIN;
        for (start, end) in self.0 {
            sum = sum.saturating_add(end.saturating_sub(start.max(until)).max(Ns::ZERO));
            until = until.max(end);
        }
        sum
    }
}

/// The time of one rank in collectives.
#[derive(Debug, Default)]
pub(crate) struct CollectiveTime {
    waiting: Instants,
    all: Instants,
}

impl CollectiveTime {
    /// Adds the part from `start` to `end`, of which the first `wait` was spent waiting.
    pub(crate) fn add(&mut self, start: Ns, end: Ns, wait: Ns) {
        self.waiting.0.push((start, start.saturating_add(wait)));
        self.all.0.push((start, end));
    }

    /// What it went to. While the rank waits in one collective and transfers in another, it waits.
    pub(crate) fn shares(self) -> Shares {
        let wait = self.waiting.measure();
        Shares { wait, transfer: self.all.measure().saturating_sub(wait) }
    }
}

/// How long the others waited for each rank in each step: of those that waited for it, the one that waited longest. What is in no
/// step has the key `None`.
pub(crate) fn waited_for(matched: &[Matched]) -> BTreeMap<(Option<u32>, u32), Ns> {
    let mut waits: BTreeMap<(Option<u32>, u32), BTreeMap<u32, Instants>> = BTreeMap::new();
    for it in matched {
        let of_last = waits.entry((it.step, it.last())).or_default();
        for part in &it.parts {
            let end = part.start.saturating_add(it.wait(part));
            of_last.entry(part.rank).or_default().0.push((part.start, end));
        }
    }
    let longest = |of_last: BTreeMap<u32, Instants>| {
        of_last.into_values().map(Instants::measure).max().unwrap_or(Ns::ZERO)
    };
    waits.into_iter().map(|(key, of_last)| (key, longest(of_last))).collect()
}

#[cfg(test)]
mod tests {
    use ledger::{CollectiveKind, ProcessGroup};

    use super::*;
    use crate::matching::Part;

    #[test]
    fn waiting_in_two_collectives_at_once_counts_once() {
        let part = Part::between;
        let broadcast = |parts| Matched {
            kind: CollectiveKind::AllReduce,
            group: ProcessGroup::default(),
            is_on_device: true,
            bytes: None,
            step: Some(1),
            parts,
        };
        let matched = [
            broadcast(vec![part(0, 0, 110), part(1, 100, 110)]),
            broadcast(vec![part(0, 20, 115), part(1, 105, 115)]),
            broadcast(vec![part(0, 205, 210), part(1, 200, 210)]),
        ];
        let expected = [((Some(1), 0), Ns(5)), ((Some(1), 1), Ns(105))];
        assert_eq!(waited_for(&matched), expected.into());
        let mut time = CollectiveTime::default();
        for it in &matched {
            let part = &it.parts[0];
            time.add(part.start, part.end, it.wait(part));
        }
        assert_eq!(time.shares(), Shares { wait: Ns(105), transfer: Ns(15) });
    }
}
