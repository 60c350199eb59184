//! Adding ledgers. Every field is a sum, a minimum, a maximum or a union, so the order does not matter.

use std::collections::BTreeMap;

use crate::amount::Amount;
use crate::{
    Allocation, Arithmetic, Call, DeviceBooks, IdleThread, Kernel, Ledger, LineBooks, LoopBooks,
    Operator, Overview, PatternBooks, PerStep, SourceFile,
};

impl Ledger {
    /// Adds another rank or input.
    pub fn merge(&mut self, other: &Self) {
        for (key, file) in &other.files {
            self.files
                .entry(key.clone())
                .and_modify(|mine| mine.merge(file))
                .or_insert_with(|| file.clone());
        }
        merge_map(&mut self.lines, &other.lines, LineBooks::merge);
        self.totals.add(&other.totals);
        self.in_steps.add(&other.in_steps);
        self.unattributed.add(&other.unattributed);
        merge_map(&mut self.steps, &other.steps, |mine, theirs| *mine = (*mine).max(*theirs));
        merge_map(&mut self.loops, &other.loops, LoopBooks::merge);
        self.ranks.gain(other.ranks);
        self.torch.extend(&other.torch);
        merge_map(&mut self.devices, &other.devices, DeviceBooks::merge);
        merge_map(&mut self.threads, &other.threads, |mine, theirs| mine.gain(*theirs));
        merge_map(&mut self.idle_threads, &other.idle_threads, IdleThread::merge);
        merge_map(&mut self.memory, &other.memory, keep_greater);
        merge_map(&mut self.categories, &other.categories, keep_greater);
        merge_map(&mut self.overviews, &other.overviews, Overview::merge);
    }
}

fn keep_greater<V: Ord + Clone>(mine: &mut V, theirs: &V) {
    if *mine < *theirs {
        mine.clone_from(theirs);
    }
}

/// Adds `theirs` to `mine`, entry by entry. An entry that `mine` lacks is taken over whole.
pub(crate) fn merge_map<K: Ord + Clone, V: Clone>(
    mine: &mut BTreeMap<K, V>,
    theirs: &BTreeMap<K, V>,
    add: impl Fn(&mut V, &V),
) {
    for (key, value) in theirs {
        match mine.get_mut(key) {
            Some(it) => add(it, value),
            None => {
                mine.insert(key.clone(), value.clone());
            }
        }
    }
}

impl SourceFile {
    /// Ranks may differ in what they found: keeps the better fit, and the lesser path where both found one.
    fn merge(&mut self, other: &Self) {
        self.is_own |= other.is_own;
        let (mine, theirs) =
            ((self.fit, &self.path, &self.recorded), (other.fit, &other.path, &other.recorded));
        if theirs < mine {
            let is_own = self.is_own;
            *self = Self { is_own, ..other.clone() };
        }
    }
}

impl LineBooks {
    fn merge(&mut self, other: &Self) {
        // The longest name wins: a qualified one says more; ties go to the lesser.
        let (mine, theirs) = (&self.function, &other.function);
        if (theirs.len(), std::cmp::Reverse(theirs)) > (mine.len(), std::cmp::Reverse(mine)) {
            self.function.clone_from(&other.function);
        }
        self.evidence = self.evidence.max(other.evidence);
        self.calls.gain(other.calls);
        self.ops.gain(other.ops);
        self.cpu_self.gain(other.cpu_self);
        self.cpu_own.gain(other.cpu_own);
        self.cpu_total.gain(other.cpu_total);
        self.cpu_in_steps.gain(other.cpu_in_steps);
        self.elapsed.gain(other.elapsed);
        self.waiting.gain(other.waiting);
        self.cpu_backward.gain(other.cpu_backward);
        self.cuda_self.gain(other.cuda_self);
        self.cuda_own.gain(other.cuda_own);
        self.cuda_total.gain(other.cuda_total);
        self.cuda_backward.gain(other.cuda_backward);
        self.kernels.gain(other.kernels);
        self.sync.gain(other.sync);
        self.syncs.gain(other.syncs);
        self.idle_after_sync.gain(other.idle_after_sync);
        self.gpu_idle.gain(other.gpu_idle);
        self.launching.merge(&other.launching);
        self.alloc.gain(other.alloc);
        self.allocs.gain(other.allocs);
        self.segments.calls.gain(other.segments.calls);
        self.segments.time.gain(other.segments.time);
        self.freed.gain(other.freed);
        self.peak.gain(other.peak);
        self.live.gain(other.live);
        merge_map(&mut self.steps, &other.steps, PerStep::merge);
        merge_map(&mut self.by_device, &other.by_device, |mine, theirs| mine.gain(*theirs));
        merge_map(&mut self.by_thread, &other.by_thread, |mine, theirs| mine.gain(*theirs));
        self.comm.gain(other.comm);
        self.comm_exposed.gain(other.comm_exposed);
        merge_map(&mut self.arithmetic, &other.arithmetic, Arithmetic::merge);
        merge_map(&mut self.kernel_table, &other.kernel_table, Kernel::merge);
        merge_map(&mut self.operators, &other.operators, Operator::merge);
        merge_map(&mut self.callers, &other.callers, |mine, theirs| mine.gain(*theirs));
        merge_map(&mut self.callees, &other.callees, Call::merge);
        merge_map(&mut self.waits, &other.waits, |mine, theirs| mine.gain(*theirs));
        merge_map(&mut self.readings, &other.readings, |mine, theirs| mine.gain(*theirs));
        merge_map(&mut self.allocations, &other.allocations, Allocation::merge);
        merge_map(&mut self.patterns, &other.patterns, PatternBooks::add);
    }
}

