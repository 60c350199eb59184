//! Lines that do the same work in two runs: the time of such a line on the host says something of the process that it ran in,
//! not of the program.

use std::collections::{BTreeMap, BTreeSet};

use metrics::{Quantity, Scale};

use crate::lines::LineGroup;

/// Share (of 1) by which counts and bytes per step may differ between runs that do the same: runs begin and end within steps.
const TOLERANCE: f64 = 0.02;

/// Share (of 1) of the thread time of an edited line that must be in operators for it to do the same work if these are the same.
const MIN_IN_OPERATORS: f64 = 0.75;

/// What a line does per step, as far as it is recorded, other than time.
#[derive(Debug)]
struct Work<'a> {
    /// Calls made, kernels launched, bytes allocated, floating-point operations.
    counts: [f64; 4],
    /// Calls of outermost operators, by name.
    operators: BTreeMap<&'a str, f64>,
    /// Whether most of its own thread time is in them: how much Python does besides is not counted.
    is_in_operators: bool,
}

impl<'a> Work<'a> {
    fn of(unit: &LineGroup<'a>, scale: &Scale<'_>, is_new: bool) -> Self {
        let mean = |quantity| unit.mean(quantity, scale, is_new);
        let flops: f64 = unit.books(is_new).map(|it| it.flops() as f64).sum();
        let counts = [
            mean(Quantity::Calls),
            mean(Quantity::Kernels),
            mean(Quantity::Alloc),
            scale.mean(flops),
        ];
        let in_operators: f64 = unit
            .books(is_new)
            .flat_map(|it| it.operators.values())
            .map(|it| scale.mean(it.cpu.as_f64()))
            .sum();
        Self {
            counts,
            operators: unit.operator_calls(scale, is_new),
            is_in_operators: mean(Quantity::CpuBusy) <= in_operators / MIN_IN_OPERATORS,
        }
    }

    /// Whether it says anything: of a line that computes with Python's own numbers nothing is recorded but its time.
    fn is_known(&self) -> bool {
        0.0 < self.counts[0] || !self.operators.is_empty()
    }

    fn is_as(&self, other: &Self) -> bool {
        let counts =
            self.counts.iter().zip(&other.counts).all(|(one, other)| are_equal(*one, *other));
        counts && self.operators.len() == other.operators.len() && self.has_operators_of(other)
    }

    fn has_operators_of(&self, other: &Self) -> bool {
        let mut theirs = other.operators.iter();
        theirs
            .all(|(name, calls)| self.operators.get(name).is_some_and(|it| are_equal(*it, *calls)))
    }

    /// What it has more of each operator than another; `None` where it has less of one, or nothing more.
    fn operators_beyond(&self, other: &Self) -> Option<BTreeMap<&'a str, f64>> {
        let has_all = other.operators.iter().all(|(name, calls)| {
            let mine = self.operators.get(name).copied().unwrap_or_default();
            *calls <= mine || are_equal(mine, *calls)
        });
        let beyond = self.operators.iter().filter_map(|(&name, &calls)| {
            let theirs = other.operators.get(name).copied().unwrap_or_default();
            (!are_equal(calls, theirs)).then_some((name, calls - theirs))
        });
        let beyond: BTreeMap<&str, f64> = beyond.collect();
        (has_all && !beyond.is_empty()).then_some(beyond)
    }
}

/// What an edited line calls more in the new run.
struct GainedOperators<'a> {
    place: usize,
    /// The function that it is in now.
    function: &'a str,
    operators: BTreeMap<&'a str, f64>,
}

