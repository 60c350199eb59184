//! Which end of a message from one rank to one other an event is, and who is at the other end.
//!
//! PyTorch records the other end in three places, of which the first two are in `torch/csrc/profiler/util.cpp` (`saveNcclMeta`) and
//! `ProcessGroupNCCL.cpp` (`send`, `recv`): the arguments `Dst Rank` and `Src Rank`, which are numbers in the job; the
//! names of ranges, `nccl:send 0->1` and `nccl:recv 1<-0`, and the inputs of `c10d::send` and `c10d::recv_`, which are numbers in
//! the process group.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{Direction, MessageEnd, Ns, ProcessGroup};
use profile::{DeviceEventId, HostEventId, HostKind, Message, MessageId, Profile, StrId, ThreadId};

/// The end that the arguments of a kernel or of a `record_param_comms` name.
pub(crate) fn of_arguments(profile: &Profile, message: &Message) -> Option<MessageEnd> {
    let direction = Direction::of_name(text(profile, message.collective))?;
    let peer = match direction {
        Direction::Send => message.destination,
        Direction::Receive => message.source,
    };
    Some(MessageEnd { direction, peer: u32::try_from(peer).ok()?, tag: None })
}

/// The end that the name of the range around a launch says.
pub(crate) fn of_range(
    profile: &Profile,
    range: HostEventId,
    group: &ProcessGroup,
) -> Option<MessageEnd> {
    let name = profile.strings.get(profile.host.name[range.index()]);
    let direction = Direction::of_name(name)?;
    let arrow = if direction == Direction::Send { "->" } else { "<-" };
    let (_, peer) = name.rsplit_once(arrow)?;
    let peer = rank_in_job(profile, group, peer.trim().parse().ok()?)?;
    Some(MessageEnd { direction, peer, tag: None })
}

/// The end that the inputs of an operator name: tensors, process group, rank and tag. An operator that receives from any rank
/// (`c10d::recv_any_source_`) has no rank there.
pub(crate) fn of_operator(profile: &Profile, operator: HostEventId) -> Option<MessageEnd> {
    let host = &profile.host;
    let direction = match profile.strings.get(host.name[operator.index()]) {
        "c10d::send" => Direction::Send,
        "c10d::recv_" => Direction::Receive,
        _ => return None,
    };
    let inputs = *host.operators.concrete_inputs.get(host.detail_row(operator))?;
    let inputs: Vec<String> = serde_json::from_str(text(profile, inputs)).ok()?;
    let [_, _, peer, tag] = inputs.as_slice() else { return None };
    let peer = rank_in_job(profile, &ProcessGroup::default(), peer.parse().ok()?)?;
    Some(MessageEnd { direction, peer, tag: tag.parse().ok() })
}

/// The number in the job of the rank with a number in a process group. Where the group is not recorded, it is the rank that all
/// groups in question have there, if it is one and the same; where no groups are, the group is taken for that of all
/// ranks.
fn rank_in_job(profile: &Profile, group: &ProcessGroup, rank: u32) -> Option<u32> {
    let meta = &profile.meta;
    if meta.groups.is_empty() {
        return meta.world_size.is_none_or(|it| rank < it).then_some(rank);
    }
    let is_in_question = |name: &str| group.name.is_empty() || name == group.name;
    let groups = meta.groups.iter().filter(|it| is_in_question(&it.name));
    let ranks = groups.filter_map(|it| it.ranks.get(rank as usize).copied());
    // No rank communicates with itself.
    let mut ranks =
        ranks.filter(|it| Some(*it) != meta.rank).collect::<BTreeSet<u32>>().into_iter();
    ranks.next().filter(|_| ranks.next().is_none())
}

/// What `batch_isend_irecv` sends and receives in one kernel of NCCL: it is launched when all of it is registered, and has no
/// arguments itself (issue 194693 of pytorch/pytorch).
#[derive(Debug, Default)]
pub(crate) struct Batches(BTreeMap<DeviceEventId, Vec<(MessageId, MessageEnd)>>);

/// The launch of a kernel that communicates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KernelLaunch {
    pub(crate) thread: ThreadId,
    pub(crate) at: Ns,
    pub(crate) kernel: DeviceEventId,
}

/// What is registered and launched on a thread, in order of time.
#[derive(Debug, Clone, Copy)]
enum BatchStep {
    /// A `record_param_comms` that lasts until then; `message` is absent where it is of something else (`wait`).
    Registered {
        until: Ns,
        message: Option<(MessageId, MessageEnd)>,
    },
    Launched(DeviceEventId),
}

