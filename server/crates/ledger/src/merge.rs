//! Adding ledgers. Every field is a sum, a minimum, a maximum or a union, so the order does not matter. Each function
//! takes all fields apart, so that the compiler reports a new one that is not added.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::amount::Amount;
use crate::{
    Allocation, Arithmetic, Books, Call, CategoryMemory, CompiledFunction, DeviceBooks,
    DeviceMemory, GraphReplays, IdleThread, Kernel, Ledger, LineBooks, LoopBooks, ModuleBooks, Ns,
    Operator, Overview, PatternBooks, PerStep, RankCommunication, RankPaths, RecompileReason,
    SourceFile,
};

impl Ledger {
    /// Adds another rank or input.
    pub fn merge(&mut self, other: &Self) {
        let Self {
            files,
            torch,
            lines,
            totals,
            in_steps,
            unattributed,
            steps,
            step_work,
            loops,
            ranks,
            devices,
            threads,
            idle_threads,
            memory,
            categories,
            overviews,
            communication,
            critical_paths,
            modules,
            compiled,
            graph_breaks,
        } = other;
        for (key, file) in files {
            self.files
                .entry(key.clone())
                .and_modify(|mine| mine.merge(file))
                .or_insert_with(|| file.clone());
        }
        match (self.steps.is_empty(), steps.is_empty()) {
            (true, false) => {
                self.move_out_of_steps();
                self.in_steps.add(in_steps);
                merge_map(&mut self.lines, lines, |to, from| to.merge(from));
            }
            (false, true) => {
                let mut lines = lines.clone();
                lines.values_mut().for_each(|it| it.move_out_of_steps());
                merge_map(&mut self.lines, &lines, |to, from| to.merge(from));
            }
            _ => {
                self.in_steps.add(in_steps);
                merge_map(&mut self.lines, lines, |to, from| to.merge(from));
            }
        }
        self.totals.add(totals);
        self.unattributed.add(unattributed);
        merge_map(&mut self.steps, steps, |mine, theirs| *mine = (*mine).max(*theirs));
        merge_map(&mut self.step_work, step_work, |mine, theirs| {
            if *mine < *theirs {
                mine.clone_from(theirs);
            }
        });
        merge_map(&mut self.loops, loops, LoopBooks::merge);
        self.ranks.gain(*ranks);
        self.torch.extend(torch);
        merge_map(&mut self.devices, devices, DeviceBooks::merge);
        merge_map(&mut self.threads, threads, |mine, theirs| mine.gain(*theirs));
        merge_map(&mut self.idle_threads, idle_threads, IdleThread::merge);
        merge_map(&mut self.memory, memory, DeviceMemory::merge);
        merge_map(&mut self.categories, categories, CategoryMemory::merge);
        merge_map(&mut self.overviews, overviews, Overview::merge);
        merge_map(&mut self.communication, communication, RankCommunication::merge);
        merge_map(&mut self.critical_paths, critical_paths, RankPaths::merge);
        merge_map(&mut self.modules, modules, ModuleBooks::merge);
        merge_map(&mut self.compiled, compiled, CompiledFunction::merge);
        merge_map(&mut self.graph_breaks, graph_breaks, |mine, theirs| {
            mine.extend(theirs.iter().cloned());
        });
    }
}

impl Ledger {
    /// Of a recording without steps all counts as in steps. Beside one that has steps, none of it does: amounts per step are
    /// those of the steps that there are.
    fn move_out_of_steps(&mut self) {
        self.in_steps = Books::default();
        self.lines.values_mut().for_each(|it| it.move_out_of_steps());
    }
}

impl CompiledFunction {
    /// Adds what was compiled on another rank.
    pub(crate) fn merge(&mut self, other: &Self) {
        let Self { name, compiles, time, phases, reasons } = other;
        if self.name.is_empty() || (!name.is_empty() && *name < self.name) {
            self.name.clone_from(name);
        }
        self.compiles.gain(*compiles);
        self.time.gain(*time);
        self.phases += *phases;
        merge_map(&mut self.reasons, reasons, |mine, theirs| {
            let RecompileReason { count, values, lines } = theirs;
            mine.count.gain(*count);
            mine.values.extend(values);
            mine.lines.extend(lines.iter().cloned());
        });
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
    /// Ranks may differ in what they found: keeps the better fit, and the lesser path where both found one; of ledger files nobody
    /// knows what else a file may be.
    fn merge(&mut self, other: &Self) {
        self.is_user_code |= other.is_user_code;
        let mine = (self.fit, &self.path, &self.recorded, Reverse(&self.others));
        let theirs = (other.fit, &other.path, &other.recorded, Reverse(&other.others));
        if theirs < mine {
            let is_user_code = self.is_user_code;
            *self = Self { is_user_code, ..other.clone() };
        }
    }
}

impl LineBooks {
    /// Adds the books of another line to those of one or several. How often graphs were replayed is not known of several lines.
    pub fn merge_line(&mut self, other: &Self) {
        self.merge(other);
        self.replayed.values_mut().for_each(|it| it.replays = 0);
    }

