//! Device events: who launched them, when the device was idle, and the charging of device time.

use ledger::{Kernel, Ns};
use profile::{DeviceEventId, DeviceKind, HostEventId, HostKind, LaunchShapeId, Profile, StrId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::idle::IdleCause;
use crate::overview::Classes;
use crate::stacks::{LineId, Node};
use crate::steps::Steps;
use crate::sweep::{Swept, at};

/// The host events that launched each device event.
pub(crate) struct Launches {
    /// The runtime call with the event's `correlation`.
    runtime: Vec<HostEventId>,
    /// The operator with the runtime call's `External id`, then with the event's own.
    operator: Vec<[HostEventId; 2]>,
    /// The launch of the latest event before with the same `graph id` whose own launch is known.
    graph: Vec<HostEventId>,
}

impl Launches {
    pub(crate) fn new(profile: &Profile) -> Self {
        let (host, device) = (&profile.host, &profile.device);
        let (by_correlation, by_external_id) = numbered_host_events(profile);
        let find = |map: &FxHashMap<i64, HostEventId>, number: i64| {
            map.get(&number).copied().unwrap_or(HostEventId::NONE)
        };
        let runtime: Vec<HostEventId> =
            device.correlation.iter().map(|&number| find(&by_correlation, number)).collect();
        let of_call = |event: DeviceEventId| {
            let call = runtime[event.index()].get();
            call.map_or(-1, |call| host.runtime.external_id[host.detail[call.index()] as usize])
        };
        let operator: Vec<[HostEventId; 2]> = device
            .ids()
            .map(|event| {
                [of_call(event), device.external_id[event.index()]]
                    .map(|number| find(&by_external_id, number))
            })
            .collect();
        let mut of_graph: FxHashMap<i64, HostEventId> = FxHashMap::default();
        let graph = device
            .ids()
            .map(|event| {
                let graph = device.graph_id[event.index()];
                let own = runtime[event.index()].get().or(operator[event.index()][1].get());
                match own.filter(|_| graph > 0) {
                    Some(launch) => of_graph.insert(graph, launch).unwrap_or(launch),
                    None => of_graph.get(&graph).copied().unwrap_or(HostEventId::NONE),
                }
            })
            .collect();
        Self { runtime, operator, graph }
    }

    /// The host event that stands for the launch: the runtime call, else an operator, else the launch of its graph.
    pub(crate) fn launch(&self, event: DeviceEventId) -> Option<HostEventId> {
        let [_, own] = self.operator[event.index()];
        self.runtime[event.index()].get().or(own.get()).or(self.graph[event.index()].get())
    }

    /// The innermost operator around the launch, as far as `External id`s tell.
    pub(crate) fn operator(&self, event: DeviceEventId) -> Option<HostEventId> {
        let [of_call, own] = self.operator[event.index()];
        of_call.get().or(own.get())
    }

    /// The runtime call that launched `event`, alone or with the rest of its graph.
    pub(crate) fn call(&self, event: DeviceEventId) -> Option<HostEventId> {
        self.runtime[event.index()].get()
    }

    /// The runtime call that launched `event`, and nothing else: a graph is launched as a whole. Recordings without
    /// `graph id` tell it by the call alone (`cudaGraphLaunch`, `hipGraphLaunch`).
    pub(crate) fn own_call(&self, profile: &Profile, event: DeviceEventId) -> Option<HostEventId> {
        let call = self.call(event)?;
        let is_of_graph = || {
            let name = profile.strings.get(profile.host.name[call.index()]);
            profile.device.graph_id[event.index()] > 0 || name.contains("GraphLaunch")
        };
        if is_of_graph() { None } else { Some(call) }
    }

    /// Everything that may tell the stack, best first.
    fn candidates(&self, event: DeviceEventId) -> impl Iterator<Item = HostEventId> {
        let [of_call, own] = self.operator[event.index()];
        [self.runtime[event.index()], of_call, own].into_iter().filter_map(HostEventId::get)
    }
}

/// Runtime calls by `correlation` and operators by `External id`; of several with one number the first in the file.
fn numbered_host_events(
    profile: &Profile,
) -> (FxHashMap<i64, HostEventId>, FxHashMap<i64, HostEventId>) {
    let host = &profile.host;
    let mut by_correlation = FxHashMap::default();
    let mut by_external_id = FxHashMap::default();
    if profile.device.is_empty() {
        return (by_correlation, by_external_id);
    }
    for id in host.ids() {
        let row = host.detail[id.index()] as usize;
        let (map, number) = match host.kind[id.index()] {
            HostKind::Runtime => (&mut by_correlation, host.runtime.correlation[row]),
            HostKind::Operator => (&mut by_external_id, host.operators.external_id[row]),
            HostKind::Annotation | HostKind::Python => continue,
        };
        if number > 0 {
            map.entry(number).or_insert(id);
        }
    }
    (by_correlation, by_external_id)
}

/// A time during which a device ran nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) start: Ns,
    pub(crate) end: Ns,
    pub(crate) cause: IdleCause,
}

