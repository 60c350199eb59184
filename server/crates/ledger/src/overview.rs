//! A run in numbers: what its time went to and how its devices were used.
//!
//! All of it are sums and spans, so that recordings add up; the shares that people look at are methods.
//! `docs/accounting.md` (The run summary) has the definitions.

mod arithmetic;
mod device;
mod merge;

pub use arithmetic::{Arithmetic, Bound, DevicePeak, Precision};
pub use device::{
    Copies, DeviceOverview, IdleClasses, KernelClass, LaunchSummary, StreamQueue, TensorCores,
};

use std::collections::BTreeMap;

use crate::{Ns, TimeRange};

/// The numbers of one rank.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Overview {
    /// All steps together, time between them left out; without `ProfilerStep#N` ranges, everything from the first to
    /// the last host event.
    pub run: Interval,
    /// By step number. Empty without `ProfilerStep#N` ranges.
    pub steps: BTreeMap<u32, Interval>,
    /// By device ordinal.
    pub devices: BTreeMap<i32, DeviceOverview>,
    /// Operators that there is a formula of FLOPs for, but whose arguments are not recorded (`record_shapes`; strides of
    /// convolutions since torch 1.13).
    pub operators_without_flops: u64,
    /// Calls that launched a kernel whose event is not in the recording, where it has events of devices.
    pub launches_without_event: u64,
    /// How long steps of the same run took before recording, without the profiler, in ascending order. Empty where that
    /// was not measured.
    pub plain_steps: Vec<Ns>,
    /// The worker processes of data loaders.
    pub loader_workers: LoaderWorkers,
    /// The script that was recorded and its arguments, where it is known.
    pub command: Option<String>,
    /// From when the first step began until the last ended, time between them included, by the clock of the recording, which mostly
    /// counts from the Unix epoch. `None` of a memory snapshot.
    pub recorded: Option<TimeRange>,
}

/// How much the worker processes of data loaders worked while steps were recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LoaderWorkers {
    /// How many there are; 0 where it was not measured.
    pub count: u64,
    /// Their time on a processor.
    pub worked: Ns,
    /// How long they were watched, of all together: a second for each of four workers is four.
    pub time: Ns,
}

impl LoaderWorkers {
    /// The share of the time in which they were on a processor, where there are some: above 1 if they run several threads.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        (Ns::ZERO < self.time).then(|| self.worked.as_f64() / self.time.as_f64())
    }
}

/// A part of the run: a step, or all of them.
///
/// A step begins with its range, or where the step before ended if that is later; it ends with its range, or with the
/// last device event launched in it if that is later.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Interval {
    /// How long it is.
    pub time: Ns,
    /// What it went to: adds up to `time`.
    pub breakdown: Breakdown,
    /// How compute and communication share it: adds up to `time`.
    pub overlap: Overlap,
}

/// What an interval went to. Each instant counts to the first of these that was going on, on any device or thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Breakdown {
    /// A kernel that does not communicate.
    pub kernel: Ns,
    /// A copy.
    pub memcpy: Ns,
    /// A fill.
    pub memset: Ns,
    /// A collective, on a device or (gloo) on the host.
    pub communication: Ns,
    /// A call into the device's runtime or driver.
    pub runtime: Ns,
    /// Waiting for the data loader (`enumerate(DataLoader)…`).
    pub data_loader: Ns,
    /// An operator.
    pub cpu: Ns,
    /// None of these.
    pub other: Ns,
}

/// How compute and communication share an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Overlap {
    /// Compute alone. Where no kernel was recorded, operators are the compute.
    pub compute: Ns,
    /// Both.
    pub both: Ns,
    /// Communication alone.
    pub communication: Ns,
    /// Neither.
    pub other: Ns,
}

impl Breakdown {
    /// The classes in order of precedence, with stable names.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, Ns); 8] {
        [
            ("kernel", self.kernel),
            ("memcpy", self.memcpy),
            ("memset", self.memset),
            ("communication", self.communication),
            ("runtime", self.runtime),
            ("data_loader", self.data_loader),
            ("cpu", self.cpu),
            ("other", self.other),
        ]
    }
}

impl Overlap {
    /// The four parts with stable names.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, Ns); 4] {
        [
            ("compute", self.compute),
            ("both", self.both),
            ("communication", self.communication),
            ("other", self.other),
        ]
    }
}

/// `part` of `whole`; `None` where there is no whole.
pub(crate) fn share(part: impl Into<i128>, whole: impl Into<i128>) -> Option<f64> {
    let (part, whole) = (part.into(), whole.into());
    (whole != 0).then(|| part as f64 / whole as f64)
}
