//! Everything that is known about a line, as data.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ledger::{Bytes, Evidence, KernelClass, KernelKey, Ledger, LineBooks, LineKey, Ns};
use metrics::numbers::{bytes, count, duration};
use metrics::{Period, Quantity, Unit};

use crate::callees::{CalleeGroup, callee_groups};
use crate::generated::generated_times;
use crate::hover::{self, HoverText, RunKnowledge};
use crate::kernel_rows::{NamedKernel, named_kernels, occupancy};
use crate::place::PlacedSource;
use crate::scale::ViewScale;
use crate::view::View;
use ledger::shorten_kernel_name;

/// The numbers of a line that are reported, in this order.
pub const NUMBERS: [Quantity; 24] = [
    Quantity::CpuOwn,
    Quantity::CpuTotal,
    Quantity::CpuSelf,
    Quantity::Waiting,
    Quantity::CudaOwn,
    Quantity::CudaTotal,
    Quantity::CpuBackward,
    Quantity::CudaBackward,
    Quantity::CpuRecompute,
    Quantity::CudaRecompute,
    Quantity::CpuOwnBackward,
    Quantity::CudaOwnBackward,
    Quantity::Wait,
    Quantity::Waits,
    Quantity::Idle,
    Quantity::Comm,
    Quantity::CommExposed,
    Quantity::Kernels,
    Quantity::Calls,
    Quantity::Ops,
    Quantity::Alloc,
    Quantity::Freed,
    Quantity::Peak,
    Quantity::Live,
];

/// Everything that is known about a line. Amounts are of the period of the view: the mean step, one step, the whole
/// recording. What the ledger does not keep by step (tables of kernels, operators, calls) is the mean step then.
#[derive(Debug, Clone, PartialEq)]
pub struct Details {
    /// 1-based line in the text that ran.
    pub recorded: u32,
    /// The function that it is in.
    pub function: String,
    /// How it is known.
    pub evidence: Evidence,
    /// What it was charged with.
    pub tables: BookTables,
    /// All of it, as in the hover.
    pub text: HoverText,
}

/// What a line, or several lines together, was charged with. Amounts are as those of [`Details`].
#[derive(Debug, Clone, PartialEq)]
pub struct BookTables {
    /// What is not zero.
    pub numbers: Vec<LineFigure>,
    /// What was launched, by class, in a class the costliest first.
    pub kernels: Vec<KernelRow>,
    /// Outermost operators, the costliest first.
    pub operators: Vec<OperatorRow>,
    /// Lines that the function was called from, the costliest first.
    pub callers: Vec<LineRow>,
    /// What was called, the costliest first.
    pub callees: Vec<CallRow>,
    /// Lines whose kernels were waited for, the longest first.
    pub waits: Vec<LineRow>,
    /// Lines that replayed the graphs which were captured here, the costliest first.
    pub replays: Vec<ReplayRow>,
    /// Lines of generated files that call what the compiler made of this line, the costliest first.
    pub generated: Vec<LineRow>,
    /// Allocations by memory.
    pub allocations: Vec<AllocationRow>,
    /// The metric of the view by step; empty where it is not kept by step.
    pub steps: Vec<StepRow>,
}

impl BookTables {
    /// The tables of books of a ledger.
    #[must_use]
    pub fn new(ledger: &Ledger, view: &View, books: &LineBooks) -> Self {
        Self::of(&ViewScale::new(ledger, view), books)
    }

    fn of(scale: &ViewScale<'_>, books: &LineBooks) -> Self {
        Self {
            numbers: numbers(scale, books),
            kernels: kernels(scale, books),
            operators: operators(scale, books),
            callers: lines(scale, &books.callers),
            callees: callees(scale, books),
            waits: lines(scale, &books.waits),
            replays: replays(scale, books),
            generated: lines(scale, &generated_times(scale.ledger(), books)),
            allocations: allocations(scale, books),
            steps: steps(scale, books),
        }
    }
}

/// A number of a line.
#[derive(Debug, Clone, PartialEq)]
pub struct LineFigure {
    /// Stable name: `cpu_own`, as in machine-readable output.
    pub name: &'static str,
    /// What to call it.
    pub label: &'static str,
    /// How much, in `unit`.
    pub value: f64,
    /// What it counts.
    pub unit: Unit,
    /// `value` as text.
    pub text: String,
    /// The share (of 1) of the step, the recording or the bytes; `None` for counts.
    pub share: Option<f64>,
}

