//! What the names of calls of the device's runtime and driver show.

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
    fn device_memory_is_distinguished_from_other_memory() {
        let yes = ["cudaMalloc", "hipFree", "cuMemAlloc_v2", "cuMemCreate", "hipMemUnmap"];
        let no =
            ["cudaMallocHost", "cudaFreeAsync", "cudaMemcpy", "cuMemFreeHost", "cudaMallocArray"];
        assert!(yes.iter().all(|it| reserves_memory(it)));
        assert!(!no.iter().any(|it| reserves_memory(it)));
    }
}
