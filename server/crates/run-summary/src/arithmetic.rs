//! FLOPs of the operators that ran, with the device time that they launched.

use std::collections::BTreeMap;

use ledger::{Arithmetic, Bytes, Ns, Precision, ProductSizes, TensorCores};
use profile::{DeviceEventId, DeviceKind, HostEventId, HostKind, Profile, StrId};
use recorded::{KernelClasses, Launches};
use rustc_hash::FxHashMap;

use crate::flops::{self, OperatorCost};

/// An operator with a known cost that is not part of another one.
#[derive(Debug, Clone, Copy)]
pub struct CountedOperator {
    /// The operator.
    pub operator: HostEventId,
    /// The precision that it ran in.
    pub precision: Precision,
    /// What it did, and how long that took.
    pub arithmetic: Arithmetic,
    /// The sizes, if it is a product of matrices.
    pub sizes: Option<ProductSizes>,
    /// Where the first of it ran; `None` for the host.
    pub device: Option<i32>,
    /// The longest of the kernels that it launched, which stands for its arithmetic.
    pub kernel: Option<DeviceEventId>,
}

/// An operator with its cost, and what is found of the device events that it launched.
#[derive(Debug, Clone, Copy)]
struct OperatorTally {
    operator: HostEventId,
    cost: OperatorCost,
    /// Device time launched within.
    launched: Ns,
    /// Where the first of it ran.
    device: Option<i32>,
    longest_kernel: Option<DeviceEventId>,
    has_tensor_cores: bool,
}

impl OperatorTally {
    /// What it did, in the precision that it ran in.
    fn finish(self, profile: &Profile) -> CountedOperator {
        let precision = match self.cost.precision {
            Precision::F32 if self.has_tensor_cores => Precision::Tf32,
            other => other,
        };
        let time = match self.device {
            Some(_) => self.launched,
            None => profile.host.duration[self.operator.index()],
        };
        let OperatorCost { flops, bytes, sizes, .. } = self.cost;
        let arithmetic = Arithmetic { operators: 1, flops, time, bytes };
        CountedOperator {
            operator: self.operator,
            precision,
            arithmetic,
            sizes,
            device: self.device,
            kernel: self.longest_kernel,
        }
    }
}

/// The counted operators of `profile`, and how many more there are whose cost is not known. `order` are its host events
/// in order.
pub(crate) fn counted(
    profile: &Profile,
    order: &[HostEventId],
    launches: &Launches,
    classes: &KernelClasses,
) -> (Vec<CountedOperator>, u64) {
    let (host, device) = (&profile.host, &profile.device);
    let is_counted: Vec<bool> =
        profile.strings.iter().map(|(_, name)| flops::is_counted(name)).collect();
    let mut costs: FxHashMap<[StrId; 4], Option<OperatorCost>> = FxHashMap::default();
    let mut unknown = 0;
    let mut by_thread: Vec<Vec<OperatorTally>> = vec![Vec::new(); profile.threads.len()];
    for &operator in order {
        let name = host.name[operator.index()];
        let is_operator = host.kind[operator.index()] == HostKind::Operator;
        if !is_operator || !is_counted.get(name.index()).is_some_and(|&it| it) {
            continue;
        }
        let of_thread = &mut by_thread[host.thread[operator.index()].index()];
        let start = host.start[operator.index()];
        if of_thread.last().is_some_and(|last| start < host.end(last.operator)) {
            continue;
        }
        let (operators, row) = (&host.operators, host.detail_row(operator));
        let texts = [
            name,
            operators.input_dims[row],
            operators.input_types[row],
            operators.concrete_inputs[row],
        ];
        let cost = *costs.entry(texts).or_insert_with(|| {
            let [name, dims, types, concrete] = texts.map(|it| profile.strings.get(it));
            flops::cost(name, dims, types, concrete)
        });
        let cost = cost.unwrap_or_else(|| {
            unknown += 1;
            OperatorCost { flops: 0, bytes: Bytes::ZERO, precision: Precision::F32, sizes: None }
        });
        let counted = OperatorTally {
            operator,
            cost,
            launched: Ns::ZERO,
            device: None,
            longest_kernel: None,
            has_tensor_cores: false,
        };
        of_thread.push(counted);
    }
    for event in device.ids() {
        let Some(launch) = launches.launch(event) else { continue };
        let of_thread = &mut by_thread[host.thread[launch.index()].index()];
        let start = host.start[launch.index()];
        let index = of_thread.partition_point(|it| host.start[it.operator.index()] <= start);
        let Some(counted) = index.checked_sub(1).map(|index| &mut of_thread[index]) else {
            continue;
        };
        if start < host.end(counted.operator) {
            add(counted, profile, classes, event);
        }
    }
    let known = by_thread.into_iter().flatten().filter(|it| it.cost.flops != 0);
    (known.map(|it| it.finish(profile)).collect(), unknown)
}

fn add(
    counted: &mut OperatorTally,
    profile: &Profile,
    classes: &KernelClasses,
    event: DeviceEventId,
) {
    counted.launched += profile.device.duration[event.index()];
    counted.device.get_or_insert(profile.device.device[event.index()]);
    let duration = |it: DeviceEventId| profile.device.duration[it.index()];
    let is_longer = counted.longest_kernel.is_none_or(|it| duration(it) < duration(event));
    if profile.device.kind[event.index()] == DeviceKind::Kernel && is_longer {
        counted.longest_kernel = Some(event);
    }
    counted.has_tensor_cores |= classes.tensor_cores(event) == TensorCores::Yes;
}

/// What was done on each device.
pub(crate) fn by_device(
    counted: &[CountedOperator],
) -> BTreeMap<i32, BTreeMap<Precision, Arithmetic>> {
    let mut devices: BTreeMap<i32, BTreeMap<Precision, Arithmetic>> = BTreeMap::new();
    for it in counted {
        if let Some(device) = it.device {
            let by_precision = devices.entry(device).or_default();
            by_precision.entry(it.precision).or_default().merge(&it.arithmetic);
        }
    }
    devices
}
