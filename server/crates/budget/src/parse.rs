//! From the text of a `perfline.toml` to limits.

use std::ops::Range;

use ide::UnknownName;
use metrics::Quantity;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::amount;
use crate::error::BudgetText;
use crate::{
    BaselineAllowance, BaselineLimit, BaselineLimits, Budget, BudgetError, CodeLimit, CodePart,
    CodePlace, FindingLimit, LimitValue, RunAllowance, RunLimit,
};

/// The quantities whose sums over lines mean something: every amount is on one line alone.
const SUMMED: [Quantity; 13] = [
    Quantity::CpuOwn,
    Quantity::CpuBusy,
    Quantity::Waiting,
    Quantity::CudaOwn,
    Quantity::Wait,
    Quantity::Waits,
    Quantity::Idle,
    Quantity::Comm,
    Quantity::CommExposed,
    Quantity::Kernels,
    Quantity::Calls,
    Quantity::Alloc,
    Quantity::Peak,
];

/// Those of a single line beyond them.
const OF_A_LINE: [Quantity; 3] = [Quantity::CpuTotal, Quantity::CudaTotal, Quantity::Elapsed];

/// The key that stands for all rules.
const ALL_RULES: &str = "all";

/// What the table against a baseline may hold.
const OF_BASELINE: [(&str, LimitValue); 6] = [
    ("recording", LimitValue::Path),
    ("root", LimitValue::Path),
    ("step", LimitValue::Share),
    ("line", LimitValue::Share),
    ("peak", LimitValue::Share),
    ("findings", LimitValue::Count),
];

type Entry<'a, 'i> = (&'a Spanned<DeString<'i>>, &'a Spanned<DeValue<'i>>);

impl Budget {
    /// The names of limits of a run, with what each may be.
    pub fn run_limits() -> impl Iterator<Item = (&'static str, LimitValue)> {
        let others = [("step", LimitValue::Time), ("unattributed", LimitValue::Share)];
        others.into_iter().chain(SUMMED.iter().map(|it| (it.id(), LimitValue::Amount(it.unit()))))
    }

    /// The names of limits of code, with what each may be; some are of a single line alone.
    pub fn code_limits() -> impl Iterator<Item = (&'static str, LimitValue)> {
        let all = SUMMED.iter().chain(&OF_A_LINE);
        all.map(|it| (it.id(), LimitValue::Amount(it.unit())))
    }

    /// The names that limits of findings may have.
    pub fn finding_limits() -> impl Iterator<Item = &'static str> {
        std::iter::once(ALL_RULES).chain(insights::rules().map(|it| it.id))
    }

    /// The names of limits against a baseline, and of what says which it is, with what each may be.
    pub fn baseline_limits() -> impl Iterator<Item = (&'static str, LimitValue)> {
        OF_BASELINE.into_iter()
    }

    /// Reads the table `budget` of the text of a `perfline.toml`.
    ///
    /// # Errors
    /// If the text is no TOML, has no such table, or names or amounts in it are not known. The first fault is returned.
    pub fn parse(text: &str) -> Result<Self, BudgetError> {
        let lines = BudgetText(text);
        let document = DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or_default();
            lines.error(&span, error.message().replace('\n', "; "))
        })?;
        let mut budget = Self::default();
        let mut is_there = false;
        // Other tables hold settings (the crate `settings`).
        for (key, value) in document.get_ref().iter().filter(|it| it.0.get_ref() == "budget") {
            is_there = true;
            for entry in table(lines, key, value)? {
                budget.add(lines, entry)?;
            }
        }
        if budget.is_empty() {
            let what = if is_there {
                "the table [budget] has no limit"
            } else {
                "there is no table [budget]"
            };
            return Err(
                lines.error(&(0..0), format!("{what}; docs/budgets.md says what can be limited"))
            );
        }
        Ok(budget)
    }

    /// Adds what an entry of `budget` says.
    fn add(
        &mut self,
        lines: BudgetText<'_>,
        (key, value): Entry<'_, '_>,
    ) -> Result<(), BudgetError> {
        match key.get_ref().as_ref() {
            "code" => {
                for (place, limits) in table(lines, key, value)? {
                    self.add_code(lines, place, limits)?;
                }
            }
            "findings" => {
                for entry in table(lines, key, value)? {
                    self.findings.push(finding_limit(lines, entry)?);
                }
            }
            "baseline" => self.baseline = Some(baseline(lines, key, value)?),
            _ => self.run.push(run_limit(lines, (key, value))?),
        }
        Ok(())
    }

    fn add_code(
        &mut self,
        lines: BudgetText<'_>,
        key: &Spanned<DeString<'_>>,
        limits: &Spanned<DeValue<'_>>,
    ) -> Result<(), BudgetError> {
        let place = CodePlace::parse(key.get_ref()).map_err(|it| lines.error(&key.span(), it))?;
        let is_line = matches!(place.part, CodePart::Line(_));
        for (name, value) in table(lines, key, limits)? {
            let fault = |message: String| lines.error(&name.span(), message);
            let id = name.get_ref().as_ref();
            if let Some(total) = OF_A_LINE.iter().find(|it| it.id() == id && !is_line) {
                return Err(fault(format!(
                    "`{}` cannot be added over lines, because calls are in the time of their callers too; limit it of one line \
                     (train.py:41), such as the one that calls",
                    total.id()
                )));
            }
            let known = SUMMED.iter().chain(OF_A_LINE.iter().filter(|_| is_line));
            let Some(&quantity) = known.clone().find(|it| it.id() == id) else {
                let unknown = UnknownName::new("metric", id, known.map(|it| it.id()));
                return Err(fault(unknown.to_string()));
            };
            let allowed = read(lines, (name, value), |it| amount::of_unit(quantity.unit(), it))?;
            let line = lines.at(&name.span());
            self.code.push(CodeLimit { place: place.clone(), quantity, allowed, line });
        }
        Ok(())
    }
}

