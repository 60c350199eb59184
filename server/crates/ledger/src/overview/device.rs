//! How one device was used.

use std::collections::BTreeMap;

use super::{Arithmetic, DevicePeak, Precision, share};
use crate::{Bytes, Ns};

/// How one device of a rank was used. All times are of events as recorded; *merged* means that an instant counts once,
/// however many streams are busy.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DeviceOverview {
    /// Device name as recorded; empty where the recording does not say.
    pub name: String,
    /// Compute capability, major and minor; zeros where unknown or not NVIDIA's.
    pub capability: (u32, u32),
    /// Number of multiprocessors (compute units); 0 where unknown.
    pub multiprocessors: u32,
    /// What the device can do at most, where it is in the table.
    pub peak: Option<DevicePeak>,
    /// Where that stands; empty without a peak.
    pub peak_source: String,

    /// From the begin of the first step to the end of the last.
    pub steps_span: Ns,
    /// Merged time of kernels during `steps_span`.
    pub steps_kernel: Ns,
    /// Σ (min(Σ blocks per multiprocessor of the running kernels, 1) in millionths × time), during `steps_span`.
    pub multiprocessor_time: i128,
    /// Σ durations of kernels whose blocks per multiprocessor are known; 0: there is no SM efficiency.
    pub multiprocessor_known: Ns,
    /// Σ (estimated achieved occupancy in tenths of a percent × duration) of kernels during the steps.
    pub occupancy_time: i128,
    /// Σ durations of these kernels.
    pub occupancy_known: Ns,

    /// How many kernels.
    pub kernels: u64,
    /// Σ durations of kernels.
    pub kernel_time: Ns,
    /// Of this, kernels that use tensor cores, by their names.
    pub tensor_core_time: Ns,
    /// Of this, kernels whose names do not say.
    pub tensor_core_unknown: Ns,
    /// Of `kernel_time`, kernels launched by operators that could use tensor cores (those that autocast runs in half).
    pub eligible_time: Ns,

    /// From the start of the first device event to the end of the last.
    pub span: Ns,
    /// Merged time of all device events: `span` − `busy` is idle.
    pub busy: Ns,
    /// Merged time of compute kernels.
    pub compute: Ns,
    /// Merged time of communication kernels.
    pub communication: Ns,
    /// Merged time during which both ran.
    pub overlapped: Ns,
    /// Merged time of communication while no compute kernel ran.
    pub exposed_communication: Ns,
    /// Merged time of copies and fills while neither compute nor communication ran.
    pub exposed_memory: Ns,
    /// What the gaps between the events of each stream waited for, by stream.
    pub idle: BTreeMap<i64, IdleClasses>,
    /// How work reached the device.
    pub launches: LaunchSummary,
    /// What had been launched and not begun, by stream.
    pub queues: BTreeMap<i64, StreamQueue>,
    /// Copies and fills by kind as recorded (`Memcpy HtoD (Pageable -> Device)`).
    pub copies: BTreeMap<String, Copies>,
    /// What operators with known FLOPs did here.
    pub arithmetic: BTreeMap<Precision, Arithmetic>,
}

/// What the gaps between consecutive events of a stream waited for (HTA's classes).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct IdleClasses {
    /// The host had not launched the next event when the gap began.
    pub host_wait: Ns,
    /// The next event was launched already, and the gap is short: what it takes to go from one to the next.
    pub kernel_wait: Ns,
    /// The next event was launched already, and the gap is long: it waited for something else, such as another stream.
    pub other: Ns,
}

/// The launches of a stream that had not begun. An event counts if its runtime call is in the recording, from the begin of the call to the start of
/// the event, as in HTA's queue length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StreamQueue {
    /// How many launches.
    pub launches: u64,
    /// How many waited at most.
    pub longest: u64,
    /// Σ waiting launches × nanoseconds.
    pub length_time: i128,
    /// From the first call to the start of the last event.
    pub span: Ns,
    /// Of it, while the queue was full: at least [`StreamQueue::FULL`] launches waited, so that the next one blocks its thread.
    pub full: Ns,
}

