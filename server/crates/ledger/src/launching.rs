//! How lines launched their kernels, and why a device was idle meanwhile.

use crate::Ns;
use crate::amount::Amount;

/// How the kernels of a line were launched, and why a device was idle meanwhile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Launching {
    /// Kernels that were launched by a runtime call of their own: not those of a graph.
    pub launches: u64,
    /// Time of these calls.
    pub launch_time: Ns,
    /// Of these kernels, those that ran shorter than the call that launched them.
    pub short: u64,
    /// Of [`crate::LineBooks::gpu_idle`], the part in gaps that began before the host launched what ended them.
    pub idle_host: Ns,
    /// Of it, the part in short gaps between kernels that were launched in time.
    pub idle_kernel: Ns,
    /// Of it, the part that waits caused: a thread that had not waited would have launched what ended the gap earlier. It
    /// counts to the lines that ran meanwhile.
    pub idle_after_wait: Ns,
    /// Device time of kernels of graphs that the line replays and that are on no lines of their own: nothing says which launched them.
    pub replayed: Ns,
}

impl Launching {
    pub(crate) fn merge(&mut self, other: &Self) {
        let Self {
            launches,
            launch_time,
            short,
            idle_host,
            idle_kernel,
            idle_after_wait,
            replayed,
        } = other;
        self.launches.gain(*launches);
        self.launch_time.gain(*launch_time);
        self.short.gain(*short);
        self.idle_host.gain(*idle_host);
        self.idle_kernel.gain(*idle_kernel);
        self.idle_after_wait.gain(*idle_after_wait);
        self.replayed.gain(*replayed);
    }
}
