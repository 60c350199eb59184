//! Rules over the ledger: what costs more than it has to, where, and what to do about it.
//!
//! *Owns*: the rules, their thresholds and remedies.
//!
//! *Never*: knows an editor, formats a number, looks at anything but the ledger.
//!
//! *The tests that say so*: beside each rule, from a ledger built by hand to its findings.

mod catalogue;
mod costly;
mod device;
mod distributed;
mod explained;
mod find;
mod finding;
mod host;
mod memory;
mod options;
mod possible_sync;
mod rule;
mod severity;
mod suppression;
mod sync;

pub use catalogue::{rule, rules};
pub use device::{DeviceDetail, LaunchBoundRun, Product, launch_bound_run};
pub use distributed::RankDetail;
pub use find::find;
pub use finding::{CompilerReason, Detail, Finding, Related};
pub use memory::{MemoryDetail, MemoryKind};
pub use options::{RuleOptions, Thresholds};
pub use rule::{Area, Rule, Threshold, ThresholdUnit};
pub use severity::{Severities, Severity};
pub use suppression::is_suppressed;
