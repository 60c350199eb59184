//! Which process made a recording: what one writes from time to time is of one rank.

use ledger::TimeRange;
use profile::Profile;

use crate::open::Opened;
use crate::recorded_at::recorded;
use crate::{InputKind, names};

/// The process that made a recording, as far as that is known before it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Process {
    /// By its machine and number, in a name of `tensorboard_trace_handler`.
    Named(String),
    /// By what the first events of a trace say.
    Recorded(RecordedProcess),
}

/// The process that the first events of a trace name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordedProcess {
    pub(crate) host: String,
    pub(crate) pid: String,
    /// When these events were.
    pub(crate) at: TimeRange,
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
        RecordedProcess::of(&input.head_profile()).map(Self::Recorded)
    }

    /// Whether both are one process.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Named(one), Self::Named(two)) => one == two,
            (Self::Recorded(one), Self::Recorded(two)) => one.is_same(two),
            _ => false,
        }
    }
}

impl RecordedProcess {
    /// That of the begin of a trace.
    pub(crate) fn of(head: &Profile) -> Option<Self> {
        let thread = head.threads.get(head.host.thread.first()?.index())?;
        Some(Self {
            host: head.meta.host.clone(),
            pid: head.strings.get(thread.pid).to_owned(),
            at: recorded(head)?,
        })
    }

    /// Whether both are one process. Processes of containers often have the same number, but no process records two traces at a time.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (&self.host, &self.pid) == (&other.host, &other.pid)
            && (self.at.end <= other.at.start || other.at.end <= self.at.start)
    }
}
