//! Rule `hot-loop`: a Python loop that feeds the device too slowly.

use ledger::{Ledger, LineKey, LoopBooks, Ns};
use metrics::Scale;

use super::common::{WARNING, finding};
use super::detail::DeviceDetail;
use crate::costly::{Costly, devices_per_rank};
use crate::rule::{Area, MINIMUM, Rule, RuleLimits, Threshold, ThresholdUnit};
use crate::{Detail, Finding, Related, Severity};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    id: "hot-loop",
    area: Area::Device,
    title: "A Python loop feeds the device too slowly",
    summary: "The loop launches its kernels one by one, and the device waits for it most of the time.",
    severity: Severity::Information,
    trigger: "A `for` or `while` statement of yours runs its body several times in a step and launches a few kernels in each iteration, \
              and the device is idle for a large part of the time that the loop takes. A loop most of whose kernels are those of CUDA \
              graphs is left out. What waits caused of it counts to `sync` instead, and what passed while the profiler itself worked does not count. Of loops inside of each other the one is reported that holds most of the idle time.",
    measure: "Iterations are the calls of a line that runs once in the body. Time, kernels and idle time are those of everything \
              called from the loop; the time for one kernel is the time in the loop, waits left out, by its kernels. Kernels of CUDA graphs have no \
              launch of their own and are not counted; how long a kernel runs is a mean over all. The cost is the idle time of the device, a \
              mean over the devices of a rank.",
    thresholds: &[MINIMUM, WARNING, ITERATIONS, KERNELS, IDLE],
    remedy: "Do the iterations at once: stack what they work on and use batched operators, `torch._foreach_*` or `torch.vmap`. Where \
             they depend on each other, let `torch.compile` fuse the body, or replay it as a CUDA graph.",
    before: "for w, x in zip(weights, xs):\n    out.append(torch.relu(x @ w))",
    after: "out = torch.relu(torch.bmm(torch.stack(xs), torch.stack(weights)))",
    sources: &[
        "[PyTorch: accelerating with CUDA graphs](https://pytorch.org/blog/accelerating-pytorch-with-cuda-graphs/)",
    ],
    limits: "Needs the source, to know where loops are; comprehensions are left out. Where a loop only prepares work on the host while \
             the device would have nothing to do anyway, it is reported all the same.",
    find,
};

const ITERATIONS: Threshold = Threshold {
    name: "iterations",
    unit: ThresholdUnit::Count,
    default: 4.0,
    meaning: "iterations in a step (in the recording, where it has no steps) from which a loop is reported",
};

const KERNELS: Threshold = Threshold {
    name: "kernels",
    unit: ThresholdUnit::Count,
    default: 200.0,
    meaning: "kernels of an iteration up to which a loop is reported: with more, as in a loop over batches, its iterations are not what is small",
};

const IDLE: Threshold = Threshold {
    name: "idle",
    unit: ThresholdUnit::Percent,
    default: 30.0,
    meaning: "share of the loop's time during which the device is idle, from which a loop is reported",
};

/// Lines of the body that are reported, at most.
const MAX_RELATED: usize = 3;

/// Share of the kernels of a loop that have a launch of their own, from which launching is what it does: with less it
/// replays CUDA graphs.
const MIN_LAUNCHED: f64 = 0.5;

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let devices = devices_per_rank(ledger);
    let cost = |it: &LoopBooks| {
        ((it.gpu_idle - it.idle_after_wait - it.idle_recording) / devices).max(Ns::ZERO)
    };
    let is_hot = |(place, it): &(&LineKey, &LoopBooks)| {
        let iterations = scale.mean(it.iterations as f64);
        let is_idle = limits.get(&IDLE) * it.time.as_f64() <= cost(it).as_f64();
        limits.get(&ITERATIONS) <= iterations
            && it.iterations <= it.launches
            && it.launches as f64 <= limits.get(&KERNELS) * it.iterations as f64
            && MIN_LAUNCHED * it.kernels as f64 <= it.launches as f64
            && is_idle
            && (scale.n_steps() == 0 || is_in_steps(ledger, place, it))
    };
    let hot: Vec<_> = ledger.loops.iter().filter(is_hot).collect();
    let holds_most = |&(place, it): &(&LineKey, &LoopBooks)| {
        let mut inner = hot.iter().filter(|(_, inner)| inner.within.contains(place));
        !inner.any(|(_, inner)| cost(it) <= cost(inner) * 2)
    };
    let findings = hot.iter().copied().filter(holds_most).filter_map(|(place, it)| {
        let mean = it.cuda.as_f64() / it.kernels.max(1) as f64;
        let detail = DeviceDetail::HotLoop {
            iterations: it.iterations,
            time: it.time,
            sync: it.sync,
            kernels: it.launches,
            cuda: Ns((mean * it.launches as f64).round() as i64),
            launch_time: it.launch_time,
            launches: it.launches,
            idle: it.gpu_idle / devices,
        };
        let cost = cost(it);
        let draft = Costly {
            place,
            function: &it.function,
            evidence: it.evidence,
            cost,
            in_steps: cost,
            of: cost,
            count: it.iterations,
            detail: Detail::Device(detail),
            related: worst_lines(ledger, place, it),
            remedy: "Do the iterations at once: stacked inputs and batched operators, torch._foreach_*, torch.vmap. Where they \
                     depend on each other, torch.compile fuses the body, and a CUDA graph launches it in one call.",
        };
        finding(&RULE, scale, limits, draft)
    });
    findings.collect()
}

/// Whether the loop runs in the steps: a loop outside of them does not slow them down.
fn is_in_steps(ledger: &Ledger, place: &LineKey, it: &LoopBooks) -> bool {
    body(ledger, place, it).any(|(_, books)| !books.steps.is_empty())
        || ledger.lines.get(place).is_some_and(|books| !books.steps.is_empty())
}

fn body<'a>(
    ledger: &'a Ledger,
    place: &LineKey,
    it: &LoopBooks,
) -> impl Iterator<Item = (&'a LineKey, &'a ledger::LineBooks)> {
    let line = |line| LineKey { file: place.file.clone(), line };
    let lines = ledger.lines.range(line(it.first_line)..=line(it.last_line));
    lines.map(|(place, books)| (place, &**books))
}

/// The lines of the body that take most of its time.
fn worst_lines(ledger: &Ledger, place: &LineKey, it: &LoopBooks) -> Vec<Related> {
    let lines = body(ledger, place, it)
        .filter(|(line, books)| *line != place && books.cpu_total > Ns::ZERO);
    let mut lines: Vec<(&LineKey, Ns)> = lines.map(|(line, it)| (line, it.cpu_total)).collect();
    lines.sort_by_key(|&(line, time)| (std::cmp::Reverse(time), line));
    let related = lines.into_iter().take(MAX_RELATED).map(|(line, time)| Related {
        place: line.clone(),
        text: "takes {time} of the loop",
        time,
    });
    related.collect()
}
