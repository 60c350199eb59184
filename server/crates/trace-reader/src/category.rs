//! What kind of event a category (`cat`) names, in every spelling from PyTorch 1.8 on.

use profile::{DeviceKind, HostKind};

/// What becomes of a complete event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventClass {
    Host(HostKind),
    Device(DeviceKind),
    /// Known, and of no use here: spans of the profiler itself, its overhead, ranges and synchronisations as seen by
    /// the device (the host side of both is kept), counters.
    Ignored,
    Unknown,
}

/// The class of complete events of a category. `tid` helps where the category does not.
pub(crate) fn classify(category: &[u8], name: &[u8], tid: &[u8]) -> EventClass {
    match category {
        b"python_function" => EventClass::Host(HostKind::Python),
        b"cpu_op" | b"Operator" => {
            // PyTorch 1.8 – 1.10 has no category for annotations.
            let is_step = name.starts_with(b"ProfilerStep#");
            EventClass::Host(if is_step { HostKind::Annotation } else { HostKind::Operator })
        }
        b"cuda_runtime" | b"Runtime" | b"cuda_driver" | b"hpu_op" => {
            EventClass::Host(HostKind::Runtime)
        }
        b"kernel" | b"Kernel" => EventClass::Device(DeviceKind::Kernel),
        b"gpu_memcpy" | b"Memcpy" => EventClass::Device(DeviceKind::Memcpy),
        b"gpu_memset" | b"Memset" => EventClass::Device(DeviceKind::Memset),
        b"user_annotation" => EventClass::Host(HostKind::Annotation),
        b"gpu_user_annotation"
        | b"Trace"
        | b"Traces"
        | b"cuda_sync"
        | b"overhead"
        | b"cpu_instant_event"
        | b"external_correlation"
        | b"cuda_profiler_range"
        | b"gpu_pm_counter"
        | b"mtia_insight"
        | b"mtia_workloadd" => EventClass::Ignored,
        b"mtia_ccp_events" => EventClass::Device(DeviceKind::Kernel),
        _ => by_rule(category, tid),
    }
}

/// Back ends name their categories after a few patterns (`xpu_runtime`, `privateuse1_driver`, `npu_kernel`).
fn by_rule(category: &[u8], tid: &[u8]) -> EventClass {
    let category = category.to_ascii_lowercase();
    let contains = |part: &[u8]| category.windows(part.len()).any(|it| it == part);
    if category.ends_with(b"_runtime") || category.ends_with(b"_driver") {
        EventClass::Host(HostKind::Runtime)
    } else if contains(b"memcpy") {
        EventClass::Device(DeviceKind::Memcpy)
    } else if contains(b"memset") {
        EventClass::Device(DeviceKind::Memset)
    } else if category.ends_with(b"kernel") || matches!(category.as_slice(), b"xpu" | b"npu") {
        EventClass::Device(DeviceKind::Kernel)
    } else if is_stream(tid) {
        // Ranges that were pushed to a device are seen on the host too.
        if contains(b"nvtx") { EventClass::Ignored } else { EventClass::Device(DeviceKind::Kernel) }
    } else if contains(b"nvtx") {
        EventClass::Host(HostKind::Annotation)
    } else {
        EventClass::Unknown
    }
}

/// Whether a thread id is a device's stream (`stream 7`).
fn is_stream(tid: &[u8]) -> bool {
    tid.get(..7).is_some_and(|it| it.eq_ignore_ascii_case(b"stream "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_has_its_class() {
        let cases = [
            ("cpu_op", "aten::mm", "1", "Host(Operator)"),
            ("Operator", "aten::mm", "1", "Host(Operator)"),
            ("Operator", "ProfilerStep#3", "1", "Host(Annotation)"),
            ("user_annotation", "x", "1", "Host(Annotation)"),
            ("python_function", "a.py(1): f", "1", "Host(Python)"),
            ("Runtime", "cudaLaunchKernel", "1", "Host(Runtime)"),
            ("cuda_runtime", "hipLaunchKernel", "1", "Host(Runtime)"),
            ("cuda_driver", "cuLaunchKernelEx", "1", "Host(Runtime)"),
            ("hip_runtime", "hipLaunchKernel", "1", "Host(Runtime)"),
            ("xpu_runtime", "urEnqueueKernelLaunch", "1", "Host(Runtime)"),
            ("xpu_driver", "zeCommandListAppendLaunchKernel", "1", "Host(Runtime)"),
            ("mtia_runtime", "x", "1", "Host(Runtime)"),
            ("privateuse1_runtime", "x", "1", "Host(Runtime)"),
            ("privateuse1_driver", "x", "1", "Host(Runtime)"),
            ("NVTX", "x", "1", "Host(Annotation)"),
            ("nvtx", "x", "stream 7", "Ignored"),
            ("kernel", "k", "7", "Device(Kernel)"),
            ("Kernel", "k", "stream 7", "Device(Kernel)"),
            ("concurrent_kernel", "k", "7", "Device(Kernel)"),
            ("npu_kernel", "k", "7", "Device(Kernel)"),
            ("npu", "k", "7", "Device(Kernel)"),
            ("mtia_ccp_events", "k", "7", "Device(Kernel)"),
            ("gpu_memcpy", "m", "7", "Device(Memcpy)"),
            ("Memcpy", "m", "7", "Device(Memcpy)"),
            ("gpu_memset", "m", "7", "Device(Memset)"),
            ("Memset", "m", "7", "Device(Memset)"),
            ("gpu_user_annotation", "x", "7", "Ignored"),
            ("cuda_sync", "Stream Sync", "7", "Ignored"),
            ("overhead", "x", "0", "Ignored"),
            ("Trace", "x", "PyTorch Profiler", "Ignored"),
            ("new_thing", "x", "7", "Unknown"),
            ("new_thing", "x", "stream 7", "Device(Kernel)"),
            ("", "x", "7", "Unknown"),
        ];
        for (category, name, tid, expected) in cases {
            let class = classify(category.as_bytes(), name.as_bytes(), tid.as_bytes());
            assert_eq!(format!("{class:?}"), expected, "{category} {name} {tid}");
        }
    }
}
