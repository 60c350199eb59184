//! What the ranks of a run say together: `docs/accounting.md`, Several ranks.
//!
//! *Owns*: which collectives of the ranks are one (`matching`), which sends and receives are (`messages`), what their clocks differ by (`clocks`), how long each rank
//! waited for others and how long was transferred (`waits`), for whom (`waited_for`), which rank is late and which line differs there (`straggler`),
//! how much shorter a step of the job would be without (`replay`), what had to be done before a step could end (`critical_path`),
//! how the costs of a line lie around each other and what two ranks differ by (`spread`), and the tables by rank, by line and by collective
//! (`rank_summary`, `rank_steps`, `comparison`, `operations`).
//!
//! *Never*: formats a number, decides what is shown, looks at anything but the ledger.
//!
//! *The tests that say so*: beside each part, on ledgers made by hand; `tests/tests/ranks.rs` on recordings of which the late
//! rank is known.

mod clocks;
mod comparison;
mod critical_path;
mod matching;
mod messages;
mod operations;
mod rank_steps;
mod rank_summary;
mod replay;
mod spread;
mod straggler;
mod waited_for;
mod waits;

pub use clocks::{Clock, Clocks};
pub use comparison::{AlignedCollectives, Comparison, LineCommunication};
pub use critical_path::{CriticalPath, PathLine};
pub use matching::{Matched, Part, Route};
pub use operations::{Bandwidth, CommunicationOperation, operations};
pub use rank_steps::{RankStep, rank_steps};
pub use rank_summary::RankSummary;
pub use replay::JobReplay;
pub use spread::{LineDifference, Side, Spread, differences, median, ranks_of, times_by_rank};
pub use straggler::{Cause, CauseReason, Straggler};
pub use waits::Meeting;
