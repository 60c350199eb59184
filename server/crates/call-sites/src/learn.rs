//! What the whole recording teaches: which site leads to which callee, and how often a site leaves anything.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::answer::{AlignedFrame, NO_SITE};
use crate::code::Sequence;
use crate::keys::KeyId;

/// Cost units in one natural unit of probability: costs are small integers.
pub(crate) const UNITS: f64 = 4.0;

/// A site that leads to so many callees calls whatever it is given.
const MANY_CALLEES: usize = 4;

/// How much less likely another callee is at such a site.
const UNSEEN: f64 = 0.5;

/// How many observations the prior weighs as much as.
const PRIOR_WEIGHT: f64 = 2.0;

/// Which other sites teach something about a site.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Teachers<'a> {
    /// What all sites say that say the same.
    pub(crate) same: Option<&'a str>,
    /// Of a call of a method: the first site of the function that calls one of the same object.
    pub(crate) receiver: Option<u32>,
}

/// Counts of one round.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    /// By code and site.
    sites: FxHashMap<(usize, u32), Counts>,
    /// By what sites say, for all that say the same.
    shared: FxHashMap<String, Counts>,
    /// By code and object, for the calls of all its methods.
    receivers: FxHashMap<(usize, u32), Counts>,
    /// How often a path went on from a node, and by which edge.
    left: FxHashMap<(usize, u32), u32>,
    taken: FxHashMap<(usize, u32, u32), u32>,
}

/// What was seen at a site.
#[derive(Debug, Default)]
struct Counts {
    /// Events.
    events: u32,
    /// Of these, by key.
    of_key: FxHashMap<KeyId, u32>,
    /// How often a path left something there.
    visited: u32,
    /// How often a path skipped it.
    skipped: u32,
}

impl Counts {
    fn merge(&mut self, other: Self) {
        self.events += other.events;
        self.visited += other.visited;
        self.skipped += other.skipped;
        for (key, events) in other.of_key {
            *self.of_key.entry(key).or_default() += events;
        }
    }
}

impl Learned {
    /// Counts an alignment for each frame that had it. `teachers` names what is learned for several sites together.
    pub(crate) fn add<'s>(
        &mut self,
        code: usize,
        aligned: &AlignedFrame,
        sequence: &Sequence,
        teachers: impl Fn(u32) -> Teachers<'s>,
    ) {
        let weight = sequence.weight();
        let placed = sequence.children.iter().zip(&aligned.sites).zip(&aligned.is_clear);
        for ((child, &site), &is_clear) in placed {
            if is_clear && site != NO_SITE {
                self.count(code, &teachers, site, |counts| {
                    counts.events += weight;
                    *counts.of_key.entry(child.key).or_default() += weight;
                });
            }
        }
        for &site in &aligned.visited {
            self.count(code, &teachers, site, |counts| counts.visited += weight);
        }
        let visited: FxHashSet<u32> = aligned.visited.iter().copied().collect();
        for &(from, to) in &aligned.edges {
            *self.left.entry((code, from)).or_default() += weight;
            *self.taken.entry((code, from, to)).or_default() += weight;
            if !visited.contains(&from) {
                self.count(code, &teachers, from, |counts| counts.skipped += weight);
            }
        }
    }

    /// Adds what was counted in other functions.
    pub(crate) fn merge(&mut self, other: Self) {
        self.sites.extend(other.sites);
        self.receivers.extend(other.receivers);
        self.left.extend(other.left);
        self.taken.extend(other.taken);
        for (shared, counts) in other.shared {
            self.shared.entry(shared).or_default().merge(counts);
        }
    }

    /// Keeps what the round before taught about objects and numbers of which this one says nothing: that they leave nothing may be what made
    /// two branches alike, so that neither teaches any more.
    pub(crate) fn keep_receivers(&mut self, before: Self) {
        for (receiver, counts) in before.receivers {
            self.receivers.entry(receiver).or_insert(counts);
        }
    }

    fn count<'s>(
        &mut self,
        code: usize,
        teachers: &impl Fn(u32) -> Teachers<'s>,
        site: u32,
        count: impl Fn(&mut Counts),
    ) {
        count(self.sites.entry((code, site)).or_default());
        let teachers = teachers(site);
        if let Some(receiver) = teachers.receiver {
            count(self.receivers.entry((code, receiver)).or_default());
        }
        if let Some(shared) = teachers.same {
            if !self.shared.contains_key(shared) {
                self.shared.insert(shared.to_owned(), Counts::default());
            }
            self.shared.get_mut(shared).into_iter().for_each(count);
        }
    }

    /// Whether paths that went on from `from` went to `to`; `None` if none did go on from there.
    pub(crate) fn is_taken(&self, code: usize, from: u32, to: u32) -> Option<bool> {
        self.left.contains_key(&(code, from)).then(|| self.taken.contains_key(&(code, from, to)))
    }

    /// What was seen at all sites that say `shared`, then at this one.
    fn seen<'a>(
        &'a self,
        code: usize,
        site: u32,
        shared: Option<&str>,
    ) -> impl Iterator<Item = &'a Counts> {
        let shared = shared.and_then(|shared| self.shared.get(shared));
        shared.into_iter().chain(self.sites.get(&(code, site)))
    }

    /// The cost of `key` at a site, given what the prior says.
    pub(crate) fn emission(
        &self,
        code: usize,
        site: u32,
        shared: Option<&str>,
        key: KeyId,
        prior: u32,
    ) -> u32 {
        let seen = self.seen(code, site, shared);
        cost(seen.fold(probability(prior), |prior, counts| {
            let of_key = counts.of_key.get(&key).copied().unwrap_or(0);
            let blended = blend(of_key, counts.events, prior);
            // A site that leads to many callees leads to each of them: having been seen there makes none less likely,
            // and not having been seen hardly so.
            match of_key {
                0 if counts.of_key.len() >= MANY_CALLEES => blended.max(prior * UNSEEN),
                0 => blended,
                _ => blended.max(prior),
            }
        }))
    }

    /// The cost of a site that leaves nothing, given what the prior says.
    pub(crate) fn skip_cost(
        &self,
        code: usize,
        site: u32,
        teachers: Teachers<'_>,
        prior: u16,
    ) -> u16 {
        // An object of C code leaves nothing by any of its methods. One that did leave something says nothing about the others.
        let of_receiver = teachers.receiver.and_then(|it| self.receivers.get(&(code, it)));
        let of_receiver = of_receiver.filter(|it| it.visited == 0);
        let seen = of_receiver.into_iter().chain(self.seen(code, site, teachers.same));
        let probability = seen.fold(probability(u32::from(prior)), |prior, counts| {
            blend(counts.skipped, counts.visited + counts.skipped, prior)
        });
        u16::try_from(cost(probability)).unwrap_or(u16::MAX)
    }
}

