//! The lines that cost most.

use std::collections::BTreeMap;

use ledger::{Evidence, Ledger, LineBooks, LineKey, Metric, Ns};
use metrics::{Period, Quantity};

use crate::baseline::BaselineDifference;
use crate::heat;
use crate::lenses::with_line;
use crate::place::{Placed, PlacedSource, lines_of};
use crate::scale::ViewScale;
use crate::view::View;

/// A line that costs much.
#[derive(Debug, Clone, PartialEq)]
pub struct HotLine {
    /// Key of [`Ledger::files`].
    pub file: String,
    /// 1-based line in the text that ran.
    pub line: u32,
    /// The function that it is in.
    pub function: String,
    /// How it is known.
    pub evidence: Evidence,
    /// Nanoseconds or bytes, by the metric of the view.
    pub value: f64,
    /// `value` as text.
    pub text: String,
    /// The share (of 1) of the step, the recording, or the bytes.
    pub share: f64,
    /// From 0 to 1, perceptually even, by `share`.
    pub heat: f64,
    /// By how much `value` differs from the baseline, where there is one that has the line.
    pub difference: Option<BaselineDifference>,
}

/// The lines with most of the metric of `view`, at most `limit`. `wanted` takes a file's key and a recorded line; with
/// `own_only`, only lines of your code are wanted, unless no file is yours.
#[must_use]
pub fn hot_lines(
    ledger: &Ledger,
    view: &View,
    limit: usize,
    own_only: bool,
    wanted: impl Fn(&str, u32) -> bool,
) -> Vec<HotLine> {
    let scale = ViewScale::new(ledger, view);
    let quantity = scale.primary();
    let mut lines: Vec<(&LineKey, &LineBooks, f64)> = lines_to_list(ledger, own_only)
        .filter(|(key, _)| wanted(&key.file, key.line))
        .filter_map(|(key, books)| {
            let value = scale.value(quantity, books).filter(|&value| 0.0 < value)?;
            Some((key, books, value))
        })
        .collect();
    lines.sort_by(|a, b| b.2.total_cmp(&a.2).then_with(|| a.0.cmp(b.0)));
    let lines = lines.into_iter().take(limit).map(|(key, books, value)| {
        let share = scale.share(quantity, value);
        HotLine {
            file: key.file.clone(),
            line: key.line,
            function: books.function.clone(),
            evidence: books.evidence,
            value,
            text: quantity.text(value),
            share,
            heat: heat::of_share(share),
            difference: scale.difference(key, quantity, value),
        }
    });
    lines.collect()
}

/// The lines of your code, or with libraries; all of them where no file is yours.
fn lines_to_list(ledger: &Ledger, own_only: bool) -> impl Iterator<Item = (&LineKey, &LineBooks)> {
    let own_only = own_only && has_own(ledger);
    // Most lines are of libraries.
    let files = ledger.files.iter().filter(move |(_, file)| own_only && file.is_user_code);
    let own = files.flat_map(|(file, _)| lines_of(ledger, file));
    own.chain(ledger.lines_with_books().filter(move |_| !own_only))
}

fn has_own(ledger: &Ledger) -> bool {
    ledger.files.values().any(|it| it.is_user_code)
}

/// What the metric of a view has on no line that [`hot_lines`] may list.
#[derive(Debug, Clone, PartialEq)]
pub struct HotRest {
    /// Whether lines of libraries are a part of it; else it is on no line at all.
    pub holds_libraries: bool,
    /// Nanoseconds or bytes, by the metric of the view.
    pub value: f64,
    /// `value` as text.
    pub text: String,
    /// The share (of 1) of the step, the recording, or the bytes.
    pub share: f64,
}

