//! PageableCopies from host memory, as devices ran them.

use ledger::{Bytes, Ns, Pattern, PatternBooks};
use profile::{DeviceEventId, DeviceKind, HostEventId, Profile};
use recorded::{Launches, Steps};
use rustc_hash::FxHashMap;

use super::found::PatternCharges;
use crate::charge::device::DeviceStacks;
use crate::charge::waits::{Running, Waits};
use crate::event_stacks::EventStacks;
use crate::timeline_pass::TimelinePass;

/// The copies from pageable host memory.
pub(crate) struct PageableCopies {
    events: Vec<DeviceEventId>,
    /// By the outermost operator around the copy (the call itself, where there is none): how long the host waited, in the
    /// call and in the synchronisation that PyTorch adds, and what at most is won without the wait.
    waits: FxHashMap<HostEventId, (Ns, Ns)>,
}

impl PageableCopies {
    /// Looks for the copies.
    pub(crate) fn new(
        profile: &Profile,
        launches: &Launches,
        pass: &TimelinePass<'_>,
        waits: &Waits,
    ) -> Self {
        let device = &profile.device;
        let is_pageable = |&event: &DeviceEventId| {
            is_upload(profile, event)
                && profile.strings.get(device.name[event.index()]).contains("Pageable")
        };
        let events: Vec<DeviceEventId> = device.ids().filter(is_pageable).collect();
        let mut copies = Self { events, waits: FxHashMap::default() };
        if copies.events.is_empty() {
            return copies;
        }
        for (&sync, &avoidable) in pass.syncs.iter().zip(&waits.avoidable) {
            let around = pass.events.operator_around(sync).unwrap_or(sync);
            let (wait, won) = copies.waits.entry(around).or_default();
            *wait += profile.host.duration[sync.index()];
            *won = won.saturating_add(avoidable);
        }
        let running = Running::new(profile);
        for &event in &copies.events {
            let Some(launch) = launches.launch(event) else { continue };
            let around = pass.events.operator_around(launch).unwrap_or(launch);
            // From pinned memory the copy can run beside other work, but for the time in which there is none.
            let (_, won) = copies.waits.entry(around).or_default();
            *won = won.saturating_add(alone(profile, &running, event));
        }
        // The host waits while the device copies, and both are won at once.
        for (wait, won) in copies.waits.values_mut().filter(|(wait, _)| *wait > Ns::ZERO) {
            *won = (*won).min(*wait);
        }
        copies
    }

    /// How long the host waited for copies in an outermost operator, and what at most is won without the wait.
    pub(super) fn of(&self, operator: HostEventId) -> (Ns, Ns) {
        self.waits.get(&operator).copied().unwrap_or_default()
    }

    /// Charges each copy.
    pub(super) fn find(
        &self,
        profile: &Profile,
        launches: &Launches,
        stacks: &DeviceStacks,
        steps: &Steps,
        events: &EventStacks<'_>,
        found: &mut PatternCharges,
    ) {
        let (host, device) = (&profile.host, &profile.device);
        let mut waits = self.waits.clone();
        for &event in &self.events {
            let Some(launch) = launches.launch(event) else { continue };
            let around = events.operator_around(launch).unwrap_or(launch);
            // Of several copies in one operator the first takes the waits of all.
            let (wait, avoidable) = waits.remove(&around).unwrap_or_default();
            let books = PatternBooks {
                count: 1,
                cpu: wait,
                wait,
                avoidable,
                cuda: device.duration[event.index()],
                bytes: device.bytes[event.index()].max(Bytes::ZERO),
                ..PatternBooks::default()
            };
            let line = events.stacks.charged_line(stacks.node(event));
            found.charge(steps, line, Pattern::PageableCopy, host.start[launch.index()], &books);
        }
    }
}

/// What of a device event lies in no other event of its device, at least.
fn alone(profile: &Profile, running: &Running, event: DeviceEventId) -> Ns {
    let device = &profile.device;
    let (start, end) = (device.start[event.index()], device.end(event));
    let others = running.overlapping(start, end).filter(|&other| {
        other != event && device.device[other.index()] == device.device[event.index()]
    });
    let shared = |other: DeviceEventId| {
        (device.end(other).min(end) - device.start[other.index()].max(start)).max(Ns::ZERO)
    };
    let shared = others.fold(Ns::ZERO, |sum, other| sum.saturating_add(shared(other)));
    (end - start - shared.min(end - start)).max(Ns::ZERO)
}

/// Whether a device event copies from the host.
pub(super) fn is_upload(profile: &Profile, event: DeviceEventId) -> bool {
    let device = &profile.device;
    device.kind[event.index()] == DeviceKind::Memcpy
        && profile.strings.get(device.name[event.index()]).contains("HtoD")
}
