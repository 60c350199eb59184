//! `perfline report`: a recording at a glance, its losses and its books; limits for CI.

mod html;
mod overview;
mod plots;

use std::collections::BTreeMap;
use std::io::{self, Write};

use ledger::{Ledger, LineBooks, LineKey, Metric, Ns};
use loader::Run;
use metrics::{Period, Quantity, Scale, mark};

use crate::args::{Limits, Report};
use crate::findings;
use crate::numbers::{bytes, duration, exact, metric, percent};
use crate::output;
use crate::sources::{self, Sources};
use crate::summary::{self, warning};
use crate::suppression::Suppression;
use crate::table::{Align, Table};
use crate::terminal::{ALARM, STRONG, Terminal, clean, cut};

/// Least share (of 1) of the step that a line must wait to be listed.
const MIN_WAITING: f64 = 0.001;

/// Prints the report and gives the limits that the recording exceeds, one sentence each.
///
/// # Errors
/// If `out` cannot be written.
pub(crate) fn write(
    out: &mut dyn Write,
    run: &Run,
    args: &Report,
    sources: &dyn Sources,
    terminal: &Terminal,
) -> io::Result<Vec<String>> {
    let scale = Scale::new(&run.merged, Period::Mean);
    let names = sources::names(&run.merged, &args.recording.root);
    let suppression = Suppression::new(&run.merged, sources);
    let found = findings::told(&run.merged, &suppression);
    let lines = Lines { ledger: &run.merged, scale: &scale, names, suppression, top: args.top };
    let [steps, overlap, usage, idle, launches, copies, arithmetic] = overview::sections(run);
    let sections = [
        ("Totals", totals(&run.merged, &scale)),
        ("Steps", durations(run)),
        steps,
        overlap,
        ("Devices", devices(&run.merged)),
        usage,
        idle,
        launches,
        copies,
        arithmetic,
        ("Lines by own CPU time", lines.hottest(Quantity::CpuBusy)),
        ("Lines by own CUDA time", lines.hottest(Quantity::CudaOwn)),
        ("Lines that wait for the device", lines.waits()),
        ("Lines that wait for something else", lines.hottest(Quantity::Waiting)),
        ("Lines by FLOPs", overview::lines(run, &lines.names, args.top)),
        ("Lines by bytes at the peak", lines.hottest(Quantity::Peak)),
        ("Inputs", inputs(run)),
        ("Books", books(&run.merged)),
        ("Unattributed", reasons(&run.merged)),
    ];
    if let Some(path) = &args.html {
        let page = html::page(run, &lines, &found, &sections)
            .map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
        output::write(path, &page, args.recording.paths(run))?;
    }
    for line in summary::lines(run, &scale, terminal) {
        writeln!(out, "{line}")?;
    }
    findings::write(out, &found, args.top, |line| lines.place(line), terminal)?;
    for (title, table) in sections.iter().filter(|(_, table)| !table.is_empty()) {
        writeln!(out, "\n{}", terminal.paint(STRONG, title))?;
        table.write(out, terminal)?;
        if *title == "Inputs" {
            oddities(out, run, terminal)?;
        }
    }
    let exceeded = exceeded(run, &scale, &args.limits);
    for line in &exceeded {
        writeln!(out, "\n{}", terminal.paint(ALARM, line))?;
    }
    Ok(exceeded)
}

