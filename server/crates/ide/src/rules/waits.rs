//! Waits for the device, in words.

use insights::Finding;
use ledger::{LineKey, Ns};
use metrics::numbers::{count, duration};

use super::{per, place, share, time};

/// What the finding says, as one line of text. `name` names a line, where it still is.
pub(crate) fn message(
    finding: &Finding,
    waited_for: Option<&LineKey>,
    waited: Ns,
    name: impl Fn(&LineKey) -> Option<String>,
) -> String {
    let mut message =
        format!("{}: the CPU waits {} {}", finding.rule, time(finding, waited), place(finding));
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
    let won = finding.cost_per_step.unwrap_or(finding.cost).as_f64();
    if won < per(finding, waited.as_f64()) {
        message += &format!("; without it the GPU idles up to {} less", duration(won));
    }
    message + &share(finding)
}
