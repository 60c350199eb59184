//! Idle time of devices, by cause.

use ledger::Ns;
use recorded::IdleCause;

/// Idle time, and what of it has which cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Idle {
    pub(crate) time: Ns,
    pub(crate) host: Ns,
    pub(crate) kernel: Ns,
    /// In gaps that began while the thread that launched what ended them was in a sync.
    pub(crate) after_wait: Ns,
}

impl Idle {
    pub(crate) fn add(&mut self, time: Ns, cause: IdleCause, is_after_wait: bool) {
        self.time += time;
        self.after_wait += if is_after_wait { time } else { 0 };
        match cause {
            IdleCause::Host => self.host += time,
            IdleCause::Kernel => self.kernel += time,
            IdleCause::Other => {}
        }
    }
}
