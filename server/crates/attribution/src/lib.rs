//! Events and sources to the ledger.
//!
//! *Owns*: what `docs/accounting.md` defines: the line stack of every event, the evidence behind each line, and the
//! charging of every instant, device event, wait, idle gap and byte to one line or to a reason.
//!
//! *Never*: reads a file, parses a format, formats a number, decides what is shown.
//!
//! *The test that says so*: `tests/tests/accounting.rs` holds this crate against a slow, obvious implementation of
//! the same page on hand-written, random and recorded traces; `tests/tests/tidy.rs` holds the dependency list.
//!
//! The way through: `callers` and `same_run` take exact lines from what was recorded beside a trace; `stacks` holds the
//! distinct lines and line stacks, and what the names of events say about them (`stacks::names`); `infer` infers the lines
//! that the recording does not name; `sweep` walks all host events once in time order and fixes each event's stack;
//! `device`, `waits`, `backward` and `memory` charge what hangs on those events; `post` turns the amounts per stack into
//! amounts per line.

mod backward;
mod callers;
mod categories;
mod device;
mod idle;
mod infer;
mod loops;
mod memory;
mod options;
mod overview;
mod patterns;
mod post;
mod reserve;
mod same_run;
mod snapshot;
mod stacks;
mod sweep;
mod timeline;
mod trace_memory;
mod waits;

pub use callers::join_callers;
pub use categories::attribute_timeline;
pub use options::Options;
pub use same_run::join_snapshot;
pub use snapshot::attribute_snapshot;
pub use sweep::EventLine;

use ledger::Ledger;
use profile::Profile;
use recorded::{IdleGaps, KernelClasses, Launches, Sources, Steps};

/// The line that made each Python call and ran each outermost operator, where anything is known: what inference is
/// measured by. The outermost events of a thread, and operators without a Python frame, are left out.
#[must_use]
pub fn event_lines(profile: &Profile, sources: &Sources, options: Options) -> Vec<EventLine> {
    let names = stacks::Names::new(profile, sources, options);
    let launches = Launches::new(profile);
    let gaps = IdleGaps::new(profile, &launches);
    let swept = sweep::sweep(profile, names, sources, &Steps::new(profile), &gaps, &[]);
    swept.event_lines(profile)
}

/// Charges everything in `profile` to lines. `rank` names the devices and threads in the ledger.
///
/// The books of the result balance: Σ own over lines + unattributed = total, for every metric.
#[must_use]
pub fn attribute(profile: &Profile, sources: &Sources, options: Options, rank: u32) -> Ledger {
    let names = stacks::Names::new(profile, sources, options);
    let steps = Steps::new(profile);
    let launches = Launches::new(profile);
    let gaps = IdleGaps::new(profile, &launches);
    let memory_events = memory::order(profile, options);
    let classes = KernelClasses::new(profile);
    let mut swept = sweep::sweep(profile, names, sources, &steps, &gaps, &memory_events);
    let device_stacks = device::stacks(profile, &launches, &mut swept);
    let charges = device::charge(profile, &launches, &device_stacks, &steps, &classes, &swept);
    let waits = waits::waits(profile, &gaps, &device_stacks, &swept);
    let backward = backward::backward(profile, &launches, &swept);
    let memory = memory::charge(profile, &memory_events, &steps, &swept);
    let patterns = patterns::find(profile, &launches, &device_stacks, &steps, &mut swept);
    let mut ledger = post::post(&post::Parts {
        profile,
        sources,
        rank,
        steps: &steps,
        gaps: &gaps,
        swept: &swept,
        device: &charges,
        waits: &waits,
        backward: &backward,
        memory: &memory,
        patterns: &patterns,
    });
    let (steps, launches, classes) = (&steps, &launches, &classes);
    let (stacks, swept) = (&device_stacks, &swept);
    let parts = overview::Parts { profile, steps, launches, classes, stacks, swept };
    overview::post(&mut ledger, rank, &parts);
    ledger.torch.extend(profile.meta.torch);
    ledger
}
