//! The ranks of a run beside each other: the sections of the report, `perfline ranks`, and `perfline.ranks/1`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use ::ranks::{
    CauseReason, Comparison, LineCommunication, LineDifference, RankStep, RankSummary, Side,
    differences, rank_steps, ranks_of,
};
use ledger::{LineKey, Ns};

use crate::fields::{FieldValue, object, place_fields, write_list};
use crate::filter::CodeFilter;
use crate::model::{Cell, Column, HeatLayer, HeatMap, Note, Section, Subject, Unit};
use crate::recording::{Recording, mean_step};
use crate::terminal::Terminal;
use crate::{critical_path, summary, text};

/// Says what `perfline ranks` needs.
const ONE_RANK: &str = "this recording is of one rank: name the traces of the other ranks too, or the folder that holds them";

/// The ids of [`sections`].
pub(crate) const IDS: [&str; 2] = ["ranks", "collectives"];

/// The sections of a run of several ranks, as they are `compared`; none of a run of one.
pub(crate) fn sections(
    recording: &Recording<'_>,
    compared: Option<&Comparison>,
    top: usize,
) -> Vec<Section> {
    let Some(compared) = compared else { return Vec::new() };
    let mut found = vec![by_rank(recording, compared), by_line(recording, compared, top)];
    found.retain(|it| !it.rows.is_empty());
    found
}

/// How many ranks and steps a map shows at most: the ranks that others waited for longest, and the last steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapSize {
    /// Ranks.
    pub ranks: usize,
    /// Steps.
    pub steps: usize,
}

impl MapSize {
    /// What a table shows that stands on a page as it is.
    const TABLE: Self = Self { ranks: 64, steps: 24 };
    /// What a page holds, which is one file that is sent around.
    pub const PAGE: Self = Self { ranks: 64, steps: 100 };
    /// What an editor gets.
    pub const EDITOR: Self = Self { ranks: 256, steps: 200 };
}

