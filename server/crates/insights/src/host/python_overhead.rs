//! Rule `python-overhead`: Python between operators.

use ledger::{Ledger, Ns, Pattern};
use metrics::Scale;

use super::each::{FindingDraft, each};
use crate::costly::devices_per_rank;
use crate::rule::{Area, Rule, RuleLimits, Threshold, ThresholdUnit};
use crate::{Finding, Severity};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    id: "python-overhead",
    area: Area::Host,
    title: "Much of the time is Python between operators",
    summary: "The line makes many Python calls, and the operators that it runs are a small part of its time.",
    severity: Severity::Information,
    trigger: "Many short Python calls below the line take a large share of the step, and half of the line's time or more, and no rule that \
              knows better (`launch-bound`, `hot-loop`, `optimizer-single-tensor`, `data-parallel`) has reported the line. On a recording with devices the \
              device has to be idle meanwhile.",
    measure: "Time in Python frames and ranges below the line without what they call, and in built-in calls of at most 100 µs; functions of \
              yours below it count on their own lines. What data loaders, `torch.compile` and the code that it generates, the garbage collector and the profiler itself do is \
              left out. With devices the cost is no more than their idle time while the line ran that no wait caused, a mean over the devices \
              of a rank. Per step.",
    thresholds: &[SHARE, CALLS, CALL, WARNING_SHARE],
    remedy: "Call less: take out of the loop what does not change in it, log every so many steps (in Lightning `log_every_n_steps`, one \
             `log_dict` rather than many `log`), replace generic helpers in the hot path by what they end up doing. `torch.compile` removes \
             the Python between the operators of a model.",
    before: "for batch in loader:\n    loss = step(batch)\n    logger.log({name: float(it) for name, it in metrics.items()})",
    after: "for number, batch in enumerate(loader):\n    loss = step(batch)\n    if number % 50 == 0:\n        logger.log({name: float(it) for name, it in metrics.items()})",
    sources: &[],
    limits: "Recording with stacks makes each Python call slower by 1.6 to 3.9 µs \
             ([measured](../accounting.md#what-recording-costs)), so that lines with many short calls look worse than they are. C code that is \
             called by an operator of Python (`a + b` of NumPy) leaves no event and counts as Python.",
    find,
};

const SHARE: Threshold = Threshold {
    name: "share",
    unit: ThresholdUnit::Percent,
    default: 15.0,
    meaning: "share of the step from which it is reported",
};

const CALLS: Threshold = Threshold {
    name: "calls",
    unit: ThresholdUnit::Count,
    default: 200.0,
    meaning: "Python calls in a step (in the recording, where it has no steps) from which it is reported",
};

/// Longer ones wait, import, or compute in an extension module.
const CALL: Threshold = Threshold {
    name: "call",
    unit: ThresholdUnit::Micros,
    default: 20.0,
    meaning: "mean time of a call, without what it calls, up to which calls are short",
};

const WARNING_SHARE: Threshold = Threshold {
    name: "warning",
    unit: ThresholdUnit::Percent,
    default: 25.0,
    meaning: "share of the step from which it is a warning",
};

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let devices = devices_per_rank(ledger);
    let drafted = each(&RULE, (ledger, scale, limits), Pattern::PythonBetween, |books| {
        let is_many = limits.get(&CALLS) <= scale.mean(books.count as f64);
        let is_short = books.cpu.as_f64() <= limits.get(&CALL) * books.count as f64;
        (is_many && is_short).then_some(FindingDraft {
            cost: books.cpu,
            of: books.cpu,
            severity: None,
            remedy: "Call less here: take out of the loop what does not change, log every so many steps. In a model, torch.compile \
                     removes the Python between operators.",
        })
    });
    let found = drafted.into_iter().filter_map(|mut finding| {
        let line = ledger.lines.get(&finding.place)?;
        if line.cpu_own > finding.cost * 2 {
            return None;
        }
        if !ledger.devices.is_empty() {
            let elsewhere = line.launching.idle_after_wait + line.recording.idle;
            let idle = (line.gpu_idle - elsewhere).max(Ns::ZERO) / devices;
            finding.cost = finding.cost.min(idle);
        }
        let time = scale.mean(finding.cost.as_f64());
        finding.share = time / scale.time();
        finding.cost_per_step = finding.cost_per_step.map(|_| Ns(time.round() as i64));
        finding.severity = limits.severity(&WARNING_SHARE, finding.share).of_time(time);
        (limits.get(&SHARE) <= finding.share).then_some(finding)
    });
    found.collect()
}
