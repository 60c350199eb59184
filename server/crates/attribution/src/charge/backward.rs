//! The second view, by cause: what the backward nodes of a forward line cost.

use ledger::Ns;
use line_stacks::grow_to;
use profile::{HostEventId, HostKind, Profile, ThreadId};
use rustc_hash::FxHashMap;

use crate::event_stacks::EventStacks;
use recorded::Launches;

/// Backward time by the charged line of the forward operator.
#[derive(Debug, Default)]
pub(crate) struct Backward {
    pub(crate) cpu: Vec<Ns>,
    pub(crate) cuda: Vec<Ns>,
}

/// Charges the backward nodes that the timeline pass found, with their thread times, to the forward lines that created them.
pub(crate) fn backward(
    profile: &Profile,
    launches: &Launches,
    (events, times): (&EventStacks<'_>, &[Ns]),
    forward: &[HostEventId],
) -> Backward {
    let mut backward = Backward::default();
    if events.backward_nodes.is_empty() {
        return backward;
    }
    let line =
        |row: usize| events.stacks.charged_line(events.stack_of[forward[row].get()?.index()]).get();
    for (row, &time) in times.iter().enumerate() {
        if let Some(line) = line(row) {
            *grow_to(&mut backward.cpu, line.index()) += time;
        }
    }
    for event in profile.device.ids() {
        let node = launches.launch(event).map_or(0, |launch| events.backward_node[launch.index()]);
        if let Some(row) = node.checked_sub(1)
            && let Some(line) = line(row as usize)
        {
            *grow_to(&mut backward.cuda, line.index()) += profile.device.duration[event.index()];
        }
    }
    backward
}

/// The forward operator of each backward node, or none.
pub(crate) fn forward_operators(profile: &Profile, events: &EventStacks<'_>) -> Vec<HostEventId> {
    if events.backward_nodes.is_empty() {
        return Vec::new();
    }
    let host = &profile.host;
    let by_flow = by_flow(profile, events);
    let is_missing = |operator: &Option<HostEventId>| operator.is_none_or(|it| it.get().is_none());
    let by_sequence = match by_flow.iter().any(is_missing) {
        true => by_sequence(profile, events),
        false => FxHashMap::default(),
    };
    let nodes = by_flow.into_iter().zip(&events.backward_nodes);
    nodes
        .map(|(operator, node)| {
            let sequence = host.operators.sequence[host.detail_row(*node)];
            operator
                .and_then(HostEventId::get)
                .unwrap_or_else(|| by_sequence.get(&sequence).copied().unwrap_or(HostEventId::NONE))
        })
        .collect()
}

/// Along the `fwdbwd` flows: of several heads inside one node, the earliest counts. `None` for a node without a flow.
fn by_flow(profile: &Profile, events: &EventStacks<'_>) -> Vec<Option<HostEventId>> {
    let host = &profile.host;
    let mut forward = vec![None; events.backward_nodes.len()];
    let mut nodes_of_thread: FxHashMap<_, Vec<(Ns, usize)>> = FxHashMap::default();
    for (row, node) in events.backward_nodes.iter().enumerate() {
        let nodes = nodes_of_thread.entry(host.thread[node.index()]).or_default();
        nodes.push((host.start[node.index()], row));
    }
    let flows = || profile.flows.iter();
    let mut tails = FxHashMap::default();
    for tail in flows().filter(|flow| !flow.is_finish) {
        tails.entry(tail.id).or_insert((tail.thread, tail.at));
    }
    let mut heads: Vec<_> = flows().filter(|flow| flow.is_finish).collect();
    heads.sort_by_key(|head| head.at);
    for head in heads {
        let Some(nodes) = nodes_of_thread.get(&head.thread) else { continue };
        let after = nodes.partition_point(|&(start, _)| start <= head.at);
        let Some(&(start, row)) = nodes[..after].last() else { continue };
        let is_inside = head.at < host.end(events.backward_nodes[row]) || head.at == start;
        let Some(&tail) = tails.get(&head.id).filter(|_| is_inside) else { continue };
        forward[row].get_or_insert_with(|| operator_starting(profile, events, tail));
    }
    forward
}

/// The outermost operator of a thread that starts at a time, or none.
fn operator_starting(
    profile: &Profile,
    events: &EventStacks<'_>,
    (thread, at): (ThreadId, Ns),
) -> HostEventId {
    let host = &profile.host;
    let first = events.order.partition_point(|id| host.start[id.index()] < at);
    let starting = events.order[first..].iter().take_while(|id| host.start[id.index()] == at);
    let mut operators = starting.filter(|id| {
        host.kind[id.index()] == HostKind::Operator && host.thread[id.index()] == thread
    });
    operators.next().copied().unwrap_or(HostEventId::NONE)
}

/// The first forward operator of each sequence number.
fn by_sequence(profile: &Profile, events: &EventStacks<'_>) -> FxHashMap<i64, HostEventId> {
    let host = &profile.host;
    let mut first = FxHashMap::default();
    for &id in events.order.iter().filter(|id| host.kind[id.index()] == HostKind::Operator) {
        let row = host.detail_row(id);
        if host.operators.forward_thread[row] == 0 && host.operators.sequence[row] >= 0 {
            first.entry(host.operators.sequence[row]).or_insert(id);
        }
    }
    first
}
