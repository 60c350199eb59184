//! What is known of a recording that is not read.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::discover::look_at;
use crate::signature::side_cars;
use crate::{DiscoveredRun, InputKind, places};

/// What the first bytes of the files of a recording say, and the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordingDescription {
    /// What the files are, each kind once.
    pub kinds: Vec<InputKind>,
    /// How many ranks they are of; 1 where they name none.
    pub ranks: usize,
    /// Bytes on disk, with those of the files beside it.
    pub bytes: u64,
    /// Files beside the recording that belong to it: the exact callers of a trace.
    pub beside: Vec<PathBuf>,
}

/// Describes the recording that these files are; what cannot be looked at adds nothing.
pub(crate) fn describe(inputs: &[PathBuf]) -> RecordingDescription {
    let found: Vec<_> = inputs.iter().filter_map(|it| look_at(it)).collect();
    let kinds: BTreeSet<InputKind> = found.iter().map(|it| it.kind).collect();
    let ranks: BTreeSet<u32> = found.iter().filter_map(|it| it.rank).collect();
    let beside: Vec<PathBuf> =
        inputs.iter().flat_map(|it| side_cars(it)).filter(|it| places::is_file(it)).collect();
    RecordingDescription {
        kinds: kinds.into_iter().collect(),
        ranks: ranks.len().max(1),
        bytes: inputs.iter().chain(&beside).map(|it| places::size(it)).sum(),
        beside,
    }
}

/// The recording before another one among `runs`, which are in the order of [`crate::discover`]: the newest that is older.
pub(crate) fn before<'a>(
    runs: &'a [DiscoveredRun],
    inputs: &[PathBuf],
) -> Option<&'a DiscoveredRun> {
    let place = runs.iter().position(|it| it.inputs == inputs)?;
    runs.get(place + 1)
}
