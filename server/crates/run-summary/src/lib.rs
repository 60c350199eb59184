//! The run in numbers: `docs/accounting.md`, The run summary.
//!
//! *Owns*: what steps went to (`breakdown`), how each device was used (`usage`, with the tables `devices` and `eligible`),
//! what gaps between the events of a stream waited for (`streams`), floating-point operations of operators (`flops`,
//! `arithmetic`), collectives and what of them was exposed (`communication`), and when each began and ended (`collective_calls`).
//!
//! *Never*: knows a line: `attribution` charges operators and collectives to lines.
//!
//! *The test that says so*: `tests/tests/overview_peers.rs` holds the numbers against TensorBoard's plugin and HTA;
//! `tests/tests/tidy/` holds the dependency list.

mod arithmetic;
mod breakdown;
mod collective_calls;
mod communication;
mod devices;
mod eligible;
mod flops;
mod intervals;
mod message_ends;
mod spans;
mod streams;
mod usage;

pub use arithmetic::CountedOperator;
pub use collective_calls::{CollectiveEvent, RecordedCollective, collective_calls};
pub use communication::Collective;
pub use intervals::{IntervalParts, Intervals};
pub use spans::{StepSpan, spans};

use ledger::{LoaderWorkers, Overview, TimeRange};
use profile::{HostEventId, Ns, Profile};
use recorded::{KernelClasses, Launches, launches_kernel, launches_without_event};

/// The summary of one recording, and what of it is charged to lines.
#[derive(Debug)]
pub struct RunSummary {
    /// What the ledger holds for the rank.
    pub overview: Overview,
    /// The operators whose cost is known and that are not part of another one.
    pub counted: Vec<CountedOperator>,
    /// The collectives that devices ran.
    pub collectives: Vec<Collective>,
}

impl RunSummary {
    /// Sums up `profile`, whose host events in order are `order` and whose steps [`spans`] finds.
    #[must_use]
    pub fn new(
        profile: &Profile,
        order: &[HostEventId],
        spans: &[StepSpan],
        launches: &Launches,
        classes: &KernelClasses,
    ) -> Self {
        let (run, steps) = breakdown::breakdown(profile, spans, classes);
        let mut devices = usage::devices(profile, spans, launches, classes);
        let (counted, operators_without_flops) =
            arithmetic::counted(profile, order, launches, classes);
        for (ordinal, arithmetic) in arithmetic::by_device(&counted) {
            devices.entry(ordinal).or_default().arithmetic = arithmetic;
        }
        // A recording without events of devices does not say what ran.
        let missing = match profile.device.is_empty() {
            true => Vec::new(),
            false => launches_without_event(profile, order, launches_kernel),
        };
        let mut plain_steps = profile.plain_steps.clone();
        plain_steps.sort_unstable();
        let workers = &profile.loader_workers;
        let overview = Overview {
            run,
            steps,
            devices,
            operators_without_flops,
            launches_without_event: missing.len() as u64,
            plain_steps,
            loader_workers: LoaderWorkers {
                count: workers.worked.len() as u64,
                worked: workers.worked.iter().sum(),
                time: workers.time * workers.worked.len() as i64,
            },
            command: profile.command.clone(),
            recorded: spans.iter().map(|it| recorded(profile, it)).reduce(TimeRange::until_end_of),
        };
        let collectives = communication::collectives(profile, classes);
        Self { overview, counted, collectives }
    }
}

fn recorded(profile: &Profile, span: &StepSpan) -> TimeRange {
    let at = |it: Ns| profile.meta.base.saturating_add(it);
    TimeRange { start: at(span.start), end: at(span.end) }
}
