//! Rules over several ranks: who is late, and whose work is more than that of the others.

mod common;
mod detail;
mod imbalance;
mod straggler;

pub use detail::RankDetail;

use crate::Rule;

/// The rules.
pub(crate) static RULES: [&Rule; 2] = [&straggler::RULE, &imbalance::RULE];

#[cfg(test)]
mod tests;
