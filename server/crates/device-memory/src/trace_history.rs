//! The memory events of a trace to what each line held when.

use ledger::{Bytes, Ns, share_of};
use line_stacks::LineId;
use profile::{DeviceType, Profile};
use recorded::Steps;

use crate::curve::Curve;
use crate::device_name::device_name;
use crate::history::{HeldAllocation, Holder, HolderPhase, MemoryHistory};
use crate::trace::{DeviceReplay, TraceMemory};

/// Who allocates and releases in the memory events of a trace.
#[derive(Debug, Default)]
pub struct MemoryHolders {
    /// The distinct ones.
    pub holders: Vec<Holder>,
    /// Rows of `holders` that act together, in equal parts: several where a line stands for several.
    pub groups: Vec<Vec<u32>>,
    /// By event, in the order of [`TraceMemory::rows`]: its row of `groups`.
    pub of_event: Vec<u32>,
}

impl MemoryHolders {
    fn of(&self, event: usize) -> &[u32] {
        let group = self.of_event.get(event).and_then(|it| self.groups.get(*it as usize));
        group.map_or(&[], Vec::as_slice)
    }
}

impl TraceMemory {
    /// What each memory held when, by `holders` of its events. An allocation of several holders is one of each, with its part of the bytes.
    /// Memories whose releases cannot be matched to allocations have none, as in traces of torch 1.9.
    #[must_use]
    pub fn histories(
        &self,
        profile: &Profile,
        steps: &Steps,
        rank: u32,
        holders: &MemoryHolders,
    ) -> Vec<MemoryHistory> {
        // Replayed once more: a load that does not ask for it keeps no allocations while it goes on.
        let nowhere = std::iter::repeat_n(LineId::NONE, self.rows.len());
        let mut histories = Vec::new();
        for (device, of_device) in self.replays(profile, nowhere) {
            let rows: Vec<u32> = of_device.events.iter().map(|&it| self.rows[it]).collect();
            let curve = Curve::new(profile, &rows, &of_device.replay);
            if !self.has_use_of(device) || !curve.has_addresses {
                continue;
            }
            let key = match device.kind {
                DeviceType::CPU => MemoryHistory::HOST,
                _ => device.ordinal,
            };
            histories.push(MemoryHistory {
                rank,
                device: key,
                name: device_name(device),
                steps: curve.steps(steps),
                ..history(&curve, &of_device, holders)
            });
        }
        histories
    }
}

/// What one memory held when. What was in use before the first event and is released later has an allocation of its own for each release, the
/// rest of it one.
fn history(curve: &Curve, of_device: &DeviceReplay, by: &MemoryHolders) -> MemoryHistory {
    let DeviceReplay { replay, events } = of_device;
    let mut holders = by.holders.clone();
    let before = u32::try_from(holders.len()).unwrap_or(u32::MAX);
    holders.push(Holder { line: None, phase: HolderPhase::Before });
    let number = |event: u64| u32::try_from(event).unwrap_or(u32::MAX);
    let holder_at = |event: u64| {
        let place = usize::try_from(event).ok().and_then(|it| events.get(it));
        place.and_then(|it| by.of(*it).first()).copied()
    };
    let tracked = replay.allocations.iter().filter(|it| it.is_tracked());
    let mut allocations: Vec<HeldAllocation> = tracked
        .flat_map(|it| {
            let group = by.of(it.event);
            let part = move |(part, &holder): (usize, &u32)| HeldAllocation {
                holder,
                released_by: it.freed_at.and_then(holder_at),
                address: it.address,
                bytes: Bytes(share_of(it.bytes.0, group.len(), part)),
                from: Some(number(it.alloc_at)),
                to: it.freed_at.map(number),
            };
            group.iter().enumerate().map(part)
        })
        .collect();
    let older = |bytes: Bytes, released: Option<u64>| HeldAllocation {
        holder: before,
        released_by: released.and_then(holder_at),
        address: 0,
        bytes,
        from: None,
        to: released.map(number),
    };
    allocations.extend(replay.older.iter().map(|&(event, bytes)| older(bytes, Some(event))));
    let kept = curve.before - replay.older_freed;
    if Bytes::ZERO < kept {
        allocations.push(older(kept, None));
    }
    // From the allocations, so that these always add up to it.
    let mut changes = vec![Bytes::ZERO; curve.points.len() + 1];
    for it in &allocations {
        changes[it.from.map_or(0, |event| event as usize + 1)] += it.bytes;
        if let Some(to) = it.to {
            changes[to as usize + 1] -= it.bytes;
        }
    }
    let mut in_use = changes.into_iter().scan(Bytes::ZERO, |sum, change| {
        *sum += change;
        Some(*sum)
    });
    let start = curve.points.first().map_or(Ns::ZERO, |(at, _)| *at);
    MemoryHistory {
        has_times: true,
        at: curve.points.iter().map(|(at, _)| (*at - start).0.max(0)).collect(),
        active_at_start: in_use.next().unwrap_or_default(),
        active: in_use.collect(),
        reserved_at_start: curve.points.first().map_or(Bytes::ZERO, |(_, (_, it))| *it),
        reserved: curve.points.iter().map(|(_, (_, reserved))| *reserved).collect(),
        holders,
        allocations,
        ..MemoryHistory::default()
    }
}
