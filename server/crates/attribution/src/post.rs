//! Amounts per stack to amounts per line: the last step into the ledger.

use ledger::{
    Books, DeviceBooks, DeviceKey, KernelKey, Ledger, LineBooks, Metric, Ns, Reason, ThreadKey,
};
use profile::{LaunchShapeId, Profile};
use recorded::{IdleGaps, Sources, Steps};

use crate::backward::Backward;
use crate::device::DeviceCharges;
use crate::loops;
use crate::memory::MemoryCharges;
use crate::patterns::Found;
use crate::stacks::{evidence_by_line, function, line_key, post_file};
use crate::sweep::Swept;
use crate::waits::Waits;

/// Everything that was charged.
pub(crate) struct Parts<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) sources: &'a Sources,
    pub(crate) rank: u32,
    pub(crate) steps: &'a Steps,
    pub(crate) gaps: &'a IdleGaps,
    pub(crate) swept: &'a Swept<'a>,
    pub(crate) device: &'a DeviceCharges,
    pub(crate) waits: &'a Waits,
    pub(crate) backward: &'a Backward,
    pub(crate) memory: &'a MemoryCharges,
    pub(crate) patterns: &'a Found,
}

/// Builds the ledger of one recording.
pub(crate) fn post(parts: &Parts<'_>) -> Ledger {
    let lines = &parts.swept.stacks.lines;
    let mut books = vec![LineBooks::default(); lines.len()];
    post_stacks(&mut books, parts);
    post_own(&mut books, parts);
    post_tables(&mut books, parts);
    post_memory(&mut books, parts.memory);
    for (line, time) in crate::reserve::charge(parts.profile, parts.swept) {
        books[line.index()].segments = time;
    }
    for (&(line, pattern), found) in &parts.patterns.books {
        books[line.index()].patterns.insert(pattern, found.clone());
    }

    let mut ledger = Ledger { ranks: 1, ..Ledger::default() };
    post_totals(&mut ledger, parts);
    for step in &parts.steps.0 {
        *ledger.steps.entry(step.number).or_default() += step.end - step.start;
    }
    for file in &lines.files {
        post_file(&mut ledger, parts.sources, file);
    }
    let evidence = evidence_by_line(&parts.swept.stacks, &parts.swept.is_charged);
    for (line, mut books) in lines.ids().zip(books) {
        let (calls, call_evidence) =
            parts.swept.calls.get(line.index()).copied().unwrap_or_default();
        books.calls = calls;
        if is_blank(&books) {
            continue;
        }
        books.evidence = evidence[line.index()];
        if calls > 0 {
            books.evidence = books.evidence.max(call_evidence);
        }
        books.function = function(lines, parts.sources, line);
        books.readings = parts.swept.readings.get(&line).cloned().unwrap_or_default();
        ledger.lines.insert(line_key(lines, line), books);
    }
    ledger.loops = loops::loops(parts, &ledger.lines);
    ledger.memory =
        crate::trace_memory::reports(&parts.memory.devices, &ledger.lines, parts.steps, parts.rank);
    ledger
}

/// Whether a line has nothing to tell.
fn is_blank(books: &LineBooks) -> bool {
    let amounts = [
        books.cpu_total,
        books.cuda_total,
        books.cpu_backward,
        books.cuda_backward,
        books.sync,
        books.alloc,
    ];
    amounts.iter().all(|&amount| amount == 0)
        && [books.calls, books.ops, books.syncs, books.kernels].iter().all(|&count| count == 0)
        && books.gpu_idle == 0
        && books.patterns.is_empty()
}

