//! The accounting of `docs/accounting.md`: the reference against numbers worked out by hand, and the attribution against
//! the reference on these, on random and on recorded traces.

#![expect(clippy::unwrap_used, reason = "a test may fail anywhere")]

mod seeds;
mod stack_sums;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc;

use attribution::AttributionOptions;
use ledger::{Books, Ledger, LineBooks, LineKey, Ns, PerStep, Reason};
use profile::{CapturedEvidence, CapturedLine, CapturedStacks, OriginFrame, Profile};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use recorded::RecordedSources;
use tests::anomalies::{ARGS, Anomaly, with_anomalies};
use tests::builder::render;
use tests::fixtures;
use tests::reference::{self, Accounts, LineAccount, StepAccount, Sums};
use trace_reader::{SpeculativeReader, Trace, TraceReader};

const CASES: &str = include_str!("cases/accounting.txt");

#[test]
fn the_reference_agrees_with_the_numbers_worked_out_by_hand() {
    let cases = cases();
    assert!(cases.len() >= 40);
    let mut wrong = String::new();
    for case in cases {
        for (ignore_exact, expected) in case.expected {
            let found = reference(&case.trace, ignore_exact).to_string();
            if found != expected {
                wrong += &format!("== {}\nexpected\n{expected}found\n{found}\n", case.title);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn attribution_agrees_with_the_numbers_worked_out_by_hand() {
    let wrong: String = cases()
        .iter()
        .filter_map(|case| Some(format!("== {}\n{}\n", case.title, disagreement(&case.trace)?)))
        .collect();
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn attribution_agrees_with_the_reference_on_every_recording() {
    let traces = fixtures::traces().unwrap();
    assert!(traces.len() >= 30, "the fixtures are gone");
    // The reference is slow: the largest recordings are left to the smaller ones of the same program.
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for share in traces.chunks(traces.len().div_ceil(4)) {
            let sender = sender.clone();
            scope.spawn(move || {
                for path in share {
                    let text = String::from_utf8(fixtures::read_gz(path).unwrap()).unwrap();
                    let disagreement = (text.len() < 3 << 20).then(|| disagreement(&text));
                    sender.send((path, disagreement)).unwrap();
                }
            });
        }
    });
    drop(sender);
    let (mut compared, mut wrong) = (0, String::new());
    for (path, disagreement) in receiver {
        compared += usize::from(disagreement.is_some());
        if let Some(disagreement) = disagreement.flatten() {
            wrong += &format!("{}\n{}\n", path.display(), shortened(&disagreement));
        }
    }
    assert!(compared >= 20, "only {compared} were compared");
    assert!(wrong.is_empty(), "{wrong}");
}

/// The thread that launches waits all the time: it leaves the device idle, and has no time of its own.
#[test]
fn idle_time_is_on_stacks_without_thread_time() {
    let lines = [
        ("engine", "op aten::mm 7..7   fwd=1"),
        ("main", "kernel gemm 12..12  ext=2   "),
        ("main", "call \"<built-in method run_backward of X>\" 6..12  "),
        ("engine", "note load 7..12"),
        ("main", "op aten::mm 6..7 ext=2  "),
        ("main", "kernel gemm 0..0     "),
    ];
    let lines = lines.map(|(thread, event)| (thread.to_owned(), event.to_owned()));
    agrees(&lines).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..seeds::kept() })]

    #[test]
    fn attribution_agrees_with_the_reference_on_random_traces(lines in vec(with_thread(any_event()), 1..24)) {
        agrees(&lines)?;
    }

    #[test]
    fn attribution_agrees_with_the_reference_on_random_traces_with_call_stacks(
        lines in vec(with_thread(any_event_with_call_stacks()), 1..24)
    ) {
        agrees(&lines)?;
    }

    #[test]
    fn attribution_agrees_with_the_reference_on_random_launches_and_waits(
        lines in vec(with_thread(prop_oneof![1 => any_python(), 4 => any_device_work()]), 1..24)
    ) {
        agrees(&lines)?;
    }

    #[test]
    fn attribution_agrees_with_the_reference_on_random_captured_stacks(
        lines in vec(with_thread(prop_oneof![1 => any_python(), 4 => any_device_work()]), 1..24),
        captured in vec(option::of(vec((any_file(), 1_u32..4), 0..4)), 12),
    ) {
        agrees_with(&lines, &captured)?;
    }

    #[test]
    fn attribution_agrees_with_the_reference_on_random_backward_passes(
        lines in vec(with_thread(prop_oneof![1 => any_python(), 4 => any_operator(), 2 => any_flow()]), 1..16)
    ) {
        agrees(&lines)?;
    }

    #[test]
    fn attribution_agrees_with_the_reference_on_random_waiting(
        lines in vec(with_thread(prop_oneof![8 => any_waiting(), 1 => any_python(), 1 => any_range()]), 1..12)
    ) {
        agrees(&lines)?;
    }

    #[test]
    fn attribution_agrees_with_the_reference_on_random_memory(
        lines in vec(with_thread(prop_oneof![1 => any_python(), 4 => any_memory()]), 1..24)
    ) {
        agrees(&lines)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..seeds::kept() })]

    /// Unusual args, shuffled keys, doubled and unordered events; read by one, two and eight cores.
    #[test]
    fn attribution_agrees_with_the_reference_on_traces_with_anomalies(
        lines in vec(with_thread(any_event()), 1..24),
        anomalies in vec(any_anomaly(), 1..12),
        piece in 100_usize..2000,
    ) {
        let trace = rendered(&lines)?;
        // The page does not say which of two equal steps, or backward passes, counts.
        let is_single = |event: &str| event.contains("ProfilerStep") || event.contains("run_backward");
        let trace = with_anomalies(&trace, &anomalies, is_single).unwrap();
        let tables: Vec<String> =
            [1, 2, 8].map(|n_cores| tables(&read(&trace, n_cores, piece))).into();
        prop_assert!(tables.iter().all(|it| *it == tables[0]), "{trace}\n{tables:#?}");
        if let Some(disagreement) = disagreement(&trace) {
            return Err(TestCaseError::fail(format!("{trace}\n{disagreement}")));
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Cases

/// A small trace and its accounts.
struct Case {
    title: &'static str,
    trace: String,
    /// Accounts with, and where they are given, without exact evidence.
    expected: Vec<(bool, String)>,
}

fn cases() -> Vec<Case> {
    let parse = |text: &'static str| {
        let (title, text) = text.split_once('\n').unwrap();
        let mut parts = text.split("\n--");
        let trace =
            render(parts.next().unwrap()).unwrap_or_else(|error| panic!("{title}: {error}"));
        let expected = parts.map(|part| {
            let (option, accounts) = part.split_once('\n').unwrap();
            (option.trim() == "ignore exact", format!("{}\n", accounts.trim()))
        });
        Case { title, trace, expected: expected.collect() }
    };
    CASES.split("\n== ").skip(1).map(parse).collect()
}

// ---------------------------------------------------------------------------------------------------------------------
// Random traces, in the language of `tests::builder`

/// Events of all kinds that overlap in every way, on four threads of two processes.
fn any_event() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => any_python(),
        4 => any_operator(),
        4 => any_device_work(),
        1 => any_memory(),
        1 => any_flow(),
        2 => any_range(),
    ]
}

