//! Rule `comm-exposed`: collectives that no computation hides.

use std::collections::BTreeMap;

use ledger::{Ledger, LineKey, Ns};
use metrics::Scale;
use ranks::Comparison;

use super::common::{WARNING, finding};
use super::detail::DeviceDetail;
use crate::costly::{Costly, devices_per_rank};
use crate::rule::{Area, MINIMUM, Rule, RuleLimits};
use crate::{Detail, Finding, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "comm-exposed",
    area: Area::Distributed,
    title: "Communication is not hidden by computation",
    summary: "The device transfers or waits for other ranks, and computes nothing meanwhile.",
    severity: Severity::Information,
    trigger: "Collectives launched from the line run for a large share of the step while no other kernel runs on the device.",
    measure: "Device time of communication kernels (NCCL, RCCL) without the time during which a compute kernel ran on the same device, on the line \
              that launched them; a mean over the devices of a rank. Waiting for slower ranks is part of it; with the traces of several ranks, the message says how much.",
    thresholds: &[MINIMUM, WARNING],
    remedy: "Start collectives earlier and wait for them later (`async_op=True`; `DistributedDataParallel` and FSDP do it for gradients). \
             Communicate less: gradient accumulation under `no_sync()`, larger buckets, lower precision. If one rank is late, look for \
             what it waits for.",
    before: "loss.backward()\nfor p in model.parameters():\n    dist.all_reduce(p.grad)",
    after: "model = DistributedDataParallel(model)\nloss.backward()        # reduces while it computes",
    sources: &[
        "[HTA: overlap of communication and computation](https://hta.readthedocs.io/en/latest/source/features/communication_computation_overlap.html)",
    ],
    limits: "A single rank does not show whether a collective transferred or waited for another rank. gloo communicates on the host and \
             is not seen here.",
    find,
};

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let devices = devices_per_rank(ledger);
    let waits = waiting_shares(ledger);
    let findings = ledger.lines.iter().filter_map(|(place, books)| {
        let comm = books.comm / devices;
        let wait = waits.get(place).map(|share| Ns((comm.as_f64() * share) as i64));
        let detail = DeviceDetail::CommExposed { comm, wait };
        let draft = Costly::line(place, books, books.comm_exposed / devices, Detail::Device(detail), "Start collectives earlier and wait for them later (async_op=True; DistributedDataParallel and FSDP do it for gradients), \
             or communicate less: no_sync() while gradients accumulate, larger buckets, lower precision.",
        );
        finding(&RULE, scale, limits, draft)
    });
    findings.collect()
}

/// The share (of 1) of the collectives of each line that is waiting for other ranks, where they were matched.
fn waiting_shares(ledger: &Ledger) -> BTreeMap<LineKey, f64> {
    let mut lines: BTreeMap<LineKey, (f64, f64)> = BTreeMap::new();
    // Most recordings are of one rank, or of no line that communicates.
    if ledger.totals.comm == Ns::ZERO {
        return BTreeMap::new();
    }
    for it in Comparison::new(ledger).into_iter().flat_map(|it| it.lines) {
        let Some(line) = it.line else { continue };
        let (wait, all) = lines.entry(line).or_default();
        *wait += it.wait.as_f64();
        *all += it.wait.as_f64() + it.transfer.as_f64();
    }
    lines
        .into_iter()
        .filter(|(_, (_, all))| 0.0 < *all)
        .map(|(line, (wait, all))| (line, wait / all))
        .collect()
}
