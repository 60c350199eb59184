//! The table of quantities: everything that a line has a number of.

use ledger::{LineBooks, Ns, PerStep, Unit};

use crate::numbers;

/// What is known of a quantity about steps.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StepsOfQuantity {
    /// The ledger keeps it by step.
    Each(fn(&PerStep) -> Ns),
    /// The ledger keeps what lies in steps, all of them together.
    Together(fn(&LineBooks) -> Ns),
    /// The ledger keeps the sum over the recording alone.
    Unknown,
    /// A state, not a flow: the same for a step and for the recording.
    State,
}

/// A row of the table.
#[derive(Debug)]
pub(crate) struct QuantityRow {
    /// Stable name in machine-readable output.
    id: &'static str,
    unit: Unit,
    /// What people call it.
    label: &'static str,
    /// Heading of a column, two words at most.
    heading: &'static str,
    /// The sum over the recording, as a plain number of `unit`.
    pub(crate) sum: fn(&LineBooks) -> i64,
    pub(crate) steps: StepsOfQuantity,
}

/// Counts are unsigned in the ledger.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

macro_rules! quantities {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident: $id:literal, $unit:ident, $label:literal, $heading:literal, $sum:expr, $steps:expr;
    )*) => {
        /// Something that a line has a number of. Amounts are sums over the recording until a
        /// [`Scale`](crate::Scale) makes a mean of them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Quantity {
            $($(#[doc = $doc])* $name,)*
        }

        impl Quantity {
            /// All of them, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            pub(crate) fn row(self) -> &'static QuantityRow {
                match self {
                    $(Self::$name => {
                        const ROW: &QuantityRow = &QuantityRow {
                            id: $id,
                            unit: Unit::$unit,
                            label: $label,
                            heading: $heading,
                            sum: $sum,
                            steps: $steps,
                        };
                        ROW
                    })*
                }
            }
        }
    };
}

