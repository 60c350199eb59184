//! What limits the step, in a sentence with the shares that say so.

use ledger::{Ledger, LineBooks, Ns};
use metrics::numbers::{count, duration, percent};
use metrics::{Period, Scale};

use insights::{LaunchBoundRun, launch_bound_run};

use crate::model::{Bottleneck, Verdict};

/// A part of the step from this share (of 1) on is named in the sentence.
const MIN_NAMED: f64 = 0.01;

/// The second largest limit counts as much as the largest from this part of it on.
const ABOUT_EQUAL: f64 = 0.75;

/// What is said of a part: its stable name, what people call it, and what is the limit where it is largest.
type VerdictPart = (&'static str, &'static str, Bottleneck);

/// The parts of [`ledger::Breakdown`] in its order, and what of `other` is waiting.
const PARTS: [VerdictPart; 9] = [
    ("kernel", "kernels", Bottleneck::Device),
    ("memcpy", "copies", Bottleneck::Device),
    ("memset", "fills", Bottleneck::Device),
    ("communication", "communication", Bottleneck::Communication),
    ("runtime", "runtime calls", Bottleneck::Host),
    ("data_loader", "data loader", Bottleneck::DataLoader),
    ("cpu", "CPU operators", Bottleneck::Host),
    ("other", "Python and all else", Bottleneck::Host),
    ("waiting", "waits for locks, queues, sockets or sleep", Bottleneck::Waiting),
];

/// What limits the steps of a recording, all ranks together; `None` where nothing is known of their time.
pub(crate) fn of(ledger: &Ledger, scale: &Scale<'_>) -> Option<Verdict> {
    let mut time = Ns::ZERO;
    let mut sums = [Ns::ZERO; 8];
    for overview in ledger.overviews.values() {
        time += overview.run.time;
        let parts = overview.run.breakdown.parts();
        sums.iter_mut().zip(parts).for_each(|(sum, (_, part))| *sum += part);
    }
    if time == Ns::ZERO {
        return None;
    }
    let waits: Ns = ledger.lines.values().map(|it| waits(it, scale.period())).sum();
    let waits = scale.mean(waits.as_f64()) / scale.time();
    let mut shares = [0.0; 9];
    shares.iter_mut().zip(sums).for_each(|(share, sum)| *share = sum.as_f64() / time.as_f64());
    // Waits while nothing else was going on; a wait beside other work holds nothing up.
    let [.., other, waiting] = &mut shares;
    *waiting = if waits.is_finite() { waits.min(*other) } else { 0.0 };
    *other -= *waiting;

    let mut parts: Vec<(&VerdictPart, f64)> = PARTS.iter().zip(shares).collect();
    parts.retain(|(_, share)| 0.0 < *share);
    parts.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let limits = limits(&parts);
    let (&(first, most), second) = (limits.first()?, limits.get(1));
    let launch_bound = launch_bound_run(ledger);
    let (limit, lead) = match second {
        _ if launch_bound.is_some() => {
            (Bottleneck::Launches, "Launch-bound: the host is slower than the device".to_owned())
        }
        Some(&(second, share)) if ABOUT_EQUAL * most <= share => {
            let lead = format!("Limited by {} and {} about equally", name(first), name(second));
            (Bottleneck::Mixed, lead)
        }
        // That a recording without a device is limited by the host says nothing.
        _ if first == Bottleneck::Host && ledger.devices.is_empty() && ledger.ranks == 1 => {
            (first, "No device is in the recording".to_owned())
        }
        _ => (first, format!("Limited by {}", name(first))),
    };
    let of = match scale.period() {
        Period::Run => "the recording",
        Period::Mean | Period::Step(_) => "the step",
    };
    let named = parts.iter().filter(|(_, share)| MIN_NAMED <= *share);
    let named: Vec<String> =
        named.map(|((_, name, _), share)| format!("{name} {}", percent(*share))).collect();
    let mut text = format!("{lead}; of {of}: {}", named.join(", "));
    if let Some(run) = launch_bound {
        text += &launches(&run);
    }
    let parts = parts.into_iter().map(|((id, ..), share)| (*id, share)).collect();
    Some(Verdict { limit, parts, text: text + "." })
}

/// What the threads of the steps wait for at most on a line: other threads, as those that pin or fetch batches, may wait for
/// all of the time and hold nothing up. A line on which only they are has no elapsed time.
fn waits(books: &LineBooks, period: Period) -> Ns {
    let waits = match period {
        Period::Run => books.waiting,
        Period::Mean | Period::Step(_) => books.steps.values().map(|it| it.waiting).sum(),
    };
    waits.min(books.elapsed)
}

/// The shares of what can limit a step, the largest first.
fn limits(parts: &[(&VerdictPart, f64)]) -> Vec<(Bottleneck, f64)> {
    let mut limits: Vec<(Bottleneck, f64)> = Vec::new();
    for &(&(.., limit), share) in parts {
        match limits.iter_mut().find(|(it, _)| *it == limit) {
            Some((_, sum)) => *sum += share,
            None => limits.push((limit, share)),
        }
    }
    limits.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    limits
}

