//! Waits for the device: which calls block, what they waited for, and the idle time that followed.

use ledger::Ns;
use line_stacks::{LineId, grow_to};
use profile::{HostEventId, Profile};
use rustc_hash::FxHashMap;

use super::device::DeviceStacks;
use crate::timeline_pass::TimelinePass;
use recorded::{IdleGaps, Steps, is_blocking_call};

/// What the waits of the recording cost, by charged line.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// Blocked time and count.
    pub(crate) by_line: Vec<(Ns, u64)>,
    /// Idle time that at most would not be without the waits, and what of it waits in steps caused (all of it where there are
    /// no steps). What the profiler itself waits for is left out.
    pub(crate) avoidable_by_line: Vec<(Ns, Ns)>,
    /// The same by sync, in their order.
    pub(crate) avoidable: Vec<Ns>,
    /// Blocked time of syncs without a line.
    pub(crate) without_line: Ns,
    /// Device time that ran during the waits of one line, by the line that launched it.
    pub(crate) waited_for: FxHashMap<(LineId, LineId), Ns>,
    /// By node: blocked time, and idle time that followed.
    pub(crate) by_node: Vec<(Ns, Ns)>,
}

/// Charges the syncs that the timeline pass found.
pub(crate) fn waits(
    profile: &Profile,
    gaps: &IdleGaps,
    stacks: &DeviceStacks,
    steps: &Steps,
    pass: &TimelinePass<'_>,
    is_recording: &[bool],
) -> Waits {
    let TimelinePass { events, syncs, charges, .. } = pass;
    let mut waits = Waits::default();
    if syncs.is_empty() {
        return waits;
    }
    let device = &profile.device;
    let running = Running::new(profile);
    let next_of_thread = next_of_thread(profile, syncs);
    for (row, (&sync, next)) in syncs.iter().zip(next_of_thread).enumerate() {
        let (start, end) = span(profile, sync);
        let node = events.stack_of[sync.index()];
        // Threads of autograd launch for the one that waits before it calls them.
        let thread = profile.host.thread[sync.index()];
        let of_others = gaps.left_by_wait(start, end).filter(|it| it.launcher != Some(thread));
        let of_others = of_others.map(|gap| (gap.end - gap.start).min(end - start));
        let avoidable = match is_recording[node.index()] {
            true => Ns::ZERO,
            false => of_others
                .fold(charges.avoidable.get(row).copied().unwrap_or(Ns::ZERO), Ns::saturating_add),
        };
        waits.avoidable.push(avoidable);
        // PyTorch copies asynchronously and then synchronises: to its user that is one wait.
        let operator = events.operator_around(sync);
        let is_copy = !is_blocking_call(profile.strings.get(profile.host.name[sync.index()]));
        let is_part_of_next = is_copy
            && operator.is_some()
            && next.is_some_and(|next| events.operator_around(next) == operator);
        let Some(line) = events.stacks.charged_line(node).get() else {
            waits.without_line += end - start;
            continue;
        };
        let (time, count) = grow_to(&mut waits.by_line, line.index());
        *time += end - start;
        *count += u64::from(!is_part_of_next);
        let (whole, in_steps) = grow_to(&mut waits.avoidable_by_line, line.index());
        *whole = whole.saturating_add(avoidable);
        if steps.0.is_empty() || steps.at(start).is_some() {
            *in_steps = in_steps.saturating_add(avoidable);
        }
        for event in running.overlapping(start, end) {
            let shared = device.end(event).min(end) - device.start[event.index()].max(start);
            if let Some(cause) = events.stacks.charged_line(stacks.node(event)).get()
                && shared > Ns::ZERO
            {
                // Waits of several threads count the same device event several times.
                let waited_for = waits.waited_for.entry((line, cause)).or_default();
                *waited_for = waited_for.saturating_add(shared);
            }
        }
        let (blocked, idle_after) = grow_to(&mut waits.by_node, node.index());
        *blocked += end - start;
        *idle_after += gaps.beginning_within(start, end);
    }
    waits
}

