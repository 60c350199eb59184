//! From a loaded recording to the report.

use std::cmp::Reverse;

use ::ranks::Comparison;
use ledger::{Balance, Bytes, Ledger, LineBooks, LineKey, Metric, Ns};
use loader::Run;
use metrics::{Period, Quantity, Scale};

use crate::filter::CodeFilter;
use crate::findings::findings;
use crate::limits::{self, Limit};
use crate::model::{Bottleneck, Cell, Chart, Column, Note, Report, Section, Subject, Unit};
use crate::part::RecordingPart;
use crate::recording::{Recording, mean_step};
use crate::summary::{self, warning};
use crate::suppression::Suppression;
use crate::{critical_path, key_figures, ranks, run_summary, verdict};

/// Least share (of 1) of the step that a line must wait to be listed.
const MIN_WAITING: f64 = 0.001;

/// Lines that are named as those whose work a line waits for.
const MAX_AWAITED: usize = 3;

/// What a report is to contain.
#[derive(Debug, Clone)]
pub struct ReportOptions {
    /// How many lines a table has at most, and how many findings are listed.
    pub top: usize,
    /// When rules fire.
    pub rules: insights::RuleOptions,
    /// What the recording must not exceed.
    pub limits: Vec<(Limit, f64)>,
    /// Which lines are listed, and findings of which.
    pub code: CodeFilter,
}

impl ReportOptions {
    /// Of all lines, without limits.
    #[must_use]
    pub fn new(top: usize, rules: insights::RuleOptions) -> Self {
        Self { top, rules, limits: Vec::new(), code: CodeFilter::default() }
    }
}

/// Computes the report of a recording, or of the part of it that is in its place.
#[must_use]
pub fn build_shown<'a>(
    recording: &Recording<'a>,
    options: &ReportOptions,
    part: Option<&RecordingPart>,
) -> Report<'a> {
    match part {
        Some(part) => build_part(recording, options, part),
        None => build(recording, options),
    }
}

/// Computes the report of a recording.
#[must_use]
pub fn build<'a>(recording: &Recording<'a>, options: &ReportOptions) -> Report<'a> {
    let run = recording.run;
    let ledger = &run.merged;
    let scale = Scale::new(&run.merged, Period::Mean);
    let balances = ledger.balances();
    let suppression = Suppression::new(recording);
    let lines =
        LineTables { recording, scale: &scale, suppression: &suppression, options, of: None };
    let mut sections = vec![totals(ledger, &scale, &balances, "run"), steps(run)];
    let compared = Comparison::new(ledger);
    sections.extend(ranks::sections(recording, compared.as_ref(), options.top));
    let path = critical_path::section(recording, compared.as_ref(), &options.code, options.top);
    let mut costliest = lines.costliest();
    costliest.notes.extend(critical_path::in_short(&path));
    sections.push(path);
    let [breakdown, overlap, usage, idle, launches, queues, copies, arithmetic] =
        run_summary::sections(run);
    sections.extend([breakdown, overlap, devices(ledger), usage, idle, launches, queues, copies]);
    sections.extend([
        arithmetic,
        costliest,
        lines.hottest("lines-cpu", "Lines by own thread time", Quantity::CpuBusy),
        lines.hottest("lines-cuda", "Lines by own CUDA time", Quantity::CudaOwn),
        lines.waits(),
        lines.hottest("lines-waiting", "Lines that wait for something else", Quantity::Waiting),
        run_summary::lines(recording, &options.code, options.top),
        lines.hottest("lines-peak", "Lines by bytes at the peak", Quantity::Peak),
        inputs(run),
        books(&balances),
        reasons(ledger),
    ]);
    let has = |id: &str| sections.iter().any(|it| it.id == id);
    let mut empty: Vec<&str> = ranks::IDS.into_iter().filter(|it| !has(it)).collect();
    empty.extend(sections.iter().filter(|it| it.rows.is_empty()).map(|it| it.id));
    sections.retain(|it| !it.rows.is_empty());
    let mut charts = Vec::from_iter(run_summary::bars(run).map(Chart::Bars));
    charts.extend(ranks::heat_map(recording, compared.as_ref()).map(Chart::Ranks));
    // The rules compare the ranks themselves: of a run of thousands it would be in memory twice.
    drop(compared);
    if !ledger.memory.is_empty() {
        charts.push(Chart::Memory(ledger));
    }
    let mut summary = summary::with_balances(run, &scale, &balances);
    let verdict = verdict::of(ledger, &scale);
    if verdict.as_ref().is_some_and(|it| it.limit == Bottleneck::Launches) {
        // The verdict says it with all its numbers.
        let note = summary::launch_bound(ledger);
        summary.notes.retain(|it| Some(&it.text) != note.as_ref());
    }
    if !options.code.is_empty() {
        summary.notes.push(Note::plain(format!(
            "only lines and findings with {}; all other numbers, and what shares are of, are those of the whole recording",
            options.code.text()
        )));
    }
    let is_wanted = |it: &insights::Finding| lines.passes(&it.place, &it.function);
    Report {
        summary,
        verdict,
        figures: key_figures::of(run, &scale),
        findings: findings(recording, ledger, &options.rules, &suppression, is_wanted),
        top: options.top,
        charts,
        sections,
        empty,
        exceeded: limits::exceeded(&scale, &options.limits),
        filter: options.code.json(),
    }
}