fn any_event_with_call_stacks() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => any_operator_with_call_stack(),
        2 => any_operator(),
        3 => any_device_work(),
        1 => any_memory(),
        1 => any_range(),
    ]
}

/// Puts an event on a thread.
fn with_thread(event: impl Strategy<Value = String>) -> impl Strategy<Value = (String, String)> {
    let thread = prop_oneof![
        4 => Just("main"),
        2 => Just("engine"),
        1 => Just("second"),
        1 => Just("2/main"),
    ];
    (thread.prop_map(str::to_owned), event)
}

fn any_span() -> impl Strategy<Value = String> {
    // Few distinct times, so that events often start or end together; some last no time.
    (0_u32..40, prop_oneof![1 => Just(0), 8 => 1_u32..20])
        .prop_map(|(start, duration)| format!("{start}..{}", start + duration))
}

fn any_file() -> impl Strategy<Value = String> {
    let file = prop_oneof![3 => Just("t.py"), 2 => Just("m.py"), 2 => Just("lib/a.py"), 1 => Just("lib/b.py")];
    file.prop_map(str::to_owned)
}

fn any_line() -> impl Strategy<Value = String> {
    (any_file(), 1..4).prop_map(|(file, line)| format!("{file}:{line}"))
}

/// `key=number`, or nothing.
fn any_number(key: &'static str, numbers: std::ops::Range<i32>) -> impl Strategy<Value = String> {
    option::of(numbers).prop_map(move |it| it.map_or_else(String::new, |it| format!("{key}={it}")))
}

