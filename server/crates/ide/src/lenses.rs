//! What functions and loops cost, above them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use ledger::{LineKey, LoopBooks};
use metrics::numbers::{bytes, count, duration, percent};
use metrics::{Period, Quantity};
use pysource::LoopKind;
use ranks::Side;

use crate::by_rank::Uneven;
use crate::diagnostics::current_line;
use crate::place::{Placed, PlacedSource, among, is_def, last_name};
use crate::scale::ViewScale;
use crate::triton::TritonKernel;
use crate::view::{View, ViewMetric};

/// A line of text above a function or loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lens {
    /// 1-based line that it stands above: the `def`, `for` or `while`.
    pub line: u32,
    /// What it says.
    pub title: String,
    /// First and last line of what it is about.
    pub lines: RangeInclusive<u32>,
}

/// The lenses of a file in line order: on functions and loops that are above the threshold.
#[must_use]
pub fn lenses(source: &PlacedSource<'_>, view: &View) -> Vec<Lens> {
    // Totals are not kept by step.
    let is_of_one_step = matches!(view.period, Period::Step(_));
    let mean =
        View { period: if is_of_one_step { Period::Mean } else { view.period }, ..view.clone() };
    let scale = ViewScale::new(source.ledger, &mean);
    let of = if is_of_one_step { "of the mean step" } else { scale.whole_name() };
    let placed = source.placed();
    let mut lenses = Vec::new();
    for function in source.module.functions().iter().filter(|it| is_def(it)) {
        let lines = function.first_line..=function.last_line;
        let totals = Totals::of(&scale, source, &placed, &lines, &function.name);
        if let Some(costs) = totals.text(&scale, view.threshold, of) {
            let title = format!("{}{}: {costs}", totals.mark(), function.name);
            lenses.push(Lens { line: function.def_line, title, lines });
        } else if let Some(text) = TritonKernel::of(source, function)
            .and_then(|it| kernel_text(&scale, &it, view.threshold, of))
        {
            let title = format!("{}: {text}", function.name);
            lenses.push(Lens { line: function.def_line, title, lines });
        }
    }
    let loops = loops_by_line(source);
    for it in source.module.loops().iter().filter(|it| it.kind != LoopKind::Comprehension) {
        let Some(function) = source.module.functions().get(it.function) else { continue };
        let lines = it.header_line..=it.last_line;
        let mut totals = Totals::of(&scale, source, &placed, &lines, &function.name);
        let passes = loops.get(&it.header_line).and_then(|books| passes(&scale, books));
        if passes.is_some() {
            // The kernels of a pass are reported, which are those of its calls too.
            totals.kernels = 0.0;
        }
        if let Some(costs) = totals.text(&scale, view.threshold, of) {
            lenses.push(Lens {
                line: it.header_line,
                title: format!("{}loop: {}{costs}", totals.mark(), passes.unwrap_or_default()),
                lines,
            });
        }
    }
    lenses.sort_by_key(|lens| lens.line);
    lenses
}

/// What the runs of a kernel take on the device; `None` where that is below the threshold.
fn kernel_text(
    scale: &ViewScale<'_>,
    kernel: &TritonKernel,
    threshold: f64,
    of: &str,
) -> Option<String> {
    let total = kernel.total().as_f64();
    let (time, calls) = (scale.mean(total), scale.mean(kernel.calls() as f64));
    let share = scale.share(Quantity::CudaOwn, time);
    let is_shown = scale.metric != ViewMetric::Memory && threshold <= share;
    is_shown.then(|| {
        let mean = duration(total / kernel.calls().max(1) as f64);
        let (share, time) = (percent(share), duration(time));
        format!(
            "Triton kernel · {share} {of} · {time} gpu · {} × {mean}{}",
            count(calls),
            extent(scale)
        )
    })
}

/// The loops that ran, by the line where they are now.
fn loops_by_line<'a>(source: &PlacedSource<'a>) -> BTreeMap<u32, &'a LoopBooks> {
    let first = LineKey { file: source.key.to_owned(), line: 0 };
    let here = source.ledger.loops.range(first..).take_while(|(at, _)| at.file == source.key);
    here.filter_map(|(at, books)| Some((current_line(source, at)?, books))).collect()
}

