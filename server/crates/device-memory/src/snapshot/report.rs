//! One device's replay to the books of its memory.

use std::collections::BTreeMap;

use ledger::{
    Bytes, DeviceMemory, Held, LineKey, LineMemory, Moment, Ns, OutOfMemory, Phase, Sample,
    StackLine, StepMemory,
};
use line_stacks::{LineId, Node, Stacks, line_key};
use profile::{Snapshot, SnapshotAction, StackId};
use rustc_hash::FxHashMap;

use super::replay::{LiveAllocation, SnapshotReplay};
use super::steps::DeviceSteps;
use crate::samples::samples;
use crate::space::Space;
use recorded::RecordedSources;

/// Failed requests that are reported of one device: the last ones, since one usually ends the run.
const MAX_OUT_OF_MEMORY: usize = 8;

/// Lines that are reported as holders of memory when a request failed.
const MAX_HOLDERS: usize = 10;

/// Annotated ranges that are reported around a moment: deeper nesting is not expected.
const MAX_OPEN: usize = 64;

/// What the frames of a snapshot say: the line and the phase of every stack.
pub(super) struct Frames<'a> {
    pub(super) sources: &'a RecordedSources,
    pub(super) stacks: Stacks,
    /// By [`StackId`].
    pub(super) nodes: Vec<Node>,
    /// By [`StackId`].
    pub(super) phases: Vec<Phase>,
    /// By [`StackId`], whether it is below activation checkpointing.
    pub(super) are_checkpointed: Vec<bool>,
}

impl Frames<'_> {
    /// The line that a stack is charged to, or [`LineId::NONE`].
    pub(super) fn charged_line(&self, stack: StackId) -> LineId {
        let node = self.nodes.get(stack.0 as usize);
        node.map_or(LineId::NONE, |&node| self.stacks.charged_line(node))
    }

    pub(super) fn phase(&self, stack: StackId) -> Phase {
        self.phases.get(stack.0 as usize).copied().unwrap_or(Phase::Forward)
    }

    pub(super) fn key(&self, line: LineId) -> LineKey {
        line_key(&self.stacks.lines, line)
    }

    /// The lines of a stack, outermost first.
    fn lines(&self, stack: StackId) -> Vec<StackLine> {
        let Some(&(mut node)) = self.nodes.get(stack.0 as usize) else { return Vec::new() };
        let mut lines = Vec::new();
        while !node.is_empty() {
            let line = self.stacks.line(node);
            let function = self.stacks.lines.function(line).to_owned();
            lines.push(StackLine { line: self.key(line), function });
            node = self.stacks.parent(node);
        }
        lines.reverse();
        lines
    }
}

/// The books of one device.
pub(super) fn report(
    snapshot: &Snapshot,
    ordinal: i32,
    frames: &Frames<'_>,
    replay: &SnapshotReplay<'_>,
) -> DeviceMemory {
    let steps = DeviceSteps::new(snapshot, ordinal, &replay.events, &frames.phases);
    let context = Context { snapshot, ordinal, frames, replay, steps: &steps };
    let space = Space::at_end(snapshot, ordinal);
    let last = u32::try_from(replay.events.len()).ok().and_then(|n| n.checked_sub(1));
    let mut memory = DeviceMemory {
        peak: replay.peak,
        peak_moment: context.moment(replay.peak_at),
        requested_peak: replay.requested_peak,
        end: replay.active_at_end(),
        reserved: replay.reserved_at(last),
        reserved_peak: replay.reserved.iter().copied().fold(replay.reserved_at_start, Bytes::max),
        events: replay.events.len() as u64,
        is_history_cut: is_history_cut(replay),
        fragmentation: space.fragmentation(&replay.used_at(last)),
        out_of_memory: context.out_of_memory(),
        purposes: context.purposes(),
        has_times: has_times(replay),
        timeline: timeline(replay),
        steps: context.step_memory(),
        ..DeviceMemory::default()
    };
    context.charge_allocations(&mut memory);
    context.charge_segments(&mut memory);
    memory
}