fn any_python() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        5 => any_line().prop_map(|line| format!("py {line} f")),
        2 => Just("call len".to_owned()),
        1 => Just("call \"nn.Module: L_0\"".to_owned()),
        2 => Just("call \"<built-in method run_backward of X>\"".to_owned()),
        1 => Just("py torch/utils/checkpoint.py:3 recompute_fn".to_owned()),
        1 => Just("py torch/autograd/__init__.py:5 backward".to_owned()),
    ];
    let caller = option::of(any_line())
        .prop_map(|it| it.map_or_else(String::new, |it| format!("from={it}")));
    (name, any_span(), caller, any_number("parent", 0..12))
        .prop_map(|(name, span, caller, parent)| format!("{name} {span} {caller} {parent}"))
}

fn any_operator() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        6 => Just("aten::mm"),
        2 => Just("MmBackward0"),
        1 => Just("\"autograd::engine::evaluate_function: MmBackward0\""),
        1 => Just("torch::autograd::AccumulateGrad"),
    ];
    (name, any_span(), any_number("ext", 0..5), any_number("seq", 0..4), any_number("fwd", 0..3))
        .prop_map(|(name, span, ext, sequence, forward)| {
            format!("op {name} {span} {ext} {sequence} {forward}")
        })
}

fn any_operator_with_call_stack() -> impl Strategy<Value = String> {
    let backward = "/x/torch/autograd/__init__.py(143): backward";
    let frame = prop_oneof![
        6 => any_line().prop_map(|it| format!("{}): f", it.replace(':', "("))),
        1 => Just(backward.to_owned()),
        1 => Just("<built-in function len>".to_owned()),
    ];
    let end = prop_oneof![4 => Just(""), 1 => Just(";")];
    (any_operator(), vec(frame, 0..4), end).prop_map(|(operator, frames, end)| {
        format!("{operator} stack=\"{}{end}\"", frames.join(";"))
    })
}

fn any_device_work() -> impl Strategy<Value = String> {
    let call = prop_oneof![
        6 => Just("cudaLaunchKernel"),
        2 => Just("cudaStreamSynchronize"),
        2 => Just("cudaMemcpyAsync"),
        1 => Just("cudaMemcpy"),
    ];
    let call = (call, any_span(), any_number("corr", 1..6), any_number("ext", 0..5)).prop_map(
        |(name, span, correlation, ext)| format!("run {name} {span} {correlation} {ext}"),
    );
    let event = prop_oneof![
        6 => Just("kernel gemm"),
        1 => Just("fill Memset"),
        1 => Just("copy \"Memcpy DtoD (Device -> Device)\""),
        2 => Just("copy \"Memcpy DtoH (Device -> Pageable)\""),
    ];
    let stack = prop_oneof![
        9 => Just(""),
        1 => Just(r#"stack="  File \"t.py\", line 7, in f\n    g()\n  File \"lib/a.py\", line 8, in g""#),
    ];
    let event = (
        event,
        any_span(),
        any_number("corr", 1..6),
        any_number("ext", 0..5),
        option::weighted(0.2, 0..3)
            .prop_map(|it| it.map_or_else(String::new, |it| format!("graph={it}"))),
        option::weighted(0.2, 0..2)
            .prop_map(|it| it.map_or_else(String::new, |it| format!("device={it}"))),
        stack,
    )
        .prop_map(|(name, span, correlation, ext, graph, device, stack)| {
            format!("{name} {span} {correlation} {ext} {graph} {device} {stack}")
        });
    prop_oneof![call, event]
}

fn any_memory() -> impl Strategy<Value = String> {
    let bytes = prop_oneof![2 => (1..9).prop_map(|it| format!("+{it}")), 1 => (1..9).prop_map(|it| format!("-{it}"))];
    let device = prop_oneof![Just("cpu"), Just("cuda:0"), Just("cuda:1")];
    (bytes, 0..4, 0..50, device)
        .prop_map(|(bytes, address, at, device)| format!("mem {bytes} @0x{address} {at} {device}"))
}

/// Python events of milliseconds, which may wait.
fn any_waiting() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        2 => any_line().prop_map(|line| format!("py {line} f")),
        2 => any_line().prop_map(|line| format!("py {line} wait")),
        2 => Just("call \"<built-in method acquire of _thread.lock object at 0x7f>\"".to_owned()),
        1 => Just("call \"<built-in function sleep>\"".to_owned()),
        1 => Just("call len".to_owned()),
    ];
    (name, 0_u32..40, 0_u32..20).prop_map(|(name, start, duration)| {
        format!("{name} {}..{}", 1000 * start, 1000 * (start + duration) + duration)
    })
}

