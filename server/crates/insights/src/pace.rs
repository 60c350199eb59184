//! What a cost is held against.

use std::collections::BTreeMap;

use ledger::{Ledger, Ns};

/// How long a step or the whole recording took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Steps of all ranks together; 0 where the recording has none.
    pub n_steps: u64,
    /// The mean step in nanoseconds; 0 where the recording has none.
    pub step: f64,
    /// How long the recording took, added up over the ranks: the longest thread or device of each.
    pub whole: Ns,
}

impl Pace {
    /// Of a rank, or of several that were merged.
    #[must_use]
    pub fn new(ledger: &Ledger) -> Self {
        // Ranks run their steps side by side, and a merged ledger keeps the longest of each.
        let n = ledger.steps.len() as u64;
        let sum: Ns = ledger.steps.values().sum();
        let mut ranks: BTreeMap<u32, Ns> = BTreeMap::new();
        let threads = ledger.threads.iter().map(|(key, &time)| (key.rank, time));
        let devices = ledger.devices.iter().map(|(key, it)| (key.rank, it.busy + it.idle));
        for (rank, time) in threads.chain(devices) {
            let longest = ranks.entry(rank).or_default();
            *longest = time.max(*longest);
        }
        Self {
            n_steps: n * u64::from(ledger.ranks.max(1)),
            step: if n == 0 { 0.0 } else { sum as f64 / n as f64 },
            whole: ranks.values().sum(),
        }
    }

    /// The mean per step and rank of a sum over the recording; the sum itself where there are no steps.
    #[must_use]
    pub fn mean(&self, sum: f64) -> f64 {
        if self.n_steps == 0 { sum } else { sum / self.n_steps as f64 }
    }

    /// What shares are shares of: the mean step, else the whole recording.
    #[must_use]
    pub fn unit(&self) -> f64 {
        if self.n_steps == 0 { self.whole as f64 } else { self.step }
    }
}

#[cfg(test)]
mod tests {
    use ledger::{DeviceBooks, DeviceKey, ThreadKey};

    use super::*;

    fn rank(rank: u32) -> Ledger {
        let mut ledger = Ledger { ranks: 1, ..Ledger::default() };
        ledger.threads.insert(ThreadKey { rank, thread: "1".to_owned() }, 100);
        ledger.threads.insert(ThreadKey { rank, thread: "2".to_owned() }, 300);
        let books = DeviceBooks { busy: 150, idle: 250, ..DeviceBooks::default() };
        ledger.devices.insert(DeviceKey { rank, device: 0 }, books);
        ledger
    }

    #[test]
    fn without_steps_the_recording_is_the_unit() {
        let pace = Pace::new(&rank(0));
        assert_eq!((pace.n_steps, pace.whole, pace.unit(), pace.mean(7.0)), (0, 400, 400.0, 7.0));
        assert_eq!(Pace::new(&Ledger::default()).unit(), 0.0);
    }

    #[test]
    fn ranks_run_their_steps_side_by_side() {
        let (mut one, mut two) = (rank(0), rank(1));
        one.steps.extend([(1, 100), (2, 300)]);
        two.steps.extend([(1, 100), (2, 300)]);
        one.merge(&two);
        let pace = Pace::new(&one);
        assert_eq!((pace.n_steps, pace.step, pace.whole), (4, 200.0, 800));
        assert_eq!(pace.mean(8.0), 2.0);
    }
}
