//! What the time of loading went to.

use std::path::PathBuf;
use std::time::Duration;

/// What the time of loading one trace or snapshot went to. Stages follow each other, except where it says otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Times {
    /// The file.
    pub path: PathBuf,
    /// Decompressed bytes read.
    pub bytes: u64,
    /// Events read.
    pub events: u64,
    /// From opening the file to its last row in the tables.
    pub reading: Duration,
    /// Within that, on any core and beside other work: in the disk and in decompression.
    pub unpacking: Duration,
    /// Finding and reading the sources.
    pub finding: Duration,
    /// Charging events to lines, with the inference of lines.
    pub attributing: Duration,
}

/// What it took to take over the ledger of an input that was kept when it was read before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptTime {
    /// The file.
    pub path: PathBuf,
    /// From looking for the ledger to having it, with the checks that it is still right.
    pub time: Duration,
}

/// What the time of loading a run went to. Inputs are loaded beside each other, so that their times can add up to more
/// than the total.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Timing {
    /// By input, in their order.
    pub inputs: Vec<Times>,
    /// The inputs that were not read because their ledgers were kept, in their order.
    pub kept: Vec<KeptTime>,
    /// Adding up the books of all ranks.
    pub merging: Duration,
    /// From beginning to end.
    pub total: Duration,
}