/// A limit of the run as a whole.
fn run_limit(lines: BudgetText<'_>, entry: Entry<'_, '_>) -> Result<RunLimit, BudgetError> {
    let (key, _) = entry;
    let quantity = |name: &str| SUMMED.iter().copied().find(|it| it.id() == name);
    let allowed = match key.get_ref().as_ref() {
        "step" => RunAllowance::Step(read(lines, entry, amount::time)?),
        "unattributed" => RunAllowance::Unattributed(read(lines, entry, amount::share)?),
        name => match quantity(name) {
            Some(quantity) => {
                let allowed = read(lines, entry, |it| amount::of_unit(quantity.unit(), it))?;
                RunAllowance::Quantity(quantity, allowed)
            }
            None => {
                let known =
                    Budget::run_limits().map(|it| it.0).chain(["code", "findings", "baseline"]);
                let unknown = UnknownName::new("limit", name, known);
                return Err(lines.error(&key.span(), unknown.to_string()));
            }
        },
    };
    Ok(RunLimit { allowed, line: lines.at(&key.span()) })
}

fn finding_limit(lines: BudgetText<'_>, entry: Entry<'_, '_>) -> Result<FindingLimit, BudgetError> {
    let (key, _) = entry;
    let name = key.get_ref().as_ref();
    let rule = match (name, insights::rule(name)) {
        (ALL_RULES, _) => None,
        (_, Some(rule)) => Some(rule.id),
        _ => {
            let unknown = UnknownName::new("rule", name, Budget::finding_limits());
            return Err(lines.error(&key.span(), unknown.to_string()));
        }
    };
    let allowed = read(lines, entry, amount::findings)?;
    Ok(FindingLimit { rule, allowed, line: lines.at(&key.span()) })
}

fn baseline(
    lines: BudgetText<'_>,
    key: &Spanned<DeString<'_>>,
    value: &Spanned<DeValue<'_>>,
) -> Result<BaselineLimits, BudgetError> {
    let mut found = BaselineLimits { line: lines.at(&key.span()), ..BaselineLimits::default() };
    for entry in table(lines, key, value)? {
        let (key, value) = entry;
        let allowed = match key.get_ref().as_ref() {
            "recording" => {
                found.recording = Some(path(lines, value)?);
                continue;
            }
            "root" => {
                found.root = Some(path(lines, value)?);
                continue;
            }
            "step" => BaselineAllowance::Step(read(lines, entry, amount::share)?),
            "line" => BaselineAllowance::Line(read(lines, entry, amount::share)?),
            "peak" => BaselineAllowance::Peak(read(lines, entry, amount::share)?),
            "findings" => BaselineAllowance::Findings(read(lines, entry, amount::count)?),
            name => {
                let unknown = UnknownName::new("limit", name, OF_BASELINE.map(|it| it.0));
                return Err(lines.error(&key.span(), unknown.to_string()));
            }
        };
        found.limits.push(BaselineLimit { allowed, line: lines.at(&key.span()) });
    }
    Ok(found)
}

fn table<'a, 'i>(
    lines: BudgetText<'_>,
    key: &Spanned<DeString<'_>>,
    value: &'a Spanned<DeValue<'i>>,
) -> Result<&'a DeTable<'i>, BudgetError> {
    value.get_ref().as_table().ok_or_else(|| {
        lines.error(&key.span(), format!("`{}` is a table of limits, found a value", key.get_ref()))
    })
}

