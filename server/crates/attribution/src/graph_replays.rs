//! Joins the graphs that one trace saw captured with the replays of them in another: which lines launched each kernel of a replay.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ledger::KernelClass;
use profile::{
    CapturedEvidence, CapturedLine, DeviceEventId, DeviceKind, HostEventId, NodeStacks, Ns,
    OriginFrame, Profile,
};
use recorded::{KernelClasses, Launches, launches_graph};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::captured_stacks::StackWriter;
use crate::graph_captures::{CapturedLaunch, GraphCaptures};

/// States of the ways to put launches on several streams, at most.
const MAX_STATES: usize = 100_000;

/// Parts of the names of kernels of cuBLAS, CUTLASS and the like, in lower case.
const MATRIX_PRODUCTS: [&str; 5] = ["gemm", "gemv", "cutlass", "nvjet", "xmma"];

/// How many replays of a trace were put on the lines of their capture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JoinedReplays {
    /// Replays in the trace whose kernels are not known from elsewhere.
    pub replays: u64,
    /// Of these, the ones whose capture was found.
    pub joined: u64,
    /// How many kernels, copies and fills of these each graph of the captures launched.
    pub kernels: Vec<u64>,
    /// The first replay of those whose capture was not found.
    pub refused: Option<RefusedReplay>,
}

/// A replay that fits no capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedReplay {
    /// How many kernels, copies and fills it has.
    pub kernels: usize,
    /// The name of the first.
    pub first: String,
    /// Where the capture with the same number of launches differs first, if there is one: place from 1, what was launched there,
    /// what ran.
    pub differs: Option<(usize, String, String)>,
}

/// One launch of a graph: what ran on each stream, in the order of time.
pub(crate) struct Replay {
    start: Ns,
    pub(crate) streams: Vec<Vec<DeviceEventId>>,
}

impl Replay {
    /// What ran, in the order of the streams.
    pub(crate) fn events(&self) -> impl Iterator<Item = DeviceEventId> {
        self.streams.iter().flatten().copied()
    }

    /// What it runs on each of its streams: replays that run the same are of the same graph, or of graphs that are alike.
    pub(crate) fn work<'p>(&self, profile: &'p Profile) -> WorkOfStreams<'p> {
        let device = &profile.device;
        let named = |it: &DeviceEventId| {
            (device.kind[it.index()], profile.strings.get(device.name[it.index()]))
        };
        self.streams.iter().map(|it| it.iter().map(named).collect()).collect()
    }
}

/// What the captures that fit a replay say of it, by its events in the order of their streams: rows of
/// the stacks of [`GraphCaptures`], and whether nothing else fits.
type StackRows = Vec<(u32, bool)>;

/// What a replay runs on each of its streams.
pub(crate) type WorkOfStreams<'a> = Vec<Vec<(DeviceKind, &'a str)>>;

/// Notes in `profile` which lines launched each kernel of a replay when its graph was captured. Replays that `captures` does not
/// hold stay as they are.
pub fn join_captures(profile: &mut Profile, captures: &GraphCaptures) -> JoinedReplays {
    let mut joined =
        JoinedReplays { kernels: vec![0; captures.graphs.len()], ..JoinedReplays::default() };
    let replays = replays(profile);
    let classes = KernelClasses::new(profile);
    let mut of_event = std::mem::take(&mut profile.captured.of_event);
    of_event.resize(profile.device.len(), 0);
    let mut writer = StackWriter::new(&captures.stacks, false);
    let matching = ReplayMatcher { profile, classes: &classes, captures };
    // By what a replay runs, the captures that fit, with the rows of each.
    let mut known: FxHashMap<WorkOfStreams<'_>, Vec<(usize, StackRows)>> = FxHashMap::default();
    let (mut previous, mut found) = (None, Vec::new());
    for replay in &replays {
        if replay.events().any(|it| of_event[it.index()] != 0) {
            continue;
        }
        joined.replays += 1;
        let fitting = known.entry(replay.work(profile)).or_insert_with(|| matching.fitting(replay));
        // Graphs are replayed in the order in which they were captured, as the pieces of a model are.
        let next = fitting.iter().find(|(at, _)| previous.is_none_or(|it| it < *at));
        let Some((at, stacks)) = next.or(fitting.first()) else {
            joined.refused.get_or_insert_with(|| matching.refused(replay));
            continue;
        };
        previous = Some(*at);
        joined.joined += 1;
        for (event, &(row, is_certain)) in replay.events().zip(stacks) {
            joined.kernels[*at] += 1;
            found.push((event, row, is_certain));
        }
    }
    for (event, row, is_certain) in found {
        of_event[event.index()] = writer.number(profile, row, is_certain);
    }
    profile.captured.of_event = of_event;
    joined
}

