//! Findings that say no more than another one does.

use ledger::{Ledger, Ns, Pattern, PatternBooks};

use crate::{Finding, Rule, device, host, sync};

/// Share of a line's waits from which they are all said to be copies.
const MAX_WAITS: f64 = 0.9;

/// Whether the second finding says all that the first does.
type Covers = fn(&Finding, &Finding, &Ledger) -> bool;

/// Findings of the first rule are left out where one of the second covers them.
static EXPLAINED: [(&Rule, &Rule, Covers); 11] = [
    (&sync::RULE, &host::h2d_copy::RULE, waits_for_copies),
    // What need not be copied at all need not be pinned.
    (&host::h2d_copy::RULE, &host::extra_copy::RULE, is_extra),
    (&device::launch_bound::RULE, &device::hot_loop::RULE, is_in_loop),
    (&device::gpu_idle::RULE, &device::hot_loop::RULE, is_in_loop),
    (&device::gpu_idle::RULE, &device::launch_bound::RULE, is_same_line),
    (&device::gpu_idle::RULE, &host::data_loader::RULE, is_same_line),
    (&device::gpu_idle::RULE, &host::python_overhead::RULE, is_same_line),
    (&host::python_overhead::RULE, &device::launch_bound::RULE, is_half),
    (&host::python_overhead::RULE, &device::hot_loop::RULE, is_in_loop),
    (&host::python_overhead::RULE, &host::optimizer::RULE, is_half),
    (&host::python_overhead::RULE, &host::data_parallel::RULE, is_half),
];

/// Whether one of `others` says all that a finding does. Those may be explained themselves.
pub(crate) fn is_explained(finding: &Finding, others: &[Finding], ledger: &Ledger) -> bool {
    EXPLAINED.iter().filter(|(rule, ..)| rule.id == finding.rule).any(|(_, by, covers)| {
        others.iter().any(|other| other.rule == by.id && covers(finding, other, ledger))
    })
}

fn is_same_line(finding: &Finding, other: &Finding, _: &Ledger) -> bool {
    finding.place == other.place
}

/// Whether the other finding of the line has half of the cost or more.
fn is_half(finding: &Finding, other: &Finding, ledger: &Ledger) -> bool {
    is_same_line(finding, other, ledger) && finding.cost <= other.cost.saturating_mul(2)
}

/// Whether the line runs in the loop.
fn is_in_loop(finding: &Finding, other: &Finding, ledger: &Ledger) -> bool {
    let (line, header) = (&finding.place, &other.place);
    let of_loop = ledger.loops.get(header).map(|it| header.line..=it.last_line);
    line.file == header.file && of_loop.is_some_and(|lines| lines.contains(&line.line))
}

/// Whether what the line waits for is copies from pageable memory.
fn waits_for_copies(finding: &Finding, other: &Finding, ledger: &Ledger) -> bool {
    let copies = pattern(finding, ledger, Pattern::PageableCopy).map_or(Ns::ZERO, |it| it.wait);
    let waits = ledger.lines.get(&finding.place).map_or(Ns::ZERO, |it| it.sync);
    is_same_line(finding, other, ledger) && MAX_WAITS * waits.as_f64() <= copies.as_f64()
}

/// Whether every copy of the line is of something that was made for it.
fn is_extra(finding: &Finding, other: &Finding, ledger: &Ledger) -> bool {
    let extra = pattern(finding, ledger, Pattern::ExtraCopy).map_or(0, |it| it.count);
    is_same_line(finding, other, ledger) && finding.count <= extra
}

fn pattern<'a>(
    finding: &Finding,
    ledger: &'a Ledger,
    pattern: Pattern,
) -> Option<&'a PatternBooks> {
    ledger.lines.get(&finding.place)?.patterns.get(&pattern)
}
