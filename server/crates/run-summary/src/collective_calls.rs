//! The collectives of a recording, as ranks are compared by them: what was communicated, when, and what launched it.

use std::collections::BTreeMap;

use ledger::{Blocked, Bytes, CollectiveKind, KernelClass, MessageEnd, Ns, ProcessGroup};
use profile::{
    DeviceEventId, DeviceKind, HostEventId, HostKind, Message, Profile, StrId, ThreadId,
};
use recorded::{KernelClasses, Launches};
use serde_json::Value;

use crate::intervals::Intervals;
use crate::message_ends::{self, Batches, KernelLaunch, text};

/// A rank that goes on computing this share of the duration before a collective ends waited for its end: ranges on the host end late.
const BLOCKED_UNTIL: i64 = 20;

/// A rank that computes nothing for this share of the duration of a collective on the host waits for it, however late its range ends.
const BLOCKED_SHARE: i64 = 2;

/// What ran a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollectiveEvent {
    /// A kernel.
    Device(DeviceEventId),
    /// A range of a back end that communicates on the host (`gloo:all_reduce`), on a thread of its own. The other is the
    /// operator that launched it (`c10d::allreduce_`), where that is recorded.
    Host(HostEventId, Option<HostEventId>),
}

/// A collective of the recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedCollective {
    /// What ran it.
    pub event: CollectiveEvent,
    /// What is communicated.
    pub kind: CollectiveKind,
    /// Between whom.
    pub group: ProcessGroup,
    /// The size of the message, as [`ledger::CollectiveSite::bytes`] has it.
    pub bytes: Option<Bytes>,
    /// When it began, relative to the base of the recording.
    pub start: Ns,
    /// When it ended.
    pub end: Ns,
    /// When it was launched; its start where the launch is not recorded.
    pub launched: Ns,
    /// `Seq`, where it is recorded.
    pub sequence: Option<u64>,
    /// When the rank stood still for it.
    pub blocked: Blocked,
    /// Of what goes from one rank to one other: which end of it this is, where the recording says.
    pub message: Option<MessageEnd>,
}

/// The collectives that devices and the host ran, to compare ranks by.
#[must_use]
pub fn collective_calls(
    profile: &Profile,
    launches: &Launches,
    classes: &KernelClasses,
) -> Vec<RecordedCollective> {
    let ranges = Ranges::new(profile);
    let mut found = ranges.on_host(profile);
    let is_communication = |it: &DeviceEventId| classes.class(*it) == KernelClass::Communication;
    let kernels: Vec<DeviceEventId> = profile.device.ids().filter(is_communication).collect();
    let launched = kernels.iter().filter_map(|&kernel| {
        let launch = launches.launch(kernel)?.index();
        let (thread, at) = (profile.host.thread[launch], profile.host.start[launch]);
        Some(KernelLaunch { thread, at, kernel })
    });
    let batches = Batches::new(profile, &launched.collect::<Vec<_>>());
    for kernel in kernels {
        let call = on_device(profile, launches, &ranges, kernel);
        let batch = batches.messages(profile, kernel);
        if batch.is_empty() {
            found.push(call);
            continue;
        }
        let kind = CollectiveKind::PointToPoint;
        found.extend(batch.into_iter().map(|(message, end)| RecordedCollective {
            kind,
            group: group(profile, message),
            bytes: message_bytes(profile, kind, message),
            message: Some(end),
            ..call.clone()
        }));
    }
    if !found.is_empty() {
        let compute = compute(profile, classes);
        for it in &mut found {
            it.blocked = blocked(it, &compute);
        }
    }
    found
}

/// When the rank stood still for a collective, if `compute` is when it computed.
fn blocked(it: &RecordedCollective, compute: &Intervals) -> Blocked {
    let duration = it.end - it.start;
    let (mut from, mut until) =
        compute.longest_gap(it.start, it.end, it.end - duration / BLOCKED_UNTIL);
    // The thread that ends a range on the host may get no processor for long. A message lasts until somebody waits for it.
    if matches!(it.event, CollectiveEvent::Host(..)) && !it.kind.is_message() {
        let longest = compute.longest_gap(it.start, it.end, it.start);
        if duration <= (longest.1 - longest.0).saturating_mul(BLOCKED_SHARE) {
            (from, until) = longest;
        }
    }
    Blocked { from: from - it.start, until: until - it.start }
}

