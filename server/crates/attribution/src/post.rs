//! Amounts per stack to amounts per line: the last step into the ledger.

use std::mem::take;

use device_memory::MemoryCharges;
use ledger::{
    Books, Bytes, DeviceBooks, DeviceKey, Evidence, KernelKey, Ledger, LineBooks, Metric, Ns,
    RankShare, RankShares, Reason, ThreadKey, share_of,
};
use line_stacks::{
    FusedLines, LineId, Lines, Node, Stacks, amount, evidence_by_line, function, grow_to, line_key,
    post_file,
};
use profile::{LaunchShapeId, Profile, StrId};
use recorded::{RecordedSources, is_inductor_file, step_work};

use crate::charge::{Charges, DeviceCharges, MODULE, loops, module_class};
use crate::host_charges::HostCharges;

/// Adds what was charged to the ledger of one recording. `profile` needs no events.
pub(crate) fn post(
    ledger: &mut Ledger,
    mut charges: Charges,
    profile: &Profile,
    sources: &RecordedSources,
) {
    let mut books = vec![Box::<LineBooks>::default(); charges.stacks.lines.len()];
    post_stacks(&mut books, &charges);
    post_own(&mut books, &mut charges);
    post_tables(&mut books, &mut charges, profile);
    let charges = &charges;
    let lines = &charges.stacks.lines;
    post_memory(&mut books, &charges.memory);
    for (line, time) in &charges.segments {
        books[line.index()].segments = *time;
    }
    for (line, summary) in &charges.summary.by_line {
        let books = &mut books[line.index()];
        books.arithmetic.clone_from(&summary.arithmetic);
        books.products.clone_from(&summary.products);
        books.comm += summary.comm;
        books.comm_exposed += summary.comm_exposed;
    }
    for (&(line, pattern), found) in &charges.patterns.books {
        books[line.index()].patterns.insert(pattern, found.clone());
    }

    let calls = post_fused(&mut books, charges);
    for (&(line, launching), &replays) in &charges.device.replays {
        let key = line_key(lines, launching);
        books[line.index()].replayed.entry(key).or_default().replays += replays;
    }
    ledger.ranks = 1;
    post_totals(ledger, charges, profile);
    for step in &charges.steps.0 {
        *ledger.steps.entry(step.number).or_default() += step.end - step.start;
        if let Some(work) = step_work(profile.strings.get(step.name)) {
            ledger.step_work.entry(step.number).or_insert(work);
        }
    }
    for file in &lines.files {
        post_file(ledger, sources, file);
    }
    let evidence = evidence_by_line(&charges.stacks, &charges.host.is_charged);
    let mut posted = Vec::new();
    for (line, mut books) in in_order_of_keys(lines, books) {
        let (calls, call_evidence) = calls.get(line.index()).copied().unwrap_or_default();
        books.calls = calls;
        if books.is_blank() {
            continue;
        }
        books.evidence = evidence[line.index()];
        if calls > 0 {
            books.evidence = books.evidence.max(call_evidence);
        }
        books.function = function(lines, sources, line);
        books.readings = charges.readings.get(&line).cloned().unwrap_or_default();
        posted.push((line_key(lines, line), books));
    }
    // In their order they are put side by side: one by one, each looks for its place among a million texts that begin alike.
    ledger.lines = posted.into_iter().collect();
    ledger.loops = loops(charges, sources, &ledger.lines);
    ledger.memory =
        device_memory::reports(&charges.memory, &ledger.lines, &charges.steps, charges.rank);
}

/// The lines that stand for one line each with their books, in the order of their [`line_key`]s.
fn in_order_of_keys(
    lines: &Lines,
    books: impl IntoIterator<Item = Box<LineBooks>>,
) -> Vec<(LineId, Box<LineBooks>)> {
    let mut files: Vec<usize> = (0..lines.files.len()).collect();
    files.sort_unstable_by_key(|&file| &lines.files[file].key);
    let mut rank_of = vec![0; files.len()];
    for (rank, file) in files.into_iter().enumerate() {
        rank_of[file] = rank;
    }
    let of_one = lines.ids().zip(books).filter(|&(line, _)| lines.parts(line).is_none());
    let mut of_one = Vec::from_iter(of_one);
    of_one.sort_unstable_by_key(|&(line, _)| {
        (rank_of[lines.file_of(line).0 as usize], lines.number(line))
    });
    of_one
}

