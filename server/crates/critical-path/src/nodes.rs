//! What paths are made of.

use ledger::Ns;
use profile::DeviceEventId;

/// What can be on a critical path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum PathTarget {
    /// A device event, to its end.
    Device(DeviceEventId),
    /// A thread, by its index, up to a time.
    Host(usize, Ns),
    /// A collective that the host ran, by its row in those of the recording.
    HostCollective(usize),
}

/// One of them, with what had to be done before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathNode {
    pub(crate) target: PathTarget,
    /// When what came before was done; the begin of the step where that is all that is known.
    pub(crate) from: Ns,
    /// When it began itself: the time from `from` is what a launch took, or a device needed.
    pub(crate) start: Ns,
    pub(crate) end: Ns,
    /// Whether it began soon after it was launched.
    pub(crate) is_launched: bool,
    /// The node before, by its row.
    pub(crate) before: Option<usize>,
}
