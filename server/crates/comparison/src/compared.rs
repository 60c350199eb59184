//! Two runs, compared.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ledger::{Evidence, LineKey};
use metrics::{Period, Quantity, Scale};

use crate::lines::{
    AmountDifference, ComparedLine, EditedLines, LineDirections, LineGroup, TIMES, units,
};
use crate::named::{KernelReplacement, NamedDifference, kernels, operators, replacements};
use crate::noise::{Drift, LeastDifference, NoiseTest, Shift, median};
use crate::other_work::{OtherWork, other_work};
use crate::run::ComparedRun;
use crate::same_work::SameWork;
use crate::significance::{SIZES, Significance, differences, least_bytes};

/// Share (of 1) of the step that must be on lines for what makes the steps differ to be looked for among them.
const MIN_KNOWN_SHARE: f64 = 0.5;

/// Share (of 1) of the step that a line must take in both runs for the drift to be estimated from it.
const MIN_DRIFT_SHARE: f64 = 0.005;

/// By how much the steps differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepDifference {
    /// Steps of the base and of the new run; 0 without steps.
    pub steps: [usize; 2],
    /// The mean step of each, in nanoseconds; without steps, how long it was recorded.
    pub mean: [f64; 2],
    /// By how much the steps differ; `None` where they are too few.
    pub shift: Option<Shift>,
    /// Whether the difference exceeds the noise, the drift among it; `None` where steps are too few to say.
    pub significant: Option<bool>,
    /// Whether the steps differ, but no line or function does in that direction: as of lines, a difference between two
    /// processes, which is not significant.
    pub is_same_work: bool,
}

/// What a function costs in two runs: the sum of its lines, those that were moved to it among them.
#[derive(Debug, Clone)]
pub struct FunctionDifference {
    /// Key of its file, in the ledger of the new run, or of the base for what is gone.
    pub file: String,
    /// Its name in the new run, else in the base.
    pub function: String,
    /// Its name in the base, where it has another one.
    pub base_function: Option<String>,
    /// What its lines cost.
    pub amounts: Vec<AmountDifference>,
}

/// Two runs, compared. In no list is anything that is nothing in both.
#[derive(Debug, Clone)]
pub struct Difference {
    /// The step.
    pub step: StepDifference,
    /// How much faster or slower everything was.
    pub drift: Drift,
    /// Whether the runs seem to be of two different programs.
    pub are_strangers: bool,
    /// All lines together.
    pub totals: Vec<AmountDifference>,
    /// By line, the largest difference of time first.
    pub lines: Vec<ComparedLine>,
    /// By function, likewise.
    pub functions: Vec<FunctionDifference>,
    /// Edited lines of yours that call other operators, or the same more or less often.
    pub other_work: Vec<OtherWork>,
    /// By operator, likewise.
    pub operators: Vec<NamedDifference>,
    /// By kernel, likewise.
    pub kernels: Vec<NamedDifference>,
    /// Lines whose operators run on other kernels now.
    pub replacements: Vec<KernelReplacement>,
    /// What differs between the sources, as far as both are known.
    pub edits: Vec<EditedLines>,
    /// What the lines of the base and of the new run belong to.
    places: [HashMap<LineKey, usize>; 2],
    /// The rows of `lines`, by what belongs together.
    rows: HashMap<usize, usize>,
    /// Lines of the new run that stand for lines of the base, and for others of the new run.
    stand_ins: [HashMap<LineKey, LineKey>; 2],
    test: NoiseTest,
    /// By size, how many bytes a difference must reach.
    least_bytes: [f64; 2],
}

