//! Lines of the two runs that are one, and what they cost in each.

use std::collections::{BTreeMap, HashMap};

use ledger::{Evidence, LineBooks, LineKey};
use metrics::{Quantity, Scale};
use pysource::{MatchStatus, NamedText, StatementLines, correspondence};

use crate::noise::Shift;
use crate::run::{ComparedFile, ComparedRun};

/// The times of a line that are compared.
pub(crate) const TIMES: [Quantity; 5] =
    [Quantity::CpuBusy, Quantity::CudaOwn, Quantity::Wait, Quantity::Idle, Quantity::Waiting];

/// Lines that correspond in two runs, and what they cost.
#[derive(Debug, Clone)]
pub struct ComparedLine {
    /// The costliest of the lines in the base; `None` where nothing corresponds, or where it is not known.
    pub base: Option<LineKey>,
    /// The costliest of them in the new run.
    pub new: Option<LineKey>,
    /// The function in the new run, else in the base.
    pub function: String,
    /// What became of the lines.
    pub status: MatchStatus,
    /// How they are known: the weakest.
    pub evidence: Evidence,
    /// What they cost; without what is nothing in both.
    pub amounts: Vec<AmountDifference>,
}

impl ComparedLine {
    /// The largest difference of time that exceeds the noise.
    #[must_use]
    pub fn largest_time(&self) -> Option<&AmountDifference> {
        let differs =
            |it: &&AmountDifference| TIMES.contains(&it.quantity) && it.significant == Some(true);
        let times = self.amounts.iter().filter(differs);
        times.max_by(|a, b| a.delta().abs().total_cmp(&b.delta().abs()))
    }
}

/// What something costs in two runs. Means per step and rank, or sums over recordings without steps; nanoseconds or bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AmountDifference {
    /// What is compared.
    pub quantity: Quantity,
    /// In the base.
    pub base: f64,
    /// In the new run.
    pub new: f64,
    /// By how much the steps differ; `None` of bytes, and where steps are too few.
    pub shift: Option<Shift>,
    /// Whether the difference exceeds the noise; `None` where steps are too few to say.
    pub significant: Option<bool>,
    /// Whether the steps differ, but what is done in them does not: a difference between two processes, which is not
    /// significant.
    pub is_same_work: bool,
}

impl AmountDifference {
    /// What the new run has more.
    #[must_use]
    pub fn delta(&self) -> f64 {
        self.new - self.base
    }

    /// Whether it exceeds the noise in the direction of another difference.
    pub(crate) fn differs_as(&self, other: &Self) -> bool {
        self.significant == Some(true) && (0.0 < self.delta()) == (0.0 < other.delta())
    }
}

/// Statements that differ between the sources of the two runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedLines {
    /// First of the lines in the base.
    pub base: Option<LineKey>,
    /// First of the lines in the new run.
    pub new: Option<LineKey>,
    /// What became of them.
    pub status: MatchStatus,
}

/// The lines of one side of something that is compared.
#[derive(Debug, Clone, Default)]
struct GroupSide<'a> {
    /// The lines, with their books where they have some.
    lines: Vec<(LineKey, Option<&'a LineBooks>)>,
}

/// Lines that correspond.
#[derive(Debug, Clone)]
pub(crate) struct LineGroup<'a> {
    pub(crate) status: MatchStatus,
    /// Whether no text says that they correspond, but their file and function, or their number.
    is_by_name: bool,
    base: GroupSide<'a>,
    new: GroupSide<'a>,
}

