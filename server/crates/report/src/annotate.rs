//! Source with what each line costs beside it.

mod build;
mod model;
mod regions;
#[cfg(test)]
mod tests;
mod text;

pub use build::{AnnotateOptions, build, build_part, unknown_step, without_lines};
pub use model::{Annotated, AnnotatedFile, AnnotatedLine, AnnotatedRow, LineAmount, LineCost};
pub use text::write as write_text;
