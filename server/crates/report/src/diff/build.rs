//! From two recordings to what is said of them.

use std::collections::BTreeMap;
use std::path::Path;

use comparison::{
    AmountDifference, ComparedLine, ComparedRun, Difference, EditedLines, NamedDifference,
};
use ledger::{LineKey, Ns, SourceFit};
use loader::{CommitId, GitBlob, TextOrigin, TextThatRan};
use metrics::{Quantity, numbers};
use pysource::MatchStatus;

use super::finding::FindingDifference;
use crate::model::{Cell, Column, Note, Place, Report, Section, Subject, Summary, Unit};
use crate::part::RecordingPart;
use crate::recording::Recording;

/// From how much faster or slower all lines are (as a share of 1) it is said.
const MIN_DRIFT: f64 = 0.1;

/// A comparison, ready to be printed.
#[derive(Debug)]
pub struct DiffReport<'a> {
    /// The sentences and tables.
    pub report: Report<'a>,
    /// What they are made from.
    pub(crate) difference: Difference,
    pub(crate) findings: Vec<FindingDifference>,
    /// What a line of the base, and of the new run, is called.
    pub(crate) names: [BTreeMap<String, String>; 2],
    /// The first sentence.
    pub(crate) verdict: String,
    /// The texts that ran of the base and of the new run, by key of the ledger.
    pub(super) texts: [BTreeMap<String, TextThatRan>; 2],
}

impl DiffReport<'_> {
    /// Says which part of the base and of the new run was compared, where it was one.
    pub fn name_parts(&mut self, parts: [Option<RecordingPart>; 2]) {
        for (of, part) in ["base", "new"].into_iter().zip(parts) {
            if let Some(RecordingPart { text, extent, .. }) = part {
                let note = Note::plain(format!("{of} with {text}: {extent}"));
                self.report.summary.notes.push(note);
            }
        }
    }

    /// What a line of the base (`is_new` is false) or of the new run is called.
    pub(crate) fn place(&self, line: &LineKey, is_new: bool) -> Place {
        let file = self.names[usize::from(is_new)].get(&line.file).unwrap_or(&line.file);
        Place { file: file.clone(), line: line.line }
    }

    /// Whether that a finding came or went is due to its line: where the line says the same and its time does not differ, one of two
    /// recordings has it by chance, because a threshold lies between them.
    pub(crate) fn is_significant(&self, finding: &FindingDifference) -> bool {
        let is_new = match finding.status() {
            "new" => true,
            "gone" => false,
            _ => return false,
        };
        let is_it = |line: &&ComparedLine| {
            let key = if is_new { &line.new } else { &line.base };
            key.as_ref().is_some_and(|it| self.place(it, is_new) == finding.place)
        };
        let differs =
            |it: &AmountDifference| it.significant == Some(true) && (0.0 < it.delta()) == is_new;
        self.difference.lines.iter().find(is_it).is_none_or(|line| {
            !matches!(line.status, MatchStatus::Same | MatchStatus::Moved)
                || line.amounts.iter().any(differs)
        })
    }
}

/// Compares two recordings; tables have at most `top` rows, findings are those that there are by `rules`.
#[must_use]
pub fn build(
    base: &Recording<'_>,
    new: &Recording<'_>,
    top: usize,
    rules: &insights::RuleOptions,
) -> DiffReport<'static> {
    let texts = [texts(base), texts(new)];
    let difference = difference_with([base, new], &texts);
    let findings = findings(base, new, &difference, rules);
    let names = [base, new]
        .map(|it| it.names.iter().map(|(key, name)| ((*key).to_owned(), name.clone())).collect());
    let verdict = verdict(&difference);
    let mut notes = vec![Note::plain(verdict.clone())];
    notes.extend(drift(&difference));
    notes.push(Note::plain(sources(&texts, &difference)));
    notes.extend(doubts(base, "base"));
    notes.extend(doubts(new, "new"));
    let [old, young] = difference.step.steps;
    let summary = Summary {
        recording: format!("{} → {}", name(base), name(new)),
        extent: format!(" · {old} and {young} steps"),
        notes,
    };
    let mut diff = DiffReport {
        report: Report {
            summary,
            verdict: None,
            figures: Vec::new(),
            findings: Vec::new(),
            top,
            charts: Vec::new(),
            sections: Vec::new(),
            empty: Vec::new(),
            exceeded: Vec::new(),
            filter: serde_json::Value::Null,
        },
        difference,
        findings,
        names,
        verdict,
        texts,
    };
    let mut sections = vec![
        lines(&diff, "faster", "Faster", top, |it| it < 0.0),
        lines(&diff, "slower", "Slower", top, |it| 0.0 < it),
        other_work(&diff, top),
        same_work(&diff, top),
        functions(&diff, top),
        named("operators", "Operators", &diff.difference.operators, top),
        named("kernels", "Kernels", &diff.difference.kernels, top),
        replacements(&diff, top),
        finding_table(&diff, top),
        memory(&diff, top),
        edits(&diff, top),
    ];
    sections.retain(|it| !it.rows.is_empty());
    diff.report.sections = sections;
    diff
}

