//! What the rules found, in words: one file for each group of rules.

pub(crate) mod compiler;
pub(crate) mod device;
pub(crate) mod host;
pub(crate) mod memory;
pub(crate) mod ranks;
pub(crate) mod waits;

use insights::Finding;
use ledger::{Evidence, Ns};
use metrics::numbers::{duration, percent};

/// The mean per step of a sum that belongs to a finding; the sum where the recording has no steps.
pub(crate) fn per(finding: &Finding, sum: f64) -> f64 {
    match finding.steps {
        0 => sum,
        steps => sum / steps as f64,
    }
}

/// A time with what it is per: `4.8 ms per step`.
pub(crate) fn time(finding: &Finding, sum: Ns) -> String {
    let per_step = if finding.steps == 0 { "" } else { " per step" };
    format!("{}{per_step}", duration(per(finding, sum.as_f64())))
}

/// Where it happens, by how well that is known.
pub(crate) fn place(finding: &Finding) -> &'static str {
    match finding.evidence {
        Evidence::Exact => "here",
        Evidence::Inferred => "here (line inferred)",
        Evidence::Function => "somewhere in this function",
    }
}

/// ` (11.7 % of the step)`.
pub(crate) fn share(finding: &Finding) -> String {
    let of = if finding.cost_per_step.is_some() { "of the step" } else { "of the recording" };
    format!(" ({} {of})", percent(finding.share))
}
