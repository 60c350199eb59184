//! The run in numbers: tables of what the steps went to and how devices were used, by rank.

use std::collections::BTreeMap;

use ledger::{
    Arithmetic, Breakdown, Bytes, Copies, DeviceOverview, IdleClasses, Interval, Ledger, Ns,
    Overlap, Overview,
};
use loader::Run;

use crate::filter::CodeFilter;
use crate::model::{Bar, Cell, Column, Note, Section, Subject, Unit};
use crate::recording::{Recording, mean_step};

/// Steps of a run of one rank that are listed one by one.
const MAX_STEPS: usize = 12;

/// What parts are called, by their stable names. Other parts go by that name.
pub(crate) type RowNames = [(&'static str, &'static str)];

/// The parts of [`Interval::breakdown`].
const BREAKDOWN: &RowNames = &[("data_loader", "data loader"), ("cpu", "CPU ops")];

/// The same as headings of narrow columns.
pub(crate) const BREAKDOWN_COLUMNS: &RowNames =
    &[("communication", "comm"), ("data_loader", "data loader"), ("cpu", "CPU ops")];

/// The parts of [`Interval::overlap`].
const OVERLAP: &RowNames = &[("other", "neither")];

/// The parts of [`DeviceOverview::idle`].
const IDLE: &RowNames = &[
    ("host_wait", "the host was late"),
    ("kernel_wait", "between kernels"),
    ("other", "something else"),
];

/// Times of a step that differ by no more than this share of it are the same.
const SAME_TIME: f64 = 0.01;

/// What the time in the tables of the steps' parts is, where it is not the length of the steps' ranges.
const CUT: &str = "time is of steps as TensorBoard's plugin cuts them: a step begins when the work of the one before has ended, and ends with the \
                   work that it launched";

/// As many bars can be distinguished.
const MAX_BARS: usize = 32;

/// The ranks of which something lasted.
fn overviews(run: &Run) -> impl Iterator<Item = (u32, &Overview)> {
    let all = run.merged.overviews.iter().map(|(&rank, it)| (rank, it));
    all.filter(|(_, it)| it.run.time != Ns::ZERO)
}

/// The sections, in the order in which they are printed. Those without rows say nothing of the run.
pub(crate) fn sections(run: &Run) -> [Section; 8] {
    let ranks: Vec<(u32, &Overview)> = overviews(run).collect();
    let devices: Vec<DeviceOfRank<'_>> = ranks
        .iter()
        .flat_map(|&(rank, it)| {
            it.devices.iter().map(move |(&ordinal, usage)| DeviceOfRank { rank, ordinal, usage })
        })
        .collect();
    [
        breakdown(run, &ranks),
        overlap(run, &ranks),
        usage(&devices),
        idle(&devices),
        launches(&devices),
        queues(&devices),
        copies(&devices),
        arithmetic(&ranks, &devices),
    ]
}

/// A device of a rank.
#[derive(Clone, Copy)]
struct DeviceOfRank<'a> {
    rank: u32,
    ordinal: i32,
    usage: &'a DeviceOverview,
}

impl DeviceOfRank<'_> {
    /// The first cells of its rows.
    fn cells(&self) -> Vec<Cell> {
        vec![Cell::integer(self.rank), Cell::integer(self.ordinal)]
    }
}