/// The runs of a kernel, or of a copy or fill.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelRow {
    /// As recorded, with the grid and block that took most time.
    pub key: KernelKey,
    /// How many different grids and blocks it was launched with.
    pub shapes: usize,
    /// What it is for.
    pub class: KernelClass,
    /// A name that can be read.
    pub short_name: String,
    /// How often it ran.
    pub calls: f64,
    /// Device time in nanoseconds.
    pub total: f64,
    /// Of one run, in nanoseconds.
    pub mean: f64,
    /// The shortest run of the recording.
    pub min: Ns,
    /// The longest run of the recording.
    pub max: Ns,
    /// Estimated achieved occupancy (of 1), weighted by duration; `None` where the recording does not say.
    pub occupancy: Option<f64>,
    /// Streams it ran on.
    pub streams: Vec<i64>,
    /// Bytes moved, for copies and fills.
    pub bytes: f64,
    /// All but the name in short.
    pub text: String,
}

/// An outermost operator.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorRow {
    /// As recorded.
    pub name: String,
    /// How often it ran.
    pub calls: f64,
    /// Host time in nanoseconds.
    pub cpu: f64,
    /// Device time in nanoseconds.
    pub cuda: f64,
    /// All but the name in short.
    pub text: String,
}

/// Another line, and what it has to do with this one.
#[derive(Debug, Clone, PartialEq)]
pub struct LineRow {
    /// Which line, as recorded.
    pub place: LineKey,
    /// The function that it is in; empty where nothing was charged to it.
    pub function: String,
    /// How it is known.
    pub evidence: Evidence,
    /// Nanoseconds.
    pub value: f64,
    /// The share (of 1) of the step or the recording.
    pub share: f64,
    /// `value` as text.
    pub text: String,
}

/// A line that replays graphs.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayRow {
    /// Which line, and the device time of what it runs of this line.
    pub line: LineRow,
    /// How often it replays a graph that was captured on this line; 0 of several lines together.
    pub replays: f64,
}

/// Calls of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRow {
    /// What is called, as readers call it.
    pub name: String,
    /// Where that begins, if it is recorded.
    pub place: Option<LineKey>,
    /// How often.
    pub calls: f64,
    /// Thread time in nanoseconds.
    pub value: f64,
    /// The share (of 1) of the step or the recording.
    pub share: f64,
    /// All but the name in short.
    pub text: String,
}

/// Allocations in one memory.
#[derive(Debug, Clone, PartialEq)]
pub struct AllocationRow {
    /// `cpu`, `cuda:0`.
    pub memory: String,
    /// How many.
    pub allocs: f64,
    /// Bytes allocated.
    pub alloc: f64,
    /// Bytes alive at the peak of this memory.
    pub peak: Bytes,
    /// Bytes alive at the end.
    pub live: Bytes,
    /// All but the name in short.
    pub text: String,
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRow {
    /// Its number.
    pub step: u32,
    /// Nanoseconds.
    pub value: f64,
    /// `value` as text.
    pub text: String,
}

/// What is known about `line`, with what is known of the run; `None` where nothing was charged to it.
#[must_use]
pub fn details(
    source: &PlacedSource<'_>,
    view: &View,
    run: RunKnowledge<'_>,
    line: u32,
) -> Option<Details> {
    let scale = ViewScale::new(source.ledger, view);
    let placed = source.at(line)?;
    let books = &*placed.books;
    Some(Details {
        recorded: placed.recorded,
        function: books.function.clone(),
        evidence: books.evidence,
        tables: BookTables::of(&scale, books),
        text: HoverText(hover::of_line(source, &scale, run, &placed)),
    })
}

fn numbers(scale: &ViewScale<'_>, books: &LineBooks) -> Vec<LineFigure> {
    let number = |quantity: Quantity| {
        let value = scale.value(quantity, books).filter(|&value| value != 0.0)?;
        let unit = quantity.unit();
        Some(LineFigure {
            name: quantity.id(),
            label: quantity.label(),
            value,
            unit,
            text: quantity.text(value),
            share: (unit != Unit::Count).then(|| scale.share(quantity, value)),
        })
    };
    NUMBERS.into_iter().filter_map(number).collect()
}

fn kernels(scale: &ViewScale<'_>, books: &LineBooks) -> Vec<KernelRow> {
    let rows = named_kernels(scale, &books.kernel_table).into_iter();
    let row = |NamedKernel { key, shapes, sum }: NamedKernel<'_>| {
        let (calls, total) = (scale.mean(sum.calls as f64), scale.mean(sum.total.as_f64()));
        let mean = sum.total.as_f64() / sum.calls.max(1) as f64;
        let occupancy = occupancy(&sum);
        KernelRow {
            key: key.clone(),
            shapes,
            class: sum.class,
            short_name: shorten_kernel_name(&key.name),
            calls,
            total,
            mean,
            min: sum.min,
            max: sum.max,
            occupancy: (0.0 < occupancy).then_some(occupancy),
            streams: sum.streams.iter().copied().collect(),
            bytes: scale.mean(sum.bytes.as_f64()),
            text: format!("{} · {} × {}", duration(total), count(calls), duration(mean)),
        }
    };
    rows.map(row).collect()
}

