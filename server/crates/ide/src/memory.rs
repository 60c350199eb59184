//! What the memory rules found, in words.

use insights::{Detail, Finding, MemoryDetail, MemoryKind};

use crate::numbers::{bytes, count, percent};

/// A device in words: `cuda:0`, with its rank where that is not the first.
pub(crate) fn device_name(device: ledger::DeviceKey) -> String {
    match device.rank {
        0 => format!("cuda:{}", device.device),
        rank => format!("cuda:{} of rank {rank}", device.device),
    }
}

/// What a finding about memory says, as one line of text; `None` for one about something else.
#[must_use]
pub fn memory_message(finding: &Finding) -> Option<String> {
    match &finding.detail {
        Detail::Memory(detail) => Some(message(finding, detail)),
        Detail::Sync { .. } => None,
    }
}

/// What the finding says, as one line of text.
pub(crate) fn message(finding: &Finding, detail: &MemoryDetail) -> String {
    let size = |size: i64| bytes(size as f64);
    let device = device_name(detail.device);
    let text = match &detail.kind {
        MemoryKind::Leak { per_step, steps, held } => format!(
            "{} more in use after every step ({} steps in a row), {} at the end",
            size(*per_step),
            count(*steps as f64),
            size(*held)
        ),
        MemoryKind::Retained { tensors_per_step, steps, held } => format!(
            "{} of every step {} kept ({} steps in a row), {} at the end",
            tensors(*tensors_per_step),
            if *tensors_per_step == 1 { "is" } else { "are" },
            count(*steps as f64),
            size(*held)
        ),
        MemoryKind::PeakLine { bytes, allocs, peak } => format!(
            "{} of the peak of {} ({}) in {}",
            percent(finding.share),
            size(*peak),
            size(*bytes),
            tensors(*allocs)
        ),
        MemoryKind::Churn { reserved_times, reserved, returned_times } => format!(
            "memory is reserved from the device {} times here ({}), and given back {} times in all",
            count(*reserved_times as f64),
            size(*reserved),
            count(*returned_times as f64)
        ),
        MemoryKind::Fragmentation { failed: Some(failed), free, largest, .. } => format!(
            "a request of {} failed with {} reserved and free, in pieces of at most {}",
            size(*failed),
            size(*free),
            size(*largest)
        ),
        MemoryKind::Fragmentation { failed: None, free, largest, reserved } => format!(
            "{} of the {} reserved are free, in pieces of at most {}",
            size(*free),
            size(*reserved),
            size(*largest)
        ),
        MemoryKind::NearLimit { reserved, capacity } => format!(
            "the peak of {} reserved is {} of the {} that the device has",
            size(*reserved),
            percent(finding.share),
            size(*capacity)
        ),
        MemoryKind::Checkpoint { frees, peak } => format!(
            "activations saved here for the backward pass: recomputing them frees up to {} of the peak of {}",
            size(*frees),
            size(*peak)
        ),
    };
    format!("{}: {text} on {device}", finding.rule)
}

fn tensors(number: u64) -> String {
    if number == 1 { "1 tensor".to_owned() } else { format!("{} tensors", count(number as f64)) }
}