/// What a recording is called: its first file.
pub(crate) fn name(recording: &Recording<'_>) -> String {
    let path = recording.run.inputs.first().map(|it| loader::shown(&it.path).into_owned());
    path.unwrap_or_default()
}

/// Compares two recordings, line by line, and says in a sentence whether the steps differ and how many lines do.
#[must_use]
pub fn compare(base: &Recording<'_>, new: &Recording<'_>) -> (Difference, String) {
    let difference = difference_with([base, new], &[texts(base), texts(new)]);
    let verdict = verdict(&difference);
    (difference, verdict)
}

fn difference_with(
    [base, new]: [&Recording<'_>; 2],
    texts: &[BTreeMap<String, TextThatRan>; 2],
) -> Difference {
    Difference::new(&compared(base, &texts[0]), &compared(new, &texts[1]))
}

/// The texts that ran, of your files, by key of the ledger.
fn texts(recording: &Recording<'_>) -> BTreeMap<String, TextThatRan> {
    let files = recording.run.merged.files.iter().filter(|(_, it)| it.is_user_code);
    let read = |path: &Path| recording.sources.read(path);
    files
        .filter_map(|(key, _)| Some((key.clone(), recording.run.text_that_ran(key, read)?)))
        .collect()
}

fn compared<'a>(
    recording: &'a Recording<'_>,
    texts: &'a BTreeMap<String, TextThatRan>,
) -> ComparedRun<'a> {
    ComparedRun {
        ledger: &recording.run.merged,
        names: recording.names.iter().map(|(key, name)| (*key, name.as_str())).collect(),
        texts: texts.iter().map(|(key, text)| (key.as_str(), &*text.text)).collect(),
    }
}

/// What rules find in both runs, or in one of them; the largest difference first.
fn findings(
    base: &Recording<'_>,
    new: &Recording<'_>,
    difference: &Difference,
    rules: &insights::RuleOptions,
) -> Vec<FindingDifference> {
    let cost = |it: &insights::Finding| it.cost_per_step.unwrap_or(it.cost);
    let mut old = insights::find(&base.run.merged, rules);
    let mut found = Vec::new();
    for it in insights::find(&new.run.merged, rules) {
        let same = old.iter().position(|other| {
            other.rule == it.rule && difference.correspond(&other.place, &it.place)
        });
        let before = same.map(|place| cost(&old.remove(place)));
        let place = new.place(&it.place);
        found.push(FindingDifference { rule: it.rule, place, cost: [before, Some(cost(&it))] });
    }
    found.extend(old.iter().map(|it| FindingDifference {
        rule: it.rule,
        place: base.place(&it.place),
        cost: [Some(cost(it)), None],
    }));
    let delta = |it: &FindingDifference| {
        let [base, new] = it.cost.map(Option::unwrap_or_default);
        (new - base).abs()
    };
    found.sort_by_key(|it| std::cmp::Reverse(delta(it)));
    found
}

/// Steps of each recording with which a difference can be significant at all: 2 of the 252 orders of five and five times are
/// 0.8 %, where 1 % is allowed.
const MIN_STEPS: usize = 5;

/// Whether the steps differ, and how many lines do; first of all, whether the recordings can be compared.
fn verdict(difference: &Difference) -> String {
    let times = verdict_of_times(difference);
    if difference.are_strangers {
        return format!(
            "The recordings seem to be of different programs: files of one name take nearly no time in them, and most lines \
             differ. {times}"
        );
    }
    times
}

