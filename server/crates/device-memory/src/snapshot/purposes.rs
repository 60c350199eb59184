//! What the memory of a device is for: tensors that the recorder found by object, and activations by what happens to them.

use ledger::{Bytes, MemoryPurpose, MemoryPurposes, Ns, Phase};
use profile::{Snapshot, SnapshotTensor, TensorPurpose};
use rustc_hash::FxHashMap;

use super::replay::{LiveAllocation, SnapshotReplay};
use super::report::Context;

impl Context<'_> {
    /// At the moment with the most bytes in use since the last recorded step began; `None` where the snapshot does not say
    /// what tensors are for.
    pub(super) fn purposes(&self) -> Option<MemoryPurposes> {
        let Self { snapshot, replay, .. } = self;
        if snapshot.purposes.tensors.is_empty() {
            return None;
        }
        let known = purposes_of_allocations(snapshot, replay);
        let highest = highest_since(replay, snapshot.purposes.since);
        let mut purposes = MemoryPurposes { moment: self.moment(highest), ..Default::default() };
        for (row, it) in replay.allocations.iter().enumerate() {
            if !it.is_alive_at(highest) {
                continue;
            }
            let purpose = known.get(&row).copied().unwrap_or_else(|| {
                let is_saved = self.frames.phase(it.stack) == Phase::Forward
                    && it.to.is_some()
                    && self.frames.phase(it.released_by) == Phase::Backward;
                if is_saved { MemoryPurpose::Activation } else { MemoryPurpose::Other }
            });
            *purposes.bytes.entry(purpose).or_insert(Bytes::ZERO) += it.bytes;
        }
        Some(purposes)
    }
}

/// After which event the most bytes were in use, of those since a time; of several the first.
fn highest_since(replay: &SnapshotReplay<'_>, since: Ns) -> Option<u32> {
    let last = replay.events.len().checked_sub(1)?;
    // Where events have no times, the end stands for the step.
    let first = replay.events.iter().position(|event| since <= event.at).unwrap_or(last);
    let highest = (first..=last).rev().max_by_key(|&event| replay.active[event])?;
    u32::try_from(highest).ok()
}

/// By row of the allocations, what the tensor in it is for.
fn purposes_of_allocations(
    snapshot: &Snapshot,
    replay: &SnapshotReplay<'_>,
) -> FxHashMap<usize, MemoryPurpose> {
    let mut by_address: FxHashMap<u64, Vec<&SnapshotTensor>> = FxHashMap::default();
    for tensor in &snapshot.purposes.tensors {
        by_address.entry(tensor.address).or_default().push(tensor);
    }
    let mut known = FxHashMap::default();
    for (row, it) in replay.allocations.iter().enumerate() {
        let tensors = by_address.get(&it.address).into_iter().flatten();
        // Whatever the program calls a tensor first: a parameter that is a buffer, too, is a parameter.
        let tensor = tensors.copied().find(|tensor| was_there(replay, it, tensor.at));
        if let Some(tensor) = tensor {
            known.insert(row, purpose(tensor.purpose));
        }
    }
    known
}

/// Whether an allocation was in use at a time; where events have none, whether it is at the end.
fn was_there(replay: &SnapshotReplay<'_>, it: &LiveAllocation, at: Ns) -> bool {
    let time = |event: u32| replay.events[event as usize].at;
    let begins = it.from.map_or(Ns::ZERO, time);
    let ends = it.to.map_or(Ns::MAX, time);
    begins <= at && at < ends
}

fn purpose(tensor: TensorPurpose) -> MemoryPurpose {
    match tensor {
        TensorPurpose::Parameter => MemoryPurpose::Parameter,
        TensorPurpose::Gradient => MemoryPurpose::Gradient,
        TensorPurpose::OptimizerState => MemoryPurpose::OptimizerState,
        TensorPurpose::Buffer => MemoryPurpose::Buffer,
    }
}
