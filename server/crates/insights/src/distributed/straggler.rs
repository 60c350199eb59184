//! Rule `straggler`: a rank that the others wait for.

use ledger::Ledger;
use metrics::Scale;
use ranks::{CauseReason, Comparison};

use super::common::WARNING;
use super::detail::RankDetail;
use crate::costly::Costly;
use crate::rule::{Area, MINIMUM, Rule, RuleLimits};
use crate::{Detail, Finding, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "straggler",
    area: Area::Distributed,
    title: "The others wait for one rank",
    summary: "One rank comes late to collectives step after step, so that every step of the job takes as long as its.",
    severity: Severity::Information,
    trigger: "In the median step the other ranks wait for one rank longer than for all others, and without the difference a step of the job would be shorter by a \
              share that reaches the threshold. A delay in a few steps does not count.",
    measure: "Collectives, and messages from one rank to one other, are matched over the ranks, and clocks aligned by them. In each, the time before the last rank began is waiting for \
              that rank, or for the one that it stands still for meanwhile; of the ranks that wait, the longest counts. The line named is the one whose own time per step on the late rank is furthest above \
              the median of the others, if that explains a third of the lateness. Why is added where it shows: half of the difference is the garbage collector or the compiler, or the operators of the line \
              take tensors with 1.2 times the elements of the others or more. The cost is what a step of the job would be shorter by if that line took as long as on the others: \
              the ranks are replayed with less work there, and each collective begins when its last rank is there.",
    thresholds: &[MINIMUM, WARNING],
    remedy: "Look at the line on the late rank: more data or longer sequences there, work that only one rank does (logging, evaluation, checkpoints), a \
             slower disk, a slower device. Give ranks equal work, or do on all what one does.",
    before: "if dist.get_rank() == 1:\n    extra_metrics(logits)\nloss.backward()",
    after: "if step % 100 == 0:              # and outside of the measured steps\n    extra_metrics(logits)\nloss.backward()",
    sources: &[
        "[HTA: potential stragglers](https://hta.readthedocs.io/en/latest/source/features/straggler_identification.html)",
    ],
    limits: "It needs the traces of at least two ranks. A rank that is not recorded cannot be seen: waiting for it counts as transfer. Where two ranks are late by \
             nearly the same, the later one is named. Without Python stacks no line is known, and only `perfline ranks` says who is late. What a rank is late by is \
             what the others wait, which may be partly hidden by their computation; what a step would save is estimated without that. \
             [accounting.md](../accounting.md#replay) has what the replay assumes.",
    find,
};

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let straggler = Comparison::new(ledger).and_then(|it| it.straggler);
    let finding = straggler.and_then(|it| {
        let line = it.cause.as_ref().map(|it| &it.line).or(it.waits_at.as_ref())?.clone();
        let books = ledger.lines.get(&line)?;
        // A mean over steps and ranks of this is the saving of a step again.
        let n = scale.n_steps().max(u64::from(ledger.ranks.max(1)));
        let cost = it.saving.saturating_mul(i64::try_from(n).unwrap_or(i64::MAX));
        let count = it.late;
        let remedy = remedy(it.cause.as_ref().and_then(|it| it.reason));
        let detail = Detail::Ranks(RankDetail::Straggler(it));
        let draft = Costly { count, ..Costly::line(&line, books, cost, detail, remedy) };
        let least = limits.get(&MINIMUM).max(limits.least());
        draft.finding(&RULE, scale, least, |share| limits.severity(&WARNING, share))
    });
    finding.into_iter().collect()
}

fn remedy(reason: Option<CauseReason>) -> &'static str {
    match reason {
        Some(CauseReason::Collecting) => {
            "gc.freeze() after the start leaves out what lives long; gc.disable() and gc.collect() every so many steps, on all ranks in \
             the same one, make them pause together."
        }
        Some(CauseReason::Compiling) => {
            "Sizes that change on one rank are compiled there while the others wait: mark_dynamic or dynamic=True, pad to a few sizes, or \
             warm up with all of them."
        }
        Some(CauseReason::LargerInputs { .. }) => {
            "Give ranks batches of equal size: sort or pack by length, and count tokens, not items."
        }
        None => {
            "Look at what this line does on the late rank only: more data, work of one rank alone, a slower disk or device. \
             Give the ranks equal work."
        }
    }
}
