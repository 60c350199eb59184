//! What a recording must not exceed, for continuous integration.

use ledger::{Metric, Ns};
use metrics::numbers::{duration, percent};
use metrics::{Period, Scale};

/// What a limit is of. A recording without steps counts as one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The mean step, in milliseconds.
    Step,
    /// Thread time blocked waiting for the device, per step and rank, in milliseconds.
    Sync,
    /// The share of the devices' spans in which nothing ran, in percent.
    GpuIdle,
    /// The share of CPU time, and that of CUDA time, that has no line, in percent.
    Unattributed,
}

impl Limit {
    /// The option that sets it.
    #[must_use]
    pub fn option(self) -> &'static str {
        match self {
            Self::Step => "--max-step-ms",
            Self::Sync => "--max-sync-ms-per-step",
            Self::GpuIdle => "--max-gpu-idle-pct",
            Self::Unattributed => "--max-unattributed-pct",
        }
    }

    /// What the recording has, in the unit of the limit, each with a sentence about it.
    pub(crate) fn values(self, scale: &Scale<'_>) -> Vec<(f64, String)> {
        let ledger = scale.ledger();
        let share =
            |part: i64, whole: i64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        match self {
            Self::Step => {
                let mean = match scale.period() {
                    Period::Run => {
                        ledger.threads.values().max().copied().unwrap_or_default().as_f64()
                    }
                    _ => scale.time(),
                };
                vec![(mean / 1e6, format!("a step takes {}", duration(mean.trunc())))]
            }
            Self::Sync => {
                let ranks = match scale.period() {
                    Period::Run => f64::from(ledger.ranks.max(1)),
                    _ => 1.0,
                };
                let wait = scale.total(Metric::Sync) / ranks;
                let text = format!("a step waits {} for the device", duration(wait.trunc()));
                vec![(wait / 1e6, text)]
            }
            Self::GpuIdle => {
                let busy: Ns = ledger.devices.values().map(|it| it.busy).sum();
                let idle: Ns = ledger.devices.values().map(|it| it.idle).sum();
                let idle = share(idle.0, (busy + idle).0);
                vec![(idle * 100.0, format!("the devices are idle {} of the time", percent(idle)))]
            }
            Self::Unattributed => {
                let balances = ledger.balances().into_iter();
                let timed = balances.filter(|it| matches!(it.metric, Metric::Cpu | Metric::Cuda));
                let value = |it: ledger::Balance| {
                    let share = share(it.unattributed, it.total);
                    let name = it.metric.label();
                    (share * 100.0, format!("{} of {name} has no line", percent(share)))
                };
                timed.map(value).collect()
            }
        }
    }
}

/// A sentence for each of `limits` that the recording exceeds, in the mean step where it has steps.
pub(crate) fn exceeded(scale: &Scale<'_>, limits: &[(Limit, f64)]) -> Vec<String> {
    let exceeded = |&(limit, allowed): &(Limit, f64)| {
        let values = limit.values(scale).into_iter().filter(move |(value, _)| allowed < *value);
        values
            .map(move |(_, text)| format!("{text}, more than {} {allowed} allows", limit.option()))
    };
    limits.iter().flat_map(exceeded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::training;
    use loader::Run;

    fn report(run: &Run, limits: &[(Limit, f64)]) -> Vec<String> {
        exceeded(&Scale::new(&run.merged, Period::Mean), limits)
    }

    #[test]
    fn each_limit_is_reported_when_it_is_exceeded_and_only_then() {
        let limits = |it: f64| {
            [Limit::Step, Limit::Sync, Limit::GpuIdle, Limit::Unattributed].map(|limit| (limit, it))
        };
        assert_eq!(report(&training(), &limits(25.0)), Vec::<String>::new());
        assert_eq!(
            report(&training(), &limits(1.5)),
            [
                "a step takes 10 ms, more than --max-step-ms 1.5 allows",
                "a step waits 2.5 ms for the device, more than --max-sync-ms-per-step 1.5 allows",
                "the devices are idle 25 % of the time, more than --max-gpu-idle-pct 1.5 allows",
                "2.93 % of thread time has no line, more than --max-unattributed-pct 1.5 allows"
            ]
        );
    }

    #[test]
    fn a_recording_without_steps_counts_as_one() {
        let mut run = training();
        run.ranks[0].steps.clear();
        run.merged.steps.clear();
        assert_eq!(
            report(&run, &[(Limit::Step, 20.0), (Limit::Sync, 4.9)]),
            [
                "a step takes 20.5 ms, more than --max-step-ms 20 allows",
                "a step waits 5 ms for the device, more than --max-sync-ms-per-step 4.9 allows"
            ]
        );
        run.merged.ranks = 2;
        assert_eq!(
            report(&run, &[(Limit::Sync, 2.4)]),
            ["a step waits 2.5 ms for the device, more than --max-sync-ms-per-step 2.4 allows"]
        );
    }
}
