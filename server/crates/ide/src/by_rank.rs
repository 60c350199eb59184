//! What a line costs each rank of a run of several: a mean over the ranks is true of none where one of them is late.

use std::collections::BTreeMap;

use ledger::{LineBooks, Ns};
use metrics::numbers::duration;
use metrics::{Period, Quantity};
use ranks::{Side, Spread, ranks_of, times_by_rank};

use crate::scale::ViewScale;
use crate::sections::{LineSection, RichText, table};

/// Below this part of the largest time, the mean of the other ranks is not named.
const MIN_OTHERS: f64 = 0.01;

/// Rows of the table at most.
const MAX_ROWS: usize = 8;

/// Characters of a bar.
const BAR_LENGTH: usize = 12;

/// The own time of lines on each rank, added up over `lines`, over the recording. `None` where one rank was recorded, and of a
/// single step, of which ranks are not kept apart.
fn sums_by_rank<'a>(
    scale: &ViewScale<'_>,
    lines: impl IntoIterator<Item = &'a LineBooks>,
    side: Side,
) -> Option<BTreeMap<u32, Ns>> {
    let ledger = scale.ledger();
    if ledger.ranks < 2 || matches!(scale.period(), Period::Step(_)) {
        return None;
    }
    let ranks = ranks_of(ledger);
    let mut sums: BTreeMap<u32, Ns> = BTreeMap::new();
    for books in lines {
        for (rank, time) in times_by_rank(&ranks, books, side) {
            let sum = sums.entry(rank).or_default();
            *sum = sum.saturating_add(time);
        }
    }
    Some(sums)
}

/// What a sum over the recording on one rank is of the mean step of that rank, in nanoseconds; the sum where the whole
/// recording is shown.
fn of_rank(scale: &ViewScale<'_>, sum: Ns) -> f64 {
    // The scale's mean is that over steps and ranks.
    let n = if scale.period() == Period::Run { 1.0 } else { f64::from(scale.ledger().ranks) };
    n * scale.mean(sum.as_f64())
}

/// A line that takes longer on one rank than on the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Uneven {
    rank: u32,
    /// Nanoseconds there.
    pub(crate) time: f64,
    /// The mean of the other ranks.
    others: f64,
}

impl Uneven {
    /// `None` where the ranks are alike, or the time is not notable on any of them.
    pub(crate) fn of<'a>(
        scale: &ViewScale<'_>,
        lines: impl IntoIterator<Item = &'a LineBooks>,
        side: Side,
    ) -> Option<Self> {
        let spread = Spread::of(&sums_by_rank(scale, lines, side)?)?;
        let (time, others) = (of_rank(scale, spread.max), of_rank(scale, spread.others));
        let quantity = match side {
            Side::Host => Quantity::CpuOwn,
            Side::Device => Quantity::CudaOwn,
        };
        let is_notable = spread.is_uneven() && scale.is_notable(quantity, time);
        is_notable.then_some(Self { rank: spread.worst, time, others })
    }

    /// `29 ms · r1 only`, `68 ms gpu · r1, others 9 ms`; `unit` is what stands behind the time.
    pub(crate) fn text(&self, unit: &str) -> String {
        let Self { rank, time, others } = *self;
        match others < MIN_OTHERS * time {
            true => format!("{}{unit} · r{rank} only", duration(time)),
            false => format!("{}{unit} · r{rank}, others {}", duration(time), duration(others)),
        }
    }
}

/// The line's own time on each rank, with a bar; of many ranks, those with most.
pub(crate) fn ranks(scale: &ViewScale<'_>, books: &LineBooks) -> Option<LineSection> {
    let of_side = |side| {
        let sums = sums_by_rank(scale, [books], side)?;
        let times = sums.into_iter().map(|(rank, sum)| (rank, of_rank(scale, sum)));
        Some(times.collect::<BTreeMap<u32, f64>>())
    };
    let (host, device) = (of_side(Side::Host)?, of_side(Side::Device)?);
    let has_device = device.values().any(|&it| 0.0 < it);
    let time = |rank: u32| [&host, &device].map(|it| it.get(&rank).copied().unwrap_or(0.0));
    let mut times: Vec<(u32, [f64; 2])> = host.keys().map(|&rank| (rank, time(rank))).collect();
    // What decides on the length of the bar, and on the order where not all ranks are shown.
    let size = |[host, device]: [f64; 2]| if has_device { device } else { host };
    let largest = times.iter().map(|it| size(it.1)).fold(0.0, f64::max);
    if largest == 0.0 {
        return None;
    }
    let n_more = times.len().saturating_sub(MAX_ROWS);
    if 0 < n_more {
        times.sort_by(|a, b| size(b.1).total_cmp(&size(a.1)));
    }
    let cell =
        |time: f64| RichText::words(if time == 0.0 { String::new() } else { duration(time) });
    let row = |name: String, [host, device]: [f64; 2]| {
        let length = (BAR_LENGTH as f64 * size([host, device]) / largest).round() as usize;
        // All are as long, because columns of numbers are aligned at their ends.
        let bar = "█".repeat(length) + &"░".repeat(BAR_LENGTH.saturating_sub(length));
        let mut cells = vec![RichText::words(name), cell(host)];
        if has_device {
            cells.push(cell(device));
        }
        cells.push(RichText::words(bar));
        cells
    };
    let shown = times.iter().take(MAX_ROWS);
    let mut rows: Vec<_> = shown.map(|&(rank, times)| row(rank.to_string(), times)).collect();
    if let Some(&(_, median)) = times.get(times.len() / 2).filter(|_| 0 < n_more) {
        rows.push(row(format!("median of {}", times.len()), median));
    }
    let head: &[&str] = if has_device {
        &["rank", "thread time", "CUDA", ""]
    } else {
        &["rank", "thread time", ""]
    };
    table(head, rows)
}