/// What a limit is called in the sentence.
fn name(limit: Bottleneck) -> &'static str {
    match limit {
        Bottleneck::Device => "the device",
        Bottleneck::Launches | Bottleneck::Host | Bottleneck::Mixed => "the host",
        Bottleneck::Communication => "communication",
        Bottleneck::DataLoader => "the data loader",
        Bottleneck::Waiting => "waiting",
    }
}

fn launches(run: &LaunchBoundRun) -> String {
    format!(
        ". The CPU takes {} for each of {} launches, and {} of what was launched is over sooner than the call that \
         launched it. Fewer and larger kernels help: torch.compile, CUDA graphs, larger batches",
        duration(run.host),
        count(run.launches as f64),
        percent(run.shorter_than_call as f64 / run.launches as f64),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use ledger::{Breakdown, Interval, LineKey, Overview, PerStep};

    fn verdict(breakdown: Breakdown, waiting: i64) -> Verdict {
        verdict_with(breakdown, &[(waiting, waiting)])
    }

    /// Of lines that wait, with what elapses on each.
    fn verdict_with(breakdown: Breakdown, lines: &[(i64, i64)]) -> Verdict {
        let time = breakdown.parts().iter().map(|(_, part)| *part).sum();
        let mut ledger = Ledger { ranks: 1, ..Ledger::default() };
        let run = Interval { time, breakdown, ..Interval::default() };
        ledger.steps.insert(1, time);
        for (line, &(waiting, elapsed)) in (1..).zip(lines) {
            let step = PerStep { waiting: Ns(waiting), ..PerStep::default() };
            let books = LineBooks {
                // Some of it before the steps.
                waiting: Ns(waiting + 1000),
                elapsed: Ns(elapsed),
                steps: [(1, step)].into(),
                ..LineBooks::default()
            };
            ledger.lines.insert(LineKey { file: "train.py".to_owned(), line }, Box::new(books));
        }
        ledger.overviews.insert(0, Overview { run, ..Overview::default() });
        of(&ledger, &Scale::new(&ledger, Period::Mean)).unwrap()
    }

    #[test]
    fn the_largest_limit_is_named_with_what_it_consists_of() {
        let device =
            Breakdown { kernel: Ns(70), memcpy: Ns(5), cpu: Ns(25), ..Breakdown::default() };
        let it = verdict(device, 0);
        assert_eq!(it.limit, Bottleneck::Device);
        assert_eq!(
            it.text,
            "Limited by the device; of the step: kernels 70 %, CPU operators 25 %, copies 5 %."
        );
        let comm = Breakdown { communication: Ns(60), kernel: Ns(40), ..Breakdown::default() };
        assert_eq!(verdict(comm, 0).limit, Bottleneck::Communication);
        let loader = Breakdown { data_loader: Ns(60), kernel: Ns(40), ..Breakdown::default() };
        assert_eq!(verdict(loader, 0).limit, Bottleneck::DataLoader);
        let host = Breakdown { cpu: Ns(30), other: Ns(30), kernel: Ns(40), ..Breakdown::default() };
        assert_eq!(verdict(host, 0).limit, Bottleneck::Host);
    }

    #[test]
    fn two_limits_of_about_the_same_share_are_both_named() {
        let it = verdict(Breakdown { kernel: Ns(51), cpu: Ns(49), ..Breakdown::default() }, 0);
        assert_eq!(it.limit, Bottleneck::Mixed);
        assert!(
            it.text.starts_with("Limited by the device and the host about equally;"),
            "{}",
            it.text
        );
    }

    #[test]
    fn waits_count_where_nothing_else_goes_on() {
        let breakdown = Breakdown { cpu: Ns(20), other: Ns(80), ..Breakdown::default() };
        let it = verdict(breakdown, 70);
        assert_eq!(it.limit, Bottleneck::Waiting);
        assert_eq!(it.parts, [("waiting", 0.7), ("cpu", 0.2), ("other", 0.8 - 0.7)]);
        // Beside operators, a wait holds nothing up.
        let busy = Breakdown { cpu: Ns(90), other: Ns(10), ..Breakdown::default() };
        let it = verdict(busy, 100);
        assert_eq!(it.limit, Bottleneck::Host);
        assert_eq!(it.parts, [("cpu", 0.9), ("waiting", 0.1)]);
        assert_eq!(
            verdict(busy, 0).text,
            "No device is in the recording; of the step: CPU operators 90 %, Python and all else 10 %."
        );
        // A thread beside that of the steps waits on a line of its own, and may on one where that thread is, too.
        let it = verdict_with(breakdown, &[(100, 0), (60, 10)]);
        assert_eq!(it.parts, [("other", 0.8 - 0.1), ("cpu", 0.2), ("waiting", 0.1)]);
        assert_eq!(it.limit, Bottleneck::Host);
    }

    #[test]
    fn without_time_there_is_nothing_to_say() {
        let ledger = Ledger::default();
        assert_eq!(of(&ledger, &Scale::new(&ledger, Period::Mean)), None);
    }
}
