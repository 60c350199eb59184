//! What a line costs on one rank.

use crate::Ns;
use crate::amount::Amount;
use crate::portion::Portion;

/// What a line costs on one rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RankShare {
    /// Which; 0 where the recording names none.
    pub rank: u32,
    /// `cpu_own` there.
    pub host: Ns,
    /// Of it, the thread with most: threads of autograd work while the thread that called them waits.
    pub longest_thread: Ns,
    /// `cuda_own` there.
    pub device: Ns,
    /// Elements of the tensors that the outermost operators of the line took, where shapes are recorded.
    pub elements: u64,
}

/// Of the time that a rank was recorded for, the part below which what a line costs there is small.
const SMALL: i64 = 1_000;

impl RankShare {
    /// The time of one thread.
    #[must_use]
    pub fn of_thread(rank: u32, time: Ns) -> Self {
        Self { rank, host: time, longest_thread: time, ..Self::default() }
    }

    /// Whether it is less than a thousandth of the time `run` that the rank was recorded for, on threads and on devices.
    pub(super) fn is_small(&self, run: Ns) -> bool {
        self.host.max(self.device) < run / SMALL
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let Self { rank: _, host, longest_thread, device, elements } = other;
        self.host.gain(*host);
        self.longest_thread.gain(*longest_thread);
        self.device.gain(*device);
        self.elements.gain(*elements);
    }

    /// Part number `part` of `n` equal ones.
    pub(super) fn share(&self, n: usize, part: usize) -> Self {
        let Self { rank, host, longest_thread, device, elements } = *self;
        Self {
            rank,
            host: host.share(n, part),
            longest_thread: longest_thread.share(n, part),
            device: device.share(n, part),
            elements: elements.share(n, part),
        }
    }
}
