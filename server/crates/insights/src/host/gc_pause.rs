//! Rule `gc-pause`: Python's garbage collector in measured steps.

use ledger::{Ledger, Pattern};
use metrics::Scale;

use super::each::{FindingDraft, each};
use crate::rule::{Area, Rule, RuleLimits, WARNING};
use crate::{Finding, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "gc-pause",
    area: Area::Host,
    title: "The garbage collector stops the program",
    summary: "Python's collector looks through all objects for cycles, and the thread does nothing else meanwhile.",
    severity: Severity::Information,
    trigger: "`Python GC` events are in the recording, on or below the line. Since torch 2.8, `perfline record` and `perfline.profile()` record \
              them; a profiler of yours does with `experimental_config=torch._C._profiler._ExperimentalConfig(record_python_gc_info=True)`.",
    measure: "Their time, per step. The line is the one that made the object after which the collector began, which need not be the one that \
              leaves garbage.",
    thresholds: &[WARNING],
    remedy: "Make fewer objects that live long: `gc.freeze()` after the start takes what exists then out of every collection. Collect when it \
             disturbs least: `gc.disable()`, and `gc.collect()` every so many steps, on all ranks in the same step.",
    before: "for batch in loader:\n    train_step(batch)                # collects whenever it happens to",
    after: "gc.freeze()\ngc.disable()\nfor number, batch in enumerate(loader):\n    train_step(batch)\n    if number % 1000 == 0:\n        gc.collect()",
    sources: &["[Python: gc](https://docs.python.org/3/library/gc.html)"],
    limits: "With stacks, recording makes objects of its own, and collections are more frequent than without the profiler.",
    find,
};

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    each(&RULE, (ledger, scale, limits), Pattern::GarbageCollection, |books| {
        Some(FindingDraft {
            cost: books.cpu,
            of: books.cpu,
            severity: None,
            remedy: "gc.freeze() after the start leaves out what lives long; gc.disable() and gc.collect() every so many steps choose the time.",
        })
    })
}