fn any_flow() -> impl Strategy<Value = String> {
    let thread = prop_oneof![Just("main"), Just("engine")];
    (0..40, thread, 0..40)
        .prop_map(|(tail, thread, head)| format!("flow {tail} -> {thread} {head}"))
}

fn any_range() -> impl Strategy<Value = String> {
    prop_oneof![
        any_span().prop_map(|span| format!("note load {span}")),
        (1..5, any_span()).prop_map(|(number, span)| format!("step {number} {span}")),
    ]
}

fn any_anomaly() -> impl Strategy<Value = Anomaly> {
    prop_oneof![
        3 => (0_usize..24, proptest::sample::select(&ARGS[..])).prop_map(|(event, args)| Anomaly::Args(event, args)),
        2 => (0_usize..24, any::<usize>()).prop_map(|(event, order)| Anomaly::Keys(event, order)),
        1 => (0_usize..24, 0_usize..24).prop_map(|(event, place)| Anomaly::Doubled(event, place)),
        1 => (0_usize..24, 0_usize..24).prop_map(|(one, other)| Anomaly::Swapped(one, other)),
    ]
}

fn agrees(lines: &[(String, String)]) -> Result<(), TestCaseError> {
    agrees_with(lines, &[])
}

fn agrees_with(lines: &[(String, String)], captured: &[CapturedAt]) -> Result<(), TestCaseError> {
    match disagreement_with(&rendered(lines)?, captured) {
        Some(disagreement) => Err(TestCaseError::fail(format!("{lines:#?}\n{disagreement}"))),
        None => Ok(()),
    }
}

/// Python ids are unique, in the order of the file. No two steps and no two backward passes start together.
fn rendered(lines: &[(String, String)]) -> Result<String, TestCaseError> {
    let mut text = String::new();
    let mut starts = BTreeSet::new();
    for (id, (thread, event)) in lines.iter().enumerate() {
        let kind =
            ["step ", "run_backward", "__init__.py"].into_iter().find(|it| event.contains(it));
        let start = event.split(' ').find_map(|it| Some(it.split_once("..")?.0));
        if kind.is_some() && !starts.insert((kind, start)) {
            continue;
        }
        let is_python = event.starts_with("py ") || event.starts_with("call ");
        let id = if is_python { format!("id={id}") } else { String::new() };
        text += &format!("thread {thread}\n{event} {id}\n");
    }
    render(&text).map_err(TestCaseError::fail)
}

// ---------------------------------------------------------------------------------------------------------------------
// Attribution against reference

fn is_user_code(file: &str) -> bool {
    !file.starts_with("lib/") && !file.contains("torch/") && !file.starts_with('<')
}

fn reference(trace: &str, ignore_exact: bool) -> Accounts {
    reference_with(trace, ignore_exact, &[])
}

fn reference_with(trace: &str, ignore_exact: bool, captured: &[CapturedAt]) -> Accounts {
    reference::account(trace, ignore_exact, captured, &is_user_code).unwrap()
}

/// The lines that the launch of a device event was captured with, if it is of a graph.
type CapturedAt = Option<Vec<(String, u32)>>;

/// Notes `captured` in a recording, as what reads a trace of the capture does.
fn note_captured(profile: &mut Profile, captured: &[CapturedAt]) {
    let mut stacks = CapturedStacks::default();
    for lines in captured.iter().take(profile.device.len()) {
        let lines = lines.as_ref().map(|lines| {
            let line = |(file, line): &(String, u32)| {
                let file = profile.strings.intern(file);
                let frame = OriginFrame { file, line: *line, function: file };
                CapturedLine { parts: vec![vec![frame]], evidence: CapturedEvidence::Exact }
            };
            lines.iter().map(line).collect()
        });
        stacks.of_event.push(if lines.is_some() {
            u32::try_from(stacks.stacks.len() + 1).unwrap()
        } else {
            0
        });
        stacks.stacks.extend(lines);
    }
    profile.captured = stacks;
}

