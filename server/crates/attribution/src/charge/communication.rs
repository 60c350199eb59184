//! The collectives of the rank, by the lines that launched them.

use ledger::{CollectiveCall, CollectiveSite, GroupMembers, Ns, RankCommunication, TimeRange};
use line_stacks::line_key;
use profile::{Profile, RankGroup};
use recorded::Steps;
use run_summary::{CollectiveEvent, RecordedCollective, StepSpan};

use super::device::DeviceStacks;
use crate::event_stacks::EventStacks;

/// What the ledger keeps of the rank's collectives; `None` where there is nothing to compare ranks by.
pub(crate) fn communication(
    (spans, collectives): (&[StepSpan], &[RecordedCollective]),
    profile: &Profile,
    stacks: &DeviceStacks,
    steps: &Steps,
    events: &EventStacks<'_>,
) -> Option<RankCommunication> {
    let meta = &profile.meta;
    if collectives.is_empty() && meta.world_size.is_none() {
        return None;
    }
    let mut found = RankCommunication {
        world_size: meta.world_size,
        host: meta.host.clone(),
        groups: meta.groups.iter().map(members).collect(),
        steps: spans.iter().map(|it| (it.number, range(meta.base, it))).collect(),
        ..RankCommunication::default()
    };
    // A range on the host that is open when the profiler stops lasts as long as that takes.
    let last_end = steps.0.last().map_or(Ns::MAX, |it| it.end);
    for it in collectives {
        let step = steps.at(it.launched);
        let is_cut = step.is_some() && matches!(it.event, CollectiveEvent::Host(..));
        let end = if is_cut { it.end.min(last_end.max(it.start)) } else { it.end };
        let line = match it.event {
            CollectiveEvent::Device(event) => events.stacks.charged_line(stacks.node(event)).get(),
            CollectiveEvent::Host(_, launch) => {
                launch.and_then(|launch| events.charged_line(launch).get())
            }
        };
        let site = CollectiveSite {
            kind: it.kind,
            group: it.group.clone(),
            bytes: it.bytes,
            is_on_device: matches!(it.event, CollectiveEvent::Device(_)),
            line: line.map(|line| line_key(&events.stacks.lines, line)),
            message: it.message,
        };
        found.sites.entry(site).or_default().push(CollectiveCall {
            start: meta.base.saturating_add(it.start),
            end: meta.base.saturating_add(end),
            step,
            sequence: it.sequence,
            blocked: it.blocked.before(end - it.start),
        });
    }
    found.sites.values_mut().for_each(|calls| calls.sort_unstable());
    Some(found)
}

fn range(base: Ns, step: &StepSpan) -> TimeRange {
    TimeRange { start: base.saturating_add(step.start), end: base.saturating_add(step.end) }
}

fn members(group: &RankGroup) -> GroupMembers {
    GroupMembers {
        name: group.name.clone(),
        description: group.description.clone(),
        ranks: group.ranks.iter().copied().collect(),
    }
}