/// One amount of a step of a rank: its stable name, its name, what it is, and its value.
type StepAmount = (&'static str, &'static str, &'static str, fn(&RankStep) -> Ns);

/// The amounts of a step of a rank.
const STEP_AMOUNTS: [StepAmount; 5] = [
    (
        "waitedFor",
        "waited for",
        "How long others waited for the rank, directly or because one that they waited for stood still for it; of them the longest counts.",
        |it| it.waited_for,
    ),
    ("step", "step time", "How long the step took.", |it| it.time),
    ("compute", "compute", "Kernels that do not communicate, or on a CPU operators.", |it| {
        it.compute
    }),
    ("commWait", "comm wait", "Time in collectives before all ranks had begun.", |it| it.wait),
    ("commTransfer", "comm transfer", "Time in collectives after all ranks had begun.", |it| {
        it.transfer
    }),
];

/// Each rank in each step; `None` where no collective that several ranks recorded is in a step.
pub(crate) fn heat_map(
    recording: &Recording<'_>,
    compared: Option<&Comparison>,
) -> Option<HeatMap> {
    step_map(recording, compared?, MapSize::TABLE)
}

/// The same from the comparison of the ranks, and as large as `size`.
pub(crate) fn step_map(
    recording: &Recording<'_>,
    compared: &Comparison,
    size: MapSize,
) -> Option<HeatMap> {
    let steps = || by_range(recording, rank_steps(&recording.run.merged, compared));
    let is_in_step = compared.matched.iter().any(|it| it.step.is_some());
    is_in_step.then(|| map_of(&steps(), size)).flatten()
}

fn map_of(rows: &[RankStep], size: MapSize) -> Option<HeatMap> {
    let steps: BTreeSet<u32> = rows.iter().map(|it| it.step).collect();
    let left_out_steps = steps.len().saturating_sub(size.steps);
    let steps: Vec<u32> = steps.into_iter().skip(left_out_steps).collect();
    let mut waited_for: BTreeMap<u32, Ns> = BTreeMap::new();
    let mut by_place: BTreeMap<(u32, u32), &RankStep> = BTreeMap::new();
    for it in rows.iter().filter(|it| steps.binary_search(&it.step).is_ok()) {
        let sum = waited_for.entry(it.rank).or_default();
        *sum = sum.saturating_add(it.waited_for);
        by_place.insert((it.rank, it.step), it);
    }
    let mut ranks: Vec<u32> = waited_for.keys().copied().collect();
    let left_out = ranks.len().saturating_sub(size.ranks);
    ranks.sort_by_key(|it| std::cmp::Reverse(waited_for.get(it)));
    ranks.truncate(size.ranks);
    ranks.sort_unstable();
    let layer = |&(id, name, about, amount): &StepAmount| {
        let cell = |rank: u32, step: u32| by_place.get(&(rank, step)).map(|it| amount(it));
        let row = |&rank: &u32| steps.iter().map(|&step| cell(rank, step)).collect();
        HeatLayer { id, name, about, rows: ranks.iter().map(row).collect() }
    };
    let layers = STEP_AMOUNTS.iter().map(layer).collect();
    (!steps.is_empty()).then_some(HeatMap { steps, ranks, layers, left_out, left_out_steps })
}

/// The steps of all ranks as a table.
fn by_step(recording: &Recording<'_>) -> Section {
    let numbers = ["step", "rank"].map(|it| Column::number(it, Unit::Count));
    let amounts = STEP_AMOUNTS.map(|(_, name, ..)| Column::number(name, Unit::Ns));
    let columns = numbers.into_iter().chain(amounts);
    let mut section = Section::new("rank_steps", "Ranks by step", Subject::Run, columns);
    for it in steps(recording) {
        let amounts =
            STEP_AMOUNTS.iter().map(|(.., amount)| Cell::duration(amount(&it)).unless_zero());
        let numbers = [Cell::integer(it.step), Cell::integer(it.rank)];
        section.rows.push(numbers.into_iter().chain(amounts).collect());
    }
    section
}

fn steps(recording: &Recording<'_>) -> Vec<RankStep> {
    let ledger = &recording.run.merged;
    let steps = Comparison::new(ledger).map(|it| rank_steps(ledger, &it)).unwrap_or_default();
    by_range(recording, steps)
}

/// The steps with the time of their ranges, which is that of a step everywhere else.
fn by_range(recording: &Recording<'_>, mut steps: Vec<RankStep>) -> Vec<RankStep> {
    for it in &mut steps {
        let rank = recording.run.ranks.iter().find(|rank| rank.rank == it.rank);
        if let Some(&time) = rank.and_then(|rank| rank.steps.get(&it.step)) {
            it.time = time;
        }
    }
    steps
}

/// A step of a rank, in the order of the columns.
fn step_fields(it: &RankStep) -> [(&'static str, FieldValue<'static>); 7] {
    [
        ("step", FieldValue::number(it.step)),
        ("rank", FieldValue::number(it.rank)),
        ("step_us", time(it.time)),
        ("compute_us", time(it.compute)),
        ("comm_wait_us", time(it.wait)),
        ("comm_transfer_us", time(it.transfer)),
        ("waited_for_us", time(it.waited_for)),
    ]
}

/// Prints the steps of all ranks as CSV, with a header.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_csv(out: &mut dyn Write, recording: &Recording<'_>) -> io::Result<()> {
    let names = step_fields(&RankStep::default()).map(|(name, _)| name);
    writeln!(out, "{}", names.join(","))?;
    for it in steps(recording) {
        writeln!(out, "{}", step_fields(&it).map(|(_, value)| value.csv()).join(","))?;
    }
    Ok(())
}

/// Says which of two ranks is none of the recording, if one is not.
#[must_use]
pub fn unknown_rank(recording: &Recording<'_>, between: Option<(u32, u32)>) -> Option<String> {
    let there = ranks_of(&recording.run.merged);
    let (one, other) = between?;
    let unknown = [one, other].into_iter().find(|it| !there.contains(it))?;
    let there: Vec<String> = there.iter().map(u32::to_string).collect();
    Some(format!("unknown rank `{unknown}`, expected one of: {}", there.join(", ")))
}

/// Prints the ranks of a run, at most `top` lines among them, the lines that two ranks differ by, if two are named, and each step of each rank, if
/// `has_steps`.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_text(
    out: &mut dyn Write,
    recording: &Recording<'_>,
    top: usize,
    between: Option<(u32, u32)>,
    has_steps: bool,
    terminal: &Terminal,
) -> io::Result<()> {
    let scale = metrics::Scale::new(&recording.run.merged, metrics::Period::Mean);
    let mut summary = summary::summary(recording.run, &scale);
    let compared = Comparison::new(&recording.run.merged);
    let mut sections = sections(recording, compared.as_ref(), top);
    if compared.is_some() {
        let path = critical_path::section(recording, compared.as_ref(), CodeFilter::ALL, top);
        sections.extend((!path.rows.is_empty()).then_some(path));
    }
    sections.extend(between.map(|it| by_difference(recording, it, top)));
    sections.extend(has_steps.then(|| by_step(recording)).filter(|it| !it.rows.is_empty()));
    if sections.is_empty() {
        summary.notes.push(Note::doubt(ONE_RANK));
    }
    text::summary(out, &summary, terminal)?;
    sections.iter().try_for_each(|it| text::section(out, it, terminal))
}