/// Something that is in use has a stack, so it was allocated while recording, but no event: the oldest events were
/// dropped (`max_entries`). Without any event nothing was to be dropped: the state alone was recorded.
fn is_history_cut(replay: &SnapshotReplay<'_>) -> bool {
    let has_history = replay.allocations.iter().any(|it| it.from.is_some());
    has_history && replay.allocations.iter().any(|it| it.from.is_none() && !it.is_before())
}

pub(super) struct Context<'a> {
    pub(super) snapshot: &'a Snapshot,
    ordinal: i32,
    pub(super) frames: &'a Frames<'a>,
    pub(super) replay: &'a SnapshotReplay<'a>,
    steps: &'a DeviceSteps,
}

/// Bytes by stack, at the peak and in all: which stack stands for a line.
type ByStack = FxHashMap<StackId, (Bytes, Bytes)>;

impl Context<'_> {
    pub(super) fn moment(&self, event: Option<u32>) -> Moment {
        let at = event.and_then(|event| self.time(event));
        let step = self.steps.of(event).and_then(|step| u32::try_from(step).ok());
        Moment {
            event: event.map_or(0, |event| u64::from(event) + 1),
            at: at.map(|at| at - self.time(0).unwrap_or(at)),
            step,
            annotations: at.map(|at| self.annotations(at)).unwrap_or_default(),
        }
    }

    /// When an event was, since the epoch.
    fn time(&self, event: u32) -> Option<Ns> {
        self.replay.events.get(event as usize).map(|event| event.at).filter(|&at| at >= Ns::ZERO)
    }

    /// Where an event is on the timeline.
    fn place(&self, event: u32) -> i64 {
        match (has_times(self.replay), self.time(event), self.time(0)) {
            (true, Some(at), Some(start)) => (at - start).max(Ns::ZERO).0,
            _ => i64::from(event),
        }
    }

    /// Names of the ranges that are open at a time, outermost first.
    fn annotations(&self, at: Ns) -> Vec<String> {
        let mut open: Vec<profile::StrId> = Vec::new();
        let here = self.snapshot.annotations.iter();
        for it in here.filter(|it| it.device == self.ordinal && it.at >= Ns::ZERO && it.at <= at) {
            if it.is_start && open.len() < MAX_OPEN {
                open.push(it.name);
            } else if let Some(place) = open.iter().rposition(|&name| name == it.name) {
                open.remove(place);
            }
        }
        open.into_iter().map(|name| self.snapshot.strings.get(name).to_owned()).collect()
    }

    fn step_memory(&self) -> Vec<StepMemory> {
        let n_events = self.replay.events.len();
        let steps = self.steps.0.iter().enumerate();
        steps
            .map(|(index, step)| {
                let last = self.steps.last_event(index, n_events);
                let first = step.first as usize;
                let during =
                    &self.replay.active[first..last.map_or(first, |last| last as usize + 1)];
                StepMemory {
                    name: step.name.clone(),
                    first_event: u64::from(step.first),
                    at: self.place(step.first),
                    peak: during.iter().copied().max().unwrap_or(Bytes::ZERO),
                    end: self.replay.active_at(last),
                }
            })
            .collect()
    }

    /// Charges every allocation to its line, or to what has none.
    fn charge_allocations(&self, memory: &mut DeviceMemory) {
        let peak_at = self.replay.peak_at;
        let mut lines: FxHashMap<LineId, LineMemory> = FxHashMap::default();
        let mut stacks: FxHashMap<LineId, ByStack> = FxHashMap::default();
        for it in &self.replay.allocations {
            let is_at_peak = it.is_alive_at(peak_at);
            let at_peak = if is_at_peak { it.bytes } else { Bytes::ZERO };
            if it.is_before() {
                memory.before += it.bytes;
                memory.before_at_peak += at_peak;
            } else if is_at_peak {
                *memory.peak_by_phase.entry(self.frames.phase(it.stack)).or_default() += it.bytes;
            }
            let Some(line) = self.frames.charged_line(it.stack).get() else {
                memory.unattributed_peak += at_peak;
                memory.unattributed_end += if it.to.is_none() { it.bytes } else { Bytes::ZERO };
                continue;
            };
            self.charge(lines.entry(line).or_default(), it, is_at_peak);
            let by_stack = stacks.entry(line).or_default().entry(it.stack).or_default();
            by_stack.0 += at_peak;
            by_stack.1 += it.bytes;
        }
        for &(stack, bytes) in &self.replay.former {
            let Some(line) = self.frames.charged_line(stack).get() else { continue };
            let books = lines.entry(line).or_default();
            books.alloc += bytes;
            books.allocs += 1;
            books.freed += bytes;
            books.frees += 1;
            books.largest = books.largest.max(bytes);
            *books.alloc_by_phase.entry(self.frames.phase(stack)).or_default() += bytes;
            stacks.entry(line).or_default().entry(stack).or_default().1 += bytes;
        }
        self.charge_steps(&mut lines);
        for (line, mut books) in lines {
            let by_stack = stacks.get(&line).into_iter().flatten();
            let heaviest =
                by_stack.max_by_key(|&(&stack, &bytes)| (bytes, std::cmp::Reverse(stack)));
            books.stack = heaviest.map(|(&it, _)| self.frames.lines(it)).unwrap_or_default();
            books.function =
                line_stacks::function(&self.frames.stacks.lines, self.frames.sources, line);
            memory.lines.insert(self.frames.key(line), books);
        }
    }

    fn charge(&self, books: &mut LineMemory, it: &LiveAllocation, is_at_peak: bool) {
        let phase = self.frames.phase(it.stack);
        books.alloc += it.bytes;
        books.allocs += 1;
        *books.alloc_by_phase.entry(phase).or_default() += it.bytes;
        books.largest = books.largest.max(it.bytes);
        if is_at_peak {
            books.peak += it.bytes;
            books.peak_allocs += 1;
            *books.peak_by_phase.entry(phase).or_default() += it.bytes;
        }
        let Some(to) = it.to else {
            books.live += it.bytes;
            books.live_allocs += 1;
            books.rounding += (it.bytes - it.requested).max(Bytes::ZERO);
            return;
        };
        books.freed += it.bytes;
        books.frees += 1;
        if phase == Phase::Forward && self.frames.phase(it.released_by) == Phase::Backward {
            books.saved += it.bytes;
            let at_peak = if is_at_peak { it.bytes } else { Bytes::ZERO };
            books.saved_at_peak += at_peak;
            if self.frames.are_checkpointed.get(it.stack.0 as usize) == Some(&true) {
                books.checkpointed_at_peak += at_peak;
            }
        }
        if let Some(from) = it.from {
            if let (Some(begin), Some(end)) = (self.time(from), self.time(to)) {
                books.lifetime = books.lifetime.saturating_add((end - begin).max(Ns::ZERO));
                books.timed_frees += 1;
            }
            if self.steps.of(Some(from)) == self.steps.of(Some(to)) {
                books.churn += it.bytes;
                books.churns += 1;
            }
        }
    }

    /// What each line that holds something at the end held at the end of every step.
    fn charge_steps(&self, lines: &mut FxHashMap<LineId, LineMemory>) {
        let n_steps = self.steps.0.len();
        if n_steps == 0 {
            return;
        }
        for books in lines.values_mut().filter(|books| books.live > Bytes::ZERO) {
            books.live_by_step = vec![Held::default(); n_steps];
        }
        for it in &self.replay.allocations {
            let Some(books) =
                self.frames.charged_line(it.stack).get().and_then(|it| lines.get_mut(&it))
            else {
                continue;
            };
            // Differences from step to step, summed up below.
            let first = self.steps.of(it.from).unwrap_or(0);
            if let Some(held) = books.live_by_step.get_mut(first) {
                held.bytes += it.bytes;
                held.allocs = held.allocs.wrapping_add(1);
            }
            if let Some(to) = it.to
                && let Some(held) = books.live_by_step.get_mut(self.steps.of(Some(to)).unwrap_or(0))
            {
                held.bytes -= it.bytes;
                held.allocs = held.allocs.wrapping_sub(1);
            }
        }
        for books in lines.values_mut() {
            let mut sum = Held::default();
            for held in &mut books.live_by_step {
                sum.bytes += held.bytes;
                sum.allocs = sum.allocs.wrapping_add(held.allocs);
                *held = sum;
            }
        }
    }

    fn charge_segments(&self, memory: &mut DeviceMemory) {
        for event in &self.replay.events {
            let (allocs, frees) = match event.action {
                SnapshotAction::SegmentAlloc | SnapshotAction::SegmentMap => (1, 0),
                SnapshotAction::SegmentFree | SnapshotAction::SegmentUnmap => (0, 1),
                _ => continue,
            };
            let size = event.size;
            let add = |calls: &mut ledger::SegmentCalls| {
                calls.allocs += allocs;
                calls.frees += frees;
                let (alloc, freed) =
                    if allocs == 1 { (size, Bytes::ZERO) } else { (Bytes::ZERO, size) };
                calls.alloc = calls.alloc.saturating_add(alloc);
                calls.freed = calls.freed.saturating_add(freed);
            };
            add(&mut memory.segments);
            let line =
                self.frames.charged_line(event.stack).get().map(|line| self.frames.key(line));
            if let Some(books) = line.and_then(|line| memory.lines.get_mut(&line)) {
                add(&mut books.segments);
            }
        }
    }

    fn out_of_memory(&self) -> Vec<OutOfMemory> {
        let events = (0_u32..).zip(&self.replay.events);
        let failed: Vec<u32> = events
            .filter(|(_, event)| event.action == SnapshotAction::OutOfMemory)
            .map(|(at, _)| at)
            .collect();
        let last = failed.iter().skip(failed.len().saturating_sub(MAX_OUT_OF_MEMORY));
        last.map(|&at| self.one_out_of_memory(at)).collect()
    }

    fn one_out_of_memory(&self, at: u32) -> OutOfMemory {
        let event = self.replay.events[at as usize];
        let mut by_line: BTreeMap<LineKey, Held> = BTreeMap::new();
        let mut unattributed = Bytes::ZERO;
        for it in self.replay.allocations.iter().filter(|it| it.is_alive_at(Some(at))) {
            match self.frames.charged_line(it.stack).get() {
                Some(line) => {
                    let held = by_line.entry(self.frames.key(line)).or_default();
                    held.bytes += it.bytes;
                    held.allocs += 1;
                }
                None => unattributed += it.bytes,
            }
        }
        let mut holders: Vec<(LineKey, Held)> = by_line.into_iter().collect();
        holders.sort_by_key(|(_, held)| std::cmp::Reverse(held.bytes));
        holders.truncate(MAX_HOLDERS);
        let space = self.replay.space_at(Space::at_end(self.snapshot, self.ordinal), at);
        let used = self.replay.used_at(Some(at));
        let (largest_free, free_elsewhere) = space.for_request(&used, event.stream);
        OutOfMemory {
            moment: self.moment(Some(at)),
            line: self.frames.charged_line(event.stack).get().map(|line| self.frames.key(line)),
            requested: event.size,
            device_free: Bytes(event.address.cast_signed()),
            active: self.replay.active_at(Some(at)),
            reserved: self.replay.reserved_at(Some(at)),
            largest_free,
            free_elsewhere,
            holders,
            unattributed,
        }
    }
}

fn has_times(replay: &SnapshotReplay<'_>) -> bool {
    !replay.events.is_empty() && replay.events.iter().all(|event| event.at >= Ns::ZERO)
}

/// In time where all events have one, else in events.
fn timeline(replay: &SnapshotReplay<'_>) -> Vec<Sample> {
    let has_times = has_times(replay);
    let start = replay.events.first().map_or(Ns::ZERO, |event| event.at);
    samples(
        replay.events.len(),
        |event| {
            if has_times { (replay.events[event].at - start).max(Ns::ZERO).0 } else { event as i64 }
        },
        (replay.active_at_start, replay.reserved_at_start),
        |event| (replay.active[event], replay.reserved[event]),
    )
}
