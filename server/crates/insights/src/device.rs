//! Rules about what the device does: whether it is fed, filled, and used for what it is good at.

mod comm_exposed;
mod common;
mod detail;
mod first_step;
pub(crate) mod gpu_idle;
pub(crate) mod hot_loop;
pub(crate) mod launch_bound;
mod launched_by;
mod low_occupancy;
mod replayed_graph;
mod tensor_cores;

pub use detail::{DeviceDetail, Product};
pub use launch_bound::{LaunchBoundRun, launch_bound_run};

use crate::Rule;

/// The rules.
pub(crate) static RULES: [&Rule; 9] = [
    &hot_loop::RULE,
    &launch_bound::RULE,
    &gpu_idle::RULE,
    &low_occupancy::RULE,
    &tensor_cores::RULE,
    &tensor_cores::UNALIGNED,
    &comm_exposed::RULE,
    &first_step::RULE,
    &replayed_graph::RULE,
];

#[cfg(test)]
mod tests;
