//! The steps of a snapshot: from annotated ranges where there are any, else from the optimizer's allocations.

use ledger::{Ns, Phase};
use profile::{Snapshot, SnapshotAction, SnapshotAnnotation, SnapshotEvent};

/// Steps that are distinguished: the last ones. What grows shows there, and every line is kept for every step.
const MAX_STEPS: usize = 256;

/// The steps of one device, in order.
#[derive(Debug, Default)]
pub(super) struct DeviceSteps(pub(super) Vec<DeviceStep>);

#[derive(Debug, PartialEq, Eq)]
pub(super) struct DeviceStep {
    pub(super) name: String,
    /// Number of its first event.
    pub(super) first: u32,
}

impl DeviceSteps {
    /// `phases`: of each stack of the snapshot.
    pub(super) fn new(
        snapshot: &Snapshot,
        ordinal: i32,
        events: &[&SnapshotEvent],
        phases: &[Phase],
    ) -> Self {
        let has_times = events.iter().all(|event| event.at >= Ns::ZERO);
        let annotations: Vec<&SnapshotAnnotation> = snapshot
            .annotations
            .iter()
            .filter(|it| it.device == ordinal && it.at >= Ns::ZERO && has_times)
            .collect();
        let name = |it: &SnapshotAnnotation| snapshot.strings.get(it.name);
        let first_from = |at: Ns| {
            u32::try_from(events.partition_point(|event| event.at < at)).unwrap_or(u32::MAX)
        };
        let marked = annotations
            .iter()
            .filter(|it| it.is_start && name(it).starts_with("ProfilerStep#"))
            .map(|it| DeviceStep { name: name(it).to_owned(), first: first_from(it.at) });
        let marked: Vec<DeviceStep> = marked.collect();
        if !marked.is_empty() {
            return Self::tidy(marked, events.len());
        }
        let optimizer = annotations
            .iter()
            .filter(|it| !it.is_start && name(it).starts_with("Optimizer.step#"))
            .map(|it| first_from(it.at.saturating_add(Ns(1))));
        let mut starts: Vec<u32> = optimizer.collect();
        if starts.is_empty() {
            starts = after_optimizer(events, phases);
        }
        if starts.is_empty() {
            return Self::default();
        }
        starts.insert(0, 0);
        let named =
            (1..).zip(starts).map(|(n, first)| DeviceStep { name: format!("step {n}"), first });
        Self::tidy(named.collect(), events.len())
    }

    /// Without steps that have no event.
    fn tidy(mut steps: Vec<DeviceStep>, n_events: usize) -> Self {
        steps.sort_by_key(|step| step.first);
        let ends: Vec<usize> = steps.iter().skip(1).map(|step| step.first as usize).collect();
        let ends = ends.into_iter().chain([n_events]);
        let kept = steps.into_iter().zip(ends).filter(|(step, end)| (step.first as usize) < *end);
        let mut kept: Vec<DeviceStep> = kept.map(|(step, _)| step).collect();
        kept.drain(..kept.len().saturating_sub(MAX_STEPS));
        Self(kept)
    }

    /// The place of the step that `event` is in; `None` before the first.
    pub(super) fn of(&self, event: Option<u32>) -> Option<usize> {
        let event = event?;
        self.0.partition_point(|step| step.first <= event).checked_sub(1)
    }

    /// Number of the last event of a step.
    pub(super) fn last_event(&self, step: usize, n_events: usize) -> Option<u32> {
        let end = self.0.get(step + 1).map_or(n_events, |next| next.first as usize);
        end.checked_sub(1).and_then(|last| u32::try_from(last).ok())
    }
}

/// The first allocation after each run of the optimizer's allocations.
fn after_optimizer(events: &[&SnapshotEvent], phases: &[Phase]) -> Vec<u32> {
    let mut starts = Vec::new();
    let mut was_optimizer = false;
    for (at, event) in (0_u32..).zip(events) {
        if event.action != SnapshotAction::Alloc {
            continue;
        }
        let phase = phases.get(event.stack.0 as usize);
        if was_optimizer && phase != Some(&Phase::Optimizer) {
            starts.push(at);
        }
        was_optimizer = phase == Some(&Phase::Optimizer);
    }
    starts
}