impl Batches {
    /// Those that kernels of `launches` run.
    pub(crate) fn new(profile: &Profile, launches: &[KernelLaunch]) -> Self {
        let (host, device) = (&profile.host, &profile.device);
        let mut found = Self::default();
        let has_arguments = |it: &KernelLaunch| device.message_of(it.kernel).is_some();
        if launches.iter().all(has_arguments) {
            return found;
        }
        let mut threads: BTreeMap<ThreadId, Vec<(Ns, BatchStep)>> = BTreeMap::new();
        for id in host.ids().filter(|it| host.kind[it.index()] == HostKind::Operator) {
            let Some(&message) = host.operators.message.get(host.detail_row(id)) else { continue };
            let Some(arguments) = device.message(message) else { continue };
            let message = of_arguments(profile, arguments).map(|end| (message, end));
            let step = BatchStep::Registered { until: host.end(id), message };
            let thread = threads.entry(host.thread[id.index()]).or_default();
            thread.push((host.start[id.index()], step));
        }
        for it in launches {
            let thread = threads.entry(it.thread).or_default();
            thread.push((it.at, BatchStep::Launched(it.kernel)));
        }
        for mut steps in threads.into_values() {
            steps.sort_by_key(|(at, _)| *at);
            found.add(&steps, |kernel| device.message_of(kernel).is_some());
        }
        found
    }

    fn add(&mut self, steps: &[(Ns, BatchStep)], has_arguments: impl Fn(DeviceEventId) -> bool) {
        let mut registered: Vec<(MessageId, MessageEnd)> = Vec::new();
        let mut open_until = Ns::MIN;
        let mut last = None;
        for &(at, step) in steps {
            match step {
                BatchStep::Registered { until, message } => {
                    match message {
                        Some(message) => registered.push(message),
                        None => registered.clear(),
                    }
                    open_until = until;
                    last = None;
                }
                // What is no batch is launched before the operator that registers it ends.
                BatchStep::Launched(kernel) if has_arguments(kernel) || at <= open_until => {
                    registered.clear();
                }
                BatchStep::Launched(kernel) if !registered.is_empty() => {
                    self.0.insert(kernel, std::mem::take(&mut registered));
                    last = Some(kernel);
                }
                // Of a batch in several kernels it is not known which one sends what.
                BatchStep::Launched(_) => {
                    if let Some(last) = last {
                        self.0.remove(&last);
                    }
                }
            }
        }
    }

    /// The messages that `kernel` sends and receives; empty where it is none that runs a batch of messages.
    pub(crate) fn messages<'a>(
        &self,
        profile: &'a Profile,
        kernel: DeviceEventId,
    ) -> Vec<(&'a Message, MessageEnd)> {
        let batch = self.0.get(&kernel).map_or(&[][..], Vec::as_slice);
        let message =
            |&(id, end): &(MessageId, MessageEnd)| Some((profile.device.message(id)?, end));
        batch.iter().filter_map(message).collect()
    }
}

/// The text behind a handle; empty for what is absent.
pub(crate) fn text(profile: &Profile, id: StrId) -> &str {
    id.get().map_or("", |id| profile.strings.get(id))
}

#[cfg(test)]
mod tests {
    use profile::RankGroup;

    use super::*;

    #[test]
    fn a_number_in_a_group_that_is_not_recorded_is_the_rank_that_all_groups_have_there() {
        let mut profile = Profile::default();
        profile.meta.rank = Some(2);
        profile.meta.world_size = Some(4);
        let unknown = ProcessGroup::default();
        let of = |profile: &Profile, rank| rank_in_job(profile, &unknown, rank);
        assert_eq!([of(&profile, 3), of(&profile, 4)], [Some(3), None], "that of all ranks");
        let group = |name: &str, ranks: &[u32]| RankGroup {
            name: name.to_owned(),
            ranks: ranks.to_vec(),
            ..RankGroup::default()
        };
        profile.meta.groups = vec![group("0", &[0, 1, 2, 3]), group("1", &[0, 2])];
        let found = [0, 1, 2, 3].map(|it| of(&profile, it));
        // Number 1 of the second group is the rank itself, number 2 of the first one is.
        assert_eq!(found, [Some(0), Some(1), None, Some(3)]);
        profile.meta.groups.push(group("2", &[1, 2]));
        assert_eq!(of(&profile, 0), None, "rank 0 or rank 1");
        let second = ProcessGroup { name: "2".to_owned(), ..ProcessGroup::default() };
        assert_eq!(rank_in_job(&profile, &second, 0), Some(1));
    }
}
