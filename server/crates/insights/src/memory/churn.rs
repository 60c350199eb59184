//! Rule `memory-churn`: a line for which the allocator reserves memory from the device again and again.

use super::{Device, MemoryKind, Told};
use crate::Finding;

/// Id of the rule.
pub(super) const ID: &str = "memory-churn";

/// Times that memory must have been reserved for the line; a first step reserves what it needs.
const LEAST: u64 = 4;

pub(super) fn find(device: &Device<'_>) -> Vec<Finding> {
    let returned = device.memory.segments.frees;
    // Without memory given back, reserving is growth and not churn.
    if returned < LEAST {
        return Vec::new();
    }
    let lines = device.memory.lines.iter().filter(|(_, it)| LEAST <= it.segments.allocs);
    lines
        .map(|(place, books)| {
            let told = Told {
                kind: MemoryKind::Churn {
                    reserved_times: books.segments.allocs,
                    reserved: books.segments.alloc,
                    returned_times: returned,
                },
                share: device.of_peak(books.segments.alloc).min(1.0),
                is_warning: true,
                remedy: "Each time is a cudaMalloc, and a cudaFree that waits for the device. Sizes that change from \
                         step to step, torch.cuda.empty_cache() in the loop, and memory close to its limit cause it; \
                         fixed sizes, or PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, avoid it.",
            };
            device.finding(ID, place, told)
        })
        .collect()
}
