//! What a trace says of the graphs that were captured while it was recorded: which lines launched each of their kernels.

use line_stacks::Node;
use profile::{DeviceKind, HostEventId, HostKind, Profile, StrId};
use recorded::{RecordedSources, begins_capture, ends_capture, put_on_stream};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::captured_chains::Chains;
use crate::captured_stacks::StackTable;
use crate::options::AttributionOptions;
use crate::timeline_pass::lines_pass;

/// The graphs that were captured while one or several traces were recorded.
#[derive(Debug, Default)]
pub struct GraphCaptures {
    /// The stacks of lines, without what was around the whole capture, and the text of every name.
    pub(crate) stacks: StackTable,
    /// In the order in which their captures began, those without a launch left out.
    pub graphs: Vec<Vec<CapturedLaunch>>,
}

/// A launch that became a node of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CapturedLaunch {
    /// What it launches.
    pub kind: DeviceKind,
    /// The name of the kernel, where it is recorded, or [`StrId::NONE`].
    pub name: StrId,
    /// Whether it is of a collective.
    pub communicates: bool,
    /// Row of the stacks of [`GraphCaptures`].
    pub stack: u32,
    /// The name of the operator that launches it, or [`StrId::NONE`].
    pub operator: StrId,
    /// The number of its chain within the graph: launches of one chain follow one another on one stream. `None` of those of which
    /// that is not known.
    pub chain: Option<u32>,
}

/// A capture that goes on.
struct OpenCapture {
    /// Where it began: what is around all of it.
    around: Node,
    /// Captures that began within it; their nodes are its own.
    depth: usize,
    launches: Vec<(HostEventId, DeviceKind, Option<u32>)>,
}

impl GraphCaptures {
    /// Adds the graphs that were captured while `profile` was recorded. A trace without any is not walked.
    pub fn add(
        &mut self,
        profile: &Profile,
        sources: &RecordedSources,
        options: AttributionOptions,
    ) {
        if !profile.strings.iter().any(|(_, it)| begins_capture(it)) {
            return;
        }
        let pass = lines_pass(profile, sources, options);
        let events = &pass.events;
        let operators = operators_by_number(profile);
        let mut known = FxHashMap::default();
        for capture in captured_launches(profile, &events.order, &events.stack_of) {
            let mut launches = Vec::with_capacity(capture.launches.len());
            for (call, kind, chain) in capture.launches {
                let operator = profile.host.runtime.external_id[profile.host.detail_row(call)];
                let operator = operators.get(&operator).map_or("", |it| profile.strings.get(*it));
                let name = kernel_name(profile, call, operator);
                let name = name.map_or(StrId::NONE, |it| self.stacks.strings.intern(it));
                let stack = events.stack_of[call.index()];
                let stack = *known
                    .entry((stack, capture.around))
                    .or_insert_with(|| self.stacks.row(&events.stacks, stack, capture.around));
                let communicates = is_collective(operator);
                // Libraries put collectives on streams of their own.
                let chain = chain.filter(|_| !communicates);
                let operator = self.stacks.strings.intern(operator);
                launches.push(CapturedLaunch { kind, name, communicates, stack, operator, chain });
            }
            if !launches.is_empty() {
                self.graphs.push(launches);
            }
        }
    }

    /// Whether a launch has a line.
    #[must_use]
    pub fn has_lines(&self) -> bool {
        self.stacks.has_lines()
    }
}

/// The launches of each capture: of its process, while it goes on, those that ran nothing then.
fn captured_launches(
    profile: &Profile,
    order: &[HostEventId],
    stack_of: &[Node],
) -> Vec<OpenCapture> {
    let (host, device) = (&profile.host, &profile.device);
    let ran: FxHashSet<i64> = device.correlation.iter().copied().collect();
    let mut captures: Vec<OpenCapture> = Vec::new();
    // By process, the capture that goes on; by thread, the end of the latest launch.
    let mut open: FxHashMap<StrId, usize> = FxHashMap::default();
    let mut launched_until = vec![None; profile.threads.len()];
    let mut chains = Chains::new(profile);
    for &id in order {
        if !open.is_empty() {
            chains.see(profile, id);
        }
        if host.kind[id.index()] != HostKind::Runtime {
            continue;
        }
        let name = profile.strings.get(host.name[id.index()]);
        let thread = host.thread[id.index()];
        let process = profile.threads[thread.index()].pid;
        if begins_capture(name) {
            match open.get(&process) {
                Some(&at) => captures[at].depth += 1,
                None => {
                    open.insert(process, captures.len());
                    let around = stack_of[id.index()];
                    chains.begin(thread);
                    captures.push(OpenCapture { around, depth: 0, launches: Vec::new() });
                }
            }
            continue;
        }
        let Some(&at) = open.get(&process) else { continue };
        if ends_capture(name) {
            match captures[at].depth.checked_sub(1) {
                Some(depth) => captures[at].depth = depth,
                None => drop(open.remove(&process)),
            }
            continue;
        }
        let Some(kind) = put_on_stream(name) else { continue };
        let (start, correlation) =
            (host.start[id.index()], host.runtime.correlation[host.detail_row(id)]);
        // A call of the runtime may be recorded once more, as the call of the driver in it.
        let is_within = launched_until[thread.index()].is_some_and(|until| start < until);
        if !is_within && !ran.contains(&correlation) {
            launched_until[thread.index()] = Some(host.end(id));
            captures[at].launches.push((id, kind, chains.of(thread)));
        }
    }
    captures
}

/// The names of operators by `External id`; of several with one number that of the first in the file.
fn operators_by_number(profile: &Profile) -> FxHashMap<i64, StrId> {
    let host = &profile.host;
    let mut names = FxHashMap::default();
    for id in host.ids().filter(|id| host.kind[id.index()] == HostKind::Operator) {
        let number = host.operators.external_id[host.detail_row(id)];
        if number > 0 {
            names.entry(number).or_insert(host.name[id.index()]);
        }
    }
    names
}

/// The name of the kernel that `call` launches, within `operator`: ROCm records it; PyTorch names the operators around kernels
/// that Inductor generated like these.
fn kernel_name<'a>(profile: &'a Profile, call: HostEventId, operator: &'a str) -> Option<&'a str> {
    let recorded = profile.host.runtime.kernel[profile.host.detail_row(call)];
    let recorded = recorded.get().map(|it| profile.strings.get(it)).filter(|it| !it.is_empty());
    recorded.or_else(|| operator.starts_with("triton_").then_some(operator))
}

fn is_collective(operator: &str) -> bool {
    operator == "record_param_comms" || operator.starts_with("c10d::")
}
