//! Two runs, compared.

use std::collections::{BTreeMap, HashMap};

use ledger::LineKey;
use metrics::{Period, Quantity, Scale};

use crate::lines::{
    AmountDifference, ComparedLine, EditedLines, LineDirections, LineGroup, TIMES, add,
    differences, units,
};
use crate::named::{KernelReplacement, NamedDifference, kernels, operators, replacements};
use crate::noise::{Drift, NoiseTest, Shift, median};
use crate::run::ComparedRun;

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
        let mut lines = differences(&found.units, scales, &test);
        let directions: Vec<LineDirections> = lines.iter().map(LineDirections::of).collect();
        lines.retain(|it| !it.amounts.is_empty());
        lines.sort_by(|a, b| largest(&b.amounts).total_cmp(&largest(&a.amounts)));
        let mut functions = functions(&found.units, &found.functions, scales, &test);
        functions.sort_by(|a, b| largest(&b.amounts).total_cmp(&largest(&a.amounts)));
        Self {
            step: step_difference(scales, &test),
            drift,
            are_strangers: are_strangers(&found.units, [base, new], scales),
            totals: TIMES.iter().filter_map(|&it| total(&found.units, it, scales, &test)).collect(),
            lines,
            functions,
            operators: operators(&found.units, &directions, scales, &test),
            kernels: kernels(&found.units, &directions, scales, &test),
            replacements: replacements(&found.units, scales),
            edits: found.edits,
            places: found.places,
        }
    }
}

impl Difference {
    /// Whether a line of the base and one of the new run correspond. Both have to be known to the ledgers.
    #[must_use]
    pub fn correspond(&self, base: &LineKey, new: &LineKey) -> bool {
        let [old, young] = &self.places;
        old.get(base).is_some_and(|it| young.get(new) == Some(it))
    }
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

fn step_difference(scales: [&Scale<'_>; 2], test: &NoiseTest) -> StepDifference {
    let steps =
        scales.map(|it| it.ledger().steps.values().map(|time| time.as_f64()).collect::<Vec<_>>());
    let (shift, significant) = test.is_significant(&steps[0], &steps[1]);
    StepDifference {
        steps: [steps[0].len(), steps[1].len()],
        mean: scales.map(Scale::time),
        shift,
        significant,
    }
}

/// A quantity of all lines together.
fn total(
    units: &[LineGroup<'_>],
    quantity: Quantity,
    scales: [&Scale<'_>; 2],
    test: &NoiseTest,
) -> Option<AmountDifference> {
    amount(units.iter(), quantity, scales, test)
}

/// A quantity of several lines together.
fn amount<'a, 'b: 'a>(
    units: impl Iterator<Item = &'a LineGroup<'b>>,
    quantity: Quantity,
    scales: [&Scale<'_>; 2],
    test: &NoiseTest,
) -> Option<AmountDifference> {
    let mut steps = [Vec::new(), Vec::new()];
    let mut means = [0.0; 2];
    for unit in units {
        for is_new in [false, true] {
            let side = usize::from(is_new);
            add(&mut steps[side], &unit.by_step(quantity, scales[side], is_new));
            let values = unit.books(is_new).filter_map(|it| scales[side].value(quantity, it));
            means[side] += values.sum::<f64>();
        }
    }
    let [base, new] = means;
    if base == 0.0 && new == 0.0 {
        return None;
    }
    let (shift, significant) = test.is_significant(&steps[0], &steps[1]);
    Some(AmountDifference { quantity, base, new, shift, significant })
}

/// By function: lines count to the function that they are in now; what is gone counts to the function that its own became.
fn functions(
    units: &[LineGroup<'_>],
    pairs: &BTreeMap<(String, String), (String, String)>,
    scales: [&Scale<'_>; 2],
    test: &NoiseTest,
) -> Vec<FunctionDifference> {
    let mut by_function: BTreeMap<(String, String), Vec<&LineGroup<'_>>> = BTreeMap::new();
    for unit in units {
        let of = |is_new: bool| {
            let line = unit.line(is_new).filter(|_| unit.books(is_new).next().is_some())?;
            Some((line.file.clone(), unit.function(is_new).to_owned()))
        };
        let key = of(true).or_else(|| {
            let mine = of(false)?;
            Some(pairs.get(&mine).cloned().unwrap_or(mine))
        });
        if let Some(key) = key {
            by_function.entry(key).or_default().push(unit);
        }
    }
    let renamed: BTreeMap<_, _> =
        pairs.iter().filter(|(from, to)| from.1 != to.1).map(|(from, to)| (to, &from.1)).collect();
    let difference = |((file, function), units): ((String, String), Vec<&LineGroup<'_>>)| {
        let amounts =
            TIMES.iter().filter_map(|&it| amount(units.iter().copied(), it, scales, test));
        let amounts: Vec<_> = amounts.collect();
        let key = (file, function);
        let base_function = renamed.get(&key).map(|it| (*it).clone());
        let (file, function) = key;
        FunctionDifference { file, function, base_function, amounts }
    };
    by_function.into_iter().map(difference).filter(|it| !it.amounts.is_empty()).collect()
}