/// Notes in `profile` which lines created the node of a graph that each device event ran, as `stacks` say; how many events of
/// nodes are in them. Events of which lines are known already stay as they are.
pub fn join_node_stacks(profile: &mut Profile, stacks: &NodeStacks) -> u64 {
    let mut of_event = std::mem::take(&mut profile.captured.of_event);
    of_event.resize(profile.device.len(), 0);
    let mut numbers: FxHashMap<u64, u32> = FxHashMap::default();
    let mut joined = 0;
    for (row, number) in of_event.iter_mut().enumerate().filter(|(_, number)| **number == 0) {
        let (graph, node) = (profile.device.graph_id[row], profile.device.graph_node[row]);
        let ids = node_ids(graph, node);
        let Some((id, stack)) = ids.into_iter().find_map(|id| stacks.by_node.get_key_value(&id?))
        else {
            continue;
        };
        joined += 1;
        *number = *numbers.entry(*id).or_insert_with(|| {
            let frame = |it: &OriginFrame| {
                let file = profile.strings.intern(stacks.strings.get(it.file));
                let function = profile.strings.intern(stacks.strings.get(it.function));
                let frame = OriginFrame { file, function, ..*it };
                CapturedLine { parts: vec![vec![frame]], evidence: CapturedEvidence::Exact }
            };
            let lines = stack.iter().map(frame).collect();
            profile.captured.stacks.push(lines);
            profile.captured.are_whole.push(true);
            u32::try_from(profile.captured.stacks.len()).unwrap_or(u32::MAX)
        });
    }
    profile.captured.of_event = of_event;
    joined
}

/// The ids that a node may have in a file of stacks, the best first: with the id of its graph, whether the trace has that in the id
/// of the node or not, and as it is in the trace.
fn node_ids(graph: i64, node: i64) -> [Option<u64>; 2] {
    let node = u64::try_from(node).ok().filter(|it| *it > 0);
    let graph = u64::try_from(graph).ok().filter(|it| *it > 0);
    let with_graph = graph.zip(node).map(|(graph, node)| (graph << 32) | (node & 0xffff_ffff));
    [with_graph, node]
}

/// The launches of graphs, in order.
pub(crate) fn replays(profile: &Profile) -> Vec<Replay> {
    let (host, device) = (&profile.host, &profile.device);
    let launches = Launches::new(profile);
    let is_graph_launch =
        |call: HostEventId| launches_graph(profile.strings.get(host.name[call.index()]));
    let mut by_launch: BTreeMap<i64, Vec<DeviceEventId>> = BTreeMap::new();
    let mut start_of: FxHashMap<i64, Ns> = FxHashMap::default();
    for event in device.ids() {
        let (row, call) = (event.index(), launches.call(event));
        let is_of_graph = device.graph_id[row] > 0 || call.is_some_and(is_graph_launch);
        let correlation = device.correlation[row];
        if is_of_graph && correlation > 0 {
            by_launch.entry(correlation).or_default().push(event);
            let start = call.map_or(device.start[row], |it| host.start[it.index()]);
            let first = start_of.entry(correlation).or_insert(start);
            *first = start.min(*first);
        }
    }
    let replay = |(correlation, mut events): (i64, Vec<DeviceEventId>)| {
        events.sort_by_key(|it| device.start[it.index()]);
        let mut streams: BTreeMap<(i32, i64), Vec<DeviceEventId>> = BTreeMap::new();
        for event in events {
            let stream = (device.device[event.index()], device.stream[event.index()]);
            streams.entry(stream).or_default().push(event);
        }
        let start = start_of.get(&correlation).copied().unwrap_or_default();
        Replay { start, streams: streams.into_values().collect() }
    };
    let mut replays: Vec<Replay> = by_launch.into_iter().map(replay).collect();
    replays.sort_by_key(|it| it.start);
    replays
}

/// Decides which captures fit a replay.
struct ReplayMatcher<'a> {
    profile: &'a Profile,
    classes: &'a KernelClasses,
    captures: &'a GraphCaptures,
}