fn operators(scale: &ViewScale<'_>, books: &LineBooks) -> Vec<OperatorRow> {
    let mut operators: Vec<_> = books.operators.iter().collect();
    operators.sort_by_key(|(name, it)| (Reverse(hover::operator_time(scale, it)), *name));
    let rows = operators.into_iter().map(|(name, operator)| {
        let [calls, cpu, cuda] =
            [operator.calls as f64, operator.cpu.as_f64(), operator.cuda.as_f64()]
                .map(|it| scale.mean(it));
        let mut text = format!("×{} · {} cpu", count(calls), duration(cpu));
        if 0.0 < cuda {
            text += &format!(" · {} gpu", duration(cuda));
        }
        OperatorRow { name: name.clone(), calls, cpu, cuda, text }
    });
    rows.collect()
}

fn lines(scale: &ViewScale<'_>, times: &BTreeMap<LineKey, Ns>) -> Vec<LineRow> {
    sorted(times.iter().map(|(place, &time)| line(scale, place, time)), |row| row.value)
}

fn line(scale: &ViewScale<'_>, place: &LineKey, time: Ns) -> LineRow {
    let value = scale.mean(time.as_f64());
    let books = scale.ledger().lines.get(place);
    LineRow {
        place: place.clone(),
        function: books.map(|it| it.function.clone()).unwrap_or_default(),
        evidence: books.map(|it| it.evidence).unwrap_or_default(),
        value,
        share: scale.mean_share(value),
        text: duration(value),
    }
}

fn replays(scale: &ViewScale<'_>, books: &LineBooks) -> Vec<ReplayRow> {
    let rows = books.replayed.iter().map(|(place, it)| {
        let (line, replays) = (line(scale, place, it.cuda), scale.mean(it.replays as f64));
        let text = match it.replays {
            0 => line.text,
            _ => format!("×{} · {}", count(replays), line.text),
        };
        ReplayRow { line: LineRow { text, ..line }, replays }
    });
    sorted(rows, |row| row.line.value)
}

fn callees(scale: &ViewScale<'_>, books: &LineBooks) -> Vec<CallRow> {
    let groups = callee_groups(scale.ledger(), &books.callees).into_iter();
    let rows = groups.map(|CalleeGroup { name, call, place, slowest }| {
        let (calls, value) = (scale.mean(call.calls as f64), scale.mean(call.cpu.as_f64()));
        let name = slowest.map_or(name.clone(), |(slowest, cpu)| {
            format!("{name}, slowest {slowest} {}", duration(scale.mean(cpu.as_f64())))
        });
        CallRow {
            name,
            place,
            calls,
            value,
            share: scale.mean_share(value),
            text: format!("×{} · {}", count(calls), duration(value)),
        }
    });
    sorted(rows, |row| row.value)
}

fn allocations(scale: &ViewScale<'_>, books: &LineBooks) -> Vec<AllocationRow> {
    let rows = books.allocations.iter().map(|(memory, it)| {
        let (allocs, alloc) = (scale.mean(it.allocs as f64), scale.mean(it.alloc.as_f64()));
        let mut text = format!("{} in {}", bytes(alloc), count(allocs));
        for (size, name) in [(it.peak, "at peak"), (it.live, "at the end")] {
            if size != Bytes::ZERO {
                text += &format!(" · {} {name}", bytes(size.as_f64()));
            }
        }
        AllocationRow { memory: memory.clone(), allocs, alloc, peak: it.peak, live: it.live, text }
    });
    sorted(rows, |row| row.alloc)
}

fn steps(scale: &ViewScale<'_>, books: &LineBooks) -> Vec<StepRow> {
    let quantity = scale.primary();
    let row = |&step: &u32| {
        let value = scale.with_period(Period::Step(step)).value(quantity, books)?;
        Some(StepRow { step, value, text: quantity.text(value) })
    };
    // A state is the same in each step.
    if quantity == Quantity::Peak {
        return Vec::new();
    }
    scale.ledger().steps.keys().filter_map(row).collect()
}

