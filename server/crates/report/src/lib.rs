//! What a recording says, as data and on paper.
//!
//! *Owns*: the report (sections of typed cells, [`Report`]) with its findings, charts and limits; the annotated source,
//! the device memory, the pages of the rules; the flame graph, the timeline, memory over time, ranks by step and the roofline; the machine-readable contracts `perfline.diff/1`, `perfline.flame/1`, `perfline.lines/1`, `perfline.memory/1`,
//! `perfline.memoryTimeline/1`, `perfline.rankSteps/1`, `perfline.report/1`, `perfline.roofline/1` and `perfline.timeline/1`; and the printers: text for a terminal, HTML, SVG, JSON, CSV, tables with typed columns as Arrow and Parquet. The terminal and the language server
//! print the same values.
//!
//! *Never*: reads a file (source text comes through [`SourceTexts`]); knows stdout, how options are parsed, or LSP (it names options in what it advises);
//! formats a number (that is `metrics::numbers`).
//!
//! *The tests that say so*: beside each module, from a ledger built by hand to the text that is printed;
//! `tests/tests/tidy/` holds the dependency list.

pub mod annotate;
pub mod budgets;
pub mod diff;
pub mod explain;
pub mod export;
pub mod flame;
pub mod hang;
pub mod html;
pub mod json;
pub mod lines;
pub mod memory;
pub mod memory_timeline;
pub mod rank_steps;
pub mod roofline;
pub mod show;
pub mod tables;
pub mod terminal;
pub mod text;
pub mod timeline;

mod build;
mod checks;
mod critical_path;
mod data_tables;
mod fields;
mod filter;
mod findings;
mod frame_table;
mod key_figures;
mod limits;
mod model;
mod part;
pub mod ranks;
mod recording;
mod run_summary;
mod summary;
mod suppression;
#[cfg(test)]
mod testing;
mod timing;
mod verdict;

pub use build::{ReportOptions, build, build_shown};
pub use checks::{faults, has_losses, inputs_to_check, losses};
pub use data_tables::{DataOptions, DataTable};
pub use filter::{CodeFilter, FilePattern, FunctionPattern, StackFilter};
pub use limits::Limit;
pub use model::{
    Align, Bar, Bottleneck, Cell, CellValue, Chart, Column, Figure, HeatLayer, HeatMap, Level,
    Note, Place, Report, ReportedFinding, Section, SideLine, SideLines, SideRow, SourcePair,
    Subject, Summary, Unit, Verdict,
};
pub use part::RecordingPart;
pub use recording::{PresentText, Recording, SourceTexts};
pub use stack_books::TrainingPhase;
pub use timing::timing;
