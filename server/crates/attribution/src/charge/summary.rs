//! Arithmetic of operators and communication of devices, by the lines that caused them.

use std::collections::BTreeMap;

use ledger::{Arithmetic, Books, Ns, Precision, ProductSizes};
use line_stacks::LineId;
use profile::Profile;
use recorded::{Launches, Steps};
use run_summary::RunSummary;
use rustc_hash::FxHashMap;

use super::device::DeviceStacks;
use crate::event_stacks::EventStacks;

/// What the run summary counts, by line. Of [`Books`], `flops`, `comm` and `comm_exposed` are used.
#[derive(Debug, Default)]
pub(crate) struct SummaryCharges {
    /// By charged line.
    pub(crate) by_line: FxHashMap<LineId, LineSummary>,
    pub(crate) totals: Books,
    /// Of the totals, what was caused in steps; all of it where there are none.
    pub(crate) in_steps: Books,
    /// Of the totals, what has a launch but no line.
    pub(crate) without_line: Books,
    /// Of the totals, what has no launch.
    pub(crate) without_launch: Books,
    /// Of collectives that were launched before recording began.
    pub(crate) in_flight: Books,
}

/// What one line caused.
#[derive(Debug, Default)]
pub(crate) struct LineSummary {
    /// By precision.
    pub(crate) arithmetic: BTreeMap<Precision, Arithmetic>,
    /// Device time of products of matrices, by their sizes.
    pub(crate) products: BTreeMap<ProductSizes, Ns>,
    pub(crate) comm: Ns,
    /// Of this, what no compute hid.
    pub(crate) comm_exposed: Ns,
}

/// Charges FLOPs and collectives by the rule of device time.
pub(crate) fn charge_summary(
    summary: &RunSummary,
    profile: &Profile,
    launches: &Launches,
    stacks: &DeviceStacks,
    steps: &Steps,
    events: &EventStacks<'_>,
) -> SummaryCharges {
    let mut charges = SummaryCharges::default();
    for it in &summary.counted {
        let flops = i64::try_from(it.arithmetic.flops).unwrap_or(i64::MAX);
        let books = Books { flops, ..Books::default() };
        charges.add(&books, steps, Some(profile.host.start[it.operator.index()]));
        match events.charged_line(it.operator).get() {
            Some(line) => {
                let mine = charges.by_line.entry(line).or_default();
                mine.arithmetic.entry(it.precision).or_default().merge(&it.arithmetic);
                if let Some(sizes) = it.sizes.filter(|_| it.device.is_some()) {
                    *mine.products.entry(sizes).or_default() += it.arithmetic.time;
                }
            }
            None => charges.without_line.add(&books),
        }
    }
    for it in &summary.collectives {
        let comm = profile.device.duration[it.event.index()];
        let launch = launches.launch(it.event);
        let launched = launch.map(|it| profile.host.start[it.index()]);
        let books = Books { comm, comm_exposed: it.exposed, ..Books::default() };
        charges.add(&books, steps, launched);
        match events.stacks.charged_line(stacks.node(it.event)).get() {
            Some(line) => {
                let mine = charges.by_line.entry(line).or_default();
                mine.comm += comm;
                mine.comm_exposed += it.exposed;
            }
            None if launch.is_some() => charges.without_line.add(&books),
            None if launches.is_in_flight(profile, it.event) => charges.in_flight.add(&books),
            None => charges.without_launch.add(&books),
        }
    }
    charges
}

impl SummaryCharges {
    /// Adds what was caused at `time` to the totals, and to those of the steps if that is in one or there is none.
    fn add(&mut self, books: &Books, steps: &Steps, time: Option<Ns>) {
        self.totals.add(books);
        if steps.0.is_empty() || time.is_some_and(|time| steps.at(time).is_some()) {
            self.in_steps.add(books);
        }
    }
}
