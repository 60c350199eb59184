//! The steps of a recording one by one, with the lines that make the longer ones longer.

use std::collections::BTreeMap;
use std::str::FromStr;

use ide::UnknownName;
use ledger::{Breakdown, Interval, Ledger, LineBooks, LineKey, Ns, PerStep};
use loader::Rank;
use metrics::{Period, Scale, Unit};
use ranks::median;

use super::NamedTable;
use super::lines_of::names;
use crate::model::{Cell, Column, Note, Place, Section, Subject};
use crate::recording::Recording;
use crate::run_summary::{BREAKDOWN_COLUMNS, part_name};
use crate::summary;

/// The columns that a narrow terminal can do without, the first of them first.
const DISPENSABLE: [&str; 10] = [
    "tokens",
    "requests",
    "other",
    "runtime",
    "memset",
    "memcpy",
    "comm",
    "data loader",
    "CPU ops",
    "kernel",
];

/// Lines that a step names for threads, and as many for devices.
const MAX_LINES: usize = 3;

/// A step is longer than usual from this share of the median on.
const MIN_EXCESS: f64 = 0.02;

/// A line is named if it makes up this share of what the step is longer.
const MIN_PART: f64 = 0.1;

/// What the steps are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepOrder {
    /// As they followed each other, rank by rank.
    Number,
    /// The longest first.
    Time,
}

impl StepOrder {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Number, Self::Time];

    /// Stable name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Time => "time",
        }
    }
}

impl FromStr for StepOrder {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let found = Self::ALL.into_iter().find(|it| it.name() == name);
        found.ok_or_else(|| UnknownName::new("order", name, Self::ALL.map(Self::name)))
    }
}

/// Every step of every rank: how long it took, how that differs from the median of the rank, what it went to, and which
/// lines took longer in it than in the median of the steps.
#[must_use]
pub fn build(recording: &Recording<'_>, order: StepOrder) -> NamedTable {
    let number = |name| Column::number(name, Unit::Ns);
    let parts = Breakdown::default().parts();
    let columns = [
        Column::number("rank", Unit::Count),
        Column::number("step", Unit::Count),
        number("time"),
        number("to median"),
    ];
    let has_work = distinguishes_steps(&recording.run.merged);
    let work = [
        Column::text("kind"),
        Column::number("requests", Unit::Count),
        Column::number("tokens", Unit::Count),
    ];
    let work = work.into_iter().filter(|_| has_work);
    let parts = parts.map(|(part, _)| number(part_name(BREAKDOWN_COLUMNS, part)));
    let last = [Column::text("longer on threads"), Column::text("longer on devices")];
    let columns = columns.into_iter().chain(work).chain(parts).chain(last);
    let mut section = Section::new("steps", "Steps", Subject::Run, columns);
    let run = recording.run;
    let mut rows: Vec<(Ns, Vec<Cell>)> = Vec::new();
    for rank in &run.ranks {
        let ledger = match run.ledger_of(rank) {
            Ok(ledger) => ledger,
            Err(error) => {
                section.notes.push(Note::alarm(error.to_string()));
                continue;
            }
        };
        let mut of_rank = StepsOfRank::new(rank, &ledger);
        for (&step, &time) in &rank.steps {
            let mut cells = of_rank.row(recording, step, time, has_work);
            if run.ranks.len() == 1 {
                cells[0] = Cell::default();
            }
            rows.push((time, cells));
        }
    }
    if order == StepOrder::Time {
        // The sort is stable.
        rows.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    }
    section.rows = rows.into_iter().map(|(_, cells)| cells).collect();
    let scale = Scale::new(&run.merged, Period::Mean);
    NamedTable {
        summary: summary::summary(run, &scale),
        section,
        dispensable: &DISPENSABLE,
        filter: serde_json::Value::Null,
    }
}

/// Whether the recording says more of what steps did than one name for all.
fn distinguishes_steps(ledger: &Ledger) -> bool {
    let first = ledger.step_work.values().next();
    ledger.step_work.values().any(|it| {
        it.requests.is_some() || it.tokens.is_some() || first.is_some_and(|of| of.kind != it.kind)
    })
}

/// The steps of one rank.
struct StepsOfRank<'a> {
    rank: u32,
    ledger: &'a Ledger,
    /// The steps by what they did (empty where that is not known), with their median.
    kinds: BTreeMap<&'a str, (Vec<u32>, Ns)>,
    /// By what steps did, the median of each line over them, on threads and on devices; worked out for the first step that needs it.
    usual: BTreeMap<&'a str, BTreeMap<&'a LineKey, [Ns; 2]>>,
}

