//! From the books of a line to what is shown: the quantities of a line with their units and names, means per step,
//! shares, and numbers as text.
//!
//! *Owns*: what "per step" is, and what a share is a share of, as `docs/accounting.md` defines them; how much a line
//! differs from step to step; the table of quantities; the text of a number with its unit.
//!
//! *Never*: decides what is notable; knows an editor, a terminal or a file.
//!
//! *The tests that say so*: beside each part; `server/tests/same_numbers.rs` holds terminal, JSON and editor against
//! each other on a recording of two ranks.

pub mod numbers;

mod evidence;
mod quantity;
mod scale;
mod step_spread;

use ledger::DeviceKey;
pub use ledger::Unit;

pub use evidence::{evidence_shares, mark, mark_in_text};
pub use quantity::Quantity;
pub use scale::{Period, Scale};
pub use step_spread::{StepSpread, median_of_sorted};

/// A device in words: `cuda:0`, with its rank where several are shown.
#[must_use]
pub fn device_name(device: DeviceKey, names_rank: bool) -> String {
    let rank = if names_rank { format!(" of rank {}", device.rank) } else { String::new() };
    format!("cuda:{}{rank}", device.device)
}
