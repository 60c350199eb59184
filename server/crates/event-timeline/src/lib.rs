//! What the threads and devices of one rank did over time: spans of time, each with its stack. Timelines are drawn from it.
//!
//! *Owns*: the lanes and their spans, how much memory was in use beside them, and what of them a picture of a range of time can show ([`TimelineBox`]): what is too
//! short to be seen is merged, with its number and its time.
//!
//! *Never*: decides which stack an event has; formats a number or a name; knows a file format.
//!
//! *The test that says so*: `tests/tests/timeline.rs` holds the sums of the spans against the books of stacks on recordings;
//! the unit tests of `boxes` hold what is merged.

mod boxes;
mod lanes;

pub use boxes::{Boxes, TimelineBox};
pub use lanes::{
    EventTimeline, Lane, LaneKind, LaneSpan, Launch, MemoryCurve, SpanName, StepRange,
};
