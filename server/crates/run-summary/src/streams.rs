//! Device events stream by stream: what the gaps between them waited for, and how many launches waited.

use std::collections::BTreeMap;

use ledger::{IdleClasses, Ns, StreamQueue};
use profile::{DeviceEventId, Profile};
use recorded::{IdleCause, Launches};

/// Idle time of each stream that `events` (of one device, in order of start) ran on.
pub(crate) fn idle(
    profile: &Profile,
    launches: &Launches,
    events: &[DeviceEventId],
) -> BTreeMap<i64, IdleClasses> {
    let (host, device) = (&profile.host, &profile.device);
    let mut idle: BTreeMap<i64, IdleClasses> = BTreeMap::new();
    let mut busy_until: BTreeMap<i64, Ns> = BTreeMap::new();
    for &event in events {
        let (start, end) = (device.start[event.index()], device.end(event));
        let stream = device.stream[event.index()];
        let until = busy_until.entry(stream).or_insert(start);
        if *until < start {
            let idle = idle.entry(stream).or_default();
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

/// How many launches waited on each stream that `events` (of one device) ran on.
pub(crate) fn queues(
    profile: &Profile,
    launches: &Launches,
    events: &[DeviceEventId],
) -> BTreeMap<i64, StreamQueue> {
    let (host, device) = (&profile.host, &profile.device);
    let mut changes: BTreeMap<i64, Vec<(Ns, i64)>> = BTreeMap::new();
    for &event in events {
        let Some(call) = launches.own_call(profile, event) else { continue };
        let called = host.start[call.index()];
        // An event cannot begin before its call: there the clocks of host and device differ.
        let start = device.start[event.index()].max(called);
        let stream = changes.entry(device.stream[event.index()]).or_default();
        stream.extend([(called, 1), (start, -1)]);
    }
    changes.into_iter().map(|(stream, changes)| (stream, queue(changes))).collect()
}

/// A queue whose length changes as given.
fn queue(mut changes: Vec<(Ns, i64)>) -> StreamQueue {
    changes.sort_unstable();
    let mut queue = StreamQueue { launches: changes.len() as u64 / 2, ..StreamQueue::default() };
    let (mut length, mut at) = (0_u64, changes.first().map_or(Ns::ZERO, |it| it.0));
    for (time, change) in changes {
        let lasted = time - at;
        queue.span += lasted;
        queue.length_time += i128::from(length) * i128::from(lasted);
        if StreamQueue::FULL <= length {
            queue.full += lasted;
        }
        length = length.saturating_add_signed(change);
        queue.longest = queue.longest.max(length);
        at = time;
    }
    queue
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_wait_until_their_events_begin() {
        // Called at 0, 10 and 20; begun at 15, 40 and 40.
        let changes = [(0, 1), (15, -1), (10, 1), (40, -1), (20, 1), (40, -1)];
        let it = queue(changes.map(|(at, change)| (Ns(at), change)).into());
        // One for 10, two for 5, one for 5, two for 20.
        let expected = StreamQueue {
            launches: 3,
            longest: 2,
            length_time: 10 + 10 + 5 + 40,
            span: Ns(40),
            full: Ns(0),
        };
        assert_eq!((it, it.mean_length()), (expected, Some(65.0 / 40.0)));
    }

    #[test]
    fn a_queue_of_as_many_launches_as_fit_is_full() {
        let called = (0..1_030).map(|at| (Ns(at), 1));
        let begun = (0..1_030).map(|at| (Ns(2_000 + 10 * at), -1));
        let it = queue(called.chain(begun).collect());
        // From the 1,024th call, at 1,023, until 1,023 are left: the seventh start, at 2,060.
        assert_eq!((it.longest, it.full), (1_030, Ns(2_060 - 1_023)));
        assert_eq!(queue(Vec::new()), StreamQueue::default());
    }
}
