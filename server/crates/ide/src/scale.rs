//! A view's choice of numbers: which are shown, and from when.

use std::ops::Deref;
use std::sync::Arc;

use ledger::{Ledger, LineBooks, LineKey};
use metrics::{Period, Quantity};

use crate::baseline::{Baseline, BaselineDifference};
use crate::shown::ShownQuantity;
use crate::view::{Charge, View, ViewMetric, ViewPart};

/// How far (as a share of 1) two numbers of one line may be from each other: by what rounding leaves.
const SAME: f64 = 1e-6;

/// The scale of a view, with what the view chose to show. It is used as the [`metrics::Scale`] that it holds.
#[derive(Debug, Clone)]
pub(crate) struct ViewScale<'a> {
    scale: metrics::Scale<'a>,
    pub(crate) metric: ViewMetric,
    pub(crate) charge: Charge,
    threshold: f64,
    pub(crate) baseline: Option<Arc<Baseline>>,
    pub(crate) part: Option<Arc<ViewPart>>,
    pub(crate) so_far: Option<Arc<str>>,
}

impl<'a> Deref for ViewScale<'a> {
    type Target = metrics::Scale<'a>;

    fn deref(&self) -> &Self::Target {
        &self.scale
    }
}

impl<'a> ViewScale<'a> {
    pub(crate) fn new(ledger: &'a Ledger, view: &View) -> Self {
        Self {
            scale: metrics::Scale::new(ledger, view.period),
            metric: view.effective_metric(ledger),
            charge: view.charge,
            threshold: view.threshold,
            baseline: view.baseline.clone(),
            part: view.part.clone(),
            so_far: view.so_far.clone(),
        }
    }

    /// The same for another period.
    pub(crate) fn with_period(&self, period: Period) -> Self {
        Self { scale: self.scale.with_period(period), ..self.clone() }
    }

    /// What the metric of the view is of a line.
    pub(crate) fn primary(&self) -> Quantity {
        self.quantity(self.metric.shown())
    }

    /// What `shown` is of a line in this view.
    pub(crate) fn quantity(&self, shown: ShownQuantity) -> Quantity {
        match (shown, self.charge) {
            (ShownQuantity::Always(quantity), _) => quantity,
            (ShownQuantity::Charged { own, .. }, Charge::Own) => own,
            (ShownQuantity::Charged { total, .. }, Charge::Total) => total,
            (ShownQuantity::Backward, _) => self.backward(),
            (ShownQuantity::Memory, _) if self.peak() != 0.0 => Quantity::Peak,
            (ShownQuantity::Memory, _) => Quantity::Alloc,
        }
    }

    /// Whether the numbers of lines that call each other hold the same time: only what is charged by the view has totals.
    pub(crate) fn overlaps(&self) -> bool {
        self.charge == Charge::Total && matches!(self.metric.shown(), ShownQuantity::Charged { .. })
    }

    /// The number of a line where it is notable.
    pub(crate) fn notable(&self, quantity: Quantity, books: &LineBooks) -> Option<f64> {
        self.value(quantity, books).filter(|&value| self.is_notable(quantity, value))
    }

    /// Whether so much of a quantity is notable on one line.
    pub(crate) fn is_notable(&self, quantity: Quantity, value: f64) -> bool {
        0.0 < value && self.threshold <= self.share(quantity, value)
    }

    /// By how much a quantity of a line, which is `value` now, differs from the baseline. `None` without one, and where the comparison
    /// is not of this number: it is of means over steps and ranks, and of several lines together where these were compared as a whole.
    pub(crate) fn difference(
        &self,
        line: &LineKey,
        quantity: Quantity,
        value: f64,
    ) -> Option<BaselineDifference> {
        if matches!(self.period(), Period::Step(_)) {
            return None;
        }
        let amounts = self.baseline.as_ref()?.amounts(line);
        let amount = amounts.iter().find(|it| it.quantity == quantity)?;
        let is_same = (amount.new - value).abs() <= SAME * value.abs().max(1.0);
        is_same.then(|| BaselineDifference::new(amount))
    }

    /// `per step`, and the like: what all numbers are of.
    pub(crate) fn period_name(&self) -> String {
        match self.period() {
            Period::Run => "whole recording".to_owned(),
            Period::Mean => "per step".to_owned(),
            Period::Step(step) => format!("step {step}"),
        }
    }

    /// What a share is of, at the end of a sentence.
    pub(crate) fn whole_name(&self) -> &'static str {
        match (self.primary(), self.period()) {
            (Quantity::Peak, _) => "of the peak",
            (Quantity::Alloc, _) => "of the allocated bytes",
            (_, Period::Run) => "of the recording",
            (_, _) => "of the step",
        }
    }
}
