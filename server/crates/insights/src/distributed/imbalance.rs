//! Rule `imbalance`: a line that takes longer on one rank than on the others.

use ledger::{Ledger, LineBooks, Ns, TimesByRank};
use metrics::Scale;
use ranks::{Comparison, RankSummary, median};

use super::common::WARNING;
use super::detail::RankDetail;
use crate::costly::Costly;
use crate::rule::{Area, MINIMUM, Rule, RuleLimits, Threshold, ThresholdUnit};
use crate::{Detail, Finding, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "imbalance",
    area: Area::Distributed,
    title: "A line takes longer on one rank",
    summary: "One rank spends more time on a line than the others, and they wait for it.",
    severity: Severity::Information,
    trigger: "On the rank that the others wait for step after step (`straggler`), a line's own time is above the mean over the ranks by the \
              factor of the threshold, and without what it takes longer than on the median of the others a step of the job would be shorter by a share that reaches the threshold. The line that `straggler` names is left out.",
    measure: "Own time of the line per step, of the device or the host, whichever differs more; its largest over the ranks, and the mean. \
              The cost is by how much a step of the job would be shorter, by the replay of `straggler`.",
    thresholds: &[FACTOR, MINIMUM, WARNING],
    remedy: "Give ranks equal work: batches of equal numbers of tokens, layers of equal cost on each stage, experts of equal load; do on all ranks, or on none in the loop, what one does.",
    before: "batch = items[rank::world]                 # long ones may all be of one rank",
    after: "batch = sorted(items, key=len)[rank::world]",
    sources: &[],
    limits: "It needs the traces of at least two ranks, with Python stacks. Ranks that do different work on purpose (stages of a pipeline) are not recognised as such.",
    find,
};

const FACTOR: Threshold = Threshold {
    name: "factor",
    unit: ThresholdUnit::Count,
    default: 1.5,
    meaning: "largest time of a rank, as a multiple of the mean, from which a line is reported",
};

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let Some((compared, straggler)) =
        Comparison::new(ledger).and_then(|it| it.straggler.clone().map(|late| (it, late)))
    else {
        return Vec::new();
    };
    let named = straggler.cause.as_ref().map(|it| &it.line);
    let n = scale.n_steps().max(u64::from(ledger.ranks.max(1)));
    let lines = ledger.lines.iter().filter(|(line, _)| Some(*line) != named);
    let findings = lines.filter_map(|(line, books)| {
        let Unequal { rank, here, mean, excess } = most_unequal(books, &compared.ranks)?;
        if rank != straggler.rank || here.as_f64() < limits.get(&FACTOR) * mean.as_f64() {
            return None;
        }
        let saving = compared.replay.as_ref().map_or(Ns::ZERO, |it| it.saving(rank, Some(excess)));
        let cost = saving.saturating_mul(i64::try_from(n).unwrap_or(i64::MAX));
        let detail = Detail::Ranks(RankDetail::Imbalance { rank, here, mean, saving });
        let remedy = "Give the ranks equal work here, or do on all of them what one does.";
        let draft =
            Costly { count: books.calls, ..Costly::line(line, books, cost, detail, remedy) };
        let least = limits.get(&MINIMUM).max(limits.least());
        draft.finding(&RULE, scale, least, |share| limits.severity(&WARNING, share))
    });
    findings.collect()
}

/// A line on the rank on which it takes longest. Times are own time per step.
struct Unequal {
    rank: u32,
    here: Ns,
    /// The mean over the ranks.
    mean: Ns,
    /// What it takes longer than the median of the other ranks, over the recording.
    excess: Ns,
}

/// The rank with the most own time per step on a line, of the device or of the host, whichever differs more.
fn most_unequal(books: &LineBooks, ranks: &[RankSummary]) -> Option<Unequal> {
    let n_ranks = i64::try_from(ranks.len()).unwrap_or(i64::MAX).max(1);
    let unequal = |times: &TimesByRank| {
        let n_steps = |it: &RankSummary| i64::try_from(it.steps.max(1)).unwrap_or(i64::MAX);
        let per_step = |it: &RankSummary| times.on(it.rank, ranks.len()) / n_steps(it);
        let mean = ranks.iter().map(per_step).sum::<Ns>() / n_ranks;
        let longest = |it: &&RankSummary| (per_step(it), std::cmp::Reverse(it.rank));
        let most = ranks.iter().max_by_key(longest)?;
        let others = ranks.iter().filter(|it| it.rank != most.rank).map(per_step);
        let here = per_step(most);
        let excess = here.saturating_sub(median(others.collect())).saturating_mul(n_steps(most));
        Some(Unequal { rank: most.rank, here, mean, excess })
    };
    [unequal(&books.by_rank.host()), unequal(&books.by_rank.device())]
        .into_iter()
        .flatten()
        .max_by_key(|it| it.here - it.mean)
}
