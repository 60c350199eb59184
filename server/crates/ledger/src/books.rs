//! Amounts that are charged once, and the balance between lines, the unattributed rest and the totals.

use std::collections::BTreeMap;

use crate::amount::Amount;
use crate::{Bytes, Ledger, LineBooks, LineKey, Ns};

/// What is charged once per instant, event or byte.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Books {
    /// Thread time (nanoseconds), that of idle threads left out.
    pub cpu: Ns,
    /// Time in calls that wait, which is part of the thread time, and all time of idle threads, which is not
    /// (nanoseconds).
    pub waiting: Ns,
    /// Device time (nanoseconds, summed over streams).
    pub cuda: Ns,
    /// Device idle time (nanoseconds).
    pub gpu_idle: Ns,
    /// Thread time blocked waiting for a device (nanoseconds).
    pub sync: Ns,
    /// Allocated bytes.
    pub alloc: Bytes,
    /// Device time of collectives (nanoseconds).
    pub comm: Ns,
    /// Of this, what no compute kernel hides (nanoseconds).
    pub comm_exposed: Ns,
    /// Floating-point operations of the operators that there is a formula for.
    pub flops: i64,
}

/// A metric of which the books must balance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    /// [`Books::cpu`].
    Cpu,
    /// [`Books::cuda`].
    Cuda,
    /// [`Books::gpu_idle`].
    GpuIdle,
    /// [`Books::sync`].
    Sync,
    /// [`Books::alloc`].
    Alloc,
    /// [`Books::comm`].
    Comm,
    /// [`Books::comm_exposed`].
    CommExposed,
    /// [`Books::flops`].
    Flops,
    /// [`Books::waiting`].
    Waiting,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Cpu,
        Self::Cuda,
        Self::GpuIdle,
        Self::Sync,
        Self::Alloc,
        Self::Comm,
        Self::CommExposed,
        Self::Flops,
        Self::Waiting,
    ];
}

impl Books {
    /// One amount.
    #[must_use]
    pub fn get(&self, metric: Metric) -> i64 {
        match metric {
            Metric::Cpu => self.cpu,
            Metric::Cuda => self.cuda,
            Metric::GpuIdle => self.gpu_idle,
            Metric::Sync => self.sync,
            Metric::Alloc => self.alloc,
            Metric::Comm => self.comm,
            Metric::CommExposed => self.comm_exposed,
            Metric::Flops => self.flops,
            Metric::Waiting => self.waiting,
        }
    }

    /// One amount, to change.
    pub fn get_mut(&mut self, metric: Metric) -> &mut i64 {
        match metric {
            Metric::Cpu => &mut self.cpu,
            Metric::Cuda => &mut self.cuda,
            Metric::GpuIdle => &mut self.gpu_idle,
            Metric::Sync => &mut self.sync,
            Metric::Alloc => &mut self.alloc,
            Metric::Comm => &mut self.comm,
            Metric::CommExposed => &mut self.comm_exposed,
            Metric::Flops => &mut self.flops,
            Metric::Waiting => &mut self.waiting,
        }
    }

    /// Adds every amount of `other`.
    pub fn add(&mut self, other: &Self) {
        for metric in Metric::ALL {
            let mine = self.get_mut(metric);
            mine.gain(other.get(metric));
        }
    }
}

/// Why an amount has no line. The names are part of `perfline.lines/1` (`unattributed.reasons`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// The recording has no Python stacks at all (`with_stack=True` was not set).
    NoStacks,
    /// No Python frame was open on the thread, nor on a thread that waited for it.
    NoPythonFrame,
    /// The launch of the device event is not in the recording.
    NoLaunch,
    /// The launching thread recorded nothing during the device's gap; or the thread that waits does nothing else.
    IdleThread,
    /// The snapshot has no Python frame for the allocation.
    NoSnapshotFrame,
}

impl Reason {
    /// Stable name in machine-readable output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NoStacks => "no_stacks",
            Self::NoPythonFrame => "no_python_frame",
            Self::NoLaunch => "no_launch",
            Self::IdleThread => "idle_thread",
            Self::NoSnapshotFrame => "no_snapshot_frame",
        }
    }
}

/// What no line was charged with, by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unattributed(BTreeMap<Reason, Books>);

impl Unattributed {
    /// Charges `amount` of `metric` to `reason`.
    pub fn charge(&mut self, reason: Reason, metric: Metric, amount: i64) {
        if amount != 0 {
            let mine = self.0.entry(reason).or_default().get_mut(metric);
            mine.gain(amount);
        }
    }

    /// The sum over all reasons.
    #[must_use]
    pub fn sum(&self) -> Books {
        let mut sum = Books::default();
        for books in self.0.values() {
            sum.add(books);
        }
        sum
    }

    /// Each reason with its amounts.
    pub fn iter(&self) -> impl Iterator<Item = (Reason, &Books)> {
        self.0.iter().map(|(&reason, books)| (reason, books))
    }

    /// Adds every amount of `other`.
    pub fn add(&mut self, other: &Self) {
        for (reason, books) in other.iter() {
            self.0.entry(reason).or_default().add(books);
        }
    }
}

/// How the books of one metric stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Balance {
    /// Which metric.
    pub metric: Metric,
    /// Σ own over the lines.
    pub lines: i64,
    /// Σ over the reasons.
    pub unattributed: i64,
    /// What the recording holds.
    pub total: i64,
}

impl Balance {
    /// Whether Σ own + unattributed = total, exactly.
    #[must_use]
    pub fn is_balanced(&self) -> bool {
        self.lines.saturating_add(self.unattributed) == self.total
    }
}

impl Ledger {
    /// How the books stand, metric by metric. Checked after every load.
    #[must_use]
    pub fn balances(&self) -> [Balance; 9] {
        let unattributed = self.unattributed.sum();
        Metric::ALL.map(|metric| Balance {
            metric,
            lines: self.lines.values().fold(0, |sum, it| sum.saturating_add(it.own(metric))),
            unattributed: unattributed.get(metric),
            total: self.totals.get(metric),
        })
    }

    /// Whether the books balance and no line has more time than there was.
    #[must_use]
    pub fn adds_up(&self) -> bool {
        self.balances().iter().all(Balance::is_balanced) && self.excesses().next().is_none()
    }

    /// How many threads only waited.
    #[must_use]
    pub fn idle_threads(&self) -> u64 {
        self.idle_threads.values().map(|it| it.threads).sum()
    }

    /// Lines whose time is more than there was: a total above the traced time of all threads, or a time in steps above
    /// that of the steps. Like [`Self::balances`] it is checked after every load, and there must be none.
    pub fn excesses(&self) -> impl Iterator<Item = &LineKey> {
        let steps = self.steps.values().fold(0, |sum: Ns, it| sum.saturating_add(*it));
        let elapsed = match self.steps.is_empty() {
            true => self.totals.cpu,
            false => steps.saturating_mul(i64::from(self.ranks.max(1))),
        };
        let is_too_much = move |it: &LineBooks| {
            it.cpu_total > self.totals.cpu || it.cpu_in_steps > it.cpu_total || it.elapsed > elapsed
        };
        self.lines.iter().filter(move |(_, it)| is_too_much(it)).map(|(line, _)| line)
    }
}