/// When the rank computed: kernels that do not communicate; where there are none, operators but for those that communicate.
fn compute(profile: &Profile, classes: &KernelClasses) -> Intervals {
    let (host, device) = (&profile.host, &profile.device);
    let is_kernel = |it: &DeviceEventId| {
        device.kind[it.index()] == DeviceKind::Kernel
            && classes.class(*it) != KernelClass::Communication
    };
    let kernels = device.ids().filter(is_kernel);
    let kernels: Intervals = kernels.map(|it| (device.start[it.index()], device.end(it))).collect();
    if kernels != Intervals::default() {
        return kernels;
    }
    let names = profile.strings.iter();
    let communicates: Vec<bool> = names.map(|(_, name)| name.starts_with("c10d::")).collect();
    let is_operator = |it: &HostEventId| {
        host.kind[it.index()] == HostKind::Operator && !communicates[host.name[it.index()].index()]
    };
    let operators = host.ids().filter(is_operator);
    operators.map(|it| (host.start[it.index()], host.end(it))).collect()
}

fn on_device(
    profile: &Profile,
    launches: &Launches,
    ranges: &Ranges,
    event: DeviceEventId,
) -> RecordedCollective {
    let (host, device) = (&profile.host, &profile.device);
    let start = device.start[event.index()];
    let launch = launches.launch(event);
    let launched = launch.map_or(start, |it| host.start[it.index()]);
    let message = device.message_of(event);
    let range = launch.and_then(|it| ranges.around(profile, host.thread[it.index()], launched));
    let of_kernel = CollectiveKind::of_name(profile.strings.get(device.name[event.index()]));
    let named = message.and_then(|it| it.collective.get());
    let named = named.or_else(|| range.map(|it| host.name[it.index()]));
    let kind = named.map(|it| CollectiveKind::of_name(profile.strings.get(it)));
    let kind = kind.filter(|it| *it != CollectiveKind::Other).unwrap_or(of_kernel);
    let group = message.map(|it| group(profile, it)).unwrap_or_default();
    let end = message.and_then(|it| message_ends::of_arguments(profile, it));
    let end = end.or_else(|| message_ends::of_range(profile, range?, &group));
    let end = end.filter(|_| kind.is_message());
    let bytes = message
        .and_then(|it| message_bytes(profile, kind, it))
        .or_else(|| range_bytes(profile, kind, range?));
    RecordedCollective {
        event: CollectiveEvent::Device(event),
        kind,
        group,
        bytes,
        start,
        end: device.end(event),
        launched,
        sequence: message.and_then(|it| u64::try_from(it.sequence).ok()),
        blocked: Blocked::default(),
        message: end,
    }
}

fn group(profile: &Profile, message: &Message) -> ProcessGroup {
    ProcessGroup {
        name: text(profile, message.group).to_owned(),
        ranks: text(profile, message.group_ranks).to_owned(),
        size: u32::try_from(message.group_size).unwrap_or(0),
    }
}

fn message_bytes(profile: &Profile, kind: CollectiveKind, message: &Message) -> Option<Bytes> {
    let elements = match kind {
        CollectiveKind::AllGather => message.output_elements,
        _ => message.input_elements,
    };
    let size = element_size(text(profile, message.data_type))?;
    (elements >= 0).then(|| Bytes(elements.saturating_mul(size)))
}

