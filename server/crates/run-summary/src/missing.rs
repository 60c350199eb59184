//! Kernels that were launched and left no event.

use profile::{HostEventId, HostKind, Profile};
use rustc_hash::FxHashSet;

/// How many calls launched a kernel whose event is not in `profile`, which has events of devices. Launches while their
/// thread captures a graph are none: they run nothing. `order` are the host events in order.
pub(crate) fn launches_without_event(profile: &Profile, order: &[HostEventId]) -> u64 {
    let (host, device) = (&profile.host, &profile.device);
    if device.is_empty() {
        return 0;
    }
    let ran: FxHashSet<i64> = device.correlation.iter().copied().collect();
    let mut is_capturing = vec![false; profile.threads.len()];
    let mut missing = 0;
    for &id in order {
        if host.kind[id.index()] != HostKind::Runtime {
            continue;
        }
        let is_capturing = &mut is_capturing[host.thread[id.index()].index()];
        let name = profile.strings.get(host.name[id.index()]);
        if name.ends_with("StreamBeginCapture") {
            *is_capturing = true;
        } else if name.ends_with("StreamEndCapture") {
            *is_capturing = false;
        } else if launches_kernel(name) && !*is_capturing {
            let correlation = host.runtime.correlation[host.detail_row(id)];
            missing += u64::from(correlation > 0 && !ran.contains(&correlation));
        }
    }
    missing
}

/// `cudaLaunchKernel`, `cuLaunchKernelEx`, `hipExtModuleLaunchKernel`, `cudaLaunchCooperativeKernel` and the like. Fills and
/// copies may rightly leave nothing, as those of no bytes do.
fn launches_kernel(name: &str) -> bool {
    name.contains("LaunchKernel") || name.contains("LaunchCooperativeKernel")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_launch_a_kernel() {
        let rows = [
            ("cudaLaunchKernel", true),
            ("cudaLaunchKernelExC", true),
            ("cuLaunchKernelEx", true),
            ("hipExtModuleLaunchKernel", true),
            ("cudaLaunchCooperativeKernel", true),
            ("cudaGraphLaunch", false),
            ("cudaMemsetAsync", false),
        ];
        for (name, expected) in rows {
            assert_eq!(launches_kernel(name), expected, "{name}");
        }
    }
}