fn probability(cost: u32) -> f64 {
    (-f64::from(cost) / UNITS).exp()
}

fn blend(count: u32, of: u32, prior: f64) -> f64 {
    (f64::from(count) + PRIOR_WEIGHT * prior) / (f64::from(of) + PRIOR_WEIGHT)
}

fn cost(probability: f64) -> u32 {
    // At most 60 units, so the conversion is exact enough and never out of range.
    let units = (-probability.max(3e-7).ln() * UNITS).round();
    if units <= 0.0 { 0 } else { units as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Child;
    use crate::definitions::Start;

    fn learned(
        weight: usize,
        sites: Vec<u32>,
        is_clear: Vec<bool>,
        edges: Vec<(u32, u32)>,
    ) -> Learned {
        let key = |row| Child { key: KeyId(row), exact: 0 };
        let children = (0..sites.len() as u32).map(key).collect();
        let sequence = Sequence {
            start: Start::Entry,
            is_cut: false,
            returned: false,
            children,
            frames: vec![0; weight],
        };
        let visited = sites.clone();
        let mut learned = Learned::default();
        let aligned = AlignedFrame { sites, is_clear, visited, edges };
        learned.add(0, &aligned, &sequence, |site| Teachers {
            same: (site == 1).then_some("a.b"),
            receiver: (site == 2).then_some(2),
        });
        learned
    }

    #[test]
    fn what_was_seen_at_a_site_is_cheaper_there() {
        let learned = learned(10, vec![0], vec![true], vec![]);
        // (10 + 2 e^-3) of 12 events.
        assert_eq!(learned.emission(0, 0, None, KeyId(0), 12), 1);
        // 2 e^-3 of 12.
        assert_eq!(learned.emission(0, 0, None, KeyId(1), 12), 19);
        assert_eq!(learned.emission(0, 5, None, KeyId(0), 12), 12);
    }

    #[test]
    fn what_is_not_clear_teaches_nothing() {
        let learned = learned(10, vec![0], vec![false], vec![]);
        assert_eq!(learned.emission(0, 0, None, KeyId(0), 12), 12);
    }

    #[test]
    fn sites_that_say_the_same_learn_together() {
        let learned = learned(10, vec![1], vec![true], vec![]);
        assert_eq!(learned.emission(3, 7, Some("a.b"), KeyId(0), 12), 1);
        assert_eq!(learned.emission(3, 7, Some("a.c"), KeyId(0), 12), 12);
    }

    #[test]
    fn a_site_that_was_passed_over_is_cheaper_to_skip() {
        let learned = learned(10, vec![0], vec![true], vec![(0, 2), (2, 3)]);
        assert_eq!(learned.skip_cost(0, 2, Teachers::default(), 12), 1);
        assert!(learned.skip_cost(0, 0, Teachers::default(), 12) > 12);
        // Another method of the same object.
        let teachers = Teachers { same: None, receiver: Some(2) };
        assert_eq!(learned.skip_cost(0, 9, teachers, 12), 1);
        assert_eq!(learned.skip_cost(1, 9, teachers, 12), 12);
        assert_eq!(learned.is_taken(0, 2, 3), Some(true));
        assert_eq!(learned.is_taken(0, 2, 4), Some(false));
        assert_eq!(learned.is_taken(0, 4, 5), None);
    }
}
