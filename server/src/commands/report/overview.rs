//! The run in numbers: tables of what the steps went to and how devices were used, by rank.

use std::collections::BTreeMap;

use ledger::{Arithmetic, Copies, DeviceOverview, Interval, Ns, Overview};
use loader::Run;

use crate::numbers::{bytes, count, duration, percent};
use crate::table::{Align, Table};

/// So many steps of a run of one rank are told one by one.
const MOST_STEPS: usize = 12;

/// The tables with their titles, in the order in which they are printed. Tables without rows say nothing of the run.
pub(super) fn sections(run: &Run) -> [(&'static str, Table); 7] {
    let ranks: Vec<(u32, &Overview)> = run
        .ranks
        .iter()
        .flat_map(|rank| rank.ledger.overviews.iter().map(|(&number, it)| (number, it)))
        .filter(|(_, it)| it.run.time != 0)
        .collect();
    let devices: Vec<Device<'_>> = ranks
        .iter()
        .flat_map(|&(rank, it)| {
            it.devices.iter().map(move |(&ordinal, usage)| Device { rank, ordinal, usage })
        })
        .collect();
    [
        ("What the steps went to", breakdown(&ranks)),
        ("Compute and communication", overlap(&ranks)),
        ("Use of devices during the steps", usage(&devices)),
        ("Why streams were idle", idle(&devices)),
        ("Launches", launches(&devices)),
        ("Copies and fills", copies(&devices)),
        ("Arithmetic", arithmetic(&ranks, &devices)),
    ]
}

/// A device of a rank.
#[derive(Clone, Copy)]
struct Device<'a> {
    rank: u32,
    ordinal: i32,
    usage: &'a DeviceOverview,
}

impl Device<'_> {
    /// The first cells of its rows.
    fn cells(&self) -> Vec<String> {
        vec![self.rank.to_string(), self.ordinal.to_string()]
    }
}

fn table(columns: &[&'static str]) -> Table {
    Table::new(&columns.iter().map(|&title| (title, Align::Right)).collect::<Vec<_>>())
}

/// The rows of a rank: its mean step (or the run), and each step where that stays readable.
fn intervals<'a>(rank: u32, it: &'a Overview, n_ranks: usize) -> Vec<([String; 3], &'a Interval)> {
    let number = i64::try_from(it.steps.len().max(1)).unwrap_or(i64::MAX);
    let label = if it.steps.is_empty() { "run" } else { "mean" };
    let row = |label: String, time: Ns, interval: &'a Interval| {
        ([rank.to_string(), label, duration(time)], interval)
    };
    let mut rows = vec![row(label.to_owned(), it.run.time / number, &it.run)];
    if n_ranks == 1 && (2..=MOST_STEPS).contains(&it.steps.len()) {
        rows.extend(it.steps.iter().map(|(step, it)| row(step.to_string(), it.time, it)));
    }
    rows
}

fn breakdown(ranks: &[(u32, &Overview)]) -> Table {
    let mut table = table(&[
        "rank",
        "step",
        "time",
        "kernel",
        "memcpy",
        "memset",
        "comm",
        "runtime",
        "data loader",
        "CPU ops",
        "other",
    ]);
    for (cells, it) in ranks.iter().flat_map(|&(rank, it)| intervals(rank, it, ranks.len())) {
        let parts = it.breakdown.parts().map(|(_, part)| share(part, it.time));
        table.add_row(cells.into_iter().chain(parts).collect());
    }
    table
}

fn overlap(ranks: &[(u32, &Overview)]) -> Table {
    let mut table = table(&["rank", "step", "time", "compute", "both", "communication", "neither"]);
    let communicates = |it: &Overview| it.run.overlap.both + it.run.overlap.communication > 0;
    for &(rank, it) in ranks.iter().filter(|(_, it)| communicates(it)) {
        for (cells, it) in intervals(rank, it, ranks.len()) {
            let parts = it.overlap.parts().map(|(_, part)| share(part, it.time));
            table.add_row(cells.into_iter().chain(parts).collect());
        }
    }
    table
}

fn usage(devices: &[Device<'_>]) -> Table {
    let mut table = table(&[
        "rank",
        "device",
        "kernels run",
        "SM efficiency",
        "occupancy",
        "tensor cores",
        "eligible",
        "exposed comm",
        "copies",
    ]);
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
        row.extend(shares.map(|it| it.map(percent).unwrap_or_default()));
        row.push(share(it.exposed_communication, it.span));
        row.push(share(it.exposed_memory, it.span));
        table.add_row(row);
    }
    table
}

