//! Lanes of spans, in order of time.

use ledger::{Bytes, Ns};
use stack_books::{StackBooks, StackRow};

/// What the threads and devices of one rank did. Times count from the base of the recording.
#[derive(Debug, Clone, Default)]
pub struct EventTimeline {
    /// The rank.
    pub rank: u32,
    /// The stacks of the spans: lines of user code, with calls, operators and kernels below them
    /// ([`StackBooks::of_user_code`]).
    pub stacks: StackBooks,
    /// Names of annotations.
    pub names: Vec<String>,
    /// The steps in order of time.
    pub steps: Vec<StepRange>,
    /// The lanes: of each thread its annotations and its stacks, then of each device its idle time and its streams.
    pub lanes: Vec<Lane>,
    /// How much of each memory was in use, where that was recorded.
    pub memory: Vec<MemoryCurve>,
    /// The base of the recording: time 0 since the Unix epoch, by the clock of its host.
    pub base: Ns,
}

/// How much of a memory was in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryCurve {
    /// Its name: `cpu`, `cuda:0`.
    pub device: String,
    /// What was in use before the first of `points`, as far as that is known.
    pub before: Bytes,
    /// When something was allocated or released, in order, and what was in use after that.
    pub points: Vec<(Ns, Bytes)>,
}

impl MemoryCurve {
    /// The most that was in use in each of `n` equal parts of a range.
    #[must_use]
    pub fn most_in_parts(&self, (from, to): (Ns, Ns), n: usize) -> Vec<Bytes> {
        let mut place = self.points.partition_point(|(at, _)| *at < from);
        let mut in_use = place.checked_sub(1).map_or(self.before, |it| self.points[it].1);
        let edge = |part: usize| {
            let offset = i128::from((to - from).0) * part as i128 / n.max(1) as i128;
            from.saturating_add(Ns(i64::try_from(offset).unwrap_or(i64::MAX)))
        };
        let most_until = |end: Ns| {
            let mut most = in_use;
            while let Some(&(_, bytes)) = self.points.get(place).filter(|(at, _)| *at < end) {
                in_use = bytes;
                most = most.max(bytes);
                place += 1;
            }
            most
        };
        (1..=n).map(edge).map(most_until).collect()
    }
}

/// A step of the recorded loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepRange {
    /// The number that the recording gives it.
    pub number: u32,
    /// When it began.
    pub start: Ns,
    /// When it ended.
    pub end: Ns,
}

/// Spans that are shown together.
#[derive(Debug, Clone)]
pub struct Lane {
    /// What they are of.
    pub kind: LaneKind,
    /// In order of start, of those that start together the longest first.
    pub spans: Vec<LaneSpan>,
    /// By span of a stream, what launched it; empty in other lanes.
    pub launches: Vec<Option<Launch>>,
}

/// What a lane shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaneKind {
    /// The annotations of a thread, by its label.
    Annotations(String),
    /// Thread time, by the label of the thread. Its spans do not overlap: each has the innermost stack.
    Thread(String),
    /// Times during which a device ran nothing, by its ordinal. The stack is that of the launching thread.
    Idle(i32),
    /// What ran on a stream of a device.
    Stream {
        /// Ordinal of the device.
        device: i32,
        /// Number of the stream.
        stream: i64,
    },
}

/// A span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneSpan {
    /// When it began.
    pub start: Ns,
    /// When it ended.
    pub end: Ns,
    /// What it is.
    pub name: SpanName,
}

impl LaneSpan {
    /// What of it lies in a range; `None` if nothing does.
    pub(crate) fn within(&self, from: Ns, to: Ns) -> Option<Self> {
        let is_inside = self.start < to && from < self.end;
        is_inside.then(|| Self { start: self.start.max(from), end: self.end.min(to), ..*self })
    }
}

/// What a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanName {
    /// A row of [`EventTimeline::stacks`].
    Stack(StackRow),
    /// A row of the names of the lanes: of annotations, those of [`EventTimeline::names`].
    Named(u32),
}

/// The host event that launched something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Row of the lane of its thread.
    pub lane: u32,
    /// When it began.
    pub at: Ns,
}

impl EventTimeline {
    /// The time from the first span to the end of the last one.
    #[must_use]
    pub fn whole(&self) -> (Ns, Ns) {
        let spans = || self.lanes.iter().flat_map(|it| &it.spans);
        let start = spans().map(|it| it.start).min().unwrap_or_default();
        (start, spans().map(|it| it.end).max().unwrap_or(start))
    }

    /// The step of median duration; of two the shorter. `None` without steps.
    #[must_use]
    pub fn median_step(&self) -> Option<StepRange> {
        let mut steps = self.steps.clone();
        steps.sort_by_key(|it| (it.end - it.start, it.number));
        steps.get(steps.len().saturating_sub(1) / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_the_most_that_was_in_use_in_it() {
        let points = [(10, 7), (12, 3), (19, 9), (20, 1), (45, 0)];
        let points = points.map(|(at, bytes)| (Ns(at), Bytes(bytes))).to_vec();
        let curve = MemoryCurve { device: "cuda:0".to_owned(), before: Bytes(5), points };
        let most = |from, to| curve.most_in_parts((Ns(from), Ns(to)), 4);
        assert_eq!(most(0, 40), [Bytes(5), Bytes(9), Bytes(9), Bytes(1)]);
        assert_eq!(most(11, 15), [Bytes(7), Bytes(7), Bytes(3), Bytes(3)]);
        assert_eq!(most(50, 90), [Bytes(0); 4]);
    }
}
