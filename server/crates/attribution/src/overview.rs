//! The run in numbers: `docs/accounting.md`, The run summary.

mod breakdown;
mod devices;
mod eligible;
mod intervals;
mod kernel_names;
mod spans;
mod streams;
mod usage;

use ledger::{KernelClass, Overview, TensorCores};
use profile::{DeviceEventId, Profile, StrId};
use rustc_hash::FxHashMap;

use crate::device::Launches;
use crate::steps::Steps;

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

/// The numbers of `profile`.
pub(crate) fn overview(
    profile: &Profile,
    steps: &Steps,
    launches: &Launches,
    classes: &Classes,
) -> Overview {
    let spans = spans::spans(profile, steps, launches);
    let (run, steps) = breakdown::breakdown(profile, &spans, classes);
    let devices = usage::devices(profile, &spans, launches, classes);
    Overview { run, steps, devices }
}
