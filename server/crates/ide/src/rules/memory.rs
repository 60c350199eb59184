//! Device memory, in words.

use insights::{Finding, MemoryDetail, MemoryKind};
use ledger::{Bytes, Ns};
use metrics::numbers::{bytes, count, duration, percent};

use crate::memory::device_name;

/// What the finding says, as one line of text.
pub(crate) fn message(finding: &Finding, detail: &MemoryDetail) -> String {
    let size = |size: Bytes| bytes(size.as_f64());
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
            "{} of the peak of {} ({}){}",
            percent(finding.share),
            size(*peak),
            size(*bytes),
            if *allocs == 0 { String::new() } else { format!(" in {}", tensors(*allocs)) }
        ),
        MemoryKind::Churn { reserved_times, reserved, returned_times, time, is_per_step } => {
            format!(
                "memory is reserved from the device {} times here ({}), and given back {} times in all{}",
                count(*reserved_times as f64),
                size(*reserved),
                count(*returned_times as f64),
                match time {
                    Some(time) => format!(
                        "; cudaMalloc and cudaFree take {}{} here",
                        duration(time.as_f64()),
                        if *is_per_step { " per step" } else { "" }
                    ),
                    None => String::new(),
                }
            )
        }
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
        MemoryKind::Checkpoint { frees, peak, .. } => format!(
            "activations saved here for the backward pass: recomputing them frees up to {} of the peak of {}",
            size(*frees),
            size(*peak)
        ),
    };
    let price = match &detail.kind {
        MemoryKind::Checkpoint { forward, recompute, .. } => price(*forward, *recompute),
        _ => String::new(),
    };
    format!("{}: {text} on {device}{price}", finding.rule)
}

/// What computing again takes.
fn price(forward: Ns, recompute: Ns) -> String {
    let time = |it: Ns| duration(it.as_f64());
    match (forward, recompute) {
        (Ns::ZERO, Ns::ZERO) => String::new(),
        (forward, Ns::ZERO) => {
            format!(", for the {} per step that they take here in the forward pass", time(forward))
        }
        (forward, recompute) => format!(
            ", for the {} per step that they take here in the forward pass; what is checkpointed of it takes {} again already",
            time(forward),
            time(recompute)
        ),
    }
}

fn tensors(number: u64) -> String {
    if number == 1 { "1 tensor".to_owned() } else { format!("{} tensors", count(number as f64)) }
}

#[cfg(test)]
mod tests {
    use insights::{Detail, Severity};
    use ledger::{DeviceKey, Evidence, LineKey, Ns};

    use super::*;

    const MIB: i64 = 1 << 20;

    fn finding(kind: MemoryKind) -> Finding {
        let device = DeviceKey { rank: 1, device: 0 };
        Finding {
            rule: "rule",
            place: LineKey { file: "train.py".to_owned(), line: 7 },
            function: String::new(),
            evidence: Evidence::Exact,
            severity: Severity::Warning,
            cost: Ns(0),
            cost_per_step: None,
            count: 0,
            steps: 0,
            share: 0.25,
            detail: Detail::Memory(MemoryDetail { device, kind }),
            related: Vec::new(),
            remedy: "",
        }
    }

    #[test]
    fn findings_in_words() {
        let mib = |number: i64| number * MIB;
        let rows = [
            (
                MemoryKind::Leak { per_step: Bytes(mib(2)), steps: 5, held: Bytes(mib(12)) },
                "2 MiB more in use after every step (5 steps in a row), 12 MiB at the end",
            ),
            (
                MemoryKind::Retained { tensors_per_step: 1, steps: 5, held: Bytes(3072) },
                "1 tensor of every step is kept (5 steps in a row), 3 KiB at the end",
            ),
            (
                MemoryKind::PeakLine { bytes: Bytes(mib(5)), allocs: 3, peak: Bytes(mib(20)) },
                "25 % of the peak of 20 MiB (5 MiB) in 3 tensors",
            ),
            (
                MemoryKind::Churn {
                    reserved_times: 9,
                    reserved: Bytes(mib(90)),
                    returned_times: 8,
                    time: None,
                    is_per_step: false,
                },
                "memory is reserved from the device 9 times here (90 MiB), and given back 8 times in all",
            ),
            (
                MemoryKind::Churn {
                    reserved_times: 9,
                    reserved: Bytes(mib(90)),
                    returned_times: 8,
                    time: Some(Ns(1_500_000)),
                    is_per_step: true,
                },
                "memory is reserved from the device 9 times here (90 MiB), and given back 8 times in all; \
                 cudaMalloc and cudaFree take 1.5 ms per step here",
            ),
            (
                MemoryKind::Fragmentation {
                    failed: Some(Bytes(mib(48))),
                    free: Bytes(mib(64)),
                    largest: Bytes(mib(16)),
                    reserved: Bytes(mib(99)),
                },
                "a request of 48 MiB failed with 64 MiB reserved and free, in pieces of at most 16 MiB",
            ),
            (
                MemoryKind::Fragmentation {
                    failed: None,
                    free: Bytes(mib(64)),
                    largest: Bytes(mib(16)),
                    reserved: Bytes(mib(99)),
                },
                "64 MiB of the 99 MiB reserved are free, in pieces of at most 16 MiB",
            ),
            (
                MemoryKind::NearLimit { reserved: Bytes(mib(90)), capacity: Bytes(mib(100)) },
                "the peak of 90 MiB reserved is 25 % of the 100 MiB that the device has",
            ),
            (
                MemoryKind::Checkpoint {
                    frees: Bytes(mib(9)),
                    peak: Bytes(mib(36)),
                    forward: Ns::ZERO,
                    recompute: Ns::ZERO,
                },
                "activations saved here for the backward pass: recomputing them frees up to 9 MiB of the peak of 36 MiB",
            ),
        ];
        for (kind, expected) in rows {
            let text = crate::finding_message(&finding(kind));
            assert_eq!(text, format!("rule: {expected} on cuda:0 of rank 1"));
        }
    }
}