impl<'a> LineGroup<'a> {
    fn side(&self, is_new: bool) -> &GroupSide<'a> {
        if is_new { &self.new } else { &self.base }
    }

    pub(crate) fn books(&self, is_new: bool) -> impl Iterator<Item = &'a LineBooks> {
        self.side(is_new).lines.iter().filter_map(|(_, books)| *books)
    }

    /// The costliest line of a side, else the first.
    pub(crate) fn line(&self, is_new: bool) -> Option<&LineKey> {
        let cost = |books: &Option<&LineBooks>| {
            books.map_or(0, |it| it.cpu_own.0.max(it.cuda_own.0).max(it.peak.0 / 1024))
        };
        let costliest = self.side(is_new).lines.iter().min_by_key(|(key, books)| {
            (std::cmp::Reverse(cost(books)), key.file.as_str(), key.line)
        });
        costliest.map(|(key, _)| key)
    }

    /// Which line of the new run stands for a line, where both runs are shown as one: for those of the base, then for those of the new
    /// run that do not stand for themselves. Lines of which nothing says which became which go together, as the costliest.
    pub(crate) fn stand_ins(&self) -> [Vec<(LineKey, LineKey)>; 2] {
        let [base, new] = [false, true]
            .map(|it| self.side(it).lines.iter().map(|(key, _)| key).collect::<Vec<_>>());
        let with_number = |lines: &[&LineKey], key: &LineKey| {
            lines.iter().find(|it| it.line == key.line).map(|it| (*it).clone())
        };
        // Of a library of one version, the numbers of lines are the same; one run may have had more of them.
        let is_within =
            |a: &[&LineKey], b: &[&LineKey]| a.iter().all(|it| with_number(b, it).is_some());
        if self.is_by_name && (is_within(&base, &new) || is_within(&new, &base)) {
            let pairs = base.iter().filter_map(|it| Some(((*it).clone(), with_number(&new, it)?)));
            return [pairs.collect(), Vec::new()];
        }
        let Some(costliest) = self.line(true) else { return [Vec::new(), Vec::new()] };
        let together = |lines: &[&LineKey]| {
            let others = lines.iter().map(|it| ((*it).clone(), costliest.clone()));
            others.collect::<Vec<_>>()
        };
        let others: Vec<&LineKey> = new.iter().filter(|it| **it != costliest).copied().collect();
        match base.is_empty() {
            true => [Vec::new(), Vec::new()],
            false => [together(&base), together(&others)],
        }
    }

    /// The longest name of the function of its lines.
    pub(crate) fn function(&self, is_new: bool) -> &'a str {
        let names = self.books(is_new).map(|it| it.function.as_str());
        names.max_by_key(|it| it.len()).unwrap_or_default()
    }

    /// The function in the new run, else in the base.
    pub(crate) fn name(&self) -> &'a str {
        match self.function(true) {
            "" => self.function(false),
            name => name,
        }
    }

    /// How they are known: the weakest of both sides.
    pub(crate) fn evidence(&self) -> Evidence {
        let all = self.books(false).chain(self.books(true));
        all.map(|it| it.evidence).max().unwrap_or_default()
    }

    /// How often a side calls each outermost operator, by name, in the mean step.
    pub(crate) fn operator_calls(&self, scale: &Scale<'_>, is_new: bool) -> BTreeMap<&'a str, f64> {
        let mut calls: BTreeMap<&str, f64> = BTreeMap::new();
        for (name, operator) in self.books(is_new).flat_map(|it| &it.operators) {
            *calls.entry(name).or_default() += scale.mean(operator.calls as f64);
        }
        calls
    }

    /// What a quantity is in each step of a side.
    pub(crate) fn by_step(&self, quantity: Quantity, scale: &Scale<'_>, is_new: bool) -> Vec<f64> {
        let mut sums = Vec::new();
        for books in self.books(is_new) {
            add(&mut sums, &scale.by_step(quantity, books));
        }
        if sums.is_empty() { vec![0.0; scale.ledger().steps.len().max(1)] } else { sums }
    }

    /// Whether the lines say the same in both runs, wherever they stand.
    pub(crate) fn says_the_same(&self) -> bool {
        matches!(self.status, MatchStatus::Same | MatchStatus::Moved)
    }

    pub(crate) fn mean(&self, quantity: Quantity, scale: &Scale<'_>, is_new: bool) -> f64 {
        self.books(is_new).filter_map(|it| scale.value(quantity, it)).sum()
    }
}

/// Adds values place by place.
pub(crate) fn add(sums: &mut Vec<f64>, values: &[f64]) {
    sums.resize(sums.len().max(values.len()), 0.0);
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += value;
    }
}

/// All lines of two runs, matched.
pub(crate) struct LineGroups<'a> {
    pub(crate) units: Vec<LineGroup<'a>>,
    /// What differs between the sources.
    pub(crate) edits: Vec<EditedLines>,
    /// The place in `units` of each line that has books.
    pub(crate) places: [HashMap<LineKey, usize>; 2],
    /// Functions that correspond, by file (key of the ledger) and name: from the base to the new run.
    pub(crate) functions: BTreeMap<(String, String), (String, String)>,
}

