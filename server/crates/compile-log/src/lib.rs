//! Bytes of the log of `torch.compile` (`TORCH_TRACE`, a file `dedicated_log_torch_trace_….log`), and of the files of its cache, to the
//! tables of [`profile::CompileLog`].
//!
//! *Owns*: the format of the log: records of one line with a JSON object, whose payload follows on lines that begin with a
//! tab; which records say from which lines of the user a kernel was made, what was compiled and why; how generated code names its kernels;
//! what is taken from files of the cache; which operations of a graph the calls in generated code compute, where nobody noted it.
//!
//! *Never*: reads a file or decompresses; panics; keeps what no table needs. Memory is bounded by the longest record that is
//! used and by the tables.
//!
//! *The tests that say so*: `tests.rs` (records of all versions, damage at each byte, random damage).

mod aot_graph;
mod cache_entry;
mod code;
mod dataflow;
mod graph_lines;
mod origins;
mod reader;
mod reasons;
mod record;
#[cfg(test)]
mod tests;
mod wrapper;

pub use cache_entry::CacheEntry;
pub use graph_lines::{CachedFile, log_by_graphs};
pub use reader::{CompileLogReader, looks_like_compile_log};
