//! Rule `dataloader`: waiting for data.

use ledger::{Ledger, LineKey, LoaderWorkers, Ns, Pattern};
use metrics::Scale;

use super::each::{FindingDraft, each, share_of_step};
use crate::rule::{Area, Rule, RuleLimits, Threshold, ThresholdUnit};
use crate::{Finding, Related, Severity};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    id: "dataloader",
    area: Area::Host,
    title: "The step waits for data",
    summary: "The training loop stands still while the next batch is made.",
    severity: Severity::Warning,
    trigger: "A line waits in the iterator of a `DataLoader` for a share of the step that reaches the threshold.",
    measure: "The time in `enumerate(DataLoader)#….__next__`, per step. With `num_workers=0` (`_SingleProcessDataLoaderIter`) it is the time of making the batch itself, and the innermost line of your code that takes at least half of it is named.",
    thresholds: &[SHARE, IDLE],
    remedy: "Without workers: `num_workers` of 2 or more, so that batches are made meanwhile. With workers: more of them, `persistent_workers=True`, a larger `prefetch_factor`, or less work for each item. `pin_memory=True` where batches go to a GPU.",
    before: "loader = DataLoader(data, batch_size=64)",
    after: "loader = DataLoader(data, batch_size=64, num_workers=4, pin_memory=True, persistent_workers=True)",
    sources: &[
        "TensorBoard PyTorch plugin, `analyze`: data loader above 5 % of the step",
        "TorchTidy (`torch/profiler/_pattern_matcher.py`, up to torch 2.13), `SynchronizedDataLoaderPattern`",
    ],
    limits: "Loaders of your own leave no such range, and count as your code. How much workers work is known of recordings by `perfline record` and \
             `perfline.profile()` on Linux.",
    find,
};

const SHARE: Threshold = Threshold {
    name: "share",
    unit: ThresholdUnit::Percent,
    default: 5.0,
    meaning: "share of the step from which it is reported",
};

const IDLE: Threshold = Threshold {
    name: "idle",
    unit: ThresholdUnit::Percent,
    default: 50.0,
    meaning: "share of the time that workers are on a processor below which they are said to wait",
};

/// From this share (of 1) on a line does one thing.
const MOSTLY: f64 = 0.8;

/// Share (of 1) of a batch's time that a line takes if it is named.
const HALF: f64 = 0.5;

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let find = |pattern: Pattern, remedy: &'static str| {
        each(&RULE, (ledger, scale, limits), pattern, |books| {
            let severity = Some(RULE.severity);
            (limits.get(&SHARE) <= share_of_step(scale, books.cpu)).then_some(FindingDraft {
                cost: books.cpu,
                of: books.cpu,
                severity,
                remedy,
            })
        })
    };
    let is_on_host = ledger.devices.is_empty();
    let mut alone = find(
        Pattern::DataLoaderAlone,
        if is_on_host {
            "num_workers=2 or more makes batches meanwhile."
        } else {
            "num_workers=2 or more makes batches meanwhile, and pin_memory=True speeds up their way to a GPU."
        },
    );
    for finding in &mut alone {
        finding.related = costliest_below(ledger, finding).into_iter().collect();
    }
    let mut measured = LoaderWorkers::default();
    ledger.overviews.values().for_each(|it| measured.merge(&it.loader_workers));
    let workers = find(
        Pattern::DataLoaderWorkers,
        match measured.share() {
            Some(share) if share < limits.get(&IDLE) => {
                "More workers, or a larger prefetch_factor, wait for several files at once. The workers are slower than the loop although they \
                 are on a processor for less than half of the time: they wait, for files or for a network."
            }
            Some(_) => {
                "The workers are slower than the loop, and busy: more of them if there are processors left, or less work for each item."
            }
            None => {
                "The workers are slower than the loop: more of them, persistent_workers=True, a larger prefetch_factor, or less \
                 work for each item."
            }
        },
    );
    [alone, workers].concat()
}

/// The innermost line of your code that takes most of the time in which a batch is made: from the loop on, the line of what is called
/// that takes at least half of the whole. `None` where a large part of the loop's line is something else than making batches.
fn costliest_below(ledger: &Ledger, finding: &Finding) -> Option<Related> {
    let books = ledger.lines.get(&finding.place)?;
    let whole = if finding.steps == 0 { books.cpu_total } else { books.cpu_in_steps };
    if finding.cost.as_f64() < MOSTLY * whole.as_f64() {
        return None;
    }
    let (mut found, mut share) = (&finding.place, 1.0);
    let mut path = vec![found];
    // Calls are known from one line to the next, not by whole stacks: what a line takes below another is a part of what that takes.
    while let Some((called, part)) = costliest_called(ledger, found)
        && HALF <= share * part
        && !path.contains(&called)
    {
        (found, share) = (called, share * part);
        path.push(found);
    }
    (found != &finding.place).then(|| Related {
        place: found.clone(),
        text: "takes most of the time of a batch ({time})",
        time: Ns((finding.cost.as_f64() * share).round() as i64),
    })
}

/// The line of your code that takes most of the time of `line` among those of the functions that it calls, with its share (of 1).
fn costliest_called<'l>(ledger: &'l Ledger, line: &LineKey) -> Option<(&'l LineKey, f64)> {
    let whole = ledger.lines.get(line)?.cpu_total.as_f64();
    let is_yours = |key: &LineKey| ledger.files.get(&key.file).is_some_and(|it| it.is_user_code);
    let called =
        ledger.lines.iter().filter_map(|(key, books)| Some((key, *books.callers.get(line)?)));
    let (key, time) = called.filter(|(key, _)| is_yours(key)).max_by_key(|&(_, time)| time)?;
    (0.0 < whole).then(|| (key, (time.as_f64() / whole).min(1.0)))
}
