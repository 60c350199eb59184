//! What the tests over several crates share.
//!
//! *Owns*: [`mod@reference`], the accounting of `docs/accounting.md` done slowly and obviously; [`builder`], a language for
//! small traces; [`anomalies`], which puts anomalies into them; [`mutants`], which puts faults into recordings; [`fixtures`],
//! the recordings of the repository.
//!
//! *Never*: is used outside tests; shares code with what it checks.
//!
//! *The tests that say so*: `tests/tidy/` (no crate may depend on this one), `tests/accounting.rs` (the reference
//! against numbers worked out by hand).

pub mod anomalies;
pub mod builder;
pub mod fixtures;
pub mod mutants;
pub mod random;
pub mod reference;
