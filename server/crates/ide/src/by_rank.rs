//! What a line costs each rank of a run of several: a mean over the ranks is true of none where one of them is late.

use std::collections::BTreeSet;

use ledger::{LineBooks, Ns, TimesByRank};
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

/// The own time of lines by rank, added up over `lines`, over the recording, and the ranks that there are. `None` where one rank
/// was recorded, and of a single step, of which ranks are not kept apart.
fn sums_by_rank<'a>(
    scale: &ViewScale<'_>,
    lines: impl IntoIterator<Item = &'a LineBooks>,
    side: Side,
) -> Option<(BTreeSet<u32>, TimesByRank)> {
    let ledger = scale.ledger();
    if ledger.ranks < 2 || matches!(scale.period(), Period::Step(_)) {
        return None;
    }
    let ranks = ranks_of(ledger);
    let times = lines.into_iter().map(|books| times_by_rank(books, side));
    let add = |one: TimesByRank, other: TimesByRank| {
        let on = |rank: u32| one.on(rank, ranks.len()).saturating_add(other.on(rank, ranks.len()));
        let by_rank = ranks.iter().map(|&rank| (rank, on(rank))).collect();
        TimesByRank { by_rank, ..TimesByRank::default() }
    };
    let sums = times.reduce(add).unwrap_or_default();
    Some((ranks, sums))
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
        let (ranks, sums) = sums_by_rank(scale, lines, side)?;
        let spread = Spread::of(&ranks, &sums)?;
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

/// The line's own time on each rank, with a bar; of many ranks, those with most of those that are kept apart.
pub(crate) fn ranks(scale: &ViewScale<'_>, books: &LineBooks) -> Option<LineSection> {
    let (ranks, host) = sums_by_rank(scale, [books], Side::Host)?;
    let (_, device) = sums_by_rank(scale, [books], Side::Device)?;
    let sides = [&host, &device];
    let has_device = !device.by_rank.is_empty();
    let are_kept_apart = sides.iter().all(|it| it.others.is_empty());
    let kept: BTreeSet<u32> = sides.iter().flat_map(|it| it.by_rank.keys().copied()).collect();
    let time = |rank: u32| sides.map(|it| of_rank(scale, it.on(rank, ranks.len())));
    let named = if are_kept_apart { &ranks } else { &kept };
    let mut times: Vec<(u32, [f64; 2])> = named.iter().map(|&rank| (rank, time(rank))).collect();
    // What decides on the length of the bar, and on the order where not all ranks are shown.
    let size = |[host, device]: [f64; 2]| if has_device { device } else { host };
    let largest = times.iter().map(|it| size(it.1)).fold(0.0, f64::max);
    if largest == 0.0 {
        return None;
    }
    let n_more = ranks.len().saturating_sub(MAX_ROWS.min(times.len()));
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
    if 0 < n_more {
        let median = |times| Spread::of(&ranks, times).map_or(Ns::ZERO, |it| it.median);
        let median = sides.map(|it| of_rank(scale, median(it)));
        rows.push(row(format!("median of {}", ranks.len()), median));
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
    use ledger::{Ledger, RankShare, RankShares, ThreadKey};

    use super::*;
    use crate::testing::{FILE, ledger};
    use crate::view::View;

    /// Two steps of 100 ms on each of `times`, which are the milliseconds that line 1 takes there in both.
    fn run(times: &[i64]) -> (Ledger, LineBooks) {
        let mut ledger = ledger("step 1 100ms\nstep 2 100ms\n1 fn=step cpu=1ms\n");
        ledger.ranks = times.len() as u32;
        let key = ledger::LineKey { file: FILE.to_owned(), line: 1 };
        let mut books = LineBooks::clone(&ledger.lines[&key]);
        for rank in 0..ledger.ranks {
            let thread = ThreadKey { rank, thread: "1".to_owned() };
            ledger.threads.insert(thread, Ns(200_000_000));
        }
        let with_some = (0..).zip(times).filter(|(_, time)| **time != 0);
        let share = |(rank, time)| RankShare::of_thread(rank, Ns(1_000_000 * time));
        books.by_rank = with_some.map(share).collect();
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
            let device = Ns(20_000_000);
            let on_rank = |rank| RankShare { rank, device, ..RankShare::default() };
            let by_rank = (0..times.len() as u32).map(on_rank).collect();
            books.merge(&LineBooks { by_rank, ..LineBooks::default() });
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
        assert!(shown[9].starts_with("median of 100      24.8 ms"), "{shown:#?}");
    }

    #[test]
    fn ranks_that_are_not_kept_apart_are_in_the_median_alone() {
        let (ledger, mut books) = run(&[0; 100]);
        let of_rank = |rank: u32| {
            // On ranks 40 and 41 it takes more than a thousandth of 200 ms.
            let time = if matches!(rank, 40 | 41) { 20_000_000 } else { 100_000 };
            let share = RankShare::of_thread(rank, Ns(time));
            RankShares::of_rank(&share, Ns(200_000_000))
        };
        for rank in 0..100 {
            books.merge(&LineBooks { by_rank: of_rank(rank), ..LineBooks::default() });
        }
        let section = ranks(&ViewScale::new(&ledger, &View::default()), &books);
        let text = crate::sections::as_plain_text(section.as_slice());
        let shown: Vec<&str> = text.lines().collect();
        assert_eq!(
            shown,
            [
                "rank           thread time",
                "40                   10 ms  ████████████",
                "41                   10 ms  ████████████",
                "0                    50 µs  ░░░░░░░░░░░░",
                "median of 100        50 µs  ░░░░░░░░░░░░",
            ]
        );
    }
}
