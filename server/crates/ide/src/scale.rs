//! From the books of a line to what is shown: means, shares, what is worth showing.

use std::cell::OnceCell;

use insights::Pace;
use ledger::{Ledger, LineBooks, Ns, PerStep};

use crate::numbers;
use crate::view::{Charge, Metric, Period, View};

/// Something that a line has a number of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    CpuSelf,
    CpuOwn,
    CpuTotal,
    /// Thread time on the threads that run the steps: what shares of steps are told of.
    Elapsed,
    /// Of the own thread time, that in calls that wait for something else than a device.
    Waiting,
    /// Of the own thread time, the rest.
    CpuBusy,
    CpuBackward,
    CudaSelf,
    CudaOwn,
    CudaTotal,
    CudaBackward,
    Wait,
    /// Waits for a device or for something else.
    AllWaits,
    Waits,
    Idle,
    Comm,
    CommExposed,
    Alloc,
    Freed,
    Peak,
    Live,
    Kernels,
    Calls,
    Ops,
}

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Bytes.
    Bytes,
    /// How often something happens; a mean need not be whole.
    Count,
}

impl Unit {
    /// Stable name, as in the results of commands.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ns => "ns",
            Self::Bytes => "bytes",
            Self::Count => "count",
        }
    }
}

impl Quantity {
    pub(crate) fn unit(self) -> Unit {
        match self {
            Self::Alloc | Self::Freed | Self::Peak | Self::Live => Unit::Bytes,
            Self::Waits | Self::Kernels | Self::Calls | Self::Ops => Unit::Count,
            _ => Unit::Ns,
        }
    }
}

/// How sums over a recording become what is shown.
#[derive(Debug, Clone)]
pub(crate) struct Scale<'a> {
    pub(crate) ledger: &'a Ledger,
    /// With [`Period::Mean`] only where there are steps, and with [`Period::Step`] only of one that there is.
    pub(crate) period: Period,
    pub(crate) metric: Metric,
    pub(crate) charge: Charge,
    threshold: f64,
    pace: Pace,
    /// Bytes of all lines at the peak; added up when asked for the first time.
    peak: OnceCell<f64>,
}

impl<'a> Scale<'a> {
    pub(crate) fn new(ledger: &'a Ledger, view: &View) -> Self {
        let period = match view.period {
            _ if ledger.steps.is_empty() => Period::Run,
            Period::Step(step) if !ledger.steps.contains_key(&step) => Period::Mean,
            period => period,
        };
        Self {
            ledger,
            period,
            metric: view.effective_metric(ledger),
            charge: view.charge,
            threshold: view.threshold,
            pace: Pace::new(ledger),
            peak: OnceCell::new(),
        }
    }

    /// The same for another period, which the recording must have.
    pub(crate) fn with_period(&self, period: Period) -> Self {
        Self { period, ..self.clone() }
    }

    /// What the metric of the view is of a line.
    pub(crate) fn primary(&self) -> Quantity {
        match (self.metric, self.charge) {
            (Metric::Cpu, Charge::Own) => Quantity::CpuBusy,
            (Metric::Cpu, Charge::Total) => Quantity::CpuTotal,
            (Metric::Cuda, Charge::Own) => Quantity::CudaOwn,
            (Metric::Cuda, Charge::Total) => Quantity::CudaTotal,
            (Metric::Backward, _) => self.backward(),
            (Metric::Wait, _) => Quantity::AllWaits,
            (Metric::Idle, _) => Quantity::Idle,
            (Metric::Communication, _) => Quantity::Comm,
            (Metric::Memory, _) if self.peak() != 0.0 => Quantity::Peak,
            (Metric::Memory, _) => Quantity::Alloc,
        }
    }

    fn peak(&self) -> f64 {
        *self.peak.get_or_init(|| self.ledger.lines.values().map(|books| books.peak as f64).sum())
    }

    /// Backward time is device time where the recording has any, because that is what counts there.
    pub(crate) fn backward(&self) -> Quantity {
        if self.ledger.totals.cuda == 0 { Quantity::CpuBackward } else { Quantity::CudaBackward }
    }

    /// The number of a line; `None` where the ledger does not keep it for the chosen step.
    pub(crate) fn value(&self, quantity: Quantity, books: &LineBooks) -> Option<f64> {
        let by_step: Option<fn(&PerStep) -> Ns> = match quantity {
            Quantity::CpuOwn => Some(|step| step.cpu),
            Quantity::Waiting => Some(|step| step.waiting),
            Quantity::CpuBusy => Some(|step| step.cpu - step.waiting),
            Quantity::CudaOwn => Some(|step| step.cuda),
            Quantity::Wait => Some(|step| step.sync),
            Quantity::AllWaits => Some(|step| step.sync + step.waiting),
            Quantity::Idle => Some(|step| step.gpu_idle),
            _ => None,
        };
        let sum = sum(quantity, books);
        match (self.period, by_step) {
            // A state, not a flow: the same for a step and for the run.
            (_, _) if matches!(quantity, Quantity::Peak | Quantity::Live) => Some(sum),
            (Period::Run, _) => Some(sum),
            (Period::Mean, _) if quantity == Quantity::CpuTotal => {
                Some(self.pace.mean(books.cpu_in_steps as f64))
            }
            (Period::Mean, None) => Some(self.pace.mean(sum)),
            (Period::Mean, Some(part)) => {
                let sum: Ns = books.steps.values().map(part).sum();
                Some(self.pace.mean(sum as f64))
            }
            (Period::Step(_), None) => None,
            (Period::Step(step), Some(part)) => {
                let ranks = f64::from(self.ledger.ranks.max(1));
                Some(books.steps.get(&step).map_or(0.0, |it| part(it) as f64 / ranks))
            }
        }
    }

