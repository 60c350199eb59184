//! The line stacks of device events, and the charging of device time.

use ledger::{Arithmetic, Bytes, Evidence, Kernel, Ns};
use line_stacks::{LineId, Node, Stacks, grow_to};
use profile::{
    CapturedEvidence, CapturedLine, DeviceEventId, DeviceKind, HostEventId, LaunchShapeId,
    OriginFrame, Profile, StrId,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::compiler_backends::{CompilerBackends, is_generated};
use crate::compute_pass::ComputePass;
use crate::event_stacks::EventStacks;
use crate::names::Names;
use crate::timeline_pass::TimelinePass;
use recorded::{KernelClasses, Launches, Steps};
use run_summary::CountedOperator;

/// The line stack of each device event.
pub(crate) struct DeviceStacks(Vec<Node>);

impl DeviceStacks {
    pub(crate) fn node(&self, event: DeviceEventId) -> Node {
        self.0[event.index()]
    }
}

/// Finds the line stack of each device event.
pub(crate) fn device_stacks(
    profile: &Profile,
    launches: &Launches,
    pass: &mut TimelinePass<'_>,
) -> DeviceStacks {
    let device = &profile.device;
    let TimelinePass { events, charges, .. } = pass;
    let mut captured: FxHashMap<(Node, usize), Node> = FxHashMap::default();
    let mut backends = CompilerBackends::default();
    let mut of_graph: FxHashMap<i64, Node> = FxHashMap::default();
    let nodes = device
        .ids()
        .map(|event| {
            let provenance =
                events.names.provenance(device.stack[event.index()], &mut events.stacks);
            let launch = launches.candidates(event).map(|id| events.stack_of[id.index()]);
            let is_own = !provenance.is_empty();
            let mut known =
                std::iter::once(provenance).chain(launch).filter(|node| !node.is_empty());
            let graph = device.graph_id[event.index()];
            let node = match known.next() {
                Some(node) => {
                    if graph > 0 {
                        of_graph.insert(graph, node);
                    }
                    node
                }
                None => of_graph.get(&graph).copied().unwrap_or(Node::EMPTY),
            };
            match profile.captured.number(event).filter(|_| !is_own) {
                None => node,
                Some(number) => *captured.entry((node, number)).or_insert_with(|| {
                    let node = with_captured(profile, number, node, events, &mut backends);
                    *grow_to(&mut charges.is_charged, node.index()) = true;
                    node
                }),
            }
        })
        .collect();
    DeviceStacks(nodes)
}

/// The stack `node` of a replay, with the lines below it that the launch was captured with.
fn with_captured(
    profile: &Profile,
    number: usize,
    node: Node,
    events: &mut EventStacks<'_>,
    backends: &mut CompilerBackends,
) -> Node {
    let EventStacks { names, stacks, .. } = events;
    let captured = &profile.captured.stacks[number];
    let is_whole = profile.captured.are_whole.get(number) == Some(&true);
    let n_around = if is_whole { n_around(profile, captured, node, names, stacks) } else { 0 };
    let mut node = node;
    for captured in &captured[n_around..] {
        let mut line = |frame: &OriginFrame| {
            let file = names.file(profile.strings.get(frame.file), &mut stacks.lines);
            let line = stacks.lines.line(file, frame.line);
            stacks.lines.name(line, profile.strings.get(frame.function));
            line
        };
        let parts: Vec<Vec<LineId>> =
            captured.parts.iter().map(|it| it.iter().map(&mut line).collect()).collect();
        let evidence = match captured.evidence {
            CapturedEvidence::Exact => Evidence::Exact,
            CapturedEvidence::Inferred => Evidence::Inferred,
            CapturedEvidence::Function => Evidence::Function,
        };
        let line = match &parts[..] {
            [only] => only.first().copied(),
            _ => stacks.lines.fused(&parts),
        };
        if let Some(line) = line {
            // A backend replays what it captured of generated code.
            if is_generated(line, &stacks.lines) {
                node = backends.left_out(node, stacks);
            }
            node = stacks.push(node, line, evidence);
        }
    }
    node
}

/// How many lines of a stack from the begin of the program on are on the stack `node` of a replay, too, in the same order: there the
/// functions that go on until the replay had the same line when the graph was captured.
fn n_around(
    profile: &Profile,
    captured: &[CapturedLine],
    node: Node,
    names: &mut Names<'_>,
    stacks: &mut Stacks,
) -> usize {
    let place = |line: LineId| (stacks.lines.file_of(line), stacks.lines.number(line));
    let around: Vec<_> = stacks.outwards(node).map(|at| place(stacks.line(at))).collect();
    let mut around = around.into_iter().rev();
    let mut is_around = |it: &CapturedLine| {
        let Some(frame) = it.parts.first().and_then(|it| it.first()) else { return false };
        let file = names.file(profile.strings.get(frame.file), &mut stacks.lines);
        let key = stacks.lines.files[file.0 as usize].key.clone();
        around.any(|(file, line)| {
            line == frame.line && stacks.lines.files[file.0 as usize].key == key
        })
    };
    captured.iter().take_while(|it| is_around(it)).count()
}

/// Kernels, and how they were launched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct KernelWork {
    pub(crate) kernels: u64,
    /// Of these, the ones with a runtime call of their own, the time of these calls, and the ones that ran shorter.
    pub(crate) launches: u64,
    pub(crate) launch_time: Ns,
    pub(crate) short: u64,
    /// Device time of those of graphs of which no line is known but the one that replays them.
    pub(crate) replayed: Ns,
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
        self.replayed += other.replayed;
    }
}

