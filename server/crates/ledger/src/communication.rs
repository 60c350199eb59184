//! When each rank was in which collective: what ranks are compared by.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Bytes, LineKey, Ns, RankList};

/// The collectives of one rank.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RankCommunication {
    /// How many ranks the job has, where the recording says.
    pub world_size: Option<u32>,
    /// The machine, where the recording says; else empty.
    pub host: String,
    /// The process groups that the rank is in, where the recording lists them.
    pub groups: BTreeSet<GroupMembers>,
    /// When each step began and ended on the rank, since the Unix epoch by the clock of its host, as [`crate::Interval`] defines
    /// a step. A recording without steps has one, without a number.
    pub steps: BTreeMap<Option<u32>, TimeRange>,
    /// The collectives, by what they are and by the line that launched them.
    pub sites: BTreeMap<CollectiveSite, Vec<CollectiveCall>>,
}

/// From when until when something lasted, since the Unix epoch by the clock of a host.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct TimeRange {
    /// When it began.
    pub start: Ns,
    /// When it ended.
    pub end: Ns,
}

impl TimeRange {
    /// From when the first of both began until the last ended.
    #[must_use]
    pub fn until_end_of(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// What the collectives of one place have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct CollectiveSite {
    /// What is communicated.
    pub kind: CollectiveKind,
    /// Between whom.
    pub group: ProcessGroup,
    /// The size of the message as nccl-tests counts it: of all-gather the output, else the input of a rank. `None` where the
    /// recording does not say.
    pub bytes: Option<Bytes>,
    /// Whether a device ran it, not the host (gloo, MPI).
    pub is_on_device: bool,
    /// The line that amounts of its launch are charged to, where it is known.
    pub line: Option<LineKey>,
    /// Of what goes from one rank to one other: which end of it this is, where the recording says.
    pub message: Option<MessageEnd>,
}

/// One end of what goes from one rank to one other.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct MessageEnd {
    /// What the rank does.
    pub direction: Direction,
    /// The rank at the other end, by its number in the job.
    pub peer: u32,
    /// The tag that both ends name, where it is recorded. NCCL has none.
    pub tag: Option<i64>,
}

/// In which direction a message goes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum Direction {
    /// Away from the rank.
    Send,
    /// To the rank.
    Receive,
}

impl Direction {
    /// What the name of an operator, range or collective says: `c10d::recv_`, `gloo:send`, `nccl:send 0->1`.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        match (name.contains("send"), name.contains("recv")) {
            (true, false) => Some(Self::Send),
            (false, true) => Some(Self::Receive),
            _ => None,
        }
    }
}

/// A process group, as far as the recording names it.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct ProcessGroup {
    /// `Process Group Name`; empty where it is not recorded, as with gloo.
    pub name: String,
    /// `Process Group Ranks` as recorded; long lists are shortened by PyTorch.
    pub ranks: String,
    /// Its number of ranks; 0 where it is not recorded.
    pub size: u32,
}

impl ProcessGroup {
    /// How many ranks the group has. Where that is not recorded, it is taken for the group of all ranks, of which there are
    /// `world_size`.
    #[must_use]
    pub fn size_in(&self, world_size: Option<u32>) -> Option<u32> {
        if self.size == 0 { world_size } else { Some(self.size) }
    }
}

/// A process group with the ranks in it.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct GroupMembers {
    /// Its name, unique in the job.
    pub name: String,
    /// What it is for, which several groups may share (`default_pg`, `mesh_tp`); empty where it is not recorded.
    pub description: String,
    /// The ranks in it.
    pub ranks: RankList,
}

/// One collective on one rank. The order is that of time.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct CollectiveCall {
    /// When the rank began it, since the Unix epoch by the clock of its host.
    pub start: Ns,
    /// When it was done there.
    pub end: Ns,
    /// The step in which it was launched.
    pub step: Option<u32>,
    /// `Seq`: its number in the process group, where it is recorded.
    pub sequence: Option<u64>,
    /// When the rank stood still for it.
    pub blocked: Blocked,
}

/// The longest time during a collective in which its rank computes nothing, if that ends with the collective, or before that by a twentieth of its
/// duration at most. Compute are kernels that do not communicate, or, where no kernel is recorded, operators. Both times count from
/// the begin of the collective; they are equal where there is none.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct Blocked {
    /// When the rank stops computing.
    pub from: Ns,
    /// When it goes on.
    pub until: Ns,
}

impl Blocked {
    /// What of it lies before `end`.
    #[must_use]
    pub fn before(self, end: Ns) -> Self {
        Self { from: self.from.min(end), until: self.until.min(end) }
    }
}