fn totals(ledger: &Ledger, scale: &Scale<'_>) -> Table {
    let mut table = Table::new(&[("", Align::Left), ("run", Align::Right)]);
    if scale.period() == Period::Mean {
        table.add_column("per step", Align::Right);
        table.add_column("outside steps", Align::Right);
    }
    table.add_column("on lines", Align::Right);
    for mut balance in ledger.balances().into_iter().filter(|it| it.total != 0) {
        if balance.metric == Metric::Waiting {
            // That of idle threads is in no other row.
            balance.total -= ledger.idle_threads.values().map(|it| it.time).sum::<Ns>();
            if balance.total == 0 {
                continue;
            }
        }
        let text = |amount: f64| match balance.metric {
            Metric::Alloc => metrics::numbers::bytes(amount),
            Metric::Flops => metrics::numbers::flops(amount),
            _ => metrics::numbers::duration(amount),
        };
        let mut row = vec![metric(balance.metric).to_owned(), text(balance.total as f64)];
        if scale.period() == Period::Mean {
            let outside = balance.total - ledger.in_steps.get(balance.metric);
            row.push(text(scale.total(balance.metric)));
            row.push(if outside == 0 { String::new() } else { text(outside as f64) });
        }
        row.push(percent(balance.lines as f64 / balance.total as f64));
        table.add_row(row);
    }
    table
}

fn durations(run: &Run) -> Table {
    let mut table = Table::new(&[
        ("rank", Align::Right),
        ("steps", Align::Right),
        ("mean", Align::Right),
        ("shortest", Align::Right),
        ("longest", Align::Right),
    ]);
    for rank in &run.ranks {
        let steps = &rank.ledger.steps;
        let (Some(least), Some(most)) = (steps.values().min(), steps.values().max()) else {
            continue;
        };
        let mean = steps.values().sum::<Ns>() / i64::try_from(steps.len()).unwrap_or(i64::MAX);
        table.add_row(vec![
            rank.rank.to_string(),
            steps.len().to_string(),
            duration(mean),
            duration(*least),
            duration(*most),
        ]);
    }
    table
}

fn devices(ledger: &Ledger) -> Table {
    let mut table = Table::new(&[
        ("rank", Align::Right),
        ("device", Align::Right),
        ("busy", Align::Right),
        ("idle", Align::Right),
        ("utilisation", Align::Right),
        ("all streams", Align::Right),
        ("name", Align::Left),
    ]);
    for (key, it) in &ledger.devices {
        let span = it.busy + it.idle;
        table.add_row(vec![
            key.rank.to_string(),
            key.device.to_string(),
            duration(it.busy),
            duration(it.idle),
            if span == 0 { String::new() } else { percent(it.busy as f64 / span as f64) },
            duration(it.time),
            it.name.clone(),
        ]);
    }
    table
}

/// What the tables of lines are made from.
struct Lines<'a> {
    ledger: &'a Ledger,
    scale: &'a Scale<'a>,
    /// Names of files by key.
    names: BTreeMap<&'a str, String>,
    /// Lines that are not to be told of.
    suppression: Suppression<'a>,
    /// How many lines a table has at most.
    top: usize,
}

impl<'a> Lines<'a> {
    /// The lines with most of `column`, library lines among them where nothing of yours was on the stack.
    fn hottest(&self, column: Quantity) -> Table {
        let title = match column {
            Quantity::Peak => "peak",
            _ if self.scale.period() == Period::Mean => "per step",
            _ => "run",
        };
        let mut table = Table::new(&[
            (title, Align::Right),
            ("share", Align::Right),
            ("", Align::Left),
            ("line", Align::Left),
            ("function", Align::Left),
        ]);
        for (key, it) in self.ranked(|it| self.value(column, it), |_| true) {
            let value = self.value(column, it);
            // Every lock waits for an instant.
            if column == Quantity::Waiting && self.scale.share(column, value) < MIN_WAITING {
                continue;
            }
            table.add_row(vec![
                column.cell(value),
                percent(self.scale.share(column, value)),
                mark(it.evidence).to_owned(),
                self.place(key),
                it.function.clone(),
            ]);
        }
        table
    }

    fn value(&self, quantity: Quantity, line: &LineBooks) -> f64 {
        self.scale.value(quantity, line).unwrap_or(0.0)
    }