impl Difference {
    /// Compares two runs.
    #[must_use]
    pub fn new(base: &ComparedRun<'_>, new: &ComparedRun<'_>) -> Self {
        let scales = [Scale::new(base.ledger, Period::Mean), Scale::new(new.ledger, Period::Mean)];
        let scales = [&scales[0], &scales[1]];
        let found = units(base, new);
        let step = scales[0].time().max(scales[1].time());
        let drift = drift(&found.units, scales);
        let test = NoiseTest { step, drift };
        let significance = Significance {
            units: &found.units,
            scales,
            test,
            same_work: SameWork::of(&found.units, scales),
        };
        let by_function = LinesByFunction::new(&found.units, &found.functions);
        let mut functions = functions(&significance, &by_function, &found.functions);
        let mut lines = differences(&significance);
        keep_with_their_functions(&mut lines, &functions);
        keep_with_other_edits(&mut lines, &by_function, &significance);
        let directions: Vec<LineDirections> = lines.iter().map(LineDirections::of).collect();
        let everything: Vec<usize> = (0..found.units.len()).collect();
        let totals: Vec<AmountDifference> =
            TIMES.iter().filter_map(|&it| significance.of_sum(&everything, it)).collect();
        let mut explained = LineDirections::default();
        directions.iter().for_each(|it| explained.add(*it));
        functions.iter().for_each(|it| explained.add(LineDirections::of_amounts(&it.amounts)));
        let mut placed: Vec<(usize, ComparedLine)> = lines.into_iter().enumerate().collect();
        placed.retain(|(_, it)| !it.amounts.is_empty());
        placed.sort_by(|(_, a), (_, b)| largest(&b.amounts).total_cmp(&largest(&a.amounts)));
        let rows = placed.iter().enumerate().map(|(row, (place, _))| (*place, row)).collect();
        let lines = placed.into_iter().map(|(_, line)| line).collect();
        functions.sort_by(|a, b| largest(&b.amounts).total_cmp(&largest(&a.amounts)));
        Self {
            step: step_difference(scales, &test, &totals, explained),
            drift,
            are_strangers: are_strangers(&found.units, [base, new], scales),
            totals,
            lines,
            functions,
            other_work: other_work(&found.units, scales, &significance.same_work, |it| {
                is_yours(it, [base, new])
            }),
            operators: operators(&found.units, &directions, scales, &test),
            kernels: kernels(&found.units, &directions, scales, &test),
            replacements: replacements(&found.units, scales),
            edits: found.edits,
            places: found.places,
            rows,
            stand_ins: stand_ins(&found.units),
            test,
            least_bytes: least_bytes(&significance),
        }
    }
}

/// Which lines of the new run stand for lines of the base, and for others of the new run.
fn stand_ins(units: &[LineGroup<'_>]) -> [HashMap<LineKey, LineKey>; 2] {
    let mut found = [HashMap::new(), HashMap::new()];
    for unit in units {
        for (all, pairs) in found.iter_mut().zip(unit.stand_ins()) {
            all.extend(pairs);
        }
    }
    found
}

impl Difference {
    /// Whether a line of the base and one of the new run correspond. Both have to be known to the ledgers.
    #[must_use]
    pub fn correspond(&self, base: &LineKey, new: &LineKey) -> bool {
        let [old, young] = &self.places;
        old.get(base).is_some_and(|it| young.get(new) == Some(it))
    }

    /// The line of the new run that a line of either goes by where both runs are shown as one: of several of which nothing says
    /// which became which, the costliest. `None` of a line of the base to which nothing corresponds.
    #[must_use]
    pub fn shown_as<'k>(&'k self, line: &'k LineKey, is_new: bool) -> Option<&'k LineKey> {
        self.stand_ins[usize::from(is_new)].get(line).or(is_new.then_some(line))
    }

    /// What is said of a line of the base or of the new run, with what it is compared with as a whole.
    #[must_use]
    pub fn of_line(&self, line: &LineKey, is_new: bool) -> Option<&ComparedLine> {
        let place = self.places[usize::from(is_new)].get(line)?;
        self.lines.get(*self.rows.get(place)?)
    }

    /// What a difference of several lines together must reach to matter.
    #[must_use]
    pub fn least(&self, quantity: Quantity) -> LeastDifference {
        match SIZES.iter().position(|it| *it == quantity) {
            Some(size) => LeastDifference { amount: self.least_bytes[size], share: 0.0 },
            None => self.test.least(),
        }
    }
}

/// Whether lines are of your code.
fn is_yours(unit: &LineGroup<'_>, runs: [&ComparedRun<'_>; 2]) -> bool {
    [false, true].into_iter().any(|is_new| {
        let files = &runs[usize::from(is_new)].ledger.files;
        unit.line(is_new).and_then(|it| files.get(&it.file)).is_some_and(|it| it.is_user_code)
    })
}

/// The largest difference of time, else (below all times) of bytes.
fn largest(amounts: &[AmountDifference]) -> f64 {
    let times = amounts.iter().filter(|it| TIMES.contains(&it.quantity));
    times.map(|it| it.delta().abs()).fold(0.0, f64::max)
}

/// Share (of 1) of your lines that say the same in both runs, below which two programs may be meant: lines such as
/// `loss.backward()` are in every training program.
const MIN_SHARED_LINES: f64 = 2.0 / 3.0;
/// Share (of 1) of the time of your lines below which the files that have one name in both runs are not what was recorded.
const MIN_SHARED_TIME: f64 = 0.1;

