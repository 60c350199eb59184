//! Why a device was idle.

use ledger::Ns;

/// A gap between two events of a device that is shorter than this is what devices need from one to the next, if the second
/// was launched in time. HTA has the same default (`consecutive_kernel_delay`; it says nanoseconds, but compares with
/// the microseconds of traces).
const KERNEL_GAP: Ns = 30_000;

/// Why a device was idle: HTA's classes of idle time, for gaps over all streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdleCause {
    /// What ended the gap had not been launched when it began.
    Host,
    /// It had been launched, and the gap is short.
    Kernel,
    /// It had been launched, and waited for something else; or its launch is not known.
    Other,
}

impl IdleCause {
    /// Of the gap `start..end`, which was ended by something launched at `launched`.
    pub(crate) fn of(start: Ns, end: Ns, launched: Option<Ns>) -> Self {
        match launched {
            Some(launched) if start < launched => Self::Host,
            Some(_) if end - start < KERNEL_GAP => Self::Kernel,
            _ => Self::Other,
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes() {
        let rows = [
            ((100, 200, Some(101)), IdleCause::Host),
            ((100, 200, Some(100)), IdleCause::Kernel),
            ((100, 100 + KERNEL_GAP, Some(7)), IdleCause::Other),
            ((100, 101, None), IdleCause::Other),
        ];
        for ((start, end, launched), expected) in rows {
            assert_eq!(IdleCause::of(start, end, launched), expected);
        }
    }
}
