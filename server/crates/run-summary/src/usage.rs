//! How each device was used.

use std::collections::BTreeMap;

use ledger::{
    Bytes, DeviceOverview, KernelClass, LaunchSummary as LaunchStatistics, Ns, TensorCores,
};
use profile::{DeviceEventId, DeviceKind, Profile};
use recorded::{KernelClasses, Launches};
use rustc_hash::FxHashSet;

use crate::intervals::Intervals;
use crate::spans::StepSpan;
use crate::{devices, eligible, streams};

/// A launch that takes longer, from the return of its call to the start of the kernel, is reported (as HTA does).
const LONG_DELAY: Ns = Ns(100_000);
/// A runtime call that takes longer is reported (as HTA does).
const LONG_CALL: Ns = Ns(50_000);
/// A kernel that is shorter is reported (as TraceLens does).
const SHORT: Ns = Ns(10_000);
/// Blocks per multiprocessor are in millionths: as many of them make one.
const ONE_BLOCK: i64 = 1_000_000;

/// The usage of each device by ordinal.
pub(crate) fn devices(
    profile: &Profile,
    spans: &[StepSpan],
    launches: &Launches,
    classes: &KernelClasses,
) -> BTreeMap<i32, DeviceOverview> {
    let device = &profile.device;
    let mut by_device: BTreeMap<i32, Vec<DeviceEventId>> = BTreeMap::new();
    for event in device.ids() {
        by_device.entry(device.device[event.index()]).or_default().push(event);
    }
    let steps =
        spans.first().zip(spans.last()).map_or((Ns::ZERO, Ns::ZERO), |(a, b)| (a.start, b.end));
    let with_tensor_cores = with_tensor_cores(profile, launches, classes);
    let of_device = |(ordinal, mut events): (i32, Vec<DeviceEventId>)| {
        events.sort_by_key(|event| device.start[event.index()]);
        let mut usage = DeviceOverview::default();
        describe(&mut usage, profile, ordinal);
        let events = UsageEvents { profile, launches, classes, events: &events };
        events.use_of_steps(&mut usage, steps);
        events.kernels(&mut usage, &with_tensor_cores);
        events.classes(&mut usage);
        events.launches(&mut usage.launches);
        events.copies(&mut usage);
        usage.idle = streams::idle(profile, launches, events.events);
        usage.queues = streams::queues(profile, launches, events.events);
        (ordinal, usage)
    };
    by_device.into_iter().map(of_device).collect()
}

/// What the recording and the table say about the device.
fn describe(usage: &mut DeviceOverview, profile: &Profile, ordinal: i32) {
    let all = &profile.meta.devices;
    // ROCm counts the host's processors among the devices of events; where all are of one kind, it is reported all the same.
    let are_alike = all.windows(2).all(|two| two[0].name == two[1].name);
    let alike = all.first().filter(|_| are_alike);
    if let Some(properties) = all.iter().find(|it| it.id == ordinal).or(alike) {
        usage.name.clone_from(&properties.name);
        usage.capability = (properties.compute_major, properties.compute_minor);
        usage.multiprocessors = properties.multiprocessors;
    }
    if let Some((peak, multiprocessors, source)) = devices::peak(&usage.name) {
        usage.peak = Some(peak);
        usage.peak_source = source.to_owned();
        if usage.multiprocessors == 0 {
            usage.multiprocessors = multiprocessors;
        }
    }
}

/// Operators, by `External id`, that launched a kernel on tensor cores.
fn with_tensor_cores(
    profile: &Profile,
    launches: &Launches,
    classes: &KernelClasses,
) -> FxHashSet<profile::HostEventId> {
    let on_tensor_cores =
        profile.device.ids().filter(|&event| classes.tensor_cores(event) == TensorCores::Yes);
    on_tensor_cores.filter_map(|event| launches.operator(event)).collect()
}

/// The events of one device, in order of start.
struct UsageEvents<'a> {
    profile: &'a Profile,
    launches: &'a Launches,
    classes: &'a KernelClasses,
    events: &'a [DeviceEventId],
}

