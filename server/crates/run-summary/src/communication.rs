//! What of communication was not hidden by compute.

use std::collections::BTreeMap;

use ledger::{KernelClass, Ns};
use profile::{DeviceEventId, Profile};
use recorded::KernelClasses;

use crate::intervals::IntervalParts;

/// A device event that communicates with other devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collective {
    /// The device event.
    pub event: DeviceEventId,
    /// The time of it during which its device ran no compute kernel, in nanoseconds. An instant of several collectives
    /// counts to the one that started first.
    pub exposed: Ns,
}

/// The collectives, device by device in order of start.
pub(crate) fn collectives(profile: &Profile, classes: &KernelClasses) -> Vec<Collective> {
    let device = &profile.device;
    let (mut collectives, mut compute) = (BTreeMap::new(), BTreeMap::new());
    for event in device.ids() {
        let ordinal = device.device[event.index()];
        match classes.class(event) {
            KernelClass::Communication => {
                collectives.entry(ordinal).or_insert_with(Vec::new).push(event);
            }
            KernelClass::Compute => compute
                .entry(ordinal)
                .or_insert_with(IntervalParts::default)
                .add(device.start[event.index()], device.end(event)),
            KernelClass::Memory => {}
        }
    }
    let mut found = Vec::new();
    for (ordinal, mut events) in collectives {
        let compute = compute.remove(&ordinal).unwrap_or_default().into_intervals();
        events.sort_by_key(|event| device.start[event.index()]);
        let mut until = Ns::MIN;
        for event in events {
            let (start, end) = (device.start[event.index()].max(until), device.end(event));
            let exposed = (end - start).max(Ns::ZERO) - compute.within(start, end.max(start));
            found.push(Collective { event, exposed });
            until = until.max(end);
        }
    }
    found
}
