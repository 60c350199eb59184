//! Findings that cost time: one way to make them.

use ledger::{Evidence, Ledger, LineBooks, LineKey, Ns, PerStep};
use metrics::Scale;

use crate::{Detail, Finding, Related, Rule, Severity};

/// What a rule reports of a line or loop that costs time. Amounts are of the whole recording.
pub(crate) struct Costly<'a> {
    pub(crate) place: &'a LineKey,
    pub(crate) function: &'a str,
    pub(crate) evidence: Evidence,
    pub(crate) cost: Ns,
    /// What of the cost counts for the mean step.
    pub(crate) in_steps: Ns,
    /// What is held against the threshold: [`Self::in_steps`], or what that is a part of.
    pub(crate) of: Ns,
    pub(crate) count: u64,
    pub(crate) detail: Detail,
    pub(crate) related: Vec<Related>,
    pub(crate) remedy: &'static str,
}

impl<'a> Costly<'a> {
    /// A line all of whose cost counts.
    pub(crate) fn line(
        place: &'a LineKey,
        books: &'a LineBooks,
        cost: Ns,
        detail: Detail,
        remedy: &'static str,
    ) -> Self {
        Self {
            place,
            function: &books.function,
            evidence: books.evidence,
            cost,
            in_steps: cost,
            of: cost,
            count: books.kernels,
            detail,
            related: Vec::new(),
            remedy,
        }
    }

    /// The finding, if its share (of 1) of the step, or of the recording, is at least `least`.
    pub(crate) fn finding(
        self,
        rule: &'static Rule,
        scale: &Scale<'_>,
        least: f64,
        severity: impl FnOnce(f64) -> Severity,
    ) -> Option<Finding> {
        let time = scale.mean(self.of.as_f64());
        let share = time / scale.time();
        if self.of <= Ns::ZERO || !share.is_finite() || share < least {
            return None;
        }
        let in_steps = Ns(scale.mean(self.in_steps.as_f64()).round() as i64);
        Some(Finding {
            rule: rule.id,
            place: self.place.clone(),
            function: self.function.to_owned(),
            evidence: self.evidence,
            severity: severity(share).of_time(time),
            cost: self.cost,
            cost_per_step: (0 < scale.n_steps()).then_some(in_steps),
            count: self.count,
            steps: scale.n_steps(),
            share,
            detail: self.detail,
            related: self.related,
            remedy: self.remedy,
        })
    }
}

/// What of an amount of a line lies in the steps, if there are any: `of_step` is its share of a step. What happens outside
/// of them (a warm-up, a checkpoint) does not slow them down.
pub(crate) fn in_steps(
    scale: &Scale<'_>,
    whole: Ns,
    books: &LineBooks,
    of_step: fn(&PerStep) -> Ns,
) -> Ns {
    if scale.n_steps() == 0 {
        whole
    } else {
        books.steps.values().map(of_step).sum::<Ns>().min(whole)
    }
}

/// Devices of a rank: idle time of several devices adds up, but no time can be saved on more than one at once.
pub(crate) fn devices_per_rank(ledger: &Ledger) -> i64 {
    let ranks = usize::try_from(ledger.ranks).unwrap_or(1).max(1);
    i64::try_from(ledger.devices.len().div_ceil(ranks)).unwrap_or(1).max(1)
}