/// The bytes of all tensors that the range of a collective names.
fn range_bytes(profile: &Profile, kind: CollectiveKind, range: HostEventId) -> Option<Bytes> {
    // Of all-gather the output counts, and the input alone is there.
    if kind == CollectiveKind::AllGather {
        return None;
    }
    let (host, row) = (&profile.host, profile.host.detail_row(range));
    let json = |column: &[StrId]| -> Option<Vec<Value>> {
        serde_json::from_str(text(profile, *column.get(row)?)).ok()
    };
    let (dims, types) = (json(&host.annotations.input_dims)?, json(&host.annotations.input_types)?);
    let sizes = dims.iter().zip(&types).filter_map(|(dims, kind)| {
        Some(elements(dims)?.saturating_mul(element_size(kind.as_str()?)?))
    });
    sizes.reduce(i64::saturating_add).map(Bytes)
}

/// The number of elements of a tensor's dimensions; 1 of a scalar.
fn elements(dims: &Value) -> Option<i64> {
    dims.as_array()?
        .iter()
        .try_fold(1_i64, |product, it| Some(product.saturating_mul(it.as_i64()?)))
}

/// Bytes of an element, by the names of `dtype` and of `Input type`.
fn element_size(name: &str) -> Option<i64> {
    let name = name.trim_start_matches("c10::").to_ascii_lowercase();
    Some(match name.as_str() {
        "char" | "signed char" | "byte" | "unsigned char" | "bool" => 1,
        "half" | "bfloat16" | "short" | "short int" => 2,
        "float" | "int" => 4,
        "double" | "long" | "long int" | "complexfloat" | "complex<float>" => 8,
        "complexdouble" | "complex<double>" => 16,
        _ if name.starts_with("float8") => 1,
        _ => return None,
    })
}

/// The ranges of back ends in the recording.
struct Ranges {
    /// Those of back ends that communicate on the host, in order of start.
    on_host: Vec<HostEventId>,
    /// Those around launches, by thread, in order of start.
    around_launches: BTreeMap<ThreadId, Vec<HostEventId>>,
    /// Operators of `torch.distributed`, in order of start.
    operators: Vec<HostEventId>,
    /// Of them, those that send and receive, by thread.
    messages: BTreeMap<ThreadId, Vec<HostEventId>>,
}

impl Ranges {
    fn new(profile: &Profile) -> Self {
        let host = &profile.host;
        // Names are few, events many.
        let is_any = |starts: &[&str]| -> Vec<bool> {
            let texts = profile.strings.iter();
            texts.map(|(_, text)| starts.iter().any(|it| text.starts_with(it))).collect()
        };
        let on_host = is_any(&["gloo:", "mpi:", "ucc:"]);
        let around = is_any(&["nccl:", "xccl:", "hccl:"]);
        let operators = is_any(&["c10d::"]);
        let mut ranges = Self {
            on_host: Vec::new(),
            around_launches: BTreeMap::new(),
            operators: Vec::new(),
            messages: BTreeMap::new(),
        };
        if ![&on_host, &around].iter().any(|it| it.contains(&true)) {
            return ranges;
        }
        for id in host.ids() {
            let name = host.name[id.index()].index();
            match host.kind[id.index()] {
                HostKind::Annotation if on_host[name] => ranges.on_host.push(id),
                HostKind::Annotation if around[name] => {
                    let thread = host.thread[id.index()];
                    ranges.around_launches.entry(thread).or_default().push(id);
                }
                HostKind::Operator if operators[name] => ranges.operators.push(id),
                _ => {}
            }
        }
        let by_start = |it: &mut Vec<HostEventId>| it.sort_by_key(|id| host.start[id.index()]);
        by_start(&mut ranges.on_host);
        by_start(&mut ranges.operators);
        ranges.around_launches.values_mut().for_each(by_start);
        for &id in ranges.operators.iter().filter(|it| kind_of(profile, **it).is_message()) {
            ranges.messages.entry(host.thread[id.index()]).or_default().push(id);
        }
        ranges
    }

    /// The range of a back end around a launch on `thread` at `time`.
    fn around(&self, profile: &Profile, thread: ThreadId, time: Ns) -> Option<HostEventId> {
        open_at(profile, self.around_launches.get(&thread)?, time)
    }

