//! Two runs beside each other: `perfline diff`.

mod build;
mod finding;
mod json;
mod markdown;
mod side_by_side;
mod text;

pub(crate) use build::name;
pub use build::{DiffReport, build, compare};
pub use comparison::Difference;
pub use json::write as write_json;
pub use markdown::write as write_markdown;
pub use side_by_side::source_pairs;
pub use text::write as write_text;
