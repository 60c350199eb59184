//! What holds device memory, as text and as the contract `perfline.memory/1` (docs/memory.md).

mod build;
mod chart;
mod json;
mod model;
mod ranking;
#[cfg(test)]
mod tests;
mod text;

pub use build::build;
pub use json::write as write_json;
pub use model::{MemoryPart, MemoryReport};
pub use text::write as write_text;
