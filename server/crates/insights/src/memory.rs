//! Rules over the memory of devices: what holds the peak, what grows, what is allocated over and over.
//!
//! They report only what a snapshot shows: growth needs steps, a failed request needs its event, saved activations need
//! the stacks of releases.

mod checkpoint;
mod churn;
mod detail;
mod device;
mod fragmentation;
mod leak;
mod limit;
mod peak_line;

pub use detail::{MemoryDetail, MemoryKind};

use crate::Rule;

/// The rules.
pub(crate) static RULES: [&Rule; 7] = [
    &leak::LEAK,
    &leak::RETAINED,
    &peak_line::RULE,
    &churn::RULE,
    &fragmentation::RULE,
    &limit::RULE,
    &checkpoint::RULE,
];

#[cfg(test)]
mod tests;