/// Self, own and total of thread and device time.
fn post_stacks(books: &mut [LineBooks], parts: &Parts<'_>) {
    let stacks = &parts.swept.stacks;
    let amount = |values: &[Ns], index: usize| values.get(index).copied().unwrap_or(0);
    let mut cpu_below = vec![0; stacks.len()];
    let mut cuda_below = vec![0; stacks.len()];
    let mut steps_below = vec![(0, 0); stacks.len()];
    for node in stacks.nodes().rev() {
        let (cpu, cuda) =
            (amount(&parts.swept.cpu, node.index()), amount(&parts.device.cuda, node.index()));
        cpu_below[node.index()] += cpu;
        cuda_below[node.index()] += cuda;
        let (all_cpu, all_cuda) = (cpu_below[node.index()], cuda_below[node.index()]);
        let parent = stacks.parent(node);
        cpu_below[parent.index()] += all_cpu;
        cuda_below[parent.index()] += all_cuda;
        let of_steps: &mut (Ns, Ns) = &mut steps_below[node.index()];
        of_steps.0 += amount(&parts.swept.in_steps, node.index());
        of_steps.1 += amount(&parts.swept.elapsed, node.index());
        let (in_steps, elapsed) = *of_steps;
        steps_below[parent.index()].0 += in_steps;
        steps_below[parent.index()].1 += elapsed;
        let own = &mut books[stacks.own(node).index()];
        own.waiting += amount(&parts.swept.waiting, node.index());
        own.cpu_own += cpu;
        own.cuda_own += cuda;
        loops::post_work(own, node, parts);
        let line = &mut books[stacks.line(node).index()];
        line.cpu_self += cpu;
        line.cuda_self += cuda;
        if (all_cpu != 0 || all_cuda != 0) && stacks.is_outermost(node) {
            line.cpu_total += all_cpu;
            line.cuda_total += all_cuda;
            line.cpu_in_steps += in_steps;
            line.elapsed += elapsed;
            if !parent.is_empty() && all_cpu != 0 {
                let caller = line_key(&stacks.lines, stacks.line(parent));
                *line.callers.entry(caller).or_default() += all_cpu;
            }
        }
    }
}

/// What is charged to own lines alone.
fn post_own(books: &mut [LineBooks], parts: &Parts<'_>) {
    let Parts { swept, device, waits, backward, .. } = parts;
    for (line, &(time, count)) in waits.by_line.iter().enumerate() {
        books[line].sync += time;
        books[line].syncs += count;
    }
    for (line, &time) in backward.cpu.iter().enumerate() {
        books[line].cpu_backward += time;
    }
    for (line, &time) in backward.cuda.iter().enumerate() {
        books[line].cuda_backward += time;
    }
    for (line, &count) in swept.ops.iter().enumerate() {
        books[line].ops += count;
    }
    for (&(line, step), &share) in &swept.steps {
        books[line.index()].steps.insert(step, share);
    }
    for (&(line, step), &time) in &device.steps {
        books[line.index()].steps.entry(step).or_default().cuda += time;
    }
    for (thread, by_line) in swept.by_thread.iter().enumerate() {
        let key = thread_key(parts, thread);
        for (line, &time) in by_line.iter().enumerate().filter(|(_, time)| **time != 0) {
            *books[line].by_thread.entry(key.clone()).or_default() += time;
        }
    }
    for (&(line, ordinal), &time) in &device.by_device {
        let key = DeviceKey { rank: parts.rank, device: ordinal };
        *books[line.index()].by_device.entry(key).or_default() += time;
    }
}

/// Kernels, operators, callees, and what was waited for.
fn post_tables(books: &mut [LineBooks], parts: &Parts<'_>) {
    let Parts { profile, swept, device, waits, .. } = parts;
    let text = |id| profile.strings.get(id).to_owned();
    for (&(line, name, shape), kernel) in &device.kernel_table {
        let table = &mut books[line.index()].kernel_table;
        let key = kernel_key(profile, text(name), shape);
        match table.get_mut(&key) {
            Some(same) => same.merge(kernel),
            None => {
                table.insert(key, kernel.clone());
            }
        }
    }
    for (&(line, name), operator) in &swept.operators {
        let mut operator = *operator;
        operator.cuda += device.operators.get(&(line, name)).copied().unwrap_or(0);
        books[line.index()].operators.insert(text(name), operator);
    }
    for (&(line, name), call) in &swept.callees {
        books[line.index()].callees.insert(text(name), *call);
    }
    for (&(line, cause), &time) in &waits.waited_for {
        books[line.index()].waits.insert(line_key(&swept.stacks.lines, cause), time);
    }
}

fn kernel_key(profile: &Profile, name: String, shape: LaunchShapeId) -> KernelKey {
    let shape = profile.device.shapes.get(shape);
    KernelKey {
        name,
        grid: shape.map_or([0; 3], |it| it.grid),
        block: shape.map_or([0; 3], |it| it.block),
    }
}

/// Bytes, for traces and snapshots.
pub(crate) fn post_memory(books: &mut [LineBooks], memory: &MemoryCharges) {
    for (line, bytes) in memory.by_line.iter().enumerate() {
        let books = &mut books[line];
        books.alloc += bytes.alloc;
        books.allocs += bytes.allocs;
        books.freed += bytes.freed;
        books.peak += bytes.peak;
        books.live += bytes.live;
    }
    for ((line, device), allocation) in &memory.allocations {
        books[line.index()].allocations.insert(device.clone(), *allocation);
    }
}