/// The value of an entry, as `reader` reads it.
fn read<T>(
    lines: BudgetText<'_>,
    (key, value): Entry<'_, '_>,
    reader: impl Fn(&DeValue<'_>) -> Result<T, String>,
) -> Result<T, BudgetError> {
    let wrong = |wrong| lines.error(&value.span(), format!("`{}`: {wrong}", key.get_ref()));
    reader(value.get_ref()).map_err(wrong)
}

fn path(lines: BudgetText<'_>, value: &Spanned<DeValue<'_>>) -> Result<String, BudgetError> {
    let span: Range<usize> = value.span();
    let text = value.get_ref().as_str().filter(|it| !it.is_empty());
    text.map(str::to_owned).ok_or_else(|| lines.error(&span, "expected a path"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Allowed, AllowedFindings};

    const EXAMPLE: &str = r#"
[budget]
step = "450 ms"
sync = "5 %"
peak = "70 GiB"
unattributed = "1 %"

[budget.code."train.py:step"]
sync = 0
kernels = 200

[budget.code."train.py:41"]
cpu_total = "30 ms"

[budget.findings]
all = 3
sync = "2 ms"

[budget.baseline]
recording = "main.perfline"
step = "3 %"
findings = 0
"#;

    #[test]
    fn each_limit_knows_its_line() {
        let budget = Budget::parse(EXAMPLE).unwrap();
        let sync = RunAllowance::Quantity(Quantity::Wait, Allowed::Share(0.05));
        let run = |allowed, line| RunLimit { allowed, line };
        let gib = 1024.0 * 1024.0 * 1024.0;
        let peak = RunAllowance::Quantity(Quantity::Peak, Allowed::Amount(70.0 * gib));
        let mut found = budget.run.clone();
        found.sort_by_key(|it| it.line);
        let expected = [
            run(RunAllowance::Step(450e6), 3),
            run(sync, 4),
            run(peak, 5),
            run(RunAllowance::Unattributed(0.01), 6),
        ];
        assert_eq!(found, expected);
        let code = budget.code.iter().map(|it| (it.quantity, it.allowed, it.line));
        let mut code: Vec<_> = code.collect();
        code.sort_by_key(|it| it.2);
        let expected = [
            (Quantity::Wait, Allowed::Amount(0.0), 9),
            (Quantity::Kernels, Allowed::Amount(200.0), 10),
            (Quantity::CpuTotal, Allowed::Amount(30e6), 13),
        ];
        assert_eq!(code, expected);
        let findings: Vec<_> = budget.findings.iter().map(|it| (it.rule, it.allowed)).collect();
        let expected =
            [(None, AllowedFindings::Count(3)), (Some("sync"), AllowedFindings::Cost(2e6))];
        assert_eq!(findings, expected);
        let baseline = budget.baseline.as_ref().unwrap();
        assert_eq!((baseline.recording.as_deref(), baseline.line), (Some("main.perfline"), 19));
        let mut limits: Vec<_> = baseline.limits.iter().map(|it| it.allowed).collect();
        limits.reverse();
        assert_eq!(limits, [BaselineAllowance::Step(0.03), BaselineAllowance::Findings(0)]);
        assert_eq!(budget.len(), 11);
    }

    #[test]
    fn faults_are_reported_with_their_line_and_what_is_expected() {
        for (text, expected) in [
            (
                "[budget]\nstep = \"5\"",
                "line 2: `step`: expected a time as in \"4.5 ms\" (ns, us, ms, s), found `5`",
            ),
            (
                "[budget]\n\n[budget.findings]\nsyncs = 0",
                "line 4: unknown rule `syncs`, expected one of: all, sync",
            ),
            (
                "[budget]\ngpu = 0",
                "line 2: unknown limit `gpu`, expected one of: step, unattributed, cpu_own",
            ),
            (
                "[budget.code.\"a.py\"]\ngpu = 0",
                "line 2: unknown metric `gpu`, expected one of: cpu_own",
            ),
            (
                "[budget.code.\"a.py:f\"]\ncpu_total = 0",
                "line 2: `cpu_total` cannot be added over lines",
            ),
            ("[budget.code]\n\"a.py\" = 3", "line 2: `a.py` is a table of limits, found a value"),
            ("[budget.baseline]\nrecording = 3", "line 2: expected a path"),
            ("[view]\nper = 'run'", "line 1: there is no table [budget]; docs/budgets.md"),
            ("[budget]\nstep = ", "line 2: "),
            ("[budget]\n", "line 1: the table [budget] has no limit; docs/budgets.md"),
            ("", "line 1: there is no table [budget]; docs/budgets.md"),
        ] {
            let error = Budget::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
