//! The report as data. Printers take these values and neither compute nor word anything.

use insights::Severity;
use ledger::{Bytes, Evidence, Ledger, Metric, Ns};
pub use metrics::Unit;
use metrics::{Quantity, mark, numbers};

/// A recording at a glance.
#[derive(Debug, Clone)]
pub struct Report<'a> {
    /// What the recording is.
    pub summary: Summary,
    /// What limits the step; `None` where the recording has no time.
    pub verdict: Option<Verdict>,
    /// The numbers to look at first.
    pub figures: Vec<Figure>,
    /// What the rules found and no comment suppresses, the costliest first.
    pub findings: Vec<ReportedFinding>,
    /// How many findings are listed.
    pub top: usize,
    /// What is drawn where the output can show pictures.
    pub charts: Vec<Chart<'a>>,
    /// The tables, in the order of the text. None is empty.
    pub sections: Vec<Section>,
    /// The ids of the tables that have nothing to say of this recording.
    pub empty: Vec<&'static str>,
    /// One sentence for each limit that the recording exceeds.
    pub exceeded: Vec<String>,
    /// What the filter says, as contracts have it; null without one.
    pub filter: serde_json::Value,
}

/// The name of the findings among the sections.
pub(crate) const FINDINGS: &str = "findings";

impl Report<'_> {
    /// Says which of `names` is no section, nor the findings; `None` where all are.
    #[must_use]
    pub fn unknown_section(&self, names: &[String]) -> Option<String> {
        let known = || {
            let sections = self.sections.iter().map(|it| it.id);
            [FINDINGS].into_iter().chain(sections).chain(self.empty.iter().copied())
        };
        let unknown = names.iter().find(|name| known().all(|it| it != *name))?;
        let known: Vec<&str> = known().collect();
        Some(format!(
            "--section {unknown}: there is no such section; there are: {}",
            known.join(", ")
        ))
    }
}

/// What limits the step (the recording, where it has no steps), with the shares that say so.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// What limits it.
    pub limit: Bottleneck,
    /// What each part takes as a share of 1, by stable name, the largest first. Each instant counts to one part.
    pub parts: Vec<(&'static str, f64)>,
    /// The same in a sentence.
    pub text: String,
}

/// What limits the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bottleneck {
    /// Work of the device.
    Device,
    /// The host cannot launch kernels as fast as the device runs them.
    Launches,
    /// Collectives that no kernel hides.
    Communication,
    /// Waiting for the data loader.
    DataLoader,
    /// Work of the host.
    Host,
    /// Waiting for locks, queues, sockets or `sleep`.
    Waiting,
    /// Two of these, neither of them by much more than the other.
    Mixed,
}

impl Bottleneck {
    /// Stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Launches => "launches",
            Self::Communication => "communication",
            Self::DataLoader => "data_loader",
            Self::Host => "host",
            Self::Waiting => "waiting",
            Self::Mixed => "mixed",
        }
    }
}

/// What a recording is, in a few lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The name of its first file.
    pub recording: String,
    /// What follows the name: further files, ranks, steps. Begins with its separator, or is empty.
    pub extent: String,
    /// What the devices did, how much has a line, what is missing.
    pub notes: Vec<Note>,
}

impl Summary {
    /// The first line.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{}{}", self.recording, self.extent)
    }
}

/// A line of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What it says; warnings begin with `! `.
    pub text: String,
    /// How much it matters.
    pub level: Level,
}

impl Note {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), level: Level::Plain }
    }

    pub(crate) fn doubt(text: impl Into<String>) -> Self {
        Self { text: text.into(), level: Level::Doubt }
    }

    pub(crate) fn alarm(text: impl Into<String>) -> Self {
        Self { text: text.into(), level: Level::Alarm }
    }

    /// The text as people read it: with a mark, unless it merely informs.
    pub(crate) fn marked(&self) -> String {
        match self.level {
            Level::Plain => self.text.clone(),
            Level::Doubt | Level::Alarm => format!("! {}", self.text),
        }
    }
}

/// How much a note matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// It informs.
    Plain,
    /// Numbers may be less exact than they could be.
    Doubt,
    /// Numbers are incomplete or wrong.
    Alarm,
}

impl Level {
    /// Stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Doubt => "doubt",
            Self::Alarm => "alarm",
        }
    }
}

/// A number with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// What it is.
    pub name: &'static str,
    /// The number as it is shown.
    pub text: String,
}

/// What a rule found.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedFinding {
    /// Id of the rule, stable.
    pub rule: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// The line that costs.
    pub place: Place,
    /// The function that the line is in.
    pub function: String,
    /// How the line is known.
    pub evidence: Evidence,
    /// What it costs over the whole recording, all ranks together.
    pub cost: Ns,
    /// What it costs in the mean step of a rank; `None` where the recording has no steps.
    pub cost_per_step: Option<Ns>,
    /// The cost as a share of 1: of the step, or of the recording where it has no steps.
    pub share: f64,
    /// What is wrong, in a sentence that begins with the rule.
    pub message: String,
    /// What to do about it.
    pub remedy: &'static str,
}

