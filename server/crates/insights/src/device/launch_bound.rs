//! Rule `launch-bound`: kernels that take longer to launch than to run.

use ledger::{Ledger, Ns};
use metrics::Scale;

use super::common::{MINIMUM, WARNING, finding, host_time};
use super::detail::DeviceDetail;
use crate::costly::{Costly, devices_per_rank, in_steps};
use crate::rule::{Area, Rule, RuleLimits, Threshold, ThresholdUnit};
use crate::{Detail, Finding, Severity};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    id: "launch-bound",
    area: Area::Device,
    title: "Kernels take longer to launch than to run",
    summary: "The line launches kernels that are over before the next one is launched, so that the device waits for the host between them.",
    severity: Severity::Information,
    trigger: "A line launches many kernels, the host needs more time for one of them than it runs, and the device is idle meanwhile \
              because nothing was launched.",
    measure: "The host's time for a kernel is the thread time of the line by its kernels, waits left out; where several threads work for \
              the line, that of the busiest. The cost is the idle time of the device while the line ran, in gaps that were ended by something \
              launched after they had begun, without what a wait caused of them or passed while the profiler itself worked; a mean over the devices of a rank.",
    thresholds: &[MINIMUM, WARNING, KERNELS, HOST],
    remedy: "Launch fewer and larger kernels: `torch.compile` fuses them, a CUDA graph launches all in one call \
             (`mode=\"reduce-overhead\"`), larger batches give each more to do; optimizers take `fused=True` or `foreach=True`.",
    before: "def gelu(x):\n    return 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x**3)))",
    after: "@torch.compile\ndef gelu(x):\n    return 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x**3)))",
    sources: &[
        "[HTA: CUDA kernel launch statistics](https://hta.readthedocs.io/en/latest/source/features/cuda_kernel_launch_stats.html)",
    ],
    limits: "Recording makes the host slower (stacks most of all) and the device not, so that this shows more than a run without the \
             profiler has. Kernels of CUDA graphs have no launch of their own and are left out.",
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
        if !is_many || !is_launching || host <= cuda {
            return None;
        }
        let (kernels, short) = (books.kernels, launching.short);
        let detail = DeviceDetail::LaunchBound { kernels, cuda, host, short };
        let draft = Costly::line(place, books, cost, Detail::Device(detail), "Launch fewer and larger kernels: torch.compile fuses them, a CUDA graph (mode=\"reduce-overhead\") launches all in \
             one call, larger batches give each more to do.",
        );
        finding(&RULE, scale, limits, draft)
    });
    findings.collect()
}
