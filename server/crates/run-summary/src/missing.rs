//! Kernels that were launched and left no event.

use profile::{HostEventId, HostKind, Profile};
use recorded::{begins_capture, ends_capture, launches_kernel};
use rustc_hash::FxHashSet;

/// How many calls launched a kernel whose event is not in `profile`, which has events of devices. Launches while their
/// thread captures a graph are none: they run nothing. `order` are the host events in order.
pub(crate) fn launches_without_event(profile: &Profile, order: &[HostEventId]) -> u64 {
    let (host, device) = (&profile.host, &profile.device);
    if device.is_empty() {
        return 0;
    }
    let ran: FxHashSet<i64> = device.correlation.iter().copied().collect();
    let mut is_capturing = vec![false; profile.threads.len()];
    let mut missing = 0;
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
        } else if launches_kernel(name) && !*is_capturing {
            let correlation = host.runtime.correlation[host.detail_row(id)];
            missing += u64::from(correlation > 0 && !ran.contains(&correlation));
        }
    }
    missing
}
