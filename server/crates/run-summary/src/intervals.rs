//! Sets of instants: half-open intervals in order, without overlap or contact.

use ledger::Ns;

/// A set of instants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Intervals(Vec<(Ns, Ns)>);

/// Parts of a set of instants, in any order; they may overlap.
#[derive(Debug, Default)]
pub struct IntervalParts(Vec<(Ns, Ns)>);

impl IntervalParts {
    /// Adds the instants from `start` to `end`: none if the part is empty or turned round. A part that touches the one before
    /// it becomes one with it, so that nested events need little memory.
    pub fn add(&mut self, start: Ns, end: Ns) {
        if end <= start {
            return;
        }
        match self.0.last_mut() {
            Some(last) if start <= last.1 && last.0 <= end => {
                *last = (last.0.min(start), last.1.max(end));
            }
            _ => self.0.push((start, end)),
        }
    }

    /// The instants at which any of the parts is on.
    #[must_use]
    pub fn into_intervals(self) -> Intervals {
        let Self(mut parts) = self;
        parts.sort_unstable();
        parts.dedup_by(|next, last| {
            let touches = next.0 <= last.1;
            if touches {
                last.1 = last.1.max(next.1);
            }
            touches
        });
        Intervals(parts)
    }
}

impl FromIterator<(Ns, Ns)> for Intervals {
    fn from_iter<I: IntoIterator<Item = (Ns, Ns)>>(iter: I) -> Self {
        let mut parts = IntervalParts::default();
        iter.into_iter().for_each(|(start, end)| parts.add(start, end));
        parts.into_intervals()
    }
}

impl Intervals {
    /// How many instants.
    pub(crate) fn measure(&self) -> Ns {
        self.0.iter().map(|&(start, end)| end - start).sum()
    }

    /// The intervals, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Ns, Ns)> {
        self.0.iter().copied()
    }

    /// The instants of both.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let mut both = Vec::new();
        let (mut mine, mut theirs) = (self.iter().peekable(), other.iter().peekable());
        while let (Some(&a), Some(&b)) = (mine.peek(), theirs.peek()) {
            let (start, end) = (a.0.max(b.0), a.1.min(b.1));
            if start < end {
                both.push((start, end));
            }
            if a.1 <= b.1 {
                mine.next()
            } else {
                theirs.next()
            };
        }
        Self(both)
    }

    /// The instants of this that `other` lacks.
    pub(crate) fn without(&self, other: &Self) -> Self {
        let mut rest = Vec::new();
        let mut first = 0;
        for (mut start, end) in self.iter() {
            while other.0.get(first).is_some_and(|it| it.1 <= start) {
                first += 1;
            }
            for &(from, to) in other.0[first..].iter().take_while(|it| it.0 < end) {
                if start < from {
                    rest.push((start, from));
                }
                start = start.max(to);
            }
            if start < end {
                rest.push((start, end));
            }
        }
        Self(rest)
    }

    /// The longest time from `start` to `end` without an instant, of those that end at `last` or later; `end` twice where there is none.
    pub(crate) fn longest_gap(&self, start: Ns, end: Ns, last: Ns) -> (Ns, Ns) {
        let first = self.0.partition_point(|it| it.0 < last);
        let before = first.checked_sub(1).and_then(|it| self.0.get(it));
        let mut from = before.map_or(start, |it| it.1.max(start));
        let mut longest = (end, end);
        let inside = self.0[first..].iter().take_while(|it| it.0 < end).copied();
        for (until, next) in inside.chain([(end, end)]) {
            if longest.1 - longest.0 < until - from {
                longest = (from, until);
            }
            from = next;
        }
        longest
    }

    /// How many of the instants from `start` to `end`.
    pub(crate) fn within(&self, start: Ns, end: Ns) -> Ns {
        let first = self.0.partition_point(|it| it.1 <= start);
        let inside = self.0[first..].iter().take_while(|it| it.0 < end);
        inside.map(|it| it.1.min(end) - it.0.max(start)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(set: &Intervals) -> u32 {
        set.iter().flat_map(|(start, end)| start.0..end.0).fold(0, |bits, at| bits | 1 << at)
    }

    /// The set of the bits that are on.
    fn set(bits: u32) -> Intervals {
        (0..10).filter(|at| bits >> at & 1 != 0).map(|at| (Ns(at), Ns(at + 1))).collect()
    }

    #[test]
    fn sets_are_as_sets_of_bits() {
        for a in (0..1024).step_by(7) {
            for b in (0..1024).step_by(5) {
                let (mine, theirs) = (set(a), set(b));
                assert_eq!(bits(&mine.and(&theirs)), a & b);
                assert_eq!(bits(&mine.without(&theirs)), a & !b);
                assert_eq!(mine.measure(), Ns(i64::from(a.count_ones())));
                let part = a >> 2 & 0b1_1111;
                assert_eq!(mine.within(Ns(2), Ns(7)), Ns(i64::from(part.count_ones())));
            }
        }
    }

    #[test]
    fn the_longest_gap_that_ends_late_is_found() {
        let set = [(0, 3), (50, 70), (97, 99)].map(|(start, end)| (Ns(start), Ns(end)));
        let set: Intervals = set.into_iter().collect();
        let gap = |start, end, last| {
            let (from, until) = set.longest_gap(Ns(start), Ns(end), Ns(last));
            (from.0, until.0)
        };
        assert_eq!(gap(1, 100, 95), (70, 97), "computes a little before the end");
        assert_eq!(gap(1, 100, 98), (99, 100), "too long before the end");
        assert_eq!(gap(1, 60, 57), (60, 60), "computes at the end");
        assert_eq!(gap(60, 90, 88), (70, 90));
        assert_eq!(gap(5, 50, 48), (5, 50), "computes nothing");
        assert_eq!(gap(200, 200, 200), (200, 200));
    }

    #[test]
    fn parts_are_joined() {
        let parts = [(5, 7), (0, 2), (2, 3), (1, 2), (9, 9), (8, 7)];
        let set: Intervals = parts.map(|(start, end)| (Ns(start), Ns(end))).into_iter().collect();
        assert_eq!(set, Intervals(vec![(Ns(0), Ns(3)), (Ns(5), Ns(7))]));
    }

    #[test]
    fn parts_out_of_order_are_joined() {
        let parts = [(4, 6), (0, 1), (2, 5), (8, 9), (1, 2)];
        let set: Intervals = parts.map(|(start, end)| (Ns(start), Ns(end))).into_iter().collect();
        assert_eq!(set, Intervals(vec![(Ns(0), Ns(6)), (Ns(8), Ns(9))]));
    }
}