/// Device time by stack and by charged line.
#[derive(Default)]
pub(crate) struct DeviceCharges {
    /// By node, the empty stack left out.
    pub(crate) cuda: Vec<Ns>,
    /// Of this, what was computed again.
    pub(crate) recomputed: Vec<Ns>,
    /// Of this, what compiled code computed in the backward pass.
    pub(crate) own_backward: Vec<Ns>,
    /// Of events whose launch is known but has no line.
    pub(crate) without_line: Ns,
    /// Of events whose launch is not in the recording.
    pub(crate) without_launch: Ns,
    /// Of events that were launched before recording began.
    pub(crate) in_flight: Ns,
    pub(crate) total: Ns,
    /// By node, the empty stack left out.
    pub(crate) kernels: Vec<KernelWork>,
    pub(crate) kernel_table: FxHashMap<(LineId, StrId, LaunchShapeId), Kernel>,
    /// By charged line.
    pub(crate) own: Vec<Ns>,
    /// Of events that were launched in a step.
    pub(crate) in_steps: Ns,
    /// By charged line and step of the launch.
    pub(crate) steps: FxHashMap<(LineId, u32), Ns>,
    /// By charged line and name of the outermost operator around the launch.
    pub(crate) operators: FxHashMap<(LineId, StrId), Ns>,
    /// Of events whose graph was captured on another line than the one that replays it, by both.
    pub(crate) replayed: FxHashMap<(LineId, LineId), Ns>,
    /// Launches of graphs with such events, by the line that they were captured on and the line that replays: each of the lines that a
    /// charged line stands for has all of them.
    pub(crate) replays: FxHashMap<(LineId, LineId), u64>,
}

/// Charges the duration of every device event, and the arithmetic that kernels stand for.
pub(crate) fn charge_devices(
    profile: &Profile,
    launches: &Launches,
    stacks: &DeviceStacks,
    steps: &Steps,
    classes: &KernelClasses,
    events: &EventStacks<'_>,
    counted: &[CountedOperator],
) -> DeviceCharges {
    let (host, device) = (&profile.host, &profile.device);
    let by_kernel = counted.iter().filter_map(|it| Some((it.kernel?, it)));
    let by_kernel: FxHashMap<DeviceEventId, &CountedOperator> = by_kernel.collect();
    let mut charges = DeviceCharges::default();
    let mut counted_replays: FxHashSet<(LineId, HostEventId)> = FxHashSet::default();
    for event in device.ids() {
        let (row, node) = (event.index(), stacks.node(event));
        let time = device.duration[row];
        let launch = launches.launch(event);
        let step = launch.and_then(|launch| steps.at(host.start[launch.index()]));
        charges.total += time;
        charges.in_steps += if step.is_some() { time } else { Ns::ZERO };
        let Some(charged) = events.stacks.charged_line(node).get() else {
            match launch {
                Some(_) => charges.without_line += time,
                None if launches.is_in_flight(profile, event) => charges.in_flight += time,
                None => charges.without_launch += time,
            }
            continue;
        };
        *grow_to(&mut charges.cuda, node.index()) += time;
        match launch.map(|it| events.pass(it)).unwrap_or_default() {
            ComputePass::Forward => {}
            ComputePass::Recompute => *grow_to(&mut charges.recomputed, node.index()) += time,
            ComputePass::Backward => *grow_to(&mut charges.own_backward, node.index()) += time,
        }
        *grow_to(&mut charges.own, charged.index()) += time;
        if device.kind[row] == DeviceKind::Kernel {
            let call = launches.own_call(profile, event);
            let is_of_graph = call.is_none() && launches.call(event).is_some();
            let has_line =
                profile.captured.number(event).is_some() || device.stack[row].get().is_some();
            let call = call.map(|it| profile.host.duration[it.index()]);
            let work = grow_to(&mut charges.kernels, node.index());
            work.add(call, time);
            if is_of_graph && !has_line {
                work.replayed += time;
            }
        }
        let kernel =
            charges.kernel_table.entry((charged, device.name[row], device.shape[row])).or_default();
        kernel.class = classes.class(event);
        kernel.tensor_cores = classes.tensor_cores(event);
        add_run(kernel, profile, event);
        if let Some(it) = by_kernel.get(&event) {
            let work = Arithmetic { time, ..it.arithmetic };
            kernel.arithmetic.entry(it.precision).or_default().merge(&work);
        }
        if let Some(launch) = launch {
            let replays = events.charged_line(launch).get().filter(|it| *it != charged);
            if let Some(replays) = replays.filter(|_| profile.captured.number(event).is_some()) {
                *charges.replayed.entry((charged, replays)).or_default() += time;
                for captured in events.stacks.lines.own_lines(charged) {
                    if counted_replays.insert((captured, launch)) {
                        *charges.replays.entry((captured, replays)).or_default() += 1;
                    }
                }
            }
            if let Some(step) = step {
                *charges.steps.entry((charged, step)).or_default() += time;
            }
            if let Some(operator) = events.operator_around(launch) {
                let line = events.charged_line(operator);
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
    kernel.bytes += device.bytes[event.index()].max(Bytes::ZERO);
}
