//! What the names of calls of the device's runtime and driver show.

use profile::DeviceKind;

/// Whether the runtime call `name` returns only when the device is done.
#[must_use]
pub fn is_blocking_call(name: &str) -> bool {
    name.contains("Synchronize") || (is_copy(name) && !name.contains("Async"))
}

/// Whether `name` copies and returns at once, unless host memory is pageable.
#[must_use]
pub fn is_asynchronous_copy(name: &str) -> bool {
    is_copy(name) && name.contains("Async")
}

/// `cudaMemcpy`, `hipMemcpyWithStream`, `cuMemcpyDtoHAsync_v2`: after the library's prefix a copy begins with `Memcpy`.
fn is_copy(name: &str) -> bool {
    name.trim_start_matches(|it: char| it.is_ascii_lowercase()).starts_with("Memcpy")
}

/// Whether the call `name` begins the capture of a graph.
#[must_use]
pub fn begins_capture(name: &str) -> bool {
    name.contains("StreamBeginCapture")
}

/// Whether the call `name` ends the capture of a graph.
#[must_use]
pub fn ends_capture(name: &str) -> bool {
    name.contains("StreamEndCapture")
}

/// Whether the call `name` records an event on a stream, for others to wait for.
#[must_use]
pub fn records_event(name: &str) -> bool {
    name.contains("EventRecord")
}

/// Whether the call `name` lets a stream wait for an event of another one.
#[must_use]
pub fn waits_for_event(name: &str) -> bool {
    name.contains("StreamWaitEvent")
}

/// Whether the call `name` launches a graph, all of whose kernels it is the launch of.
#[must_use]
pub fn launches_graph(name: &str) -> bool {
    name.contains("GraphLaunch")
}

/// Whether `name` launches a kernel: `cudaLaunchKernel`, `cuLaunchKernelEx`, `hipExtModuleLaunchKernel`,
/// `cudaLaunchCooperativeKernel` and the like. Fills and copies may rightly leave nothing, as those of no bytes do.
#[must_use]
pub fn launches_kernel(name: &str) -> bool {
    name.contains("LaunchKernel") || name.contains("LaunchCooperativeKernel")
}

/// What the call `name` puts on a stream: a kernel, a copy or a fill.
#[must_use]
pub fn put_on_stream(name: &str) -> Option<DeviceKind> {
    let after = name.trim_start_matches(|it: char| it.is_ascii_lowercase());
    if launches_kernel(name) {
        Some(DeviceKind::Kernel)
    } else if is_copy(name) {
        Some(DeviceKind::Memcpy)
    } else if after.starts_with("Memset") {
        Some(DeviceKind::Memset)
    } else {
        None
    }
}

/// `cudaMalloc`, `hipFree`, `cuMemAlloc_v2`, `cuMemCreate` and what else expandable segments are made of; neither host
/// memory nor pools.
#[must_use]
pub fn reserves_memory(name: &str) -> bool {
    let name = name.trim_start_matches(|it: char| it.is_ascii_lowercase());
    let name = name.split_once('_').map_or(name, |it| it.0);
    matches!(
        name,
        "Malloc"
            | "Free"
            | "MemAlloc"
            | "MemFree"
            | "MemCreate"
            | "MemRelease"
            | "MemMap"
            | "MemUnmap"
            | "MemSetAccess"
            | "MemAddressReserve"
            | "MemAddressFree"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocking_calls_are_distinguished_from_others() {
        let blocking = [
            "cudaStreamSynchronize",
            "cudaDeviceSynchronize",
            "hipEventSynchronize",
            "cuCtxSynchronize",
            "cudaMemcpy",
            "hipMemcpy",
            "hipMemcpyWithStream",
            "cuMemcpyDtoH_v2",
        ];
        let not_blocking = [
            "cudaMemcpyAsync",
            "cudaMemset",
            "cudaLaunchKernel",
            "cudaGraphAddMemcpyNode",
            "cuMemcpyDtoHAsync_v2",
            "cudaStreamWaitEvent",
            "cudaEventQuery",
        ];
        assert_eq!(blocking.map(is_blocking_call), [true; 8]);
        assert_eq!(not_blocking.map(is_blocking_call), [false; 7]);
    }

    #[test]
    fn what_calls_put_on_a_stream() {
        let (kernel, copy, fill) =
            (Some(DeviceKind::Kernel), Some(DeviceKind::Memcpy), Some(DeviceKind::Memset));
        let rows = [
            ("cudaLaunchKernel", kernel),
            ("cudaLaunchKernelExC", kernel),
            ("cuLaunchKernelEx", kernel),
            ("hipExtModuleLaunchKernel", kernel),
            ("cudaLaunchCooperativeKernel", kernel),
            ("hipMemcpyAsync", copy),
            ("cuMemcpyDtoDAsync_v2", copy),
            ("cudaMemsetAsync", fill),
            ("cudaGraphLaunch", None),
            ("cudaLaunchHostFunc", None),
            ("cudaStreamBeginCapture", None),
        ];
        for (name, expected) in rows {
            assert_eq!(put_on_stream(name), expected, "{name}");
            assert_eq!(launches_kernel(name), expected == kernel, "{name}");
        }
        assert!(launches_graph("hipGraphLaunch") && !launches_graph("cudaLaunchKernel"));
        assert!(records_event("cudaEventRecordWithFlags") && records_event("hipEventRecord"));
        assert!(waits_for_event("hipStreamWaitEvent") && !waits_for_event("cudaEventQuery"));
        assert!(begins_capture("cudaStreamBeginCapture_v10000"));
        assert!(ends_capture("hipStreamEndCapture") && !ends_capture("hipStreamBeginCapture"));
    }

    #[test]
    fn device_memory_is_distinguished_from_other_memory() {
        let yes = ["cudaMalloc", "hipFree", "cuMemAlloc_v2", "cuMemCreate", "hipMemUnmap"];
        let no =
            ["cudaMallocHost", "cudaFreeAsync", "cudaMemcpy", "cuMemFreeHost", "cudaMallocArray"];
        assert!(yes.iter().all(|it| reserves_memory(it)));
        assert!(!no.iter().any(|it| reserves_memory(it)));
    }
}
