//! The run in numbers: `docs/accounting.md`, The run summary.

mod arithmetic;
mod breakdown;
mod devices;
mod eligible;
mod flops;
mod intervals;
mod lines;
mod spans;
mod streams;
mod usage;

use ledger::{Ledger, Overview};
use profile::Profile;
use recorded::{KernelClasses, Launches, Steps};

use crate::device::DeviceStacks;
use crate::sweep::Swept;

/// What is summed up.
pub(crate) struct Parts<'a, 'b> {
    pub(crate) profile: &'a Profile,
    pub(crate) steps: &'a Steps,
    pub(crate) launches: &'a Launches,
    pub(crate) classes: &'a KernelClasses,
    pub(crate) stacks: &'a DeviceStacks,
    pub(crate) swept: &'a Swept<'b>,
}

/// Enters the summary of `rank` into `ledger`, and communication and FLOPs on its lines.
pub(crate) fn post(ledger: &mut Ledger, rank: u32, parts: &Parts<'_, '_>) {
    let &Parts { profile, steps, launches, classes, stacks, swept } = parts;
    let spans = spans::spans(profile, steps, launches);
    let (run, by_step) = breakdown::breakdown(profile, &spans, classes);
    let mut devices = usage::devices(profile, &spans, launches, classes);
    let (counted, operators_without_flops) =
        arithmetic::counted(profile, &swept.order, launches, classes);
    for (ordinal, arithmetic) in arithmetic::by_device(profile, &counted) {
        devices.entry(ordinal).or_default().arithmetic = arithmetic;
    }
    lines::Parts { profile, launches, classes, steps, stacks, swept }.charge(ledger, &counted);
    ledger
        .overviews
        .insert(rank, Overview { run, steps: by_step, devices, operators_without_flops });
}
