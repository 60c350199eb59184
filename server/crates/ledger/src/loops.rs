//! What loops cost.

use std::collections::BTreeSet;

use crate::amount::Amount;
use crate::{Evidence, LineKey, Ns};

/// What a `for` or `while` statement of your code cost, with everything that was called from it.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LoopBooks {
    /// The function that the loop is in.
    pub function: String,
    /// How its lines are known: the weakest.
    pub evidence: Evidence,
    /// First line of the body, as recorded.
    pub first_line: u32,
    /// Last line of the body.
    pub last_line: u32,
    /// How often the body ran: the most calls, or operators, of a line that runs once in it.
    pub iterations: u64,
    /// Thread time in it. Threads that worked for it while its own one waited, as those of autograd do, are left out.
    pub time: Ns,
    /// Device time launched from it.
    pub cuda: Ns,
    /// Kernels launched from it.
    pub kernels: u64,
    /// Kernels launched from it by a runtime call of their own, and the time of these calls.
    pub launches: u64,
    /// See [`crate::Launching::launch_time`].
    pub launch_time: Ns,
    /// See [`crate::Launching::short`].
    pub short: u64,
    /// Time in it blocked waiting for a device.
    pub sync: Ns,
    /// Device idle time while it ran.
    pub gpu_idle: Ns,
    /// Of it, the part that followed waits: see [`crate::Launching::idle_after_wait`].
    pub idle_after_wait: Ns,
    /// Of it, the part during which the profiler itself worked.
    pub idle_recording: Ns,
    /// The loops that it ran in, directly or through calls.
    pub within: BTreeSet<LineKey>,
}

impl LoopBooks {
    pub(crate) fn merge(&mut self, other: &Self) {
        let Self {
            function,
            evidence,
            first_line,
            last_line,
            iterations,
            time,
            cuda,
            kernels,
            launches,
            launch_time,
            short,
            sync,
            gpu_idle,
            idle_after_wait,
            idle_recording,
            within,
        } = other;
        if self.function.len() < function.len() {
            self.function.clone_from(function);
        }
        self.evidence = self.evidence.max(*evidence);
        self.first_line = self.first_line.max(*first_line);
        self.last_line = self.last_line.max(*last_line);
        self.iterations.gain(*iterations);
        self.time.gain(*time);
        self.cuda.gain(*cuda);
        self.kernels.gain(*kernels);
        self.launches.gain(*launches);
        self.launch_time.gain(*launch_time);
        self.short.gain(*short);
        self.sync.gain(*sync);
        self.gpu_idle.gain(*gpu_idle);
        self.idle_after_wait.gain(*idle_after_wait);
        self.idle_recording.gain(*idle_recording);
        self.within.extend(within.iter().cloned());
    }
}
