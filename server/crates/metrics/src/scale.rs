//! What "per step" is, and what shares are shares of.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::OnceLock;

use ledger::{Ledger, LineBooks, Metric, Ns, PerStep, Unit};

use crate::quantity::{Quantity, StepsOfQuantity};

/// What part of the recording is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Period {
    /// The mean step of a rank; the whole recording where it has no steps.
    #[default]
    Mean,
    /// One step, the mean over the ranks. What the ledger does not keep by step is not shown.
    Step(u32),
    /// The whole recording.
    Run,
}

/// How sums over a recording become what is shown: docs/accounting.md, "Means and shares".
#[derive(Debug, Clone)]
pub struct Scale<'a> {
    ledger: &'a Ledger,
    period: Period,
    n_steps: u64,
    /// The steps of the ledger in their order, with the number of ranks that recorded each.
    ranks_by_step: Arc<[(u32, f64)]>,
    mean_step: f64,
    run: Ns,
    /// Bytes of all lines at the peak; added up when asked for the first time.
    peak: OnceLock<f64>,
    /// Whether any line has backward time on a device; looked for when asked for the first time.
    is_backward_on_device: OnceLock<bool>,
}

impl<'a> Scale<'a> {
    /// The scale of a rank, or of several that were merged. A period that the recording does not have becomes the mean
    /// step, or the whole recording where there are no steps.
    #[must_use]
    pub fn new(ledger: &'a Ledger, period: Period) -> Self {
        let n = ledger.steps.len() as u64;
        let sum = ledger.steps.values().fold(Ns::ZERO, |sum, it| sum.saturating_add(*it));
        let mut ranks: BTreeMap<u32, Ns> = BTreeMap::new();
        let threads = ledger.threads.iter().map(|(key, &time)| (key.rank, time));
        let devices = ledger.devices.iter().map(|(key, it)| (key.rank, it.busy + it.idle));
        for (rank, time) in threads.chain(devices) {
            let longest = ranks.entry(rank).or_default();
            *longest = time.max(*longest);
        }
        let scale = Self {
            ledger,
            period: Period::Run,
            n_steps: steps_of_all_ranks(ledger),
            ranks_by_step: ledger
                .steps
                .keys()
                .map(|&it| (it, ranks_with_step(ledger, it)))
                .collect(),
            mean_step: if n == 0 { 0.0 } else { sum.as_f64() / n as f64 },
            run: ranks.values().sum(),
            peak: OnceLock::new(),
            is_backward_on_device: OnceLock::new(),
        };
        scale.with_period(period)
    }

    /// The same for another period.
    #[must_use]
    pub fn with_period(&self, period: Period) -> Self {
        let period = match period {
            _ if self.ledger.steps.is_empty() => Period::Run,
            Period::Step(step) if !self.ledger.steps.contains_key(&step) => Period::Mean,
            period => period,
        };
        Self { period, ..self.clone() }
    }