/// Self, own and total of thread and device time.
fn post_stacks(books: &mut [Box<LineBooks>], charges: &Charges) {
    let stacks = &charges.stacks;
    let mut below = vec![StackTimes::default(); stacks.len()];
    // Own time on or below a line that stands for several, up to the stack that ends in that line.
    let mut fused_own = vec![StackTimes::default(); stacks.len()];
    let is_outermost = stacks.outermost();
    let generated = generated_lines(stacks);
    for node in stacks.nodes().rev() {
        let time = amount(&charges.host.time, node);
        let at = StackTimes {
            cpu: time.cpu,
            cuda: amount(&charges.device.cuda, node),
            in_steps: time.in_steps,
            elapsed: time.elapsed,
        };
        below[node.index()].add(at);
        let all = below[node.index()];
        let parent = stacks.parent(node);
        below[parent.index()].add(all);
        let charged_line = stacks.charged_line(node);
        let charged = &mut books[charged_line.index()];
        charged.waiting += amount(&charges.host.waiting, node);
        post_work(charged, node, charges);
        let of_compiler = generated.get(node.index()).and_then(|it| it.get());
        if let Some(line) = of_compiler.filter(|_| at.cpu != Ns::ZERO || at.cuda != Ns::ZERO) {
            let time = charged.generated.entry(line_key(&stacks.lines, line)).or_default();
            time.cpu += at.cpu;
            time.cuda += at.cuda;
        }
        if stacks.lines.parts(charged_line).is_some() {
            fused_own[node.index()].add(at);
        } else {
            charged.cpu_own += at.cpu;
            charged.cuda_own += at.cuda;
        }
        let own = fused_own[node.index()];
        if let Some(parts) = stacks.lines.parts(stacks.line(node)) {
            post_fused_stack(books, stacks, node, parts, [at, own, all]);
            continue;
        }
        fused_own[parent.index()].add(own);
        let line = &mut books[stacks.line(node).index()];
        line.cpu_self += at.cpu;
        line.cuda_self += at.cuda;
        let is_empty = [all.cpu, all.cuda, all.elapsed].iter().all(|it| *it == Ns::ZERO);
        if !is_empty && is_outermost[node.index()] {
            let caller = caller(stacks, stacks.line(node), parent);
            post_total(line, &stacks.lines, caller, all);
        }
    }
}

/// By stack, the line in a file of Inductor on it; empty where there is none at all.
fn generated_lines(stacks: &Stacks) -> Vec<LineId> {
    let files = stacks.lines.files.iter();
    let is_generated: Vec<bool> = files.map(|it| is_inductor_file(&it.recorded)).collect();
    if !is_generated.contains(&true) {
        return Vec::new();
    }
    let mut found = vec![LineId::NONE; stacks.len()];
    for node in stacks.nodes().filter(|it| !it.is_empty()) {
        let line = stacks.line(node);
        found[node.index()] = match is_generated[stacks.lines.file_of(line).0 as usize] {
            true => line,
            false => found[stacks.parent(node).index()],
        };
    }
    found
}

/// The line that `line`, whose stack goes on with `around`, was called from. A line of user code was called from the next one of
/// user code: what lies between (`_call_impl`, a decorator of a library) is how, and not from where.
fn caller(stacks: &Stacks, line: LineId, around: Node) -> Option<LineId> {
    if !stacks.lines.is_user_code(line) {
        return stacks.line(around).get();
    }
    stacks.charged_line(around).get().filter(|&it| stacks.lines.is_user_code(it))
}

/// Times of a stack.
#[derive(Debug, Clone, Copy, Default)]
struct StackTimes {
    cpu: Ns,
    cuda: Ns,
    in_steps: Ns,
    elapsed: Ns,
}

impl StackTimes {
    fn add(&mut self, more: Self) {
        self.cpu += more.cpu;
        self.cuda += more.cuda;
        self.in_steps += more.in_steps;
        self.elapsed += more.elapsed;
    }

    fn share(self, n: usize, part: usize) -> Self {
        let share = |it: Ns| Ns(share_of(it.0, n, part));
        Self {
            cpu: share(self.cpu),
            cuda: share(self.cuda),
            in_steps: share(self.in_steps),
            elapsed: share(self.elapsed),
        }
    }
}

