//! Amounts that are charged once, and the balance between lines, the unattributed rest and the totals.

use std::collections::BTreeMap;

use crate::amount::Amount;
use crate::{Bytes, Ledger, LineBooks, LineKey, Ns, RankPaths, Unit};

/// The table of balanced metrics: the fields of [`Books`], the variants of [`Metric`] and the way from one to the other.
macro_rules! balanced {
    ($($(#[doc = $doc:literal])* $metric:ident: $field:ident, $unit:ident, $label:literal, $own:expr;)*) => {
        /// What is charged once per instant, event or byte.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub struct Books {
            $($(#[doc = $doc])* pub $field: type_of!($unit),)*
        }

        /// A metric of which the books must balance.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Metric {
            $(#[doc = concat!("[`Books::", stringify!($field), "`].")] $metric,)*
        }

        impl Metric {
            /// All of them.
            pub const ALL: [Self; [$(stringify!($field)),*].len()] = [$(Self::$metric),*];

            /// Stable name: that of the field.
            #[must_use]
            pub fn id(self) -> &'static str {
                match self {
                    $(Self::$metric => stringify!($field),)*
                }
            }

            /// What its amounts count.
            #[must_use]
            pub fn unit(self) -> Unit {
                match self {
                    $(Self::$metric => Unit::$unit,)*
                }
            }

            /// What people call it.
            #[must_use]
            pub fn label(self) -> &'static str {
                match self {
                    $(Self::$metric => $label,)*
                }
            }
        }

        impl Books {
            /// One amount as a plain number: what it counts is [`Metric::unit`].
            #[must_use]
            pub fn get(&self, metric: Metric) -> i64 {
                match metric {
                    $(Metric::$metric => plain!($unit, self.$field),)*
                }
            }

            /// One amount as in [`Self::get`], to change.
            pub fn get_mut(&mut self, metric: Metric) -> &mut i64 {
                match metric {
                    $(Metric::$metric => &mut plain!($unit, self.$field),)*
                }
            }
        }

        impl LineBooks {
            /// The amount that is charged once, for the books: a plain number as in [`Books::get`].
            #[must_use]
            pub fn own(&self, metric: Metric) -> i64 {
                match metric {
                    $(Metric::$metric => {
                        let own: fn(&Self) -> type_of!($unit) = $own;
                        plain!($unit, own(self))
                    })*
                }
            }
        }
    };
}

/// The type of amounts of a unit.
macro_rules! type_of {
    (Ns) => {
        Ns
    };
    (Bytes) => {
        Bytes
    };
    (Flops) => {
        i64
    };
}

/// The number of an amount of a unit.
macro_rules! plain {
    (Flops, $amount:expr) => {
        $amount
    };
    ($unit:ident, $amount:expr) => {
        $amount.0
    };
}

// Metric: field of the books, unit, what people call it, the amount of a line.
balanced! {
    /// Thread time, that of idle threads left out.
    Cpu: cpu, Ns, "thread time", |line| line.cpu_own;
    /// Device time, summed over streams.
    Cuda: cuda, Ns, "CUDA time", |line| line.cuda_own;
    /// Device idle time.
    GpuIdle: gpu_idle, Ns, "GPU idle time", |line| line.gpu_idle;
    /// Thread time blocked waiting for a device.
    Sync: sync, Ns, "waits for devices", |line| line.sync;
    /// Allocated bytes.
    Alloc: alloc, Bytes, "allocated bytes", |line| line.alloc;
    /// Device time of collectives.
    Comm: comm, Ns, "communication", |line| line.comm;
    /// Of [`Self::comm`], what no compute kernel hides.
    CommExposed: comm_exposed, Ns, "exposed communication", |line| line.comm_exposed;
    /// Floating-point operations of the operators that there is a formula for.
    Flops: flops, Flops, "FLOPs", |line| i64::try_from(line.flops()).unwrap_or(i64::MAX);
    /// Time in calls that wait, which is part of the thread time, and all time of idle threads, which is not.
    Waiting: waiting, Ns, "waiting", |line| line.waiting;
}

impl Books {
    /// Adds every amount of `other`.
    pub fn add(&mut self, other: &Self) {
        for metric in Metric::ALL {
            let mine = self.get_mut(metric);
            mine.gain(other.get(metric));
        }
    }
}

/// Why an amount has no line. The names are part of `perfline.lines/1` (`unattributed.reasons`).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum Reason {
    /// The recording has no Python stacks at all (`with_stack=True` was not set).
    NoStacks,
    /// No Python frame was open on the thread, nor on a thread that waited for it.
    NoPythonFrame,
    /// The launch of the device event is not in the recording.
    NoLaunch,
    /// The device event was launched before recording began.
    InFlight,
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
            Self::InFlight => "in_flight",
            Self::IdleThread => "idle_thread",
            Self::NoSnapshotFrame => "no_snapshot_frame",
        }
    }
}

/// What no line was charged with, by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Unattributed(BTreeMap<Reason, Books>);

impl Unattributed {
    /// Charges `amount` of `metric`, a plain number as in [`Books::get`], to `reason`.
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

    /// What has no line for `reason`, if anything.
    #[must_use]
    pub fn of(&self, reason: Reason) -> Option<&Books> {
        self.0.get(&reason)
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

/// How the books of one metric stand, in plain numbers as in [`Books::get`].
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
    /// The lines with what each was charged with, in order of file and line.
    pub fn lines_with_books(&self) -> impl Iterator<Item = (&LineKey, &LineBooks)> + Clone {
        self.lines.iter().map(|(key, books)| (key, &**books))
    }

    /// How the books stand, metric by metric. Checked after every load.
    #[must_use]
    pub fn balances(&self) -> [Balance; Metric::ALL.len()] {
        let unattributed = self.unattributed.sum();
        let mut balances = Metric::ALL.map(|metric| Balance {
            metric,
            lines: 0,
            unattributed: unattributed.get(metric),
            total: self.totals.get(metric),
        });
        // The lines once: of many lines it takes longest to get at them.
        for books in self.lines.values() {
            for it in &mut balances {
                it.lines = it.lines.saturating_add(books.own(it.metric));
            }
        }
        balances
    }

    /// Whether the books balance, no line has more time than there was, and critical paths have no gaps.
    #[must_use]
    pub fn adds_up(&self) -> bool {
        self.adds_up_with(&self.balances())
    }

    /// The same with [`Self::balances`], which looks at all lines, at hand.
    #[must_use]
    pub fn adds_up_with(&self, balances: &[Balance]) -> bool {
        balances.iter().all(Balance::is_balanced)
            && self.excesses().next().is_none()
            && self.has_whole_paths()
    }

    /// Whether every instant of the critical paths is on one line, or in one collective.
    #[must_use]
    pub fn has_whole_paths(&self) -> bool {
        self.critical_paths.values().all(RankPaths::are_whole)
    }

    /// How many threads only waited.
    #[must_use]
    pub fn idle_threads(&self) -> u64 {
        self.idle_threads.values().map(|it| it.threads).sum()
    }

    /// Lines whose time is more than there was: a total above the traced time of all threads, or a time in steps above
    /// that of the steps. Like [`Self::balances`] it is checked after every load, and there must be none.
    pub fn excesses(&self) -> impl Iterator<Item = &LineKey> {
        let steps = self.steps.values().fold(Ns::ZERO, |sum, it| sum.saturating_add(*it));
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
