//! What is shown of a line: columns, per step or over the run, and shares.

use ledger::{Evidence, Ledger, LineBooks, Metric, Ns};
use loader::Run;

use crate::args::Per;
use crate::numbers;

/// How sums over the recording become what is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    /// Steps of all ranks together, or `None` where sums over the run are shown.
    pub(crate) steps: Option<u32>,
    /// What shares of time are shares of: the mean step, or how long the run took, added up over the ranks.
    time: f64,
    /// What shares of allocated bytes are shares of.
    bytes: f64,
    /// What shares of bytes at the peak are shares of: those that have a line.
    peak: f64,
    /// Whether backward time is device time: it is where the recording has any, since that is what counts there.
    backward_on_device: bool,
}

impl Scale {
    /// Per step where the recording has steps, unless `per` asks for something else.
    pub(crate) fn new(run: &Run, per: Option<Per>) -> Self {
        let totals = &run.merged.totals;
        let (count, time) = steps(run);
        let steps = (0 < count && per != Some(Per::Run)).then_some(count);
        Self {
            steps,
            time: match steps {
                Some(steps) => time as f64 / f64::from(steps),
                None => run.ranks.iter().map(|rank| duration(&rank.ledger) as f64).sum(),
            },
            bytes: match steps {
                Some(steps) => run.merged.in_steps.alloc as f64 / f64::from(steps),
                None => totals.alloc as f64,
            },
            peak: run.merged.lines.values().map(|it| it.peak as f64).sum(),
            backward_on_device: run.merged.lines.values().any(|it| it.cuda_backward != 0),
        }
    }

    /// The mean of a sum over the recording, rounded, or the sum itself.
    pub(crate) fn mean(&self, sum: i64) -> i64 {
        match self.steps {
            None => sum,
            Some(_) => self.mean_count(sum).round() as i64,
        }
    }

    /// The mean step's part of a total, or where sums over the run are shown the total itself.
    pub(crate) fn mean_total(&self, ledger: &Ledger, metric: Metric) -> i64 {
        let books = if self.steps.is_some() { &ledger.in_steps } else { &ledger.totals };
        self.mean(books.get(metric))
    }

    fn mean_count(&self, sum: i64) -> f64 {
        sum as f64 / f64::from(self.steps.unwrap_or(1))
    }

    /// What a line is charged with in `column`.
    pub(crate) fn value(&self, column: Column, line: &LineBooks) -> f64 {
        let in_steps = |part: fn(&ledger::PerStep) -> Ns, whole: Ns| {
            if self.steps.is_some() { line.steps.values().map(part).sum() } else { whole }
        };
        if column == Column::Peak {
            // A state rather than a flow: the same for a step and for the run.
            return line.peak as f64;
        }
        self.mean_count(match column {
            Column::CpuOwn => in_steps(|it| it.cpu - it.waiting, line.cpu_own - line.waiting),
            Column::Waiting => in_steps(|it| it.waiting, line.waiting),
            Column::CpuTotal if self.steps.is_some() => line.cpu_in_steps,
            Column::CpuTotal => line.cpu_total,
            Column::CudaOwn => in_steps(|it| it.cuda, line.cuda_own),
            Column::Backward if self.backward_on_device => line.cuda_backward,
            Column::Backward => line.cpu_backward,
            Column::Wait => in_steps(|it| it.sync, line.sync),
            Column::GpuIdle => in_steps(|it| it.gpu_idle, line.gpu_idle),
            Column::Comm => line.comm_exposed,
            Column::Alloc => line.alloc,
            Column::Peak => line.peak,
            Column::Calls => i64::try_from(line.calls).unwrap_or(i64::MAX),
            Column::Kernels => i64::try_from(line.kernels).unwrap_or(i64::MAX),
        })
    }

    /// The share of 1 that `value` is of the step or run; 0 for counts.
    pub(crate) fn share(&self, column: Column, value: f64) -> f64 {
        let whole = match column {
            Column::Alloc => self.bytes,
            Column::Peak => self.peak,
            Column::Calls | Column::Kernels => 0.0,
            _ => self.time,
        };
        if 0.0 < whole { (value / whole).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Share of the step that a line takes, computing on the host, on the device, or waiting, whichever is larger; of the memory at the peak where a
    /// recording has no time.
    pub(crate) fn own_share(&self, line: &LineBooks) -> f64 {
        let share = |column| self.share(column, self.value(column, line));
        if self.time == 0.0 {
            return share(Column::Peak);
        }
        share(Column::CpuOwn).max(share(Column::CudaOwn)).max(share(Column::Waiting))
    }

    /// Largest share in any column.
    pub(crate) fn largest_share(&self, line: &LineBooks) -> f64 {
        Column::ALL.iter().map(|&it| self.share(it, self.value(it, line))).fold(0.0, f64::max)
    }
}

/// Number and summed duration of the steps of all ranks.
pub(crate) fn steps(run: &Run) -> (u32, Ns) {
    let steps = run.ranks.iter().flat_map(|rank| rank.ledger.steps.values());
    steps.fold((0, 0), |(count, time), step| (count + 1, time + step))
}

/// How long a rank's recording took, as far as its books tell: its longest thread or device.
fn duration(ledger: &Ledger) -> Ns {
    let devices = ledger.devices.values().map(|it| it.busy + it.idle);
    ledger.threads.values().copied().chain(devices).max().unwrap_or(0)
}

/// A column of numbers beside the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// Own thread time without what is waiting.
    CpuOwn,
    CpuTotal,
    CudaOwn,
    Backward,
    /// Waits for a device.
    Wait,
    /// Calls that wait for anything else.
    Waiting,
    GpuIdle,
    Comm,
    Alloc,
    Peak,
    Calls,
    Kernels,
}

impl Column {
    /// All of them, in the order in which they are shown.
    pub(crate) const ALL: [Self; 12] = [
        Self::CpuOwn,
        Self::CpuTotal,
        Self::CudaOwn,
        Self::Backward,
        Self::Wait,
        Self::Waiting,
        Self::GpuIdle,
        Self::Comm,
        Self::Alloc,
        Self::Peak,
        Self::Calls,
        Self::Kernels,
    ];

