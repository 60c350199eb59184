//! From a recording and the limits of a budget to those that are exceeded.

use std::collections::BTreeSet;

use budget::{
    Allowed, AllowedFindings, BaselineAllowance, BaselineLimit, BaselineLimits, Budget, CodeLimit,
    CodePart, FindingLimit, RunAllowance, RunLimit,
};
use comparison::Difference;
use ledger::{Bytes, DeviceMemory, Ledger, LineBooks, LineKey, Metric};
use metrics::{Period, Quantity, Scale, Unit, numbers};

use crate::diff::{self, DiffReport};
use crate::findings::findings;
use crate::limits::Limit;
use crate::model::{Place, ReportedFinding};
use crate::recording::Recording;
use crate::summary;
use crate::suppression::Suppression;

/// How a run stands to its budget.
#[derive(Debug)]
pub struct BudgetCheck {
    /// What was checked: the recording and its steps.
    pub recording: String,
    /// How many limits there are.
    pub n_limits: usize,
    /// What exceeds them, or cannot be checked, in the order of the budget.
    pub exceeded: Vec<ExceededLimit>,
}

/// A limit that is exceeded, or that cannot be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExceededLimit {
    /// What kind of limit it is.
    pub kind: LimitKind,
    /// The line of code that is to blame, where one is.
    pub place: Option<Place>,
    /// The line of the budget that states the limit, from 1.
    pub line: u32,
    /// What exceeds it, and what is allowed.
    pub message: String,
}

/// What a limit is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimitKind {
    /// The run as a whole.
    Run,
    /// A part of the code.
    Code,
    /// What the rules find.
    Findings,
    /// A baseline.
    Baseline,
}

impl LimitKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Run, Self::Code, Self::Findings, Self::Baseline];

    /// Stable name in machine-readable output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "budget/run",
            Self::Code => "budget/code",
            Self::Findings => "budget/findings",
            Self::Baseline => "budget/baseline",
        }
    }
}

/// Holds a recording against a budget, and against `baseline` where the budget has limits against one. Amounts are of the
/// mean step of a rank; of the whole recording where it has no steps. Findings are those that there are by `rules`.
#[must_use]
pub fn build(
    budget: &Budget,
    recording: &Recording<'_>,
    baseline: Option<&Recording<'_>>,
    rules: &insights::RuleOptions,
) -> BudgetCheck {
    let scale = Scale::new(&recording.run.merged, Period::Mean);
    let mut checked = CheckedRun { recording, scale: &scale, rules, exceeded: Vec::new() };
    for limit in &budget.run {
        checked.run(limit);
    }
    for limit in &budget.code {
        checked.code(limit);
    }
    let suppression = Suppression::new(recording);
    let found = findings(recording, &recording.run.merged, rules, &suppression, |_| true);
    for limit in &budget.findings {
        checked.findings(limit, &found);
    }
    if let Some(limits) = &budget.baseline {
        checked.baseline(limits, baseline, &found);
    }
    let mut exceeded = checked.exceeded;
    exceeded.sort_by_key(|it| it.line);
    let recording = summary::summary(recording.run, &scale).title();
    BudgetCheck { recording, n_limits: budget.len(), exceeded }
}

/// A recording, while it is held against limits.
struct CheckedRun<'a> {
    recording: &'a Recording<'a>,
    scale: &'a Scale<'a>,
    rules: &'a insights::RuleOptions,
    exceeded: Vec<ExceededLimit>,
}