fn verdict_of_times(difference: &Difference) -> String {
    let step = &difference.step;
    let [base, new] = step.mean;
    let [was, is] = step.mean.map(numbers::duration);
    let (faster, slower) = counts(difference);
    let lines = match (faster, slower) {
        (0, 0) => match difference.other_work.len() {
            0 => "no line differs by more than the noise".to_owned(),
            1 => "no line differs by more than the noise, and 1 edited line calls other operators"
                .to_owned(),
            n => format!(
                "no line differs by more than the noise, and {n} edited lines call other operators"
            ),
        },
        (faster, 0) => format!("{} faster", lines_of(faster)),
        (0, slower) => format!("{} slower", lines_of(slower)),
        (faster, slower) => format!("{} faster, {slower} slower", lines_of(faster)),
    };
    let whole = if step.steps.contains(&0) { "The recording takes" } else { "A step takes" };
    match step.significant {
        None => format!(
            "{whole} {is} and took {was}; with fewer than two steps in each recording, nothing says how far times vary."
        ),
        Some(true) if new < base => {
            let share = numbers::percent((base - new) / base);
            format!("{whole} {is} instead of {was}: {share} less; {lines}.")
        }
        Some(true) => {
            let share = numbers::percent((new - base) / base);
            format!("{whole} {is} instead of {was}: {share} more; {lines}.")
        }
        Some(false) if step.is_same_work => format!(
            "{whole} {is} and took {was}, with the same work in it, as between two runs of one program; {lines}."
        ),
        Some(false) => {
            let few = step.steps.iter().min().is_some_and(|it| *it < MIN_STEPS);
            let more = if few { " (record at least 5 steps of each)" } else { "" };
            format!("{whole} {is} and took {was}: not more than the steps vary{more}; {lines}.")
        }
    }
}

fn lines_of(number: usize) -> String {
    if number == 1 { "1 line is".to_owned() } else { format!("{number} lines are") }
}

/// How many lines are faster, and slower, by more than the noise.
fn counts(difference: &Difference) -> (usize, usize) {
    let shown = difference.lines.iter().filter_map(ComparedLine::largest_time);
    let deltas: Vec<f64> = shown.map(|it| it.delta()).collect();
    let faster = deltas.iter().filter(|it| **it < 0.0).count();
    (faster, deltas.len() - faster)
}

fn drift(difference: &Difference) -> Option<Note> {
    let drift = &difference.drift;
    let factor = drift.factor;
    (MIN_DRIFT < factor.ln().abs()).then(|| {
        Note::doubt(format!(
            "{} lines that did not change take {} times as long in the new run (median): the machine, its load or a setting \
             differs. A line counts as different only if it differs from that too.",
            drift.lines,
            numbers::count(factor)
        ))
    })
}

/// Where the lines were compared by their text.
fn sources(texts: &[BTreeMap<String, TextThatRan>; 2], difference: &Difference) -> String {
    let [old, young] = [texts[0].len(), texts[1].len()];
    if old == 0 || young == 0 {
        return "Lines are compared by their numbers and functions: the text that ran is not known of both (--base-root, --root)."
            .to_owned();
    }
    let edits = match difference.edits.len() {
        0 => "no statement differs".to_owned(),
        1 => "1 place differs".to_owned(),
        n => format!("{n} places differ"),
    };
    let [old, young] = texts.each_ref().map(|it| {
        let from = |origin: TextOrigin, what: &str| {
            let n = it.values().filter(|it| it.origin == origin).count();
            (0 < n).then(|| format!("{n} {what}"))
        };
        let mut origins = vec![
            from(TextOrigin::Recorded, "recorded"),
            from(TextOrigin::Kept, "kept"),
            from(TextOrigin::File, "on disk"),
            from(TextOrigin::NewerFile, "on disk, changed since"),
            from(TextOrigin::ArrangedFile, "on disk, with functions put where they ran"),
        ];
        // Several files of one commit are of several blobs.
        let mut by_commit: BTreeMap<CommitId, (usize, GitBlob)> = BTreeMap::new();
        for it in it.values() {
            if let TextOrigin::Git(blob) = it.origin {
                by_commit.entry(blob.commit).or_insert((0, blob)).0 += 1;
            }
        }
        origins.extend(by_commit.into_values().map(|(n, it)| Some(format!("{n} from {it}"))));
        origins.into_iter().flatten().collect::<Vec<_>>().join(", ")
    });
    format!(
        "Lines are matched through the sources ({old} of the base; {young} of the new run): {edits}."
    )
}

