//! Which process made a recording: what one writes from time to time is of one rank.

use ledger::TimeRange;

use crate::open::Opened;
use crate::recorded_at::recorded;
use crate::{InputKind, names};

/// The process that made a recording, as far as that is known before it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Process {
    /// By its machine and number, in a name of `tensorboard_trace_handler`.
    Named(String),
    /// By what the first events of a trace say.
    Recorded { host: String, pid: String, at: TimeRange },
}

impl Process {
    /// The one that made `input`, if its name says it or, of a trace whose name has no rank, its first bytes.
    pub(crate) fn of(input: &Opened, kind: InputKind, rank: Option<u32>) -> Option<Self> {
        if let Some((process, _)) = names::process_and_time(&input.path) {
            return Some(Self::Named(process));
        }
        if kind != InputKind::Kineto || rank.is_some() {
            return None;
        }
        let profile = input.head_profile();
        let thread = profile.threads.get(profile.host.thread.first()?.index())?;
        Some(Self::Recorded {
            host: profile.meta.host.clone(),
            pid: profile.strings.get(thread.pid).to_owned(),
            at: recorded(&profile)?,
        })
    }

    /// Whether both are one process. Processes of containers often have the same number, but no process records two traces at a time.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Named(one), Self::Named(two)) => one == two,
            (
                Self::Recorded { host, pid, at },
                Self::Recorded { host: host_2, pid: pid_2, at: at_2 },
            ) => (host, pid) == (host_2, pid_2) && (at.end <= at_2.start || at_2.end <= at.start),
            _ => false,
        }
    }
}
