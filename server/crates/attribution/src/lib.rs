//! Events and sources to the ledger.
//!
//! *Owns*: what `docs/accounting.md` defines: the line stack of every event, the evidence behind each line, and the
//! charging of every instant, device event, wait, idle gap and byte to one line or to a reason.
//!
//! *Never*: reads a file, parses a format, formats a number, decides what is shown.
//!
//! *The test that says so*: `tests/tests/accounting.rs` holds this crate against a slow, obvious implementation of
//! the same page on hand-written, random and recorded traces; `tests/tests/tidy/` holds the dependency list.
//!
//! The layers, each below the next; `tests/tests/tidy` holds that none imports one above it:
//!
//! 1. `recorded`, `call-sites`, `line-stacks`, `device-memory`, `run-summary`: crates below this one;
//! 2. `names`: what the names of events say about lines, and of activation checkpointing (`checkpoints`); `options`;
//! 3. `inferred`: the lines that the recording does not name, as `call-sites` infers them; `callers`, `line_log`, `same_run`,
//!    `compile_log`: exact lines from what was recorded beside a trace; `modules`: the names of modules, likewise; `origins`: the lines that generated code was made from, `moved_lines`: where they are after edits;
//! 4. `timeline_pass`: one walk over all host events in time order, which fixes the stack of each (`event_stacks`) and charges
//!    every instant of thread time (`host_charges`) and idle time of devices (`slack`: what waits explain of it);
//! 5. `charge`: what hangs on those events;
//! 6. `post`: amounts per stack to amounts per line.
//!
//! Beside these, `graph_captures` takes from the walk over one trace what `graph_replays` joins with another, with which of its
//! launches are on one stream (`captured_chains`); `graphless_runs` aligns replays with a trace in which no graph was used. Both keep
//! `captured_stacks`.

mod callers;
mod captured_chains;
mod captured_stacks;
mod charge;
mod checkpoints;
mod compile_log;
mod compiler_backends;
mod compute_pass;
mod event_stacks;
mod graph_captures;
mod graph_replays;
mod graphless_runs;
mod host_charges;
mod inferred;
mod input_elements;
mod line_log;
mod modules;
mod moved_lines;
mod names;
mod options;
mod origins;

mod post;
mod same_run;
mod slack;
mod timeline_pass;

pub use callers::join_callers;
pub use compile_log::join_compile_log;
pub use event_stacks::EventLine;
pub use graph_captures::{CapturedLaunch, GraphCaptures};
pub use graph_replays::{JoinedReplays, RefusedReplay, join_captures, join_node_stacks};
pub use graphless_runs::{AlignedReplays, GraphlessRuns, UnlikeReplay, join_graphless_runs};
pub use line_log::join_lines;
pub use modules::join_modules;
pub use options::{AttributionOptions, StackOptions};
pub use same_run::join_snapshot;

use critical_path::CriticalPaths;
use device_memory::{MemoryHistory, TraceMemory, memory_curves};
use event_timeline::EventTimeline;
use ledger::{Ledger, Ns};
use profile::{HostEventId, Profile};
use recorded::{IdleGaps, KernelClasses, Launches, RecordedSources, Step, Steps, step_work};
use run_summary::RunSummary;
use stack_books::StackBooks;

use charge::{
    Charges, PageableCopies, StackSources, backward, charge_devices, charge_summary, communication,
    critical_paths, device_stacks, event_timeline, find_patterns, forward_operators,
    memory_holders, modules_that_ran, note_compiled, recording_stacks, segment_calls, stack_books,
    waits,
};
use host_charges::Kept;
use names::Names;
use timeline_pass::{KnownTimes, TimelinePass, lines_pass, main_thread, timeline_pass};

/// The line that made each Python call and ran each outermost operator, where anything is known: what inference is
/// measured by. The outermost events of a thread, and operators without a Python frame, are left out.
#[must_use]
pub fn event_lines(
    profile: &Profile,
    sources: &RecordedSources,
    options: AttributionOptions,
) -> Vec<EventLine> {
    lines_pass(profile, sources, options).events.event_lines(profile)
}