/// How often a loop ran in the mean step (or the recording), how long a pass took, and the kernels of one.
fn passes(scale: &ViewScale<'_>, books: &LoopBooks) -> Option<String> {
    let of_one = |sum: f64| sum / books.iterations as f64;
    let passes = scale.mean(books.iterations as f64);
    // Once is no loop, and half a pass in a step is a loop around the steps.
    (1.5 <= passes).then(|| {
        let mut text = format!("{} × {} · ", count(passes), duration(of_one(books.time.as_f64())));
        if 0 < books.kernels {
            text += &format!("{} kernels each · ", count(of_one(books.kernels as f64)));
        }
        text
    })
}

/// What lines of a function cost in total, with one more of them: of a function that calls itself, whose lines are on the stack
/// together, what the line with most does.
pub(crate) fn with_line(sum: f64, line: f64, is_recursive: bool) -> f64 {
    if is_recursive { sum.max(line) } else { sum + line }
}

/// What the lines of a function, or of a part of it, cost together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    /// Thread time, all threads together.
    pub(crate) cpu: f64,
    /// Of this, that of the threads that run the steps: never more than the step.
    pub(crate) elapsed: f64,
    pub(crate) cuda: f64,
    pub(crate) wait: f64,
    pub(crate) memory: f64,
    pub(crate) kernels: f64,
    /// Whether a function calls itself, so that its lines are on the stack together and no sum is right: the times are
    /// then those of the line with most, which is less than the whole.
    pub(crate) is_recursive: bool,
    is_stale: bool,
    /// The rank on which the lines together take longer than on the others: device time, else thread time.
    uneven: Option<(Uneven, Side)>,
}

impl Totals {
    /// Of the lines among `lines` that belong to the function `name`: without those of functions inside of it.
    ///
    /// At any instant a function that does not call itself stands in a stack with one of its lines, so the totals of
    /// its lines add up.
    pub(crate) fn of(
        scale: &ViewScale<'_>,
        source: &PlacedSource<'_>,
        placed: &[Placed<'_>],
        lines: &RangeInclusive<u32>,
        name: &str,
    ) -> Self {
        let is_in = |it: &&Placed<'_>| last_name(&it.books.function) == name;
        let mut inside: Vec<&Placed<'_>> = among(placed, lines).iter().filter(is_in).collect();
        // Lines that were taken away since cost what they cost: the sum is that of the function as it ran.
        let recorded = inside.iter().map(|it| it.recorded);
        let deleted = match (recorded.clone().min(), recorded.max()) {
            (Some(first), Some(last)) => source.deleted(&(first..=last)),
            _ => Vec::new(),
        };
        inside.extend(deleted.iter().filter(is_in));
        let calls_itself = |caller: &LineKey| {
            caller.file == source.key && inside.iter().any(|placed| placed.recorded == caller.line)
        };
        let mut totals = Self {
            is_recursive: inside.iter().any(|placed| placed.books.callers.keys().any(calls_itself)),
            ..Self::default()
        };
        totals.uneven = [Side::Device, Side::Host].into_iter().find_map(|side| {
            let lines = inside.iter().map(|it| &*it.books);
            Some((Uneven::of(scale, lines, side)?, side))
        });
        for placed in inside {
            let value = |quantity| scale.value(quantity, &placed.books).unwrap_or(0.0);
            let (cpu, cuda) = (value(Quantity::CpuTotal), value(Quantity::CudaTotal));
            let elapsed = value(Quantity::Elapsed);
            let add = |sum: &mut f64, value| *sum = with_line(*sum, value, totals.is_recursive);
            add(&mut totals.cpu, cpu);
            add(&mut totals.elapsed, elapsed);
            add(&mut totals.cuda, cuda);
            totals.wait += value(Quantity::Wait);
            totals.kernels += value(Quantity::Kernels);
            if scale.metric == ViewMetric::Memory {
                totals.memory += value(scale.primary());
            }
            totals.is_stale |= placed.is_stale;
        }
        totals.is_stale |= source.is_edited(lines);
        totals
    }

    /// Thread time on threads that do not run the steps, and on those that worked for a thread which waited.
    pub(crate) fn elsewhere(&self) -> f64 {
        (self.cpu - self.elapsed).max(0.0)
    }

    fn mark(&self) -> &'static str {
        if self.is_stale { "≈" } else { "" }
    }