/// The next sync on the same thread, for each of `syncs`.
fn next_of_thread(profile: &Profile, syncs: &[HostEventId]) -> Vec<Option<HostEventId>> {
    let mut later = FxHashMap::default();
    let mut next: Vec<_> = syncs
        .iter()
        .rev()
        .map(|&sync| later.insert(profile.host.thread[sync.index()], sync))
        .collect();
    next.reverse();
    next
}

fn span(profile: &Profile, id: HostEventId) -> (Ns, Ns) {
    (profile.host.start[id.index()], profile.host.end(id))
}

/// Device events by start, with what it takes to find those that overlap a range.
pub(super) struct Running {
    events: Vec<profile::DeviceEventId>,
    start: Vec<Ns>,
    /// A binary tree, its root at 1, the children of a node at twice its index and next to it: the latest end of the events
    /// below each node. Its leaves are blocks of [`BLOCK`] events.
    latest_end: Vec<Ns>,
}

/// Events that are skipped or looked at together: fewer take more memory, more take longer to look at.
const BLOCK: usize = 16;

impl Running {
    pub(super) fn new(profile: &Profile) -> Self {
        let device = &profile.device;
        let mut events: Vec<_> = device.ids().collect();
        events.sort_by_key(|event| device.start[event.index()]);
        let start = events.iter().map(|event| device.start[event.index()]).collect();
        let latest = |events: &[_]| events.iter().map(|&event| device.end(event)).max();
        let latest_end = latest_ends(events.chunks(BLOCK).filter_map(latest).collect());
        Self { events, start, latest_end }
    }

    /// Events that may overlap `start..end`, by start; a few that ended before are among them.
    pub(super) fn overlapping(
        &self,
        start: Ns,
        end: Ns,
    ) -> impl Iterator<Item = profile::DeviceEventId> {
        let last = self.start.partition_point(|&it| it < end);
        let next = move |from| next_after(&self.latest_end, from, start);
        let blocks = std::iter::successors(next(0), move |&block| next(block + 1));
        blocks
            .map(|block| block * BLOCK)
            .take_while(move |&first| first < last)
            .flat_map(move |first| self.events[first..last.min(first + BLOCK)].iter().copied())
    }
}

/// The tree of [`Running::latest_end`] over its leaves.
fn latest_ends(leaves: Vec<Ns>) -> Vec<Ns> {
    let n_leaves = leaves.len().next_power_of_two();
    let mut tree = vec![Ns::MIN; n_leaves];
    tree.extend(leaves);
    tree.resize(2 * n_leaves, Ns::MIN);
    for node in (1..n_leaves).rev() {
        tree[node] = tree[2 * node].max(tree[2 * node + 1]);
    }
    tree
}

/// The first leaf of `tree` from leaf `from` on that is later than `time`.
fn next_after(tree: &[Ns], from: usize, time: Ns) -> Option<usize> {
    let n_leaves = tree.len() / 2;
    if n_leaves <= from {
        return None;
    }
    let mut node = n_leaves + from;
    while tree[node] <= time {
        // On to the subtree right of this one, which is also right of all those of which this one is the last part.
        while node % 2 == 1 {
            node /= 2;
        }
        if node == 0 {
            return None;
        }
        node += 1;
    }
    while node < n_leaves {
        node *= 2;
        node += usize::from(tree[node] <= time);
    }
    Some(node - n_leaves)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_later_end_is_found_wherever_it_is() {
        // Numbers without a pattern, and among them one that is later than all, as that of a kernel that runs throughout.
        for n in 0..40_i64 {
            let mut leaves: Vec<Ns> = (0..n).map(|it| Ns(it * 7919 % 101)).collect();
            leaves.iter_mut().skip(5).take(1).for_each(|it| *it = Ns(1000));
            let tree = latest_ends(leaves.clone());
            for time in [-1, 0, 3, 50, 100, 999, 1000].map(Ns) {
                for from in 0..leaves.len() + 2 {
                    let expected = (from..leaves.len()).find(|&it| time < leaves[it]);
                    assert_eq!(next_after(&tree, from, time), expected, "{n} {time:?} {from}");
                }
            }
        }
    }
}
