//! Rule `near-limit`: the reserved memory comes close to what the device has. A trace of the same run tells that.

use super::{Device, MemoryKind, Told};
use crate::Finding;

/// Id of the rule.
pub(super) const ID: &str = "near-limit";

/// Share of the device's memory from which it is told.
const LEAST: f64 = 0.9;

pub(super) fn find(device: &Device<'_>) -> Vec<Finding> {
    let capacity = device.ledger.devices.get(&device.key).map_or(0, |it| it.total_memory);
    let reserved = device.memory.reserved_peak;
    let share = reserved as f64 / capacity as f64;
    let Some((place, _)) = device.heaviest().filter(|_| 0 < capacity && LEAST <= share) else {
        return Vec::new();
    };
    let told = Told {
        kind: MemoryKind::NearLimit { reserved, capacity },
        share,
        is_warning: true,
        remedy: "A slightly larger batch fails, and the allocator has to give memory back before that. This line holds the \
                 most at the peak: begin here.",
    };
    vec![device.finding(ID, place, told)]
}
