//! What each device event is for, by its name.

use ledger::{KernelClass, TensorCores};
use profile::{DeviceEventId, DeviceKind, Profile, StrId};
use rustc_hash::FxHashMap;

use crate::kernel_names;

/// What the names of device events show.
pub struct KernelClasses(Vec<(KernelClass, TensorCores)>);

impl KernelClasses {
    /// Looks at each distinct name once.
    #[must_use]
    pub fn new(profile: &Profile) -> Self {
        let device = &profile.device;
        let mut of_name: FxHashMap<(StrId, DeviceKind), _> = FxHashMap::default();
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
    #[must_use]
    pub fn class(&self, event: DeviceEventId) -> KernelClass {
        self.0[event.index()].0
    }

    /// Whether it runs on tensor cores.
    #[must_use]
    pub fn tensor_cores(&self, event: DeviceEventId) -> TensorCores {
        self.0[event.index()].1
    }
}