/// The line that gained what another one lost, else the lines of a function that did together.
fn who_gained(gains: &[GainedOperators<'_>], lost: &BTreeMap<&str, f64>) -> Option<Vec<usize>> {
    let are_lost = |gained: &BTreeMap<&str, f64>| {
        gained.len() == lost.len()
            && gained
                .iter()
                .zip(lost)
                .all(|((name, calls), (other, before))| name == other && are_equal(*calls, *before))
    };
    if let Some(one) = gains.iter().find(|it| are_lost(&it.operators)) {
        return Some(vec![one.place]);
    }
    let functions: BTreeSet<&str> = gains.iter().map(|it| it.function).collect();
    functions.into_iter().find_map(|function| {
        let of_function = || gains.iter().filter(|it| it.function == function);
        let mut sum: BTreeMap<&str, f64> = BTreeMap::new();
        for (name, calls) in of_function().flat_map(|it| &it.operators) {
            *sum.entry(name).or_default() += calls;
        }
        are_lost(&sum).then(|| of_function().map(|it| it.place).collect())
    })
}

/// Whether two counts or sizes per step are as those of two runs that do the same.
pub(crate) fn are_equal(one: f64, other: f64) -> bool {
    (one - other).abs() <= TOLERANCE * one.abs().max(other.abs())
}

/// Which lines do the same work in both runs.
pub(crate) struct SameWork {
    /// For each of the units: those that together do the same in both runs, itself among them; empty where it does not.
    groups: Vec<Vec<usize>>,
}

impl SameWork {
    /// A line that says the same, or that was edited and takes most of its time in operators, does the same if as much is called,
    /// launched, allocated and computed from it. Of lines that were edited, one may do now what another one did, or those of a function
    /// together: the operators that they have more, the other has less.
    pub(crate) fn of(units: &[LineGroup<'_>], scales: [&Scale<'_>; 2]) -> Self {
        let works: Vec<[Work<'_>; 2]> = units
            .iter()
            .map(|unit| [false, true].map(|it| Work::of(unit, scales[usize::from(it)], it)))
            .collect();
        let mut groups = vec![Vec::new(); units.len()];
        for (place, (unit, [base, new])) in units.iter().zip(&works).enumerate() {
            let is_comparable = unit.says_the_same() || base.is_in_operators && new.is_in_operators;
            if is_comparable && base.is_known() && base.is_as(new) {
                groups[place].push(place);
            }
        }
        let edited = || units.iter().enumerate().filter(|(_, it)| !it.says_the_same());
        let mut gains: Vec<GainedOperators<'_>> = edited()
            .filter_map(|(place, unit)| {
                let [base, new] = &works[place];
                let operators = new.operators_beyond(base)?;
                Some(GainedOperators { place, function: unit.function(true), operators })
            })
            .collect();
        for (place, _) in edited() {
            let [base, new] = &works[place];
            let Some(lost) = base.operators_beyond(new) else { continue };
            let Some(found) = who_gained(&gains, &lost) else { continue };
            gains.retain(|it| !found.contains(&it.place));
            let group: Vec<usize> = std::iter::once(place).chain(found).collect();
            for &it in &group {
                groups[it].clone_from(&group);
            }
        }
        Self { groups }
    }

    /// The units that together do the same work as this one did; empty where there are none.
    pub(crate) fn group(&self, unit: usize) -> &[usize] {
        &self.groups[unit]
    }
}

#[cfg(test)]
mod tests {
    use ledger::{Evidence, Ledger, LineBooks, LineKey, Ns, Operator, PerStep, SourceFile};
    use metrics::Quantity;

    use crate::{ComparedRun, Difference};

    const FILE: &str = "train.py";
    const N_STEPS: u32 = 8;

    /// A line with its time in each step, in milliseconds, and how often an operator runs in each.
    struct Row {
        line: u32,
        function: &'static str,
        time: f64,
        operator: Option<(&'static str, u64)>,
    }

    fn row(
        line: u32,
        function: &'static str,
        time: f64,
        operator: Option<(&'static str, u64)>,
    ) -> Row {
        Row { line, function, time, operator }
    }

    /// Eight steps; what the rows leave of 10 ms has no line.
    fn run(rows: &[Row]) -> Ledger {
        let mut ledger = Ledger::default();
        let file =
            SourceFile { recorded: FILE.to_owned(), is_user_code: true, ..Default::default() };
        ledger.files.insert(FILE.to_owned(), file);
        for step in 1..=N_STEPS {
            let time: f64 = rows.iter().map(|it| it.time).sum();
            ledger.steps.insert(step, ms(time + jitter(step)));
        }
        for it in rows {
            let mut books = LineBooks { function: it.function.to_owned(), ..Default::default() };
            for step in 1..=N_STEPS {
                let time = ms(it.time * (1.0 + jitter(step)));
                books.cpu_own += time;
                books.steps.insert(step, PerStep { cpu: time, ..Default::default() });
            }
            if let Some((name, calls)) = it.operator {
                let calls = calls * u64::from(N_STEPS);
                books.operators.insert(name.to_owned(), Operator { calls, ..Default::default() });
            }
            ledger.lines.insert(LineKey { file: FILE.to_owned(), line: it.line }, Box::new(books));
        }
        ledger
    }

    fn ms(time: f64) -> Ns {
        Ns((time * 1e6) as i64)
    }

    fn jitter(step: u32) -> f64 {
        f64::from(step % 3) / 1000.0
    }

    fn compared(base: (&[Row], &str), new: (&[Row], &str)) -> Difference {
        let (old, young) = (run(base.0), run(new.0));
        let of = |ledger| ComparedRun {
            ledger,
            names: [(FILE, FILE)].into(),
            texts: Default::default(),
        };
        let mut base_run = of(&old);
        base_run.texts.insert(FILE, base.1);
        let mut new_run = of(&young);
        new_run.texts.insert(FILE, new.1);
        Difference::new(&base_run, &new_run)
    }

    /// Whether the time of the line on which something stands now, or stood, counts, and whether it is the same work.
    fn verdict(difference: &Difference, line: u32, is_new: bool) -> (Option<bool>, bool) {
        let is_it = |it: &&crate::ComparedLine| {
            (if is_new { &it.new } else { &it.base }).as_ref().is_some_and(|it| it.line == line)
        };
        let line = difference.lines.iter().find(is_it).expect("a line");
        let time = line.amounts.iter().find(|it| it.quantity == Quantity::CpuBusy).expect("time");
        (time.significant, time.is_same_work)
    }

    const TEXT: &str = "def f(x):\n    y = x @ x\n    z = y + 1\n    return g(z)\n";

    #[test]
    fn a_line_that_did_the_same_is_faster_only_beyond_what_processes_differ_by() {
        let before = [row(2, "f", 4.0, Some(("aten::mm", 1))), row(3, "f", 6.0, None)];
        let with =
            |time: f64, operator| [row(2, "f", time, Some(operator)), row(3, "f", 6.0, None)];
        let of = |after: &[Row]| {
            let difference = compared((&before, TEXT), (after, TEXT));
            (verdict(&difference, 2, true), difference.functions[0].amounts[0].significant)
        };
        assert_eq!(of(&with(2.0, ("aten::mm", 1))), ((Some(false), true), Some(false)));
        assert_eq!(of(&with(8.0, ("aten::mm", 1))), ((Some(false), true), Some(false)));
        assert_eq!(of(&with(1.0, ("aten::mm", 1))), ((Some(true), false), Some(true)));
        // Other work: half of the calls, another operator.
        assert_eq!(of(&with(2.0, ("aten::mm", 2))), ((Some(true), false), Some(true)));
        assert_eq!(of(&with(2.0, ("aten::bmm", 1))), ((Some(true), false), Some(true)));
        // What computes with Python's own numbers says nothing of its work.
        let before = [row(2, "f", 4.0, None), row(3, "f", 6.0, None)];
        let after = [row(2, "f", 2.0, None), row(3, "f", 6.0, None)];
        let difference = compared((&before, TEXT), (&after, TEXT));
        assert_eq!(verdict(&difference, 2, true), (Some(true), false));
    }

    #[test]
    fn an_edited_line_that_runs_the_same_operators_does_the_same() {
        let edited = TEXT.replace("x @ x", "x @ y");
        let of = |in_operators: f64| {
            let run_of = |time: f64| {
                let mut ledger =
                    run(&[row(2, "f", time, Some(("aten::mm", 1))), row(3, "f", 6.0, None)]);
                for operator in ledger.lines.values_mut().flat_map(|it| it.operators.values_mut()) {
                    operator.cpu = ms(in_operators * time * f64::from(N_STEPS));
                }
                ledger
            };
            let (old, young) = (run_of(4.0), run_of(2.0));
            let compared = |ledger, text| ComparedRun {
                ledger,
                names: [(FILE, FILE)].into(),
                texts: [(FILE, text)].into(),
            };
            let difference = Difference::new(&compared(&old, TEXT), &compared(&young, &edited));
            verdict(&difference, 2, true)
        };
        assert_eq!(of(0.9), (Some(false), true));
        // What Python does besides may be what was edited.
        assert_eq!(of(0.2), (Some(true), false));
    }

    #[test]
    fn steps_that_only_differ_in_the_same_work_do_not_count() {
        let before = [row(2, "f", 4.0, Some(("aten::mm", 1))), row(3, "f", 6.0, None)];
        let after = [row(2, "f", 8.0, Some(("aten::mm", 1))), row(3, "f", 6.0, None)];
        let step = compared((&before, TEXT), (&after, TEXT)).step;
        assert_eq!((step.significant, step.is_same_work), (Some(false), true));
        let after = [row(2, "f", 8.0, Some(("aten::mm", 2))), row(3, "f", 6.0, None)];
        let step = compared((&before, TEXT), (&after, TEXT)).step;
        assert_eq!((step.significant, step.is_same_work), (Some(true), false));
    }

    /// A statement that became a part of another one.
    #[test]
    fn what_one_line_did_and_another_one_does_now_is_compared_with_it() {
        let inlined = "def f(x):\n    z = (x @ x) + 1\n    return g(z)\n";
        let before = [
            row(2, "f", 4.0, Some(("aten::mm", 1))),
            row(3, "f", 0.5, Some(("aten::add", 1))),
            row(4, "f", 6.0, None),
        ];
        let inlined_row = |time: f64| {
            let mut ledger =
                run(&[row(2, "f", time, Some(("aten::mm", 1))), row(3, "f", 6.0, None)]);
            let books = ledger.lines.values_mut().next().expect("a line");
            let calls = u64::from(N_STEPS);
            books
                .operators
                .insert("aten::add".to_owned(), Operator { calls, ..Default::default() });
            ledger
        };
        let old = run(&before);
        let of = |young: &Ledger| {
            let run = |ledger, text| ComparedRun {
                ledger,
                names: [(FILE, FILE)].into(),
                texts: [(FILE, text)].into(),
            };
            let difference = Difference::new(&run(&old, TEXT), &run(young, inlined));
            let significant =
                |it: &crate::ComparedLine| it.amounts.iter().any(|it| it.significant == Some(true));
            difference.lines.iter().filter(|it| significant(it)).count()
        };
        assert_eq!(of(&inlined_row(4.5)), 0);
        assert_ne!(of(&inlined_row(0.5)), 0);
    }

    #[test]
    fn what_is_known_of_a_function_alone_differs_with_the_function() {
        let def = |time: f64| Row { line: 1, ..row(1, "f", time, None) };
        let run_of = |on_def: f64, on_line: f64| {
            let mut ledger =
                run(&[def(on_def), row(2, "f", on_line, None), row(4, "main", 6.0, None)]);
            let books = ledger.lines.values_mut().next().expect("a line");
            books.evidence = Evidence::Function;
            ledger
        };
        let of = |old: &Ledger, young: &Ledger| {
            let run = |ledger| ComparedRun {
                ledger,
                names: [(FILE, FILE)].into(),
                texts: [(FILE, TEXT)].into(),
            };
            verdict(&Difference::new(&run(old), &run(young)), 1, true).0
        };
        assert_eq!(of(&run_of(2.0, 2.0), &run_of(0.2, 3.8)), Some(false));
        assert_eq!(of(&run_of(2.0, 2.0), &run_of(0.2, 2.0)), Some(true));
    }

    /// The time of a function that is known by its name alone goes with its lines to the function that has them now.
    #[test]
    fn a_function_that_was_put_in_place_of_its_call_differs_only_with_the_caller() {
        let apart = "def f(x):\n    return g(x)\n\ndef g(x):\n    y = x @ x + x\n    return y\n";
        let inlined = "def f(x):\n    y = x @ x + x\n    return y\n";
        let known_by_name = |mut ledger: Ledger, lines: &[u32]| {
            for (key, books) in &mut ledger.lines {
                if lines.contains(&key.line) {
                    books.evidence = Evidence::Function;
                }
            }
            ledger
        };
        let old = run(&[row(1, "f", 0.5, None), row(4, "g", 4.0, None), row(5, "g", 5.0, None)]);
        let old = known_by_name(old, &[1, 4]);
        let of = |on_def: f64| {
            let young = run(&[row(1, "f", on_def, None), row(2, "f", 5.0, None)]);
            let young = known_by_name(young, &[1]);
            let run = |ledger, text| ComparedRun {
                ledger,
                names: [(FILE, FILE)].into(),
                texts: [(FILE, text)].into(),
            };
            let difference = Difference::new(&run(&old, apart), &run(&young, inlined));
            let is_significant = |it: &crate::AmountDifference| it.significant == Some(true);
            let lines = difference.lines.iter().filter(|it| it.amounts.iter().any(is_significant));
            let functions = difference.functions.iter();
            let functions = functions.filter(|it| it.amounts.iter().any(is_significant));
            (lines.count(), functions.count())
        };
        assert_eq!(of(4.5), (0, 0));
        assert_ne!(of(0.5), (0, 0));
    }

    /// A loop that was written in one line: what its lines cost together is what counts.
    #[test]
    fn an_edit_that_puts_work_on_another_line_makes_no_difference() {
        let apart =
            "def f(x):\n    y = []\n    for z in x:\n        y.append(g(z))\n    return y\n";
        let joined = "def f(x):\n    return [g(z) for z in x]\n";
        let old = run(&[row(3, "f", 2.0, None), row(4, "f", 2.5, None), row(5, "f", 0.2, None)]);
        let of = |time: f64| {
            let young = run(&[row(2, "f", time, None)]);
            let run = |ledger, text| ComparedRun {
                ledger,
                names: [(FILE, FILE)].into(),
                texts: [(FILE, text)].into(),
            };
            let difference = Difference::new(&run(&old, apart), &run(&young, joined));
            let amounts = difference.lines.iter().flat_map(|it| &it.amounts);
            amounts.filter(|it| it.significant == Some(true)).map(|it| it.delta() < 0.0).collect()
        };
        let nothing: Vec<bool> = of(4.7);
        assert!(nothing.is_empty(), "{nothing:?}");
        let faster: Vec<bool> = of(1.0);
        assert!(!faster.is_empty() && faster.iter().all(|it| *it), "{faster:?}");
    }
}
