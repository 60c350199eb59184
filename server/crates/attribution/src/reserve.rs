//! Calls that reserve memory from a device, or give it back, by own line: what the allocator could not serve from what
//! it had.

use ledger::{Ns, SegmentTime};
use profile::{HostKind, Profile};
use rustc_hash::FxHashMap;

use crate::stacks::LineId;
use crate::sweep::Swept;

/// Host time of such calls by own line. One inside another (`cuMemCreate` in `cudaMalloc`) is part of it.
pub(crate) fn charge(profile: &Profile, swept: &Swept<'_>) -> FxHashMap<LineId, SegmentTime> {
    let host = &profile.host;
    let mut charges: FxHashMap<LineId, SegmentTime> = FxHashMap::default();
    let reserves: Vec<bool> = profile.strings.iter().map(|(_, name)| reserves(name)).collect();
    let mut until: Vec<Ns> = vec![Ns::MIN; profile.threads.len()];
    let calls = swept.order.iter().filter(|id| {
        host.kind[id.index()] == HostKind::Runtime && reserves[host.name[id.index()].index()]
    });
    for &id in calls {
        let until = &mut until[host.thread[id.index()].index()];
        if host.start[id.index()] < *until {
            continue;
        }
        *until = host.end(id);
        if let Some(line) = swept.stacks.own(swept.inside[id.index()]).get() {
            let charge = charges.entry(line).or_default();
            charge.calls += 1;
            charge.time += host.duration[id.index()];
        }
    }
    charges
}

/// `cudaMalloc`, `hipFree`, `cuMemAlloc_v2`, `cuMemCreate` and what else expandable segments are made of; neither host
/// memory nor pools.
fn reserves(name: &str) -> bool {
    let name = name.trim_start_matches(|it: char| it.is_ascii_lowercase());
    let name = name.split_once('_').map_or(name, |it| it.0);
    matches!(
        name,
        "Malloc"
            | "Free"
            | "MemAlloc"
            | "MemFree"
            | "MemCreate"
            | "MemRelease"
            | "MemMap"
            | "MemUnmap"
            | "MemSetAccess"
            | "MemAddressReserve"
            | "MemAddressFree"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_memory_is_told_from_other_memory() {
        let yes = ["cudaMalloc", "hipFree", "cuMemAlloc_v2", "cuMemCreate", "hipMemUnmap"];
        let no =
            ["cudaMallocHost", "cudaFreeAsync", "cudaMemcpy", "cuMemFreeHost", "cudaMallocArray"];
        assert!(yes.iter().all(|it| reserves(it)));
        assert!(!no.iter().any(|it| reserves(it)));
    }
}
