//! What the calls of each module took: their time, the device time that they launched, and their backward nodes.

use std::collections::BTreeMap;

use ledger::{ModuleBooks, ModuleKey, Ns};
use profile::{HostEventId, HostKind, Profile, StrId};
use recorded::Launches;
use rustc_hash::{FxHashMap, FxHashSet};
use stack_books::EventChoice;

use crate::event_stacks::EventStacks;

/// What the events of calls of modules are named, before their class and a number.
pub(crate) const MODULE: &str = "nn.Module: ";

/// The modules that ran, as `docs/accounting.md` defines their amounts. `backward` is the thread time of backward nodes.
pub(crate) fn modules_that_ran(
    profile: &Profile,
    launches: &Launches,
    (events, backward): (&EventStacks<'_>, &[Ns]),
    forward: &[HostEventId],
) -> BTreeMap<ModuleKey, ModuleBooks> {
    let names = module_names(profile);
    if names.is_empty() {
        return BTreeMap::new();
    }
    let host = &profile.host;
    let mut is_asked = vec![false; host.len()];
    let launched = profile.device.ids().filter_map(|it| launches.launch(it));
    for event in launched.chain(forward.iter().filter_map(|it| it.get())) {
        is_asked[event.index()] = true;
    }
    let mut calls = ModuleCalls::new(profile, events, &names, &is_asked);
    let call_of_forward = |calls: &ModuleCalls, row: usize| calls.around(forward.get(row)?.get()?);
    for (row, &time) in backward.iter().enumerate() {
        if let Some(call) = call_of_forward(&calls, row) {
            calls.rows[call].cpu_backward += time;
        }
    }
    for event in profile.device.ids() {
        let Some(launch) = launches.launch(event) else { continue };
        let time = profile.device.duration[event.index()];
        if let Some(call) = calls.around(launch) {
            calls.rows[call].cuda += time;
            continue;
        }
        let node = events.backward_node.get(launch.index()).and_then(|it| it.checked_sub(1));
        if let Some(call) = node.and_then(|it| call_of_forward(&calls, it as usize)) {
            calls.rows[call].cuda_backward += time;
        }
    }
    calls.into_books()
}

/// A call of a module.
struct ModuleCall {
    /// Place in [`ModuleCalls::modules`].
    module: usize,
    end: Ns,
    /// The call of a module that it is in.
    parent: Option<usize>,
    /// Whether no call that it is in is one of the same module.
    is_outermost: bool,
    /// Device time that it launched, at first outside of the calls in it.
    cuda: Ns,
    cpu_backward: Ns,
    cuda_backward: Ns,
}

/// All calls of modules.
struct ModuleCalls {
    modules: Vec<(ModuleKey, ModuleBooks)>,
    /// In the order of their starts, so that each comes after the one that it is in.
    rows: Vec<ModuleCall>,
    /// By host event, one more than the row of the innermost call at its start, or 0.
    row_of: Vec<u32>,
}

/// The calls that are open on a thread.
#[derive(Default)]
struct OpenCalls {
    /// Outermost first.
    rows: Vec<usize>,
    /// How many there are of each module.
    of_module: FxHashMap<usize, u32>,
}

impl ModuleCalls {
    /// `names` are those of [`module_names`], `is_asked` says of which host events [`Self::around`] is to know the call.
    fn new(
        profile: &Profile,
        events: &EventStacks<'_>,
        names: &[StrId],
        is_asked: &[bool],
    ) -> Self {
        let host = &profile.host;
        let mut calls = Self { modules: Vec::new(), rows: Vec::new(), row_of: vec![0; host.len()] };
        // By name of an event: one more than the place of its module, or 0.
        let mut places = vec![0_u32; names.last().map_or(0, |it| it.index() + 1)];
        // Two events whose modules have one name are calls of one.
        let mut by_key: FxHashMap<ModuleKey, u32> = FxHashMap::default();
        for &name in names {
            let (key, books) = described(profile, name);
            places[name.index()] = *by_key.entry(key.clone()).or_insert_with(|| {
                calls.modules.push((key, books));
                u32::try_from(calls.modules.len()).unwrap_or(u32::MAX)
            });
        }
        let mut open: Vec<OpenCalls> = Vec::new();
        open.resize_with(profile.threads.len(), OpenCalls::default);
        for &event in &events.order {
            let place = match host.kind[event.index()] {
                HostKind::Python => places.get(host.name[event.index()].index()).copied(),
                _ => None,
            };
            let module = place.and_then(|it| it.checked_sub(1));
            if module.is_none() && !is_asked[event.index()] {
                continue;
            }
            let start = host.start[event.index()];
            let open = &mut open[host.thread[event.index()].index()];
            while let Some(&row) = open.rows.last().filter(|&&row| calls.rows[row].end <= start) {
                open.rows.pop();
                open.of_module.entry(calls.rows[row].module).and_modify(|it| *it -= 1);
            }
            if let Some(module) = module {
                calls.push(module as usize, open, start, host.end(event));
            }
            let row = open.rows.last().and_then(|&it| u32::try_from(it + 1).ok());
            calls.row_of[event.index()] = row.unwrap_or(0);
        }
        calls
    }

    fn push(&mut self, module: usize, open: &mut OpenCalls, start: Ns, end: Ns) {
        let parent = open.rows.last().copied();
        if let Some(parent) = parent.and_then(|it| self.rows.get(it)) {
            // What overlaps without nesting is in the other call as far as that goes.
            self.modules[parent.module].1.cpu_own -= end.min(parent.end) - start;
        }
        let n_open = open.of_module.entry(module).or_default();
        let is_outermost = *n_open == 0;
        *n_open += 1;
        let books = &mut self.modules[module].1;
        books.calls += 1;
        books.cpu_own += end - start;
        if is_outermost {
            books.cpu_total += end - start;
        }
        open.rows.push(self.rows.len());
        let [cuda, cpu_backward, cuda_backward] = [Ns::ZERO; 3];
        let row =
            ModuleCall { module, end, parent, is_outermost, cuda, cpu_backward, cuda_backward };
        self.rows.push(row);
    }

    /// The innermost call of a module that is open when a host event begins.
    fn around(&self, event: HostEventId) -> Option<usize> {
        (*self.row_of.get(event.index())? as usize).checked_sub(1)
    }

    /// Adds what calls launched to the calls around them, and all of it to their modules.
    fn into_books(mut self) -> BTreeMap<ModuleKey, ModuleBooks> {
        for call in &self.rows {
            self.modules[call.module].1.cuda_own += call.cuda;
        }
        while let Some(call) = self.rows.pop() {
            if let Some(parent) = call.parent.and_then(|it| self.rows.get_mut(it)) {
                parent.cuda += call.cuda;
                parent.cpu_backward += call.cpu_backward;
                parent.cuda_backward += call.cuda_backward;
            }
            if call.is_outermost {
                let books = &mut self.modules[call.module].1;
                books.cuda_total += call.cuda;
                books.cpu_backward += call.cpu_backward;
                books.cuda_backward += call.cuda_backward;
            }
        }
        self.modules.into_iter().collect()
    }
}

/// The class of the module whose calls are named `event`: `Linear` of `nn.Module: Linear_7`.
pub(crate) fn module_class(event: &str) -> &str {
    let numbered = event.strip_prefix(MODULE).unwrap_or(event);
    numbered.rsplit_once('_').map_or(numbered, |(class, _)| class)
}

/// Of each host event, whether it began in a call of one of the modules that `choice` names.
pub(super) fn are_in_modules(
    profile: &Profile,
    events: &EventStacks<'_>,
    choice: &EventChoice,
) -> Vec<bool> {
    let mut chosen = FxHashSet::default();
    chosen.extend(module_names(profile).into_iter().filter(|&name| {
        let (key, _) = described(profile, name);
        choice.has_module(&key.name, &key.class)
    }));
    let host = &profile.host;
    let mut is_in = vec![false; host.len()];
    // The ends of the calls that are open on each thread.
    let mut open: Vec<Vec<Ns>> = vec![Vec::new(); profile.threads.len()];
    for &event in &events.order {
        let open = &mut open[host.thread[event.index()].index()];
        let start = host.start[event.index()];
        while open.last().is_some_and(|end| *end <= start) {
            open.pop();
        }
        let is_python = host.kind[event.index()] == HostKind::Python;
        if is_python && chosen.contains(&host.name[event.index()]) {
            open.push(host.end(event));
        }
        is_in[event.index()] = !open.is_empty();
    }
    is_in
}

/// What calls of modules are named, in ascending order.
fn module_names(profile: &Profile) -> Vec<StrId> {
    let named = profile.strings.iter().filter(|(_, text)| text.starts_with(MODULE));
    let mut names: Vec<StrId> = named.map(|(id, _)| id).collect();
    names.sort_unstable();
    names
}

/// The module whose calls are named `event`, without what they took.
fn described(profile: &Profile, event: StrId) -> (ModuleKey, ModuleBooks) {
    let text = profile.strings.get(event);
    let (numbered, class) =
        (text.strip_prefix(MODULE).unwrap_or(text), module_class(text).to_owned());
    let recorded = profile.module(event);
    let name = recorded.map_or(numbered, |it| profile.strings.get(it.name)).to_owned();
    let books = ModuleBooks {
        is_named: recorded.is_some(),
        parameters: recorded.and_then(|it| it.parameters),
        parameter_bytes: recorded.and_then(|it| it.parameter_bytes),
        ..ModuleBooks::default()
    };
    (ModuleKey { name, class }, books)
}
