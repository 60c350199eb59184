//! What the envelope of a trace says.

use crate::{Bytes, Ns};

/// What a trace says about itself outside `traceEvents`.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Meta {
    /// `baseTimeNanoseconds`: what to add to event times to get nanoseconds since the Unix epoch. 0 where `ts` is
    /// absolute.
    pub base: Ns,
    /// `distributedInfo.rank`.
    pub rank: Option<u32>,
    /// `distributedInfo.world_size`: how many ranks the job has.
    pub world_size: Option<u32>,
    /// `distributedInfo.pg_config`: the process groups that the rank is in.
    pub groups: Vec<RankGroup>,
    /// `host_name`; empty where the recording does not say.
    pub host: String,
    /// `profile_memory`: whether memory was recorded, so that every allocation is an event.
    pub has_memory: bool,
    /// The version of torch that recorded, as `(major, minor)`. A side-car says it, no trace does; `(2, 14)` where the
    /// trace holds what that and later versions write.
    pub torch: Option<(u32, u32)>,
    /// `deviceProperties`, in file order.
    pub devices: Vec<DeviceProperties>,
}

/// One entry of `deviceProperties`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct DeviceProperties {
    /// Device ordinal.
    pub id: i32,
    /// Marketing name.
    pub name: String,
    /// `totalGlobalMem` in bytes.
    pub total_memory: Bytes,
    /// `computeMajor`.
    pub compute_major: u32,
    /// `computeMinor`.
    pub compute_minor: u32,
    /// `numSms`.
    pub multiprocessors: u32,
}

/// One entry of `distributedInfo.pg_config`.
#[derive(Debug, Default, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RankGroup {
    /// `pg_name`: unique in the job.
    pub name: String,
    /// `pg_desc`, which several groups may share (`default_pg`, `mesh_tp`); empty where it is not recorded.
    pub description: String,
    /// The ranks in it.
    pub ranks: Vec<u32>,
}