/// Whether the runs seem to be of two programs: files of one name take nearly no time in either, and no file was renamed, so
/// that most of the lines are still the same.
fn are_strangers(
    units: &[LineGroup<'_>],
    runs: [&ComparedRun<'_>; 2],
    scales: [&Scale<'_>; 2],
) -> bool {
    let names = runs.map(ComparedRun::names_of_your_files);
    let is_strange = |is_new: bool| {
        let side = usize::from(is_new);
        let (mut n_lines, mut n_same, mut time, mut time_of_shared) = (0_u32, 0_u32, 0.0, 0.0);
        for unit in units {
            let file = unit.line(is_new).map(|it| it.file.as_str());
            let Some(name) = file.and_then(|it| names[side].get(it)) else { continue };
            let cost = unit.mean(Quantity::CpuBusy, scales[side], is_new);
            n_lines += 1;
            n_same += u32::from(unit.says_the_same());
            time += cost;
            if names[1 - side].values().any(|it| it == name) {
                time_of_shared += cost;
            }
        }
        0.0 < time
            && time_of_shared < MIN_SHARED_TIME * time
            && f64::from(n_same) < MIN_SHARED_LINES * f64::from(n_lines)
    };
    is_strange(false) && is_strange(true)
}

/// From the lines that say the same in both runs.
fn drift(units: &[LineGroup<'_>], scales: [&Scale<'_>; 2]) -> Drift {
    let mut medians = Vec::new();
    for unit in units.iter().filter(|it| it.says_the_same()) {
        for quantity in [Quantity::CpuBusy, Quantity::CudaOwn] {
            let [base, new] = [false, true].map(|it| {
                let scale = scales[usize::from(it)];
                (median(&unit.by_step(quantity, scale, it)), MIN_DRIFT_SHARE * scale.time())
            });
            if base.1 <= base.0 && new.1 <= new.0 && 0.0 < base.0 && 0.0 < new.0 {
                medians.push((base.0, new.0));
            }
        }
    }
    Drift::of(&medians)
}

/// Where lines are known, what makes the steps differ must make some line or function differ.
fn step_difference(
    scales: [&Scale<'_>; 2],
    test: &NoiseTest,
    totals: &[AmountDifference],
    explained: LineDirections,
) -> StepDifference {
    let steps =
        scales.map(|it| it.ledger().steps.values().map(|time| time.as_f64()).collect::<Vec<_>>());
    let (shift, differs) = test.is_significant(&steps[0], &steps[1]);
    let have_lines = totals.iter().any(|it| MIN_KNOWN_SHARE * test.step <= it.base.max(it.new));
    let is_explained = shift.is_none_or(|it| explained.has(it.estimate)) || !have_lines;
    StepDifference {
        steps: [steps[0].len(), steps[1].len()],
        mean: scales.map(Scale::time),
        shift,
        significant: differs.map(|it| it && is_explained),
        is_same_work: differs == Some(true) && !is_explained,
    }
}

/// What is known of a function alone differs if the function does, in the same direction: the steps of another run may have put
/// more of it on lines.
fn keep_with_their_functions(lines: &mut [ComparedLine], functions: &[FunctionDifference]) {
    for line in lines.iter_mut().filter(|it| it.evidence == Evidence::Function) {
        let of_line = functions.iter().find(|it| match &line.new {
            Some(key) => it.file == key.file && it.function == line.function,
            None => it.base_function.as_ref().unwrap_or(&it.function) == &line.function,
        });
        let Some(function) = of_line else { continue };
        for amount in line.amounts.iter_mut().filter(|it| TIMES.contains(&it.quantity)) {
            let of_function = function.amounts.iter().find(|it| it.quantity == amount.quantity);
            let differs = of_function.is_some_and(|it| it.differs_as(amount));
            amount.significant = amount.significant.map(|it| it && differs);
        }
    }
}

/// Of several lines of a function that were edited, one differs if all of them together do, in the same direction, with what is
/// known of the function alone: an edit may put the work of one line on another one.
fn keep_with_other_edits(
    lines: &mut [ComparedLine],
    by_function: &LinesByFunction,
    significance: &Significance<'_>,
) {
    let is_edited = |place: usize| !significance.units[place].says_the_same();
    for places in by_function.groups() {
        let is_of_edit =
            |it: &&usize| is_edited(**it) || lines[**it].evidence == Evidence::Function;
        let edits: Vec<usize> = places.iter().filter(is_of_edit).copied().collect();
        if edits.len() < 2 {
            continue;
        }
        for quantity in TIMES {
            let Some(sum) = significance.of_sum(&edits, quantity) else { continue };
            for &place in edits.iter().filter(|it| is_edited(**it)) {
                let amounts = lines[place].amounts.iter_mut();
                for amount in amounts.filter(|it| it.quantity == quantity) {
                    let differ = sum.differs_as(amount);
                    amount.significant = amount.significant.map(|it| it && differ);
                }
            }
        }
    }
}

/// A function, by the key of its file and its name.
type ComparedFunction = (String, String);

/// The lines of each function, as places among the units: lines count to the function that they are in now, what is gone counts to
/// the function that its own became.
struct LinesByFunction {
    places: BTreeMap<ComparedFunction, Vec<usize>>,
    /// Functions between which lines were moved, such as one that was put in place of its call, or taken out of another one.
    exchanged: Vec<BTreeSet<ComparedFunction>>,
}

impl LinesByFunction {
    fn new(units: &[LineGroup<'_>], pairs: &BTreeMap<ComparedFunction, ComparedFunction>) -> Self {
        let mut found = Self { places: BTreeMap::new(), exchanged: Vec::new() };
        for (place, unit) in units.iter().enumerate() {
            let of = |is_new: bool| {
                let line = unit.line(is_new).filter(|_| unit.books(is_new).next().is_some())?;
                Some((line.file.clone(), unit.function(is_new).to_owned()))
            };
            let was = of(false).map(|mine| pairs.get(&mine).cloned().unwrap_or(mine));
            let is = of(true);
            if let (Some(was), Some(is)) = (&was, &is) {
                found.exchange(was, is);
            }
            if let Some(key) = is.or(was) {
                found.places.entry(key).or_default().push(place);
            }
        }
        found
    }

    /// A line was in one function and is in another one, or in the same.
    fn exchange(&mut self, was: &ComparedFunction, is: &ComparedFunction) {
        if was == is {
            return;
        }
        let mut group = BTreeSet::from([was.clone(), is.clone()]);
        self.exchanged.retain(|it| {
            let is_joined = it.contains(was) || it.contains(is);
            if is_joined {
                group.extend(it.iter().cloned());
            }
            !is_joined
        });
        self.exchanged.push(group);
    }

    /// The lines of each function, or of functions that exchanged lines, once.
    fn groups(&self) -> Vec<Vec<usize>> {
        let is_first = |function: &&ComparedFunction| {
            let group = self.exchanged.iter().find(|it| it.contains(*function));
            let first = group.and_then(|it| it.iter().find(|it| self.places.contains_key(*it)));
            first.is_none_or(|it| it == *function)
        };
        self.places.keys().filter(is_first).map(|it| self.with_exchanged(it)).collect()
    }

    /// The lines of a function and of those that it exchanged lines with.
    fn with_exchanged(&self, function: &ComparedFunction) -> Vec<usize> {
        let group = self.exchanged.iter().find(|it| it.contains(function));
        let of = |it: &ComparedFunction| self.places.get(it).cloned().unwrap_or_default();
        group.map_or_else(|| of(function), |it| it.iter().flat_map(of).collect())
    }
}

/// By function. What is known of a function alone moves with its lines, so that of functions that exchanged lines one differs only if
/// all of them together do.
fn functions(
    significance: &Significance<'_>,
    by_function: &LinesByFunction,
    pairs: &BTreeMap<ComparedFunction, ComparedFunction>,
) -> Vec<FunctionDifference> {
    let renamed: BTreeMap<_, _> =
        pairs.iter().filter(|(from, to)| from.1 != to.1).map(|(from, to)| (to, &from.1)).collect();
    let difference = |(key, places): (&ComparedFunction, &Vec<usize>)| {
        let together = by_function.with_exchanged(key);
        let amounts = TIMES.iter().filter_map(|&quantity| {
            let mut amount = significance.of_sum(places, quantity)?;
            let differ = together.len() == places.len()
                || significance
                    .of_sum(&together, quantity)
                    .is_some_and(|it| it.differs_as(&amount));
            amount.significant = amount.significant.map(|it| it && differ);
            Some(amount)
        });
        let amounts: Vec<_> = amounts.collect();
        let base_function = renamed.get(key).map(|it| (*it).clone());
        let (file, function) = key.clone();
        FunctionDifference { file, function, base_function, amounts }
    };
    by_function.places.iter().map(difference).filter(|it| !it.amounts.is_empty()).collect()
}
