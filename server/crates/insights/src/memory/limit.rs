//! Rule `near-limit`: the reserved memory comes close to what the device has. A trace of the same run says that.

use ledger::Bytes;

use super::detail::MemoryKind;
use super::device::{MemoryDraft, MemoryOfDevice, each};
use crate::rule::{Area, Rule, RuleLimits, Threshold, ThresholdUnit};
use crate::{Finding, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "near-limit",
    area: Area::Memory,
    title: "Close to the memory of the device",
    summary: "The reserved memory comes close to what the device has.",
    severity: Severity::Warning,
    trigger: "Most bytes reserved reach the threshold. It stands on the line that holds the most at the peak.",
    measure: "From a memory snapshot, and a trace of the same run, which names the memory of the device.",
    thresholds: &[MINIMUM],
    remedy: "A slightly larger batch fails, and the allocator has to give memory back before that. Begin with the line that holds the \
             most at the peak.",
    before: "logits = model(x)          # 9 GiB of the peak\nloss = F.cross_entropy(logits, y)",
    after: "loss = sum(F.cross_entropy(model(part), y_part) for part, y_part in parts)",
    sources: &["TensorBoard PyTorch plugin, `analyze`: peak memory above 90 % of the device"],
    limits: "Memory of other processes on the device is not in the snapshot.",
    find: |ledger, _, limits| each(ledger, limits, find),
};

const MINIMUM: Threshold = Threshold {
    name: "share",
    unit: ThresholdUnit::Percent,
    default: 90.0,
    meaning: "share of the device's memory from which it is reported",
};

fn find(device: &MemoryOfDevice<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let capacity = device.ledger.devices.get(&device.key).map_or(Bytes::ZERO, |it| it.total_memory);
    let reserved = device.memory.reserved_peak;
    let share = reserved.as_f64() / capacity.as_f64();
    let Some((place, _)) =
        device.heaviest().filter(|_| Bytes::ZERO < capacity && limits.get(&MINIMUM) <= share)
    else {
        return Vec::new();
    };
    let draft = MemoryDraft {
        kind: MemoryKind::NearLimit { reserved, capacity },
        share,
        severity: None,
        remedy: "A slightly larger batch fails, and the allocator has to give memory back before that. This line holds the \
                 most at the peak: begin here.",
    };
    vec![device.finding(&RULE, place, draft)]
}
