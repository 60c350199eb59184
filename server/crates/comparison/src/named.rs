//! Operators and kernels of two runs, by their names.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{KernelClass, LineBooks, LineKey};
use metrics::Scale;

use crate::lines::{LineDirections, LineGroup};
use crate::noise::NoiseTest;

/// Share (of 1) of the step that kernels which took the place of others must take, before or now.
const MIN_REPLACED: f64 = 0.001;

/// What an operator or a kernel costs in two runs. Means per step and rank, or sums over recordings without steps.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedDifference {
    /// As recorded.
    pub name: String,
    /// How often it runs, in the base and in the new run.
    pub calls: [f64; 2],
    /// Nanoseconds: of a kernel on the device, of an operator on the host.
    pub time: [f64; 2],
    /// Whether it is large, and that of a line that it ran on exceeds the noise in the same direction; `None` where steps are
    /// too few to say.
    pub significant: Option<bool>,
}

impl NamedDifference {
    /// What the new run takes longer, in nanoseconds.
    #[must_use]
    pub fn delta(&self) -> f64 {
        self.time[1] - self.time[0]
    }
}

/// A line whose operators run on other kernels now.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelReplacement {
    /// The line in the new run.
    pub line: LineKey,
    /// The operators that ran on the line in both runs.
    pub operators: Vec<String>,
    /// The kernels that are gone from the line, those that took longest first, and their time.
    pub gone: (Vec<String>, f64),
    /// The kernels that came, likewise.
    pub came: (Vec<String>, f64),
}

/// By operator, the largest difference first.
pub(crate) fn operators(
    units: &[LineGroup<'_>],
    directions: &[LineDirections],
    scales: [&Scale<'_>; 2],
    test: &NoiseTest,
) -> Vec<NamedDifference> {
    named(units, directions, scales, test, |books| {
        let rows = books.operators.iter();
        rows.map(|(name, it)| (name.clone(), it.calls as f64, it.cpu.as_f64())).collect()
    })
}

/// By kernel, the largest difference first.
pub(crate) fn kernels(
    units: &[LineGroup<'_>],
    directions: &[LineDirections],
    scales: [&Scale<'_>; 2],
    test: &NoiseTest,
) -> Vec<NamedDifference> {
    named(units, directions, scales, test, |books| {
        let rows = books.kernel_table.iter();
        rows.map(|(key, it)| (key.name.clone(), it.calls as f64, it.total.as_f64())).collect()
    })
}

/// What is known of a name while lines are added up.
#[derive(Default)]
struct NamedSum {
    calls: [f64; 2],
    time: [f64; 2],
    lines: LineDirections,
}

fn named(
    units: &[LineGroup<'_>],
    directions: &[LineDirections],
    scales: [&Scale<'_>; 2],
    test: &NoiseTest,
    rows: impl Fn(&LineBooks) -> Vec<(String, f64, f64)>,
) -> Vec<NamedDifference> {
    let mut sums: BTreeMap<String, NamedSum> = BTreeMap::new();
    for (unit, directions) in units.iter().zip(directions) {
        for is_new in [false, true] {
            let (side, scale) = (usize::from(is_new), scales[usize::from(is_new)]);
            for (name, calls, time) in unit.books(is_new).flat_map(&rows) {
                let sum = sums.entry(name).or_default();
                sum.calls[side] += scale.mean(calls);
                sum.time[side] += scale.mean(time);
                sum.lines.add(*directions);
            }
        }
    }
    let have_steps = scales.iter().all(|it| 2 <= it.ledger().steps.len());
    let difference = |(name, sum): (String, NamedSum)| {
        let NamedSum { calls, time: [base, new], lines } = sum;
        let significant =
            have_steps.then(|| lines.has(new - base) && test.is_large(new - base, base.max(new)));
        NamedDifference { name, calls, time: [base, new], significant }
    };
    let mut found: Vec<NamedDifference> = sums.into_iter().map(difference).collect();
    found.sort_by(|a, b| b.delta().abs().total_cmp(&a.delta().abs()));
    found
}

/// Lines on which some operators ran in both runs, and other kernels.
pub(crate) fn replacements(
    units: &[LineGroup<'_>],
    scales: [&Scale<'_>; 2],
) -> Vec<KernelReplacement> {
    let step = scales[0].time().max(scales[1].time());
    let mut found: Vec<KernelReplacement> = units
        .iter()
        .filter_map(|unit| {
            let operators = [false, true].map(|is_new| {
                let names = unit.books(is_new).flat_map(|it| it.operators.keys().cloned());
                names.collect::<BTreeSet<String>>()
            });
            let operators: Vec<String> =
                operators[0].intersection(&operators[1]).cloned().collect();
            let kernels = [false, true].map(|is_new| {
                let mut times: BTreeMap<String, f64> = BTreeMap::new();
                let scale = scales[usize::from(is_new)];
                let rows = unit.books(is_new).flat_map(|it| &it.kernel_table);
                for (key, it) in rows.filter(|(_, it)| it.class == KernelClass::Compute) {
                    *times.entry(key.name.clone()).or_default() += scale.mean(it.total.as_f64());
                }
                times
            });
            let only = |mine: usize| {
                let rows =
                    kernels[mine].iter().filter(|(it, _)| !kernels[1 - mine].contains_key(*it));
                let mut rows: Vec<_> = rows.collect();
                rows.sort_by(|a, b| b.1.total_cmp(a.1));
                let time = rows.iter().map(|(_, time)| **time).sum::<f64>();
                (rows.into_iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), time)
            };
            let (gone, came) = (only(0), only(1));
            let is_notable = MIN_REPLACED * step <= gone.1.max(came.1);
            let line = unit.line(true)?.clone();
            (!operators.is_empty() && !gone.0.is_empty() && !came.0.is_empty() && is_notable)
                .then_some(KernelReplacement { line, operators, gone, came })
        })
        .collect();
    found.sort_by(|a, b| {
        let time = |it: &KernelReplacement| it.gone.1.max(it.came.1);
        time(b).total_cmp(&time(a))
    });
    found
}