/// The largest first; what is as large in the order of the books.
fn sorted<T>(rows: impl Iterator<Item = T>, size: impl Fn(&T) -> f64) -> Vec<T> {
    let mut rows: Vec<T> = rows.collect();
    rows.sort_by(|a, b| size(b).total_cmp(&size(a)));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fixture, TRAIN, TRAIN_BOOKS, check_text};
    use crate::view::ViewMetric;

    /// All but the sections, one row for each thing.
    fn shown(view: &View, line: u32) -> String {
        let mut fixture = Fixture::new(TRAIN, TRAIN_BOOKS);
        fixture.edit("class", "import torch\nclass");
        let found = view.findings(&fixture.ledger);
        let Some(it) =
            details(&fixture.source(), view, RunKnowledge { findings: &found, path: None }, line)
        else {
            return "nothing\n".to_owned();
        };
        assert!(it.text.markdown().starts_with("**train.py:"), "{:?}", it.text);
        let mut text = format!("{} {} {}\n", it.recorded, it.function, it.evidence.name());
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        for row in &it.tables.numbers {
            let share = row.share.map(percent).unwrap_or_default();
            let number = format!("{}: {} {} {share}", row.name, row.text, row.unit.name());
            text += &format!("{}\n", number.trim_end());
        }
        for row in &it.tables.kernels {
            let name = &row.short_name;
            text +=
                &format!("kernel {name}: {} {:?} {:?}\n", row.text, row.key.grid, row.occupancy);
        }
        it.tables
            .operators
            .iter()
            .for_each(|row| text += &format!("op {}: {}\n", row.name, row.text));
        for (what, rows) in [("caller", &it.tables.callers), ("waited for", &it.tables.waits)] {
            for row in rows {
                let place = row.place.line;
                text += &format!(
                    "{what} {place} {}: {} {}\n",
                    row.function,
                    row.text,
                    percent(row.share)
                );
            }
        }
        it.tables
            .callees
            .iter()
            .for_each(|row| text += &format!("callee {}: {}\n", row.name, row.text));
        it.tables
            .steps
            .iter()
            .for_each(|row| text += &format!("step {}: {}\n", row.step, row.text));
        text
    }

    #[test]
    fn a_line_that_launches() {
        check_text(
            &shown(&View::default(), 5),
            "
            4 SlowModel.forward exact
            cpu_own: 2 ms ns 4.9 %
            cpu_total: 2 ms ns 4.9 %
            cpu_self: 2 ms ns 4.9 %
            cuda_own: 6.3 ms ns 15.4 %
            cuda_total: 6.3 ms ns 15.4 %
            cpu_backward: 3 ms ns 7.3 %
            cuda_backward: 11 ms ns 26.8 %
            kernels: 40 count
            calls: 20 count
            alloc: 24 MiB bytes 75.0 %
            kernel relu: 6.3 ms · 40 × 158 µs [64, 1, 1] Some(0.625)
            caller 10 step: 8 ms 19.5 %
            callee relu: ×20 · 2 ms
            step 1: 6.3 ms
            step 2: 6.3 ms
            ",
        );
    }

    #[test]
    fn a_line_that_waits() {
        let wait =
            View { metric: Some(ViewMetric::Wait), period: Period::Step(2), ..View::default() };
        check_text(
            &shown(&wait, 6),
            "
            5 SlowModel.forward exact
            cpu_own: 5 ms ns 12.2 %
            cuda_own: 20 µs ns 0.0 %
            sync: 4.8 ms ns 11.7 %
            op aten::item: ×10 · 5 ms cpu
            waited for 4 SlowModel.forward: 9 ms 22.0 %
            waited for 5 SlowModel.forward: 10 µs 0.0 %
            step 1: 4.8 ms
            step 2: 4.8 ms
            ",
        );
    }

    #[test]
    fn bytes() {
        let fixture = Fixture::new("f()\n", "step 1 1ms\n1 alloc=24MiB peak=8MiB\n");
        let view = View { metric: Some(ViewMetric::Memory), ..View::default() };
        let details = details(&fixture.source(), &view, RunKnowledge::default(), 1).unwrap();
        let numbers: Vec<_> =
            details.tables.numbers.iter().map(|it| (it.name, it.text.as_str(), it.unit)).collect();
        assert_eq!(numbers, [("alloc", "24 MiB", Unit::Bytes), ("peak", "8 MiB", Unit::Bytes)]);
        assert_eq!(details.tables.steps, []);
    }

    #[test]
    fn a_line_without_numbers() {
        assert_eq!(shown(&View::default(), 4), "nothing\n");
        assert_eq!(shown(&View::default(), 99), "nothing\n");
    }
}
