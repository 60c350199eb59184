//! Rule `gpu-idle`: a line during which the device has nothing to do.

use ledger::{Ledger, LineBooks, Ns};
use metrics::Scale;

use super::common::{WARNING, finding, host_time};
use super::detail::DeviceDetail;
use super::launched_by::{LaunchedBy, time_in_torch};
use crate::costly::{Costly, devices_per_rank, in_steps};
use crate::rule::{Area, MINIMUM, Rule, RuleLimits};
use crate::{Detail, Finding, Severity};

/// The rule.
pub(crate) static RULE: Rule = Rule {
    id: "gpu-idle",
    area: Area::Device,
    title: "The device idles while the host is here",
    summary: "The host does something else on the line while the device has nothing left to do.",
    severity: Severity::Information,
    trigger: "The device is idle for a large share of the step while the thread that launches its next work is on the line, and no rule that knows \
              the reason better (`hot-loop`, `launch-bound`, `dataloader`) has reported so. What a wait caused of it is reported by `sync`, on the line \
              that waits; what passed while the profiler itself worked (`prof.step()`) is left out.",
    measure: "Each gap between two events of a device, on all streams, is charged instant by instant to what the thread that launched the event \
              at its end was doing. Its class is HTA's, over all streams: *host wait* if that event was launched after the gap had begun, \
              *kernel wait* if it had been launched and the gap is shorter than 30 µs, else *other*. The cost is a mean over the devices of a rank.",
    thresholds: &[MINIMUM, WARNING],
    remedy: "For host wait on a line that mostly works in Python or on the CPU, move that work away from the thread that launches (workers of a \
             `DataLoader`, another thread), or do it while the device is busy. Where the line launches or is in PyTorch for most of its time, \
             there is nothing to move: a call of the model, the backward pass or an optimizer launches fewer kernels when it is compiled, \
             captured in a graph or fused; for a replay of a graph or `optimizer.zero_grad()` no remedy is given. For other, look for streams \
             that wait for each other, copies, and collectives.",
    before: "for batch in loader:\n    batch = tokenize(batch)          # the device waits\n    train_step(batch)",
    after: "loader = DataLoader(dataset, collate_fn=tokenize, num_workers=4)\nfor batch in loader:\n    train_step(batch)",
    sources: &[
        "[HTA: idle time breakdown](https://hta.readthedocs.io/en/latest/source/features/idle_time_breakdown.html)",
    ],
    limits: "Time before the first and after the last event of a device is no gap. What the thread was doing is not always why the device had \
             nothing to do.",
    find,
};

/// Share of the thread time of a line, waits left out, from which it does what another thread can do.
const MIN_MOVABLE: f64 = 0.5;

/// Time for a kernel up to which the line launches, whatever library it does so through.
const MAX_LAUNCH: Ns = Ns(500_000);

/// What to do about a line at which what was launched did not begin.
const OTHER_REMEDY: &str = "Work was launched and waited for something else: streams that wait for each other, copies, collectives.";

/// What to do about a line at which nothing is launched in time.
fn host_remedy(books: &LineBooks) -> &'static str {
    let host = host_time(books);
    let launches = i64::try_from(books.launching.launches).unwrap_or(i64::MAX);
    if host <= MAX_LAUNCH.saturating_mul(launches) {
        LaunchedBy::of(books).remedy()
    } else if MIN_MOVABLE * host.as_f64() <= (host - time_in_torch(books)).as_f64() {
        "Nothing is launched meanwhile. Move the work of this line away from the thread that launches (DataLoader workers, \
         another thread), or do it while the device is busy."
    } else {
        "Nothing is launched meanwhile, and the CPU is in PyTorch for most of that time."
    }
}

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let devices = devices_per_rank(ledger);
    let idle_lines = ledger.lines.iter().filter(|(_, books)| Ns::ZERO < books.gpu_idle);
    let findings = idle_lines.filter_map(|(place, books)| {
        let launching = books.launching;
        let elsewhere = launching.idle_after_wait + books.recording.idle;
        let idle = (books.gpu_idle - elsewhere).max(Ns::ZERO);
        let cost = in_steps(scale, idle, books, |step| step.gpu_idle) / devices;
        let host = (launching.idle_host - elsewhere).max(Ns::ZERO) / devices;
        let kernel = launching.idle_kernel / devices;
        let other = idle / devices - host - kernel;
        let detail = Detail::Device(DeviceDetail::GpuIdle { host, kernel, other });
        let draft = Costly::line(place, books, cost, detail, OTHER_REMEDY);
        let found = finding(&RULE, scale, limits, draft)?;
        // Which remedy it is takes a look at all that the line did, and few lines cost enough.
        let remedy = if kernel.max(other) <= host { host_remedy(books) } else { OTHER_REMEDY };
        Some(Finding { remedy, ..found })
    });
    findings.collect()
}