    /// What is kept longest when the terminal is narrow comes first.
    pub(crate) const BY_WORTH: [Self; 12] = [
        Self::CpuOwn,
        Self::CudaOwn,
        Self::Wait,
        Self::Waiting,
        Self::CpuTotal,
        Self::Backward,
        Self::GpuIdle,
        Self::Comm,
        Self::Peak,
        Self::Alloc,
        Self::Kernels,
        Self::Calls,
    ];

    /// Its name.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::CpuOwn => "cpu own",
            Self::CpuTotal => "cpu total",
            Self::CudaOwn => "cuda own",
            Self::Backward => "backward",
            Self::Wait => "gpu wait",
            Self::Waiting => "waiting",
            Self::GpuIdle => "gpu idle",
            Self::Comm => "comm",
            Self::Alloc => "alloc",
            Self::Peak => "peak",
            Self::Calls => "calls",
            Self::Kernels => "kernels",
        }
    }

    /// Its name over two lines.
    pub(crate) fn heading(self) -> [&'static str; 2] {
        self.title().split_once(' ').map_or(["", self.title()], |(above, below)| [above, below])
    }

    /// Terminal columns that its numbers and heading need.
    pub(crate) fn width(self) -> usize {
        match self {
            Self::Alloc | Self::Peak | Self::Backward | Self::Comm => 8,
            _ => 7,
        }
    }

    /// The text of a cell; empty for nothing.
    pub(crate) fn text(self, value: f64) -> String {
        if value == 0.0 {
            return String::new();
        }
        match self {
            Self::Alloc | Self::Peak => numbers::bytes(value.round() as i64),
            Self::Calls | Self::Kernels => numbers::count(value),
            _ => numbers::duration(value.round() as Ns),
        }
    }

    /// Whether the recording has anything to show in it.
    pub(crate) fn is_in(self, ledger: &Ledger) -> bool {
        let any = |amount: fn(&LineBooks) -> bool| ledger.lines.values().any(amount);
        match self {
            Self::CpuOwn => any(|it| it.cpu_own != 0),
            Self::Waiting => any(|it| it.waiting != 0),
            Self::CpuTotal => any(|it| it.cpu_total != 0),
            Self::CudaOwn => ledger.totals.cuda != 0,
            Self::Backward => any(|it| it.cpu_backward != 0 || it.cuda_backward != 0),
            Self::Wait => ledger.totals.sync != 0,
            Self::GpuIdle => ledger.totals.gpu_idle != 0,
            Self::Comm => ledger.totals.comm_exposed != 0,
            Self::Alloc => ledger.totals.alloc != 0,
            Self::Peak => any(|it| it.peak != 0),
            Self::Calls => any(|it| it.calls != 0),
            Self::Kernels => any(|it| it.kernels != 0),
        }
    }
}

/// What stands before the numbers of a line to tell how it is known.
pub(crate) fn mark(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::Exact => "",
        Evidence::Inferred => "~",
        Evidence::Function => "fn",
    }
}

/// How `lines` are known, by shares of their own CPU time (of their bytes where `ledger` has no time), as text:
/// `92 % exact, 8 % inferred`.
pub(crate) fn evidence<'a>(lines: impl Iterator<Item = &'a LineBooks>, ledger: &Ledger) -> String {
    let amount = |it: &LineBooks| if ledger.totals.cpu == 0 { it.alloc } else { it.cpu_own };
    let kinds = [
        (Evidence::Exact, "exact"),
        (Evidence::Inferred, "inferred"),
        (Evidence::Function, "function"),
    ];
    let mut sums = [0.0; 3];
    for line in lines {
        for (sum, (kind, _)) in sums.iter_mut().zip(kinds) {
            if kind == line.evidence {
                *sum += amount(line) as f64;
            }
        }
    }
    let whole: f64 = sums.iter().sum();
    let named = sums.iter().zip(kinds).filter(|(sum, _)| 0.0 < **sum);
    let parts: Vec<String> = match named.clone().count() {
        1 => named.map(|(_, (_, name))| name.to_owned()).collect(),
        _ => named
            .map(|(sum, (_, name))| format!("{} {name}", numbers::percent(sum / whole)))
            .collect(),
    };
    parts.join(", ")
}
