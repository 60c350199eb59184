//! A trace and a memory snapshot of the same run: both recorded the same allocations, the trace with the operator that
//! made them, the snapshot with the lines that were executing. Together they show the line of the operator, and of every
//! call around it, exactly.
//!
//! `pair` finds which allocation is which; here the stacks of both are held against each other, and what they agree
//! on is noted in the trace. Where they do not agree, nothing is.

mod pair;

use profile::{
    Bytes, DeviceType, HostEventId, HostKind, MemoryDevice, Ns, Profile, Snapshot, SnapshotAction,
    SnapshotFrame, StackId, WarningKind, Warnings,
};
use recorded::{Frame, function_of, in_order, is_compiled_range, is_path_of, is_python};
use rustc_hash::FxHashMap;

use pair::{AllocatorEvent, Refused, pair};

/// Share of what both show, in percent, on which they may differ; else they are of different programs.
const MAX_DIFFERENT_PERCENT: usize = 2;

/// Fills the lines of operators, and of calls without an exact caller, that `snapshot` knows. Where it does not fit the
/// trace, nothing is changed, and a warning says why.
pub fn join_snapshot(profile: &mut Profile, snapshot: &Snapshot) -> Warnings {
    let mut warnings = Warnings::default();
    let mut devices: Vec<MemoryDevice> = profile.memory.device.clone();
    devices.sort_unstable();
    devices.dedup();
    devices.retain(|it| it.kind != DeviceType::CPU);
    let mut paired: Vec<(u32, StackId)> = Vec::new();
    for device in devices {
        pair_device(profile, snapshot, device, &mut paired, &mut warnings);
    }
    if paired.is_empty() {
        return warnings;
    }
    paired.sort_by_key(|&(row, _)| (profile.memory.at[row as usize], row));
    let found = Assignments::new(profile, snapshot, &paired);
    let n_checked = found.n_same + found.n_different;
    if n_checked * MAX_DIFFERENT_PERCENT < found.n_different * 100 {
        let message = format!(
            "{} of {n_checked} stacks of the snapshot are not those of the trace: it belongs to another program, and its lines are not used for operators",
            found.n_different
        );
        warnings.add(WarningKind::SnapshotMismatch, None, message);
        return warnings;
    }
    found.store(profile);
    warnings
}

/// Pairs the allocations on one device: rows of the trace's memory table with stacks of the snapshot.
fn pair_device(
    profile: &Profile,
    snapshot: &Snapshot,
    device: MemoryDevice,
    paired: &mut Vec<(u32, StackId)>,
    warnings: &mut Warnings,
) {
    let here = snapshot.devices.iter().filter(|it| it.device == device.ordinal);
    let recorded: Vec<(AllocatorEvent, StackId)> = here
        .flat_map(|it| &it.events)
        .filter_map(|event| {
            let is_alloc = match event.action {
                SnapshotAction::Alloc => true,
                SnapshotAction::FreeRequested => false,
                _ => return None,
            };
            Some((AllocatorEvent::new(event.at, event.address, event.size, is_alloc), event.stack))
        })
        .collect();
    if recorded.is_empty() {
        // It holds no more than the state at its end, or says nothing about the device.
        return;
    }
    let memory = &profile.memory;
    let mut rows: Vec<u32> = (0..u32::try_from(memory.len()).unwrap_or(u32::MAX))
        .filter(|&row| memory.device[row as usize] == device && memory.address[row as usize] != 0)
        .collect();
    rows.sort_by_key(|&row| memory.at[row as usize]);
    let traced: Vec<AllocatorEvent> = rows
        .iter()
        .map(|&row| {
            let (at, bytes) = (memory.at[row as usize], memory.bytes[row as usize]);
            let at = profile.meta.base.saturating_add(at).max(Ns::ZERO);
            AllocatorEvent::new(
                at,
                memory.address[row as usize],
                Bytes(bytes.0.saturating_abs()),
                bytes > Bytes::ZERO,
            )
        })
        .collect();
    let (events, stacks): (Vec<AllocatorEvent>, Vec<StackId>) = recorded.into_iter().unzip();
    let found = match pair(&traced, &events, |one, other| stacks[one] == stacks[other]) {
        Ok(found) => found,
        Err(why) => {
            warnings.add(WarningKind::SnapshotMismatch, None, refusal(&why, device.ordinal));
            return;
        }
    };
    if found.pairs.len() < traced.len() {
        let n_outside = traced.len() - found.n_during;
        let message = format!(
            "{} of {} memory events of device {} are not in the snapshot{}: the lines that they give to operators are missing",
            traced.len() - found.pairs.len(),
            traced.len(),
            device.ordinal,
            if 0 < n_outside { ", whose history is shorter than the trace" } else { "" }
        );
        warnings.add(WarningKind::SnapshotMismatch, None, message);
    }
    let allocs = found.pairs.into_iter().filter(|&(event, _)| traced[event].is_alloc);
    paired.extend(allocs.map(|(event, it)| (rows[event], stacks[it])));
}

fn refusal(why: &Refused, ordinal: i32) -> String {
    let what = match why {
        Refused::TooFew(n) => format!("only {n} of the trace's memory events lie in its history"),
        Refused::OtherTime(apart) => format!(
            "{} s lie between their times, so it belongs to another run, or lost that part of its history (max_entries)",
            apart.abs().0 / 1_000_000_000
        ),
        Refused::Mismatch(of, n) => format!(
            "only {n} of {of} memory events are in both at the same time and address, so it belongs to another run"
        ),
        Refused::Ambiguous => "its history fits the trace in several ways".to_owned(),
    };
    format!("the snapshot's lines are not used for operators: on device {ordinal}, {what}")
}