impl<'a> ReplayMatcher<'a> {
    fn name(&self, event: DeviceEventId) -> &'a str {
        self.profile.strings.get(self.profile.device.name[event.index()])
    }

    /// The captures that fit `replay`, each with the stack of every event. Where nothing but the number of launches says that
    /// they do, they must agree.
    fn fitting(&self, replay: &Replay) -> Vec<(usize, StackRows)> {
        // Graphs of several sizes of a batch are mostly alike, launch by launch: what one says, all do.
        let mut pairs: FxHashMap<&[CapturedLaunch], Option<StackRows>> = FxHashMap::default();
        let mut pair = |graph: &'a [CapturedLaunch]| {
            pairs.entry(graph).or_insert_with(|| self.pair(graph, replay)).clone()
        };
        let graphs = self.captures.graphs.iter().enumerate();
        let mut fitting: Vec<(usize, StackRows)> =
            graphs.filter_map(|(at, graph)| Some((at, pair(graph)?))).collect();
        let agree: Vec<bool> = match fitting.split_first() {
            None => Vec::new(),
            Some(((_, first), others)) => {
                let agrees = |(place, row): (usize, &(u32, bool))| {
                    others.iter().all(|it| it.1[place].0 == row.0)
                };
                first.iter().enumerate().map(agrees).collect()
            }
        };
        let is_named = |at: usize| {
            self.captures.graphs[at].iter().any(|it| it.name.get().is_some() || it.communicates)
        };
        if agree.contains(&false) {
            fitting.retain(|(at, _)| is_named(*at));
        }
        for (_, rows) in &mut fitting {
            rows.iter_mut().zip(&agree).for_each(|(row, agree)| row.1 &= agree);
        }
        fitting
    }

    /// The stack of each event of `replay`, in the order of its streams, if `graph` launches these, and whether it is certain.
    /// Each stream runs its part in the order of the launches.
    fn pair(&self, graph: &[CapturedLaunch], replay: &Replay) -> Option<StackRows> {
        let streams = &replay.streams;
        if streams.iter().map(Vec::len).sum::<usize>() != graph.len() {
            return None;
        }
        if let [only] = &streams[..] {
            let fits = graph.iter().zip(only).all(|(launch, event)| self.fits(launch, *event));
            return fits.then(|| graph.iter().map(|it| (it.stack, true)).collect());
        }
        StreamWays::new(self, graph, streams).rows()
    }

    /// Whether `event` may be what `launch` launched.
    fn fits(&self, launch: &CapturedLaunch, event: DeviceEventId) -> bool {
        let kind = self.profile.device.kind[event.index()];
        // Some copies and fills run as kernels.
        let is_kind = kind == launch.kind || kind == DeviceKind::Kernel;
        let is_kernel = launch.kind == DeviceKind::Kernel && kind == DeviceKind::Kernel;
        let name = launch.name.get().filter(|_| is_kernel);
        is_kind
            && (!launch.communicates || self.classes.class(event) == KernelClass::Communication)
            && name.is_none_or(|it| {
                is_same_kernel(self.captures.stacks.strings.get(it), self.name(event))
            })
    }

    /// Whether the name of the kernel has that of the operator in it: `sin_kernel_cuda` of `aten::sin`, `CUDAFunctor_add` of
    /// `aten::add_`, `sgemm` of a product of matrices.
    fn is_named_after(&self, launch: &CapturedLaunch, event: DeviceEventId) -> bool {
        let operator = launch.operator.get().map_or("", |it| self.captures.stacks.strings.get(it));
        let operator = operator.rsplit("::").next().unwrap_or(operator);
        let kernel = self.name(event).to_ascii_lowercase();
        if matches!(operator, "mm" | "addmm" | "bmm" | "baddbmm" | "_scaled_mm") {
            return MATRIX_PRODUCTS.iter().any(|it| kernel.contains(it));
        }
        let word = operator.trim_start_matches('_').split('_').next().unwrap_or_default();
        word.len() > 2 && kernel.contains(word)
    }

    /// Why `replay` fits no capture.
    fn refused(&self, replay: &Replay) -> RefusedReplay {
        let mut events: Vec<DeviceEventId> = replay.streams.concat();
        events.sort_by_key(|it| self.profile.device.start[it.index()]);
        let first = events.first().map_or("", |&it| self.name(it)).to_owned();
        let alike = self.captures.graphs.iter().find(|it| it.len() == events.len());
        let differs = alike.and_then(|graph| {
            let place = graph.iter().zip(&events).position(|(it, event)| !self.fits(it, *event))?;
            let launched =
                graph[place].name.get().map_or("", |it| self.captures.stacks.strings.get(it));
            Some((place + 1, launched.to_owned(), self.name(events[place]).to_owned()))
        });
        RefusedReplay { kernels: events.len(), first, differs }
    }
}