impl PerStep {
    fn merge(&mut self, other: &Self) {
        self.cpu.gain(other.cpu);
        self.cuda.gain(other.cuda);
        self.sync.gain(other.sync);
        self.gpu_idle.gain(other.gpu_idle);
        self.waiting.gain(other.waiting);
    }
}

impl Kernel {
    /// Adds other runs of the same kernel.
    pub fn merge(&mut self, other: &Self) {
        self.calls.gain(other.calls);
        self.total.gain(other.total);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.occupancy_time.gain(other.occupancy_time);
        self.streams.extend(&other.streams);
        self.bytes.gain(other.bytes);
        self.class = self.class.max(other.class);
        self.tensor_cores = self.tensor_cores.max(other.tensor_cores);
    }
}

impl Operator {
    fn merge(&mut self, other: &Self) {
        self.calls.gain(other.calls);
        self.cpu.gain(other.cpu);
        self.cuda.gain(other.cuda);
    }
}

impl Call {
    fn merge(&mut self, other: &Self) {
        self.calls.gain(other.calls);
        self.cpu.gain(other.cpu);
    }
}

impl IdleThread {
    fn merge(&mut self, other: &Self) {
        self.time.gain(other.time);
        self.threads.gain(other.threads);
    }
}

impl Allocation {
    fn merge(&mut self, other: &Self) {
        self.allocs.gain(other.allocs);
        self.alloc.gain(other.alloc);
        self.peak.gain(other.peak);
        self.live.gain(other.live);
    }
}

