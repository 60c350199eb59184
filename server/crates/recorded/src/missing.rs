//! What was launched and left no event.

use profile::{HostEventId, HostKind, Profile};
use rustc_hash::FxHashSet;

use crate::runtime_calls::{begins_capture, ends_capture};

/// The calls that launched something whose event is not in `profile`, of those whose names are launches. Launches while their
/// thread captures a graph are none: they run nothing. `order` are the host events in order.
#[must_use]
pub fn launches_without_event(
    profile: &Profile,
    order: &[HostEventId],
    is_launch: impl Fn(&str) -> bool,
) -> Vec<HostEventId> {
    let (host, device) = (&profile.host, &profile.device);
    let ran: FxHashSet<i64> = device.correlation.iter().copied().collect();
    let mut is_capturing = vec![false; profile.threads.len()];
    let mut missing = Vec::new();
    for &id in order {
        if host.kind[id.index()] != HostKind::Runtime {
            continue;
        }
        let is_capturing = &mut is_capturing[host.thread[id.index()].index()];
        let name = profile.strings.get(host.name[id.index()]);
        if begins_capture(name) {
            *is_capturing = true;
        } else if ends_capture(name) {
            *is_capturing = false;
        } else if is_launch(name) && !*is_capturing {
            let correlation = host.runtime.correlation[host.detail_row(id)];
            missing.extend((correlation > 0 && !ran.contains(&correlation)).then_some(id));
        }
    }
    missing
}