/// The lines of two runs that are one: through the texts of your files where both are known, else by line number where
/// neither is, else by function; library lines by function, because the versions of libraries may differ.
pub(crate) fn units<'a>(base: &ComparedRun<'a>, new: &ComparedRun<'a>) -> LineGroups<'a> {
    let base_files = base.comparable_files(new);
    let new_files = new.comparable_files(base);
    let texts = |files: &[ComparedFile<'a>]| -> Vec<NamedText<'a>> {
        files.iter().map(|it| NamedText { name: it.name, text: it.text }).collect()
    };
    let found = correspondence(&texts(&base_files), &texts(&new_files));
    let mut matching = Matching::default();
    let lines = |of: &[StatementLines], files: &[ComparedFile<'a>]| -> Vec<LineKey> {
        let each = of.iter().flat_map(|it| {
            let file = files[it.file].key;
            it.lines.clone().map(move |line| LineKey { file: file.to_owned(), line })
        });
        each.collect()
    };
    for it in &found.lines {
        let (old, young) = (lines(&it.base, &base_files), lines(&it.new, &new_files));
        if !matches!(it.status, MatchStatus::Same | MatchStatus::Moved) {
            let first = |lines: &[LineKey]| lines.first().cloned();
            let (base, new) = (first(&old), first(&young));
            matching.edits.push(EditedLines { base, new, status: it.status });
        }
        matching.add(it.status, old, young);
    }
    for [(mine, name), (theirs, new_name)] in &found.functions {
        let from = (base_files[*mine].key.to_owned(), name.clone());
        let to = (new_files[*theirs].key.to_owned(), new_name.clone());
        matching.functions.insert(from, to);
    }
    matching.finish(base, new)
}

/// What corresponds, while it is put together.
#[derive(Default)]
struct Matching {
    statuses: Vec<MatchStatus>,
    base: HashMap<LineKey, usize>,
    new: HashMap<LineKey, usize>,
    edits: Vec<EditedLines>,
    functions: BTreeMap<(String, String), (String, String)>,
}

impl Matching {
    fn add(&mut self, status: MatchStatus, base: Vec<LineKey>, new: Vec<LineKey>) {
        let unit = self.statuses.len();
        self.statuses.push(status);
        self.base.extend(base.into_iter().map(|it| (it, unit)));
        self.new.extend(new.into_iter().map(|it| (it, unit)));
    }

    /// Puts the books of both runs on what corresponds. Lines outside of texts that can be compared go by their names.
    fn finish<'a>(mut self, base: &ComparedRun<'a>, new: &ComparedRun<'a>) -> LineGroups<'a> {
        let n_by_text = self.statuses.len();
        let mut by_name: HashMap<String, usize> = HashMap::new();
        let mut sides: [Vec<GroupSide<'a>>; 2] = [Vec::new(), Vec::new()];
        let mut is_there: Vec<[bool; 2]> = Vec::new();
        for (is_new, (run, other)) in [(false, (base, new)), (true, (new, base))] {
            for (key, books) in &run.ledger.lines {
                let known = if is_new { self.new.get(key) } else { self.base.get(key) };
                let unit = known.copied().unwrap_or_else(|| {
                    let name = run.unit_name(other, key, books);
                    *by_name.entry(name).or_insert_with(|| {
                        self.statuses.push(MatchStatus::Same);
                        self.statuses.len() - 1
                    })
                });
                let side = &mut sides[usize::from(is_new)];
                side.resize_with(side.len().max(unit + 1), GroupSide::default);
                side[unit].lines.push((key.clone(), Some(books)));
                is_there.resize(is_there.len().max(unit + 1), [false; 2]);
                is_there[unit][usize::from(is_new)] = true;
            }
        }
        // Lines that cost nothing name what the others correspond to.
        for (is_new, known) in [(false, &self.base), (true, &self.new)] {
            let side = &mut sides[usize::from(is_new)];
            side.resize_with(self.statuses.len(), GroupSide::default);
            let mut rest: Vec<_> = known.iter().collect();
            rest.sort();
            for (key, &unit) in rest {
                if side[unit].lines.is_empty() {
                    side[unit].lines.push((key.clone(), None));
                }
            }
        }
        let [old, young] = sides;
        is_there.resize(self.statuses.len(), [false; 2]);
        let units = self.statuses.iter().enumerate().zip(old.into_iter().zip(young)).zip(is_there);
        let units = units.filter(|(_, is_there)| is_there[0] || is_there[1]).map(
            |(((unit, &status), (base, new)), is_there)| {
                // What goes by its name is gone, or new, where one run alone has it.
                let is_in_one = base.lines.is_empty() || new.lines.is_empty();
                let status = match (status, is_there) {
                    (MatchStatus::Same, [true, false]) if is_in_one => MatchStatus::Removed,
                    (MatchStatus::Same, [false, true]) if is_in_one => MatchStatus::Added,
                    (status, _) => status,
                };
                LineGroup { status, is_by_name: n_by_text <= unit, base, new }
            },
        );
        let units: Vec<LineGroup<'a>> = units.collect();
        let places = [false, true].map(|is_new| {
            let lines = units.iter().enumerate().flat_map(|(place, it)| {
                it.side(is_new).lines.iter().map(move |(key, _)| (key.clone(), place))
            });
            lines.collect()
        });
        LineGroups { units, places, edits: self.edits, functions: self.functions }
    }
}

/// Whether a time of a line differs by more than the noise.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LineDirections {
    /// Some time is shorter.
    pub(crate) faster: bool,
    /// Some time is longer.
    pub(crate) slower: bool,
}

impl LineDirections {
    pub(crate) fn of(line: &ComparedLine) -> Self {
        Self::of_amounts(&line.amounts)
    }

    pub(crate) fn of_amounts(amounts: &[AmountDifference]) -> Self {
        let times = amounts.iter().filter(|it| TIMES.contains(&it.quantity));
        let deltas = times.filter(|it| it.significant == Some(true)).map(AmountDifference::delta);
        deltas.fold(Self::default(), |found, delta| Self {
            faster: found.faster || delta < 0.0,
            slower: found.slower || 0.0 < delta,
        })
    }

    /// Adds what another line says.
    pub(crate) fn add(&mut self, other: Self) {
        self.faster |= other.faster;
        self.slower |= other.slower;
    }

    /// Whether some time differs in the direction of `delta`.
    pub(crate) fn has(self, delta: f64) -> bool {
        if delta < 0.0 { self.faster } else { self.slower }
    }
}
