//! Which device event comes before which.

use std::collections::BTreeMap;

use ledger::Ns;
use profile::{DeviceEventId, Profile};
use rustc_hash::FxHashMap;

/// The device events of a recording in the orders in which they are looked for.
pub(crate) struct DeviceOrders {
    /// By device, in order of their ends.
    by_end: BTreeMap<i32, Vec<DeviceEventId>>,
    /// By event, the one of its stream that ended last of those that began before it.
    before: Vec<DeviceEventId>,
}

impl DeviceOrders {
    pub(crate) fn new(profile: &Profile) -> Self {
        let device = &profile.device;
        let mut by_start: BTreeMap<i32, Vec<DeviceEventId>> = BTreeMap::new();
        for event in device.ids() {
            by_start.entry(device.device[event.index()]).or_default().push(event);
        }
        let mut before = vec![DeviceEventId::NONE; device.len()];
        for events in by_start.values_mut() {
            events.sort_by_key(|it| device.start[it.index()]);
            let mut last: FxHashMap<i64, DeviceEventId> = FxHashMap::default();
            for &event in &*events {
                let last = last.entry(device.stream[event.index()]).or_insert(event);
                if *last != event {
                    before[event.index()] = *last;
                }
                if device.end(*last) <= device.end(event) {
                    *last = event;
                }
            }
            events.sort_by_key(|it| device.end(*it));
        }
        Self { by_end: by_start, before }
    }

    /// The event before `event` on its stream that ended last.
    pub(crate) fn before_on_stream(&self, event: DeviceEventId) -> Option<DeviceEventId> {
        self.before[event.index()].get()
    }

    /// The event of `event`'s device, on any stream, that began before it and ended last of those that had ended then.
    pub(crate) fn before_on_device(
        &self,
        profile: &Profile,
        event: DeviceEventId,
    ) -> Option<DeviceEventId> {
        let start = profile.device.start[event.index()];
        self.ended(profile, profile.device.device[event.index()], start)
    }

    /// The event of any device that began before `time` and ended last of those that had ended at `time`.
    pub(crate) fn last_ended(&self, profile: &Profile, time: Ns) -> Option<DeviceEventId> {
        let of_devices = self.by_end.keys().filter_map(|&it| self.ended(profile, it, time));
        of_devices.max_by_key(|&it| profile.device.end(it))
    }

    fn ended(&self, profile: &Profile, ordinal: i32, time: Ns) -> Option<DeviceEventId> {
        let device = &profile.device;
        let events = self.by_end.get(&ordinal)?;
        let ended = events.partition_point(|it| device.end(*it) <= time);
        events[..ended].iter().rev().copied().find(|it| device.start[it.index()] < time)
    }
}