/// Charges everything in `profile` to lines. `rank` names the devices and threads in the ledger.
///
/// The books of the result balance: Σ own over lines + unattributed = total, for every metric.
#[must_use]
pub fn attribute(
    profile: Profile,
    sources: &RecordedSources,
    options: AttributionOptions,
    rank: u32,
) -> Ledger {
    attribute_parts(profile, sources, options, rank, &TraceParts::default()).ledger
}

/// What is wanted of a trace beside its ledger: each takes memory for each of its events.
#[derive(Debug, Clone, Copy, Default)]
pub struct TraceParts<'a> {
    /// The same amounts by whole stacks, of the events that these options choose.
    pub stacks: Option<&'a StackOptions>,
    /// What threads and devices did when.
    pub timeline: bool,
    /// What each line held of each memory when.
    pub histories: bool,
}

/// What a trace says. What was not asked for is absent.
#[derive(Debug, Default)]
pub struct TraceBooks {
    /// The books of its lines.
    pub ledger: Ledger,
    /// See [`TraceParts::stacks`].
    pub stacks: Option<StackBooks>,
    /// See [`TraceParts::timeline`].
    pub timeline: Option<EventTimeline>,
    /// See [`TraceParts::histories`].
    pub histories: Vec<MemoryHistory>,
}

/// Like [`attribute`], with what is wanted beside the ledger.
#[must_use]
pub fn attribute_parts(
    profile: Profile,
    sources: &RecordedSources,
    options: AttributionOptions,
    rank: u32,
    parts: &TraceParts<'_>,
) -> TraceBooks {
    let (charges, mut books) = charge(&profile, sources, options, rank, parts);
    // The books of many lines take as much memory as the events that they were made from.
    post::post(&mut books.ledger, charges, &profile.without_events(), sources);
    books
}