/// A picture.
#[derive(Debug, Clone)]
pub enum Chart<'a> {
    /// What each step (of several ranks, each rank's mean step) went to.
    Bars(Vec<Bar>),
    /// Each rank, step by step.
    Ranks(HeatMap),
    /// Device memory over time, of every device of the ledger.
    Memory(&'a Ledger),
    /// The sources of two runs.
    Sources(Vec<SourcePair>),
}

/// A file as it ran in two runs, side by side: where its text or what its lines cost differs.
#[derive(Debug, Clone, PartialEq)]
pub struct SourcePair {
    /// What the file is called.
    pub name: String,
    /// The headings of what lines cost in a run, per step of a rank.
    pub columns: Vec<&'static str>,
    /// In the order of the new run's lines.
    pub rows: Vec<SideRow>,
    /// Rows that would be shown, but are too many.
    pub left_out: usize,
}

/// A row of two texts.
#[derive(Debug, Clone, PartialEq)]
pub enum SideRow {
    /// Lines are left out before the next row, which is of this function; empty at the level of the module.
    Gap(String),
    /// A line of either text, or of both.
    Lines(Box<SideLines>),
}

/// A line of either text, or of both.
#[derive(Debug, Clone, PartialEq)]
pub struct SideLines {
    /// The line of the base.
    pub base: Option<SideLine>,
    /// The line of the new run that took its place.
    pub new: Option<SideLine>,
    /// By how much the time of the line differs, where that exceeds the noise.
    pub change: Cell,
}

impl SideLines {
    /// Whether the texts differ.
    #[must_use]
    pub fn is_edited(&self) -> bool {
        match (&self.base, &self.new) {
            (Some(base), Some(new)) => base.text != new.text,
            _ => true,
        }
    }
}

/// A line of one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideLine {
    /// 1-based.
    pub number: u32,
    /// As it ran.
    pub text: String,
    /// How the line is known, as text marks it; empty for exact ones.
    pub mark: &'static str,
    /// What it costs, by column of the pair; empty for nothing.
    pub costs: Vec<String>,
}

/// Ranks and steps, with several amounts to choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeatMap {
    /// The numbers of the steps.
    pub steps: Vec<u32>,
    /// The ranks that are shown, by number.
    pub ranks: Vec<u32>,
    /// The amounts, the first of which is shown unasked.
    pub layers: Vec<HeatLayer>,
    /// Ranks that are not shown: others waited less for them.
    pub left_out: usize,
    /// Steps that are not shown: the first ones.
    pub left_out_steps: usize,
}

/// One amount of a [`HeatMap`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeatLayer {
    /// Stable name.
    pub id: &'static str,
    /// What it is called.
    pub name: &'static str,
    /// What it is, as a sentence.
    pub about: &'static str,
    /// Of each rank, the amount in each step; `None` of a step that the rank did not record.
    pub rows: Vec<Vec<Option<Ns>>>,
}

/// A bar of parts that follow each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// What it stands for.
    pub name: String,
    /// Its length in nanoseconds.
    pub length: f64,
    /// The weights of its parts, with their names; they need not add up to the length.
    pub parts: Vec<(&'static str, Ns)>,
}

/// A table with what has to be said about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Stable name.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// What its rows are about.
    pub subject: Subject,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows: a cell for each column.
    pub rows: Vec<Vec<Cell>>,
    /// How many more rows there are that are not listed.
    pub left_out: usize,
    /// What stands below the table.
    pub notes: Vec<Note>,
}

/// What the rows of a section are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// The run as a whole, its ranks, devices and steps.
    Run,
    /// Lines of source.
    Lines,
    /// What was read, and whether its amounts add up.
    Recording,
}

impl Subject {
    /// Stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Lines => "lines",
            Self::Recording => "recording",
        }
    }
}

impl Section {
    pub(crate) fn new(
        id: &'static str,
        title: &'static str,
        subject: Subject,
        columns: impl IntoIterator<Item = Column>,
    ) -> Self {
        let columns = columns.into_iter().collect();
        Self { id, title, subject, columns, rows: Vec::new(), left_out: 0, notes: Vec::new() }
    }

    /// The columns that are shown: those with a cell that says something.
    #[must_use]
    pub fn used_columns(&self) -> Vec<usize> {
        let is_used = |&index: &usize| self.rows.iter().any(|row| !row[index].text.is_empty());
        (0..self.columns.len()).filter(is_used).collect()
    }
}

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its heading; empty where the cells explain themselves.
    pub name: &'static str,
    /// The unit of its values; `None` where they are no numbers, or of different units.
    pub unit: Option<Unit>,
    /// Where its text stands.
    pub align: Align,
}

impl Column {
    /// A column of text.
    pub(crate) const fn text(name: &'static str) -> Self {
        Self { name, unit: None, align: Align::Left }
    }

    /// A column of numbers.
    pub(crate) const fn number(name: &'static str, unit: Unit) -> Self {
        Self { name, unit: Some(unit), align: Align::Right }
    }

