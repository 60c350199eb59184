//! Rule `fragmentation`: reserved memory that is free, but in pieces too small to be used.

use ledger::OutOfMemory;

use super::{Device, MemoryKind, Told};
use crate::Finding;

/// Id of the rule.
pub(super) const ID: &str = "fragmentation";

const REMEDY: &str = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lets segments grow instead of leaving gaps; so does \
                      allocating what lives long before what lives short.";

/// Free but reserved, of what is reserved, from which it is told without a failed request.
const LEAST: f64 = 0.2;

/// And no less than this many bytes.
const LEAST_BYTES: i64 = 256 << 20;

pub(super) fn find(device: &Device<'_>) -> Vec<Finding> {
    let failed = device.memory.out_of_memory.iter().rfind(|it| is_fragmented(it));
    if let Some(failed) = failed {
        let heaviest = failed.holders.first().map(|(line, _)| line);
        let Some(place) = failed.line.as_ref().or(heaviest) else { return Vec::new() };
        let free = failed.reserved - failed.active;
        let told = Told {
            kind: MemoryKind::Fragmentation {
                failed: Some(failed.requested),
                free,
                largest: failed.largest_free,
                reserved: failed.reserved,
            },
            share: free as f64 / failed.reserved.max(1) as f64,
            is_warning: true,
            remedy: REMEDY,
        };
        return vec![device.finding(ID, place, told)];
    }
    let it = device.memory.fragmentation;
    let share = it.held as f64 / device.memory.reserved.max(1) as f64;
    // One large piece is spare, not fragmented.
    let is_fragmented = LEAST <= share && LEAST_BYTES <= it.held && it.largest_free < it.held / 2;
    let Some((place, _)) = device.heaviest().filter(|_| is_fragmented) else { return Vec::new() };
    let told = Told {
        kind: MemoryKind::Fragmentation {
            failed: None,
            free: it.held,
            largest: it.largest_free,
            reserved: device.memory.reserved,
        },
        share,
        is_warning: false,
        remedy: REMEDY,
    };
    vec![device.finding(ID, place, told)]
}

/// Whether a request failed that the free memory would have held in one piece.
fn is_fragmented(it: &OutOfMemory) -> bool {
    it.largest_free < it.requested && it.requested <= it.reserved - it.active
}