/// What one device did in all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DeviceTime {
    pub(crate) time: Ns,
    pub(crate) busy: Ns,
    pub(crate) idle: Ns,
}

/// The idle gaps of all devices.
pub(crate) struct Gaps {
    /// By launching thread, then by device, in order of time.
    by_thread: Vec<Vec<Vec<Gap>>>,
    /// All gaps of all devices in order of start.
    pub(crate) all: Vec<Gap>,
    /// Idle time before events whose launch is not known.
    pub(crate) without_launch: Ns,
    /// Idle time before events whose launch is known.
    pub(crate) with_launch: Ns,
    /// Totals by device ordinal.
    pub(crate) devices: std::collections::BTreeMap<i32, DeviceTime>,
    pageable: FxHashSet<i64>,
}

impl Gaps {
    pub(crate) fn new(profile: &Profile, launches: &Launches) -> Self {
        let device = &profile.device;
        let mut gaps = Self {
            by_thread: vec![Vec::new(); profile.threads.len()],
            all: Vec::new(),
            without_launch: 0,
            with_launch: 0,
            devices: std::collections::BTreeMap::new(),
            pageable: FxHashSet::default(),
        };
        let mut by_device: std::collections::BTreeMap<i32, Vec<DeviceEventId>> =
            std::collections::BTreeMap::new();
        for event in device.ids() {
            by_device.entry(device.device[event.index()]).or_default().push(event);
            let is_copy = device.kind[event.index()] == DeviceKind::Memcpy;
            if is_copy && profile.strings.get(device.name[event.index()]).contains("Pageable") {
                gaps.pageable.insert(device.correlation[event.index()]);
            }
        }
        for (ordinal, mut events) in by_device {
            // Stable: of events that start together, the first in the file ends the gap.
            events.sort_by_key(|event| device.start[event.index()]);
            let mut of_thread: FxHashMap<usize, Vec<Gap>> = FxHashMap::default();
            let mut books = DeviceTime::default();
            let mut busy_until: Option<Ns> = None;
            for event in events {
                let (start, end) = (device.start[event.index()], device.end(event));
                books.time += end - start;
                if let Some(until) = busy_until.filter(|&until| until < start) {
                    let launch = launches.launch(event);
                    let launched = launch.map(|launch| profile.host.start[launch.index()]);
                    let cause = IdleCause::of(until, start, launched);
                    let gap = Gap { start: until, end: start, cause };
                    books.idle += gap.end - gap.start;
                    gaps.all.push(gap);
                    match launch {
                        None => gaps.without_launch += gap.end - gap.start,
                        Some(launch) => {
                            gaps.with_launch += gap.end - gap.start;
                            of_thread
                                .entry(profile.host.thread[launch.index()].index())
                                .or_default()
                                .push(gap);
                        }
                    }
                }
                let from = busy_until.map_or(start, |until| until.max(start));
                books.busy += (end - from).max(0);
                busy_until = Some(busy_until.map_or(end, |until| until.max(end)));
            }
            gaps.devices.insert(ordinal, books);
            for (thread, of_device) in of_thread {
                gaps.by_thread[thread].push(of_device);
            }
        }
        gaps.all.sort_by_key(|gap| gap.start);
        gaps
    }

    /// The gaps that `thread` ended, one list in order of time for each device.
    pub(crate) fn of_thread(&self, thread: usize) -> &[Vec<Gap>] {
        &self.by_thread[thread]
    }

    /// Idle time of the gaps that begin within `start..=end`.
    pub(crate) fn beginning_within(&self, start: Ns, end: Ns) -> Ns {
        let first = self.all.partition_point(|gap| gap.start < start);
        self.all[first..]
            .iter()
            .take_while(|gap| gap.start <= end)
            .map(|gap| gap.end - gap.start)
            .sum()
    }

    /// Whether the copy with this `correlation` reads or writes pageable host memory: then even an asynchronous call
    /// returns only when the copy is done.
    pub(crate) fn is_pageable_copy(&self, correlation: i64) -> bool {
        correlation > 0 && self.pageable.contains(&correlation)
    }
}

/// The line stack of each device event.
pub(crate) struct DeviceStacks(Vec<Node>);

impl DeviceStacks {
    pub(crate) fn node(&self, event: DeviceEventId) -> Node {
        self.0[event.index()]
    }
}