/// The amounts by stack, and all of the ledger and of what is wanted beside it that needs events.
fn charge(
    profile: &Profile,
    sources: &RecordedSources,
    options: AttributionOptions,
    rank: u32,
    parts: &TraceParts<'_>,
) -> (Charges, TraceBooks) {
    let all = StackOptions::default();
    let stack_options = parts.stacks.unwrap_or(&all);
    // What an event has in each step is known by when it was charged.
    let needs_times = stack_options.by_step || !stack_options.events.steps.is_empty();
    let kept = match (parts.timeline || needs_times, parts.stacks.is_some() || parts.histories) {
        (true, _) => Kept::Times,
        (false, true) => Kept::Stacks,
        (false, false) => Kept::Lines,
    };
    let names = Names::new(profile, sources, options);
    let steps = Steps::new(profile);
    let is_chosen = |step: &&Step| {
        let work = step_work(profile.strings.get(step.name));
        stack_options.events.has_step(step.number, work.as_ref())
    };
    let chosen_steps = &steps.0.iter().filter(is_chosen).map(|it| it.number).collect();
    let launches = &Launches::new(profile);
    let gaps = IdleGaps::new(profile, launches);
    let classes = &KernelClasses::new(profile);
    let memory = TraceMemory::new(profile, options.device_memory);
    let spans = run_summary::spans(profile, &steps, launches);
    let collectives = run_summary::collective_calls(profile, launches, classes);
    let main_thread = main_thread(profile, &steps);
    let of_devices = (launches, &gaps);
    let paths = CriticalPaths::new(profile, of_devices, &steps, &spans, &collectives, main_thread);
    let known = &KnownTimes { gaps: &gaps, paths: &paths, main_thread };
    let mut pass = timeline_pass(profile, names, sources, &steps, known, &memory.rows, kept);

    let stacks = &device_stacks(profile, launches, &mut pass);
    let is_recording = recording_stacks(&pass.events.stacks);
    let waits = waits(profile, &gaps, stacks, &steps, &pass, &is_recording);
    let copies = &PageableCopies::new(profile, launches, &pass, &waits);
    let is_idle: Vec<bool> = pass.charges.idle_count.iter().map(|&it| it != 0).collect();
    let left_out = (&is_idle[..], &is_recording[..]);
    let patterns =
        find_patterns(profile, launches, stacks, &steps, &mut pass.events, copies, left_out);
    let TimelinePass { events, charges: mut host, syncs, readings } = pass;
    let memory_lines = events.memory_stacks.iter().map(|&node| events.stacks.charged_line(node));
    let charged_memory = memory.charge(profile, &steps, memory_lines);
    let mut books = match host.by_event.take() {
        Some(by_event) => {
            let from = StackSources {
                profile,
                sources,
                steps: &steps,
                chosen_steps,
                events: &events,
                host: &host,
                by_event: &by_event,
                gaps: &gaps,
                syncs: &syncs,
                launches,
                stacks,
                memory_events: (&memory.rows, &charged_memory.are_at_peak),
                options: stack_options,
            };
            books_of_events(&from, &memory, parts, rank)
        }
        None => TraceBooks::default(),
    };
    let summary = RunSummary::new(profile, &events.order, &spans, launches, classes);
    let forward = &forward_operators(profile, &events);
    let (sync, sync_in_steps) = time_of_syncs(profile, &steps, &syncs);

    let ledger = &mut books.ledger;
    let of_rank = (&spans[..], &collectives[..]);
    if let Some(communication) = communication(of_rank, profile, stacks, &steps, &events) {
        ledger.communication.insert(rank, communication);
    }
    let charged = (&events, &host.paths);
    let paths = critical_paths(profile, &paths, &collectives, stacks, charged);
    if !paths.steps.is_empty() {
        ledger.critical_paths.insert(rank, paths);
    }
    ledger.modules = modules_that_ran(profile, launches, (&events, &host.backward), forward);
    note_compiled(ledger, profile, sources, &patterns, &events.stacks.lines);
    ledger.torch.extend(profile.meta.torch);
    let counted = &summary.counted;
    let charges = Charges {
        rank,
        run: summary.overview.run.time,
        sync,
        sync_in_steps,
        readings,
        device: charge_devices(profile, launches, stacks, &steps, classes, &events, counted),
        waits,
        is_recording,
        backward: backward(profile, launches, (&events, &host.backward), forward),
        memory: charged_memory,
        segments: segment_calls(profile, &events),
        patterns,
        summary: charge_summary(&summary, profile, launches, stacks, &steps, &events),
        has_stacks: events.names.has_stacks,
        stacks: events.stacks,
        host,
        steps,
        gaps,
    };
    ledger.overviews.insert(rank, summary.overview);
    (charges, books)
}

/// How long `syncs` last, which are in order of start, and what of it lies in steps.
fn time_of_syncs(profile: &Profile, steps: &Steps, syncs: &[HostEventId]) -> (Ns, Ns) {
    let (mut whole, mut in_steps) = (Ns::ZERO, Ns::ZERO);
    let mut cursor = 0;
    for &sync in syncs {
        whole += profile.host.duration[sync.index()];
        let (start, end) = (profile.host.start[sync.index()], profile.host.end(sync));
        in_steps += steps.within(start, end, 0, &mut cursor).0;
    }
    (whole, in_steps)
}

/// What is wanted beside the ledger, without it.
fn books_of_events(
    from: &StackSources<'_>,
    memory: &TraceMemory,
    parts: &TraceParts<'_>,
    rank: u32,
) -> TraceBooks {
    let mut books = TraceBooks::default();
    if parts.histories {
        let holders = memory_holders(from);
        books.histories = memory.histories(from.profile, from.steps, rank, &holders);
    }
    if parts.stacks.is_some() || parts.timeline {
        let mut charging = stack_books(from);
        let times = from.by_event.times.as_ref().filter(|_| parts.timeline);
        books.timeline = times.map(|times| {
            let curves = memory_curves(from.profile);
            event_timeline(&mut charging, times, from.steps, curves, rank)
        });
        books.stacks = parts.stacks.map(|_| charging.into_books());
    }
    books
}
