//! Modules: what their calls took, held against a slow count over pairs of events, and their names in a real recording
//! (`fixtures/workloads/named_modules.py`).

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use attribution::{AttributionOptions, attribute};
use ledger::{Ledger, ModuleBooks};
use loader::{LoadOptions, Watch, load};
use profile::{HostEventId, HostKind, Ns, Profile};
use recorded::{Launches, RecordedSources};
use tests::builder::render;
use tests::fixtures::{read_gz, repository};
use trace_reader::TraceReader;

fn read(bytes: &[u8]) -> Profile {
    let mut reader = TraceReader::new();
    reader.feed(bytes);
    reader.finish().profile
}

fn charged(profile: Profile) -> Ledger {
    attribute(profile, &RecordedSources::default(), AttributionOptions::default(), 0)
}

/// What `fixtures/README.md` says of the workload: block 2 goes through its layers twelve times as often.
#[test]
fn names_of_a_recorded_model() {
    let folder = repository().join("fixtures");
    let trace = folder.join("cpu/torch2.15.0/named_modules.json.gz");
    let options = LoadOptions::new(folder.join("workloads"), Some(Vec::new()));
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    let run = load(&[trace], &options, &watch).unwrap();
    assert!(run.inputs.iter().all(|it| it.complete), "{:?}", run.inputs);
    let modules: BTreeMap<(&str, &str), &ModuleBooks> = run
        .merged
        .modules
        .iter()
        .map(|(key, books)| ((key.name.as_str(), key.class.as_str()), books))
        .collect();
    assert!(modules.values().all(|it| it.is_named));
    let model = modules[&("Model", "Model")];
    let blocks: Vec<_> = (0..4).map(|it| format!("layers.{it}")).collect();
    let blocks: Vec<_> = blocks.iter().map(|it| modules[&(it.as_str(), "Block")]).collect();
    // Two steps; twelve rounds in block 2.
    assert_eq!(blocks.iter().map(|it| it.calls).collect::<Vec<_>>(), [2; 4]);
    let of_block = |name: &str| modules[&(name, "Linear")];
    assert_eq!((of_block("layers.0.up").calls, of_block("layers.2.up").calls), (2, 24));
    assert_eq!(blocks.iter().map(|it| it.cpu_total).max(), Some(blocks[2].cpu_total));
    // A module that is in the model once and called twice.
    assert_eq!(modules[&("mix", "Sequential")].calls, 4);
    assert_eq!(modules[&("mix.1", "Tanh")].parameters, Some(0));
    assert!(modules.contains_key(&("CrossEntropyLoss", "CrossEntropyLoss")));
    // Weights and biases of a linear layer of 64 by 256; all of the model in 32 bits.
    assert_eq!(of_block("layers.0.up").parameters, Some(64 * 256 + 256));
    let bytes = model.parameter_bytes.unwrap().0;
    assert_eq!(u64::try_from(bytes).unwrap(), 4 * model.parameters.unwrap());
    // The backward pass of the model is that of its parts.
    let parts: Ns = blocks.iter().map(|it| it.cpu_backward).sum();
    let parts = parts
        + modules[&("mix", "Sequential")].cpu_backward
        + modules[&("head", "Linear")].cpu_backward;
    assert_eq!(model.cpu_backward, parts);
    // Where the line calls them, they have their names.
    let callees = run.merged.lines.values().flat_map(|it| it.callees.keys());
    let called: Vec<_> = callees.filter(|it| it.starts_with("nn.Module: ")).collect();
    assert!(called.iter().any(|it| *it == "nn.Module: layers.3 (Block)"), "{called:?}");
    assert!(called.iter().all(|it| it.ends_with(')')), "{called:?}");
}

#[test]
fn modules_without_names_are_distinguished_by_class_and_number() {
    let trace = repository().join("fixtures/cpu/torch2.15.0/slow_model.json.gz");
    let ledger = charged(read(&read_gz(&trace).unwrap()));
    assert!(!ledger.modules.is_empty());
    for (key, books) in &ledger.modules {
        let number = key.name.strip_prefix(&format!("{}_", key.class)).unwrap();
        assert!(number.parse::<u32>().is_ok(), "{key:?}");
        assert_eq!((books.is_named, books.parameters), (false, None));
    }
}

