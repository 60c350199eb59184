//! Adding overviews: sums, but for what names the device.

use super::{
    Arithmetic, Breakdown, Copies, DeviceOverview, IdleClasses, Interval, LaunchSummary,
    LoaderWorkers, Overlap, Overview, StreamQueue,
};
use crate::TimeRange;
use crate::amount::Amount;
use crate::merge::merge_map;

impl Overview {
    /// Adds another recording of the same rank.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.run.merge(&other.run);
        merge_map(&mut self.steps, &other.steps, Interval::merge);
        merge_map(&mut self.devices, &other.devices, DeviceOverview::merge);
        self.operators_without_flops.gain(other.operators_without_flops);
        self.launches_without_event.gain(other.launches_without_event);
        self.plain_steps.extend(&other.plain_steps);
        self.plain_steps.sort_unstable();
        self.loader_workers.merge(&other.loader_workers);
        // Of two that differ the first by alphabet, whatever the order of merging.
        self.command = [self.command.take(), other.command.clone()].into_iter().flatten().min();
        let recorded = [self.recorded, other.recorded].into_iter().flatten();
        self.recorded = recorded.reduce(TimeRange::until_end_of);
    }
}

impl LoaderWorkers {
    /// Adds those of another recording.
    pub fn merge(&mut self, other: &Self) {
        self.count.gain(other.count);
        self.worked.gain(other.worked);
        self.time.gain(other.time);
    }
}

impl Interval {
    /// Adds another part of the run.
    pub fn merge(&mut self, other: &Self) {
        self.time.gain(other.time);
        self.breakdown.merge(&other.breakdown);
        self.overlap.merge(&other.overlap);
    }
}

impl Breakdown {
    fn merge(&mut self, other: &Self) {
        self.kernel.gain(other.kernel);
        self.memcpy.gain(other.memcpy);
        self.memset.gain(other.memset);
        self.communication.gain(other.communication);
        self.runtime.gain(other.runtime);
        self.data_loader.gain(other.data_loader);
        self.cpu.gain(other.cpu);
        self.other.gain(other.other);
    }
}

impl Overlap {
    fn merge(&mut self, other: &Self) {
        self.compute.gain(other.compute);
        self.both.gain(other.both);
        self.communication.gain(other.communication);
        self.other.gain(other.other);
    }
}

impl DeviceOverview {
    fn merge(&mut self, other: &Self) {
        if self.name < other.name {
            self.name.clone_from(&other.name);
        }
        self.capability = self.capability.max(other.capability);
        self.multiprocessors = self.multiprocessors.max(other.multiprocessors);
        self.peak = self.peak.max(other.peak);
        if self.peak_source < other.peak_source {
            self.peak_source.clone_from(&other.peak_source);
        }
        self.steps_span.gain(other.steps_span);
        self.steps_kernel.gain(other.steps_kernel);
        self.multiprocessor_time.gain(other.multiprocessor_time);
        self.multiprocessor_known.gain(other.multiprocessor_known);
        self.occupancy_time.gain(other.occupancy_time);
        self.occupancy_known.gain(other.occupancy_known);
        self.kernels.gain(other.kernels);
        self.kernel_time.gain(other.kernel_time);
        self.tensor_core_time.gain(other.tensor_core_time);
        self.tensor_core_unknown.gain(other.tensor_core_unknown);
        self.eligible_time.gain(other.eligible_time);
        self.span.gain(other.span);
        self.busy.gain(other.busy);
        self.compute.gain(other.compute);
        self.communication.gain(other.communication);
        self.overlapped.gain(other.overlapped);
        self.exposed_communication.gain(other.exposed_communication);
        self.exposed_memory.gain(other.exposed_memory);
        merge_map(&mut self.idle, &other.idle, IdleClasses::merge);
        self.launches.merge(&other.launches);
        merge_map(&mut self.queues, &other.queues, StreamQueue::merge);
        merge_map(&mut self.copies, &other.copies, Copies::merge);
        merge_map(&mut self.arithmetic, &other.arithmetic, Arithmetic::merge);
    }
}