/// What a collective does.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum CollectiveKind {
    /// Sums, and gives the sum to all.
    AllReduce,
    /// Gives the parts of all to all.
    AllGather,
    /// Sums, and gives each a part of the sum.
    ReduceScatter,
    /// Each gives each a part.
    AllToAll,
    /// One gives to all.
    Broadcast,
    /// Sums for one.
    Reduce,
    /// One gets the parts of all.
    Gather,
    /// One gives each a part.
    Scatter,
    /// Waits for all.
    Barrier,
    /// One gives to another: `send`, `recv`.
    PointToPoint,
    /// The recording does not say.
    Other,
}

impl CollectiveKind {
    /// What the name of an operator, range or kernel says: `c10d::allreduce_`, `gloo:all_reduce`, `_allgather_base`,
    /// `ncclKernel_AllReduce_RING_LL_Sum_float(…)`.
    #[must_use]
    pub fn of_name(name: &str) -> Self {
        let name: String =
            name.chars().filter(|it| *it != '_').map(|it| it.to_ascii_lowercase()).collect();
        let table = [
            ("allreduce", Self::AllReduce),
            ("allgather", Self::AllGather),
            ("reducescatter", Self::ReduceScatter),
            ("alltoall", Self::AllToAll),
            ("broadcast", Self::Broadcast),
            ("barrier", Self::Barrier),
            ("scatter", Self::Scatter),
            ("gather", Self::Gather),
            ("reduce", Self::Reduce),
            // `ncclKernel_SendRecv_…` is what all-to-all runs as, too.
            ("sendrecv", Self::Other),
            ("send", Self::PointToPoint),
            ("recv", Self::PointToPoint),
        ];
        table.iter().find(|(part, _)| name.contains(part)).map_or(Self::Other, |(_, kind)| *kind)
    }

    /// Stable name in machine-readable output, and what people call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::AllGather => "all_gather",
            Self::ReduceScatter => "reduce_scatter",
            Self::AllToAll => "all_to_all",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Barrier => "barrier",
            Self::PointToPoint => "point_to_point",
            Self::Other => "other",
        }
    }

    /// Whether it can end on no rank before it began on all.
    #[must_use]
    pub fn is_synchronising(self) -> bool {
        matches!(
            self,
            Self::AllReduce
                | Self::AllGather
                | Self::ReduceScatter
                | Self::AllToAll
                | Self::Barrier
        )
    }

    /// Whether it goes from one rank to one other.
    #[must_use]
    pub fn is_message(self) -> bool {
        self == Self::PointToPoint
    }

    /// Whether all ranks give messages of one size.
    #[must_use]
    pub fn has_equal_messages(self) -> bool {
        matches!(
            self,
            Self::AllReduce | Self::Broadcast | Self::Reduce | Self::Barrier | Self::ReduceScatter
        )
    }

    /// What bus bandwidth is of algorithm bandwidth between `ranks` ranks, by nccl-tests (`doc/PERFORMANCE.md`); `None` of
    /// what has no such factor.
    #[must_use]
    pub fn bus_factor(self, ranks: u32) -> Option<f64> {
        let ranks = f64::from(ranks);
        match self {
            Self::AllReduce => Some(2.0 * (ranks - 1.0) / ranks),
            Self::AllGather | Self::ReduceScatter | Self::AllToAll => Some((ranks - 1.0) / ranks),
            Self::Broadcast | Self::Reduce => Some(1.0),
            Self::Gather | Self::Scatter | Self::Barrier | Self::PointToPoint | Self::Other => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_communicated() {
        use CollectiveKind::*;
        let rows = [
            ("c10d::allreduce_", AllReduce),
            ("gloo:all_reduce", AllReduce),
            ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", AllReduce),
            ("_allgather_base", AllGather),
            ("nccl:_all_gather_base", AllGather),
            ("reduce_scatter_tensor_coalesced", ReduceScatter),
            ("c10d::alltoall_base_", AllToAll),
            ("gloo:scatter", Scatter),
            ("c10d::reduce_", Reduce),
            ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", Other),
            ("gloo:send", PointToPoint),
            ("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", Other),
        ];
        for (name, kind) in rows {
            assert_eq!(CollectiveKind::of_name(name), kind, "{name}");
        }
    }

    #[test]
    fn bus_bandwidth_is_that_of_nccl_tests() {
        assert_eq!(CollectiveKind::AllReduce.bus_factor(4), Some(1.5));
        assert_eq!(CollectiveKind::AllGather.bus_factor(4), Some(0.75));
        assert_eq!(CollectiveKind::Barrier.bus_factor(4), None);
    }
}