/// What of the sources is not the text that ran.
fn doubts(recording: &Recording<'_>, which: &str) -> Option<Note> {
    let files = recording.run.merged.files.iter().filter(|(_, it)| it.is_user_code);
    let is_unknown = |key: &str, fit: SourceFit| {
        fit != SourceFit::Fits && !recording.run.texts.contains_key(key)
    };
    let unknown = files.filter(|(key, it)| is_unknown(key, it.fit) && it.recorded.ends_with(".py"));
    let unknown: Vec<_> = unknown.map(|(_, it)| it).collect();
    let first = unknown.first()?;
    let why = match first.fit {
        SourceFit::Edited => "the file was edited since",
        _ => "no such file was found",
    };
    let more = match unknown.len() {
        1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    Some(Note::doubt(format!(
        "The text of {}{more} as the {which} run had it is not known ({why}): it is compared by function.",
        first.recorded
    )))
}

/// `changed, was :12`: what became of a line and where it was.
fn became(status: MatchStatus, base: Option<&Place>, new: Option<&Place>) -> String {
    let was = match (base, new) {
        (Some(base), Some(new)) if base.file != new.file => format!("was {base}"),
        (Some(base), Some(new)) if base.line != new.line => format!("was :{}", base.line),
        _ => String::new(),
    };
    let status = if status == MatchStatus::Same { "" } else { status.name() };
    match (status, was.as_str()) {
        ("", was) => was.to_owned(),
        (status, "") => status.to_owned(),
        (status, was) => format!("{status}, {was}"),
    }
}

/// The lines that are faster, or slower.
fn lines(
    diff: &DiffReport<'_>,
    id: &'static str,
    title: &'static str,
    top: usize,
    is_wanted: impl Fn(f64) -> bool,
) -> Section {
    let rows = diff.difference.lines.iter().filter_map(|it| Some((it, it.largest_time()?)));
    let rows = rows.filter(|(_, it)| is_wanted(it.delta())).collect();
    line_table(diff, Section::new(id, title, Subject::Lines, line_columns()), rows, top)
}

/// Operators that are named of a line.
const MAX_OPERATORS: usize = 3;

/// Edited lines that call other operators, or the same more or less often.
fn other_work(diff: &DiffReport<'_>, top: usize) -> Section {
    let columns = [
        Column::number("base", Unit::Ns),
        Column::number("new", Unit::Ns),
        Column::text(""),
        Column::text("line"),
        Column::text(""),
        Column::text("calls of operators"),
    ];
    let title = "Other work on edited lines";
    let mut section = Section::new("other-work", title, Subject::Lines, columns);
    for it in diff.difference.other_work.iter().take(top) {
        let base = it.base.as_ref().map(|it| diff.place(it, false));
        let new = it.new.as_ref().map(|it| diff.place(it, true));
        let status = became(it.status, base.as_ref(), new.as_ref());
        let calls = it.operators.iter().take(MAX_OPERATORS).map(|it| {
            let [base, new] = it.calls.map(numbers::count);
            format!("{} {base} → {new}", it.name)
        });
        let mut calls = calls.collect::<Vec<_>>().join(", ");
        let more = it.operators.len().saturating_sub(MAX_OPERATORS);
        if 0 < more {
            calls.push_str(&format!(" +{more}"));
        }
        section.rows.push(vec![
            Cell::quantity(Quantity::CpuBusy, it.time[0]).unless_zero(),
            Cell::quantity(Quantity::CpuBusy, it.time[1]).unless_zero(),
            Cell::evidence(it.evidence),
            new.or(base).map(Cell::place).unwrap_or_default(),
            Cell::text(status),
            Cell::text(calls),
        ]);
    }
    note_more(&mut section, diff.difference.other_work.len(), top);
    section.notes.push(Note::plain(
        "Counts do not depend on the machine; base and new are own thread time, in which the difference may be lost in the \
         noise."
            .to_owned(),
    ));
    section
}

/// The lines that do the same in both runs and take another time for it.
fn same_work(diff: &DiffReport<'_>, top: usize) -> Section {
    let rows = diff.difference.lines.iter();
    let rows = rows.flat_map(|it| it.amounts.iter().map(move |amount| (it, amount)));
    let rows = rows.filter(|(_, it)| it.is_same_work).collect();
    let title = "The same work in another time";
    let section = Section::new("same-work", title, Subject::Lines, line_columns());
    let mut section = line_table(diff, section, rows, top);
    section.notes.push(Note::plain(
        "The same calls, operators and bytes. Where its memory lies makes a process up to three times as slow in such lines: they \
         count neither as faster nor as slower."
            .to_owned(),
    ));
    section
}

/// Says how many of the rows of a table are left out.
fn note_more(section: &mut Section, n_rows: usize, top: usize) {
    if top < n_rows {
        section.notes.push(Note::plain(format!("… and {} more (--top)", n_rows - top)));
    }
}

fn line_columns() -> [Column; 8] {
    [
        Column::number("change", Unit::Ns),
        Column::number("base", Unit::Ns),
        Column::number("new", Unit::Ns),
        Column::text("of"),
        Column::text(""),
        Column::text("line"),
        Column::text(""),
        Column::text("function"),
    ]
}

/// Lines with one of their times each, the largest difference first.
fn line_table(
    diff: &DiffReport<'_>,
    mut section: Section,
    mut rows: Vec<(&ComparedLine, &AmountDifference)>,
    top: usize,
) -> Section {
    rows.sort_by(|(_, a), (_, b)| b.delta().abs().total_cmp(&a.delta().abs()));
    note_more(&mut section, rows.len(), top);
    for (line, it) in rows.into_iter().take(top) {
        let base = line.base.as_ref().map(|it| diff.place(it, false));
        let new = line.new.as_ref().map(|it| diff.place(it, true));
        let status = became(line.status, base.as_ref(), new.as_ref());
        section.rows.push(vec![
            Cell::difference(it.delta(), Unit::Ns),
            Cell::quantity(it.quantity, it.base).unless_zero(),
            Cell::quantity(it.quantity, it.new).unless_zero(),
            Cell::text(it.quantity.heading()),
            Cell::evidence(line.evidence),
            new.or(base).map(Cell::place).unwrap_or_default(),
            Cell::text(status),
            Cell::text(&line.function),
        ]);
    }
    section
}

fn functions(diff: &DiffReport<'_>, top: usize) -> Section {
    let columns = [
        Column::number("change", Unit::Ns),
        Column::number("base", Unit::Ns),
        Column::number("new", Unit::Ns),
        Column::text("of"),
        Column::text("function"),
        Column::text(""),
    ];
    let mut section =
        Section::new("functions", "Functions, their own lines", Subject::Lines, columns);
    let rows = diff.difference.functions.iter().flat_map(|it| {
        let notable = it.amounts.iter().filter(|it| it.significant == Some(true));
        notable
            .max_by(|a, b| a.delta().abs().total_cmp(&b.delta().abs()))
            .map(|amount| (it, amount))
    });
    for (it, amount) in rows.take(top) {
        let was = it.base_function.as_ref().map(|it| format!("was {it}")).unwrap_or_default();
        let name = match it.function.as_str() {
            "" | "<module>" => diff.names[1].get(&it.file).unwrap_or(&it.file),
            name => name,
        };
        section.rows.push(vec![
            Cell::difference(amount.delta(), Unit::Ns),
            Cell::quantity(amount.quantity, amount.base).unless_zero(),
            Cell::quantity(amount.quantity, amount.new).unless_zero(),
            Cell::text(amount.quantity.heading()),
            Cell::text(name),
            Cell::text(was),
        ]);
    }
    section
}

fn named(
    id: &'static str,
    title: &'static str,
    differences: &[NamedDifference],
    top: usize,
) -> Section {
    let columns = [
        Column::number("change", Unit::Ns),
        Column::number("base", Unit::Ns),
        Column::number("new", Unit::Ns),
        Column::number("calls", Unit::Count),
        Column::number("now", Unit::Count),
        Column::text("name"),
    ];
    let mut section = Section::new(id, title, Subject::Run, columns);
    for it in differences.iter().filter(|it| it.significant == Some(true)).take(top) {
        let name =
            if id == "kernels" { ledger::shorten_kernel_name(&it.name) } else { it.name.clone() };
        section.rows.push(vec![
            Cell::difference(it.delta(), Unit::Ns),
            Cell::real(it.time[0], Unit::Ns).unless_zero(),
            Cell::real(it.time[1], Unit::Ns).unless_zero(),
            Cell::count(it.calls[0]).unless_zero(),
            Cell::count(it.calls[1]).unless_zero(),
            Cell::text(name),
        ]);
    }
    section
}

fn replacements(diff: &DiffReport<'_>, top: usize) -> Section {
    let columns = [
        Column::number("base", Unit::Ns),
        Column::number("new", Unit::Ns),
        Column::text("line"),
        Column::text("operator"),
        Column::text("kernel in the base"),
        Column::text("kernel now"),
    ];
    let title = "Operators that run on other kernels";
    let mut section = Section::new("replaced-kernels", title, Subject::Lines, columns);
    let first = |names: &[String]| {
        let name = names.first().map(|it| ledger::shorten_kernel_name(it)).unwrap_or_default();
        match names.len() {
            0 | 1 => name,
            n => format!("{name} +{}", n - 1),
        }
    };
    for it in diff.difference.replacements.iter().take(top) {
        section.rows.push(vec![
            Cell::real(it.gone.1, Unit::Ns),
            Cell::real(it.came.1, Unit::Ns),
            Cell::place(diff.place(&it.line, true)),
            Cell::text(it.operators.join(", ")),
            Cell::text(first(&it.gone.0)),
            Cell::text(first(&it.came.0)),
        ]);
    }
    section
}

fn finding_table(diff: &DiffReport<'_>, top: usize) -> Section {
    let columns = [
        Column::text(""),
        Column::number("base", Unit::Ns),
        Column::number("new", Unit::Ns),
        Column::text("rule"),
        Column::text("line"),
    ];
    let mut section =
        Section::new("findings", "Findings that came or went", Subject::Lines, columns);
    let changed = diff.findings.iter().filter(|it| diff.is_significant(it));
    for it in changed.take(top) {
        let cost = |cost: Option<Ns>| cost.map(Cell::duration).unwrap_or_default();
        section.rows.push(vec![
            Cell::text(it.status()),
            cost(it.cost[0]),
            cost(it.cost[1]),
            Cell::text(it.rule),
            Cell::place(it.place.clone()),
        ]);
    }
    section
}

/// Lines that hold more or less memory at the peak.
fn memory(diff: &DiffReport<'_>, top: usize) -> Section {
    let columns = [
        Column::number("change", Unit::Bytes),
        Column::number("base", Unit::Bytes),
        Column::number("new", Unit::Bytes),
        Column::text("line"),
        Column::text("function"),
    ];
    let mut section = Section::new("memory", "Memory in use at the peak", Subject::Lines, columns);
    let rows = diff.difference.lines.iter().filter_map(|line| {
        let peak = line.amounts.iter().find(|it| it.quantity == Quantity::Peak)?;
        (peak.significant == Some(true)).then_some((line, peak))
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by(|(_, a), (_, b)| b.delta().abs().total_cmp(&a.delta().abs()));
    for (line, it) in rows.into_iter().take(top) {
        let base = line.base.as_ref().map(|it| diff.place(it, false));
        let new = line.new.as_ref().map(|it| diff.place(it, true));
        section.rows.push(vec![
            Cell::difference(it.delta(), Unit::Bytes),
            Cell::quantity(it.quantity, it.base).unless_zero(),
            Cell::quantity(it.quantity, it.new).unless_zero(),
            new.or(base).map(Cell::place).unwrap_or_default(),
            Cell::text(&line.function),
        ]);
    }
    section
}

/// What differs between the sources.
fn edits(diff: &DiffReport<'_>, top: usize) -> Section {
    let columns = [Column::text(""), Column::text("in the base"), Column::text("now")];
    let mut section = Section::new("edits", "What differs in the sources", Subject::Lines, columns);
    let place = |line: &Option<LineKey>, is_new: bool| {
        let line = line.as_ref().map(|it| diff.place(it, is_new));
        line.map(Cell::place).unwrap_or_default()
    };
    for EditedLines { base, new, status } in diff.difference.edits.iter().take(top) {
        let row = vec![Cell::text(status.name()), place(base, false), place(new, true)];
        section.rows.push(row);
    }
    note_more(&mut section, diff.difference.edits.len(), top);
    section
}