    /// The collectives on the host. A back end runs them in the order in which they were launched, so that of one kind each
    /// belongs to the first operator before it that has none yet. The range of a message begins in its operator.
    fn on_host(&self, profile: &Profile) -> Vec<RecordedCollective> {
        let host = &profile.host;
        let mut launching: BTreeMap<CollectiveKind, std::collections::VecDeque<HostEventId>> =
            BTreeMap::new();
        for &id in &self.operators {
            launching.entry(kind_of(profile, id)).or_default().push_back(id);
        }
        let collective = |&id: &HostEventId| {
            let (kind, start) = (kind_of(profile, id), host.start[id.index()]);
            let is_before = |it: &mut HostEventId| host.start[it.index()] <= start;
            let operator = if kind.is_message() {
                let operators = self.messages.get(&host.thread[id.index()]);
                operators.and_then(|it| open_at(profile, it, start))
            } else {
                launching.get_mut(&kind).and_then(|it| it.pop_front_if(is_before))
            };
            RecordedCollective {
                event: CollectiveEvent::Host(id, operator),
                kind,
                group: ProcessGroup::default(),
                bytes: range_bytes(profile, kind, id),
                start,
                end: host.end(id),
                launched: operator.map_or(start, |it| host.start[it.index()]),
                sequence: None,
                blocked: Blocked::default(),
                message: operator.and_then(|it| message_ends::of_operator(profile, it)),
            }
        };
        self.on_host.iter().map(collective).collect()
    }
}

/// What the name of a host event says.
fn kind_of(profile: &Profile, id: HostEventId) -> CollectiveKind {
    CollectiveKind::of_name(profile.strings.get(profile.host.name[id.index()]))
}

/// Of events in order of start, the last one that is open at `time`, if the last one that began is.
fn open_at(profile: &Profile, events: &[HostEventId], time: Ns) -> Option<HostEventId> {
    let host = &profile.host;
    let index = events.partition_point(|id| host.start[id.index()] <= time);
    let last = *events[..index].last()?;
    (time <= host.end(last)).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_a_size() {
        let elements = |text: &str| elements(&serde_json::from_str(text).unwrap());
        assert_eq!(
            [elements("[3, 4]"), elements("[]"), elements("[[3]]")],
            [Some(12), Some(1), None]
        );
        let sizes = ["Float", "float", "c10::BFloat16", "long int", "Float8_e4m3fn", "TensorList"];
        assert_eq!(sizes.map(element_size), [Some(4), Some(4), Some(2), Some(8), Some(1), None]);
    }

    #[test]
    fn a_rank_waits_for_a_collective_on_the_host_whose_range_ends_late() {
        let on_host = CollectiveEvent::Host(HostEventId::NONE, None);
        let blocked = |event, kind, compute: &[(i64, i64)]| {
            let call = RecordedCollective {
                event,
                kind,
                group: ProcessGroup::default(),
                bytes: None,
                start: Ns(1_000),
                end: Ns(2_000),
                launched: Ns(1_000),
                sequence: None,
                blocked: Blocked::default(),
                message: None,
            };
            let compute = compute.iter().map(|&(start, end)| (Ns(start), Ns(end))).collect();
            let Blocked { from, until } = super::blocked(&call, &compute);
            (from.0, until.0)
        };
        let all_reduce = CollectiveKind::AllReduce;
        let (late, overlapped) = ([(900, 1_100), (1_700, 2_500)], [(900, 1_600), (1_990, 2_500)]);
        assert_eq!(blocked(on_host, all_reduce, &late), (100, 700));
        assert_eq!(blocked(on_host, all_reduce, &overlapped), (600, 990));
        // Beside which it computes most of the time, and to the end.
        let beside = [(900, 1_200), (1_500, 2_500)];
        assert_eq!(blocked(on_host, all_reduce, &beside), (1_000, 1_000));
        assert_eq!(blocked(on_host, CollectiveKind::PointToPoint, &late), (1_000, 1_000));
        let on_device = CollectiveEvent::Device(DeviceEventId::from_index(0));
        assert_eq!(blocked(on_device, all_reduce, &late), (1_000, 1_000));
    }
}