    /// The ledger that the numbers are of.
    #[must_use]
    pub fn ledger(&self) -> &'a Ledger {
        self.ledger
    }

    /// With [`Period::Mean`] only where there are steps, and with [`Period::Step`] only of one that there is.
    #[must_use]
    pub fn period(&self) -> Period {
        self.period
    }

    /// Steps of all ranks together, which sums are divided by; 0 where the recording has none.
    #[must_use]
    pub fn n_steps(&self) -> u64 {
        self.n_steps
    }

    /// What shares of time are shares of, in nanoseconds: the mean step, the step, or how long the recording took,
    /// added up over the ranks (the longest thread or device of each).
    #[must_use]
    pub fn time(&self) -> f64 {
        match self.period {
            Period::Run => self.run.as_f64(),
            Period::Mean => self.mean_step,
            Period::Step(step) => {
                self.ledger.steps.get(&step).copied().unwrap_or(Ns::ZERO).as_f64()
            }
        }
    }

    /// The mean per step and rank of a sum over the recording, for what is not kept by step; the sum itself where the
    /// whole recording is shown.
    #[must_use]
    pub fn mean(&self, sum: f64) -> f64 {
        if self.period == Period::Run { sum } else { sum / self.n_steps as f64 }
    }

    /// The share (of 1) that a time from [`Self::mean`] is of the mean step, or of the recording.
    #[must_use]
    pub fn mean_share(&self, time: f64) -> f64 {
        share(time, if self.period == Period::Run { self.run.as_f64() } else { self.mean_step })
    }

    /// The part of a total that lies in the mean step, or the total itself where the whole recording is shown.
    #[must_use]
    pub fn total(&self, metric: Metric) -> f64 {
        match self.period {
            Period::Run => self.ledger.totals.get(metric) as f64,
            _ => self.mean(self.ledger.in_steps.get(metric) as f64),
        }
    }

    /// The number of a line; `None` where the ledger does not keep it for the chosen step.
    #[must_use]
    pub fn value(&self, quantity: Quantity, books: &LineBooks) -> Option<f64> {
        let row = quantity.row();
        let sum = (row.sum)(books) as f64;
        match (self.period, row.steps) {
            (Period::Run, _) | (_, StepsOfQuantity::State) => Some(sum),
            (Period::Mean, StepsOfQuantity::Each(part)) => {
                let sum: Ns = books.steps.values().map(part).sum();
                Some(self.mean(sum.as_f64()))
            }
            (Period::Mean, StepsOfQuantity::Together(part)) => {
                Some(self.mean(part(books).as_f64()))
            }
            (Period::Mean, StepsOfQuantity::Unknown) => Some(self.mean(sum)),
            (Period::Step(step), StepsOfQuantity::Each(part)) => {
                let time = books.steps.get(&step).map_or(0.0, |it| part(it).as_f64());
                Some(time / self.ranks_of_step(step).unwrap_or(1.0))
            }
            (Period::Step(_), StepsOfQuantity::Together(_) | StepsOfQuantity::Unknown) => None,
        }
    }

    /// What a line has of a quantity in each step, in the order of the ledger's steps, as means over the ranks; where the
    /// recording has no steps, or the ledger does not keep the quantity by step, the one number of [`Self::value`].
    #[must_use]
    pub fn by_step(&self, quantity: Quantity, books: &LineBooks) -> Vec<f64> {
        match quantity.row().steps {
            StepsOfQuantity::Each(part) if !self.ledger.steps.is_empty() => {
                let time = |step: &u32| books.steps.get(step).map_or(0.0, |it| part(it).as_f64());
                self.ranks_by_step.iter().map(|(step, ranks)| time(step) / ranks).collect()
            }
            _ => self.value(quantity, books).into_iter().collect(),
        }
    }

    /// The steps in which a line was charged with anything, and what it has of a quantity there, as means over the ranks; in all
    /// others it has nothing. `None` where the recording has no steps, or the ledger does not keep the quantity by step.
    #[must_use]
    pub fn in_its_steps(&self, quantity: Quantity, books: &LineBooks) -> Option<Vec<(u32, f64)>> {
        let StepsOfQuantity::Each(part) = quantity.row().steps else { return None };
        if self.ranks_by_step.is_empty() {
            return None;
        }
        let amount = |(&step, it): (&u32, &PerStep)| {
            Some((step, part(it).as_f64() / self.ranks_of_step(step)?))
        };
        Some(books.steps.iter().filter_map(amount).collect())
    }

    fn ranks_of_step(&self, step: u32) -> Option<f64> {
        let found = self.ranks_by_step.binary_search_by_key(&step, |it| it.0);
        found.ok().map(|it| self.ranks_by_step[it].1)
    }

    /// The share (of 1) that `value` is: of the step or recording, of the bytes for bytes; 0 for counts. Thread time
    /// and device time may be more than the step: several threads, streams and devices work at once.
    #[must_use]
    pub fn share(&self, quantity: Quantity, value: f64) -> f64 {
        share(value, self.whole(quantity))
    }

    /// What the shares of a quantity are shares of; 0 for counts.
    #[must_use]
    pub fn whole(&self, quantity: Quantity) -> f64 {
        match (quantity.unit(), quantity) {
            (Unit::Bytes, Quantity::Peak) => self.peak(),
            // A state, as bytes at the peak; those are kept of what was allocated at any time.
            (Unit::Bytes, Quantity::Live) => self.ledger.totals.alloc.as_f64(),
            (Unit::Bytes, _) => self.total(Metric::Alloc),
            (Unit::Ns, _) => self.time(),
            (_, _) => 0.0,
        }
    }

    /// Bytes of all lines at the peak.
    #[must_use]
    pub fn peak(&self) -> f64 {
        let sum = || self.ledger.lines.values().map(|books| books.peak.as_f64()).sum();
        *self.peak.get_or_init(sum)
    }

    /// The backward time that is shown where one is: device time where any line has some, because that is what counts
    /// there, else host time.
    #[must_use]
    pub fn backward(&self) -> Quantity {
        let lines = || self.ledger.lines.values();
        let is_on_device = self.is_backward_on_device.get_or_init(|| {
            self.ledger.totals.cuda != Ns::ZERO && lines().any(|it| it.cuda_backward != Ns::ZERO)
        });
        if *is_on_device { Quantity::CudaBackward } else { Quantity::CpuBackward }
    }

    /// What was computed again, where one number of it is shown: device time where any line has some, else host time.
    #[must_use]
    pub fn recompute(&self) -> Quantity {
        let is_on_device = self.is_present(Quantity::CudaRecompute);
        if is_on_device { Quantity::CudaRecompute } else { Quantity::CpuRecompute }
    }

    /// Whether any line has some of it.
    #[must_use]
    pub fn is_present(&self, quantity: Quantity) -> bool {
        let sum = quantity.row().sum;
        self.ledger.lines.values().any(|books| sum(books) != 0)
    }

    /// The share (of 1) of the step that a line takes: computing on the host, on the device, or waiting, whichever is
    /// largest; of the bytes at the peak where the recording has no time.
    #[must_use]
    pub fn line_share(&self, books: &LineBooks) -> f64 {
        let quantities: &[Quantity] = if self.time() == 0.0 {
            &[Quantity::Peak]
        } else {
            &[Quantity::CpuBusy, Quantity::CudaOwn, Quantity::Waiting]
        };
        self.largest_share(quantities, books)
    }

    /// The largest share (of 1) that a line has in any of `quantities`.
    #[must_use]
    pub fn largest_share(&self, quantities: &[Quantity], books: &LineBooks) -> f64 {
        let shares =
            quantities.iter().filter_map(|&it| Some(self.share(it, self.value(it, books)?)));
        shares.fold(0.0, f64::max)
    }
}

