//! Memory over time, in parts that a screen has columns for.

use ledger::{Bytes, DeviceMemory, Sample};

/// Bytes in use and reserved.
pub(crate) type MemoryLevel = (Bytes, Bytes);

/// Parts of equal length of `n_events` events, which happen `at` times that rise (or at their numbers), and after which
/// the memory is at `level`; `start` is the level before them. What is in use when a part begins counts for it too.
pub(crate) fn samples(
    n_events: usize,
    at: impl Fn(usize) -> i64,
    start: MemoryLevel,
    level: impl Fn(usize) -> MemoryLevel,
) -> Vec<Sample> {
    let Some(last) = n_events.checked_sub(1) else {
        return vec![Sample { at: 0, active: start.0, reserved: start.1 }];
    };
    let span = at(last).max(0).saturating_add(1);
    let n_parts = DeviceMemory::MAX_SAMPLES.min(n_events) as i64;
    let begin = |part: i64| (i128::from(span) * i128::from(part) / i128::from(n_parts)) as i64;
    let mut event = 0;
    let (mut active, mut reserved) = start;
    (0..n_parts)
        .map(|part| {
            let mut sample = Sample { at: begin(part), active, reserved };
            while event < n_events && (at(event) < begin(part + 1) || part == n_parts - 1) {
                (active, reserved) = level(event);
                sample.active = sample.active.max(active);
                sample.reserved = sample.reserved.max(reserved);
                event += 1;
            }
            sample
        })
        .collect()
}