/// A module that calls itself, one that goes on beyond the one that it began in, one in another thread, kernels, and a backward
/// node of an operator in a module.
const NESTED: &str = r#"
thread main
call "nn.Module: A_0" 0..100
call "nn.Module: A_0" 20..60
call "nn.Module: B_0" 30..50
op aten::mm 32..40 seq=3 ext=5
run cudaLaunchKernel 33..34 corr=7 ext=5
kernel gemm 35..45 corr=7 ext=5 device=0 stream=7
run cudaLaunchKernel 55..56 corr=8
kernel fill 57..60 corr=8 device=0 stream=7
call "nn.Module: B_0" 90..130
op "autograd::engine::evaluate_function: MmBackward0" 200..230 seq=3 fwd=1 ext=6
run cudaLaunchKernel 205..206 corr=9 ext=6
kernel gemm 210..217 corr=9 ext=6 device=0 stream=7
thread worker
call "nn.Module: C_0" 0..30
"#;

#[test]
fn calls_that_do_not_simply_nest() {
    let ledger = charged(read(render(NESTED).unwrap().as_bytes()));
    let of = |name: &str| {
        let it = ledger.modules.iter().find(|it| it.0.name == name).unwrap().1;
        let times = [
            it.cpu_own,
            it.cpu_total,
            it.cuda_own,
            it.cuda_total,
            it.cpu_backward,
            it.cuda_backward,
        ];
        (it.calls, times.map(|it| it.0 / 1000))
    };
    assert_eq!(of("A_0"), (2, [70, 100, 3, 13, 30, 7]));
    assert_eq!(of("B_0"), (2, [60, 60, 10, 10, 30, 7]));
    assert_eq!(of("C_0"), (1, [30, 30, 0, 0, 0, 0]));
}

/// Deep recursion costs as much as any other trace.
#[test]
fn modules_within_modules_without_end() {
    let depth = 20_000;
    let text: String = (0..depth)
        .map(|it| format!("call \"nn.Module: A_{}\" {it}..{}\n", it % 2, 100_000 - it))
        .collect();
    let ledger = charged(read(render(&text).unwrap().as_bytes()));
    let own: Ns = ledger.modules.values().map(|it| it.cpu_own).sum();
    assert_eq!(own, Ns(100_000_000));
    let totals: Vec<_> = ledger.modules.values().map(|it| it.cpu_total.0 / 1000).collect();
    assert_eq!(totals, [100_000, 99_998]);
}

/// The innermost call that is open at the start of an event, by looking at all.
fn around(profile: &Profile, calls: &[HostEventId], event: HostEventId) -> Option<HostEventId> {
    let host = &profile.host;
    let (thread, at) = (host.thread[event.index()], host.start[event.index()]);
    let is_open = |it: &HostEventId| {
        *it != event
            && host.thread[it.index()] == thread
            && host.start[it.index()] <= at
            && at < host.end(*it)
    };
    calls
        .iter()
        .copied()
        .filter(is_open)
        .max_by_key(|&it| (host.start[it.index()], std::cmp::Reverse(host.end(it))))
}

#[test]
fn a_slow_count_agrees() {
    for name in [
        "cpu/torch2.15.0/named_modules",
        "simulated_cuda/torch2.15.0/slow_model",
        "simulated_cuda/torch2.11.0/slow_model",
    ] {
        let trace = repository().join(format!("fixtures/{name}.json.gz"));
        let trace = read_gz(&trace).unwrap();
        let profile = read(&trace);
        let host = &profile.host;
        let text = |it: HostEventId| profile.strings.get(host.name[it.index()]);
        let is_call = |it: &HostEventId| {
            host.kind[it.index()] == HostKind::Python && text(*it).starts_with("nn.Module: ")
        };
        let calls: Vec<_> = host.ids().filter(is_call).collect();
        let mut own: BTreeMap<&str, Ns> = BTreeMap::new();
        let mut cuda: BTreeMap<&str, Ns> = BTreeMap::new();
        for &call in &calls {
            *own.entry(text(call)).or_default() += host.duration[call.index()];
            if let Some(outer) = around(&profile, &calls, call) {
                *own.entry(text(outer)).or_default() -= host.duration[call.index()];
            }
        }
        let launches = Launches::new(&profile);
        for event in profile.device.ids() {
            let call = launches.launch(event).and_then(|it| around(&profile, &calls, it));
            if let Some(call) = call {
                *cuda.entry(text(call)).or_default() += profile.device.duration[event.index()];
            }
        }
        let found = charged(read(&trace)).modules;
        assert_eq!(found.len(), own.len());
        for (key, books) in &found {
            let event = format!("nn.Module: {}", key.name);
            let event = event.as_str();
            assert_eq!(books.cpu_own, own[event], "{name} {event}");
            assert_eq!(
                books.cuda_own,
                cuda.get(event).copied().unwrap_or_default(),
                "{name} {event}"
            );
        }
        let device: Ns = found.values().map(|it| it.cuda_own).sum();
        assert_eq!(Ns::ZERO < device, name.starts_with("simulated"));
    }
}