impl CheckedRun<'_> {
    fn ledger(&self) -> &Ledger {
        self.scale.ledger()
    }

    /// ` per step`, where the recording has steps.
    fn per_step(&self) -> &'static str {
        if self.scale.period() == Period::Run { "" } else { " per step" }
    }

    fn exceed(&mut self, kind: LimitKind, line: u32, place: Option<Place>, message: String) {
        self.exceeded.push(ExceededLimit { kind, place, line, message });
    }

    fn run(&mut self, limit: &RunLimit) {
        let whole = |of: Limit, factor: f64, allowed: f64| {
            let over = of.values(self.scale).into_iter().filter(|it| allowed < it.0 * factor);
            over.map(|it| it.1).collect::<Vec<_>>()
        };
        let messages = match limit.allowed {
            RunAllowance::Step(allowed) => {
                let text = numbers::duration(allowed);
                let over = whole(Limit::Step, 1e6, allowed).into_iter();
                over.map(|it| format!("{it}, more than {text}")).collect()
            }
            RunAllowance::Unattributed(allowed) => {
                let text = numbers::percent(allowed);
                let over = whole(Limit::Unattributed, 0.01, allowed).into_iter();
                over.map(|it| format!("{it}, more than {text}")).collect()
            }
            RunAllowance::Quantity(Quantity::Peak, allowed) => self.peak(allowed),
            RunAllowance::Quantity(quantity, allowed) => {
                let value = total(self.scale, quantity);
                let over = self.over(quantity, value, allowed);
                over.map(|it| format!("{}: {it}", quantity.label())).into_iter().collect()
            }
        };
        for message in messages {
            self.exceed(LimitKind::Run, limit.line, None, message);
        }
    }

    /// What is said of a value that exceeds what is allowed.
    fn over(&self, quantity: Quantity, value: f64, allowed: Allowed) -> Option<String> {
        let share = self.scale.share(quantity, value);
        let per_step = if quantity.unit() == Unit::Ns { self.per_step() } else { "" };
        let text = quantity.text(value);
        let is_over = match allowed {
            Allowed::Amount(allowed) => allowed < value,
            Allowed::Share(allowed) => allowed < share,
        };
        let allowed_text = allowed.text(quantity.unit());
        is_over.then(|| match allowed {
            Allowed::Amount(_) => format!("{text}{per_step}, more than {allowed_text}"),
            Allowed::Share(_) => {
                format!("{text}{per_step} ({}), more than {allowed_text}", numbers::percent(share))
            }
        })
    }

    /// The devices whose memory was fuller than is allowed.
    fn peak(&self, allowed: Allowed) -> Vec<String> {
        let ledger = self.ledger();
        if ledger.memory.is_empty() {
            return vec![
                "the peak of memory cannot be checked: no memory was recorded (profile_memory=True, or a snapshot)"
                    .to_owned(),
            ];
        }
        let over = ledger.memory.iter().filter_map(|(&device, memory)| {
            let name = metrics::device_name(device, 1 < ledger.ranks);
            let peak = numbers::bytes(memory.peak.as_f64());
            match allowed {
                Allowed::Amount(allowed) => (allowed < memory.peak.as_f64()).then(|| {
                    format!("memory of {name}: {peak} at the peak, more than {}", numbers::bytes(allowed))
                }),
                Allowed::Share(allowed) => {
                    let Some(share) = share_of_capacity(memory) else {
                        return Some(format!(
                            "memory of {name}: {peak} at the peak; the recording does not say of how much, so that the limit has \
                             to be given in bytes"
                        ));
                    };
                    let text = numbers::percent(share);
                    let allowed_text = numbers::percent(allowed);
                    (allowed < share).then(|| {
                        format!("memory of {name}: {peak} at the peak ({text}), more than {allowed_text}")
                    })
                }
            }
        });
        over.collect()
    }

    fn code(&mut self, limit: &CodeLimit) {
        let place = &limit.place;
        let is_in = |key: &str| place.is_in(self.recording.file(key));
        let mut lines: Vec<(&LineKey, &LineBooks)> = Vec::new();
        let mut is_recorded = matches!(place.part, CodePart::File | CodePart::Line(_))
            && self.ledger().files.keys().any(|it| is_in(it));
        for (key, books) in &self.ledger().lines {
            if is_in(&key.file) && place.covers(key.line, &books.function) {
                is_recorded = true;
                lines.push((key, books));
            }
        }
        if !is_recorded {
            let what = match &place.part {
                CodePart::Function(function) => format!("no code of a function `{function}` there"),
                _ => "no code of such a file".to_owned(),
            };
            let message = format!(
                "`{}` cannot be checked: {what} was recorded; `perfline lines` has the names that there are",
                place.text
            );
            return self.exceed(LimitKind::Code, limit.line, None, message);
        }
        let quantity = limit.quantity;
        let value = |books: &LineBooks| self.scale.value(quantity, books).unwrap_or_default();
        let sum = lines.iter().map(|(_, books)| value(books)).sum();
        let Some(over) = self.over(quantity, sum, limit.allowed) else { return };
        let hottest = lines.iter().max_by(|a, b| value(a.1).total_cmp(&value(b.1)));
        let at = hottest.map(|(key, _)| self.recording.place(key));
        // The line is named by its place already.
        let of = match place.part {
            CodePart::Line(_) => String::new(),
            _ => format!(" of {}", place.text),
        };
        let message = format!("{}{of}: {over}", quantity.label());
        self.exceed(LimitKind::Code, limit.line, at, message);
    }

    fn findings(&mut self, limit: &FindingLimit, found: &[ReportedFinding]) {
        let is_of_rule = |it: &&ReportedFinding| limit.rule.is_none_or(|rule| rule == it.rule);
        let found: Vec<&ReportedFinding> = found.iter().filter(is_of_rule).collect();
        let cost = |it: &ReportedFinding| it.cost_per_step.unwrap_or(it.cost).as_f64();
        let of = limit.rule.map_or_else(String::new, |it| format!(" of `{it}`"));
        let limit_text = match limit.allowed {
            AllowedFindings::Count(allowed) if (allowed as usize) < found.len() => {
                format!("{}{of}, {allowed} allowed", n_findings(found.len()))
            }
            AllowedFindings::Cost(allowed) => {
                let sum: f64 = found.iter().map(|it| cost(it)).sum();
                if sum <= allowed {
                    return;
                }
                let [sum, allowed] = [sum, allowed].map(numbers::duration);
                format!("findings{of} cost {sum}{}, more than {allowed}", self.per_step())
            }
            AllowedFindings::Count(_) => return,
        };
        for it in found {
            let message = format!("{} ({limit_text})", it.message);
            self.exceed(LimitKind::Findings, limit.line, Some(it.place.clone()), message);
        }
    }

    fn baseline(
        &mut self,
        limits: &BaselineLimits,
        baseline: Option<&Recording<'_>>,
        found: &[ReportedFinding],
    ) {
        let Some(baseline) = baseline else {
            let message = "cannot be checked: no recording of the baseline is named".to_owned();
            return self.exceed(LimitKind::Baseline, limits.line, None, message);
        };
        let diff = diff::build(baseline, self.recording, usize::MAX, self.rules);
        for limit in &limits.limits {
            match limit.allowed {
                BaselineAllowance::Step(allowed) => {
                    self.slower_step(limit, allowed, &diff.difference)
                }
                BaselineAllowance::Line(allowed) => self.slower_lines(limit, allowed, &diff),
                BaselineAllowance::Peak(allowed) => {
                    self.higher_peak(limit, allowed, &baseline.run.merged);
                }
                BaselineAllowance::Findings(allowed) => {
                    self.new_findings(limit, allowed, &diff, found);
                }
            }
        }
    }

    /// A step is longer if the whole interval of confidence of the difference is.
    fn slower_step(&mut self, limit: &BaselineLimit, allowed: f64, difference: &Difference) {
        let step = &difference.step;
        let [base, new] = step.mean;
        let message = match (step.significant, step.shift) {
            (Some(true), Some(shift)) if allowed * base < shift.low => format!(
                "a step takes {} and took {}: with a confidence of 99 % at least {} more, {} allowed",
                numbers::duration(new),
                numbers::duration(base),
                numbers::percent(shift.low / base),
                numbers::percent(allowed)
            ),
            (Some(_), _) => return,
            (None, _) => {
                "a step cannot be compared with the baseline: both recordings need at least two steps"
                    .to_owned()
            }
        };
        self.exceed(LimitKind::Baseline, limit.line, None, message);
    }

    fn slower_lines(&mut self, limit: &BaselineLimit, allowed: f64, diff: &DiffReport<'_>) {
        let step = diff.difference.step.mean[0];
        if diff.difference.step.significant.is_none() {
            let message = "lines cannot be compared with the baseline: both recordings need at least two steps";
            return self.exceed(LimitKind::Baseline, limit.line, None, message.to_owned());
        }
        for line in &diff.difference.lines {
            let slower = line.amounts.iter().filter_map(|it| {
                let low = it.shift?.low;
                (it.significant == Some(true) && allowed * step < low).then_some((it, low))
            });
            let Some((it, low)) = slower.max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
            let place = match (&line.new, &line.base) {
                (Some(new), _) => Some(diff.place(new, true)),
                (None, base) => base.as_ref().map(|it| diff.place(it, false)),
            };
            let message = format!(
                "{} {}{} and was {}: with a confidence of 99 % at least {} of the step more, {} allowed",
                it.quantity.label(),
                it.quantity.text(it.new),
                self.per_step(),
                it.quantity.text(it.base),
                numbers::percent(low / step),
                numbers::percent(allowed)
            );
            self.exceed(LimitKind::Baseline, limit.line, place, message);
        }
    }

    fn higher_peak(&mut self, limit: &BaselineLimit, allowed: f64, baseline: &Ledger) {
        let peak = |ledger: &Ledger| ledger.memory.values().map(|it| it.peak).max();
        let message = match (peak(baseline), peak(self.ledger())) {
            (Some(base), Some(new)) if base.as_f64() * (1.0 + allowed) < new.as_f64() => format!(
                "memory: {} at the peak, {} in the baseline, {} more allowed",
                numbers::bytes(new.as_f64()),
                numbers::bytes(base.as_f64()),
                numbers::percent(allowed)
            ),
            (Some(_), Some(_)) => return,
            _ => "the peak of memory cannot be compared with the baseline: both recordings need memory"
                .to_owned(),
        };
        self.exceed(LimitKind::Baseline, limit.line, None, message);
    }

    fn new_findings(
        &mut self,
        limit: &BaselineLimit,
        allowed: u32,
        diff: &DiffReport<'_>,
        found: &[ReportedFinding],
    ) {
        let new = diff.findings.iter().filter(|it| it.status() == "new" && diff.is_significant(it));
        let new: BTreeSet<(&str, &str, u32)> =
            new.map(|it| (it.rule, it.place.file.as_str(), it.place.line)).collect();
        let is_new =
            |it: &&ReportedFinding| new.contains(&(it.rule, it.place.file.as_str(), it.place.line));
        let new: Vec<&ReportedFinding> = found.iter().filter(is_new).collect();
        if new.len() <= allowed as usize {
            return;
        }
        let number = n_findings(new.len());
        for it in new {
            let message = format!(
                "{} ({number} that the baseline does not have, {allowed} allowed)",
                it.message
            );
            self.exceed(LimitKind::Baseline, limit.line, Some(it.place.clone()), message);
        }
    }
}