/// Of the totals, what happened in steps.
fn in_steps(ledger: &Ledger, parts: &Parts<'_>) -> Books {
    let Parts { profile, swept, device, gaps, memory, steps, .. } = parts;
    if steps.0.is_empty() {
        let idle: Ns = swept.idle_threads.iter().sum();
        return Books { waiting: ledger.totals.waiting - idle, ..ledger.totals };
    }
    let host = &profile.host;
    // Both are in order of start, so that the steps are walked once.
    let sum = |spans: &mut dyn Iterator<Item = (Ns, Ns)>| -> Ns {
        let mut cursor = 0;
        spans.map(|(start, end)| steps.within(start, end, 0, &mut cursor).0).sum()
    };
    let mut syncs = swept.syncs.iter().map(|&id| (host.start[id.index()], host.end(id)));
    Books {
        cpu: swept.in_steps.iter().sum(),
        waiting: swept.waiting_in_steps,
        cuda: device.in_steps,
        gpu_idle: sum(&mut gaps.all.iter().map(|gap| (gap.start, gap.end))),
        sync: sum(&mut syncs),
        alloc: memory.in_steps,
        // Added with their totals.
        comm: 0,
        comm_exposed: 0,
        flops: 0,
    }
}

/// Totals, the unattributed rest, devices and threads.
fn post_totals(ledger: &mut Ledger, parts: &Parts<'_>) {
    let Parts { profile, swept, device, waits, memory, gaps, .. } = parts;
    let no_line = if swept.names.has_stacks { Reason::NoPythonFrame } else { Reason::NoStacks };
    let syncs = swept.syncs.iter().map(|id| profile.host.duration[id.index()]).sum();
    ledger.totals.cpu = swept.threads.iter().sum();
    let (in_calls, idle): (Ns, Ns) = (swept.waiting.iter().sum(), swept.idle_threads.iter().sum());
    ledger.totals.waiting = in_calls + idle;
    ledger.totals.cuda = device.total;
    ledger.totals.gpu_idle = gaps.with_launch + gaps.without_launch;
    ledger.totals.sync = syncs;
    ledger.totals.alloc = memory.total;
    ledger.in_steps = in_steps(ledger, parts);
    let unattributed = &mut ledger.unattributed;
    unattributed.charge(no_line, Metric::Cpu, swept.cpu.first().copied().unwrap_or(0));
    unattributed.charge(no_line, Metric::Cuda, device.without_line);
    unattributed.charge(Reason::NoLaunch, Metric::Cuda, device.without_launch);
    unattributed.charge(no_line, Metric::GpuIdle, swept.idle_without_line);
    unattributed.charge(Reason::NoLaunch, Metric::GpuIdle, gaps.without_launch);
    unattributed.charge(Reason::IdleThread, Metric::GpuIdle, gaps.with_launch - swept.idle_covered);
    unattributed.charge(no_line, Metric::Waiting, swept.waiting.first().copied().unwrap_or(0));
    unattributed.charge(Reason::IdleThread, Metric::Waiting, idle);
    unattributed.charge(no_line, Metric::Sync, waits.without_line);
    unattributed.charge(no_line, Metric::Alloc, memory.without_line);
    for (&ordinal, time) in &gaps.devices {
        let device = profile.meta.devices.iter().find(|it| it.id == ordinal);
        let books = DeviceBooks {
            name: device.map_or("", |it| it.name.as_str()).to_owned(),
            time: time.time,
            busy: time.busy,
            idle: time.idle,
            total_memory: device.map_or(0, |it| it.total_memory),
        };
        ledger.devices.insert(DeviceKey { rank: parts.rank, device: ordinal }, books);
    }
    for (thread, &time) in swept.threads.iter().enumerate().filter(|(_, time)| **time != 0) {
        *ledger.threads.entry(thread_key(parts, thread)).or_default() += time;
    }
    for (thread, &time) in swept.idle_threads.iter().enumerate().filter(|(_, time)| **time != 0) {
        let idle = ledger.idle_threads.entry(thread_key(parts, thread)).or_default();
        idle.time += time;
        idle.threads += swept.idle_count[thread];
    }
}

fn thread_key(parts: &Parts<'_>, thread: usize) -> ThreadKey {
    let tid = parts.profile.threads[thread].tid;
    ThreadKey { rank: parts.rank, thread: parts.profile.strings.get(tid).to_owned() }
}
