//! What steps went to.

use std::collections::BTreeMap;

use ledger::{Breakdown, Interval, KernelClass, Ns, Overlap};
use profile::{DeviceKind, HostKind, Profile};
use recorded::KernelClasses;

use crate::intervals::{IntervalParts, Intervals};
use crate::spans::StepSpan;

/// What all spans together, and each step, went to.
pub(crate) fn breakdown(
    profile: &Profile,
    spans: &[StepSpan],
    classes: &KernelClasses,
) -> (Interval, BTreeMap<u32, Interval>) {
    let activity = Activity::new(profile, classes);
    // One after the other: the sets of each are as large as the activity.
    let overlaps = OverlapOfWork::new(&activity).of_spans(spans);
    let breakdowns = activity.charge(spans);
    let mut run = Interval::default();
    let mut steps: BTreeMap<u32, Interval> = BTreeMap::new();
    let rows = spans.iter().zip(breakdowns).zip(overlaps);
    for ((&StepSpan { number, start, end }, breakdown), overlap) in rows {
        let interval = Interval { time: end - start, breakdown, overlap };
        run.merge(&interval);
        if let Some(number) = number {
            steps.entry(number).or_default().merge(&interval);
        }
    }
    (run, steps)
}

/// When there was something of each class.
struct Activity {
    kernel: Intervals,
    memcpy: Intervals,
    memset: Intervals,
    communication: Intervals,
    runtime: Intervals,
    data_loader: Intervals,
    cpu: Intervals,
}

impl Activity {
    fn new(profile: &Profile, classes: &KernelClasses) -> Self {
        let (host, device) = (&profile.host, &profile.device);
        let [
            mut kernel,
            mut memcpy,
            mut memset,
            mut communication,
            mut runtime,
            mut data_loader,
            mut cpu,
        ] = std::array::from_fn(|_| IntervalParts::default());
        for event in device.ids() {
            let parts = match (device.kind[event.index()], classes.class(event)) {
                (_, KernelClass::Communication) => &mut communication,
                (DeviceKind::Kernel, _) => &mut kernel,
                (DeviceKind::Memcpy, _) => &mut memcpy,
                (DeviceKind::Memset, _) => &mut memset,
            };
            parts.add(device.start[event.index()], device.end(event));
        }
        let mut named = vec![None; profile.strings.len()];
        for id in host.ids() {
            let name = host.name[id.index()];
            let mut named =
                || *named[name.index()].get_or_insert_with(|| Named::of(profile.strings.get(name)));
            let parts = match host.kind[id.index()] {
                HostKind::Runtime => &mut runtime,
                HostKind::Python => continue,
                kind @ (HostKind::Operator | HostKind::Annotation) => match (named(), kind) {
                    (Named::DataLoader, _) => &mut data_loader,
                    (Named::Collective, _) => &mut communication,
                    (Named::Other, HostKind::Operator) => &mut cpu,
                    (Named::Other, _) => continue,
                },
            };
            parts.add(host.start[id.index()], host.end(id));
        }
        let [kernel, memcpy, memset, communication, runtime, data_loader, cpu] =
            [kernel, memcpy, memset, communication, runtime, data_loader, cpu]
                .map(IntervalParts::into_intervals);
        Self { kernel, memcpy, memset, communication, runtime, data_loader, cpu }
    }

    /// What each of `spans` went to: each instant counts for the first class that has it.
    fn charge(self, spans: &[StepSpan]) -> Vec<Breakdown> {
        let mut breakdowns = vec![Breakdown::default(); spans.len()];
        let mut left: Intervals = spans.iter().map(|span| (span.start, span.end)).collect();
        let mut take = |class: Intervals, amount: fn(&mut Breakdown) -> &mut Ns| {
            let taken = left.and(&class);
            for (breakdown, span) in breakdowns.iter_mut().zip(spans) {
                *amount(breakdown) = taken.within(span.start, span.end);
            }
            left = left.without(&taken);
        };
        take(self.kernel, |it| &mut it.kernel);
        take(self.memcpy, |it| &mut it.memcpy);
        take(self.memset, |it| &mut it.memset);
        take(self.communication, |it| &mut it.communication);
        take(self.runtime, |it| &mut it.runtime);
        take(self.data_loader, |it| &mut it.data_loader);
        take(self.cpu, |it| &mut it.cpu);
        for (breakdown, span) in breakdowns.iter_mut().zip(spans) {
            breakdown.other = left.within(span.start, span.end);
        }
        breakdowns
    }
}

/// When there was compute alone, communication alone, or both.
struct OverlapOfWork {
    compute: Intervals,
    communication: Intervals,
    both: Intervals,
}

impl OverlapOfWork {
    fn new(activity: &Activity) -> Self {
        let has_kernels = activity.kernel.measure() > Ns::ZERO;
        let compute = if has_kernels { &activity.kernel } else { &activity.cpu };
        let communication = &activity.communication;
        Self {
            compute: compute.without(communication),
            communication: communication.without(compute),
            both: compute.and(communication),
        }
    }

    /// Of each span.
    fn of_spans(&self, spans: &[StepSpan]) -> Vec<Overlap> {
        let overlap = |&StepSpan { start, end, .. }: &StepSpan| {
            let [compute, both, communication] =
                [&self.compute, &self.both, &self.communication].map(|set| set.within(start, end));
            let other = end - start - compute - both - communication;
            Overlap { compute, both, communication, other }
        };
        spans.iter().map(overlap).collect()
    }
}

/// What the name of an operator or a range says of it.
#[derive(Debug, Clone, Copy)]
enum Named {
    /// A wait for the next batch.
    DataLoader,
    /// A collective of `torch.distributed`, as its back ends name them.
    Collective,
    Other,
}

impl Named {
    fn of(name: &str) -> Self {
        let begins_with_any = |starts: &[&str]| starts.iter().any(|it| name.starts_with(it));
        if begins_with_any(&["enumerate(DataLoader)#", "enumerate(DataPipe)#"]) {
            Self::DataLoader
        } else if begins_with_any(&["nccl:", "gloo:", "mpi:", "ucc:", "xccl:", "hccl:"]) {
            Self::Collective
        } else {
            Self::Other
        }
    }
}
