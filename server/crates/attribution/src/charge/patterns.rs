//! Anti-patterns that cost time, found by patterns of events: one walk over the events after the timeline pass, in its order.
//!
//! What is found is charged to lines. It is a view: the books of time are not changed by it.

mod copies;
mod found;
mod indexing;
mod name_classes;
mod own_lines;
mod updates;
mod walk;

pub(crate) use copies::PageableCopies;
pub(crate) use found::PatternCharges;

use profile::Profile;
use recorded::{Launches, Steps};

use super::device::DeviceStacks;
use crate::event_stacks::EventStacks;

/// Looks for all patterns.
pub(crate) fn find_patterns(
    profile: &Profile,
    launches: &Launches,
    stacks: &DeviceStacks,
    steps: &Steps,
    events: &mut EventStacks<'_>,
    copies: &PageableCopies,
    (is_idle, is_recording): (&[bool], &[bool]),
) -> PatternCharges {
    let left_out = (is_idle, is_recording);
    let mut found = walk::walk(profile, launches, steps, copies, events, left_out);
    copies.find(profile, launches, stacks, steps, events, &mut found);
    found
}
