//! Rules over anti-patterns of the host: patterns of events that attribution found on lines.
//!
//! Each says what the pattern cost by the recording, per step.

mod conv_bias;
mod cpu_fallback;
pub(crate) mod data_loader;
pub(crate) mod data_parallel;
mod each;
pub(crate) mod extra_copy;
mod for_loop_indexing;
mod foreach;
mod gc_pause;
mod graph_break;
pub(crate) mod h2d_copy;
pub(crate) mod optimizer;
pub(crate) mod python_overhead;
mod recompile;
mod zero_grad;

use crate::Rule;

/// The rules.
pub(crate) static RULES: [&Rule; 14] = [
    &data_loader::RULE,
    &h2d_copy::RULE,
    &extra_copy::RULE,
    &for_loop_indexing::RULE,
    &python_overhead::RULE,
    &optimizer::RULE,
    &foreach::RULE,
    &zero_grad::RULE,
    &conv_bias::RULE,
    &cpu_fallback::RULE,
    &graph_break::RULE,
    &recompile::RULE,
    &gc_pause::RULE,
    &data_parallel::RULE,
];

#[cfg(test)]
mod tests;
