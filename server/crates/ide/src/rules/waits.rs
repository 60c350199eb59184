//! Waits for the device, in words.

use insights::Finding;
use ledger::{LineKey, Ns};
use metrics::numbers::{count, duration};

use super::{per, place, share};

/// What the finding says, as one line of text. `name` names a line, where it still is.
pub(crate) fn message(
    finding: &Finding,
    waited_for: Option<&LineKey>,
    idle_after: Ns,
    name: impl Fn(&LineKey) -> Option<String>,
) -> String {
    let cost = duration(finding.cost_per_step.unwrap_or(finding.cost).as_f64());
    let per_step = if finding.cost_per_step.is_some() { " per step" } else { "" };
    let mut message =
        format!("{}: the CPU waits {cost}{per_step} {}", finding.rule, place(finding));
    let times = per(finding, finding.count as f64);
    let waited_for = match waited_for {
        Some(line) if *line == finding.place => Some("this line".to_owned()),
        Some(line) => name(line),
        None => None,
    };
    if times > 1.5 {
        message += &format!(", {} times", count(times));
        if waited_for.is_some() {
            message.push(',');
        }
    }
    if let Some(line) = waited_for {
        message += &format!(" for kernels of {line}");
    }
    if idle_after > Ns::ZERO {
        message += &format!("; the GPU then idles {}", duration(per(finding, idle_after.as_f64())));
    }
    message + &share(finding)
}