/// Reads a trace in pieces of `piece` bytes, where there are several cores as these do: each piece ahead, by one of them.
fn read(trace: &str, n_cores: usize, piece: usize) -> Trace {
    let mut cores: Vec<SpeculativeReader> =
        (0..n_cores).map(|_| SpeculativeReader::new()).collect();
    let mut reader = TraceReader::new();
    for (index, bytes) in trace.as_bytes().chunks(piece.max(1)).enumerate() {
        let ahead = if n_cores > 1 { cores[index % n_cores].read(bytes) } else { None };
        reader.feed_chunk(bytes, ahead.as_ref());
    }
    reader.finish()
}

/// Everything in the tables of a trace, and its anomalies.
fn tables(trace: &Trace) -> String {
    let profile = &trace.profile;
    let strings: Vec<_> = profile.strings.iter().collect();
    let rows = (&profile.threads, &profile.host, &profile.memory, &profile.flows);
    let device = &profile.device;
    let device = (
        (&device.kind, &device.name, &device.start, &device.duration, &device.device),
        (&device.stream, &device.correlation, &device.external_id, &device.graph_id),
    );
    format!("{strings:?} {rows:?} {device:?} {:?}", trace.warnings)
}

/// What attribution and reference do not agree on, with and without exact evidence.
fn disagreement(trace: &str) -> Option<String> {
    disagreement_with(trace, &[])
}

fn disagreement_with(trace: &str, captured: &[CapturedAt]) -> Option<String> {
    let mut text = String::new();
    for ignore_exact in [false, true] {
        let mut profile = read(trace, 1, trace.len()).profile;
        note_captured(&mut profile, captured);
        let expected = reference_with(trace, ignore_exact, captured);
        let mut sources = RecordedSources::default();
        for (file, _) in expected.lines.keys().filter(|(file, _)| is_user_code(file)) {
            sources.insert_own(file);
        }
        let options = AttributionOptions { ignore_exact, ..AttributionOptions::default() };
        let all = attribution::StackOptions::default();
        let parts =
            attribution::TraceParts { stacks: Some(&all), ..attribution::TraceParts::default() };
        let books = attribution::attribute_parts(profile, &sources, options, 0, &parts);
        let (ledger, stacks) = (books.ledger, books.stacks.unwrap_or_default());
        let difference = difference(&expected.to_string(), &accounts(&ledger).to_string());
        let inconsistency = inconsistency(&ledger) + &stack_sums::differences(&ledger, &stacks, 0);
        if !difference.is_empty() || !inconsistency.is_empty() {
            text += &format!(
                "ignore_exact {ignore_exact}; - expected, + found\n{difference}{inconsistency}"
            );
        }
    }
    (!text.is_empty()).then_some(text)
}

/// The lines that only one of two texts has.
fn difference(expected: &str, found: &str) -> String {
    let only = |sign: char, these: &str, others: &str| {
        let lines = these.lines().filter(|line| !others.lines().any(|it| it == *line));
        lines.map(|line| format!("{sign} {line}\n")).collect::<String>()
    };
    only('-', expected, found) + &only('+', found, expected)
}

fn shortened(text: &str) -> String {
    text.lines().take(40).map(|line| format!("{line}\n")).collect()
}

