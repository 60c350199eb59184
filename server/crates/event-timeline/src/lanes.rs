//! Lanes of spans, in order of time.

use ledger::Ns;
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

/// What a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanName {
    /// A row of [`EventTimeline::stacks`].
    Stack(StackRow),
    /// A row of [`EventTimeline::names`].
    Annotation(u32),
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
