//! Source with what each line costs beside it.

mod build;
mod model;
mod regions;
#[cfg(test)]
mod tests;
mod text;

pub use build::{Options, build};
pub use model::{Amount, Annotated, Cost, File, Line, Row};
pub use text::write as write_text;