    fn waits(&self) -> Table {
        let mut table = Table::new(&[
            (
                if self.scale.period() == Period::Mean { "waits/step" } else { "waits" },
                Align::Right,
            ),
            ("wait", Align::Right),
            ("idle after", Align::Right),
            ("", Align::Left),
            ("line", Align::Left),
            ("waits for", Align::Left),
        ]);
        let is_told = |key: &LineKey| !self.suppression.covers(key, "sync");
        for (key, it) in self.ranked(|it| self.value(Quantity::Wait, it), is_told) {
            let cell = |quantity: Quantity| quantity.cell(self.value(quantity, it));
            let mut awaited: Vec<_> = it.waits.iter().collect();
            awaited.sort_by_key(|(_, time)| std::cmp::Reverse(**time));
            let awaited: Vec<_> =
                awaited.into_iter().take(3).map(|(key, _)| self.place(key)).collect();
            table.add_row(vec![
                Quantity::Waits.text(self.value(Quantity::Waits, it)),
                cell(Quantity::Wait),
                cell(Quantity::IdleAfterWait),
                mark(it.evidence).to_owned(),
                self.place(key),
                awaited.join(", "),
            ]);
        }
        let hidden: Vec<&LineBooks> = self
            .ledger
            .lines
            .iter()
            .filter(|(key, it)| 0 < it.sync && !is_told(key))
            .map(|(_, it)| it)
            .collect();
        if !hidden.is_empty() {
            let wait: f64 = hidden.iter().map(|it| self.value(Quantity::Wait, it)).sum();
            let lines = if hidden.len() == 1 { "line" } else { "lines" };
            table.add_row(vec![
                String::new(),
                Quantity::Wait.cell(wait),
                String::new(),
                String::new(),
                format!("{} {lines} with # perfline: ignore", hidden.len()),
                String::new(),
            ]);
        }
        table
    }

    /// The `top` lines by `value`, largest first, without those that have none or are not `wanted`.
    fn ranked(
        &self,
        value: impl Fn(&LineBooks) -> f64,
        wanted: impl Fn(&LineKey) -> bool,
    ) -> Vec<(&'a LineKey, &'a LineBooks)> {
        let mut lines: Vec<_> =
            self.ledger.lines.iter().filter(|(key, it)| 0.0 < value(it) && wanted(key)).collect();
        // Stable: ties stay in order of file and line.
        lines.sort_by(|(_, a), (_, b)| value(b).total_cmp(&value(a)));
        lines.truncate(self.top);
        lines
    }

    fn place(&self, key: &LineKey) -> String {
        format!("{}:{}", self.names.get(key.file.as_str()).unwrap_or(&key.file), key.line)
    }
}

fn inputs(run: &Run) -> Table {
    let mut table = Table::new(&[
        ("rank", Align::Right),
        ("kind", Align::Left),
        ("events", Align::Right),
        ("read", Align::Right),
        ("", Align::Left),
        ("file", Align::Left),
    ]);
    for it in &run.inputs {
        table.add_row(vec![
            it.rank.to_string(),
            it.kind.name().to_owned(),
            it.events.to_string(),
            bytes(i64::try_from(it.bytes).unwrap_or(i64::MAX)),
            if it.complete { "whole" } else { "in part" }.to_owned(),
            loader::shown(&it.path).into_owned(),
        ]);
    }
    table
}

fn oddities(out: &mut dyn Write, run: &Run, terminal: &Terminal) -> io::Result<()> {
    for input in &run.inputs {
        for it in &input.warnings {
            let line = format!("  ! {}: {}", loader::shown(&input.path), warning(it));
            writeln!(out, "{}", cut(&clean(&line), terminal.width))?;
        }
    }
    for doubt in run.source_doubts() {
        writeln!(out, "{}", cut(&clean(&format!("  ! {doubt}")), terminal.width))?;
    }
    Ok(())
}

