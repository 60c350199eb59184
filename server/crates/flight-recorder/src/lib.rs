//! Dumps of PyTorch's flight recorder, one per rank, to what each rank communicated last and where ranks disagree.
//!
//! *Owns*: the layout of the dumps (pickle and JSON, torch 2.5 and later: version 2 of
//! `torch/csrc/distributed/c10d/FlightRecorder.hpp`), and what they say together: which ranks called other collectives than the
//! others, which have not called one that others wait in.
//!
//! *Never*: reads a file; says where the source of a frame lies or whose code it is.
//!
//! *The tests that say so*: `tests.rs`, on the recordings in `fixtures/flight_recorder`.

mod diagnosis;
mod dump;
#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests read recordings")]
mod tests;

pub use diagnosis::{GroupDiagnosis, GroupState, SharedCall, diagnose};
pub use dump::{
    CollectiveEntry, Error, FlightDump, FlightFrame, GroupProgress, looks_like_dump, read_dump,
};