    fn move_out_of_steps(&mut self) {
        self.cpu_in_steps = Ns::ZERO;
        self.elapsed = Ns::ZERO;
        self.avoidable_in_steps = Ns::ZERO;
        self.recording.in_steps = Ns::ZERO;
    }

    /// Adds what another rank, or the same line under another name, was charged with.
    pub fn merge(&mut self, other: &Self) {
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
        } = other;
        // The longest name wins: a qualified one says more; ties go to the lesser.
        let (mine, theirs) = (&self.function, function);
        if (theirs.len(), std::cmp::Reverse(theirs)) > (mine.len(), std::cmp::Reverse(mine)) {
            self.function.clone_from(function);
        }
        self.evidence = self.evidence.max(*evidence);
        self.calls.gain(*calls);
        self.ops.gain(*ops);
        self.cpu_self.gain(*cpu_self);
        self.cpu_own.gain(*cpu_own);
        self.cpu_total.gain(*cpu_total);
        self.cpu_in_steps.gain(*cpu_in_steps);
        self.elapsed.gain(*elapsed);
        self.waiting.gain(*waiting);
        self.cpu_backward.gain(*cpu_backward);
        self.cuda_self.gain(*cuda_self);
        self.cuda_own.gain(*cuda_own);
        self.cuda_total.gain(*cuda_total);
        self.cuda_backward.gain(*cuda_backward);
        self.kernels.gain(*kernels);
        self.sync.gain(*sync);
        self.syncs.gain(*syncs);
        self.idle_after_sync.gain(*idle_after_sync);
        self.avoidable_idle.gain(*avoidable_idle);
        self.avoidable_in_steps.gain(*avoidable_in_steps);
        self.recompute.merge(recompute);
        self.own_backward.merge(own_backward);
        self.recording.merge(recording);
        self.gpu_idle.gain(*gpu_idle);
        self.launching.merge(launching);
        self.alloc.gain(*alloc);
        self.allocs.gain(*allocs);
        self.segments.merge(segments);
        self.freed.gain(*freed);
        self.peak.gain(*peak);
        self.live.gain(*live);
        merge_map(&mut self.steps, steps, PerStep::merge);
        self.by_rank.merge(by_rank);
        self.comm.gain(*comm);
        self.comm_exposed.gain(*comm_exposed);
        merge_map(&mut self.arithmetic, arithmetic, Arithmetic::merge);
        merge_map(&mut self.products, products, |mine, theirs| mine.gain(*theirs));
        merge_map(&mut self.kernel_table, kernel_table, Kernel::merge);
        merge_map(&mut self.operators, operators, Operator::merge);
        merge_map(&mut self.callers, callers, |mine, theirs| mine.gain(*theirs));
        merge_map(&mut self.callees, callees, Call::merge);
        merge_map(&mut self.waits, waits, |mine, theirs| mine.gain(*theirs));
        merge_map(&mut self.replayed, replayed, GraphReplays::merge);
        merge_map(&mut self.generated, generated, |mine, theirs| mine.merge(theirs));
        merge_map(&mut self.readings, readings, |mine, theirs| mine.gain(*theirs));
        merge_map(&mut self.allocations, allocations, Allocation::merge);
        merge_map(&mut self.patterns, patterns, PatternBooks::add);
    }
}

impl PerStep {
    fn merge(&mut self, other: &Self) {
        let Self { cpu, cuda, sync, gpu_idle, waiting } = other;
        self.cpu.gain(*cpu);
        self.cuda.gain(*cuda);
        self.sync.gain(*sync);
        self.gpu_idle.gain(*gpu_idle);
        self.waiting.gain(*waiting);
    }
}

impl Kernel {
    /// Adds other runs of the same kernel.
    pub fn merge(&mut self, other: &Self) {
        let Self {
            calls,
            total,
            min,
            max,
            occupancy_time,
            streams,
            bytes,
            class,
            tensor_cores,
            arithmetic,
        } = other;
        self.calls.gain(*calls);
        self.total.gain(*total);
        self.min = self.min.min(*min);
        self.max = self.max.max(*max);
        self.occupancy_time.gain(*occupancy_time);
        self.streams.extend(streams);
        self.bytes.gain(*bytes);
        self.class = self.class.max(*class);
        self.tensor_cores = self.tensor_cores.max(*tensor_cores);
        merge_map(&mut self.arithmetic, arithmetic, Arithmetic::merge);
    }
}