/// The same of a part of the recording, whose amounts are in the place of the whole: what stacks have of it, as sums, with the
/// findings of the whole recording on its lines. What is known of the run alone is not in it: steps, the use of devices.
fn build_part<'a>(
    recording: &Recording<'a>,
    options: &ReportOptions,
    part: &RecordingPart,
) -> Report<'a> {
    let ledger = &recording.run.merged;
    let scale = Scale::new(ledger, Period::Run);
    let balances = ledger.balances();
    let suppression = Suppression::new(recording);
    let lines = LineTables {
        recording,
        scale: &scale,
        suppression: &suppression,
        options,
        of: Some("of part"),
    };
    let mut sections = vec![
        totals(ledger, &scale, &balances, "part"),
        lines.costliest(),
        lines.hottest("lines-cpu", "Lines by own thread time", Quantity::CpuBusy),
        lines.hottest("lines-cuda", "Lines by own CUDA time", Quantity::CudaOwn),
        lines.hottest("lines-sync", "Lines that wait for the device", Quantity::Wait),
        lines.hottest("lines-waiting", "Lines that wait for something else", Quantity::Waiting),
        lines.hottest("lines-alloc", "Lines by allocated bytes", Quantity::Alloc),
        inputs(recording.run),
        books(&balances),
        reasons(ledger),
    ];
    let empty = sections.iter().filter(|it| it.rows.is_empty()).map(|it| it.id).collect();
    sections.retain(|it| !it.rows.is_empty());
    let is_wanted = |it: &insights::Finding| {
        ledger.lines.contains_key(&it.place) && lines.passes(&it.place, &it.function)
    };
    let findings = findings(recording, &part.whole, &options.rules, &suppression, is_wanted);
    let mut summary = part.summary.clone();
    if !options.code.is_empty() {
        let text = format!("only lines and findings with {}", options.code.text());
        summary.notes.push(Note::plain(text));
    }
    summary
        .notes
        .extend((!findings.is_empty()).then_some(RecordingPart::OF_FINDINGS).map(Note::plain));
    Report {
        summary,
        verdict: None,
        figures: Vec::new(),
        findings,
        top: options.top,
        charts: Vec::new(),
        sections,
        empty,
        exceeded: Vec::new(),
        filter: part.filter.clone(),
    }
}