/// The steps that were recorded, those of all ranks: ranks may have recorded different numbers of them.
fn steps_of_all_ranks(ledger: &Ledger) -> u64 {
    // What is made of steps in the overview leaves out a last one that was not recorded whole; the sums do not.
    if ledger.ranks == 1 {
        return ledger.steps.len() as u64;
    }
    let recorded: usize = ledger.overviews.values().map(|it| it.steps.len()).sum();
    match recorded {
        0 => ledger.steps.len() as u64 * u64::from(ledger.ranks.max(1)),
        steps => steps as u64,
    }
}

/// How many ranks recorded a step; not 0.
fn ranks_with_step(ledger: &Ledger, step: u32) -> f64 {
    if ledger.ranks == 1 {
        return 1.0;
    }
    match ledger.overviews.values().filter(|it| it.steps.contains_key(&step)).count() {
        0 => f64::from(ledger.ranks.max(1)),
        ranks => ranks as f64,
    }
}

fn share(value: f64, whole: f64) -> f64 {
    if 0.0 < whole { value / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use ledger::{DeviceBooks, DeviceKey, Interval, LineKey, Overview, PerStep, ThreadKey};

    use super::*;

    fn rank(rank: u32) -> Ledger {
        let mut ledger = Ledger { ranks: 1, ..Ledger::default() };
        ledger.threads.insert(ThreadKey { rank, thread: "1".to_owned() }, Ns(100));
        ledger.threads.insert(ThreadKey { rank, thread: "2".to_owned() }, Ns(300));
        let books = DeviceBooks { busy: Ns(150), idle: Ns(250), ..DeviceBooks::default() };
        ledger.devices.insert(DeviceKey { rank, device: 0 }, books);
        ledger
    }

    #[test]
    fn without_steps_the_recording_is_the_whole() {
        let ledger = rank(0);
        let scale = Scale::new(&ledger, Period::Mean);
        assert_eq!((scale.n_steps(), scale.period()), (0, Period::Run));
        assert_eq!((scale.time(), scale.mean(7.0)), (400.0, 7.0));
        assert_eq!(Scale::new(&Ledger::default(), Period::Step(1)).time(), 0.0);
    }

    #[test]
    fn ranks_run_their_steps_side_by_side() {
        let (mut one, mut two) = (rank(0), rank(1));
        one.steps.extend([(1, Ns(100)), (2, Ns(300))]);
        two.steps.extend([(1, Ns(80)), (2, Ns(310))]);
        let line = LineBooks {
            cpu_own: Ns(400),
            cpu_total: Ns(900),
            cpu_in_steps: Ns(800),
            steps: [(1, PerStep { cpu: Ns(41), ..PerStep::default() })].into(),
            ..LineBooks::default()
        };
        let key = LineKey { file: "a.py".to_owned(), line: 1 };
        one.lines.insert(key.clone(), Box::new(line.clone()));
        two.lines.insert(key.clone(), Box::new(line));
        one.merge(&two);
        let books = &one.lines[&key];
        let numbers = |period| {
            let scale = Scale::new(&one, period);
            let value = |quantity| scale.value(quantity, books);
            (scale.time(), value(Quantity::CpuOwn), value(Quantity::CpuTotal))
        };
        // The longest rank of each step: 100 and 310. Sums are divided by 2 steps × 2 ranks.
        assert_eq!(numbers(Period::Mean), (205.0, Some(20.5), Some(400.0)));
        assert_eq!(numbers(Period::Step(1)), (100.0, Some(41.0), None));
        assert_eq!(numbers(Period::Step(9)), numbers(Period::Mean));
        assert_eq!(numbers(Period::Run), (800.0, Some(800.0), Some(1800.0)));
    }

    #[test]
    fn ranks_may_have_recorded_different_numbers_of_steps() {
        let key = LineKey { file: "a.py".to_owned(), line: 1 };
        let recorded = |number: u32, steps: &[u32]| {
            let mut ledger = rank(number);
            ledger.steps = steps.iter().map(|&step| (step, Ns(100))).collect();
            let intervals = steps.iter().map(|&step| (step, Interval::default())).collect();
            let overview = Overview { steps: intervals, ..Overview::default() };
            ledger.overviews.insert(number, overview);
            let per_step = PerStep { cpu: Ns(30), ..PerStep::default() };
            let steps = steps.iter().map(|&step| (step, per_step)).collect();
            let books = LineBooks { cpu_own: Ns(30), steps, ..LineBooks::default() };
            ledger.lines.insert(key.clone(), Box::new(books));
            ledger
        };
        let mut both = recorded(0, &[1, 2, 3]);
        both.merge(&recorded(1, &[3]));
        let scale = Scale::new(&both, Period::Mean);
        let books = &both.lines[&key];
        assert_eq!(scale.n_steps(), 4);
        // 30 ns in each step of each rank.
        assert_eq!(scale.value(Quantity::CpuOwn, books), Some(30.0));
        assert_eq!(scale.by_step(Quantity::CpuOwn, books), [30.0, 30.0, 30.0]);
        let third = scale.with_period(Period::Step(3));
        assert_eq!(third.value(Quantity::CpuOwn, books), Some(30.0));
    }

    #[test]
    fn backward_is_device_time_where_any_line_has_some() {
        let mut ledger = Ledger::default();
        let key = LineKey { file: "a.py".to_owned(), line: 1 };
        ledger.lines.entry(key.clone()).or_default().cpu_backward = Ns(5);
        ledger.totals.cuda = Ns(7);
        assert_eq!(Scale::new(&ledger, Period::Mean).backward(), Quantity::CpuBackward);
        ledger.lines.entry(key).or_default().cuda_backward = Ns(3);
        assert_eq!(Scale::new(&ledger, Period::Mean).backward(), Quantity::CudaBackward);
    }

    #[test]
    fn shares_of_time_may_be_more_than_the_step() {
        let mut ledger = Ledger { ranks: 1, ..Ledger::default() };
        ledger.steps.insert(1, Ns(100));
        let scale = Scale::new(&ledger, Period::Mean);
        assert_eq!(scale.share(Quantity::CpuTotal, 250.0), 2.5);
        assert_eq!(scale.share(Quantity::Calls, 250.0), 0.0);
    }
}
