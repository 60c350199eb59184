//! The kernels, copies and fills of a recording.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use ledger::{Bytes, Kernel, KernelKey, Ledger, Metric, Ns, TensorCores, Unit};
use metrics::{Period, Scale};
use stack_books::StackFrame;

use super::NamedTable;
use super::lines_of::LinesOf;
use crate::model::{Cell, Column, Section, Subject};
use crate::recording::Recording;
use crate::summary;

/// The columns that a narrow terminal can do without, the first of them first.
const DISPENSABLE: [&str; 8] =
    ["shortest", "longest", "bytes", "so far", "tensor cores", "occupancy", "grid × block", "mean"];

/// What is known of a kernel, over the whole recording.
#[derive(Debug, Default)]
struct KernelSum<'a> {
    calls: u64,
    time: i64,
    lines: LinesOf<'a>,
}

/// What lines know of the runs of a kernel that have a line.
#[derive(Debug, Default)]
struct KernelRuns<'a> {
    time: Ns,
    shortest: Option<Ns>,
    longest: Ns,
    /// As [`Kernel::occupancy_time`].
    occupancy_time: i128,
    bytes: Bytes,
    tensor_cores: TensorCores,
    shapes: BTreeSet<&'a KernelKey>,
}

/// The kernels of a recording that was loaded with stacks, the one that ran longest first. `is_whole` gives their names as
/// recorded, which may be thousands of characters. Of a part of the stacks, what lines alone know is left out: they know it of all.
///
/// # Errors
/// If the recording was loaded without stacks.
pub fn build(recording: &Recording<'_>, is_whole: bool) -> io::Result<NamedTable> {
    let books = super::print::stacks(recording)?.of_user_code();
    let mut rows: BTreeMap<&str, KernelSum<'_>> = BTreeMap::new();
    for stack in books.stacks() {
        if let StackFrame::Device(name) = books.frame_of(stack) {
            let time = books.amount(Metric::Cuda, stack);
            let row = rows.entry(name).or_default();
            row.calls += books.events(stack);
            row.time += time;
            row.lines.add(&books, stack, time);
        }
    }
    let mut section = Section::new(
        "kernels",
        "Kernels",
        Subject::Run,
        [
            Column::number("share", Unit::Share),
            Column::number("so far", Unit::Share),
            Column::number("time", Unit::Ns),
            Column::number("calls", Unit::Count),
            Column::number("mean", Unit::Ns),
            Column::number("shortest", Unit::Ns),
            Column::number("longest", Unit::Ns),
            Column::number("occupancy", Unit::Share),
            Column::text("tensor cores"),
            Column::text("grid × block"),
            Column::number("bytes", Unit::Bytes),
            Column::text("kernel"),
            Column::text("lines"),
        ],
    );
    let whole = books.total(Metric::Cuda);
    let ledger = &recording.run.merged;
    let is_part = whole != ledger.totals.get(Metric::Cuda);
    let runs = if is_part { BTreeMap::new() } else { runs(ledger) };
    let mut sorted: Vec<_> = rows.into_iter().collect();
    sorted.sort_by(|a, b| b.1.time.cmp(&a.1.time).then(a.0.cmp(b.0)));
    let mut so_far = 0_i64;
    let unknown = KernelRuns::default();
    for (name, it) in sorted {
        so_far = so_far.saturating_add(it.time);
        let run = runs.get(name).unwrap_or(&unknown);
        let duration = |it: Option<Ns>| it.map_or_else(Cell::default, Cell::duration);
        section.rows.push(vec![
            Cell::part(it.time, whole),
            Cell::part(so_far, whole),
            Cell::amount(Metric::Cuda, it.time),
            Cell::integer(it.calls),
            Cell::real(it.time as f64 / it.calls.max(1) as f64, Unit::Ns),
            duration(run.shortest),
            duration(run.shortest.map(|_| run.longest)),
            occupancy(run),
            Cell::text(match run.tensor_cores {
                TensorCores::Yes => "yes",
                TensorCores::Unknown => "perhaps",
                TensorCores::No => "",
            }),
            Cell::text(shape(run)),
            Cell::bytes(run.bytes).unless_zero(),
            Cell::text(if is_whole { name.to_owned() } else { ledger::shorten_kernel_name(name) }),
            it.lines.cell(recording),
        ]);
    }
    let scale = Scale::new(&recording.run.merged, Period::Mean);
    Ok(NamedTable {
        summary: summary::summary(recording.run, &scale),
        section,
        dispensable: &DISPENSABLE,
        filter: serde_json::Value::Null,
    })
}

/// By name, what the lines of the recording know.
fn runs(ledger: &Ledger) -> BTreeMap<&str, KernelRuns<'_>> {
    let mut runs: BTreeMap<&str, KernelRuns<'_>> = BTreeMap::new();
    for (key, kernel) in ledger.lines.values().flat_map(|it| &it.kernel_table) {
        let Kernel { total, min, max, occupancy_time, bytes, tensor_cores, .. } = kernel;
        let run = runs.entry(&key.name).or_default();
        run.time += *total;
        run.shortest = Some(run.shortest.map_or(*min, |it| it.min(*min)));
        run.longest = run.longest.max(*max);
        run.occupancy_time += occupancy_time;
        run.bytes += *bytes;
        run.tensor_cores = run.tensor_cores.max(*tensor_cores);
        run.shapes.insert(key);
    }
    runs
}

/// The mean over its runs, weighted by their time.
fn occupancy(run: &KernelRuns<'_>) -> Cell {
    if run.occupancy_time == 0 || run.time == Ns::ZERO {
        return Cell::default();
    }
    Cell::share(run.occupancy_time as f64 / run.time.as_f64() / 1000.0)
}

/// `216×1×1 × 256×1×1`, or how many there are.
fn shape(run: &KernelRuns<'_>) -> String {
    let text = |it: [u32; 3]| match it {
        [x, 1, 1] => x.to_string(),
        [x, y, 1] => format!("{x}×{y}"),
        [x, y, z] => format!("{x}×{y}×{z}"),
    };
    let mut shapes = run.shapes.iter().filter(|it| it.block != [0; 3]);
    match (shapes.next(), shapes.count()) {
        (None, _) => String::new(),
        (Some(it), 0) => format!("[{}] × [{}]", text(it.grid), text(it.block)),
        (Some(_), more) => format!("{} shapes", more + 1),
    }
}