fn by_rank(recording: &Recording<'_>, compared: &Comparison) -> Section {
    let columns = [
        Column::number("rank", Unit::Count),
        Column::text("host"),
        Column::number("step", Unit::Ns),
        Column::number("compute", Unit::Ns),
        Column::number("comm wait", Unit::Ns),
        Column::number("comm transfer", Unit::Ns),
        Column::number("data loader", Unit::Ns),
        Column::number("idle", Unit::Ns),
        Column::number("memory peak", Unit::Bytes),
        Column::number("waited for", Unit::Ns),
        Column::number("late at", Unit::Count),
        Column::number("of", Unit::Count),
    ];
    let mut section = Section::new("ranks", "Ranks", Subject::Run, columns);
    for it in &compared.ranks {
        section.rows.push(vec![
            Cell::integer(it.rank),
            Cell::text(it.host.as_str()),
            Cell::duration(step_of(recording, it)),
            Cell::duration(it.compute).unless_zero(),
            Cell::duration(it.wait).unless_zero(),
            Cell::duration(it.transfer).unless_zero(),
            Cell::duration(it.loader).unless_zero(),
            Cell::duration(it.idle).unless_zero(),
            it.memory_peak.map(Cell::bytes).unwrap_or_default(),
            Cell::duration(it.waited_for).unless_zero(),
            Cell::integer(it.late),
            Cell::integer(it.collectives),
        ]);
    }
    let notes = &mut section.notes;
    if let Some(it) = &compared.straggler {
        let name = |line: &LineKey| Some(recording.place(line).to_string());
        notes.push(Note::plain(ide::straggler_message(it, name)));
    }
    if let Some(missing) = compared.missing() {
        let note = format!("{missing}: waiting for a rank that is not counts as transfer");
        notes.push(Note::doubt(note));
    }
    if compared.clocks.are_shifted() {
        let text = crate::model::duration(compared.clocks.uncertainty());
        notes.push(Note::plain(format!(
            "clocks differ and were aligned by the collectives, to ±{text}"
        )));
    }
    match (compared.matched.len(), compared.unmatched) {
        (0, _) if 1 < compared.ranks.len() => {
            notes.push(Note::doubt(
                "no collective or message is recorded on several ranks: nothing shows who waits for whom",
            ));
        }
        (_, 0) => {}
        (_, n) => {
            let are =
                if n == 1 { "collective or message is" } else { "collectives or messages are" };
            notes.push(Note::plain(format!(
                "{n} {are} left out: recorded on one rank alone, or not what the others take part in"
            )));
        }
    }
    section
}

fn by_line(recording: &Recording<'_>, compared: &Comparison, top: usize) -> Section {
    let columns = [
        Column::number("wait", Unit::Ns),
        Column::number("transfer", Unit::Ns),
        Column::number("number", Unit::Count),
        Column::number("bytes", Unit::Bytes),
        Column::number("algorithm", Unit::BytesPerSecond),
        Column::number("bus", Unit::BytesPerSecond),
        Column::mixed("last"),
        Column::text("kind"),
        Column::text("line"),
    ];
    let title = "Collectives by line, all ranks together";
    let mut section = Section::new("collectives", title, Subject::Lines, columns);
    let rate =
        |it: Option<f64>| it.map(|it| Cell::real(it, Unit::BytesPerSecond)).unwrap_or_default();
    section.left_out = compared.lines.len().saturating_sub(top);
    for it in compared.lines.iter().take(top) {
        let last = it.last.map(|(rank, n)| format!("rank {rank} {n} ×")).unwrap_or_default();
        section.rows.push(vec![
            Cell::duration(it.wait),
            Cell::duration(it.transfer),
            Cell::integer(it.collectives),
            it.bytes.map(Cell::bytes).unwrap_or_default(),
            rate(it.algorithm_bandwidth),
            rate(it.bus_bandwidth),
            Cell::text(last),
            Cell::text(it.kind.name()),
            match &it.line {
                Some(line) => Cell::place(recording.place(line)),
                None => Cell::default(),
            },
        ]);
    }
    section
}