/// Finds the line stack of each device event.
pub(crate) fn stacks(
    profile: &Profile,
    launches: &Launches,
    swept: &mut Swept<'_>,
) -> DeviceStacks {
    let device = &profile.device;
    let mut of_graph: FxHashMap<i64, Node> = FxHashMap::default();
    let nodes = device
        .ids()
        .map(|event| {
            let provenance = swept.names.provenance(device.stack[event.index()], &mut swept.stacks);
            let launch = launches.candidates(event).map(|id| swept.inside[id.index()]);
            let mut known =
                std::iter::once(provenance).chain(launch).filter(|node| !node.is_empty());
            let graph = device.graph_id[event.index()];
            match known.next() {
                Some(node) => {
                    if graph > 0 {
                        of_graph.insert(graph, node);
                    }
                    node
                }
                None => of_graph.get(&graph).copied().unwrap_or(Node::EMPTY),
            }
        })
        .collect();
    DeviceStacks(nodes)
}

/// Kernels, and how they were launched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct KernelWork {
    pub(crate) kernels: u64,
    /// Of these, the ones with a runtime call of their own, the time of these calls, and the ones that ran shorter.
    pub(crate) launches: u64,
    pub(crate) launch_time: Ns,
    pub(crate) short: u64,
}

impl KernelWork {
    fn add(&mut self, call: Option<Ns>, time: Ns) {
        self.kernels += 1;
        if let Some(call) = call {
            self.launches += 1;
            // A call counts with each of its kernels, so that the sum may be more than all calls took.
            self.launch_time = self.launch_time.saturating_add(call);
            self.short += u64::from(time < call);
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.kernels += other.kernels;
        self.launches += other.launches;
        self.launch_time += other.launch_time;
        self.short += other.short;
    }
}

/// Device time by stack and by own line.
#[derive(Default)]
pub(crate) struct DeviceCharges {
    /// By node, the empty stack left out.
    pub(crate) cuda: Vec<Ns>,
    /// Of events whose launch is known but has no line.
    pub(crate) without_line: Ns,
    /// Of events whose launch is not in the recording.
    pub(crate) without_launch: Ns,
    pub(crate) total: Ns,
    /// By node, the empty stack left out.
    pub(crate) kernels: Vec<KernelWork>,
    pub(crate) kernel_table: FxHashMap<(LineId, StrId, LaunchShapeId), Kernel>,
    pub(crate) by_device: FxHashMap<(LineId, i32), Ns>,
    /// Of events that were launched in a step.
    pub(crate) in_steps: Ns,
    /// By own line and step of the launch.
    pub(crate) steps: FxHashMap<(LineId, u32), Ns>,
    /// By own line and name of the outermost operator around the launch.
    pub(crate) operators: FxHashMap<(LineId, StrId), Ns>,
}

/// Charges the duration of every device event.
pub(crate) fn charge(
    profile: &Profile,
    launches: &Launches,
    stacks: &DeviceStacks,
    steps: &Steps,
    classes: &Classes,
    swept: &Swept<'_>,
) -> DeviceCharges {
    let (host, device) = (&profile.host, &profile.device);
    let mut charges = DeviceCharges::default();
    for event in device.ids() {
        let (row, node) = (event.index(), stacks.node(event));
        let time = device.duration[row];
        let launch = launches.launch(event);
        let step = launch.and_then(|launch| steps.at(host.start[launch.index()]));
        charges.total += time;
        charges.in_steps += if step.is_some() { time } else { 0 };
        let Some(own) = swept.stacks.own(node).get() else {
            match launch {
                Some(_) => charges.without_line += time,
                None => charges.without_launch += time,
            }
            continue;
        };
        *at(&mut charges.cuda, node.index()) += time;
        *charges.by_device.entry((own, device.device[row])).or_default() += time;
        if device.kind[row] == DeviceKind::Kernel {
            let call = launches.own_call(profile, event);
            let call = call.map(|it| profile.host.duration[it.index()]);
            at(&mut charges.kernels, node.index()).add(call, time);
        }
        let kernel =
            charges.kernel_table.entry((own, device.name[row], device.shape[row])).or_default();
        kernel.class = classes.class(event);
        kernel.tensor_cores = classes.tensor_cores(event);
        add_run(kernel, profile, event);
        if let Some(launch) = launch {
            if let Some(step) = step {
                *charges.steps.entry((own, step)).or_default() += time;
            }
            if let Some(operator) = swept.operator_around(launch) {
                let line = swept.stacks.own(swept.inside[operator.index()]);
                *charges.operators.entry((line, host.name[operator.index()])).or_default() += time;
            }
        }
    }
    charges
}

fn add_run(kernel: &mut Kernel, profile: &Profile, event: DeviceEventId) {
    let device = &profile.device;
    let time = device.duration[event.index()];
    kernel.min = if kernel.calls == 0 { time } else { kernel.min.min(time) };
    kernel.max = kernel.max.max(time);
    kernel.calls += 1;
    kernel.total += time;
    let occupancy =
        device.shapes.get(device.shape[event.index()]).map_or(-1, |shape| shape.occupancy_permille);
    kernel.occupancy_time += i128::from(occupancy.max(0)) * i128::from(time);
    kernel.streams.insert(device.stream[event.index()]);
    kernel.bytes += device.bytes[event.index()].max(0);
}