impl Operator {
    fn merge(&mut self, other: &Self) {
        let Self { calls, cpu, cuda } = other;
        self.calls.gain(*calls);
        self.cpu.gain(*cpu);
        self.cuda.gain(*cuda);
    }
}

impl Call {
    /// Adds other calls.
    pub fn merge(&mut self, other: &Self) {
        let Self { calls, cpu } = other;
        self.calls.gain(*calls);
        self.cpu.gain(*cpu);
    }
}

impl GraphReplays {
    /// Adds other replays.
    pub fn merge(&mut self, other: &Self) {
        let Self { replays, cuda } = other;
        self.replays.gain(*replays);
        self.cuda.gain(*cuda);
    }
}

impl IdleThread {
    fn merge(&mut self, other: &Self) {
        let Self { time, threads } = other;
        self.time.gain(*time);
        self.threads.gain(*threads);
    }
}

impl Allocation {
    fn merge(&mut self, other: &Self) {
        let Self { allocs, alloc, peak, live } = other;
        self.allocs.gain(*allocs);
        self.alloc.gain(*alloc);
        self.peak.gain(*peak);
        self.live.gain(*live);
    }
}

impl DeviceBooks {
    fn merge(&mut self, other: &Self) {
        let Self { name, time, busy, idle, total_memory } = other;
        if self.name < *name {
            self.name.clone_from(name);
        }
        self.time.gain(*time);
        self.busy.gain(*busy);
        self.idle.gain(*idle);
        self.total_memory = self.total_memory.max(*total_memory);
    }
}