    /// The share (of 1) that `value` is: of the step or recording, of the bytes for bytes; 0 for counts.
    pub(crate) fn share(&self, quantity: Quantity, value: f64) -> f64 {
        let whole = self.whole(quantity);
        if 0.0 < whole { value / whole } else { 0.0 }
    }

    /// What the shares of a quantity are shares of; 0 for counts.
    pub(crate) fn whole(&self, quantity: Quantity) -> f64 {
        match quantity {
            _ if quantity.unit() == Unit::Count => 0.0,
            Quantity::Peak => self.peak(),
            _ if quantity.unit() == Unit::Bytes && self.period == Period::Run => {
                self.ledger.totals.alloc as f64
            }
            Quantity::Live => self.ledger.totals.alloc as f64,
            Quantity::Alloc | Quantity::Freed => self.pace.mean(self.ledger.in_steps.alloc as f64),
            _ => match self.period {
                Period::Run => self.pace.whole as f64,
                Period::Mean => self.pace.step,
                Period::Step(step) => self.ledger.steps.get(&step).copied().unwrap_or(0) as f64,
            },
        }
    }

    /// The number of a line where it is worth showing.
    pub(crate) fn notable(&self, quantity: Quantity, books: &LineBooks) -> Option<f64> {
        let value = self.value(quantity, books).filter(|&value| 0.0 < value)?;
        (self.threshold <= self.share(quantity, value)).then_some(value)
    }

    /// `value` with its unit.
    pub(crate) fn text(&self, quantity: Quantity, value: f64) -> String {
        match quantity.unit() {
            Unit::Bytes => numbers::bytes(value),
            Unit::Count => numbers::count(value),
            Unit::Ns => numbers::duration(value),
        }
    }

    /// The mean over the steps of a sum, or the sum; for tables that are not kept by step.
    pub(crate) fn mean(&self, sum: f64) -> f64 {
        if self.period == Period::Run { sum } else { self.pace.mean(sum) }
    }

    /// The share (of 1) that a time from [`Self::mean`] is of the step, or of the recording.
    pub(crate) fn mean_share(&self, time: f64) -> f64 {
        let period = if self.period == Period::Run { Period::Run } else { Period::Mean };
        self.with_period(period).share(Quantity::CpuTotal, time)
    }

    /// `per step`, and the like: what all numbers are of.
    pub(crate) fn period_name(&self) -> String {
        match self.period {
            Period::Run => "whole recording".to_owned(),
            Period::Mean => "per step".to_owned(),
            Period::Step(step) => format!("step {step}"),
        }
    }

    /// What a share is of, at the end of a sentence.
    pub(crate) fn whole_name(&self) -> &'static str {
        match (self.primary(), self.period) {
            (Quantity::Peak, _) => "of the peak",
            (Quantity::Alloc, _) => "of the allocated bytes",
            (_, Period::Run) => "of the recording",
            (_, _) => "of the step",
        }
    }
}

fn sum(quantity: Quantity, books: &LineBooks) -> f64 {
    match quantity {
        Quantity::CpuSelf => books.cpu_self as f64,
        Quantity::CpuOwn => books.cpu_own as f64,
        Quantity::CpuTotal => books.cpu_total as f64,
        Quantity::Elapsed => books.elapsed as f64,
        Quantity::Waiting => books.waiting as f64,
        Quantity::CpuBusy => (books.cpu_own - books.waiting) as f64,
        Quantity::CpuBackward => books.cpu_backward as f64,
        Quantity::CudaSelf => books.cuda_self as f64,
        Quantity::CudaOwn => books.cuda_own as f64,
        Quantity::CudaTotal => books.cuda_total as f64,
        Quantity::CudaBackward => books.cuda_backward as f64,
        Quantity::Wait => books.sync as f64,
        Quantity::AllWaits => (books.sync + books.waiting) as f64,
        Quantity::Waits => books.syncs as f64,
        Quantity::Idle => books.gpu_idle as f64,
        Quantity::Comm => books.comm as f64,
        Quantity::CommExposed => books.comm_exposed as f64,
        Quantity::Alloc => books.alloc as f64,
        Quantity::Freed => books.freed as f64,
        Quantity::Peak => books.peak as f64,
        Quantity::Live => books.live as f64,
        Quantity::Kernels => books.kernels as f64,
        Quantity::Calls => books.calls as f64,
        Quantity::Ops => books.ops as f64,
    }
}