/// The part of a ledger that the page defines.
fn accounts(ledger: &Ledger) -> Accounts {
    let recorded = |key: &LineKey| (ledger.files[&key.file].recorded.clone(), key.line);
    let line = |line: &LineBooks| {
        let steps = line.steps.iter().map(|(&step, it)| {
            let &PerStep { cpu, cuda, sync, gpu_idle, waiting } = it;
            let account = StepAccount {
                cpu: cpu.0,
                cuda: cuda.0,
                sync: sync.0,
                gpu_idle: gpu_idle.0,
                waiting: waiting.0,
            };
            (step, account)
        });
        LineAccount {
            calls: line.calls,
            ops: line.ops,
            cpu_self: line.cpu_self.0,
            cpu_own: line.cpu_own.0,
            cpu_total: line.cpu_total.0,
            cpu_in_steps: line.cpu_in_steps.0,
            elapsed: line.elapsed.0,
            waiting: line.waiting.0,
            cpu_backward: line.cpu_backward.0,
            cuda_self: line.cuda_self.0,
            cuda_own: line.cuda_own.0,
            cuda_total: line.cuda_total.0,
            cuda_backward: line.cuda_backward.0,
            cpu_recompute: line.recompute.cpu.0,
            cuda_recompute: line.recompute.cuda.0,
            kernels: line.kernels,
            sync: line.sync.0,
            syncs: line.syncs,
            idle_after_sync: line.idle_after_sync.0,
            avoidable_idle: line.avoidable_idle.0,
            avoidable_in_steps: line.avoidable_in_steps.0,
            gpu_idle: line.gpu_idle.0,
            idle_host: line.launching.idle_host.0,
            idle_kernel: line.launching.idle_kernel.0,
            idle_after_wait: line.launching.idle_after_wait.0,
            launches: line.launching.launches,
            launch_time: line.launching.launch_time.0,
            short: line.launching.short,
            alloc: line.alloc.0,
            allocs: line.allocs,
            freed: line.freed.0,
            peak: line.peak.0,
            live: line.live.0,
            steps: steps.collect(),
            waits: line.waits.iter().map(|(key, &waited)| (recorded(key), waited.0)).collect(),
            callers: line.callers.iter().map(|(key, &time)| (recorded(key), time.0)).collect(),
        }
    };
    Accounts {
        totals: sums(&ledger.totals),
        unattributed: ledger
            .unattributed
            .iter()
            .map(|(reason, it)| (reason.name(), sums(it)))
            .collect(),
        lines: ledger.lines.iter().map(|(key, it)| (recorded(key), line(it))).collect(),
        steps: ledger.steps.iter().map(|(&step, time)| (step, time.0)).collect(),
    }
}

fn sums(books: &Books) -> Sums {
    let &Books { cpu, cuda, gpu_idle, sync, waiting, alloc, .. } = books;
    Sums {
        cpu: cpu.0,
        cuda: cuda.0,
        gpu_idle: gpu_idle.0,
        sync: sync.0,
        waiting: waiting.0,
        alloc: alloc.0,
    }
}

/// Where the details of a ledger do not add up to what the page defines.
fn inconsistency(ledger: &Ledger) -> String {
    let mut text = String::new();
    for balance in ledger.balances() {
        holds(
            &mut text,
            &format!("books of {:?}", balance.metric),
            balance.lines + balance.unattributed,
            balance.total,
        );
    }
    let excesses = i64::try_from(ledger.excesses().count()).unwrap_or(i64::MAX);
    holds(&mut text, "lines above what there was", excesses, 0);
    let waiting = ledger.unattributed.iter().find(|(it, _)| *it == Reason::IdleThread);
    let waiting = waiting.map_or(Ns(0), |(_, books)| books.waiting);
    holds(&mut text, "idle threads", ledger.idle_threads.values().map(|it| it.time).sum(), waiting);
    holds(&mut text, "threads", ledger.threads.values().sum(), ledger.totals.cpu);
    holds(
        &mut text,
        "devices",
        ledger.devices.values().map(|it| it.time).sum(),
        ledger.totals.cuda,
    );
    holds(
        &mut text,
        "idle devices",
        ledger.devices.values().map(|it| it.idle).sum(),
        ledger.totals.gpu_idle,
    );
    for (key, line) in &ledger.lines {
        let of = |what: &str| format!("{what} of {}:{}", key.file, key.line);
        holds(&mut text, &of("threads"), line.by_rank.host().sum(), line.cpu_own);
        holds(&mut text, &of("devices"), line.by_rank.device().sum(), line.cuda_own);
        holds(
            &mut text,
            &of("kernels"),
            line.kernel_table.values().map(|it| it.total).sum(),
            line.cuda_own,
        );
        let allocations: BTreeMap<_, _> = line.allocations.clone();
        holds(
            &mut text,
            &of("allocations"),
            allocations.values().map(|it| it.alloc).sum(),
            line.alloc,
        );
        holds(&mut text, &of("peaks"), allocations.values().map(|it| it.peak).sum(), line.peak);
        holds(
            &mut text,
            &of("live allocations"),
            allocations.values().map(|it| it.live).sum(),
            line.live,
        );
    }
    text
}

fn holds<T: PartialEq + std::fmt::Debug>(text: &mut String, what: &str, left: T, right: T) {
    if left != right {
        *text += &format!("{what}: {left:?} is not {right:?}\n");
    }
}