/// Adds to the total of a line, which was called from `caller`.
fn post_total(line: &mut LineBooks, lines: &Lines, caller: Option<LineId>, times: StackTimes) {
    line.cpu_total += times.cpu;
    line.cuda_total += times.cuda;
    line.cpu_in_steps += times.in_steps;
    line.elapsed += times.elapsed;
    if let Some(caller) = caller.filter(|_| times.cpu != Ns::ZERO) {
        *line.callers.entry(line_key(lines, caller)).or_default() += times.cpu;
    }
}

/// Divides the times of a stack whose last line stands for several: what is on it, what of that and below is charged to it, and
/// what is on it and below.
fn post_fused_stack(
    books: &mut [Box<LineBooks>],
    stacks: &Stacks,
    node: Node,
    parts: &FusedLines,
    times: [StackTimes; 3],
) {
    let mut around = Vec::new();
    let mut at = stacks.parent(node);
    while !at.is_empty() {
        around.push(stacks.line(at));
        at = stacks.parent(at);
    }
    for (part, lines) in parts.iter().enumerate() {
        let [at, own, all] = times.map(|it| it.share(parts.len(), part));
        let (Some(own_line), Some(last)) = (stacks.lines.last_of_user(lines), lines.last()) else {
            continue;
        };
        books[own_line.index()].cpu_own += own.cpu;
        books[own_line.index()].cuda_own += own.cuda;
        books[last.index()].cpu_self += at.cpu;
        books[last.index()].cuda_self += at.cuda;
        for (row, &line) in lines.iter().enumerate() {
            if !around.contains(&line) && !lines[..row].contains(&line) {
                let of_user = stacks.lines.is_user_code(line);
                let mut outwards = lines[..row].iter().rev().chain(&around).copied();
                let caller = outwards.find(|&it| !of_user || stacks.lines.is_user_code(it));
                post_total(&mut books[line.index()], &stacks.lines, caller, all);
            }
        }
    }
}

/// Gives the lines that a fused line stands for their parts of all that is counted by charged line, and of the calls made there.
/// Thread time and device time are divided by [`post_stacks`].
fn post_fused(books: &mut [Box<LineBooks>], charges: &Charges) -> Vec<(u64, Evidence)> {
    let lines = &charges.stacks.lines;
    let mut calls = charges.host.calls.clone();
    for (line, parts) in lines.all_fused() {
        let mut fused = take(&mut books[line.index()]);
        let (n_calls, evidence) = calls.get(line.index()).copied().unwrap_or_default();
        fused.calls = n_calls;
        for (part, of_part) in parts.iter().enumerate() {
            let Some(own) = lines.last_of_user(of_part) else { continue };
            let share = fused.share(parts.len(), part);
            if share.calls > 0 {
                let (of_own, weakest) = grow_to(&mut calls, own.index());
                *of_own += share.calls;
                *weakest = (*weakest).max(evidence);
            }
            books[own.index()].merge(&share);
        }
    }
    calls
}

/// Adds what device work and idle time the stack `node` has to the books of its charged line.
fn post_work(charged: &mut LineBooks, node: Node, charges: &Charges) {
    let (kernels, idle) = (amount(&charges.device.kernels, node), amount(&charges.host.idle, node));
    charged.kernels += kernels.kernels;
    charged.launching.launches += kernels.launches;
    charged.launching.launch_time += kernels.launch_time;
    charged.launching.short += kernels.short;
    charged.launching.replayed += kernels.replayed;
    charged.gpu_idle += idle.time;
    charged.launching.idle_host += idle.host;
    charged.launching.idle_kernel += idle.kernel;
    charged.launching.idle_after_wait += idle.after_wait;
    charged.recompute.cpu += amount(&charges.host.recomputed, node);
    charged.recompute.cuda += amount(&charges.device.recomputed, node);
    charged.own_backward.cpu += amount(&charges.host.own_backward, node);
    charged.own_backward.cuda += amount(&charges.device.own_backward, node);
    if charges.is_recording[node.index()] {
        let time = amount(&charges.host.time, node);
        charged.recording.time += time.cpu;
        charged.recording.in_steps += time.in_steps;
        charged.recording.idle += idle.time - idle.after_wait;
    }
    charged.idle_after_sync += amount(&charges.waits.by_node, node).1;
}