/// What the stacks of the snapshot show of the events of the trace.
#[derive(Debug, Default)]
struct Assignments {
    /// Calls and operators with the file, as the trace spells it, and the line; line 0 where allocations differ.
    lines: FxHashMap<HostEventId, (String, u32)>,
    /// How often both show the same frame, or caller, and how often not.
    n_same: usize,
    n_different: usize,
}

impl Assignments {
    /// `paired` are in order of time.
    fn new(profile: &Profile, snapshot: &Snapshot, paired: &[(u32, StackId)]) -> Self {
        let mut found = Self::default();
        let host = &profile.host;
        let mut times = host.start.iter().chain(&host.duration);
        let is_in_microseconds = times.all(|time| time.0 % 1_000 == 0);
        let mut stacks: Vec<Vec<HostEventId>> = vec![Vec::new(); profile.threads.len()];
        let mut events = in_order(profile).into_iter().peekable();
        for &(row, stack) in paired {
            let (thread, at) =
                (profile.memory.thread[row as usize].index(), profile.memory.at[row as usize]);
            while let Some(id) = events.next_if(|&id| host.start[id.index()] <= at) {
                let open = &mut stacks[host.thread[id.index()].index()];
                open.retain(|&it| host.end(it) > host.start[id.index()]);
                open.push(id);
            }
            let open = &stacks[thread];
            // In whole microseconds, what began in this one may have begun after the allocation.
            if is_in_microseconds && open.last().is_some_and(|it| host.start[it.index()] == at) {
                continue;
            }
            let open = open.iter().rev().copied().filter(|&it| host.end(it) > at);
            found.add(profile, snapshot, open, snapshot.frames(stack));
        }
        found
    }

    /// One allocation: the events that were open in the trace, and the frames of the snapshot, both innermost first.
    fn add(
        &mut self,
        profile: &Profile,
        snapshot: &Snapshot,
        open: impl Iterator<Item = HostEventId>,
        frames: &[SnapshotFrame],
    ) {
        let host = &profile.host;
        let mut frames = frames.iter().filter(|frame| is_python(snapshot, frame));
        // Events directly below the next frame, whose line is the one that this frame was on.
        let mut below: Vec<HostEventId> = Vec::new();
        let mut operator = None;
        let mut is_first = true;
        for event in open {
            match host.kind[event.index()] {
                // The outermost of those below the next Python event.
                HostKind::Operator => {
                    let name = profile.strings.get(host.name[event.index()]);
                    operator = if is_compiled_range(name) { operator } else { Some(event) };
                }
                HostKind::Annotation | HostKind::Runtime => {}
                HostKind::Python => {
                    below.extend(operator.take());
                    let name = profile.strings.get(host.name[event.index()]);
                    if name.starts_with('<') && Frame::parse(name).is_none() {
                        below.push(event);
                        continue;
                    }
                    let Some(frame) = frames.next() else { return };
                    let Some(file) = same_frame(name, snapshot, frame) else {
                        self.n_different += usize::from(is_first);
                        return;
                    };
                    self.n_same += usize::from(is_first);
                    is_first = false;
                    for event in below.drain(..) {
                        self.assign(profile, event, file, frame.line);
                    }
                    below.push(event);
                }
            }
        }
    }

    fn assign(&mut self, profile: &Profile, event: HostEventId, file: &str, line: u32) {
        let row = profile.host.detail_row(event);
        if profile.host.kind[event.index()] == HostKind::Python
            && let Some(caller) = profile.host.python.caller[row].get()
        {
            let caller = profile.strings.get(caller);
            let is_same = caller.rsplit_once(':').is_some_and(|(of, number)| {
                of == file && number.parse().is_ok_and(|number: u32| number == line)
            });
            *(if is_same { &mut self.n_same } else { &mut self.n_different }) += 1;
            return;
        }
        match self.lines.get_mut(&event) {
            None => {
                self.lines.insert(event, (file.to_owned(), line));
            }
            Some((_, known)) if *known == line => {}
            // A range that lasts over several lines.
            Some((_, known)) => *known = 0,
        }
    }

    /// Writes the lines into the trace.
    fn store(self, profile: &mut Profile) {
        let n_operators = profile.host.operators.external_id.len();
        profile.host.operators.line.resize(n_operators, profile::StrId::NONE);
        for (event, (file, line)) in self.lines {
            if line == 0 {
                continue;
            }
            let text = profile.strings.intern(&format!("{file}:{line}"));
            let row = profile.host.detail_row(event);
            match profile.host.kind[event.index()] {
                HostKind::Operator => profile.host.operators.line[row] = text,
                _ => profile.host.python.caller[row] = text,
            }
        }
    }
}

/// Whether the Python event called `name` is the frame of a snapshot; then its file, as the trace spells it.
fn same_frame<'a>(name: &'a str, snapshot: &Snapshot, frame: &SnapshotFrame) -> Option<&'a str> {
    let (path, function) = (snapshot.strings.get(frame.file), snapshot.strings.get(frame.function));
    let Some(traced) = Frame::parse(name) else {
        // `nn.Module: Linear_0` stands for the frame of `Module.__call__`.
        const MODULE: &str = "torch/nn/modules/module.py";
        let is_call = ["_wrapped_call_impl", "_call_impl", "__call__"].contains(&function);
        return (name.starts_with("nn.Module: ") && is_call && is_path_of(path, MODULE))
            .then_some(MODULE);
    };
    // Methods may have the name of their class before their own.
    let function = function_of(function).rsplit('.').next().unwrap_or_default();
    let is_same =
        traced.function.rsplit('.').next() == Some(function) && is_path_of(path, traced.file);
    is_same.then_some(traced.file)
}

#[cfg(test)]
mod tests;
