//! What holds device memory, as text and as the contract `perfline.memory/1` (docs/memory.md).

mod chart;
mod json;
mod ranking;
#[cfg(test)]
mod tests;
mod text;

pub use json::write as write_json;
pub use text::write as write_text;
