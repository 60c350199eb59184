//! Whether a run keeps to its budget: `perfline check` (`docs/budgets.md`).

mod build;
mod sarif;
mod text;

pub use build::{BudgetCheck, ExceededLimit, LimitKind, build};
pub use sarif::write as write_sarif;
pub use text::write as write_text;
