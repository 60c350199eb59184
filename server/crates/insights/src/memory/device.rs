//! What the rules over memory share.

use ledger::{Bytes, DeviceKey, DeviceMemory, Evidence, Ledger, LineKey, LineMemory, Ns};

use super::detail::{MemoryDetail, MemoryKind};
use crate::rule::{Rule, RuleLimits};
use crate::{Detail, Finding, Severity};

/// What `rule` finds on each device.
pub(super) fn each(
    ledger: &Ledger,
    limits: &RuleLimits<'_>,
    rule: impl Fn(&MemoryOfDevice<'_>, &RuleLimits<'_>) -> Vec<Finding>,
) -> Vec<Finding> {
    let devices = ledger.memory.iter().map(|(&key, memory)| MemoryOfDevice { ledger, key, memory });
    devices.flat_map(|device| rule(&device, limits)).collect()
}

/// One device.
pub(super) struct MemoryOfDevice<'a> {
    pub(super) ledger: &'a Ledger,
    pub(super) key: DeviceKey,
    pub(super) memory: &'a DeviceMemory,
}

impl MemoryOfDevice<'_> {
    /// The line with the most bytes at the peak.
    pub(super) fn heaviest(&self) -> Option<(&LineKey, &LineMemory)> {
        let lines = self.memory.lines.iter().filter(|(_, it)| it.peak > Bytes::ZERO);
        lines.max_by_key(|&(line, it)| (it.peak, std::cmp::Reverse(line)))
    }

    /// `bytes` as a share of the peak.
    pub(super) fn of_peak(&self, bytes: Bytes) -> f64 {
        bytes.as_f64() / self.memory.peak.max(Bytes(1)).as_f64()
    }

    pub(super) fn finding(
        &self,
        rule: &'static Rule,
        place: &LineKey,
        draft: MemoryDraft,
    ) -> Finding {
        let books = self.memory.lines.get(place);
        Finding {
            rule: rule.id,
            place: place.clone(),
            function: books.map(|it| it.function.clone()).unwrap_or_default(),
            evidence: Evidence::Exact,
            severity: draft.severity.unwrap_or(rule.severity).capped(draft.kind.is_small()),
            cost: Ns::ZERO,
            cost_per_step: None,
            count: books.map_or(0, |it| it.allocs),
            steps: self.memory.steps.len() as u64,
            share: draft.share,
            detail: Detail::Memory(MemoryDetail { device: self.key, kind: draft.kind }),
            related: Vec::new(),
            remedy: draft.remedy,
        }
    }
}

/// What differs from rule to rule.
pub(super) struct MemoryDraft {
    pub(super) kind: MemoryKind,
    /// Of 1, of the peak.
    pub(super) share: f64,
    /// Where it is another than the rule's.
    pub(super) severity: Option<Severity>,
    pub(super) remedy: &'static str,
}