/// What the lines of [`hot_lines`] leave of the metric, whatever their number: with `own_only` that of libraries, and what has no
/// line. `None` where it is nothing, and where the whole of the metric is not known: of one step, of a part of the recording, of
/// backward time and of bytes at the peak. Totals of lines hold each other and leave nothing.
#[must_use]
pub fn hot_rest(ledger: &Ledger, view: &View, own_only: bool) -> Option<HotRest> {
    let scale = ViewScale::new(ledger, view);
    let quantity = scale.primary();
    if scale.overlaps() || view.part.is_some() {
        return None;
    }
    let lines = lines_to_list(ledger, own_only).filter_map(|(_, it)| scale.value(quantity, it));
    let value = all_of(&scale, quantity)? - lines.sum::<f64>();
    // Sums of means are rounded.
    (1.0 <= value).then(|| HotRest {
        holds_libraries: own_only && has_own(ledger),
        value,
        text: quantity.text(value),
        share: scale.share(quantity, value),
    })
}

/// What the recording has of a quantity that is charged once, in the period that is shown.
fn all_of(scale: &ViewScale<'_>, quantity: Quantity) -> Option<f64> {
    if matches!(scale.period(), Period::Step(_)) {
        return None;
    }
    let ledger = scale.ledger();
    // Idle threads wait all the time, and nobody for them.
    let waiting = || match scale.period() {
        Period::Run => {
            let idle: Ns = ledger.idle_threads.values().map(|it| it.time).sum();
            (ledger.totals.waiting - idle).as_f64()
        }
        _ => scale.total(Metric::Waiting),
    };
    // What the ledger does not keep by step is a mean of the whole.
    let of_run = |metric| scale.mean(ledger.totals.get(metric) as f64);
    match quantity {
        Quantity::CpuBusy => Some(scale.total(Metric::Cpu) - waiting()),
        Quantity::CudaOwn => Some(scale.total(Metric::Cuda)),
        Quantity::AllWaits => Some(scale.total(Metric::Sync) + waiting()),
        Quantity::Idle => Some(scale.total(Metric::GpuIdle)),
        Quantity::Comm => Some(of_run(Metric::Comm)),
        Quantity::Alloc => Some(of_run(Metric::Alloc)),
        _ => None,
    }
}

/// What [`hot_lines`] sorts the lines of a recording by.
#[must_use]
pub fn hot_quantity(ledger: &Ledger, view: &View) -> Quantity {
    ViewScale::new(ledger, view).primary()
}

/// What the lines of a file, or of a function in it, cost together.
#[derive(Debug, Clone, PartialEq)]
pub struct HotSum {
    /// Key of [`Ledger::files`].
    pub file: String,
    /// The function; `None` for the whole file.
    pub function: Option<String>,
    /// How many of the lines.
    pub lines: usize,
    /// Nanoseconds or bytes, by the metric of the view.
    pub value: f64,
    /// `value` as text.
    pub text: String,
    /// The share (of 1) of the step, the recording, or the bytes.
    pub share: f64,
}

/// What `lines` of [`hot_lines`] cost by file and by function, the largest first. Own amounts are added up. In total, a function
/// costs what its lines cost together, as a lens above it says, and a file what its function with most costs: functions of a
/// file call each other, and no instant is to count twice.
#[must_use]
pub fn hot_sums(ledger: &Ledger, view: &View, lines: &[HotLine]) -> Vec<HotSum> {
    let scale = ViewScale::new(ledger, view);
    let mut sums: BTreeMap<(&str, Option<&str>), (usize, f64)> = BTreeMap::new();
    let quantity = scale.primary();
    for line in lines {
        for function in [None, Some(line.function.as_str())] {
            let (count, value) = sums.entry((&line.file, function)).or_default();
            *count += 1;
            *value += line.value;
        }
    }
    if scale.overlaps() {
        let mut files: BTreeMap<&str, f64> = BTreeMap::new();
        for (&(file, function), (_, value)) in &mut sums {
            if let Some(function) = function {
                *value = inclusive(ledger, &scale, file, function);
                let of_file = files.entry(file).or_default();
                *of_file = of_file.max(*value);
            }
        }
        for (&(file, function), (_, value)) in &mut sums {
            if function.is_none() {
                *value = files.get(file).copied().unwrap_or_default();
            }
        }
    }
    let sum = |((file, function), (lines, value)): ((&str, Option<&str>), (usize, f64))| HotSum {
        file: file.to_owned(),
        function: function.map(str::to_owned),
        lines,
        value,
        text: quantity.text(value),
        share: scale.share(quantity, value),
    };
    let mut sums: Vec<HotSum> = sums.into_iter().map(sum).collect();
    sums.sort_by(|a, b| b.value.total_cmp(&a.value));
    sums
}