/// The lines that one rank spends more or less time on than another.
fn by_difference(recording: &Recording<'_>, (one, other): (u32, u32), top: usize) -> Section {
    let columns = [
        Column::number("difference", Unit::Ns),
        Column::number("one", Unit::Ns),
        Column::number("other", Unit::Ns),
        Column::text("of"),
        Column::text("line"),
        Column::text("function"),
    ];
    let title = "Lines by difference of two ranks";
    let mut section = Section::new("between", title, Subject::Lines, columns);
    let ledger = &recording.run.merged;
    let found = differences(ledger, one, other);
    section.left_out = found.len().saturating_sub(top);
    for it in found.iter().take(top) {
        let function = ledger.lines.get(&it.line).map_or("", |books| books.function.as_str());
        section.rows.push(vec![
            Cell::duration(it.difference()),
            Cell::duration(it.one).unless_zero(),
            Cell::duration(it.other).unless_zero(),
            Cell::text(side(it.side)),
            Cell::place(recording.place(&it.line)),
            Cell::text(function),
        ]);
    }
    section.notes.push(Note::plain(format!("one is rank {one}, other is rank {other}")));
    if found.is_empty() {
        section.notes.push(Note::plain("no line differs"));
    }
    section
}

/// What the time of a side is called.
fn side(side: Side) -> &'static str {
    match side {
        Side::Host => "thread time",
        Side::Device => "CUDA time",
    }
}

fn difference(recording: &Recording<'_>, it: &LineDifference) -> String {
    let [file, number] = place_fields(recording, Some(&it.line));
    object(&[
        ("file", file),
        ("line", number),
        ("on", FieldValue::text(if it.side == Side::Device { "device" } else { "host" })),
        ("one_us", time(it.one)),
        ("other_us", time(it.other)),
        ("difference_us", time(it.difference())),
    ])
}

/// Prints the ranks as `perfline.ranks/1` (docs/cli.md), a rank or a line a line.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_json(
    out: &mut dyn Write,
    recording: &Recording<'_>,
    between: Option<(u32, u32)>,
) -> io::Result<()> {
    let compared = Comparison::new(&recording.run.merged).unwrap_or_default();
    let or_null =
        |text: Option<String>| FieldValue::Json(text.unwrap_or_else(|| "null".to_owned()));
    writeln!(out, r#"{{"schema": "perfline.ranks/1","#)?;
    let world_size = or_null(compared.world_size.map(|it| it.to_string()));
    writeln!(out, r#" "world_size": {},"#, world_size.json())?;
    let missing = compared.missing();
    let missing = missing.map_or(FieldValue::Json("null".to_owned()), FieldValue::text);
    writeln!(out, r#" "missing": {},"#, missing.json())?;
    writeln!(
        out,
        r#" "collectives": {{"matched": {}, "unmatched": {}}},"#,
        compared.matched.len(),
        compared.unmatched
    )?;
    write_list(
        out,
        "clocks",
        compared.clocks.0.iter().map(|(rank, it)| {
            object(&[
                ("rank", FieldValue::number(*rank)),
                ("shift_us", time(it.shift)),
                ("uncertainty_us", time(it.uncertainty)),
            ])
        }),
    )?;
    writeln!(out, ",")?;
    write_list(out, "ranks", compared.ranks.iter().map(|it| object(&rank(recording, it))))?;
    writeln!(out, ",")?;
    write_list(out, "lines", compared.lines.iter().map(|it| line(recording, it)))?;
    writeln!(out, ",")?;
    write_list(out, "steps", steps(recording).iter().map(|it| object(&step_fields(it))))?;
    writeln!(out, ",")?;
    write_list(
        out,
        "stragglers",
        compared.straggler.iter().map(|it| {
            let cause = it.cause.as_ref();
            let [file, number] = place_fields(recording, cause.map(|it| &it.line));
            let reason = cause.and_then(|it| it.reason).map(CauseReason::name);
            let [waits_file, waits_line] = place_fields(recording, it.waits_at.as_ref());
            object(&[
                ("rank", FieldValue::number(it.rank)),
                ("file", file),
                ("line", number),
                ("cost_us", time(it.lateness)),
                ("saving_us", time(it.saving)),
                ("late", FieldValue::number(it.late)),
                ("collectives", FieldValue::number(it.collectives)),
                ("waits_at_file", waits_file),
                ("waits_at_line", waits_line),
                ("here_us", or_null(cause.map(|it| time(it.here).json()))),
                ("others_us", or_null(cause.map(|it| time(it.others).json()))),
                ("reason", or_null(reason.map(|it| FieldValue::text(it).json()))),
            ])
        }),
    )?;
    writeln!(out, ",")?;
    critical_path::write_json(out, recording, &compared)?;
    if let Some((one, other)) = between {
        writeln!(out, ",")?;
        let found = differences(&recording.run.merged, one, other);
        write_list(out, "between", found.iter().map(|it| difference(recording, it)))?;
    }
    writeln!(out, "}}")
}

fn time(time: Ns) -> FieldValue<'static> {
    FieldValue::Time(time)
}

/// How long a step of a rank takes, as everywhere else: by its range, or of the run where there are none.
fn step_of(recording: &Recording<'_>, it: &RankSummary) -> Ns {
    mean_step(recording.run, it.rank).unwrap_or(it.step)
}

/// A rank of a run by name, as `perfline.ranks/1` has it.
pub(crate) type RankField<'a> = (&'static str, FieldValue<'a>);

/// What is said of each rank; nothing of a run of one.
pub(crate) fn of_each_rank(recording: &Recording<'_>, mut take: impl FnMut(&[RankField<'_>])) {
    let compared = Comparison::new(&recording.run.merged).unwrap_or_default();
    compared.ranks.iter().for_each(|it| take(&rank(recording, it)));
}

