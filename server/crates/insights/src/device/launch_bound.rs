//! Rule `launch-bound`: kernels that take longer to launch than to run.

use ledger::{Ledger, Ns};
use metrics::Scale;

use super::common::{WARNING, finding, host_time};
use super::detail::DeviceDetail;
use super::launched_by::LaunchedBy;
use crate::costly::{Costly, devices_per_rank, in_steps};
use crate::rule::{Area, MINIMUM, Rule, RuleLimits, Threshold, ThresholdUnit};
use crate::{Detail, Finding, Severity};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    id: "launch-bound",
    area: Area::Device,
    title: "Kernels take longer to launch than to run",
    summary: "The line launches kernels that are over before the next one is launched, so that the device waits for the host between them.",
    severity: Severity::Information,
    trigger: "A line launches many kernels, the host needs more time for one of them than it runs, and the device is idle meanwhile \
              because nothing was launched. At least half of the kernels are over sooner than the call that launches them. Where the whole \
              run is launch-bound, the three lines that cost most are reported.",
    measure: "The host's time for a kernel is the thread time of the line by its kernels, waits left out; where several threads work for \
              the line, that of the busiest. The cost is the idle time of the device while the line ran, in gaps that were ended by something \
              launched after they had begun, without what a wait caused of them or passed while the profiler itself worked; a mean over the devices of a rank. \
              The summary of `perfline report` says of the whole run that it is launch-bound where kernels run for less than half of the steps, most of \
              the rest went to operators, runtime calls and Python, streams were idle for at least 80 % because the host was late, and \
              the host took at most 200 µs for a launch.",
    thresholds: &[MINIMUM, WARNING, KERNELS, HOST],
    remedy: "Launch fewer and larger kernels: `torch.compile` fuses them, a CUDA graph launches all in one call \
             (`mode=\"reduce-overhead\"`), larger batches give each more to do. For a backward pass, compile the forward code: its backward \
             pass is compiled with it. For the step of an optimizer, `fused=True` (Adam, AdamW, SGD, Adagrad) or `foreach=True`. In code that \
             is compiled already, `mode=\"reduce-overhead\"`. The finding says what fits the line.",
    before: "def gelu(x):\n    return 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x**3)))",
    after: "@torch.compile\ndef gelu(x):\n    return 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x**3)))",
    sources: &[
        "[HTA: CUDA kernel launch statistics](https://hta.readthedocs.io/en/latest/source/features/cuda_kernel_launch_stats.html)",
    ],
    limits: "Recording makes the host slower (stacks most of all) and the device not, so that this shows more than a run without the \
             profiler has. Kernels of CUDA graphs have no launch of their own and are left out. Code counts as compiled by its kernels of \
             Inductor and its compiled backward passes: where another backend of `torch.compile` ran, or a line is left with products of \
             matrices alone, it is taken for code that is not.",
    find,
};

const KERNELS: Threshold = Threshold {
    name: "kernels",
    unit: ThresholdUnit::Count,
    default: 10.0,
    meaning: "kernels in a step (in the recording, where it has no steps) from which a line is reported",
};

const HOST: Threshold = Threshold {
    name: "host",
    unit: ThresholdUnit::Micros,
    default: 500.0,
    meaning: "time of the host for a kernel up to which it is launching that takes it",
};

/// Share of the kernels that are over sooner than their launch, from which it is launching that they wait for.
const MIN_SHORT: f64 = 0.5;

/// Lines that are reported, at most, where the run as a whole is said to be launch-bound: more say the same again.
const MAX_LINES: usize = 3;

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let devices = devices_per_rank(ledger);
    let findings = ledger.lines.iter().filter_map(|(place, books)| {
        let (host, launching) = (host_time(books), books.launching);
        let is_many = limits.get(&KERNELS) <= scale.mean(launching.launches as f64);
        // Of as many kernels; copies and fills are in neither.
        let cuda = books.kernel_table.values().filter(|it| it.class != ledger::KernelClass::Memory);
        let cuda = cuda.map(|it| it.total).sum();
        let elsewhere = launching.idle_after_wait + books.recording.idle;
        let idle = (launching.idle_host - elsewhere).max(Ns::ZERO);
        let cost = in_steps(scale, idle, books, |step| step.gpu_idle) / devices;
        let is_launching = host.as_f64() <= limits.get(&HOST) * launching.launches as f64;
        let (kernels, short) = (books.kernels, launching.short);
        let is_short = MIN_SHORT * kernels as f64 <= short as f64;
        if !is_many || !is_launching || !is_short || host <= cuda {
            return None;
        }
        let detail = DeviceDetail::LaunchBound { kernels, cuda, host, short };
        let remedy = LaunchedBy::of(books).remedy();
        let draft = Costly::line(place, books, cost, Detail::Device(detail), remedy);
        finding(&RULE, scale, limits, draft)
    });
    findings.collect()
}

/// Of findings that are sorted, the costliest first, leaves out those that only repeat that the run is launch-bound. Other
/// rules have looked at them by then: what they explain is not reported in their place.
pub(crate) fn keep_costliest(findings: &mut Vec<Finding>, ledger: &Ledger) {
    if launch_bound_run(ledger).is_none() {
        return;
    }
    let mut n_lines = 0;
    findings.retain(|it| {
        n_lines += usize::from(it.rule == RULE.id);
        it.rule != RULE.id || n_lines <= MAX_LINES
    });
}

/// A run that is launch-bound as a whole: its devices are idle because their work is launched one small kernel at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaunchBoundRun {
    /// Share (of 1) of the steps during which a kernel ran.
    pub kernels: f64,
    /// Time of the host for one launch, in nanoseconds.
    pub host: f64,
    /// Kernels, copies and fills that were launched by a call of their own, in the recording.
    pub launches: u64,
    /// Of these, those that ran shorter than that call.
    pub shorter_than_call: u64,
}

/// Share of the steps from which kernels keep the device busy.
const MIN_BUSY: f64 = 0.5;

/// Share of the idle time of streams from which it is the host that is late.
const MIN_LATE: f64 = 0.8;

/// Time of the host for a launch from which it does something else than launching.
const MAX_HOST: f64 = 200_000.0;

/// Whether the run as a whole is launch-bound, all ranks together.
#[must_use]
pub fn launch_bound_run(ledger: &Ledger) -> Option<LaunchBoundRun> {
    let (mut time, mut kernel, mut host) = (Ns::ZERO, Ns::ZERO, Ns::ZERO);
    let (mut idle, mut late) = (Ns::ZERO, Ns::ZERO);
    let (mut launches, mut shorter_than_call) = (0_u64, 0_u64);
    for overview in ledger.overviews.values() {
        let parts = &overview.run.breakdown;
        time += overview.run.time;
        kernel += parts.kernel;
        host += parts.runtime + parts.cpu + parts.other;
        for device in overview.devices.values() {
            for stream in device.idle.values() {
                late += stream.host_wait;
                idle += stream.sum();
            }
            launches = launches.saturating_add(device.launches.count);
            shorter_than_call = shorter_than_call.saturating_add(device.launches.shorter_than_call);
        }
    }
    let kernels = kernel.as_f64() / time.as_f64();
    let for_one = host.as_f64() / launches as f64;
    let is_launch_bound = kernels < MIN_BUSY
        && MIN_BUSY * time.as_f64() <= host.as_f64()
        && MIN_LATE * idle.as_f64() <= late.as_f64()
        && for_one <= MAX_HOST;
    is_launch_bound.then_some(LaunchBoundRun {
        kernels,
        host: for_one,
        launches,
        shorter_than_call,
    })
}