/// Σ lines + unattributed = total, to the last digit.
fn books(ledger: &Ledger) -> Table {
    let mut table = Table::new(&[
        ("", Align::Left),
        ("lines", Align::Right),
        ("+ unattributed", Align::Right),
        ("= total", Align::Right),
        ("", Align::Left),
    ]);
    for it in ledger.balances().into_iter().filter(|it| !it.is_balanced() || it.total != 0) {
        table.add_row(vec![
            metric(it.metric).to_owned(),
            exact(it.metric, it.lines),
            exact(it.metric, it.unattributed),
            exact(it.metric, it.total),
            if it.is_balanced() { "balanced" } else { "DOES NOT BALANCE" }.to_owned(),
        ]);
    }
    table
}

/// Why amounts have no line.
fn reasons(ledger: &Ledger) -> Table {
    let mut table = Table::new(&[("because", Align::Left)]);
    for it in Metric::ALL {
        table.add_column(metric(it), Align::Right);
    }
    for (reason, books) in ledger.unattributed.iter() {
        let amounts = Metric::ALL.map(|it| match books.get(it) {
            0 => String::new(),
            amount => exact(it, amount),
        });
        table.add_row(std::iter::once(reason.name().to_owned()).chain(amounts).collect());
    }
    table
}

/// The limits that the recording exceeds.
fn exceeded(run: &Run, scale: &Scale<'_>, limits: &Limits) -> Vec<String> {
    let ledger = &run.merged;
    let milliseconds = |ns: f64| ns / 1e6;
    let mut exceeded = Vec::new();
    let mut check = |limit: Option<f64>, value: f64, what: &str, option: &str| {
        if let Some(limit) = limit.filter(|&limit| limit < value) {
            exceeded.push(format!("{what}, more than {option} {limit} allows"));
        }
    };
    let mean = match scale.period() {
        Period::Run => ledger.threads.values().max().copied().unwrap_or(0) as f64,
        _ => scale.time(),
    };
    check(
        limits.max_step_ms,
        milliseconds(mean),
        &format!("a step takes {}", duration(mean as Ns)),
        "--max-step-ms",
    );
    let wait = scale.total(Metric::Sync);
    check(
        limits.max_sync_ms_per_step,
        milliseconds(wait),
        &format!("a step waits {} for the device", duration(wait as Ns)),
        "--max-sync-ms-per-step",
    );
    let share = |part: i64, whole: i64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let busy: Ns = ledger.devices.values().map(|it| it.busy).sum();
    let idle: Ns = ledger.devices.values().map(|it| it.idle).sum();
    let idle = share(idle, busy + idle);
    check(
        limits.max_gpu_idle_pct,
        idle * 100.0,
        &format!("the devices are idle {} of the time", percent(idle)),
        "--max-gpu-idle-pct",
    );
    for it in ledger.balances().iter().filter(|it| matches!(it.metric, Metric::Cpu | Metric::Cuda))
    {
        let unattributed = share(it.unattributed, it.total);
        check(
            limits.max_unattributed_pct,
            unattributed * 100.0,
            &format!("{} of {} has no line", percent(unattributed), metric(it.metric)),
            "--max-unattributed-pct",
        );
    }
    exceeded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Recording;
    use crate::terminal::Colours;
    use crate::testing::{TRAIN, Table as Texts, expect, sources, training};

    fn report(run: &Run, limits: Limits) -> (String, Vec<String>) {
        report_of(run, limits, &sources())
    }

    fn report_of(run: &Run, limits: Limits, sources: &dyn Sources) -> (String, Vec<String>) {
        let recording = Recording { root: ".".into(), ..Recording::default() };
        let args = Report { recording, top: 3, html: None, timing: false, limits };
        let mut out = Vec::new();
        let exceeded = write(
            &mut out,
            run,
            &args,
            sources,
            &Terminal { colours: Colours::Plain, width: None },
        )
        .unwrap();
        (String::from_utf8(out).unwrap(), exceeded)
    }

    #[test]
    fn lines_that_are_ignored_are_not_listed() {
        let waits = |comment: &str| {
            let text = TRAIN.replace("> 100:", &format!("> 100:{comment}"));
            let texts = Texts(BTreeMap::from([("/home/me/train.py".into(), text)]));
            let (report, _) = report_of(&training(), Limits::default(), &texts);
            let (_, waits) = report.split_once("Lines that wait for the device\n").unwrap();
            let (waits, _) = waits.split_once("\n\n").unwrap();
            let rows = waits.lines().skip(1).map(|it| it.split_whitespace().collect::<Vec<_>>());
            rows.map(|row| row.join(" ")).collect::<Vec<_>>()
        };
        let told = waits("");
        assert!(told.len() == 1 && told[0].contains("train.py:18"), "{told:?}");
        assert_eq!(waits("  # perfline: ignore[other]"), told);
        let expected = ["2.5 ms 1 line with # perfline: ignore"];
        assert_eq!(waits("  # perfline: ignore[sync]"), expected);
    }

    #[test]
    fn a_recording_at_a_glance() {
        let (text, exceeded) = report(&training(), Limits::default());
        assert_eq!(exceeded, Vec::<String>::new());
        expect(
            &text,
            r#"
trace.json.gz · 2 steps of 10 ms (9 ms to 11 ms)
H100: 75 % busy · 12 ms CUDA · 2 ms idle · CPU waits 2.5 ms per step
on lines: 97.1 % of thread time, 100 % of CUDA time · 70.4 % exact, 26.1 % inferred, 3.52 % function
2 idle threads, left out: they only waited
! trace.json.gz is incomplete: the file ends inside an event; everything before was read (at byte 12345)

Findings
  train.py:18 sync: the CPU waits 2.5 ms per step here (as far as the order of events tells) for
    kernels of train.py:17; the GPU then idles 1.5 ms (25 % of the step)
    Wait for the device only where its result is needed, and as late as possible.
  train.py:18 gpu-idle: the GPU idles 1.5 ms per step while the CPU is here: with launched work
    that waits for something else (15 % of the step)
    Work was launched and waited for something else: streams that wait for each other, copies,
    collectives.
  train.py:17 gpu-idle: the GPU idles 500 µs per step while the CPU is here: with launched work
    that waits for something else (5 % of the step)
    Work was launched and waited for something else: streams that wait for each other, copies,
    collectives.

Totals
                             run  per step  outside steps  on lines
  thread time            20.5 ms     10 ms         500 µs    97.1 %
  CUDA time                24 ms     12 ms                    100 %
  GPU idle time             4 ms      2 ms                    100 %
  waits for devices         5 ms    2.5 ms                    100 %
  allocated bytes          3 MiB   1.5 MiB                    100 %
  communication             1 ms    500 µs                    100 %
  exposed communication   400 µs    200 µs                    100 %
  FLOPs                      6 M       3 M                    100 %
  waiting                 400 µs    200 µs                    100 %

Steps
  rank  steps   mean  shortest  longest
     0      2  10 ms      9 ms    11 ms

What the steps went to
  rank  step   time  kernel  CPU ops
     0  mean  10 ms    60 %     40 %
     0     2   9 ms    60 %     40 %
     0     3  11 ms    60 %     40 %

Compute and communication
  rank  step   time  compute  both  neither
     0  mean  10 ms     55 %   5 %     40 %
     0     2   9 ms     55 %   5 %     40 %
     0     3  11 ms     55 %   5 %     40 %

Devices
  rank  device   busy  idle  utilisation  all streams  name
     0       0  12 ms  4 ms         75 %        24 ms  H100

Use of devices during the steps
  rank  device  kernels run  SM efficiency  occupancy  tensor cores  eligible  exposed comm
     0       0         60 %           40 %     45.5 %          25 %      50 %         2.5 %

Why streams were idle
  rank  device  idle  the host was late  between kernels
     0       0  4 ms               75 %             25 %

Launches
  rank  device  launches  mean call  mean delay  longest  < 10 µs
     0       0        84       5 µs      100 µs   300 µs        7

Copies and fills
  number  bytes    time  per second  kind
       2  1 MiB  100 µs    9.77 GiB  Memcpy HtoD (Pinned -> Device)

Arithmetic
  rank  device  precision  operators  FLOPs  FLOP/s  of peak  FLOPs per byte  limit
     0       0        f16         20    6 M     3 G     10 %             100  compute
     0          not known          3

Lines by own CPU time
  per step  share     line         function
      4 ms   40 %     train.py:25  train
      3 ms   30 %     train.py:17  Model.forward
    2.6 ms   26 %  ~  train.py:18  Model.forward

Lines by own CUDA time
  per step  share  line         function
      6 ms   60 %  train.py:17  Model.forward
      6 ms   60 %  train.py:25  train

Lines that wait for the device
  waits/step    wait  idle after     line         waits for
           1  2.5 ms      1.5 ms  ~  train.py:18  train.py:17

Lines that wait for something else
  per step  share      line         function
    200 µs    2 %  fn  helper.py:4  load, "fast"

Lines by FLOPs
  FLOPs  FLOP/s  of peak  FLOPs per byte  limit    line         function
    6 M     3 G     10 %             100  compute  train.py:17  Model.forward

Lines by bytes at the peak
   peak  share  line         function
  1 MiB  100 %  train.py:17  Model.forward

Inputs
  rank  kind    events     read           file
     0  kineto    1234  555 KiB  in part  trace.json.gz
  ! trace.json.gz: the file ends inside an event; everything before was read (at byte 12345)
  ! 2 source files were not found (e.g. helper.py): where the trace has no line, time is shown on the function's `def`; pass --root or --site

Books
                              lines  + unattributed     = total
  thread time              19900 µs          600 µs    20500 µs  balanced
  CUDA time              24000.5 µs            0 µs  24000.5 µs  balanced
  GPU idle time             4000 µs            0 µs     4000 µs  balanced
  waits for devices         5000 µs            0 µs     5000 µs  balanced
  allocated bytes         3145728 B             0 B   3145728 B  balanced
  communication             1000 µs            0 µs     1000 µs  balanced
  exposed communication      400 µs            0 µs      400 µs  balanced
  FLOPs                     6000000               0     6000000  balanced
  waiting                    400 µs          300 µs      700 µs  balanced

Unattributed
  because          thread time  waiting
  no_python_frame       600 µs
  idle_thread                    300 µs
"#,
        );
    }

    #[test]
    fn each_limit_is_told_when_it_is_exceeded_and_only_then() {
        let limits = |it: f64| Limits {
            max_step_ms: Some(it),
            max_sync_ms_per_step: Some(it),
            max_gpu_idle_pct: Some(it),
            max_unattributed_pct: Some(it),
        };
        let (_, none) = report(&training(), limits(25.0));
        assert_eq!(none, Vec::<String>::new());
        let (text, all) = report(&training(), limits(1.5));
        assert_eq!(
            all,
            [
                "a step takes 10 ms, more than --max-step-ms 1.5 allows",
                "a step waits 2.5 ms for the device, more than --max-sync-ms-per-step 1.5 allows",
                "the devices are idle 25 % of the time, more than --max-gpu-idle-pct 1.5 allows",
                "2.93 % of thread time has no line, more than --max-unattributed-pct 1.5 allows"
            ]
        );
        assert!(text.ends_with(&format!("{}\n", all[3])));
    }

    #[test]
    fn a_recording_without_steps_counts_as_one() {
        let mut run = training();
        run.ranks[0].ledger.steps.clear();
        run.merged.steps.clear();
        let limits = Limits {
            max_step_ms: Some(20.0),
            max_sync_ms_per_step: Some(4.9),
            ..Limits::default()
        };
        assert_eq!(
            report(&run, limits).1,
            [
                "a step takes 20.5 ms, more than --max-step-ms 20 allows",
                "a step waits 5 ms for the device, more than --max-sync-ms-per-step 4.9 allows"
            ]
        );
    }
}
