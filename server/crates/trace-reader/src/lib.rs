//! Kineto traces (Chrome JSON as `torch.profiler` exports it) to tables.
//!
//! *Owns*: everything that a trace's text can say or fail to say, in every spelling from PyTorch 1.8 on: the scanner,
//! the categories, exact times, threads, damage. Text comes in pieces of any size and is read where it lies; memory
//! goes by the rows and the distinct strings. The recorder's side-car ([`callers`]) and the stacks of CUDA graphs
//! ([`graph_stacks`]) are read here too.
//!
//! *Never*: does IO or decompresses; fails or panics, whatever the bytes are; drops anything without a warning that
//! says where (what is known and of no use aside: device-side annotations, counters, spans of the profiler itself);
//! interprets a name.
//!
//! *The tests that say so*: `tests/` of this crate: small traces and the tables that they become, every way to cut them
//! into pieces, every way to cut them off, damage.

pub mod callers;
mod category;
mod chunk;
mod envelope;
mod event;
pub mod graph_stacks;
mod keys;
mod list_begins;
mod number;
pub mod raw;
mod reader;
mod scan;
mod set_aside;
mod sniff;
mod speculative;
mod tables;
mod template;
mod text;

pub use chunk::ParsedChunk;
pub use list_begins::{TraceBegin, TraceLists};
pub use reader::{Trace, TraceReader};
pub use sniff::looks_like_trace;
pub use speculative::SpeculativeReader;
