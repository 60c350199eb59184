//! Rules about what the device does: whether it is fed, filled, and used for what it is good at.

mod comm_exposed;
mod first_step;
pub(crate) mod gpu_idle;
pub(crate) mod hot_loop;
pub(crate) mod launch_bound;
mod low_occupancy;
mod tensor_cores;

pub use tensor_cores::Product;

use ledger::{Ledger, LineBooks, Ns};
use metrics::Scale;

use crate::Finding;
use crate::costly::Costly;
use crate::rule::{Limits, Rule, Threshold, Unit};

/// What a rule about the device found. Amounts are of the whole recording, means over the devices of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceDetail {
    /// `hot-loop`: a loop that feeds the device too slowly.
    HotLoop {
        /// How often its body ran.
        iterations: u64,
        /// Thread time in it.
        time: Ns,
        /// Of it, time blocked waiting for the device.
        sync: Ns,
        /// Kernels launched from it.
        kernels: u64,
        /// Device time launched from it.
        cuda: Ns,
        /// Time in the calls that launched them.
        launch_time: Ns,
        /// How many calls that were.
        launches: u64,
        /// Device idle time while it ran.
        idle: Ns,
    },
    /// `launch-bound`: kernels of a line that take longer to launch than to run.
    LaunchBound {
        /// Kernels launched.
        kernels: u64,
        /// Time of these kernels.
        cuda: Ns,
        /// Thread time of the line, waits left out.
        host: Ns,
        /// Kernels that ran shorter than the call that launched them.
        short: u64,
    },
    /// `gpu-idle`: the device had nothing to do while the line ran.
    GpuIdle {
        /// Nothing had been launched.
        host: Ns,
        /// Short gaps between kernels.
        kernel: Ns,
        /// Launched work waited for something else.
        other: Ns,
    },
    /// `low-occupancy`: kernels that do not fill the device.
    LowOccupancy {
        /// The kernel with most time, as recorded.
        kernel: String,
        /// Its blocks.
        blocks: u64,
        /// Multiprocessors of the device; 0 where the recording does not say.
        multiprocessors: u32,
        /// Its estimated occupancy in tenths of a percent.
        occupancy: u32,
    },
    /// `tensor-cores-unused`: matrix products beside the tensor cores.
    TensorCores {
        /// The kernel with most time, as recorded.
        kernel: String,
        /// What is wrong with it.
        product: Product,
        /// What of the cost is of this line.
        here: Ns,
    },
    /// `comm-exposed`: collectives that nothing hides.
    CommExposed {
        /// Device time of the collectives.
        comm: Ns,
    },
    /// `first-step`: a step that warms up is among the measured ones.
    FirstStep {
        /// Its number.
        number: u32,
        /// How long it took.
        first: Ns,
        /// The median of the others.
        median: Ns,
        /// What of the difference is thread time of the line.
        here: Ns,
    },
}

/// The rules.
pub(crate) static RULES: [&Rule; 7] = [
    &hot_loop::RULE,
    &launch_bound::RULE,
    &gpu_idle::RULE,
    &low_occupancy::RULE,
    &tensor_cores::RULE,
    &comm_exposed::RULE,
    &first_step::RULE,
];

/// Share of the step from which a finding is reported.
const MINIMUM: Threshold = Threshold {
    name: "share",
    unit: Unit::Percent,
    default: 5.0,
    meaning: "share of the step from which a finding is reported",
};

/// Share of the step from which a finding is a warning.
const WARNING: Threshold = Threshold {
    name: "warning",
    unit: Unit::Percent,
    default: 15.0,
    meaning: "share of the step from which it is a warning",
};

/// The finding, if it is large enough: rules here list [`MINIMUM`] and [`WARNING`].
fn finding(
    rule: &'static Rule,
    scale: &Scale<'_>,
    limits: &Limits<'_>,
    draft: Costly<'_>,
) -> Option<Finding> {
    let least = limits.get(&MINIMUM).max(limits.least());
    draft.finding(rule, scale, least, |share| limits.severity(&WARNING, share))
}

/// Devices of a rank: idle time of several devices adds up, but no time can be saved on more than one at once.
fn devices_per_rank(ledger: &Ledger) -> i64 {
    let ranks = usize::try_from(ledger.ranks).unwrap_or(1).max(1);
    i64::try_from(ledger.devices.len().div_ceil(ranks)).unwrap_or(1).max(1)
}

/// Thread time of a line, waits left out: on each rank that of the thread with most, because threads of autograd work
/// while the thread that called them waits.
fn host_time(books: &LineBooks) -> Ns {
    let mut ranks: std::collections::BTreeMap<u32, Ns> = std::collections::BTreeMap::new();
    for (thread, &time) in &books.by_thread {
        let most = ranks.entry(thread.rank).or_default();
        *most = time.max(*most);
    }
    (ranks.values().sum::<Ns>() - books.sync).max(Ns::ZERO)
}

/// Multiprocessors and compute capability of the devices, the least of all; `None` where no recording says.
fn least_capable(ledger: &Ledger) -> Option<(u32, (u32, u32))> {
    let devices = ledger.overviews.values().flat_map(|it| it.devices.values());
    devices.map(|it| (it.multiprocessors, it.capability)).min()
}

#[cfg(test)]
mod tests;
