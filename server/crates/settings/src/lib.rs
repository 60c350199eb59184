//! The settings, for editors and for the terminal: one table of them, and what an editor and the `perfline.toml` of a project
//! say (`docs/settings.md`).
//!
//! *Owns*: names, values and defaults of settings; which of two that say something goes before; how a `perfline.toml` is divided
//! into settings and a budget, and the line of each fault in it; what such a file, which may come with the code of a stranger,
//! must not say.
//!
//! *Never*: reads a file (`loader::project_file` does); knows what an option of the command line or the protocol of editors is.
//!
//! *The tests that say so*: beside each part; `server/tests/project_file.rs` with the program, `lsp/tests/project_file.rs` with
//! the language server.

mod document;
mod fault;
mod globs;
mod project_file;
mod read;
mod table;
mod values;

pub use document::{TomlDocument, TomlFault};
pub use fault::SettingFault;
pub use project_file::{ProjectFault, ProjectFile};
pub use read::{SectionValues, Settings};
pub use table::{SETTINGS, Setting, SettingChoice, SettingKind};
