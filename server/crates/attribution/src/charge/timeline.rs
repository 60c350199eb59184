//! What threads and devices did when, by whole stacks.

use std::collections::BTreeMap;

use event_timeline::{
    EventTimeline, Lane, LaneKind, LaneSpan, Launch, MemoryCurve, SpanName, StepRange,
};
use ledger::{Ns, Reason};
use profile::{DeviceEventId, HostKind, Profile, Thread};
use recorded::{IdleGap, Steps};
use rustc_hash::FxHashMap;

use super::stacks::StackCharging;
use crate::host_charges::{EventSpan, EventTimes};

/// Puts everything that has a time on lanes. The sums of the spans are those of the books of stacks: thread time, idle time
/// and device time, but for the time of threads that only wait.
pub(crate) fn event_timeline(
    charging: &mut StackCharging<'_>,
    times: &EventTimes,
    steps: &Steps,
    memory: Vec<MemoryCurve>,
    rank: u32,
) -> EventTimeline {
    let (mut lanes, names, lane_of_thread) = host_lanes(charging, times);
    let devices = charging.from.gaps.devices.keys().copied();
    for device in devices {
        let spans = idle_spans(charging, device, times.idle.get(&device));
        if !spans.is_empty() {
            lanes.push(Lane { kind: LaneKind::Idle(device), spans, launches: Vec::new() });
        }
        lanes.extend(streams(charging, device, &lane_of_thread));
    }
    let (stacks, rows) = charging.books().of_user_code_with_rows();
    for span in lanes.iter_mut().flat_map(|it| &mut it.spans) {
        if let SpanName::Stack(row) = &mut span.name {
            *row = rows[row.index()];
        }
    }
    let steps = steps.0.iter();
    let steps = steps.map(|it| StepRange { number: it.number, start: it.start, end: it.end });
    let base = charging.from.profile.meta.base;
    EventTimeline { rank, stacks, names, steps: steps.collect(), lanes, memory, base }
}

/// The lanes of threads, the names of annotations, and by thread the lane of its stacks.
fn host_lanes(
    charging: &mut StackCharging<'_>,
    times: &EventTimes,
) -> (Vec<Lane>, Vec<String>, Vec<Option<u32>>) {
    let (profile, events) = (charging.from.profile, charging.from.events);
    let host = &profile.host;
    let mut annotations: Vec<Vec<LaneSpan>> = vec![Vec::new(); profile.threads.len()];
    let (mut names, mut name_rows) = (Vec::new(), FxHashMap::default());
    for &id in &events.order {
        if host.kind[id.index()] != HostKind::Annotation {
            continue;
        }
        let name = *name_rows.entry(host.name[id.index()]).or_insert_with(|| {
            names.push(profile.strings.get(host.name[id.index()]).to_owned());
            u32::try_from(names.len() - 1).unwrap_or(u32::MAX)
        });
        let (start, end) = (host.start[id.index()], host.end(id));
        let span = LaneSpan { start, end, name: SpanName::Named(name) };
        annotations[host.thread[id.index()].index()].push(span);
    }
    let (mut lanes, mut lane_of_thread) = (Vec::new(), Vec::new());
    for ((thread, of_thread), spans) in profile.threads.iter().zip(&times.threads).zip(annotations)
    {
        let label = label(profile, thread);
        if !spans.is_empty() {
            let kind = LaneKind::Annotations(label.clone());
            lanes.push(Lane { kind, spans, launches: Vec::new() });
        }
        let spans: Vec<LaneSpan> = of_thread.iter().map(|it| span(charging, it)).collect();
        let row = u32::try_from(lanes.len()).unwrap_or(u32::MAX);
        lane_of_thread.push((!spans.is_empty()).then_some(row));
        if !spans.is_empty() {
            lanes.push(Lane { kind: LaneKind::Thread(label), spans, launches: Vec::new() });
        }
    }
    (lanes, names, lane_of_thread)
}

/// `main (4711)`; the name alone where it has the number, and the number where there is no name.
fn label(profile: &Profile, thread: &Thread) -> String {
    let (name, tid) = (profile.strings.get(thread.name), profile.strings.get(thread.tid));
    match name {
        "" => tid.to_owned(),
        _ if name.contains(tid) => name.to_owned(),
        _ => format!("{name} ({tid})"),
    }
}

fn span(charging: &mut StackCharging<'_>, span: &EventSpan) -> LaneSpan {
    let name = SpanName::Stack(charging.row_of(span));
    LaneSpan { start: span.start, end: span.end, name }
}

/// The idle time of a device: what of each gap the launching thread spent on which stack, and the rest with why it has none.
fn idle_spans(
    charging: &mut StackCharging<'_>,
    device: i32,
    covered: Option<&Vec<EventSpan>>,
) -> Vec<LaneSpan> {
    let mut covered: Vec<EventSpan> = covered.cloned().unwrap_or_default();
    covered.sort_by_key(|it| it.start);
    let mut covered = covered.into_iter().peekable();
    let all = &charging.from.gaps.all;
    let gaps: Vec<IdleGap> = all.iter().filter(|it| it.device == device).copied().collect();
    let mut spans = Vec::new();
    for gap in gaps {
        let reason = gap.launcher.map_or(Reason::NoLaunch, |_| Reason::IdleThread);
        let mut clock = gap.start;
        let leave = |charging: &mut StackCharging<'_>, spans: &mut Vec<_>, from: Ns, to: Ns| {
            if from < to {
                let name = SpanName::Stack(charging.row_without_line(reason));
                spans.push(LaneSpan { start: from, end: to, name });
            }
        };
        while let Some(it) = covered.next_if(|it| it.start < gap.end) {
            leave(charging, &mut spans, clock, it.start);
            spans.push(span(charging, &it));
            clock = it.end;
        }
        leave(charging, &mut spans, clock, gap.end);
    }
    spans
}

/// A lane for each stream of a device.
fn streams(
    charging: &mut StackCharging<'_>,
    ordinal: i32,
    lane_of_thread: &[Option<u32>],
) -> Vec<Lane> {
    let (profile, launches) = (charging.from.profile, charging.from.launches);
    let (host, device) = (&profile.host, &profile.device);
    let mut by_stream: BTreeMap<i64, Vec<DeviceEventId>> = BTreeMap::new();
    for event in device.ids().filter(|it| device.device[it.index()] == ordinal) {
        by_stream.entry(device.stream[event.index()]).or_default().push(event);
    }
    let lane = |(stream, mut events): (i64, Vec<DeviceEventId>)| {
        events.sort_by_key(|it| (device.start[it.index()], std::cmp::Reverse(device.end(*it))));
        let (mut spans, mut launched) = (Vec::new(), Vec::new());
        for event in events {
            let name = SpanName::Stack(charging.row_on_device(event));
            let (start, end) = (device.start[event.index()], device.end(event));
            spans.push(LaneSpan { start, end, name });
            launched.push(launches.launch(event).and_then(|it| {
                let lane = lane_of_thread[host.thread[it.index()].index()]?;
                Some(Launch { lane, at: host.start[it.index()] })
            }));
        }
        Lane { kind: LaneKind::Stream { device: ordinal, stream }, spans, launches: launched }
    };
    by_stream.into_iter().map(lane).collect()
}