// Name: id, unit, label, heading, sum over the recording, what is known about steps.
quantities! {
    /// Thread time while the line is the innermost line of your code.
    CpuOwn: "cpu_own", Ns, "thread time, own", "cpu own",
        |it| it.cpu_own.0, StepsOfQuantity::Each(|it| it.cpu);
    /// Of [`Self::CpuOwn`], what is not [`Self::Waiting`].
    CpuBusy: "cpu_busy", Ns, "thread time, own, without waiting", "cpu own",
        |it| (it.cpu_own - it.waiting).0, StepsOfQuantity::Each(|it| it.cpu - it.waiting);
    /// Thread time while the line is anywhere on the stack.
    CpuTotal: "cpu_total", Ns, "thread time, total", "cpu total",
        |it| it.cpu_total.0, StepsOfQuantity::Together(|it| it.cpu_in_steps);
    /// Thread time while the line is the innermost Python line.
    CpuSelf: "cpu_self", Ns, "thread time, self", "cpu self",
        |it| it.cpu_self.0, StepsOfQuantity::Unknown;
    /// Thread time on the threads that run the steps: what shares of functions and loops are computed from.
    Elapsed: "elapsed", Ns, "elapsed time", "elapsed",
        |it| it.elapsed.0, StepsOfQuantity::Together(|it| it.elapsed);
    /// Of [`Self::CpuOwn`], time in calls that wait for something else than a device.
    Waiting: "waiting", Ns, "waiting", "waiting",
        |it| it.waiting.0, StepsOfQuantity::Each(|it| it.waiting);
    /// Device time, by the rule of [`Self::CpuOwn`].
    CudaOwn: "cuda_own", Ns, "CUDA, own", "cuda own",
        |it| it.cuda_own.0, StepsOfQuantity::Each(|it| it.cuda);
    /// Device time, by the rule of [`Self::CpuTotal`].
    CudaTotal: "cuda_total", Ns, "CUDA, total", "cuda total",
        |it| it.cuda_total.0, StepsOfQuantity::Unknown;
    /// Device time, by the rule of [`Self::CpuSelf`].
    CudaSelf: "cuda_self", Ns, "CUDA, self", "cuda self",
        |it| it.cuda_self.0, StepsOfQuantity::Unknown;
    /// Host time of the backward nodes that the line created.
    CpuBackward: "cpu_backward", Ns, "CPU, backward of this line", "backward",
        |it| it.cpu_backward.0, StepsOfQuantity::Unknown;
    /// Device time of the backward nodes that the line created.
    CudaBackward: "cuda_backward", Ns, "CUDA, backward of this line", "backward",
        |it| it.cuda_backward.0, StepsOfQuantity::Unknown;
    /// Of [`Self::CpuOwn`], what was computed again in the backward pass.
    CpuRecompute: "cpu_recompute", Ns, "CPU, recomputed", "recompute",
        |it| it.recompute.cpu.0, StepsOfQuantity::Unknown;
    /// Of [`Self::CudaOwn`], what was computed again in the backward pass.
    CudaRecompute: "cuda_recompute", Ns, "CUDA, recomputed", "recompute",
        |it| it.recompute.cuda.0, StepsOfQuantity::Unknown;
    /// Of [`Self::CpuOwn`], the backward pass of compiled code.
    CpuOwnBackward: "cpu_own_backward", Ns, "CPU, compiled backward", "backward",
        |it| it.own_backward.cpu.0, StepsOfQuantity::Unknown;
    /// Of [`Self::CudaOwn`], the backward pass of compiled code.
    CudaOwnBackward: "cuda_own_backward", Ns, "CUDA, compiled backward", "backward",
        |it| it.own_backward.cuda.0, StepsOfQuantity::Unknown;
    /// Thread time in waits for a device.
    Wait: "sync", Ns, "wait for the GPU", "gpu wait",
        |it| it.sync.0, StepsOfQuantity::Each(|it| it.sync);
    /// [`Self::Wait`] and [`Self::Waiting`] together.
    AllWaits: "all_waits", Ns, "all waits", "waits",
        |it| (it.sync + it.waiting).0, StepsOfQuantity::Each(|it| it.sync + it.waiting);
    /// Number of waits for a device.
    Waits: "syncs", Count, "waits", "gpu waits",
        |it| signed(it.syncs), StepsOfQuantity::Unknown;
    /// Device idle time that followed the waits of the line.
    IdleAfterWait: "idle_after_sync", Ns, "GPU idle after waits", "idle after",
        |it| it.idle_after_sync.0, StepsOfQuantity::Unknown;
    /// Device idle time while the launching thread was on the line.
    Idle: "gpu_idle", Ns, "GPU idle", "gpu idle",
        |it| it.gpu_idle.0, StepsOfQuantity::Each(|it| it.gpu_idle);
    /// Device time of collectives.
    Comm: "comm", Ns, "communication", "comm",
        |it| it.comm.0, StepsOfQuantity::Unknown;
    /// Of [`Self::Comm`], the time during which nothing was computed.
    CommExposed: "comm_exposed", Ns, "communication, exposed", "exposed comm",
        |it| it.comm_exposed.0, StepsOfQuantity::Unknown;
    /// Kernels launched.
    Kernels: "kernels", Count, "kernels", "kernels",
        |it| signed(it.kernels), StepsOfQuantity::Unknown;
    /// Python and built-in calls made from the line.
    Calls: "calls", Count, "calls", "calls",
        |it| signed(it.calls), StepsOfQuantity::Unknown;
    /// Outermost operators.
    Ops: "ops", Count, "operators", "ops",
        |it| signed(it.ops), StepsOfQuantity::Unknown;
    /// Bytes allocated.
    Alloc: "alloc", Bytes, "allocated", "alloc",
        |it| it.alloc.0, StepsOfQuantity::Unknown;
    /// Of [`Self::Alloc`], bytes released before the end.
    Freed: "freed", Bytes, "freed", "freed",
        |it| it.freed.0, StepsOfQuantity::Unknown;
    /// Of [`Self::Alloc`], bytes alive at the peak of their device.
    Peak: "peak", Bytes, "alive at the peak", "peak",
        |it| it.peak.0, StepsOfQuantity::State;
    /// Of [`Self::Alloc`], bytes alive at the end.
    Live: "live", Bytes, "alive at the end", "live",
        |it| it.live.0, StepsOfQuantity::State;
}

impl Quantity {
    /// Stable name in machine-readable output: `cpu_own`.
    #[must_use]
    pub fn id(self) -> &'static str {
        self.row().id
    }

    /// What its numbers count.
    #[must_use]
    pub fn unit(self) -> Unit {
        self.row().unit
    }

    /// What people call it: `thread time, own`.
    #[must_use]
    pub fn label(self) -> &'static str {
        self.row().label
    }

    /// Heading of a column, at most two words: `cpu own`.
    #[must_use]
    pub fn heading(self) -> &'static str {
        self.row().heading
    }

    /// `value` as text, with its unit.
    #[must_use]
    pub fn text(self, value: f64) -> String {
        numbers::text(value, self.unit())
    }

    /// `value` as the text of a cell of a table: empty for nothing.
    #[must_use]
    pub fn cell(self, value: f64) -> String {
        if value == 0.0 { String::new() } else { self.text(value) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_unique_and_headings_short() {
        let ids: BTreeSet<&str> = Quantity::ALL.iter().map(|it| it.id()).collect();
        assert_eq!(ids.len(), Quantity::ALL.len());
        for it in Quantity::ALL {
            assert!(it.heading().split(' ').count() <= 2, "{it:?}");
        }
    }
}
