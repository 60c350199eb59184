//! Who launched each device event, as far as the numbers of the recording show.

use profile::{DeviceEventId, HostEventId, HostKind, Ns, Profile};
use rustc_hash::FxHashMap;

use crate::runtime_calls::launches_graph;

/// The host events that launched each device event.
pub struct Launches {
    /// The runtime call with the event's `correlation`.
    runtime: Vec<HostEventId>,
    /// The operator with the runtime call's `External id`, then with the event's own.
    operator: Vec<[HostEventId; 2]>,
    /// The launch of the latest event before with the same `graph id` whose own launch is known.
    graph: Vec<HostEventId>,
    /// By device and stream: the start of the first event with a launch.
    first_launched: FxHashMap<(i32, i64), Ns>,
}

impl Launches {
    /// Looks up the launches of all device events.
    #[must_use]
    pub fn new(profile: &Profile) -> Self {
        let (host, device) = (&profile.host, &profile.device);
        let (by_correlation, by_external_id) = numbered_host_events(profile);
        let find = |map: &FxHashMap<i64, HostEventId>, number: i64| {
            map.get(&number).copied().unwrap_or(HostEventId::NONE)
        };
        let runtime: Vec<HostEventId> =
            device.correlation.iter().map(|&number| find(&by_correlation, number)).collect();
        let of_call = |event: DeviceEventId| {
            let call = runtime[event.index()].get();
            call.map_or(-1, |call| host.runtime.external_id[host.detail_row(call)])
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
        let mut launches = Self { runtime, operator, graph, first_launched: FxHashMap::default() };
        for event in device.ids() {
            if launches.launch(event).is_none() {
                continue;
            }
            let start = device.start[event.index()];
            let stream = (device.device[event.index()], device.stream[event.index()]);
            let first = launches.first_launched.entry(stream).or_insert(start);
            *first = start.min(*first);
        }
        launches
    }

    /// Whether the event was launched before recording began: its launch is not in the recording, and on its stream, which
    /// runs what it is given in order, it comes before all events whose launch is.
    #[must_use]
    pub fn is_in_flight(&self, profile: &Profile, event: DeviceEventId) -> bool {
        let (device, row) = (&profile.device, event.index());
        let first = self.first_launched.get(&(device.device[row], device.stream[row]));
        self.launch(event).is_none() && first.is_some_and(|&first| device.start[row] < first)
    }

    /// The host event that stands for the launch: the runtime call, else an operator, else the launch of its graph.
    #[must_use]
    pub fn launch(&self, event: DeviceEventId) -> Option<HostEventId> {
        let [_, own] = self.operator[event.index()];
        self.runtime[event.index()].get().or(own.get()).or(self.graph[event.index()].get())
    }

    /// The innermost operator around the launch, as far as `External id`s show.
    #[must_use]
    pub fn operator(&self, event: DeviceEventId) -> Option<HostEventId> {
        let [of_call, own] = self.operator[event.index()];
        of_call.get().or(own.get())
    }

    /// The runtime call that launched `event`, alone or with the rest of its graph.
    #[must_use]
    pub fn call(&self, event: DeviceEventId) -> Option<HostEventId> {
        self.runtime[event.index()].get()
    }

    /// The runtime call that launched `event`, and nothing else: a graph is launched as a whole. Recordings without
    /// `graph id` show it by the call alone (`cudaGraphLaunch`, `hipGraphLaunch`).
    #[must_use]
    pub fn own_call(&self, profile: &Profile, event: DeviceEventId) -> Option<HostEventId> {
        let call = self.call(event)?;
        let is_of_graph = || {
            let name = profile.strings.get(profile.host.name[call.index()]);
            profile.device.graph_id[event.index()] > 0 || launches_graph(name)
        };
        if is_of_graph() { None } else { Some(call) }
    }

    /// Everything that may show the stack, best first.
    pub fn candidates(&self, event: DeviceEventId) -> impl Iterator<Item = HostEventId> {
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
        let row = host.detail_row(id);
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
