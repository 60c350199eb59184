//! Edited lines that do other work in the new run: operators that are called more or less often. Counts do not depend on the
//! machine, so that an edit is seen whose time disappears in the noise.

use std::collections::BTreeMap;

use ledger::{Evidence, LineKey};
use metrics::{Quantity, Scale};
use pysource::MatchStatus;

use crate::lines::LineGroup;
use crate::same_work::{SameWork, are_equal};

/// What an edited line does differently in the new run.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherWork {
    /// The costliest of the lines in the base; `None` where nothing corresponds.
    pub base: Option<LineKey>,
    /// The costliest of them in the new run.
    pub new: Option<LineKey>,
    /// The function in the new run, else in the base.
    pub function: String,
    /// What became of the lines.
    pub status: MatchStatus,
    /// How they are known: the weakest.
    pub evidence: Evidence,
    /// Own thread time of the lines, in nanoseconds per step and rank, or of recordings without steps.
    pub time: [f64; 2],
    /// Outermost operators that are called more or less often, the largest difference first.
    pub operators: Vec<OperatorCalls>,
}

/// How often an operator is called from a line. Means per step and rank, or sums over recordings without steps.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorCalls {
    /// As recorded.
    pub name: String,
    /// In the base and in the new run.
    pub calls: [f64; 2],
}

impl OperatorCalls {
    fn delta(&self) -> f64 {
        self.calls[1] - self.calls[0]
    }
}