impl UsageEvents<'_> {
    fn start(&self, event: DeviceEventId) -> Ns {
        self.profile.device.start[event.index()]
    }

    fn end(&self, event: DeviceEventId) -> Ns {
        self.profile.device.end(event)
    }

    fn kernel_events(&self) -> impl Iterator<Item = DeviceEventId> {
        let kind = &self.profile.device.kind;
        self.events.iter().copied().filter(|event| kind[event.index()] == DeviceKind::Kernel)
    }

    fn merged(&self, wanted: impl Fn(DeviceEventId) -> bool) -> Intervals {
        let events = self.events.iter().filter(|event| wanted(**event));
        events.map(|&event| (self.start(event), self.end(event))).collect()
    }

    /// Utilisation, multiprocessor efficiency and occupancy between `first` and `last`.
    fn use_of_steps(&self, usage: &mut DeviceOverview, (first, last): (Ns, Ns)) {
        let device = &self.profile.device;
        usage.steps_span = last - first;
        let is_kernel = |event: DeviceEventId| device.kind[event.index()] == DeviceKind::Kernel;
        usage.steps_kernel = self.merged(is_kernel).within(first, last);
        let mut blocks: Vec<(Ns, i64)> = Vec::new();
        for event in self.kernel_events() {
            let Some(shape) = device.shapes.get(device.shape[event.index()]) else { continue };
            let (start, end) = (self.start(event).max(first), self.end(event).min(last));
            if end <= start {
                continue;
            }
            if shape.blocks_per_multiprocessor > 0 {
                usage.multiprocessor_known += end - start;
                let number = shape.blocks_per_multiprocessor;
                blocks.extend([(start, number), (end, -number)]);
            }
            if shape.occupancy_permille >= 0 {
                usage.occupancy_time +=
                    i128::from(shape.occupancy_permille) * i128::from(end - start);
                usage.occupancy_known += end - start;
            }
        }
        blocks.sort_unstable();
        let (mut at, mut running) = (first, 0_i64);
        for (time, change) in blocks {
            usage.multiprocessor_time += i128::from(running.min(ONE_BLOCK)) * i128::from(time - at);
            at = time;
            running = running.saturating_add(change);
        }
    }

    /// How kernels used tensor cores.
    fn kernels(
        &self,
        usage: &mut DeviceOverview,
        with_tensor_cores: &FxHashSet<profile::HostEventId>,
    ) {
        let (host, device) = (&self.profile.host, &self.profile.device);
        for event in self.kernel_events() {
            let time = device.duration[event.index()];
            usage.kernels += 1;
            usage.kernel_time += time;
            match self.classes.tensor_cores(event) {
                TensorCores::Yes => usage.tensor_core_time += time,
                TensorCores::Unknown => usage.tensor_core_unknown += time,
                TensorCores::No => {}
            }
            if let Some(operator) = self.launches.operator(event) {
                let name = self.profile.strings.get(host.name[operator.index()]);
                if eligible::is_eligible(name) || with_tensor_cores.contains(&operator) {
                    usage.eligible_time += time;
                }
            }
        }
    }

    /// Busy time by class, and what of it is hidden.
    fn classes(&self, usage: &mut DeviceOverview) {
        let of_class = |class| self.merged(|event| self.classes.class(event) == class);
        let compute = of_class(KernelClass::Compute);
        let communication = of_class(KernelClass::Communication);
        let memory = of_class(KernelClass::Memory);
        let first = self.events.first().map_or(Ns::ZERO, |&event| self.start(event));
        let last = self.events.iter().map(|&event| self.end(event)).max().unwrap_or(first);
        usage.span = last - first;
        usage.busy = self.merged(|_| true).measure();
        usage.compute = compute.measure();
        usage.communication = communication.measure();
        usage.overlapped = compute.and(&communication).measure();
        usage.exposed_communication = communication.without(&compute).measure();
        usage.exposed_memory = memory.without(&compute).without(&communication).measure();
    }

    fn launches(&self, statistics: &mut LaunchStatistics) {
        let (host, device) = (&self.profile.host, &self.profile.device);
        for &event in self.events {
            let Some(call) = self.launches.own_call(self.profile, event) else { continue };
            let (called, time) = (host.duration[call.index()], device.duration[event.index()]);
            let delay = (self.start(event) - host.end(call)).max(Ns::ZERO);
            statistics.count += 1;
            // These may add up to more than the recording lasts: by as much as the clocks of host and device differ.
            statistics.delay = statistics.delay.saturating_add(delay);
            statistics.longest_delay = statistics.longest_delay.max(delay);
            statistics.long_delays += u64::from(delay > LONG_DELAY);
            statistics.call = statistics.call.saturating_add(called);
            statistics.long_calls += u64::from(called > LONG_CALL);
            statistics.shorter_than_call += u64::from(time < called);
            statistics.short += u64::from(time < SHORT);
        }
    }

    fn copies(&self, usage: &mut DeviceOverview) {
        let device = &self.profile.device;
        for &event in self.events {
            if device.kind[event.index()] != DeviceKind::Kernel {
                let name = self.profile.strings.get(device.name[event.index()]);
                if !usage.copies.contains_key(name) {
                    usage.copies.insert(name.to_owned(), ledger::Copies::default());
                }
                if let Some(copies) = usage.copies.get_mut(name) {
                    copies.count += 1;
                    copies.bytes += device.bytes[event.index()].max(Bytes::ZERO);
                    copies.time += device.duration[event.index()];
                }
            }
        }
    }
}