/// What is posted to charged lines alone.
fn post_own(books: &mut [Box<LineBooks>], charges: &mut Charges) {
    let Charges { host, device, waits, backward, .. } = charges;
    for (line, &(time, count)) in waits.by_line.iter().enumerate() {
        books[line].sync += time;
        books[line].syncs += count;
    }
    for (line, &(whole, in_steps)) in waits.avoidable_by_line.iter().enumerate() {
        books[line].avoidable_idle += whole;
        books[line].avoidable_in_steps += in_steps;
    }
    for (line, &time) in backward.cpu.iter().enumerate() {
        books[line].cpu_backward += time;
    }
    for (line, &time) in backward.cuda.iter().enumerate() {
        books[line].cuda_backward += time;
    }
    for (line, &count) in host.ops.iter().enumerate() {
        books[line].ops += count;
    }
    // The tables are as large as what is made from them: each is freed before the next is read.
    for ((line, step), share) in take(&mut host.steps) {
        books[line.index()].steps.insert(step, share);
    }
    for ((line, step), time) in take(&mut device.steps) {
        books[line.index()].steps.entry(step).or_default().cuda += time;
    }
    for (line, share) in shares_by_line(host, device).into_iter().enumerate() {
        if share != RankShare::default() {
            let share = RankShare { rank: charges.rank, ..share };
            books[line].by_rank = RankShares::of_rank(&share, charges.run);
        }
    }
}

/// What charged lines cost on a rank, without its number.
fn shares_by_line(host: &HostCharges, device: &DeviceCharges) -> Vec<RankShare> {
    let mut shares: Vec<RankShare> = Vec::new();
    for (line, &time) in host.by_thread.iter().flatten() {
        let share = grow_to(&mut shares, line.index());
        share.host += time;
        share.longest_thread = share.longest_thread.max(time);
    }
    for (line, &time) in device.own.iter().enumerate() {
        grow_to(&mut shares, line).device += time;
    }
    for (line, &elements) in host.elements.iter().enumerate() {
        grow_to(&mut shares, line).elements = elements;
    }
    shares
}

/// Kernels, operators, callees, and what was waited for.
fn post_tables(books: &mut [Box<LineBooks>], charges: &mut Charges, profile: &Profile) {
    let Charges { stacks, host, device, waits, .. } = charges;
    let text = |id| profile.strings.get(id).to_owned();
    for ((line, name, shape), kernel) in take(&mut device.kernel_table) {
        let table = &mut books[line.index()].kernel_table;
        let key = kernel_key(profile, text(name), shape);
        match table.get_mut(&key) {
            Some(same) => same.merge(&kernel),
            None => {
                table.insert(key, kernel);
            }
        }
    }
    for ((line, name), mut operator) in take(&mut host.operators) {
        operator.cuda += device.operators.get(&(line, name)).copied().unwrap_or(Ns::ZERO);
        books[line.index()].operators.insert(text(name), operator);
    }
    for ((line, name), call) in take(&mut host.callees) {
        let callees = &mut books[line.index()].callees;
        callees.entry(callee(profile, name)).or_default().merge(&call);
    }
    for (&(line, launching), &time) in &device.replayed {
        let key = line_key(&stacks.lines, launching);
        books[line.index()].replayed.entry(key).or_default().cuda += time;
    }
    for (&(line, cause), &time) in &waits.waited_for {
        books[line.index()].waits.insert(line_key(&stacks.lines, cause), time);
    }
}

/// What a Python call is called: a module by its path in the model with its class, where that is recorded.
fn callee(profile: &Profile, event: StrId) -> String {
    let text = profile.strings.get(event);
    let Some(module) = profile.module(event) else { return text.to_owned() };
    let class = module_class(text);
    format!("{MODULE}{} ({class})", profile.strings.get(module.name))
}

fn kernel_key(profile: &Profile, name: String, shape: LaunchShapeId) -> KernelKey {
    let shape = profile.device.shapes.get(shape);
    KernelKey {
        name,
        grid: shape.map_or([0; 3], |it| it.grid),
        block: shape.map_or([0; 3], |it| it.block),
    }
}