    /// The costs; `None` where they are below the threshold.
    fn text(&self, scale: &ViewScale<'_>, threshold: f64, of: &str) -> Option<String> {
        let at_least = if self.is_recursive { "≥ " } else { "" };
        if scale.metric == ViewMetric::Memory {
            let share = scale.share(scale.primary(), self.memory);
            let text = format!("{} {of} · {}{}", percent(share), bytes(self.memory), extent(scale));
            return (0.0 < self.memory && threshold <= share).then_some(text);
        }
        let share = scale.share(Quantity::Elapsed, self.elapsed);
        let elsewhere = scale.share(Quantity::CpuTotal, self.elsewhere());
        let largest = share.max(elsewhere).max(scale.share(Quantity::CudaTotal, self.cuda));
        if largest <= 0.0 || largest < threshold {
            return None;
        }
        let mut parts = Vec::new();
        if scale.part.is_some() {
            // Of a part it is not known on which threads it was.
            parts.push(format!("{at_least}{} cpu", duration(self.cpu)));
        } else if 0.0 < share || elsewhere <= 0.0 {
            // Beside device time the share would be taken for one of that.
            let time = format!(" ({})", duration(self.elapsed));
            let time = if 0.0 < self.cuda { time.as_str() } else { "" };
            parts.push(format!("{at_least}{} {of}{time}", percent(share)));
        }
        if scale.part.is_none() && 0.0 < elsewhere && threshold <= elsewhere {
            parts.push(format!("{at_least}{} on other threads", duration(self.elsewhere())));
        }
        let mut text = parts.join(" · ");
        if 0.0 < self.cuda {
            text += &format!(" · {at_least}{} gpu", duration(self.cuda));
        }
        if 0.0 < self.kernels {
            text += &format!(" · {} kernels launched here", count(self.kernels));
        }
        if 0.0 < self.wait {
            text += &format!(" · {} wait", duration(self.wait));
        }
        if let Some((uneven, side)) = &self.uneven {
            let unit = if *side == Side::Device { " gpu" } else { "" };
            text += &format!(" · {}", uneven.text(unit));
        }
        Some(text + &extent(scale))
    }
}

/// Which part of the recording the numbers are of, if not of all.
fn extent(scale: &ViewScale<'_>) -> String {
    let part = scale.part.as_ref().map_or(String::new(), |it| format!(" · {}", it.filter));
    let so_far = scale.so_far.as_ref().map_or(String::new(), |it| format!(" · so far: {it}"));
    part + &so_far
}

#[cfg(test)]
mod tests {
    use ledger::Ns;

    use super::*;
    use crate::testing::{Fixture, TRAIN, TRAIN_BOOKS};

    fn titles(fixture: &Fixture, view: &View) -> Vec<String> {
        let lenses = lenses(&fixture.source(), view);
        lenses
            .into_iter()
            .map(|lens| format!("{} {} {:?}", lens.line, lens.title, lens.lines))
            .collect()
    }

    #[test]
    fn an_edited_function_keeps_its_sum_with_a_mark() {
        let ran = "def f():\n    a()\n    b()\n    c()\ndef g():\n    d()\n";
        let books = "step 1 10ms\n2 fn=f cpu=1ms cpu_total=2ms\n3 fn=f cpu_total=3ms\n4 fn=f cpu_total=1ms\n6 fn=g cpu_total=1ms\n";
        let shown = |text: &str| {
            let mut fixture = Fixture::new(text, books);
            fixture.map = Some(pysource::LineMap::between(ran, text));
            titles(&fixture, &View::default())
        };
        let g = "5 g: 10 % of the step 5..=6";
        assert_eq!(shown(ran), ["1 f: 60 % of the step 1..=4", g]);
        assert_eq!(
            shown(&ran.replace("    b()\n", "    b()  # why\n"))[0],
            "1 f: 60 % of the step 1..=4"
        );
        assert_eq!(shown(&ran.replace("    b()\n", ""))[0], "1 ≈f: 60 % of the step 1..=3");
        assert_eq!(
            shown(&ran.replace("    b()\n", "    b()\n    e()\n"))[0],
            "1 ≈f: 60 % of the step 1..=5"
        );
    }

