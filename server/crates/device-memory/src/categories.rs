//! Exported memory timelines to the ledger.

use ledger::{Bytes, CategoryMemory, DeviceMemory, Ledger, Ns};
use profile::MemoryTimeline;

/// The books of a timeline. It names no lines, so that nothing is charged; `rank` names the run's rank.
#[must_use]
pub fn attribute_timeline(timeline: &MemoryTimeline, rank: u32) -> Ledger {
    let points = || timeline.at.iter().copied().zip(timeline.bytes.iter().copied());
    let start = timeline.at.first().copied().unwrap_or(Ns::ZERO);
    let total = |level: &[Bytes; 8]| level.iter().sum::<Bytes>();
    // The first of several.
    let peak = points().rev().max_by_key(|(_, level)| total(level)).unwrap_or_default();
    let mut most = [Bytes::ZERO; 8];
    for (_, level) in points() {
        for (most, bytes) in most.iter_mut().zip(level) {
            *most = bytes.max(*most);
        }
    }
    let span = timeline.at.last().map_or(Ns::ZERO, |&end| end.saturating_sub(start)).max(Ns::ZERO);
    let n_parts = DeviceMemory::MAX_SAMPLES as i64;
    let mut samples: Vec<(Ns, [Bytes; 8])> = Vec::new();
    for (at, level) in points() {
        let at = at.saturating_sub(start).max(Ns::ZERO);
        let part = i128::from(at) * i128::from(n_parts) / (i128::from(span) + 1);
        let begin = Ns((part * (i128::from(span) + 1) / i128::from(n_parts)) as i64);
        match samples.last_mut() {
            Some((last, highest)) if *last == begin => {
                if total(highest) < total(&level) {
                    *highest = level;
                }
            }
            _ => samples.push((begin, level)),
        }
    }
    let memory = CategoryMemory {
        peak: total(&peak.1),
        peak_at: peak.0.saturating_sub(start),
        at_peak: peak.1,
        at_end: timeline.bytes.last().copied().unwrap_or_default(),
        most,
        timeline: samples,
    };
    let mut ledger = Ledger { ranks: 1, ..Ledger::default() };
    ledger.categories.insert(rank, memory);
    ledger
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_the_first_highest_sum() {
        let level = |first, last| [first, 0, 0, 0, 0, 0, 0, last].map(Bytes);
        let timeline = MemoryTimeline {
            at: [1000, 2000, 3000, 4000].map(Ns).to_vec(),
            bytes: vec![level(5, 0), level(5, 4), level(4, 5), level(0, 1)],
        };
        let ledger = attribute_timeline(&timeline, 2);
        let memory = &ledger.categories[&2];
        assert_eq!(
            (memory.peak, memory.peak_at, memory.at_peak),
            (Bytes(9), Ns(1000), level(5, 4))
        );
        assert_eq!((memory.at_end, memory.most), (level(0, 1), level(5, 5)));
        assert_eq!(memory.timeline.len(), 4);
        assert_eq!(attribute_timeline(&MemoryTimeline::default(), 0).categories[&0].peak, Bytes(0));
    }
}
