//! The run in numbers: `docs/accounting.md`, The run summary.

mod arithmetic;
mod breakdown;
mod devices;
mod eligible;
mod flops;
mod intervals;
mod kernel_names;
mod lines;
mod spans;
mod streams;
mod usage;

use ledger::{KernelClass, Ledger, Overview, TensorCores};
use profile::{DeviceEventId, Profile, StrId};
use rustc_hash::FxHashMap;

use crate::device::{DeviceStacks, Launches};
use crate::steps::Steps;
use crate::sweep::Swept;

/// What the names of device events tell.
pub(crate) struct Classes(Vec<(KernelClass, TensorCores)>);

impl Classes {
    pub(crate) fn new(profile: &Profile) -> Self {
        let device = &profile.device;
        let mut of_name: FxHashMap<(StrId, profile::DeviceKind), _> = FxHashMap::default();
        let classes = device.ids().map(|event| {
            let (name, kind) = (device.name[event.index()], device.kind[event.index()]);
            *of_name.entry((name, kind)).or_insert_with(|| {
                let name = profile.strings.get(name);
                let class = kernel_names::class(kind, name);
                let is_compute = class == KernelClass::Compute;
                let uses =
                    if is_compute { kernel_names::tensor_cores(name) } else { TensorCores::No };
                (class, uses)
            })
        });
        Self(classes.collect())
    }

    /// What the event is for.
    pub(crate) fn class(&self, event: DeviceEventId) -> KernelClass {
        self.0[event.index()].0
    }

    /// Whether it runs on tensor cores.
    pub(crate) fn tensor_cores(&self, event: DeviceEventId) -> TensorCores {
        self.0[event.index()].1
    }
}

/// What is summed up.
pub(crate) struct Parts<'a, 'b> {
    pub(crate) profile: &'a Profile,
    pub(crate) steps: &'a Steps,
    pub(crate) launches: &'a Launches,
    pub(crate) classes: &'a Classes,
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