/// What was recorded in all; `of` is what the sums are called.
fn totals(ledger: &Ledger, scale: &Scale<'_>, balances: &[Balance], of: &'static str) -> Section {
    let mut columns = vec![Column::text(""), Column::mixed(of)];
    if scale.period() == Period::Mean {
        columns.extend([Column::mixed("per step"), Column::mixed("outside steps")]);
    }
    columns.push(Column::number("on lines", Unit::Share));
    let mut section = Section::new("totals", "Totals", Subject::Run, columns);
    for mut balance in balances.iter().copied().filter(|it| it.total != 0) {
        if balance.metric == Metric::Waiting {
            // That of idle threads is in no other row.
            balance.total -= ledger.idle_threads.values().map(|it| it.time).sum::<Ns>().0;
            if balance.total == 0 {
                continue;
            }
        }
        let cell = |amount: i64| Cell::amount(balance.metric, amount);
        let mut row = vec![Cell::text(balance.metric.label()), cell(balance.total)];
        if scale.period() == Period::Mean {
            let outside = balance.total - ledger.in_steps.get(balance.metric);
            row.push(Cell::real(scale.total(balance.metric), balance.metric.unit()));
            row.push(cell(outside).unless_zero());
        }
        row.push(Cell::share(balance.lines as f64 / balance.total as f64));
        section.rows.push(row);
    }
    section
}

fn steps(run: &Run) -> Section {
    let columns = [
        Column::number("rank", Unit::Count),
        Column::number("steps", Unit::Count),
        Column::number("mean", Unit::Ns),
        Column::number("shortest", Unit::Ns),
        Column::number("longest", Unit::Ns),
    ];
    let mut section = Section::new("steps", "Steps", Subject::Run, columns);
    for rank in &run.ranks {
        let steps = &rank.steps;
        let (Some(shortest), Some(longest), Some(mean)) =
            (steps.values().min(), steps.values().max(), mean_step(run, rank.rank))
        else {
            continue;
        };
        section.rows.push(vec![
            Cell::integer(rank.rank),
            Cell::integer(steps.len()),
            Cell::duration(mean),
            Cell::duration(*shortest),
            Cell::duration(*longest),
        ]);
    }
    section
}

fn devices(ledger: &Ledger) -> Section {
    let columns = [
        Column::number("rank", Unit::Count),
        Column::number("device", Unit::Count),
        Column::number("busy", Unit::Ns),
        Column::number("idle", Unit::Ns),
        Column::number("utilisation", Unit::Share),
        Column::number("all streams", Unit::Ns),
        Column::text("name"),
    ];
    let mut section = Section::new("devices", "Devices", Subject::Run, columns);
    for (key, it) in &ledger.devices {
        let span = it.busy + it.idle;
        let utilisation = || Cell::share(it.busy.as_f64() / span.as_f64());
        section.rows.push(vec![
            Cell::integer(key.rank),
            Cell::integer(key.device),
            Cell::duration(it.busy),
            Cell::duration(it.idle),
            if span == Ns::ZERO { Cell::default() } else { utilisation() },
            Cell::duration(it.time),
            Cell::text(&it.name),
        ]);
    }
    section
}

/// What the tables of lines are made from.
struct LineTables<'a> {
    recording: &'a Recording<'a>,
    scale: &'a Scale<'a>,
    suppression: &'a Suppression<'a>,
    /// How many lines a table has at most, and which.
    options: &'a ReportOptions,
    /// What shares of time are of, unless of the run or the step: `of part`.
    of: Option<&'static str>,
}

impl<'a> LineTables<'a> {
    /// The lines with most of a quantity, library lines among them where nothing of yours was on the stack.
    fn hottest(&self, id: &'static str, title: &'static str, quantity: Quantity) -> Section {
        let name = match quantity {
            Quantity::Peak => "peak",
            _ if self.scale.period() == Period::Mean => "per step",
            _ if self.of.is_some() => "part",
            _ => "run",
        };
        let columns = [
            Column::number(name, quantity.unit()),
            Column::number(self.share_of(quantity), Unit::Share),
            Column::text(""),
            Column::text("line"),
            Column::text("function"),
        ];
        let mut section = Section::new(id, title, Subject::Lines, columns);
        // Every lock waits for an instant.
        let least = if quantity == Quantity::Waiting { MIN_WAITING } else { 0.0 };
        let is_notable = |it: &LineBooks| {
            let value = self.value(quantity, it);
            0.0 < value && least <= self.scale.share(quantity, value)
        };
        let value = |it: &LineBooks| if is_notable(it) { self.value(quantity, it) } else { 0.0 };
        let (ranked, left_out) = self.ranked(value, |_| true);
        section.left_out = left_out;
        for (key, it) in ranked {
            let value = self.value(quantity, it);
            let share = self.scale.share(quantity, value);
            section.rows.push(vec![
                Cell::quantity(quantity, value).unless_zero(),
                Cell::share(share),
                Cell::evidence(it.evidence),
                Cell::place(self.recording.place(key)),
                Cell::text(&it.function),
            ]);
        }
        section
    }