/// What the lines of a function cost together, in total.
fn inclusive(ledger: &Ledger, scale: &ViewScale<'_>, file: &str, function: &str) -> f64 {
    let lines: BTreeMap<&LineKey, &LineBooks> =
        lines_of(ledger, file).filter(|(_, books)| books.function == function).collect();
    let calls_itself =
        lines.values().flat_map(|it| it.callers.keys()).any(|it| lines.contains_key(it));
    let values = lines.values().filter_map(|it| scale.value(scale.primary(), it));
    values.fold(0.0, |sum, value| with_line(sum, value, calls_itself))
}

/// A recorded line that is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurrentLine {
    /// 1-based line in the text as it is now.
    pub line: u32,
    /// 1-based line in the text that ran.
    pub recorded: u32,
    /// Whether it was changed since.
    pub is_stale: bool,
}

impl PlacedSource<'_> {
    /// All lines that something was recorded of, as far as they are still there, in line order.
    #[must_use]
    pub fn lines(&self) -> Vec<CurrentLine> {
        let line = |placed: &Placed<'_>| CurrentLine {
            line: placed.line,
            recorded: placed.recorded,
            is_stale: placed.is_stale,
        };
        self.placed().iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TRAIN_BOOKS, ledger};
    use crate::view::{Charge, ViewMetric};

    #[test]
    fn the_costliest_come_first() {
        let ledger = ledger(TRAIN_BOOKS);
        let hot = |view: &View, limit| -> Vec<String> {
            let lines = hot_lines(&ledger, view, limit, true, |_, line| line != 12);
            lines.iter().map(|it| format!("{} {} {:.3}", it.line, it.text, it.share)).collect()
        };
        let view = View::default();
        assert_eq!(hot(&view, 3), ["11 11 ms 0.268", "4 6.3 ms 0.154", "6 1.5 ms 0.037"]);
        let wait = View { metric: Some(ViewMetric::Wait), ..view.clone() };
        assert_eq!(hot(&wait, 9), ["5 4.8 ms 0.117"]);
        let total = View { metric: Some(ViewMetric::Cpu), charge: Charge::Total, ..view };
        assert_eq!(hot(&total, 2), ["11 12 ms 0.293", "10 8 ms 0.195"]);
    }

    #[test]
    fn sums_of_files_and_functions() {
        let ledger = ledger(TRAIN_BOOKS);
        let sums = |view: &View| -> Vec<String> {
            let lines = hot_lines(&ledger, view, 9, true, |_, _| true);
            let sums = hot_sums(&ledger, view, &lines);
            let text = |it: &HotSum| {
                let function = it.function.as_deref().unwrap_or("-");
                format!("{function} {} {} {:.3}", it.lines, it.text, it.share)
            };
            sums.iter().map(text).collect()
        };
        let wait = View { metric: Some(ViewMetric::Wait), ..View::default() };
        assert_eq!(sums(&wait), ["- 1 4.8 ms 0.117", "SlowModel.forward 1 4.8 ms 0.117"]);
        let kernels = View { metric: Some(ViewMetric::Backward), ..View::default() };
        let total = View { charge: Charge::Total, ..kernels.clone() };
        assert_eq!(sums(&total), sums(&kernels), "backward time has no total");
        let total =
            View { metric: Some(ViewMetric::Cpu), charge: Charge::Total, ..View::default() };
        // What the lens above `step` says, whichever of its lines are listed.
        assert_eq!(sums(&total)[..2], ["- 6 30 ms 0.732", "step 3 30 ms 0.732"]);
        let lines = hot_lines(&ledger, &total, 1, true, |_, _| true);
        assert_eq!(hot_sums(&ledger, &total, &lines)[1].text, "30 ms");
        let ledger = crate::testing::ledger(
            "step 1 10ms\n1 fn=f cpu_total=4ms caller=2:3ms\n2 fn=f cpu_total=3ms\n",
        );
        let lines = hot_lines(&ledger, &total, 9, true, |_, _| true);
        assert_eq!(hot_sums(&ledger, &total, &lines)[0].text, "4 ms", "it calls itself");
    }

    #[test]
    fn what_is_left_is_of_libraries_or_of_no_line() {
        let mut ledger = ledger("step 1 10ms\nstep 2 10ms\n1 cuda=1ms cpu=2ms waiting=1ms\n");
        let library = ledger.lines.values().next().unwrap().clone();
        ledger.files.insert("torch/relu.py".to_owned(), ledger::SourceFile::default());
        ledger.lines.insert(LineKey { file: "torch/relu.py".to_owned(), line: 9 }, library);
        // Twice what is on the two lines.
        ledger.totals.cuda = Ns(8_000_000);
        ledger.totals.cpu = Ns(16_000_000);
        ledger.totals.waiting = Ns(4_000_000);
        ledger.in_steps = ledger.totals;
        let idle = ledger::IdleThread { time: Ns(9_000_000), threads: 1 };
        let thread = ledger::ThreadKey { rank: 0, thread: "pin".to_owned() };
        ledger.idle_threads.insert(thread, idle);
        ledger.totals.waiting += idle.time;
        let rest = |view: &View, own_only| {
            let rest = hot_rest(&ledger, view, own_only);
            rest.map(|it| format!("{} {:.2} {}", it.text, it.share, it.holds_libraries))
        };
        let of = |metric| View { metric: Some(metric), ..View::default() };
        assert_eq!(rest(&View::default(), true), Some("3 ms 0.30 true".to_owned()));
        assert_eq!(rest(&View::default(), false), Some("2 ms 0.20 false".to_owned()));
        assert_eq!(rest(&of(ViewMetric::Cpu), true), Some("5 ms 0.50 true".to_owned()));
        assert_eq!(rest(&of(ViewMetric::Wait), true), Some("1 ms 0.10 true".to_owned()));
        assert_eq!(rest(&of(ViewMetric::Wait), false), None, "all of it is on lines");
        let run = View { period: Period::Run, ..of(ViewMetric::Cpu) };
        assert_eq!(
            rest(&run, false).unwrap().split(" 0").next(),
            Some("8 ms"),
            "without idle threads"
        );
        let total = View { charge: Charge::Total, ..View::default() };
        let step = View { period: Period::Step(1), ..View::default() };
        for view in [total, step, of(ViewMetric::Backward), of(ViewMetric::Memory)] {
            assert_eq!(rest(&view, true), None, "{view:?}");
        }
    }

    #[test]
    fn libraries_only_if_they_are_asked_for() {
        let mut ledger = ledger("step 1 10ms\n1 cuda=1ms\n");
        let books = ledger.lines.values().next().unwrap().clone();
        let key = LineKey { file: "torch/relu.py".to_owned(), line: 9 };
        ledger.files.insert(key.file.clone(), ledger::SourceFile::default());
        ledger.lines.insert(key, books);
        let files = |ledger: &Ledger, own_only| -> Vec<String> {
            let lines = hot_lines(ledger, &View::default(), 9, own_only, |_, _| true);
            lines.into_iter().map(|it| it.file).collect()
        };
        assert_eq!(files(&ledger, true), ["train.py"]);
        assert_eq!(files(&ledger, false), ["torch/relu.py", "train.py"]);
        ledger.files.values_mut().for_each(|file| file.is_user_code = false);
        assert_eq!(files(&ledger, true).len(), 2, "no file is yours");
    }
}