impl RankCommunication {
    /// Adds what another recording of the same rank holds.
    fn merge(&mut self, other: &Self) {
        let Self { world_size, host, groups, steps, sites } = other;
        self.groups.extend(groups.iter().cloned());
        self.world_size = self.world_size.max(*world_size);
        if self.host < *host {
            self.host.clone_from(host);
        }
        merge_map(&mut self.steps, steps, |mine, theirs| {
            mine.start = mine.start.min(theirs.start);
            mine.end = mine.end.max(theirs.end);
        });
        merge_map(&mut self.sites, sites, |mine, theirs| {
            mine.extend(theirs);
            mine.sort_unstable();
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::{
        Allocation, Arithmetic, Balance, Blocked, Bytes, Call, CollectiveCall, CollectiveKind,
        CollectiveSite, DeviceBooks, DeviceKey, DeviceMemory, Evidence, GraphReplays, GroupMembers,
        HostDeviceTime, IdleThread, Kernel, KernelKey, Launching, Ledger, LineBooks, LineKey,
        LoopBooks, Metric, ModuleBooks, ModuleKey, Ns, Operator, PathCollective, PathPiece,
        PathTime, Pattern, PatternBooks, PerStep, Precision, ProcessGroup, ProductSizes,
        RankCommunication, RankPaths, RankShare, Reason, RecordingCost, SegmentTime, SourceFile,
        SourceFit, StepPath, StepWork, ThreadKey, TimeRange,
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
            total: Ns(total),
            min: Ns(min),
            max: Ns(max),
            occupancy_time: i128::from(total) * 3,
            streams: [stream].into(),
            bytes: Bytes(total),
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
            let ns = |at: usize| Ns(amounts[at]);
            let bytes = |at: usize| Bytes(amounts[at]);
            let name = || "mm".to_owned();
            LineBooks {
                function: function.to_owned(),
                evidence,
                calls: n(0),
                ops: n(1),
                cpu_self: ns(2),
                cpu_own: ns(3),
                cpu_total: ns(4),
                cpu_in_steps: ns(4),
                elapsed: ns(4),
                waiting: ns(3),
                cpu_backward: ns(5),
                cuda_self: ns(6),
                cuda_own: ns(7),
                cuda_total: ns(8),
                cuda_backward: ns(9),
                kernels: n(10),
                sync: ns(11),
                syncs: n(12),
                idle_after_sync: ns(13),
                avoidable_idle: ns(13),
                avoidable_in_steps: ns(13),
                recompute: HostDeviceTime { cpu: ns(3), cuda: ns(7) },
                own_backward: HostDeviceTime { cpu: ns(2), cuda: ns(5) },
                recording: RecordingCost { time: ns(2), in_steps: ns(2), idle: ns(14) },
                gpu_idle: ns(14),
                launching: Launching { launches: n(10), idle_host: ns(14), ..Launching::default() },
                alloc: bytes(15),
                allocs: n(16),
                segments: SegmentTime { calls: n(16), time: ns(15) },
                freed: bytes(17),
                peak: bytes(18),
                live: bytes(19),
                steps: [(step, PerStep { cpu: ns(20), cuda: ns(21), sync: Ns(1), gpu_idle: Ns(2), waiting: Ns(3) })].into(),
                by_rank: [RankShare { rank, host: ns(22), longest_thread: ns(4), device: ns(23), elements: n(5) }].into_iter().collect(),
                products: [(ProductSizes { batch: 1, m: n(1), n: 2, k: 3 }, ns(22))].into(),
                kernel_table: [(KernelKey { name: name(), grid: [1; 3], block: [2; 3] }, kernel)].into(),
                operators: [(name(), Operator { calls: 1, cpu: ns(3), cuda: ns(7) })].into(),
                callers: [(caller.clone(), ns(4))].into(),
                callees: [(name(), Call { calls: 2, cpu: ns(2) })].into(),
                waits: [(caller.clone(), ns(11))].into(),
                replayed: [(caller.clone(), GraphReplays { replays: n(6), cuda: ns(7) })].into(),
                generated: [(caller, HostDeviceTime { cpu: ns(3), cuda: ns(7) })].into(),
                readings: [(vec![3, 4], n(1))].into(),
                allocations: [("cpu".to_owned(), Allocation { allocs: 1, alloc: bytes(15), peak: Bytes(2), live: Bytes(3) })].into(),
                patterns: [(Pattern::ZeroGrad, PatternBooks { count: n(3), cpu: ns(3), most: n(1), ..PatternBooks::default() })].into(),
                comm: ns(21),
                comm_exposed: ns(14),
                arithmetic: [(Precision::F16, Arithmetic { operators: 1, flops: n(4), time: ns(5), bytes: bytes(6) })].into(),
            }
        }
    }

    prop_compose! {
        /// A ledger whose books balance: what the lines do not hold is unattributed.
        fn ledger()(
            lines in prop::collection::btree_map(line_key(), line_books(), 0..4),
            rest in prop::array::uniform9(amount()),
            fit in prop_oneof![Just(SourceFit::Fits), Just(SourceFit::Edited), Just(SourceFit::Missing)],
            is_user_code in any::<bool>(),
            path in prop_oneof![Just(None), Just(Some("x/a.py")), Just(Some("y/a.py"))],
            steps in prop::collection::btree_map(0..4_u32, amount().prop_map(Ns), 0..3),
            rank in 0..2_u32,
        ) -> Ledger {
            let mut ledger = Ledger { lines: lines.into_iter().map(|(key, it)| (key, Box::new(it))).collect(), steps, ranks: 1, torch: [(2, rank)].into(), ..Ledger::default() };
            let work = |step: &u32| (*step, StepWork { kind: format!("kind {rank}"), requests: Some(u64::from(*step)), tokens: None });
            ledger.step_work = ledger.steps.keys().map(work).collect();
            let path = path.map(std::path::PathBuf::from);
            ledger.files.insert("a.py".to_owned(), SourceFile { recorded: "a.py".to_owned(), path, is_user_code, fit, ..SourceFile::default() });
            for (metric, rest) in Metric::ALL.into_iter().zip(rest) {
                ledger.unattributed.charge(Reason::NoLaunch, metric, rest);
                let own = ledger.lines.values().map(|line| line.own(metric));
                *ledger.totals.get_mut(metric) = own.fold(rest, i64::saturating_add);
            }
            ledger.in_steps = ledger.totals;
            let device = DeviceBooks { name: "G".to_owned(), time: Ns(5), busy: Ns(4), idle: Ns(rest[0]), total_memory: Bytes(rest[1]) };
            ledger.devices.insert(DeviceKey { rank, device: 0 }, device);
            ledger.threads.insert(ThreadKey { rank, thread: "7".to_owned() }, Ns(rest[1]));
            ledger.idle_threads.insert(ThreadKey { rank, thread: "8".to_owned() }, IdleThread { time: Ns(rest[8]), threads: 2 });
            let a_loop = LoopBooks { iterations: 2, time: Ns(rest[2]), last_line: rank, ..LoopBooks::default() };
            ledger.loops.insert(LineKey { file: "a.py".to_owned(), line: 1 }, a_loop);
            let memory = DeviceMemory { peak: Bytes(rest[2]), end: Bytes(rest[3]), ..DeviceMemory::default() };
            ledger.memory.insert(DeviceKey { rank, device: 0 }, memory);
            let site = CollectiveSite {
                kind: CollectiveKind::AllReduce,
                group: ProcessGroup::default(),
                bytes: Some(Bytes(rest[0])),
                is_on_device: true,
                line: None,
                message: None,
            };
            let call = CollectiveCall { start: Ns(rest[0]), end: Ns(rest[1]), step: None, sequence: Some(1), blocked: Blocked { from: Ns(rest[2]), until: Ns(rest[3]) } };
            let range = TimeRange { start: Ns(rest[0]), end: Ns(rest[1]) };
            let mine = RankCommunication { world_size: Some(rank), host: format!("node{rank}"), groups: [GroupMembers { ranks: [rank].into_iter().collect(), ..GroupMembers::default() }].into(), steps: [(Some(1), range)].into(), sites: [(site, vec![call])].into() };
            ledger.communication.insert(rank, mine);
            let on_path = LineKey { file: "a.py".to_owned(), line: u32::from(fit == SourceFit::Fits) };
            let time = PathTime { host: Ns(rest[4]), ..PathTime::default() };
            let collective = is_user_code.then_some(PathCollective { start: Ns(rest[5]), from: Ns(rest[4]), is_on_device: true, line: Some(0) });
            let piece = PathPiece { before: None, time: TimeRange { start: Ns::ZERO, end: Ns(rest[4]) }, collective, lines: vec![(Some(0), time)].into() };
            let steps = [(Some(rank), StepPath { pieces: vec![piece] })].into();
            ledger.critical_paths.insert(0, RankPaths { lines: vec![on_path], steps });
            let key = ModuleKey { name: "head".to_owned(), class: "Linear".to_owned() };
            let module = ModuleBooks { is_named: rank == 0, calls: 2, cpu_own: Ns(rest[0]), cuda_total: Ns(rest[1]), parameters: Some(8).filter(|_| rank == 1), ..ModuleBooks::default() };
            ledger.modules.insert(key, module);
            let def = LineKey { file: "a.py".to_owned(), line: 3 };
            let call = LineKey { file: "a.py".to_owned(), line: 5 + rank };
            let reason = crate::RecompileReason { count: 1, values: [8, 9 + u64::from(rank)].into(), lines: [call].into() };
            let compiled = crate::CompiledFunction { name: format!("f{rank}"), compiles: 2, time: Ns(rest[0]), phases: crate::CompilePhases { kernels: Ns(rest[1]), ..Default::default() }, reasons: [(crate::RecompileCause::Number("size".to_owned()), reason)].into() };
            ledger.compiled.insert(def.clone(), compiled);
            ledger.graph_breaks.insert(def, [format!("reason {rank}")].into());
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
        fn shares_add_up_to_the_whole(a in line_books(), n in 1..5_usize) {
            let mut sum = a.share(n, 0);
            (1..n).for_each(|part| sum.merge(&a.share(n, part)));
            prop_assert_eq!(sum, a);
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
    fn a_recording_without_steps_is_outside_of_the_steps_of_another() {
        let recording = |time: i64, steps: &[(u32, Ns)]| {
            let books = LineBooks {
                cpu_total: Ns(time),
                cpu_in_steps: Ns(time),
                elapsed: Ns(time),
                ..LineBooks::default()
            };
            let mut ledger = Ledger { ranks: 1, ..Ledger::default() };
            ledger.lines.insert(LineKey { file: format!("{time}.py"), line: 1 }, Box::new(books));
            ledger.steps.extend(steps.iter().copied());
            ledger.totals.cpu = Ns(time);
            ledger.in_steps = ledger.totals;
            ledger
        };
        let (with, without) = (recording(10, &[(1, Ns(10))]), recording(90, &[]));
        let both = sum(&[&without, &with]);
        assert_eq!(both, sum(&[&with, &without]));
        assert_eq!(both.excesses().count(), 0);
        assert_eq!((both.totals.cpu, both.in_steps.cpu), (Ns(100), Ns(10)));
        assert_eq!(sum(&[&without, &without]).in_steps.cpu, Ns(180));
    }

    #[test]
    fn a_nanosecond_that_is_missing_is_seen() {
        let mut ledger = Ledger::default();
        ledger.totals.cpu = Ns(7);
        ledger.unattributed.charge(Reason::NoStacks, Metric::Cpu, 6);
        assert!(!ledger.balances()[0].is_balanced());
        ledger.unattributed.charge(Reason::NoPythonFrame, Metric::Cpu, 1);
        assert!(ledger.balances()[0].is_balanced());
    }
}
