//! Calls that reserve memory from a device, or give it back, by charged line: what the allocator could not serve from what
//! it had.

use ledger::{Ns, SegmentTime};
use line_stacks::LineId;
use profile::{HostKind, Profile};
use rustc_hash::FxHashMap;

use crate::event_stacks::EventStacks;
use recorded::reserves_memory;

/// Host time of such calls by charged line. One inside another (`cuMemCreate` in `cudaMalloc`) is part of it.
pub(crate) fn segment_calls(
    profile: &Profile,
    events: &EventStacks<'_>,
) -> FxHashMap<LineId, SegmentTime> {
    let host = &profile.host;
    let mut charges: FxHashMap<LineId, SegmentTime> = FxHashMap::default();
    let reserves: Vec<bool> =
        profile.strings.iter().map(|(_, name)| reserves_memory(name)).collect();
    let mut until: Vec<Ns> = vec![Ns::MIN; profile.threads.len()];
    let calls = events.order.iter().filter(|id| {
        host.kind[id.index()] == HostKind::Runtime && reserves[host.name[id.index()].index()]
    });
    for &id in calls {
        let until = &mut until[host.thread[id.index()].index()];
        if host.start[id.index()] < *until {
            continue;
        }
        *until = host.end(id);
        if let Some(line) = events.charged_line(id).get() {
            let charge = charges.entry(line).or_default();
            charge.calls += 1;
            charge.time += host.duration[id.index()];
        }
    }
    charges
}