fn rank<'a>(recording: &Recording<'_>, it: &'a RankSummary) -> [RankField<'a>; 13] {
    [
        ("rank", FieldValue::number(it.rank)),
        ("host", FieldValue::text(&it.host)),
        ("steps", FieldValue::number(it.steps)),
        ("step_us", time(step_of(recording, it))),
        ("compute_us", time(it.compute)),
        ("comm_wait_us", time(it.wait)),
        ("comm_transfer_us", time(it.transfer)),
        ("loader_us", time(it.loader)),
        ("idle_us", time(it.idle)),
        ("memory_peak_bytes", it.memory_peak.map_or(FieldValue::Unknown, FieldValue::bytes)),
        ("waited_for_us", time(it.waited_for)),
        ("late", FieldValue::number(it.late)),
        ("collectives", FieldValue::number(it.collectives)),
    ]
}

fn line(recording: &Recording<'_>, it: &LineCommunication) -> String {
    fn or_null(it: Option<FieldValue<'_>>) -> FieldValue<'_> {
        it.unwrap_or(FieldValue::Json("null".to_owned()))
    }
    let rate = |it: Option<f64>| or_null(it.map(|it| FieldValue::number(it.round() as u64)));
    let [file, number] = place_fields(recording, it.line.as_ref());
    object(&[
        ("file", file),
        ("line", number),
        ("kind", FieldValue::text(it.kind.name())),
        ("collectives", FieldValue::number(it.collectives)),
        ("comm_wait_us", time(it.wait)),
        ("comm_transfer_us", time(it.transfer)),
        ("bytes", or_null(it.bytes.map(FieldValue::bytes))),
        ("algorithm_bandwidth", rate(it.algorithm_bandwidth)),
        ("bus_bandwidth", rate(it.bus_bandwidth)),
        ("last_rank", or_null(it.last.map(|(rank, _)| FieldValue::number(rank)))),
        ("last", or_null(it.last.map(|(_, n)| FieldValue::number(n)))),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(rank: u32, step: u32, waited_for: i64) -> RankStep {
        RankStep { rank, step, time: Ns(1_000), waited_for: Ns(waited_for), ..RankStep::default() }
    }

    #[test]
    fn the_map_has_each_rank_in_each_step() {
        let map =
            map_of(&[step(0, 4, 0), step(1, 4, 100), step(0, 5, 20)], MapSize::TABLE).unwrap();
        assert_eq!((map.steps, map.ranks, map.left_out), (vec![4, 5], vec![0, 1], 0));
        let rows = |layer: usize| map.layers[layer].rows.clone();
        let some = |it: [Option<i64>; 2]| it.map(|it| it.map(Ns)).to_vec();
        assert_eq!(rows(0), [some([Some(0), Some(20)]), some([Some(100), None])]);
        assert_eq!(rows(1), [some([Some(1_000), Some(1_000)]), some([Some(1_000), None])]);
        assert_eq!(map_of(&[], MapSize::TABLE), None);
    }

    #[test]
    fn of_many_ranks_those_that_others_waited_for_are_shown() {
        let mut rows: Vec<RankStep> = (0..1_000).map(|rank| step(rank, 1, 0)).collect();
        rows[707].waited_for = Ns(70);
        let map = map_of(&rows, MapSize::TABLE).unwrap();
        assert_eq!((map.ranks.len(), map.left_out), (64, 936));
        assert!(map.ranks.contains(&707));
    }
}