/// The columns of numbers that go by `names`.
fn numbers<const N: usize>(unit: Unit, names: [&'static str; N]) -> [Column; N] {
    names.map(|name| Column::number(name, unit))
}

/// What `part` is called.
pub(crate) fn part_name(names: &RowNames, part: &'static str) -> &'static str {
    names.iter().find(|(it, _)| *it == part).map_or(part, |(_, name)| name)
}

/// The columns of shares for `parts`.
fn shares<const N: usize>(names: &RowNames, parts: [(&'static str, Ns); N]) -> [Column; N] {
    parts.map(|(part, _)| Column::number(part_name(names, part), Unit::Share))
}

/// A section with the columns of `DeviceOfRank::cells` before others.
fn by_device(
    id: &'static str,
    title: &'static str,
    columns: impl IntoIterator<Item = Column>,
) -> Section {
    let first = numbers(Unit::Count, ["rank", "device"]);
    Section::new(id, title, Subject::Run, first.into_iter().chain(columns))
}

/// A section with the columns of [`intervals`] before parts of their time.
fn by_interval(
    id: &'static str,
    title: &'static str,
    parts: impl IntoIterator<Item = Column>,
) -> Section {
    let first = [
        Column::number("rank", Unit::Count),
        Column::mixed("step"),
        Column::number("time", Unit::Ns),
    ];
    Section::new(id, title, Subject::Run, first.into_iter().chain(parts))
}

/// The rows of a rank: its mean step (or the run), and each step where that stays readable.
fn intervals<'a>(rank: u32, it: &'a Overview, n_ranks: usize) -> Vec<([Cell; 3], &'a Interval)> {
    let number = i64::try_from(it.steps.len().max(1)).unwrap_or(i64::MAX);
    let label = if it.steps.is_empty() { "run" } else { "mean" };
    let row = |label: Cell, time: Ns, interval: &'a Interval| {
        ([Cell::integer(rank), label, Cell::duration(time)], interval)
    };
    let mut rows = vec![row(Cell::text(label), it.run.time / number, &it.run)];
    if n_ranks == 1 && (2..=MAX_STEPS).contains(&it.steps.len()) {
        rows.extend(it.steps.iter().map(|(step, it)| row(Cell::integer(*step), it.time, it)));
    }
    rows
}

/// Says what the time of the rows is, where that is not how long a step takes.
fn note_cut(run: &Run, ranks: &[(u32, &Overview)], section: &mut Section) {
    let differs = |&&(rank, it): &&(u32, &Overview)| {
        let n = i64::try_from(it.steps.len().max(1)).unwrap_or(i64::MAX);
        let (cut, step) = (it.run.time / n, mean_step(run, rank).unwrap_or_default());
        !it.steps.is_empty() && (cut - step).as_f64().abs() > SAME_TIME * step.as_f64()
    };
    let is_shown =
        |rank: u32| section.rows.iter().any(|row| row.first() == Some(&Cell::integer(rank)));
    if ranks.iter().filter(differs).any(|&(rank, _)| is_shown(rank)) {
        section.notes.push(Note::plain(CUT));
    }
}

fn breakdown(run: &Run, ranks: &[(u32, &Overview)]) -> Section {
    let parts = shares(BREAKDOWN_COLUMNS, Breakdown::default().parts());
    let mut section = by_interval("breakdown", "What the steps went to", parts);
    for (cells, it) in ranks.iter().flat_map(|&(rank, it)| intervals(rank, it, ranks.len())) {
        let parts = it.breakdown.parts().map(|(_, part)| Cell::part(part, it.time));
        section.rows.push(cells.into_iter().chain(parts).collect());
    }
    note_cut(run, ranks, &mut section);
    section
}

fn overlap(run: &Run, ranks: &[(u32, &Overview)]) -> Section {
    let parts = shares(OVERLAP, Overlap::default().parts());
    let mut section = by_interval("overlap", "Compute and communication", parts);
    let communicates =
        |it: &Overview| it.run.overlap.both + it.run.overlap.communication > Ns::ZERO;
    for &(rank, it) in ranks.iter().filter(|(_, it)| communicates(it)) {
        for (cells, it) in intervals(rank, it, ranks.len()) {
            let parts = it.overlap.parts().map(|(_, part)| Cell::part(part, it.time));
            section.rows.push(cells.into_iter().chain(parts).collect());
        }
    }
    note_cut(run, ranks, &mut section);
    section
}

fn usage(devices: &[DeviceOfRank<'_>]) -> Section {
    let columns = numbers(
        Unit::Share,
        [
            "kernels run",
            "SM efficiency",
            "occupancy",
            "tensor cores",
            "eligible",
            "exposed comm",
            "copies",
        ],
    );
    let mut section = by_device("device-use", "Use of devices during the steps", columns);
    for device in devices.iter().filter(|it| it.usage.kernels != 0) {
        let it = device.usage;
        let shares = [
            it.utilisation(),
            it.multiprocessor_efficiency(),
            it.occupancy(),
            it.tensor_core_share(),
            it.eligible_share(),
        ];
        let mut row = device.cells();
        row.extend(shares.map(|it| it.map(Cell::share).unwrap_or_default()));
        row.push(Cell::part(it.exposed_communication, it.span));
        row.push(Cell::part(it.exposed_memory, it.span));
        section.rows.push(row);
    }
    section
}

fn idle(devices: &[DeviceOfRank<'_>]) -> Section {
    let parts = shares(IDLE, IdleClasses::default().parts());
    let columns = [Column::number("stream", Unit::Count), Column::number("idle", Unit::Ns)];
    let columns = columns.into_iter().chain(parts);
    let mut section = by_device("stream-idle", "Why streams were idle", columns);
    for device in devices {
        for (&stream, it) in &device.usage.idle {
            let sum = it.sum();
            let mut row = device.cells();
            row.extend([Cell::integer(stream), Cell::duration(sum)]);
            row.extend(it.parts().map(|(_, part)| Cell::part(part, sum)));
            section.rows.push(row);
        }
    }
    section
}

fn launches(devices: &[DeviceOfRank<'_>]) -> Section {
    let (count, time) = (Unit::Count, Unit::Ns);
    let columns = [
        Column::number("launches", count),
        Column::number("mean call", time),
        Column::number("> 50 µs", count),
        Column::number("mean delay", time),
        Column::number("longest", time),
        Column::number("> 100 µs", count),
        Column::number("shorter than call", count),
        Column::number("< 10 µs", count),
    ];
    let mut section = by_device("launches", "Launches", columns);
    for device in devices {
        let it = device.usage.launches;
        let Some(delay) = it.mean_delay() else { continue };
        let number = it.count as f64;
        let some = |part: u64| Cell::count(part as f64).unless_zero();
        let mut row = device.cells();
        row.push(Cell::count(number));
        row.extend([Cell::duration(Ns((it.call.as_f64() / number) as i64)), some(it.long_calls)]);
        row.extend([Cell::duration(delay), Cell::duration(it.longest_delay)]);
        row.extend([it.long_delays, it.shorter_than_call, it.short].map(some));
        section.rows.push(row);
    }
    section
}

fn queues(devices: &[DeviceOfRank<'_>]) -> Section {
    let columns = [
        Column::number("stream", Unit::Count),
        Column::number("launches", Unit::Count),
        Column::number("mean length", Unit::Count),
        Column::number("longest", Unit::Count),
        Column::number("full", Unit::Ns),
    ];
    let mut section = by_device("queues", "Launches that wait, by stream", columns);
    for device in devices {
        for (&stream, it) in &device.usage.queues {
            let mut row = device.cells();
            row.extend([
                Cell::integer(stream),
                Cell::count(it.launches as f64),
                it.mean_length().map(Cell::count).unwrap_or_default(),
                Cell::count(it.longest as f64),
                Cell::duration(it.full).unless_zero(),
            ]);
            section.rows.push(row);
        }
    }
    section
}

fn copies(devices: &[DeviceOfRank<'_>]) -> Section {
    let columns = [
        Column::number("number", Unit::Count),
        Column::number("bytes", Unit::Bytes),
        Column::number("time", Unit::Ns),
        Column::number("per second", Unit::BytesPerSecond),
        Column::text("kind"),
    ];
    let mut section = Section::new("copies", "Copies and fills", Subject::Run, columns);
    let mut kinds: BTreeMap<&str, Copies> = BTreeMap::new();
    for (kind, it) in devices.iter().flat_map(|device| &device.usage.copies) {
        kinds.entry(kind).or_default().merge(it);
    }
    for (kind, it) in kinds {
        let rate = it.bandwidth().filter(|_| it.bytes != Bytes::ZERO);
        section.rows.push(vec![
            Cell::count(it.count as f64),
            Cell::bytes(it.bytes),
            Cell::duration(it.time),
            rate.map(|it| Cell::real(it, Unit::BytesPerSecond)).unwrap_or_default(),
            Cell::text(kind),
        ]);
    }
    section
}

/// The columns of [`Rates::cells`].
const RATES: [Column; 5] = [
    Column::number("FLOPs", Unit::Flops),
    Column::number("FLOP/s", Unit::FlopsPerSecond),
    Column::number("of peak", Unit::Share),
    Column::number("FLOPs per byte", Unit::FlopsPerByte),
    Column::text("limit"),
];

/// What arithmetic achieved, and the roofline that it is held against.
struct Rates<'a> {
    work: &'a Arithmetic,
    of_peak: Option<f64>,
    bound: Option<&'static str>,
}

impl Rates<'_> {
    fn cells(&self) -> [Cell; 5] {
        [
            Cell::flops(i64::try_from(self.work.flops).unwrap_or(i64::MAX)),
            self.work.rate().map(|it| Cell::real(it, Unit::FlopsPerSecond)).unwrap_or_default(),
            self.of_peak.map(Cell::share).unwrap_or_default(),
            self.work.intensity().map(|it| Cell::real(it, Unit::FlopsPerByte)).unwrap_or_default(),
            self.bound.map(Cell::text).unwrap_or_default(),
        ]
    }
}

fn arithmetic(ranks: &[(u32, &Overview)], devices: &[DeviceOfRank<'_>]) -> Section {
    let first = [Column::mixed("precision"), Column::number("operators", Unit::Count)];
    let columns = first.into_iter().chain(RATES);
    let mut section = by_device("arithmetic", "Arithmetic", columns);
    for device in devices {
        for (&precision, it) in &device.usage.arithmetic {
            let peak = device.usage.peak.as_ref();
            let rates = Rates {
                work: it,
                of_peak: peak.and_then(|peak| it.peak_share(precision, peak)),
                bound: peak.and_then(|peak| it.bound(precision, peak)).map(|it| it.name()),
            };
            let mut row = device.cells();
            row.push(Cell::text(precision.name()));
            row.push(Cell::count(it.operators as f64));
            row.extend(rates.cells());
            section.rows.push(row);
        }
    }
    for (rank, it) in ranks.iter().filter(|(_, it)| it.operators_without_flops != 0) {
        let mut row = vec![Cell::default(); section.columns.len()];
        row[0] = Cell::integer(*rank);
        row[2] = Cell::text("not known");
        row[3] = Cell::count(it.operators_without_flops as f64);
        section.rows.push(row);
    }
    section
}

/// The first device whose data sheet is known: what lines and kernels of all devices are held against.
pub(crate) fn device_with_peak(ledger: &Ledger) -> Option<&DeviceOverview> {
    let devices = ledger.overviews.values().flat_map(|it| it.devices.values());
    devices.into_iter().find(|it| it.peak.is_some())
}

/// The `top` lines with most FLOPs.
pub(crate) fn lines(recording: &Recording<'_>, code: &CodeFilter, top: usize) -> Section {
    let run = recording.run;
    let columns = RATES.into_iter().chain([Column::text("line"), Column::text("function")]);
    let mut section = Section::new("lines-flops", "Lines by FLOPs", Subject::Lines, columns);
    let peak = device_with_peak(&run.merged).and_then(|it| it.peak);
    let passes = |file: &str, function: &str| code.passes(recording.file(file), function);
    let lines = run.merged.lines.iter().filter(|(_, it)| it.flops() != 0);
    let mut lines: Vec<_> = lines.filter(|(key, it)| passes(&key.file, &it.function)).collect();
    lines.sort_by_key(|(_, it)| std::cmp::Reverse(it.flops()));
    section.left_out = lines.len().saturating_sub(top);
    for (key, it) in lines.into_iter().take(top) {
        // Most lines have one precision; the one with most FLOPs stands for the others.
        let most = it.arithmetic.iter().max_by_key(|(_, it)| it.flops);
        let on_roof = most.zip(peak.as_ref());
        let of_peak = on_roof.and_then(|((&precision, it), peak)| it.peak_share(precision, peak));
        let bound = on_roof.and_then(|((&precision, it), peak)| it.bound(precision, peak));
        let sum = Arithmetic::sum(&it.arithmetic);
        let rates = Rates { work: &sum, of_peak, bound: bound.map(|it| it.name()) };
        let mut row = Vec::from(rates.cells());
        row.extend([Cell::place(recording.place(key)), Cell::text(&it.function)]);
        section.rows.push(row);
    }
    section
}

/// What each step (of several ranks, each rank's mean step) went to; `None` where that is not known.
pub(crate) fn bars(run: &Run) -> Option<Vec<Bar>> {
    let overviews: Vec<_> = overviews(run).collect();
    let bar = |name: String, it: &Interval, number: usize| Bar {
        name,
        length: it.time.as_f64() / number as f64,
        parts: it.breakdown.parts().map(|(part, time)| (part_name(BREAKDOWN, part), time)).into(),
    };
    let bars: Vec<Bar> = match overviews.as_slice() {
        [(_, it)] if (1..=MAX_BARS).contains(&it.steps.len()) => {
            it.steps.iter().map(|(step, it)| bar(format!("step {step}"), it, 1)).collect()
        }
        several => several
            .iter()
            .take(MAX_BARS)
            .map(|(rank, it)| bar(format!("rank {rank}"), &it.run, it.steps.len().max(1)))
            .collect(),
    };
    (!bars.is_empty()).then_some(bars)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::training;

    #[test]
    fn what_the_plugin_calls_a_step_is_said_where_it_is_not_one() {
        let is_noted = |run: &Run| {
            let all = sections(run);
            let breakdown = all.iter().find(|it| it.id == "breakdown").unwrap();
            breakdown.notes.contains(&Note::plain(CUT))
        };
        let mut run = training();
        let steps = run.merged.steps.clone();
        run.ranks.iter_mut().for_each(|it| it.steps.clone_from(&steps));
        assert!(!is_noted(&run));
        run.merged.overviews.get_mut(&0).unwrap().run.time = Ns(17_000_000);
        assert!(is_noted(&run));
    }
}