/// How work reached a device. An event counts if its runtime call is in the recording.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LaunchSummary {
    /// How many device events have a runtime call.
    pub count: u64,
    /// Σ of the times from the return of the runtime call to the start of the event (0 if it started before).
    pub delay: Ns,
    /// The longest of these.
    pub longest_delay: Ns,
    /// Delays above 100 µs.
    pub long_delays: u64,
    /// Σ durations of the runtime calls.
    pub call: Ns,
    /// Calls above 50 µs.
    pub long_calls: u64,
    /// Events shorter than the call that launched them.
    pub shorter_than_call: u64,
    /// Events shorter than 10 µs.
    pub short: u64,
}

/// Copies or fills of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Copies {
    /// How many.
    pub count: u64,
    /// Bytes moved.
    pub bytes: Bytes,
    /// Σ durations.
    pub time: Ns,
}

/// What a kernel is for.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub enum KernelClass {
    /// Anything else.
    #[default]
    Compute,
    /// A collective or point-to-point transfer between ranks.
    Communication,
    /// A copy or fill.
    Memory,
}

impl KernelClass {
    /// Stable name, as in machine-readable output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Communication => "communication",
            Self::Memory => "memory",
        }
    }
}

/// Whether a kernel runs on tensor (matrix) cores, as far as its name says.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub enum TensorCores {
    /// It does not.
    #[default]
    No,
    /// It may: a matrix product or convolution whose name does not say how.
    Unknown,
    /// It does.
    Yes,
}

impl DeviceOverview {
    /// Share of the steps during which a kernel ran; `None` without steps.
    #[must_use]
    pub fn utilisation(&self) -> Option<f64> {
        share(self.steps_kernel, self.steps_span)
    }

    /// Estimated SM efficiency: the share of the multiprocessors that had a block, over the steps.
    #[must_use]
    pub fn multiprocessor_efficiency(&self) -> Option<f64> {
        let known = self.multiprocessor_known != Ns::ZERO;
        share(self.multiprocessor_time, i128::from(self.steps_span) * 1_000_000).filter(|_| known)
    }

    /// Estimated achieved occupancy of a multiprocessor, weighted by duration, 0 to 1.
    #[must_use]
    pub fn occupancy(&self) -> Option<f64> {
        share(self.occupancy_time, i128::from(self.occupancy_known) * 1000)
    }

    /// Share of kernel time on tensor cores. What is not known counts as not.
    #[must_use]
    pub fn tensor_core_share(&self) -> Option<f64> {
        share(self.tensor_core_time, self.kernel_time)
    }

    /// Share of kernel time in operators that could use tensor cores.
    #[must_use]
    pub fn eligible_share(&self) -> Option<f64> {
        share(self.eligible_time, self.kernel_time)
    }

    /// Time during which nothing ran, between the first and the last event.
    #[must_use]
    pub fn idle_time(&self) -> Ns {
        self.span - self.busy
    }

    /// Busy time without compute (HTA's non-compute).
    #[must_use]
    pub fn non_compute(&self) -> Ns {
        self.busy - self.compute
    }

    /// Share of communication that is hidden by compute.
    #[must_use]
    pub fn overlap_share(&self) -> Option<f64> {
        share(self.overlapped, self.communication)
    }
}

impl IdleClasses {
    /// All of it.
    #[must_use]
    pub fn sum(&self) -> Ns {
        self.parts().into_iter().fold(Ns::ZERO, |sum, (_, part)| sum.saturating_add(part))
    }

    /// The three classes with stable names.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, Ns); 3] {
        [("host_wait", self.host_wait), ("kernel_wait", self.kernel_wait), ("other", self.other)]
    }
}

impl StreamQueue {
    /// As many launches wait at most on CUDA: the default of HTA.
    pub const FULL: u64 = 1_024;

    /// How many launches waited on the mean.
    #[must_use]
    pub fn mean_length(&self) -> Option<f64> {
        (Ns::ZERO < self.span).then(|| self.length_time as f64 / self.span.as_f64())
    }
}

impl LaunchSummary {
    /// Mean time from the return of the runtime call to the start of the event.
    #[must_use]
    pub fn mean_delay(&self) -> Option<Ns> {
        let count = i64::try_from(self.count).ok().filter(|&it| it != 0)?;
        Some(self.delay / count)
    }
}

impl Copies {
    /// Bytes per second.
    #[must_use]
    pub fn bandwidth(&self) -> Option<f64> {
        share(self.bytes, self.time).map(|per_ns| per_ns * 1e9)
    }
}