    /// A column of numbers of different units, or of short labels that stand as numbers do.
    pub(crate) const fn mixed(name: &'static str) -> Self {
        Self { name, unit: None, align: Align::Right }
    }
}

/// Where the text of a column stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// At the left.
    Left,
    /// At the right.
    Right,
}

impl Align {
    /// Stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Right => "right",
        }
    }
}

/// A line of a source file, as it is called in output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The path relative to the root where the file was found below it, else as recorded.
    pub file: String,
    /// From 1, in the text as recorded.
    pub line: u32,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// What stands in a cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cell {
    /// The value, for programs.
    pub value: CellValue,
    /// The value as it is shown.
    pub text: String,
}

/// The value of a cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum CellValue {
    /// Nothing to say.
    #[default]
    Nothing,
    /// The text alone.
    Text,
    /// A whole number.
    Integer(i64, Unit),
    /// A mean, a share or a rate.
    Real(f64, Unit),
    /// Lines of source.
    Places(Vec<Place>),
    /// How a line is known.
    Evidence(Evidence),
}

impl Cell {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { value: CellValue::Text, text: text.into() }
    }

    /// A number that is written with all its digits: a rank, a number of events.
    pub(crate) fn integer(number: impl TryInto<i64> + ToString) -> Self {
        let text = number.to_string();
        let value = CellValue::Integer(number.try_into().unwrap_or(i64::MAX), Unit::Count);
        Self { value, text }
    }

    /// An integer of the ledger, rounded as everywhere.
    fn whole(number: i64, unit: Unit) -> Self {
        let text = numbers::text(number as f64, unit);
        Self { value: CellValue::Integer(number, unit), text }
    }

    /// A mean, a share or a rate.
    pub(crate) fn real(number: f64, unit: Unit) -> Self {
        Self { value: CellValue::Real(number, unit), text: numbers::text(number, unit) }
    }

    /// A difference with its sign.
    pub(crate) fn difference(delta: f64, unit: Unit) -> Self {
        let sign = if delta < 0.0 { "-" } else { "+" };
        let text = format!("{sign}{}", numbers::text(delta.abs(), unit));
        Self { value: CellValue::Real(delta, unit), text }
    }

    pub(crate) fn duration(ns: Ns) -> Self {
        Self::whole(ns.0, Unit::Ns)
    }

    pub(crate) fn bytes(bytes: Bytes) -> Self {
        Self::whole(bytes.0, Unit::Bytes)
    }

    pub(crate) fn flops(flops: i64) -> Self {
        Self::whole(flops, Unit::Flops)
    }

    pub(crate) fn count(count: f64) -> Self {
        Self::real(count, Unit::Count)
    }

    pub(crate) fn share(share: f64) -> Self {
        Self::real(share, Unit::Share)
    }

    /// `part` of `whole`; nothing for nothing.
    pub(crate) fn part<T: Into<i128>>(part: T, whole: T) -> Self {
        match (part.into(), whole.into()) {
            (0, _) | (_, 0) => Self::default(),
            (part, whole) => Self::share(part as f64 / whole as f64),
        }
    }

    pub(crate) fn place(place: Place) -> Self {
        Self::places(vec![place])
    }

    pub(crate) fn places(places: Vec<Place>) -> Self {
        let text = places.iter().map(Place::to_string).collect::<Vec<_>>().join(", ");
        Self { value: CellValue::Places(places), text }
    }

    pub(crate) fn evidence(evidence: Evidence) -> Self {
        Self { value: CellValue::Evidence(evidence), text: mark(evidence).to_owned() }
    }

    /// An amount of the ledger, rounded as everywhere.
    pub(crate) fn amount(metric: Metric, amount: i64) -> Self {
        Self::whole(amount, metric.unit())
    }

    /// What a line is charged with.
    pub(crate) fn quantity(quantity: Quantity, value: f64) -> Self {
        Self::real(value, quantity.unit())
    }

    /// An amount of the ledger to its last digit, with its unit.
    pub(crate) fn exact(metric: Metric, amount: i64) -> Self {
        Self { text: exact(metric, amount), ..Self::amount(metric, amount) }
    }

    /// The cell, or an empty one where its number is 0.
    pub(crate) fn unless_zero(self) -> Self {
        match self.value {
            CellValue::Integer(0, _) | CellValue::Real(0.0, _) => Self::default(),
            _ => self,
        }
    }
}

/// A duration of the ledger as text.
pub(crate) fn duration(ns: Ns) -> String {
    numbers::duration(ns.as_f64())
}

/// A size of the ledger as text.
pub(crate) fn bytes(bytes: Bytes) -> String {
    numbers::bytes(bytes.as_f64())
}

/// An amount of the ledger to its last digit, with its unit.
pub(crate) fn exact(metric: Metric, amount: i64) -> String {
    match metric.unit() {
        Unit::Ns => format!("{} µs", numbers::microseconds(Ns(amount))),
        Unit::Bytes => format!("{amount} B"),
        _ => amount.to_string(),
    }
}
