//! Which process made a recording: what one writes from time to time is of one rank.

use profile::Ns;

use crate::open::Opened;
use crate::{InputKind, names};

/// The process that made a recording, as far as that is known before it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Process {
    /// By its machine and number, in a name of `tensorboard_trace_handler`.
    Named(String),
    /// By what the first events of a trace say.
    Recorded { host: String, pid: String, start: Ns, end: Ns },
}

impl Process {
    /// The one that made `input`, if its name or its first bytes say it.
    pub(crate) fn of(input: &Opened, kind: InputKind) -> Option<Self> {
        if let Some((process, _)) = names::process_and_time(&input.path) {
            return Some(Self::Named(process));
        }
        if kind != InputKind::Kineto || names::rank(&input.path).is_some() {
            return None;
        }
        let profile = input.head_profile();
        let host = &profile.host;
        let thread = profile.threads.get(host.thread.first()?.index())?;
        let ends =
            host.start.iter().zip(&host.duration).map(|(&start, &time)| start.saturating_add(time));
        Some(Self::Recorded {
            host: profile.meta.host.clone(),
            pid: profile.strings.get(thread.pid).to_owned(),
            start: profile.meta.base.saturating_add(*host.start.iter().min()?),
            end: profile.meta.base.saturating_add(ends.max()?),
        })
    }

    /// Whether both are one process. Processes of containers often have the same number, but no process records two traces at a time.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Named(one), Self::Named(two)) => one == two,
            (
                Self::Recorded { host, pid, start, end },
                Self::Recorded { host: host_2, pid: pid_2, start: start_2, end: end_2 },
            ) => (host, pid) == (host_2, pid_2) && (end <= start_2 || end_2 <= start),
            _ => false,
        }
    }
}