    #[test]
    fn functions_and_loops() {
        let fixture = Fixture::new(TRAIN, TRAIN_BOOKS);
        assert_eq!(
            titles(&fixture, &View::default()),
            [
                "2 forward: 18.3 % of the step (7.5 ms) · 6.3 ms gpu · 40 kernels launched here · 4.8 ms wait 2..=7",
                "3 loop: 18.3 % of the step (7.5 ms) · 6.3 ms gpu · 40 kernels launched here · 4.8 ms wait 3..=6",
                "9 step: 73.2 % of the step (30 ms) · 8.8 ms gpu 9..=12",
            ]
        );
        let of_step = titles(&fixture, &View { period: Period::Step(1), ..View::default() });
        assert!(of_step[0].contains("18.3 % of the mean step"), "{of_step:?}");
        let high = View { threshold: 0.2, ..View::default() };
        assert_eq!(titles(&fixture, &high).len(), 1, "below the threshold nothing is shown");
        let memory = View { metric: Some(ViewMetric::Memory), ..View::default() };
        assert_eq!(
            titles(&fixture, &memory),
            [
                "2 forward: 100 % of the allocated bytes · 32 MiB 2..=7",
                "3 loop: 100 % of the allocated bytes · 32 MiB 3..=6"
            ]
        );
    }

    #[test]
    fn loops_show_their_passes() {
        let mut fixture = Fixture::new(TRAIN, TRAIN_BOOKS);
        let at = LineKey { file: "train.py".to_owned(), line: 3 };
        let books =
            LoopBooks { iterations: 20, time: Ns(15_000_000), kernels: 80, ..LoopBooks::default() };
        fixture.ledger.loops.insert(at.clone(), books);
        assert_eq!(
            titles(&fixture, &View::default())[1],
            "3 loop: 10 × 750 µs · 4 kernels each · 18.3 % of the step (7.5 ms) · 6.3 ms gpu · 4.8 ms wait 3..=6"
        );
        let run = titles(&fixture, &View { period: Period::Run, ..View::default() });
        assert!(run[1].starts_with("3 loop: 20 × 750 µs"), "{run:?}");
        fixture.ledger.loops.insert(at, LoopBooks { iterations: 2, ..LoopBooks::default() });
        let once = titles(&fixture, &View::default());
        assert!(once[1].starts_with("3 loop: 18.3 %"), "once in a step is no loop: {once:?}");
    }

    #[test]
    fn a_function_that_calls_itself_is_not_counted_twice() {
        let fixture = Fixture::new(
            "def f(n):\n    if n:\n        f(n - 1)\n    g()\n",
            "step 1 10ms\n3 fn=f cpu=1ms cpu_total=6ms caller=3:2ms\n4 fn=f cpu_total=5ms\n",
        );
        assert_eq!(titles(&fixture, &View::default()), ["1 f: ≥ 60 % of the step 1..=4"]);
    }

    #[test]
    fn the_rank_that_takes_longer_is_named() {
        let mut fixture = Fixture::new(
            "def f():\n    g()\n    h()\n",
            "step 1 10ms\n2 fn=f cpu=1ms cpu_total=5ms\n3 fn=f cpu=1ms cpu_total=1ms\n",
        );
        fixture.ledger.ranks = 2;
        let thread = |rank| ledger::ThreadKey { rank, thread: "1".to_owned() };
        for rank in 0..2 {
            fixture.ledger.threads.insert(thread(rank), Ns(10_000_000));
        }
        for (books, times) in fixture.ledger.lines.values_mut().zip([[1_i64, 8], [1, 2]]) {
            let share = |(rank, time)| ledger::RankShare::of_thread(rank, Ns(1_000_000 * time));
            books.by_rank = (0..).zip(times).map(share).collect();
        }
        let expected = ["1 f: 30 % of the step · 10 ms · r1, others 2 ms 1..=3"];
        assert_eq!(titles(&fixture, &View::default()), expected);
    }

    #[test]
    fn what_other_threads_do_is_no_share_of_the_step() {
        let fixture = Fixture::new(
            "def f():\n    g()\ndef run():\n    h()\n",
            "step 1 10ms\n2 fn=f cpu=1ms cpu_total=14ms elsewhere=8ms\n4 fn=run cpu_total=9ms elsewhere=9ms\n",
        );
        let expected = [
            "1 f: 60 % of the step · 8 ms on other threads 1..=2",
            "3 run: 9 ms on other threads 3..=4",
        ];
        assert_eq!(titles(&fixture, &View::default()), expected);
    }

    #[test]
    fn inner_functions_are_not_part_of_the_outer_one() {
        let fixture = Fixture::new(
            "def f():\n    def g():\n        h()\n    g()\n",
            "step 1 10ms\n3 fn=f.g cpu=1ms cpu_total=4ms\n4 fn=f cpu_total=5ms\n",
        );
        let expected = ["1 f: 50 % of the step 1..=4", "2 g: 40 % of the step 2..=3"];
        assert_eq!(titles(&fixture, &View::default()), expected);
    }
}