    /// The lines that take most of the step: computing on the host, on the device, or waiting, whichever is largest.
    fn costliest(&self) -> Section {
        let quantities: &[Quantity] = if self.scale.time() == 0.0 {
            &[Quantity::Peak, Quantity::Alloc]
        } else {
            const TIMES: &[Quantity] = &[
                Quantity::CpuBusy,
                Quantity::CudaOwn,
                Quantity::Wait,
                Quantity::Waiting,
                Quantity::Idle,
            ];
            TIMES
        };
        let mut columns = vec![Column::number(self.share_of(quantities[0]), Unit::Share)];
        columns.extend(quantities.iter().map(|it| Column::number(it.heading(), it.unit())));
        columns.extend([Column::text(""), Column::text("line"), Column::text("function")]);
        let mut section = Section::new("lines", "Lines that cost most", Subject::Lines, columns);
        let (ranked, left_out) = self.ranked(|it| self.scale.line_share(it), |_| true);
        section.left_out = left_out;
        for (key, it) in ranked {
            let mut row = vec![Cell::share(self.scale.line_share(it))];
            let amount = |&of| Cell::quantity(of, self.value(of, it)).unless_zero();
            row.extend(quantities.iter().map(amount));
            row.push(Cell::evidence(it.evidence));
            row.push(Cell::place(self.recording.place(key)));
            row.push(Cell::text(&it.function));
            section.rows.push(row);
        }
        section
    }

    /// What the shares of a quantity are shares of.
    fn share_of(&self, quantity: Quantity) -> &'static str {
        match (quantity.unit(), self.scale.period()) {
            (Unit::Bytes, _) if self.of.is_none() => "of peak",
            (_, Period::Run) => self.of.unwrap_or("of run"),
            (_, Period::Mean | Period::Step(_)) => "of step",
        }
    }

    /// Whether a line is one of those that are listed.
    fn passes(&self, line: &LineKey, function: &str) -> bool {
        self.options.code.passes(self.recording.file(&line.file), function)
    }

    fn value(&self, quantity: Quantity, line: &LineBooks) -> f64 {
        self.scale.value(quantity, line).unwrap_or(0.0)
    }

    /// The lines that wait longest for a device.
    fn waits(&self) -> Section {
        let per_step = self.scale.period() == Period::Mean;
        let columns = [
            Column::number(if per_step { "waits/step" } else { "waits" }, Unit::Count),
            Column::number("wait", Unit::Ns),
            Column::number("idle after", Unit::Ns),
            Column::text(""),
            Column::text("line"),
            Column::text("waits for"),
        ];
        let title = "Lines that wait for the device";
        let mut section = Section::new("lines-sync", title, Subject::Lines, columns);
        let is_suppressed = |key: &LineKey| self.suppression.covers(key, "sync");
        let wait = |it: &LineBooks| self.value(Quantity::Wait, it);
        let (ranked, left_out) = self.ranked(wait, |key| !is_suppressed(key));
        section.left_out = left_out;
        for (key, it) in ranked {
            let cell = |quantity: Quantity| Cell::quantity(quantity, self.value(quantity, it));
            let mut awaited: Vec<_> = it.waits.iter().collect();
            awaited.sort_by_key(|(_, time)| Reverse(**time));
            let awaited = awaited.into_iter().take(MAX_AWAITED);
            section.rows.push(vec![
                cell(Quantity::Waits),
                cell(Quantity::Wait).unless_zero(),
                cell(Quantity::IdleAfterWait).unless_zero(),
                Cell::evidence(it.evidence),
                Cell::place(self.recording.place(key)),
                Cell::places(awaited.map(|(key, _)| self.recording.place(key)).collect()),
            ]);
        }
        let lines = self.recording.run.merged.lines_with_books();
        let hidden: Vec<&LineBooks> = lines
            .filter(|(key, it)| {
                Ns::ZERO < it.sync && is_suppressed(key) && self.passes(key, &it.function)
            })
            .map(|(_, it)| it)
            .collect();
        if !hidden.is_empty() {
            let lines = if hidden.len() == 1 { "line" } else { "lines" };
            section.rows.push(vec![
                Cell::default(),
                Cell::quantity(Quantity::Wait, hidden.iter().map(|it| wait(it)).sum()),
                Cell::default(),
                Cell::default(),
                Cell::text(format!("{} {lines} with # perfline: ignore", hidden.len())),
                Cell::default(),
            ]);
        }
        section
    }

    /// The `top` lines by `value`, largest first, without those that have none or are not wanted; and how many more there are.
    fn ranked(
        &self,
        value: impl Fn(&LineBooks) -> f64,
        is_wanted: impl Fn(&LineKey) -> bool,
    ) -> (Vec<(&'a LineKey, &'a LineBooks)>, usize) {
        let lines = self.recording.run.merged.lines_with_books();
        let mut lines: Vec<_> = lines
            .map(|(key, it)| (value(it), key, it))
            .filter(|(value, key, it)| {
                0.0 < *value && is_wanted(key) && self.passes(key, &it.function)
            })
            .collect();
        // Stable: ties stay in order of file and line.
        lines.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
        let left_out = lines.len().saturating_sub(self.options.top);
        lines.truncate(self.options.top);
        (lines.into_iter().map(|(_, key, it)| (key, it)).collect(), left_out)
    }
}