/// What a line took in a step, on threads and on devices.
fn times(books: &LineBooks, step: u32) -> [Ns; 2] {
    let PerStep { cpu, cuda, .. } = books.steps.get(&step).copied().unwrap_or_default();
    [cpu, cuda]
}

/// What a step did; empty where the recording does not say.
fn kind_of(ledger: &Ledger, step: u32) -> &str {
    ledger.step_work.get(&step).map_or("", |it| &it.kind)
}

impl<'a> StepsOfRank<'a> {
    fn new(rank: &Rank, ledger: &'a Ledger) -> Self {
        let mut kinds: BTreeMap<&str, (Vec<u32>, Ns)> = BTreeMap::new();
        for &step in rank.steps.keys() {
            kinds.entry(kind_of(ledger, step)).or_default().0.push(step);
        }
        for (steps, usual) in kinds.values_mut() {
            *usual = median(steps.iter().map(|step| rank.steps[step]).collect());
        }
        Self { rank: rank.rank, ledger, kinds, usual: BTreeMap::new() }
    }

    fn row(&mut self, recording: &Recording<'_>, step: u32, time: Ns, has_work: bool) -> Vec<Cell> {
        let usual = self.kinds.get(kind_of(self.ledger, step)).map_or(Ns::ZERO, |it| it.1);
        let excess = time.saturating_sub(usual);
        let overview = self.ledger.overviews.get(&self.rank);
        let parts: BTreeMap<&str, Ns> = overview
            .and_then(|it| it.steps.get(&step))
            .map(|it: &Interval| it.breakdown.parts().into_iter().collect())
            .unwrap_or_default();
        let mut cells = vec![
            Cell::integer(self.rank),
            Cell::integer(step),
            Cell::duration(time),
            difference(excess).unless_zero(),
        ];
        if has_work {
            let work = self.ledger.step_work.get(&step);
            cells.push(work.map_or_else(Cell::default, |it| Cell::text(it.kind.clone())));
            let number = |it: Option<u64>| it.map_or_else(Cell::default, Cell::integer);
            cells.extend(
                [work.and_then(|it| it.requests), work.and_then(|it| it.tokens)].map(number),
            );
        }
        cells.extend(Breakdown::default().parts().map(|(part, _)| {
            parts.get(part).map_or_else(Cell::default, |it| Cell::duration(*it).unless_zero())
        }));
        let is_longer = Ns::ZERO < excess && MIN_EXCESS * usual.as_f64() <= excess.as_f64();
        for place in 0..2 {
            cells.push(if is_longer {
                self.longer(recording, step, excess, place)
            } else {
                Cell::default()
            });
        }
        cells
    }

    /// The lines that take longer in a step than in the median of those that did the same, by how much, the first of them the one
    /// that does most.
    fn longer(&mut self, recording: &Recording<'_>, step: u32, of: Ns, place: usize) -> Cell {
        let Self { ledger, kinds, usual, .. } = self;
        let kind = kind_of(ledger, step);
        let usual = usual.entry(kind).or_insert_with(|| {
            let steps = kinds.get(kind).map_or(&[][..], |it| &it.0);
            let of_line = |books: &LineBooks| {
                [0, 1]
                    .map(|place| median(steps.iter().map(|it| times(books, *it)[place]).collect()))
            };
            ledger.lines.iter().map(|(key, it)| (key, of_line(it))).collect()
        });
        let lines = ledger.lines.iter().filter_map(|(key, books)| {
            let usual = usual.get(key).map_or(Ns::ZERO, |it| it[place]);
            let excess = times(books, step)[place].saturating_sub(usual);
            (MIN_PART * of.as_f64() <= excess.as_f64()).then_some((key, excess))
        });
        let mut lines: Vec<_> = lines.collect();
        lines.sort_by_key(|(_, excess)| std::cmp::Reverse(*excess));
        lines.truncate(MAX_LINES);
        if lines.is_empty() {
            return Cell::default();
        }
        let places: Vec<Place> = lines.iter().map(|(key, _)| recording.place(key)).collect();
        let texts: Vec<String> = std::iter::zip(names(&places), &lines)
            .map(|(name, (_, excess))| format!("{name} {}", difference(*excess).text))
            .collect();
        Cell { text: texts.join(", "), ..Cell::places(places) }
    }
}

/// A difference in time with its sign.
fn difference(time: Ns) -> Cell {
    Cell::difference(time.as_f64(), Unit::Ns)
}
