//! A recording of which the begin alone is known.

use profile::{DeviceEventId, HostEventId, Ns, Profile};
use rustc_hash::FxHashSet;

use crate::missing::launches_without_event;
use crate::order::in_order;
use crate::runtime_calls::{launches_graph, launches_kernel};
use crate::steps::{Step, Steps};

/// Ends `profile`, of which all events before `known_until` are known, with the last of its first steps that is whole: all that it
/// launched has run. Gives the steps that are left, one at least; `None` if none is whole.
#[must_use]
pub fn end_with_whole_step(profile: &mut Profile, known_until: Ns) -> Option<Vec<Step>> {
    let Steps(mut steps) = Steps::new(profile);
    let n_known = steps.iter().take_while(|it| whole_until(it) <= known_until).count();
    let is_launch = |name: &str| launches_kernel(name) || launches_graph(name);
    let missing = launches_without_event(profile, &in_order(profile), is_launch);
    let waiting: Vec<Ns> = missing.iter().map(|id| profile.host.start[id.index()]).collect();
    let has_run = |step: &Step| {
        let next = waiting.partition_point(|at| *at < step.start);
        waiting.get(next).is_none_or(|at| step.end <= *at)
    };
    // What a step launched has run if that of a later one has.
    let last = steps[..n_known].iter().rposition(has_run)?;
    steps.truncate(last + 1);
    end_at(profile, steps[last].end);
    Some(steps)
}

/// The time until which events must be known so that all on the host of a step is: they are not quite in the order of time.
fn whole_until(step: &Step) -> Ns {
    let half = step.end.saturating_sub(step.start).0 / 2;
    step.end.saturating_add(Ns(half))
}

/// Leaves out what began at `end` or later, but for what runs on a device because of something earlier, and ends on the host what
/// went on then.
fn end_at(profile: &mut Profile, end: Ns) {
    let is_late = |start: &Ns| end <= *start;
    let rows = |times: &[Ns]| -> Vec<usize> {
        (0..times.len()).filter(|&row| is_late(&times[row])).collect()
    };
    let late: Vec<_> = rows(&profile.host.start).into_iter().map(HostEventId::from_index).collect();
    profile.host.remove(&late);
    for (start, duration) in profile.host.start.iter().zip(&mut profile.host.duration) {
        *duration = (*duration).min(end.saturating_sub(*start));
    }
    let launches = profile.host.runtime.correlation.iter().copied();
    let launches: FxHashSet<i64> = launches.filter(|&it| 0 <= it).collect();
    let device = &profile.device;
    let late = rows(&device.start).into_iter();
    let late = late.filter(|&row| !launches.contains(&device.correlation[row]));
    let late: Vec<_> = late.map(DeviceEventId::from_index).collect();
    profile.device.remove(&late);
    let late = rows(&profile.memory.at);
    profile.memory.remove(&late);
    profile.flows.retain(|it| !is_late(&it.at));
}
