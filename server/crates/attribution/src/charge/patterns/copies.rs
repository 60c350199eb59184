//! Copies from host memory, as devices ran them.

use ledger::{Bytes, Ns, Pattern, PatternBooks};
use profile::{DeviceEventId, DeviceKind, HostEventId, Profile};
use recorded::{Launches, Steps};
use rustc_hash::FxHashMap;

use super::found::PatternCharges;
use crate::charge::device::DeviceStacks;
use crate::event_stacks::EventStacks;

/// Charges each copy from pageable host memory, with the time that the host waited in its call and in the
/// synchronisation that its operator adds.
pub(super) fn find(
    profile: &Profile,
    launches: &Launches,
    stacks: &DeviceStacks,
    steps: &Steps,
    events: &EventStacks<'_>,
    syncs: &[HostEventId],
    found: &mut PatternCharges,
) {
    let (host, device) = (&profile.host, &profile.device);
    let mut waits: FxHashMap<HostEventId, Ns> = FxHashMap::default();
    for &sync in syncs {
        let around = events.operator_around(sync).unwrap_or(sync);
        *waits.entry(around).or_default() += host.duration[sync.index()];
    }
    for event in device.ids().filter(|&event| is_upload(profile, event)) {
        if !profile.strings.get(device.name[event.index()]).contains("Pageable") {
            continue;
        }
        let Some(launch) = launches.launch(event) else { continue };
        let around = events.operator_around(launch).unwrap_or(launch);
        // Of several copies in one operator the first takes the waits of all.
        let wait = waits.remove(&around).unwrap_or(Ns::ZERO);
        let books = PatternBooks {
            count: 1,
            cpu: wait,
            wait,
            cuda: device.duration[event.index()],
            bytes: device.bytes[event.index()].max(Bytes::ZERO),
            ..PatternBooks::default()
        };
        let line = events.stacks.charged_line(stacks.node(event));
        found.charge(steps, line, Pattern::PageableCopy, host.start[launch.index()], &books);
    }
}

/// Whether a device event copies from the host.
pub(super) fn is_upload(profile: &Profile, event: DeviceEventId) -> bool {
    let device = &profile.device;
    device.kind[event.index()] == DeviceKind::Memcpy
        && profile.strings.get(device.name[event.index()]).contains("HtoD")
}