/// The ways to put the launches of a graph on the streams of a replay, each stream in the order of the launches.
///
/// What matters of the chains that are placed already is only how many launches each stream has. So the ways are the paths through
/// levels of such states, one level for each chain, and there are few states where there are many ways.
struct StreamWays<'a> {
    matcher: &'a ReplayMatcher<'a>,
    graph: &'a [CapturedLaunch],
    streams: &'a [Vec<DeviceEventId>],
    /// Whether the names of all kernels are known: then each is what starts first under its name.
    are_named: bool,
    /// What goes on a stream as a whole, by places in the graph, in the order of the first.
    chains: Vec<Vec<usize>>,
}

/// By stream, how many launches are on it.
type Taken = Vec<usize>;

/// A stream that a chain may be on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ChainPlace {
    /// How many kernels, of this chain and those behind it, have the name of their operator in theirs.
    named: usize,
    /// When the chain would start: the earlier, the greater.
    start: Reverse<Ns>,
    stream: usize,
}

/// Of a level, by state, the places of its chain from where the ways go on to the end: the best last.
type StateLevel = FxHashMap<Taken, Vec<ChainPlace>>;

impl<'a> StreamWays<'a> {
    fn new(
        matcher: &'a ReplayMatcher<'a>,
        graph: &'a [CapturedLaunch],
        streams: &'a [Vec<DeviceEventId>],
    ) -> Self {
        let are_named = graph.iter().all(|it| it.name.get().is_some());
        let mut chains: Vec<Vec<usize>> = Vec::new();
        let mut of_number: FxHashMap<u32, usize> = FxHashMap::default();
        for (at, launch) in graph.iter().enumerate() {
            // Names show it, whatever the program does.
            let number = launch.chain.filter(|_| !are_named);
            let new = chains.len();
            let chain = number.map_or(new, |it| *of_number.entry(it).or_insert(new));
            match chains.get_mut(chain) {
                Some(chain) => chain.push(at),
                None => chains.push(vec![at]),
            }
        }
        Self { matcher, graph, streams, are_named, chains }
    }

    /// The stacks of the events, in the order of the streams. Of several ways it is that in which the most kernels have the names of
    /// their operators, and of these, that in which chains start earliest; certain is what they agree on. `None` if there is no
    /// way, nothing shows which, or there are too many states.
    fn rows(&self) -> Option<StackRows> {
        let levels = self.levels()?;
        let mut first: Vec<Vec<Option<u32>>> =
            self.streams.iter().map(|it| vec![None; it.len()]).collect();
        let mut are_certain: Vec<Vec<bool>> =
            self.streams.iter().map(|it| vec![true; it.len()]).collect();
        let mut best = vec![0; self.streams.len()];
        for (chain, level) in self.chains.iter().zip(&levels) {
            let stream = level.get(&best)?.last()?.stream;
            for (&at, row) in chain.iter().zip(&mut first[stream][best[stream]..]) {
                *row = Some(self.graph[at].stack);
            }
            best[stream] += chain.len();
        }
        let mut states: FxHashSet<Taken> = [vec![0; self.streams.len()]].into_iter().collect();
        for (chain, level) in self.chains.iter().zip(&levels) {
            let mut next = FxHashSet::default();
            for state in &states {
                for &ChainPlace { stream, .. } in self.as_good(level.get(state)?) {
                    for (n, &at) in chain.iter().enumerate() {
                        let event = state[stream] + n;
                        are_certain[stream][event] &=
                            first[stream][event] == Some(self.graph[at].stack);
                    }
                    next.insert(behind(state, stream, chain.len()));
                }
            }
            states = next;
        }
        let rows = first.into_iter().flatten().zip(are_certain.into_iter().flatten());
        rows.map(|(row, is_certain)| Some((row?, is_certain))).collect()
    }