/// Bytes.
fn post_memory(books: &mut [Box<LineBooks>], memory: &MemoryCharges) {
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
fn in_steps(ledger: &Ledger, charges: &Charges) -> Books {
    let Charges { host, device, gaps, memory, steps, .. } = charges;
    if steps.0.is_empty() {
        let idle: Ns = host.idle_threads.iter().sum();
        return Books { waiting: ledger.totals.waiting - idle, ..ledger.totals };
    }
    // They are in order of start, so that the steps are walked once.
    let mut cursor = 0;
    let idle = gaps.all.iter().map(|gap| steps.within(gap.start, gap.end, 0, &mut cursor).0);
    Books {
        cpu: host.time.iter().map(|it| it.in_steps).sum(),
        waiting: host.waiting_in_steps,
        cuda: device.in_steps,
        gpu_idle: idle.sum(),
        sync: charges.sync_in_steps,
        alloc: memory.in_steps,
        comm: charges.summary.in_steps.comm,
        comm_exposed: charges.summary.in_steps.comm_exposed,
        flops: charges.summary.in_steps.flops,
    }
}

/// Totals, the unattributed rest, devices and threads.
fn post_totals(ledger: &mut Ledger, charges: &Charges, profile: &Profile) {
    let Charges { host, device, waits, memory, gaps, .. } = charges;
    let no_line = if charges.has_stacks { Reason::NoPythonFrame } else { Reason::NoStacks };
    ledger.totals.cpu = host.threads.iter().sum();
    let (in_calls, idle): (Ns, Ns) = (host.waiting.iter().sum(), host.idle_threads.iter().sum());
    ledger.totals.waiting = in_calls + idle;
    ledger.totals.cuda = device.total;
    ledger.totals.gpu_idle = gaps.with_launch + gaps.without_launch;
    ledger.totals.sync = charges.sync;
    ledger.totals.alloc = memory.total;
    let summary = &charges.summary;
    ledger.totals.comm = summary.totals.comm;
    ledger.totals.comm_exposed = summary.totals.comm_exposed;
    ledger.totals.flops = summary.totals.flops;
    ledger.in_steps = in_steps(ledger, charges);
    let unattributed = &mut ledger.unattributed;
    unattributed.charge(no_line, Metric::Cpu, host.time.first().map_or(0, |it| it.cpu.0));
    unattributed.charge(no_line, Metric::Cuda, device.without_line.0);
    unattributed.charge(Reason::NoLaunch, Metric::Cuda, device.without_launch.0);
    unattributed.charge(Reason::InFlight, Metric::Cuda, device.in_flight.0);
    unattributed.charge(no_line, Metric::GpuIdle, host.idle_without_line.0);
    unattributed.charge(Reason::NoLaunch, Metric::GpuIdle, gaps.without_launch.0);
    let uncovered = gaps.with_launch - host.idle_covered;
    unattributed.charge(Reason::IdleThread, Metric::GpuIdle, uncovered.0);
    unattributed.charge(no_line, Metric::Waiting, host.waiting.first().map_or(0, |it| it.0));
    unattributed.charge(Reason::IdleThread, Metric::Waiting, idle.0);
    unattributed.charge(no_line, Metric::Sync, waits.without_line.0);
    unattributed.charge(no_line, Metric::Alloc, memory.without_line.0);
    for (reason, books) in [
        (no_line, &summary.without_line),
        (Reason::NoLaunch, &summary.without_launch),
        (Reason::InFlight, &summary.in_flight),
    ] {
        unattributed.charge(reason, Metric::Flops, books.flops);
        unattributed.charge(reason, Metric::Comm, books.comm.0);
        unattributed.charge(reason, Metric::CommExposed, books.comm_exposed.0);
    }
    for (&ordinal, time) in &gaps.devices {
        let device = profile.meta.devices.iter().find(|it| it.id == ordinal);
        let books = DeviceBooks {
            name: device.map_or("", |it| it.name.as_str()).to_owned(),
            time: time.time,
            busy: time.busy,
            idle: time.idle,
            total_memory: device.map_or(Bytes::ZERO, |it| it.total_memory),
        };
        ledger.devices.insert(DeviceKey { rank: charges.rank, device: ordinal }, books);
    }
    let key = |thread: usize| {
        let tid = profile.threads[thread].tid;
        ThreadKey { rank: charges.rank, thread: profile.strings.get(tid).to_owned() }
    };
    for (thread, &time) in host.threads.iter().enumerate().filter(|(_, time)| **time != Ns::ZERO) {
        *ledger.threads.entry(key(thread)).or_default() += time;
    }
    for (thread, &time) in
        host.idle_threads.iter().enumerate().filter(|(_, time)| **time != Ns::ZERO)
    {
        let idle = ledger.idle_threads.entry(key(thread)).or_default();
        idle.time += time;
        idle.threads += host.idle_count[thread];
    }
}
