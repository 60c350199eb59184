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
    /// `distributedInfo.world_size`.
    pub world_size: Option<u32>,
    /// `distributedInfo.backend`.
    pub backend: Option<String>,
    /// `with_stack`: whether stacks were asked for; `None` where the file does not say.
    pub with_stack: Option<bool>,
    /// `record_shapes`, likewise.
    pub record_shapes: Option<bool>,
    /// `profile_memory`, likewise.
    pub profile_memory: Option<bool>,
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
    /// `maxThreadsPerMultiprocessor`.
    pub max_threads_per_multiprocessor: u32,
    /// `warpSize`.
    pub warp_size: u32,
}