fn n_findings(number: usize) -> String {
    if number == 1 { "1 finding".to_owned() } else { format!("{number} findings") }
}

/// The share (of 1) of its memory that a device used at the peak.
fn share_of_capacity(memory: &DeviceMemory) -> Option<f64> {
    let capacity = memory.capacity.filter(|it| *it != Bytes::ZERO)?;
    Some(memory.peak.as_f64() / capacity.as_f64())
}

/// A quantity of the whole run, with what has no line where the books know it. Idle threads are left out.
fn total(scale: &Scale<'_>, quantity: Quantity) -> f64 {
    let metric = match quantity {
        Quantity::CpuOwn => Metric::Cpu,
        Quantity::Waiting => Metric::Waiting,
        Quantity::CudaOwn => Metric::Cuda,
        Quantity::Wait => Metric::Sync,
        Quantity::Idle => Metric::GpuIdle,
        Quantity::Comm => Metric::Comm,
        Quantity::CommExposed => Metric::CommExposed,
        Quantity::Alloc => Metric::Alloc,
        _ => return scale.ledger().lines.values().filter_map(|it| scale.value(quantity, it)).sum(),
    };
    scale.mean(scale.ledger().in_steps.get(metric) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{recording, sources, training};
    use ledger::DeviceKey;

    /// What exceeds `budget` in the small training run, which may be changed before.
    fn messages(budget: &str, change: impl FnOnce(&mut Ledger)) -> Vec<String> {
        let mut run = training();
        change(&mut run.merged);
        let sources = sources();
        let budget = Budget::parse(budget).unwrap();
        let check = build(&budget, &recording(&run, &sources), None, &Default::default());
        assert_eq!(check.n_limits, budget.len());
        let place = |it: &ExceededLimit| {
            it.place.as_ref().map_or_else(String::new, |place| format!("{place}: "))
        };
        let text = |it: &ExceededLimit| format!("{}: {}{}", it.line, place(it), it.message);
        check.exceeded.iter().map(text).collect()
    }

    #[test]
    fn limits_of_the_run_are_of_all_that_was_recorded() {
        let budget = "[budget]\nstep = '9 ms'\nsync = '20 %'\nunattributed = '1 %'\nkernels = 40\ncuda_own = '12 ms'";
        assert_eq!(
            messages(budget, |_| {}),
            [
                "2: a step takes 10 ms, more than 9 ms",
                "3: wait for the GPU: 2.5 ms per step (25 %), more than 20 %",
                "4: 2.93 % of thread time has no line, more than 1 %",
                "5: kernels: 43, more than 40",
                "6: CUDA, own: 12 ms per step, more than 12 ms",
            ]
        );
        let budget =
            "[budget]\nstep = '10 ms'\nsync = '2.5 ms'\nunattributed = '3 %'\nkernels = 43";
        assert_eq!(messages(budget, |_| {}), Vec::<String>::new());
    }

    #[test]
    fn limits_of_code_are_sums_over_its_lines() {
        let budget = "[budget.code.'train.py:Model.forward']\ncpu_own = '5 ms'\nsync = '2.5 ms'\n\
            [budget.code.'train.py:18']\nsyncs = 0\ncpu_total = '2 ms'\n\
            [budget.code.'*.py']\ncpu_own = '1 s'";
        assert_eq!(
            messages(budget, |_| {}),
            [
                "2: train.py:17: thread time, own of train.py:Model.forward: 5.75 ms per step, more than 5 ms",
                "5: train.py:18: waits: 1, more than 0",
                "6: train.py:18: thread time, total: 2.6 ms per step, more than 2 ms",
            ]
        );
    }

    #[test]
    fn a_limit_that_nothing_can_exceed_is_not_kept() {
        let budget = "[budget]\npeak = '1 GiB'\n[budget.code.'train.py:test']\nsync = 0\n[budget.code.'tests.py']\nsync = 0\n\
            [budget.code.'train.py:2']\nsync = 0\n[budget.baseline]\nstep = 0";
        let names = "`perfline lines` has the names that there are";
        assert_eq!(
            messages(budget, |ledger| ledger.memory.clear()),
            [
                "2: the peak of memory cannot be checked: no memory was recorded (profile_memory=True, or a snapshot)",
                &format!(
                    "4: `train.py:test` cannot be checked: no code of a function `test` there was recorded; {names}"
                ),
                &format!(
                    "6: `tests.py` cannot be checked: no code of such a file was recorded; {names}"
                ),
                "9: cannot be checked: no recording of the baseline is named",
            ]
        );
    }

    #[test]
    fn memory_is_limited_by_device() {
        let memory =
            |capacity| DeviceMemory { peak: Bytes(3 << 30), capacity, ..DeviceMemory::default() };
        let devices = |ledger: &mut Ledger| {
            let device = |device| DeviceKey { rank: 0, device };
            ledger.memory =
                [(device(0), memory(Some(Bytes(4 << 30)))), (device(1), memory(None))].into();
        };
        assert_eq!(
            messages("[budget]\npeak = '2 GiB'", devices),
            [
                "2: memory of cuda:0: 3 GiB at the peak, more than 2 GiB",
                "2: memory of cuda:1: 3 GiB at the peak, more than 2 GiB"
            ]
        );
        assert_eq!(
            messages("[budget]\npeak = '70 %'", devices),
            [
                "2: memory of cuda:0: 3 GiB at the peak (75 %), more than 70 %",
                "2: memory of cuda:1: 3 GiB at the peak; the recording does not say of how much, so that the limit has to be \
                 given in bytes"
            ]
        );
        assert_eq!(messages("[budget]\npeak = '3 GiB'", devices), Vec::<String>::new());
    }

    #[test]
    fn findings_are_limited_by_number_and_by_cost() {
        let found = messages("[budget.findings]\nall = 0", |_| {});
        assert!(!found.is_empty());
        let number = found.len();
        assert!(
            found.iter().all(|it| it.ends_with(&format!("({number} findings, 0 allowed)"))),
            "{found:#?}"
        );
        let allowed = format!("[budget.findings]\nall = {number}");
        assert_eq!(messages(&allowed, |_| {}), Vec::<String>::new());
        let by_cost = messages("[budget.findings]\nsync = '1 us'", |_| {});
        assert!(by_cost.iter().all(|it| it.contains("findings of `sync` cost ")), "{by_cost:#?}");
        assert!(!by_cost.is_empty());
        assert_eq!(messages("[budget.findings]\nsync = '1 s'", |_| {}), Vec::<String>::new());
    }
}