#[cfg(test)]
mod tests {
    use ledger::{Ledger, RankShare, ThreadKey};

    use super::*;
    use crate::testing::{FILE, ledger};
    use crate::view::View;

    /// Two steps of 100 ms on each of `times`, which are the milliseconds that line 1 takes there in both.
    fn run(times: &[i64]) -> (Ledger, LineBooks) {
        let mut ledger = ledger("step 1 100ms\nstep 2 100ms\n1 fn=step cpu=1ms\n");
        ledger.ranks = times.len() as u32;
        let key = ledger::LineKey { file: FILE.to_owned(), line: 1 };
        let mut books = LineBooks::clone(&ledger.lines[&key]);
        for (rank, &time) in (0..).zip(times) {
            let thread = ThreadKey { rank, thread: "1".to_owned() };
            ledger.threads.insert(thread, Ns(200_000_000));
            if time != 0 {
                books.by_rank.add(&RankShare::of_thread(rank, Ns(1_000_000 * time)));
            }
        }
        (ledger, books)
    }

    fn hint(times: &[i64]) -> Option<String> {
        let (ledger, books) = run(times);
        let scale = ViewScale::new(&ledger, &View::default());
        Uneven::of(&scale, [&books], Side::Host).map(|it| it.text(""))
    }

    #[test]
    fn the_rank_that_takes_longer_is_named_with_its_time_per_step() {
        assert_eq!(hint(&[0, 58]).as_deref(), Some("29 ms · r1 only"));
        assert_eq!(hint(&[16, 20, 136]).as_deref(), Some("68 ms · r2, others 9 ms"));
        assert_eq!(hint(&[58, 0, 0, 0]).as_deref(), Some("29 ms · r0 only"));
        assert_eq!(hint(&[60, 58]), None, "alike");
        assert_eq!(hint(&[58]), None, "one rank");
        assert_eq!(hint(&[0, 0]), None);
    }

    #[test]
    fn a_single_step_says_nothing_of_ranks() {
        let (ledger, books) = run(&[0, 58]);
        let view = View { period: Period::Step(1), ..View::default() };
        assert_eq!(Uneven::of(&ViewScale::new(&ledger, &view), [&books], Side::Host), None);
    }

    fn shown(times: &[i64], on_device: bool) -> Vec<String> {
        let (ledger, mut books) = run(times);
        if on_device {
            for rank in 0..times.len() as u32 {
                let device = Ns(20_000_000);
                books.by_rank.add(&RankShare { rank, device, ..RankShare::default() });
            }
        }
        let section = ranks(&ViewScale::new(&ledger, &View::default()), &books);
        let text = crate::sections::as_plain_text(section.as_slice());
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_rank_has_a_bar() {
        assert_eq!(
            shown(&[0, 60, 20], false),
            [
                "rank  thread time",
                "0                  ░░░░░░░░░░░░",
                "1           30 ms  ████████████",
                "2           10 ms  ████░░░░░░░░",
            ]
        );
        assert_eq!(
            shown(&[0, 60], true),
            [
                "rank  thread time   CUDA",
                "0                  10 ms  ████████████",
                "1           30 ms  10 ms  ████████████",
            ]
        );
        assert!(shown(&[60], false).is_empty());
    }

    #[test]
    fn of_many_ranks_those_with_most_are_shown_and_the_median() {
        let times: Vec<i64> = (0..100).collect();
        let shown = shown(&times, false);
        assert_eq!(shown.len(), 1 + MAX_ROWS + 1);
        assert!(shown[1].starts_with("99 ") && shown[1].contains("49.5 ms"), "{shown:#?}");
        assert!(shown[9].starts_with("median of 100      24.5 ms"), "{shown:#?}");
    }
}