fn inputs(run: &Run) -> Section {
    let columns = [
        Column::number("rank", Unit::Count),
        Column::text("kind"),
        Column::number("events", Unit::Count),
        Column::number("read", Unit::Bytes),
        Column::text(""),
        Column::text("file"),
    ];
    let mut section = Section::new("inputs", "Inputs", Subject::Recording, columns);
    for input in &run.inputs {
        let name = loader::shown(&input.path);
        section.rows.push(vec![
            Cell::integer(input.rank),
            Cell::text(input.kind.name()),
            Cell::integer(input.events),
            Cell::bytes(i64::try_from(input.bytes).map_or(Bytes::MAX, Bytes)),
            Cell::text(if input.complete { "whole" } else { "in part" }),
            Cell::text(name.as_ref()),
        ]);
        let warnings = input.warnings.iter();
        section.notes.extend(warnings.map(|it| Note::doubt(format!("{name}: {}", warning(it)))));
    }
    section.notes.extend(run.texts_from_git().map(Note::plain));
    section.notes.extend(run.source_doubts().into_iter().map(Note::doubt));
    section
}

/// Σ lines + unattributed = total, to the last digit.
fn books(balances: &[Balance]) -> Section {
    let columns = [
        Column::text(""),
        Column::mixed("lines"),
        Column::mixed("+ unattributed"),
        Column::mixed("= total"),
        Column::text(""),
    ];
    let mut section = Section::new("books", "Books", Subject::Recording, columns);
    for it in balances.iter().filter(|it| !it.is_balanced() || it.total != 0) {
        section.rows.push(vec![
            Cell::text(it.metric.label()),
            Cell::exact(it.metric, it.lines),
            Cell::exact(it.metric, it.unattributed),
            Cell::exact(it.metric, it.total),
            Cell::text(if it.is_balanced() { "balanced" } else { "DOES NOT BALANCE" }),
        ]);
    }
    section
}