impl IdleClasses {
    fn merge(&mut self, other: &Self) {
        self.host_wait.gain(other.host_wait);
        self.kernel_wait.gain(other.kernel_wait);
        self.other.gain(other.other);
    }
}

impl LaunchSummary {
    fn merge(&mut self, other: &Self) {
        self.count.gain(other.count);
        self.delay.gain(other.delay);
        self.longest_delay = self.longest_delay.max(other.longest_delay);
        self.long_delays.gain(other.long_delays);
        self.call.gain(other.call);
        self.long_calls.gain(other.long_calls);
        self.shorter_than_call.gain(other.shorter_than_call);
        self.short.gain(other.short);
    }
}

impl StreamQueue {
    fn merge(&mut self, other: &Self) {
        self.launches.gain(other.launches);
        self.longest = self.longest.max(other.longest);
        self.length_time.gain(other.length_time);
        self.span.gain(other.span);
        self.full.gain(other.full);
    }
}

impl Copies {
    /// Adds other copies of the same kind.
    pub fn merge(&mut self, other: &Self) {
        self.count.gain(other.count);
        self.bytes.gain(other.bytes);
        self.time.gain(other.time);
    }
}

impl Arithmetic {
    /// Adds other arithmetic of the same precision.
    pub fn merge(&mut self, other: &Self) {
        let Self { operators, flops, time, bytes } = other;
        self.operators.gain(*operators);
        self.flops.gain(*flops);
        self.time.gain(*time);
        self.bytes.gain(*bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Ns, Precision};
    use proptest::prelude::*;

    prop_compose! {
        /// Some of everything.
        fn overview()(
            amounts in prop::array::uniform16(prop_oneof![9 => 0..1_000_i64, 1 => Just(i64::MAX / 2)]),
            step in 0..3_u32,
            device in 0..2_i32,
            name in prop_oneof![Just(""), Just("G"), Just("H")],
            precision in prop_oneof![Just(Precision::F16), Just(Precision::F32)],
        ) -> Overview {
            let ns = |at: usize| Ns(amounts[at]);
            let breakdown = Breakdown { kernel: ns(0), cpu: ns(1), ..Breakdown::default() };
            let overlap = Overlap { compute: ns(0), other: ns(1), ..Overlap::default() };
            let interval = Interval { time: ns(0) + ns(1), breakdown, overlap };
            let device_overview = DeviceOverview {
                name: name.to_owned(),
                steps_span: ns(2),
                occupancy_time: amounts[3].into(),
                idle: [(7, IdleClasses { host_wait: ns(4), kernel_wait: ns(5), other: ns(6) })].into(),
                launches: LaunchSummary { count: 1, delay: ns(7), longest_delay: ns(8), ..LaunchSummary::default() },
                copies: [(name.to_owned(), Copies { count: 1, bytes: Bytes(amounts[9]), time: ns(10) })].into(),
                arithmetic: [(precision, Arithmetic { operators: 1, flops: u64::MAX / 3, time: ns(11), bytes: Bytes(amounts[12]) })].into(),
                ..DeviceOverview::default()
            };
            Overview { run: interval, steps: [(step, interval)].into(), devices: [(device, device_overview)].into(), operators_without_flops: 1, launches_without_event: 1, plain_steps: vec![ns(13)], loader_workers: LoaderWorkers { count: 1, worked: ns(14), time: ns(15) }, command: Some("train.py".to_owned()), recorded: Some(TimeRange { start: ns(2), end: ns(3) }) }
        }
    }

    fn sum(parts: &[&Overview]) -> Overview {
        let mut sum = Overview::default();
        parts.iter().for_each(|part| sum.merge(part));
        sum
    }

    proptest! {
        #[test]
        fn the_order_of_merging_does_not_matter(a in overview(), b in overview(), c in overview()) {
            prop_assert_eq!(sum(&[&a, &b]), sum(&[&b, &a]));
            prop_assert_eq!(sum(&[&sum(&[&a, &b]), &c]), sum(&[&a, &sum(&[&b, &c])]));
            prop_assert_eq!(sum(&[&a]), a);
        }
    }
}