/// By line of those that are yours, were edited and do not do the same work together, the largest difference of calls first. An operator
/// counts if these lines together call it more, or less, and other lines do not make up for more than half of that.
pub(crate) fn other_work(
    units: &[LineGroup<'_>],
    scales: [&Scale<'_>; 2],
    same_work: &SameWork,
    is_yours: impl Fn(&LineGroup<'_>) -> bool,
) -> Vec<OtherWork> {
    let calls: Vec<BTreeMap<&str, [f64; 2]>> =
        units.iter().map(|it| calls_of(it, scales)).collect();
    let is_wanted = |place: usize| {
        let unit = &units[place];
        !unit.says_the_same() && same_work.group(place).is_empty() && is_yours(unit)
    };
    let edited: Vec<usize> = (0..units.len()).filter(|it| is_wanted(*it)).collect();
    let sum = |of: &mut dyn Iterator<Item = usize>| {
        let mut sums: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
        for (name, calls) in of.flat_map(|it| &calls[it]) {
            let sum = sums.entry(name).or_default();
            sum.iter_mut().zip(calls).for_each(|(sum, calls)| *sum += calls);
        }
        sums
    };
    let (of_edited, of_all) = (sum(&mut edited.iter().copied()), sum(&mut (0..units.len())));
    let delta = |[base, new]: [f64; 2]| new - base;
    let gains: BTreeMap<&str, f64> = of_edited
        .into_iter()
        .filter(|(_, [base, new])| !are_equal(*base, *new))
        .map(|(name, calls)| (name, delta(calls)))
        .filter(|(name, gain)| gain.abs() / 2.0 <= gain.signum() * delta(of_all[name]))
        .collect();
    let mut found: Vec<OtherWork> = edited
        .into_iter()
        .filter_map(|place| {
            let rows = calls[place].iter().filter(|(name, calls)| {
                let is_wanted = |gain: &f64| 0.0 < gain * delta(**calls);
                !are_equal(calls[0], calls[1]) && gains.get(**name).is_some_and(is_wanted)
            });
            let operators =
                rows.map(|(name, calls)| OperatorCalls { name: (*name).to_owned(), calls: *calls });
            of_unit(&units[place], scales, operators.collect())
        })
        .collect();
    let largest = |it: &OtherWork| it.operators[0].delta().abs();
    found.sort_by(|a, b| largest(b).total_cmp(&largest(a)));
    found
}

/// Outermost operators by name, and how often they are called in both runs.
fn calls_of<'a>(unit: &LineGroup<'a>, scales: [&Scale<'_>; 2]) -> BTreeMap<&'a str, [f64; 2]> {
    let mut found: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    for is_new in [false, true] {
        let side = usize::from(is_new);
        for (name, calls) in unit.operator_calls(scales[side], is_new) {
            found.entry(name).or_default()[side] = calls;
        }
    }
    found
}

/// `None` without operators.
fn of_unit(
    unit: &LineGroup<'_>,
    scales: [&Scale<'_>; 2],
    mut operators: Vec<OperatorCalls>,
) -> Option<OtherWork> {
    operators.sort_by(|a, b| b.delta().abs().total_cmp(&a.delta().abs()));
    (!operators.is_empty()).then(|| OtherWork {
        base: unit.line(false).cloned(),
        new: unit.line(true).cloned(),
        function: unit.name().to_owned(),
        status: unit.status,
        evidence: unit.evidence(),
        time: [false, true].map(|it| unit.mean(Quantity::CpuBusy, scales[usize::from(it)], it)),
        operators,
    })
}

#[cfg(test)]
mod tests {
    use ledger::{Ledger, LineKey, Ns, Operator, SourceFile};

    use super::*;
    use crate::{ComparedRun, Difference};

    /// One step, in which lines of a file call operators.
    fn run(rows: &[(u32, &str, u64)]) -> Ledger {
        let mut ledger = Ledger::default();
        let file = SourceFile { is_user_code: true, ..Default::default() };
        ledger.files.insert("train.py".to_owned(), file);
        ledger.steps.insert(1, Ns(1_000_000));
        for &(line, name, calls) in rows {
            let key = LineKey { file: "train.py".to_owned(), line };
            let books = ledger.lines.entry(key).or_default();
            books.function = "f".to_owned();
            books.cpu_own = Ns(1000);
            books.operators.insert(name.to_owned(), Operator { calls, ..Default::default() });
        }
        ledger
    }

    /// By line of the new run, else of the base: operators with their calls.
    fn found(base: (&[(u32, &str, u64)], &str), new: (&[(u32, &str, u64)], &str)) -> Vec<String> {
        let (old, young) = (run(base.0), run(new.0));
        let of = |ledger, text| ComparedRun {
            ledger,
            names: [("train.py", "train.py")].into(),
            texts: [("train.py", text)].into(),
        };
        let difference = Difference::new(&of(&old, base.1), &of(&young, new.1));
        let described = |it: &OtherWork| {
            let line = it.new.as_ref().or(it.base.as_ref()).map_or(0, |it| it.line);
            let calls = it.operators.iter();
            let calls = calls.map(|it| format!("{} {} → {}", it.name, it.calls[0], it.calls[1]));
            format!("{line}: {}", calls.collect::<Vec<_>>().join(", "))
        };
        difference.other_work.iter().map(described).collect()
    }

    const TEXT: &str = "def f(x):\n    y = g(x)\n    z = y + 1\n    return z\n";

    #[test]
    fn an_edited_line_that_calls_other_operators_is_named() {
        let edited = TEXT.replace("g(x)", "h(x)");
        let base = [(2, "aten::mul_", 40), (2, "aten::add_", 40), (3, "aten::add", 1)];
        let new = [(2, "aten::_foreach_lerp_", 1), (3, "aten::add", 1)];
        assert_eq!(
            found((&base, TEXT), (&new, &edited)),
            ["2: aten::add_ 40 → 0, aten::mul_ 40 → 0, aten::_foreach_lerp_ 0 → 1"]
        );
        assert!(found((&base, TEXT), (&base, &edited)).is_empty());
        // Lines that say the same are not named: what they call has its reason elsewhere.
        assert!(found((&base, TEXT), (&new, TEXT)).is_empty());
    }

    #[test]
    fn what_was_only_put_on_another_line_is_no_other_work() {
        let joined = "def f(x):\n    z = g(x) + 1\n    return z\n";
        let base = [(2, "aten::mm", 4), (3, "aten::add", 1)];
        let new = [(2, "aten::mm", 4), (2, "aten::add", 1)];
        assert!(found((&base, TEXT), (&new, joined)).is_empty());
        let more = [(2, "aten::mm", 5), (2, "aten::add", 1)];
        assert_eq!(found((&base, TEXT), (&more, joined)), ["2: aten::mm 4 → 5"]);
        // A line of which the function alone was known before.
        let edited = TEXT.replace("g(x)", "h(x)");
        let by_name = [(1, "aten::mm", 4), (3, "aten::add", 1)];
        assert!(found((&by_name, TEXT), (&base, &edited)).is_empty());
    }

    #[test]
    fn a_statement_that_became_a_function_of_several_lines_is_no_other_work() {
        let before = "def f(x):\n    y = g(x + 1, x * 2)\n    z = y - 1\n    return z\n\ndef h(x):\n    return x\n";
        let after = "def f(x):\n    y = k(x)\n    z = two(y)\n    return z\n\ndef k(x):\n    a = x + 1\n    return g(a, x * 2)\n\ndef h(x):\n    return x\n";
        let base = [(2, "aten::add", 1), (2, "aten::mul", 18), (3, "aten::mul", 8)];
        let new = [(7, "aten::add", 1), (8, "aten::mul", 18), (3, "aten::mul", 1)];
        assert_eq!(found((&base, before), (&new, after)), ["3: aten::mul 8 → 1"]);
    }
}