fn idle(devices: &[Device<'_>]) -> Table {
    let mut table = table(&[
        "rank",
        "device",
        "idle",
        "the host was late",
        "between kernels",
        "something else",
    ]);
    for device in devices {
        let parts = device.usage.idle.parts().map(|(_, part)| part);
        let sum: Ns = parts.iter().sum();
        if sum != 0 {
            let mut row = device.cells();
            row.push(duration(sum));
            row.extend(parts.map(|part| share(part, sum)));
            table.add_row(row);
        }
    }
    table
}

fn launches(devices: &[Device<'_>]) -> Table {
    let mut table = table(&[
        "rank",
        "device",
        "launches",
        "mean call",
        "> 50 µs",
        "mean delay",
        "longest",
        "> 100 µs",
        "shorter than call",
        "< 10 µs",
    ]);
    for device in devices {
        let it = device.usage.launches;
        let Some(delay) = it.mean_delay() else { continue };
        let number = it.count as f64;
        let mut row = device.cells();
        row.push(count(number));
        let some = |part: u64| if part == 0 { String::new() } else { count(part as f64) };
        row.extend([duration((it.call as f64 / number) as Ns), some(it.long_calls)]);
        row.extend([duration(delay), duration(it.longest_delay)]);
        row.extend([it.long_delays, it.shorter_than_call, it.short].map(some));
        table.add_row(row);
    }
    table
}

fn copies(devices: &[Device<'_>]) -> Table {
    let mut table = table(&["number", "bytes", "time", "per second"]);
    table.add_column("kind", Align::Left);
    let mut kinds: BTreeMap<&str, Copies> = BTreeMap::new();
    for (kind, it) in devices.iter().flat_map(|device| &device.usage.copies) {
        kinds.entry(kind).or_default().merge(it);
    }
    for (kind, it) in kinds {
        let rate = it.bandwidth().filter(|_| it.bytes != 0);
        table.add_row(vec![
            count(it.count as f64),
            bytes(it.bytes),
            duration(it.time),
            rate.map(metrics::numbers::bytes).unwrap_or_default(),
            kind.to_owned(),
        ]);
    }
    table
}

fn arithmetic(ranks: &[(u32, &Overview)], devices: &[Device<'_>]) -> Table {
    let mut table = table(&[
        "rank",
        "device",
        "precision",
        "operators",
        "FLOPs",
        "FLOP/s",
        "of peak",
        "FLOPs per byte",
    ]);
    table.add_column("limit", Align::Left);
    for device in devices {
        for (&precision, it) in &device.usage.arithmetic {
            let peak = device.usage.peak.as_ref();
            let of_peak = peak.and_then(|peak| it.peak_share(precision, peak));
            let bound = peak.and_then(|peak| it.bound(precision, peak));
            let mut row = device.cells();
            row.push(precision.name().to_owned());
            row.push(count(it.operators as f64));
            row.extend(figures(it));
            row.push(of_peak.map(percent).unwrap_or_default());
            row.push(it.intensity().map(count).unwrap_or_default());
            row.push(bound.map(|it| it.name().to_owned()).unwrap_or_default());
            table.add_row(row);
        }
    }
    for (rank, it) in ranks.iter().filter(|(_, it)| it.operators_without_flops != 0) {
        let mut row = vec![String::new(); 9];
        row[0] = rank.to_string();
        row[2] = "not known".to_owned();
        row[3] = count(it.operators_without_flops as f64);
        table.add_row(row);
    }
    table
}

/// The `top` lines with most FLOPs, under the names of their files.
pub(super) fn lines(run: &Run, names: &BTreeMap<&str, String>, top: usize) -> Table {
    let mut table = table(&["FLOPs", "FLOP/s", "of peak", "FLOPs per byte"]);
    table.add_column("limit", Align::Left);
    table.add_column("line", Align::Left);
    table.add_column("function", Align::Left);
    let devices = run.ranks.iter().flat_map(|rank| rank.ledger.overviews.values());
    let peak = devices.flat_map(|it| it.devices.values()).find_map(|it| it.peak);
    let mut lines: Vec<_> = run.merged.lines.iter().filter(|(_, it)| it.flops() != 0).collect();
    lines.sort_by_key(|(_, it)| std::cmp::Reverse(it.flops()));
    for (key, it) in lines.into_iter().take(top) {
        // Most lines have one precision; the one with most FLOPs speaks for the others.
        let most = it.arithmetic.iter().max_by_key(|(_, it)| it.flops);
        let on_roof = most.zip(peak.as_ref());
        let of_peak = on_roof.and_then(|((&precision, it), peak)| it.peak_share(precision, peak));
        let bound = on_roof.and_then(|((&precision, it), peak)| it.bound(precision, peak));
        let sum = Arithmetic::sum(&it.arithmetic);
        let mut row: Vec<String> = figures(&sum).into();
        row.push(of_peak.map(percent).unwrap_or_default());
        row.push(sum.intensity().map(count).unwrap_or_default());
        row.push(bound.map(|it| it.name().to_owned()).unwrap_or_default());
        let name = names.get(key.file.as_str()).unwrap_or(&key.file);
        row.extend([format!("{name}:{}", key.line), it.function.clone()]);
        table.add_row(row);
    }
    table
}

/// FLOPs, and FLOP/s.
fn figures(it: &Arithmetic) -> [String; 2] {
    let rate = it.rate().map(metrics::numbers::flops).unwrap_or_default();
    [metrics::numbers::flops(it.flops as f64), rate]
}

/// `part` of `whole` in percent; nothing for nothing.
fn share(part: Ns, whole: Ns) -> String {
    if part == 0 || whole == 0 { String::new() } else { percent(part as f64 / whole as f64) }
}
