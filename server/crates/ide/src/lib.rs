//! What an editor shows, as plain data: hints, lenses, hovers, diagnostics, actions, heat, hot lines, details.
//!
//! *Owns*: all wording; what is notable; where a recorded line is in the text as
//! it is now.
//!
//! *Never*: has a type of a protocol, or one of the Python parser in a result; reads a file; keeps anything.
//!
//! *The tests that say so*: beside each feature, with hints drawn into the source text; `tests/tests/tidy/` holds
//! the dependency list.
//!
//! Places are 1-based lines and byte offsets of the text in [`PlacedSource::text`].

mod actions;
mod baseline;
mod by_rank;
mod callees;
mod critical_path;
mod details;
mod diagnostics;
mod explain;
mod format;
mod generated;
mod heat;
mod hints;
mod hot;
mod hover;
mod kernel_rows;
mod lenses;
mod line_name;
mod markdown;
mod memory;
mod place;
mod possible;
mod rules;
mod scale;
mod sections;
mod shown;
mod status;
mod triton;
mod view;

#[cfg(test)]
mod testing;

pub use actions::{Action, Edit, actions, diagnostics_on};
pub use baseline::{Baseline, BaselineDifference};
pub use callees::module_pattern;
pub use critical_path::{on_critical_path, path_parts, rank_shares};
pub use details::{
    AllocationRow, BookTables, CallRow, Details, KernelRow, LineFigure, LineRow, NUMBERS,
    OperatorRow, ReplayRow, StepRow, details,
};
pub use diagnostics::{Diagnostic, RelatedLine, current_messages, diagnostics, finding_message};
pub use explain::{explanation, rule_list};
pub use format::{HintFormat, placeholders};
pub use heat::{Heat, HeatLine, Scope, heat};
pub use hints::{Hint, hints, tooltips};
pub use hot::{CurrentLine, HotLine, HotRest, HotSum, hot_lines, hot_quantity, hot_rest, hot_sums};
pub use hover::{Hover, HoverText, RunKnowledge, hover};
pub use lenses::{Lens, lenses};
pub use markdown::uri_reference;
pub use place::{LazyModule, PlacedSource, fits, read_later};
pub use possible::{possible_syncs, possible_syncs_recorded};
pub use rules::compiler::recompile_cause;
pub use rules::ranks::straggler as straggler_message;
pub use sections::{LineSection, RichText};
pub use status::{Coverage, coverage, summary, summary_of_nothing};
pub use view::{Charge, UnknownName, View, ViewMetric, ViewPart};

pub use metrics::{Period, Unit};

pub use ranks::CriticalPath;

pub use insights::{Finding, Rule, Severities, Severity, Thresholds, rule, rules};
