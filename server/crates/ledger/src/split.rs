//! Dividing the books of a line among several, where what happened belongs to all of them.

use std::collections::BTreeMap;

use crate::portion::Portion;
use crate::{
    Allocation, Arithmetic, Bytes, Call, GraphReplays, HostDeviceTime, Kernel, Launching,
    LineBooks, Ns, Operator, PerStep, RecordingCost, SegmentTime,
};

fn each<K: Ord + Clone, V>(table: &BTreeMap<K, V>, share: impl Fn(&V) -> V) -> BTreeMap<K, V> {
    table.iter().map(|(key, value)| (key.clone(), share(value))).collect()
}

impl LineBooks {
    /// Part number `part` of `n` equal ones. All parts together add up to these books, but for what is no sum. What counts whole
    /// occurrences, not amounts (anti-patterns, inferred alternatives), goes to the first part.
    #[must_use]
    pub fn share(&self, n: usize, part: usize) -> Self {
        // All fields are named, so that the compiler reports a new one that is not divided.
        let Self {
            function,
            evidence,
            calls,
            ops,
            cpu_self,
            cpu_own,
            cpu_total,
            cpu_in_steps,
            elapsed,
            waiting,
            cpu_backward,
            cuda_self,
            cuda_own,
            cuda_total,
            cuda_backward,
            kernels,
            sync,
            syncs,
            idle_after_sync,
            avoidable_idle,
            avoidable_in_steps,
            recompute,
            own_backward,
            recording,
            gpu_idle,
            launching,
            alloc,
            allocs,
            freed,
            peak,
            live,
            steps,
            by_rank,
            comm,
            comm_exposed,
            arithmetic,
            products,
            kernel_table,
            operators,
            callers,
            callees,
            waits,
            replayed,
            generated,
            readings,
            allocations,
            segments,
            patterns,
        } = self;
        let time = |it: &Ns| it.share(n, part);
        let bytes = |it: &Bytes| it.share(n, part);
        let count = |it: &u64| it.share(n, part);
        let work = |it: &Arithmetic| {
            let Arithmetic { operators, flops, time: spent, bytes: moved } = it;
            Arithmetic {
                operators: count(operators),
                flops: count(flops),
                time: time(spent),
                bytes: bytes(moved),
            }
        };
        let host_device = |it: &HostDeviceTime| {
            let HostDeviceTime { cpu, cuda } = it;
            HostDeviceTime { cpu: time(cpu), cuda: time(cuda) }
        };
        let is_first = part == 0;
        Self {
            function: function.clone(),
            evidence: *evidence,
            calls: count(calls),
            ops: count(ops),
            cpu_self: time(cpu_self),
            cpu_own: time(cpu_own),
            cpu_total: time(cpu_total),
            cpu_in_steps: time(cpu_in_steps),
            elapsed: time(elapsed),
            waiting: time(waiting),
            cpu_backward: time(cpu_backward),
            cuda_self: time(cuda_self),
            cuda_own: time(cuda_own),
            cuda_total: time(cuda_total),
            cuda_backward: time(cuda_backward),
            kernels: count(kernels),
            sync: time(sync),
            syncs: count(syncs),
            idle_after_sync: time(idle_after_sync),
            avoidable_idle: time(avoidable_idle),
            avoidable_in_steps: time(avoidable_in_steps),
            recompute: host_device(recompute),
            own_backward: host_device(own_backward),
            recording: {
                let RecordingCost { time: spent, in_steps, idle } = recording;
                RecordingCost { time: time(spent), in_steps: time(in_steps), idle: time(idle) }
            },
            gpu_idle: time(gpu_idle),
            launching: {
                let Launching {
                    launches,
                    launch_time,
                    short,
                    idle_host,
                    idle_kernel,
                    idle_after_wait,
                    replayed,
                } = launching;
                Launching {
                    launches: count(launches),
                    launch_time: time(launch_time),
                    short: count(short),
                    idle_host: time(idle_host),
                    idle_kernel: time(idle_kernel),
                    idle_after_wait: time(idle_after_wait),
                    replayed: time(replayed),
                }
            },
            alloc: bytes(alloc),
            allocs: count(allocs),
            freed: bytes(freed),
            peak: bytes(peak),
            live: bytes(live),
            steps: each(steps, |it| {
                let PerStep { cpu, cuda, sync, gpu_idle, waiting } = it;
                PerStep {
                    cpu: time(cpu),
                    cuda: time(cuda),
                    sync: time(sync),
                    gpu_idle: time(gpu_idle),
                    waiting: time(waiting),
                }
            }),
            by_rank: by_rank.share(n, part),
            comm: time(comm),
            comm_exposed: time(comm_exposed),
            arithmetic: each(arithmetic, work),
            products: each(products, time),
            kernel_table: each(kernel_table, |it| {
                let Kernel {
                    calls,
                    total,
                    min,
                    max,
                    occupancy_time,
                    streams,
                    bytes: moved,
                    class,
                    tensor_cores,
                    arithmetic,
                } = it;
                Kernel {
                    calls: count(calls),
                    total: time(total),
                    min: *min,
                    max: *max,
                    occupancy_time: occupancy_time.share(n, part),
                    streams: streams.clone(),
                    bytes: bytes(moved),
                    class: *class,
                    tensor_cores: *tensor_cores,
                    arithmetic: each(arithmetic, work),
                }
            }),
            operators: each(operators, |it| {
                let Operator { calls, cpu, cuda } = it;
                Operator { calls: count(calls), cpu: time(cpu), cuda: time(cuda) }
            }),
            callers: each(callers, time),
            callees: each(callees, |it| {
                let Call { calls, cpu } = it;
                Call { calls: count(calls), cpu: time(cpu) }
            }),
            waits: each(waits, time),
            replayed: each(replayed, |it| {
                let GraphReplays { replays, cuda } = it;
                GraphReplays { replays: count(replays), cuda: time(cuda) }
            }),
            generated: each(generated, host_device),
            readings: if is_first { readings.clone() } else { BTreeMap::new() },
            allocations: each(allocations, |it| {
                let Allocation { allocs, alloc, peak, live } = it;
                Allocation {
                    allocs: count(allocs),
                    alloc: bytes(alloc),
                    peak: bytes(peak),
                    live: bytes(live),
                }
            }),
            segments: {
                let SegmentTime { calls, time: spent } = segments;
                SegmentTime { calls: count(calls), time: time(spent) }
            },
            patterns: if is_first { patterns.clone() } else { BTreeMap::new() },
        }
    }
}