impl DeviceBooks {
    fn merge(&mut self, other: &Self) {
        if self.name < other.name {
            self.name.clone_from(&other.name);
        }
        self.time.gain(other.time);
        self.busy.gain(other.busy);
        self.idle.gain(other.idle);
        self.total_memory = self.total_memory.max(other.total_memory);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::{
        Allocation, Arithmetic, Balance, Call, DeviceBooks, DeviceKey, DeviceMemory, Evidence,
        IdleThread, Kernel, KernelKey, Launching, Ledger, LineBooks, LineKey, LoopBooks, Metric,
        Operator, Pattern, PatternBooks, PerStep, Precision, Reason, SegmentTime, SourceFile,
        SourceFit, ThreadKey,
    };

    /// Some are so large that sums of them do not fit.
    fn amount() -> impl Strategy<Value = i64> {
        prop_oneof![9 => 0..1_000_i64, 1 => i64::MAX - 1_000..=i64::MAX]
    }

    fn evidence() -> impl Strategy<Value = Evidence> {
        prop_oneof![Just(Evidence::Exact), Just(Evidence::Inferred), Just(Evidence::Function)]
    }

    fn line_key() -> impl Strategy<Value = LineKey> {
        (prop_oneof![Just("a.py"), Just("b.py")], 1..4_u32)
            .prop_map(|(file, line)| LineKey { file: file.to_owned(), line })
    }

    fn kernel() -> impl Strategy<Value = Kernel> {
        (amount(), amount(), amount(), 0..3_i64).prop_map(|(total, min, max, stream)| Kernel {
            calls: 1,
            total,
            min,
            max,
            occupancy_time: i128::from(total) * 3,
            streams: [stream].into(),
            bytes: total,
            ..Kernel::default()
        })
    }

    prop_compose! {
        fn line_books()(
            function in prop_oneof![Just(""), Just("f"), Just("g"), Just("C.f")],
            evidence in evidence(),
            amounts in prop::array::uniform24(amount()),
            step in 0..3_u32,
            rank in 0..2_u32,
            caller in line_key(),
            kernel in kernel(),
        ) -> LineBooks {
            let n = |at: usize| amounts[at].unsigned_abs();
            let name = || "mm".to_owned();
            LineBooks {
                function: function.to_owned(),
                evidence,
                calls: n(0),
                ops: n(1),
                cpu_self: amounts[2],
                cpu_own: amounts[3],
                cpu_total: amounts[4],
                cpu_in_steps: amounts[4],
                elapsed: amounts[4],
                waiting: amounts[3],
                cpu_backward: amounts[5],
                cuda_self: amounts[6],
                cuda_own: amounts[7],
                cuda_total: amounts[8],
                cuda_backward: amounts[9],
                kernels: n(10),
                sync: amounts[11],
                syncs: n(12),
                idle_after_sync: amounts[13],
                gpu_idle: amounts[14],
                launching: Launching { launches: n(10), idle_host: amounts[14], ..Launching::default() },
                alloc: amounts[15],
                allocs: n(16),
                segments: SegmentTime { calls: n(16), time: amounts[15] },
                freed: amounts[17],
                peak: amounts[18],
                live: amounts[19],
                steps: [(step, PerStep { cpu: amounts[20], cuda: amounts[21], sync: 1, gpu_idle: 2, waiting: 3 })].into(),
                by_device: [(DeviceKey { rank, device: 0 }, amounts[22])].into(),
                by_thread: [(ThreadKey { rank, thread: "7".to_owned() }, amounts[23])].into(),
                kernel_table: [(KernelKey { name: name(), grid: [1; 3], block: [2; 3] }, kernel)].into(),
                operators: [(name(), Operator { calls: 1, cpu: amounts[3], cuda: amounts[7] })].into(),
                callers: [(caller.clone(), amounts[4])].into(),
                callees: [(name(), Call { calls: 2, cpu: amounts[2] })].into(),
                waits: [(caller, amounts[11])].into(),
                readings: [(vec![3, 4], n(1))].into(),
                allocations: [("cpu".to_owned(), Allocation { allocs: 1, alloc: amounts[15], peak: 2, live: 3 })].into(),
                patterns: [(Pattern::ZeroGrad, PatternBooks { count: n(3), cpu: amounts[3], most: n(1), ..PatternBooks::default() })].into(),
                comm: amounts[21],
                comm_exposed: amounts[14],
                arithmetic: [(Precision::F16, Arithmetic { operators: 1, flops: n(4), time: amounts[5], bytes: amounts[6] })].into(),
            }
        }
    }

    prop_compose! {
        /// A ledger whose books balance: what the lines do not hold is unattributed.
        fn ledger()(
            lines in prop::collection::btree_map(line_key(), line_books(), 0..4),
            rest in prop::array::uniform9(amount()),
            fit in prop_oneof![Just(SourceFit::Fits), Just(SourceFit::Edited), Just(SourceFit::Missing)],
            is_own in any::<bool>(),
            path in prop_oneof![Just(None), Just(Some("x/a.py")), Just(Some("y/a.py"))],
            steps in prop::collection::btree_map(0..4_u32, amount(), 0..3),
            rank in 0..2_u32,
        ) -> Ledger {
            let mut ledger = Ledger { lines, steps, ranks: 1, torch: [(2, rank)].into(), ..Ledger::default() };
            let path = path.map(std::path::PathBuf::from);
            ledger.files.insert("a.py".to_owned(), SourceFile { recorded: "a.py".to_owned(), path, is_own, fit });
            for (metric, rest) in Metric::ALL.into_iter().zip(rest) {
                ledger.unattributed.charge(Reason::NoLaunch, metric, rest);
                let own = ledger.lines.values().map(|line| line.own(metric));
                *ledger.totals.get_mut(metric) = own.fold(rest, i64::saturating_add);
            }
            ledger.in_steps = ledger.totals;
            let device = DeviceBooks { name: "G".to_owned(), time: 5, busy: 4, idle: rest[0], total_memory: rest[1] };
            ledger.devices.insert(DeviceKey { rank, device: 0 }, device);
            ledger.threads.insert(ThreadKey { rank, thread: "7".to_owned() }, rest[1]);
            ledger.idle_threads.insert(ThreadKey { rank, thread: "8".to_owned() }, IdleThread { time: rest[8], threads: 2 });
            let a_loop = LoopBooks { iterations: 2, time: rest[2], last_line: rank, ..LoopBooks::default() };
            ledger.loops.insert(LineKey { file: "a.py".to_owned(), line: 1 }, a_loop);
            let memory = DeviceMemory { peak: rest[2], end: rest[3], ..DeviceMemory::default() };
            ledger.memory.insert(DeviceKey { rank, device: 0 }, memory);
            ledger
        }
    }

    fn sum(parts: &[&Ledger]) -> Ledger {
        let mut sum = Ledger::default();
        parts.iter().for_each(|part| sum.merge(part));
        sum
    }

    proptest! {
        #[test]
        fn the_order_of_merging_does_not_matter(a in ledger(), b in ledger(), c in ledger()) {
            prop_assert_eq!(sum(&[&a, &b]), sum(&[&b, &a]));
            prop_assert_eq!(sum(&[&sum(&[&a, &b]), &c]), sum(&[&a, &sum(&[&b, &c])]));
        }

        #[test]
        fn merging_with_nothing_changes_nothing(a in ledger()) {
            prop_assert_eq!(sum(&[&a]), a);
        }

        #[test]
        fn merged_books_balance(a in ledger(), b in ledger()) {
            let balances = sum(&[&a, &b]).balances();
            prop_assert!(balances.iter().all(Balance::is_balanced), "{:?}", balances);
        }
    }

    #[test]
    fn a_nanosecond_that_is_missing_is_seen() {
        let mut ledger = Ledger::default();
        ledger.totals.cpu = 7;
        ledger.unattributed.charge(Reason::NoStacks, Metric::Cpu, 6);
        assert!(!ledger.balances()[0].is_balanced());
        ledger.unattributed.charge(Reason::NoPythonFrame, Metric::Cpu, 1);
        assert!(ledger.balances()[0].is_balanced());
    }
}
