//! Cycles of a schedule whose names do not say that they are of one process: `prof.export_chrome_trace(f"trace_{prof.step_num}.json")`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ledger::Ns;
use profile::Profile;

use crate::panics::caught;
use crate::process::RecordedProcess;
use crate::{names, open};

/// How far a trace is read for its first step: behind all that was open when recording began, and the devices.
const MAX_BEFORE_STEP: usize = 4 << 20;

/// Between two cycles of one process lies at most so much time. Processes of containers often have the same number.
const MAX_PAUSE: Ns = Ns(3_600_000_000_000);

/// What the first events of each step are called, before its number.
const STEP: &[u8] = b"ProfilerStep#";

/// A trace that may be a cycle of a schedule.
pub(crate) struct RecordedCycle {
    path: PathBuf,
    rank: Option<u32>,
    process: RecordedProcess,
}

impl RecordedCycle {
    /// Of a trace with these first events. What the handler of PyTorch wrote says by its name which process it is of.
    pub(crate) fn of(path: &Path, rank: Option<u32>, head: &Profile) -> Option<Self> {
        if names::process_and_time(path).is_some() {
            return None;
        }
        Some(Self { path: path.to_owned(), rank, process: RecordedProcess::of(head)? })
    }

    /// Whether `next` may be a later cycle of the process that this is of, by what both say of when they were recorded.
    fn may_precede(&self, next: &Self) -> bool {
        let pause = next.process.at.start.saturating_sub(self.process.at.end);
        self.process.is_same(&next.process) && pause <= MAX_PAUSE
    }

    /// The first step that was recorded.
    fn first_step(&self) -> Option<u32> {
        let read = || Ok(open::found(&self.path)?.first_bytes(MAX_BEFORE_STEP));
        first_step(&caught(&self.path, read).ok()?)
    }
}

/// Of each process that recorded several cycles, a name for it with the places of its files: those with names that are alike, one after
/// the other, with higher steps in later ones. So a trace that an earlier run left is none of them.
pub(crate) fn cycles_of_processes<'a>(
    files: impl Iterator<Item = (usize, &'a RecordedCycle)>,
) -> Vec<(String, Vec<usize>)> {
    let mut alike: BTreeMap<_, Vec<(usize, &RecordedCycle)>> = BTreeMap::new();
    for (place, file) in files {
        let RecordedProcess { host, pid, .. } = &file.process;
        let key = (file.path.parent(), names::cycle_key(&file.path), file.rank, host, pid);
        alike.entry(key).or_default().push((place, file));
    }
    let mut processes = Vec::new();
    for mut files in alike.into_values().filter(|it| 1 < it.len()) {
        files.sort_by_key(|(_, it)| it.process.at.start);
        let steps: Vec<Option<u32>> = files.iter().map(|(_, it)| it.first_step()).collect();
        let with_steps: Vec<_> = files.into_iter().zip(steps).collect();
        let chains = with_steps.chunk_by(|((_, one), step), ((_, next), next_step)| {
            step.is_some() && step < next_step && one.may_precede(next)
        });
        for chain in chains.filter(|it| 1 < it.len()) {
            let places: Vec<usize> = chain.iter().map(|((place, _), _)| *place).collect();
            processes.push((format!("cycles {}", processes.len()), places));
        }
    }
    processes
}

/// The number of the first step that is named in the begin of a trace.
fn first_step(bytes: &[u8]) -> Option<u32> {
    let at = bytes.windows(STEP.len()).position(|it| it == STEP)?;
    let number = &bytes[at + STEP.len()..];
    let end = number.iter().position(|it| !it.is_ascii_digit())?;
    std::str::from_utf8(&number[..end]).ok()?.parse().ok()
}
