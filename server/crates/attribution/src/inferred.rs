//! Inferred call sites as lines of the ledger.

use std::collections::BTreeMap;

use call_sites::CallSites;
use ledger::Evidence;
use line_stacks::{LineId, Lines};
use profile::HostEventId;
use rustc_hash::FxHashMap;

use crate::names::Names;

/// Inferred lines by host event.
#[derive(Debug, Default)]
pub(crate) struct Inferred {
    sites: CallSites,
    /// By place of `sites`.
    lines: Vec<LineId>,
    /// By the line of a function's definition: how many events several of its lines explain equally well, by those.
    pub(crate) readings: FxHashMap<LineId, BTreeMap<Vec<u32>, u64>>,
}

impl Inferred {
    pub(crate) fn new(sites: CallSites, names: &mut Names<'_>, lines: &mut Lines) -> Self {
        let of_place: Vec<LineId> = sites
            .places()
            .map(|place| {
                let file = names.file(place.file, lines);
                lines.line(file, place.line)
            })
            .collect();
        let mut readings: FxHashMap<LineId, BTreeMap<Vec<u32>, u64>> = FxHashMap::default();
        for (place, tied) in sites.tied() {
            // Two recorded paths may be the same file.
            let of_line = readings.entry(of_place[place.index()]).or_default();
            for (candidates, events) in tied {
                *of_line.entry(candidates.clone()).or_default() += events;
            }
        }
        Self { sites, lines: of_place, readings }
    }

    /// The line that made the call, or ran the operator, `event`, and how it is known.
    pub(crate) fn line(&self, event: HostEventId) -> Option<(LineId, Evidence)> {
        let (place, evidence) = self.sites.of_event(event)?;
        Some((self.lines[place.index()], evidence))
    }
}