    /// The states of each level and where the ways go on from them; `None` if nothing shows which, or there are too many.
    fn levels(&self) -> Option<Vec<StateLevel>> {
        let mut levels: Vec<StateLevel> = Vec::with_capacity(self.chains.len());
        let mut states: FxHashSet<Taken> = [vec![0; self.streams.len()]].into_iter().collect();
        let mut room = MAX_STATES;
        for chain in &self.chains {
            room = room.checked_sub(states.len())?;
            let (mut level, mut next) = (StateLevel::default(), FxHashSet::default());
            for state in states {
                let places = self.places(chain, &state)?;
                next.extend(places.iter().map(|it| behind(&state, it.stream, chain.len())));
                level.insert(state, places);
            }
            levels.push(level);
            states = next;
        }
        // From the end: by state, how many kernels behind it are named at most.
        let mut named: FxHashMap<Taken, usize> = states.into_iter().map(|it| (it, 0)).collect();
        for (chain, level) in self.chains.iter().zip(&mut levels).rev() {
            let mut named_from = FxHashMap::default();
            for (state, places) in level {
                places.retain_mut(|it| {
                    let after = named.get(&behind(state, it.stream, chain.len()));
                    it.named += after.copied().unwrap_or_default();
                    after.is_some()
                });
                places.sort_unstable();
                if let Some(best) = places.last() {
                    named_from.insert(state.clone(), best.named);
                }
            }
            named = named_from;
        }
        Some(levels)
    }

    /// Where `chain` may be if so many launches are on the streams. `None` if it is a launch alone, and nothing shows which of several kernels it is.
    fn places(&self, chain: &[usize], taken: &[usize]) -> Option<Vec<ChainPlace>> {
        let mut places = Vec::new();
        let mut first_names = Vec::new();
        for (stream, events) in self.streams.iter().enumerate() {
            let begin = taken[stream];
            let Some(events) = events.get(begin..begin + chain.len()) else { continue };
            let mut pairs = chain.iter().map(|&at| &self.graph[at]).zip(events);
            if !pairs.clone().all(|(launch, event)| self.matcher.fits(launch, *event)) {
                continue;
            }
            let named = pairs.clone().filter(|it| self.matcher.is_named_after(it.0, *it.1)).count();
            let Some((_, &first)) = pairs.next() else { continue };
            let start = Reverse(self.matcher.profile.device.start[first.index()]);
            places.push(ChainPlace { named, start, stream });
            first_names.push(self.matcher.name(first));
        }
        let launch = &self.graph[*chain.first()?];
        let is_alone = launch.name.get().is_none() && launch.chain.is_none();
        if is_alone && first_names.windows(2).any(|it| it[0] != it[1]) {
            return None;
        }
        Some(places)
    }

    /// Those of `places` that are as good as the best: of launches with names, which are what starts first, the best alone.
    fn as_good<'p>(&self, places: &'p [ChainPlace]) -> &'p [ChainPlace] {
        let most = places.last().map_or(0, |it| it.named);
        let from = match self.are_named {
            true => places.len().saturating_sub(1),
            false => places.partition_point(|it| it.named < most),
        };
        &places[from..]
    }
}

/// The state after `n` more launches on `stream`.
fn behind(taken: &[usize], stream: usize, n: usize) -> Taken {
    let mut taken = taken.to_vec();
    taken[stream] += n;
    taken
}

/// Whether `launched` and `ran` name the same kernel; one of them may be mangled.
fn is_same_kernel(launched: &str, ran: &str) -> bool {
    match (qualified_name(launched), qualified_name(ran)) {
        (None, Some(mangled)) => launched.contains(&mangled),
        (Some(mangled), None) => ran.contains(&mangled),
        _ => launched == ran,
    }
}

/// The name in front of the arguments of a mangled name: `at::native::fill` of `_ZN2at6native4fillILi4EEE…`; `None` of a name that
/// is not mangled.
fn qualified_name(name: &str) -> Option<String> {
    let mut rest = name.strip_prefix("_Z")?;
    rest = rest.strip_prefix('N').unwrap_or(rest);
    let mut parts = Vec::new();
    while let Some(length) = rest.find(|it: char| !it.is_ascii_digit()).filter(|it| *it > 0) {
        let (digits, behind) = rest.split_at(length);
        let part = behind.get(..digits.parse().ok()?)?;
        parts.push(part);
        rest = &behind[part.len()..];
    }
    Some(parts.join("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_names_are_compared_by_their_qualified_name() {
        let mangled =
            "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIiEEEEviT0_T1_";
        let plain =
            "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>>(int)";
        assert!(is_same_kernel(mangled, plain) && is_same_kernel(plain, mangled));
        assert!(is_same_kernel(mangled, mangled));
        assert!(!is_same_kernel(mangled, "void at::native::reduce_kernel<512>(int)"));
        assert!(!is_same_kernel("triton_poi_fused_0", "triton_poi_fused_1"));
        assert!(!is_same_kernel("_Z9999x", "x"), "damaged: the name ends before its part does");
    }
}