/// Why amounts have no line.
fn reasons(ledger: &Ledger) -> Section {
    let metrics = Metric::ALL.map(|it| Column::number(it.label(), it.unit()));
    let columns = std::iter::once(Column::text("because")).chain(metrics);
    let mut section = Section::new("unattributed", "Unattributed", Subject::Recording, columns);
    for (reason, books) in ledger.unattributed.iter() {
        let amounts = Metric::ALL.map(|it| Cell::exact(it, books.get(it)).unless_zero());
        let row = std::iter::once(Cell::text(reason.name().replace('_', " "))).chain(amounts);
        section.rows.push(row.collect());
    }
    section
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    use crate::recording::SourceTexts;
    use crate::terminal::{Colours, Terminal};
    use crate::testing::{TRAIN, TextsInMemory as Texts, recording, sources, training};
    use crate::text;

    fn report(run: &Run, sources: &dyn SourceTexts) -> String {
        let rules = insights::RuleOptions::default();
        let recording = recording(run, sources);
        let report = build(&recording, &ReportOptions::new(3, rules));
        let mut out = Vec::new();
        let terminal = Terminal { colours: Colours::Plain, width: None };
        text::write(&mut out, &report, "--top", &terminal).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_that_are_ignored_are_not_listed() {
        let waits = |comment: &str| {
            let text = TRAIN.replace("> 100:", &format!("> 100:{comment}"));
            let texts = Texts([("/home/me/train.py".into(), text)].into());
            let report = report(&training(), &texts);
            let (_, waits) = report.split_once("Lines that wait for the device\n").unwrap();
            let (waits, _) = waits.split_once("\n\n").unwrap();
            let rows = waits.lines().skip(1).map(|it| it.split_whitespace().collect::<Vec<_>>());
            rows.map(|row| row.join(" ")).collect::<Vec<_>>()
        };
        let listed = waits("");
        assert!(listed.len() == 1 && listed[0].contains("train.py:18"), "{listed:?}");
        assert_eq!(waits("  # perfline: ignore[other]"), listed);
        let expected = ["2.5 ms 1 line with # perfline: ignore"];
        assert_eq!(waits("  # perfline: ignore[sync]"), expected);
    }

    fn overview(width: Option<usize>) -> String {
        let (run, sources) = (training(), sources());
        let rules = insights::RuleOptions::default();
        let options = ReportOptions::new(2, rules);
        let built = build(&recording(&run, &sources), &options);
        let terminal = crate::terminal::Terminal { colours: Colours::Plain, width };
        let mut out = Vec::new();
        text::write_overview(&mut out, &built, &terminal).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_first_screen() {
        expect![[r#"
            trace.json.gz · 2 steps of 10 ms (9 ms to 11 ms)
            H100: 75 % busy · 12 ms CUDA · 2 ms idle · CPU waits 2.5 ms per step
            on lines: 97.1 % of thread time, 100 % of CUDA time · 70.4 % exact, 26.1 % inferred, 3.52 % function
            2 idle threads, left out: they only waited
            ! trace.json.gz is incomplete: the file ends inside an event; everything before was read (at byte 12345)

            Limited by the device; of the step: kernels 60 %, CPU operators 40 %.

            Findings
              train.py:18 gpu-idle: the GPU idles 1.5 ms per step while the CPU is here: with launched work
                that waits for something else (15 % of the step)
                Work was launched and waited for something else: streams that wait for each other, copies,
                collectives.
              train.py:18 sync: the CPU waits 2.5 ms per step here (line inferred) for kernels of train.py:17;
                without it the GPU idles up to 1.5 ms less (15 % of the step)
                Wait for the device only where its result is needed, and as late as possible.
              … and 1 more (--section findings)

            Lines that cost most
              of step  cpu own  cuda own  gpu idle  line         function
                 60 %     3 ms      6 ms    500 µs  train.py:17  Model.forward
                 60 %     4 ms      6 ms            train.py:25  train
              … and 3 more (--top)

            --all prints everything, --section NAMES parts of it: findings, totals, steps, breakdown, overlap,
            devices, device-use, stream-idle, launches, copies, arithmetic, lines, lines-cpu, lines-cuda,
            lines-sync, lines-waiting, lines-flops, lines-peak, inputs, books, unattributed.
        "#]].assert_eq(&overview(None));
    }

    #[test]
    fn what_a_narrow_terminal_has_no_room_for_is_named() {
        let narrow = overview(Some(48));
        assert!(narrow.lines().all(|it| it.chars().count() <= 48), "{narrow}");
        assert!(narrow.contains("too narrow for gpu idle, function"), "{narrow}");
        assert!(!overview(Some(100)).contains("too narrow"));
    }

    #[test]
    fn sections_are_chosen_by_name() {
        let (run, sources) = (training(), sources());
        let rules = insights::RuleOptions::default();
        let options = ReportOptions::new(2, rules);
        let built = build(&recording(&run, &sources), &options);
        let names = ["steps", "ranks"].map(str::to_owned);
        assert_eq!(built.unknown_section(&names), None);
        let unknown = built.unknown_section(&["stpes".to_owned()]).unwrap();
        assert!(
            unknown.starts_with("--section stpes: there is no such section; there are: findings, ")
        );
        let terminal = crate::terminal::Terminal { colours: Colours::Plain, width: None };
        let mut out = Vec::new();
        text::write_sections(&mut out, &built, &names, &terminal).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.contains("\nSteps\n") && text.ends_with("ranks: nothing in this recording\n"),
            "{text}"
        );
    }

    #[test]
    fn a_recording_at_a_glance() {
        expect![[r#"
            trace.json.gz · 2 steps of 10 ms (9 ms to 11 ms)
            H100: 75 % busy · 12 ms CUDA · 2 ms idle · CPU waits 2.5 ms per step
            on lines: 97.1 % of thread time, 100 % of CUDA time · 70.4 % exact, 26.1 % inferred, 3.52 % function
            2 idle threads, left out: they only waited
            ! trace.json.gz is incomplete: the file ends inside an event; everything before was read (at byte 12345)

            Limited by the device; of the step: kernels 60 %, CPU operators 40 %.

            Findings
              train.py:18 gpu-idle: the GPU idles 1.5 ms per step while the CPU is here: with launched work
                that waits for something else (15 % of the step)
                Work was launched and waited for something else: streams that wait for each other, copies,
                collectives.
              train.py:18 sync: the CPU waits 2.5 ms per step here (line inferred) for kernels of train.py:17;
                without it the GPU idles up to 1.5 ms less (15 % of the step)
                Wait for the device only where its result is needed, and as late as possible.
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
              rank  device  stream  idle  the host was late  between kernels
                 0       0       7  4 ms               75 %             25 %

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

            Lines that cost most
              of step  cpu own  cuda own  gpu wait  gpu idle     line         function
                 60 %     3 ms      6 ms              500 µs     train.py:17  Model.forward
                 60 %     4 ms      6 ms                         train.py:25  train
                 26 %   2.6 ms              2.5 ms    1.5 ms  ~  train.py:18  Model.forward
              … and 2 more (--top)

            Lines by own thread time
              per step  of step     line         function
                  4 ms     40 %     train.py:25  train
                  3 ms     30 %     train.py:17  Model.forward
                2.6 ms     26 %  ~  train.py:18  Model.forward
              … and 1 more (--top)

            Lines by own CUDA time
              per step  of step  line         function
                  6 ms     60 %  train.py:17  Model.forward
                  6 ms     60 %  train.py:25  train

            Lines that wait for the device
              waits/step    wait  idle after     line         waits for
                       1  2.5 ms      1.5 ms  ~  train.py:18  train.py:17

            Lines that wait for something else
              per step  of step      line         function
                200 µs      2 %  fn  helper.py:4  load, "fast"

            Lines by FLOPs
              FLOPs  FLOP/s  of peak  FLOPs per byte  limit    line         function
                6 M     3 G     10 %             100  compute  train.py:17  Model.forward

            Lines by bytes at the peak
               peak  of peak  line         function
              1 MiB    100 %  train.py:17  Model.forward

            Inputs
              rank  kind    events     read           file
                 0  kineto    1234  555 KiB  in part  trace.json.gz
              ! trace.json.gz: the file ends inside an event; everything before was read (at byte 12345)
              ! 2 source files were not found (e.g. helper.py): where the trace has no line, time is shown on the function's `def`; pass --root, --site or --map

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
              no python frame       600 µs
              idle thread                    300 µs
        "#]]
        .assert_eq(&report(&training(), &sources()));
    }
}
