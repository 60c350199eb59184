//! Device memory as data.

use ledger::DeviceMemory;

use crate::model::{Level, Note, ReportedFinding, Section, Summary};

/// What holds device memory.
#[derive(Debug, Clone)]
pub struct MemoryReport<'a> {
    /// What the recording is, and what is missing.
    pub summary: Summary,
    /// Devices, each with the requests that failed on it; then what is known by category, by rank.
    pub parts: Vec<MemoryPart<'a>>,
    /// What the rules found about memory.
    pub findings: Vec<ReportedFinding>,
}

/// A device, a request that failed, or the categories of a rank.
#[derive(Debug, Clone)]
pub struct MemoryPart<'a> {
    /// What it is.
    pub title: String,
    /// What follows the title. Begins with its separator, or is empty.
    pub extent: String,
    /// How much it matters.
    pub level: Level,
    /// What has to be known before the table.
    pub notes: Vec<Note>,
    /// The memory whose curve over time is drawn above the table.
    pub curve: Option<&'a DeviceMemory>,
    /// Who holds how much.
    pub table: Section,
    /// How many of the first columns of the table are shown however little room there is.
    pub n_needed: usize,
}
