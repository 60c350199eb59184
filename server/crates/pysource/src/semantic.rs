//! What the names of a file mean: the one place for scopes, bindings and imports, on which the flow of functions, the
//! edits, the moves and the possible waits build.
//!
//! - `scopes`: what has names of its own, numbered as [`crate::Module::functions`];
//! - `imports`: the names that imports bind, and the dotted paths that they stand for;
//! - `bindings`: what a name is bound to where a function uses it, for `flow`;
//! - `occurrences`: where each name of a file is used and bound, for `edits` and `moves`.

mod bindings;
mod imports;
mod occurrences;
mod scopes;

pub use bindings::Binding;
pub(crate) use bindings::{Bindings, is_imported, resolve};
pub(crate) use imports::{Imports, imported};
pub(crate) use occurrences::{FileNames, FoundStatement, Occurrence, OccurrenceKind};
pub(crate) use scopes::{Loops, ScopeCode, Scopes};
