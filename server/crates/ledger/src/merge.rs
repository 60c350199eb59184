//! Adding ledgers. Every field is a sum, a minimum, a maximum or a union, so the order does not matter.

use std::collections::BTreeMap;

use crate::{Allocation, Call, DeviceBooks, Kernel, Ledger, LineBooks, Operator, PerStep, SourceFile};

impl Ledger {
    /// Adds another rank or input.
    pub fn merge(&mut self, other: &Self) {
        for (key, file) in &other.files {
            self.files.entry(key.clone()).and_modify(|mine| mine.merge(file)).or_insert_with(|| file.clone());
        }
        merge_map(&mut self.lines, &other.lines, LineBooks::merge);
        self.totals.add(&other.totals);
        self.unattributed.add(&other.unattributed);
        merge_map(&mut self.steps, &other.steps, |mine, theirs| *mine = (*mine).max(*theirs));
        self.ranks += other.ranks;
        merge_map(&mut self.devices, &other.devices, DeviceBooks::merge);
        merge_map(&mut self.threads, &other.threads, |mine, theirs| *mine += theirs);
    }
}

/// Adds `theirs` to `mine`, entry by entry. An entry that `mine` lacks is taken over whole.
fn merge_map<K: Ord + Clone, V: Clone>(mine: &mut BTreeMap<K, V>, theirs: &BTreeMap<K, V>, add: impl Fn(&mut V, &V)) {
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
        let (mine, theirs) = ((self.fit, &self.path, &self.recorded), (other.fit, &other.path, &other.recorded));
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
        self.calls += other.calls;
        self.ops += other.ops;
        self.cpu_self += other.cpu_self;
        self.cpu_own += other.cpu_own;
        self.cpu_total += other.cpu_total;
        self.cpu_backward += other.cpu_backward;
        self.cuda_self += other.cuda_self;
        self.cuda_own += other.cuda_own;
        self.cuda_total += other.cuda_total;
        self.cuda_backward += other.cuda_backward;
        self.kernels += other.kernels;
        self.sync += other.sync;
        self.syncs += other.syncs;
        self.idle_after_sync += other.idle_after_sync;
        self.gpu_idle += other.gpu_idle;
        self.alloc += other.alloc;
        self.allocs += other.allocs;
        self.freed += other.freed;
        self.peak += other.peak;
        self.live += other.live;
        merge_map(&mut self.steps, &other.steps, PerStep::merge);
        merge_map(&mut self.by_device, &other.by_device, |mine, theirs| *mine += theirs);
        merge_map(&mut self.by_thread, &other.by_thread, |mine, theirs| *mine += theirs);
        merge_map(&mut self.kernel_table, &other.kernel_table, Kernel::merge);
        merge_map(&mut self.operators, &other.operators, Operator::merge);
        merge_map(&mut self.callers, &other.callers, |mine, theirs| *mine += theirs);
        merge_map(&mut self.callees, &other.callees, Call::merge);
        merge_map(&mut self.waits, &other.waits, |mine, theirs| *mine += theirs);
        merge_map(&mut self.allocations, &other.allocations, Allocation::merge);
    }
}

impl PerStep {
    fn merge(&mut self, other: &Self) {
        self.cpu += other.cpu;
        self.cuda += other.cuda;
        self.sync += other.sync;
        self.gpu_idle += other.gpu_idle;
    }
}

impl Kernel {
    /// Adds other runs of the same kernel.
    pub fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        self.total += other.total;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.occupancy_time += other.occupancy_time;
        self.streams.extend(&other.streams);
        self.bytes += other.bytes;
    }
}

impl Operator {
    fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        self.cpu += other.cpu;
        self.cuda += other.cuda;
    }
}

impl Call {
    fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        self.cpu += other.cpu;
    }
}

impl Allocation {
    fn merge(&mut self, other: &Self) {
        self.allocs += other.allocs;
        self.alloc += other.alloc;
        self.peak += other.peak;
        self.live += other.live;
    }
}

impl DeviceBooks {
    fn merge(&mut self, other: &Self) {
        if self.name < other.name {
            self.name.clone_from(&other.name);
        }
        self.time += other.time;
        self.busy += other.busy;
        self.idle += other.idle;
    }
}
