//! Device events stream by stream: what the gaps between them waited for.

use std::collections::BTreeMap;

use ledger::{IdleClasses, Ns};
use profile::{DeviceEventId, Profile};
use recorded::{IdleCause, Launches};

/// Idle time of all streams that `events` (of one device, in order of start) ran on.
pub(crate) fn idle(
    profile: &Profile,
    launches: &Launches,
    events: &[DeviceEventId],
) -> IdleClasses {
    let (host, device) = (&profile.host, &profile.device);
    let mut idle = IdleClasses::default();
    let mut busy_until: BTreeMap<i64, Ns> = BTreeMap::new();
    for &event in events {
        let (start, end) = (device.start[event.index()], device.end(event));
        let until = busy_until.entry(device.stream[event.index()]).or_insert(start);
        if *until < start {
            let launched = launches.launch(event).map(|launch| host.start[launch.index()]);
            let class = match IdleCause::of(*until, start, launched) {
                IdleCause::Host => &mut idle.host_wait,
                IdleCause::Kernel => &mut idle.kernel_wait,
                IdleCause::Other => &mut idle.other,
            };
            *class += start - *until;
        }
        *until = end.max(*until);
    }
    idle
}
