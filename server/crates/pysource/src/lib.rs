//! What a Python file says, as plain data.
//!
//! *Owns*: the functions, loops and statements of a file ([`Module`]), what of a function can leave a trace and in which
//! order ([`flow`]), which edits make it faster and are provably what they say ([`edits`], [`Move`]), what comments say
//! to Perfline ([`Directive`]), the cells of notebooks ([`notebook_cells`], [`text_cells`]), byte offsets and positions ([`LineIndex`]),
//! carrying line numbers from the text that was recorded to the text as it is now ([`LineMap`]), what that text may have been
//! ([`arranged`]), and which statements of two versions of a program are the same ones ([`correspondence`]). This is the only user of the Python parser, whose types end
//! here.
//!
//! *Never*: reads a file by itself, knows a recording, fails or panics on a text, however broken it is.
//!
//! *The tests that say so*: the dumps in `module.rs`, the property tests in `line_index.rs` and `line_map.rs`,
//! `robustness.rs`, the texts in `edits/tests/` and `moves/tests/`, and `tests/flow.rs` (against what Python was seen to
//! do); `tests/tests/tidy/` holds the dependency list.
//!
//! Lines are 1-based everywhere, as in recordings and in Python. `\n`, `\r\n` and a lone `\r` end a line, as in Python
//! and in the language server protocol; a text has one line more than it has line ends, so that an editor's last,
//! empty line is one too.

mod alignment;
mod arrangement;
mod code_cells;
mod collect;
mod correspondence;
mod directives;
pub mod edits;
pub mod flow;
mod flows;
mod line_index;
mod line_map;
mod line_tokens;
mod module;
mod moves;
mod notebook;
mod repair;
#[cfg(test)]
mod robustness;
mod semantic;
mod stack_guard;
mod statements;
mod syncs;
mod text_cells;
mod values;

pub use arrangement::{RecordedCall, arranged};
pub use code_cells::{cell_path, code_cells, split_cell_path, split_text_cell_path};
pub use correspondence::{
    Correspondence, MatchStatus, MatchedLines, NamedText, StatementLines, correspondence,
    similar_texts,
};
pub use directives::Directive;
pub use flows::flows;
pub use line_index::{Encoding, LineIndex, Position};
pub use line_map::{Carried, LineMap};
pub use module::{Arity, ClassFacts, Decoration, Function, FunctionKind, Loop, LoopKind, Module};
pub use moves::{Destination, Move};
pub use notebook::{NotebookCell, cell_hash, notebook_cells, recorded_cell, texts_of_cell};
pub use syncs::{PossibleSync, SyncKind};
pub use text_cells::{
    CellText, TextCell, code_among_prose, lines_of_text_cell, may_have_text_cells, text_cells,
};
pub use values::AssignedValue;
