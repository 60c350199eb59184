//! Rule `first-step`: a step that warms up is among the measured ones.

use ledger::{Ledger, LineBooks, LineKey, Ns, Overview};
use metrics::Scale;
use ranks::median;

use super::common::{WARNING, finding};
use super::detail::DeviceDetail;
use crate::costly::Costly;
use crate::rule::{Area, MINIMUM, Rule, RuleLimits, Threshold, ThresholdUnit};
use crate::{Detail, Finding, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "first-step",
    area: Area::Recording,
    title: "The first recorded step warms up",
    summary: "The first step took much longer than the others, so that means over the steps show what happens only once.",
    severity: Severity::Information,
    trigger: "The recording has several steps, and the first one took longer than a multiple of the median of the others.",
    measure: "Durations of the steps; the longest rank of each; of a server, those that do the same as the first (prefill, decode). The cost is what the first step took beyond the median of the others. \
              It is reported on the line whose thread time in the first step exceeds its median in the others most.",
    thresholds: &[MINIMUM, WARNING, FACTOR, STEPS],
    remedy: "Leave the first steps out: `schedule(wait=1, warmup=2, active=3)`; `perfline record --after N`, or `skip=N` of \
             `perfline.profile()` and `perfline.schedule()`, where one of these made the recording. They load \
             kernels, tune convolutions, compile, fill caches and allocate memory. Where the steps before recording \
             took equally long, which `perfline record` waits for, it is the profiler that takes its time to begin: \
             record more steps, or look at the others alone.",
    before: "with profile(...) as prof:\n    for batch in loader:\n        train_step(batch)\n        prof.step()",
    after: "with profile(..., schedule=schedule(wait=1, warmup=2, active=3)) as prof:\n    for batch in loader:\n        train_step(batch)\n        prof.step()",
    sources: &[
        "[torch.profiler.schedule](https://docs.pytorch.org/docs/stable/profiler.html#torch.profiler.schedule)",
    ],
    limits: "A first step that really is different, such as one that evaluates, looks the same.",
    find,
};

const FACTOR: Threshold = Threshold {
    name: "factor",
    unit: ThresholdUnit::Count,
    default: 1.5,
    meaning: "how many times the median of the others the first step takes, from which it is reported",
};

const STEPS: Threshold = Threshold {
    name: "steps",
    unit: ThresholdUnit::Count,
    default: 3.0,
    meaning: "steps that the recording needs to have",
};

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let mut steps = ledger.steps.iter();
    let Some((&number, &first)) = steps.next() else { return Vec::new() };
    let kind = |step: &u32| ledger.step_work.get(step).map(|it| &it.kind);
    let others: Vec<u32> =
        steps.map(|(&number, _)| number).filter(|it| kind(it) == kind(&number)).collect();
    let median_step =
        median(others.iter().filter_map(|it| ledger.steps.get(it)).copied().collect());
    if (others.len() as f64) + 1.0 < limits.get(&STEPS)
        || first.as_f64() < limits.get(&FACTOR) * median_step.as_f64()
    {
        return Vec::new();
    }
    let excess = |books: &LineBooks| {
        let of = |step: &u32| books.steps.get(step).map_or(Ns::ZERO, |it| it.cpu);
        of(&number) - median(others.iter().map(of).collect())
    };
    let ranks = i64::from(ledger.ranks.max(1));
    let worst: Option<(&LineKey, &LineBooks, Ns)> = ledger
        .lines_with_books()
        .map(|(place, books)| (place, books, excess(books)))
        .max_by_key(|&(place, _, excess)| (excess, std::cmp::Reverse(place)));
    let Some((place, books, here)) = worst.filter(|&(_, _, excess)| excess > Ns::ZERO) else {
        return Vec::new();
    };
    let detail = DeviceDetail::FirstStep { number, first, median: median_step, here: here / ranks };
    let cost = (first - median_step) * ranks;
    let remedy = if was_warm(ledger, limits.get(&FACTOR)) {
        "Steps took equally long before recording began, so this is what it takes the profiler to begin: record more steps \
         (perfline record --steps N), or look at the others alone (--step 2)."
    } else if ledger.overviews.values().any(is_of_perfline) {
        "Leave the first steps out of the recording: perfline record --after N, or skip=N of perfline.profile() and \
         perfline.schedule()."
    } else {
        "Leave the first steps out of the recording: schedule(wait=1, warmup=2, active=3)."
    };
    let draft =
        Costly { count: 1, ..Costly::line(place, books, cost, Detail::Device(detail), remedy) };
    finding(&RULE, scale, limits, draft).into_iter().collect()
}

/// Whether the steps before recording took equally long on each rank of which that is known, and it is known of one: then nothing
/// of the program was left to warm up.
fn was_warm(ledger: &Ledger, factor: f64) -> bool {
    let mut known = ledger.overviews.values().map(|it| &it.plain_steps).filter(|it| 2 < it.len());
    let is_even = |steps: &Vec<Ns>| {
        let most = steps.iter().max().map_or(0.0, |it| it.as_f64());
        most < factor * median(steps.clone()).as_f64()
    };
    known.next().is_some_and(is_even) && known.all(is_even)
}

/// Whether Perfline recorded: only its side-car says what was run, and how long the steps before recording took.
fn is_of_perfline(it: &Overview) -> bool {
    it.command.is_some() || !it.plain_steps.is_empty()
}
