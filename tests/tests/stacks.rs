//! Whole stacks, with the lines that inference finds: the sums over them are those of the ledger, to the nanosecond and the byte.

#![expect(clippy::unwrap_used, reason = "a test may fail anywhere")]

mod stack_sums;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use ledger::{Ledger, LineBooks, LineKey, Metric};
use loader::{InputKind, LoadOptions, Run, StackBooks, StackChoice, Watch};
use report::flame::{self, FlameStacks};
use report::{CodeFilter, Recording};
use serde_json::Value;
use stack_books::{StackAmount, StackFrame, StackRow, StepChoice, TrainingPhase};
use tests::fixtures::{repository, traces};

use stack_sums::differences;

fn options(stacks: StackChoice) -> LoadOptions {
    let fixtures = repository().join("fixtures");
    let sites = vec![fixtures.join("workloads/site-packages")];
    LoadOptions { stacks, ..LoadOptions::new(fixtures.join("workloads"), Some(sites)) }
}

fn load(inputs: &[PathBuf]) -> Run {
    let options = options(StackChoice::Always);
    let watch = Watch { progress: &|_| (), cancelled: &AtomicBool::new(false) };
    loader::load(inputs, &options, &watch).unwrap()
}

/// Which metrics the stacks of `inputs` have anything of, after they were compared with the ledger.
fn compared(inputs: &[PathBuf], wrong: &mut String) -> Vec<Metric> {
    let run = load(inputs);
    let stacks = run.stacks.as_ref().unwrap();
    // Each event of a fused kernel is divided by itself in stacks, and all of them together in the ledger.
    let is_compiled = run.inputs.iter().any(|it| it.kind == InputKind::CompileLog);
    let events = run.inputs.first().map_or(0, |it| it.events);
    let differences = differences(&run.merged, stacks, if is_compiled { events } else { 0 });
    // Nor are its operators and kernels counted by part.
    let miscounted = match is_compiled {
        true => String::new(),
        false => {
            let folded = stacks.of_user_code();
            counts(&run.merged, &folded) + &peaks(&run.merged, &folded)
        }
    };
    let of_phases = TrainingPhase::ALL.map(|it| stacks.of_phase(it));
    for metric in StackBooks::METRICS {
        // What is below anything is all, and no stack is of two phases.
        assert_eq!(stacks.below(|_| true).total(metric), stacks.total(metric), "{inputs:?}");
        let sum: i64 = of_phases.iter().map(|it| it.total(metric)).sum();
        assert!(sum <= stacks.total(metric), "{inputs:?}");
    }
    if !differences.is_empty() || !miscounted.is_empty() {
        *wrong += &format!("{inputs:?}\n{differences}{miscounted}");
    }
    Metric::ALL.into_iter().filter(|it| stacks.total(*it) != 0).collect()
}

/// Where the numbers of outermost operators and of what ran on devices, by line, are not those of the ledger:
/// in recordings, where events of a thread lie within each other.
fn counts(ledger: &Ledger, folded: &StackBooks) -> String {
    let mut operators: BTreeMap<&LineKey, u64> = BTreeMap::new();
    let mut launched: BTreeMap<&LineKey, u64> = BTreeMap::new();
    for stack in folded.stacks() {
        let outwards = std::iter::successors(Some(stack), |it| {
            Some(folded.parent(*it)).filter(|it| *it != StackRow::ROOT)
        });
        let mut around = outwards.map(|it| folded.frame_of(it));
        let Some(innermost) = around.next() else { continue };
        let mut is_outermost = true;
        let line = around.find_map(|it| match it {
            StackFrame::Line(line) => Some(&line.key),
            StackFrame::Operator(_) => {
                is_outermost = false;
                None
            }
            _ => None,
        });
        let Some(line) = line else { continue };
        match innermost {
            StackFrame::Operator(_) if is_outermost => {
                *operators.entry(line).or_default() += folded.events(stack);
            }
            StackFrame::Device(_) => *launched.entry(line).or_default() += folded.events(stack),
            _ => {}
        }
    }
    let mut text = String::new();
    for (key, line) in &ledger.lines {
        let expected = [
            ("operators", &operators, line.operators.values().map(|it| it.calls).sum::<u64>()),
            ("device events", &launched, line.kernel_table.values().map(|it| it.calls).sum()),
        ];
        for (what, counted, expected) in expected {
            let counted = counted.get(key).copied().unwrap_or(0);
            if counted != expected {
                text += &format!(
                    "{what} of {}:{}: stacks have {counted}, the ledger {expected}\n",
                    key.file, key.line
                );
            }
        }
    }
    text
}

/// Where the bytes at the peak, by line, are not those of the ledger.
fn peaks(ledger: &Ledger, folded: &StackBooks) -> String {
    let mut sums: BTreeMap<&LineKey, i64> = BTreeMap::new();
    for stack in folded.stacks() {
        let line = folded.outwards(stack).find_map(|it| match folded.frame_of(it) {
            StackFrame::Line(line) => Some(&line.key),
            _ => None,
        });
        if let Some(line) = line {
            *sums.entry(line).or_default() += folded.amount(StackAmount::Peak, stack);
        }
    }
    sums.retain(|_, it| *it != 0);
    let lines = ledger.lines.iter().map(|(key, line)| (key, line.peak.0));
    let expected: BTreeMap<&LineKey, i64> = lines.filter(|(_, it)| *it != 0).collect();
    match sums == expected {
        true => String::new(),
        false => format!("bytes at the peak: stacks have {sums:?}, the ledger {expected:?}\n"),
    }
}

#[test]
fn stacks_of_traces_add_up_to_their_ledgers() {
    let mut traces = traces().unwrap();
    // The largest take long without optimisation, and are compared by `accounting.rs` without inference.
    traces.retain(|it| it.metadata().unwrap().len() < 250_000);
    assert!(traces.len() >= 15, "the fixtures are gone");
    let (mut wrong, mut seen) = (String::new(), Vec::new());
    for trace in traces {
        seen.extend(compared(&[trace], &mut wrong));
    }
    assert!(wrong.is_empty(), "{wrong}");
    for metric in StackBooks::METRICS {
        assert!(seen.contains(&metric), "no recording has {}", metric.id());
    }
}

#[test]
fn stacks_of_snapshots_and_of_several_ranks_add_up_to_their_ledgers() {
    let fixture = |path: &str| repository().join("fixtures").join(path);
    let trace = fixture("simulated_cuda/torch2.15.0/slow_model.json.gz");
    let snapshot = fixture("simulated_snapshots/torch2.15.0/slow_model.snapshot.pickle.gz");
    let ranks = fixture("cpu/torch2.15.0/late_rank.slow_line");
    let ranks = loader::discover(&ranks).remove(0).inputs;
    assert!(1 < ranks.len());
    let mut wrong = String::new();
    for inputs in [&[snapshot.clone()][..], &[trace, snapshot], &ranks] {
        assert_ne!(compared(inputs, &mut wrong), []);
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Of each step the amounts that the ledger keeps by step, on the lines that it charges.
#[test]
fn stacks_of_a_step_add_up_to_what_the_ledger_has_of_it() {
    for trace in
        ["simulated_cuda/torch2.15.0/slow_model.json.gz", "cpu/torch2.15.0/prefetch.json.gz"]
    {
        let trace = repository().join("fixtures").join(trace);
        let ledger = load(std::slice::from_ref(&trace)).merged;
        assert!(1 < ledger.steps.len());
        for &step in ledger.steps.keys() {
            let mut options = options(StackChoice::Always);
            options.stack_options.events.steps.push(StepChoice::from(step));
            let watch = Watch { progress: &|_| (), cancelled: &AtomicBool::new(false) };
            let run = loader::load(std::slice::from_ref(&trace), &options, &watch).unwrap();
            let books = run.stacks.unwrap().of_user_code();
            let mut own: BTreeMap<(Metric, &LineKey), i64> = BTreeMap::new();
            for stack in books.stacks() {
                let line = books.outwards(stack).find_map(|it| match books.frame_of(it) {
                    StackFrame::Line(line) => Some(&line.key),
                    _ => None,
                });
                let Some(line) = line else { continue };
                for metric in StackBooks::METRICS {
                    *own.entry((metric, line)).or_default() += books.amount(metric, stack);
                }
            }
            for (key, line) in &ledger.lines {
                let expected = line.steps.get(&step).copied().unwrap_or_default();
                let expected = [
                    (Metric::Cpu, expected.cpu),
                    (Metric::Cuda, expected.cuda),
                    (Metric::Sync, expected.sync),
                    (Metric::GpuIdle, expected.gpu_idle),
                    (Metric::Waiting, expected.waiting),
                ];
                for (metric, expected) in expected {
                    let found = own.get(&(metric, key)).copied().unwrap_or(0);
                    assert_eq!(found, expected.0, "{trace:?} step {step} {key:?} {metric:?}");
                }
            }
        }
    }
}

/// The numbers of a column.
fn numbers(column: &Value) -> Vec<usize> {
    let rows = column.as_array().unwrap().iter();
    rows.map(|it| usize::try_from(it.as_u64().unwrap()).unwrap()).collect()
}

/// What a flame graph says of each line: the amounts on stacks that it is the innermost line of.
fn sums_by_line(graph: &Value, metric: &Value) -> BTreeMap<(String, u32), i64> {
    let column = |table: &str, name: &str| numbers(&graph[table][name]);
    let (parents, frames) = (column("nodes", "parent"), column("nodes", "frame"));
    let (files, lines) = (column("frames", "file"), column("frames", "line"));
    let mut sums = BTreeMap::new();
    for (mut node, amount) in numbers(&metric["node"]).into_iter().zip(numbers(&metric["amount"])) {
        while node != 0 && files[frames[node]] == 0 {
            node = parents[node];
        }
        if node != 0 {
            let frame = frames[node];
            let file = graph["strings"][files[frame]].as_str().unwrap().to_owned();
            let line = u32::try_from(lines[frame]).unwrap();
            *sums.entry((file, line)).or_default() += i64::try_from(amount).unwrap();
        }
    }
    sums
}

#[test]
fn flame_graphs_have_the_sums_of_the_ledger() {
    for path in [
        "simulated_cuda/torch2.15.0/slow_model.json.gz",
        "cpu/torch2.15.0/slow_model.json.gz",
        "cpu/torch1.13.1/slow_model.json.gz",
    ] {
        let run = load(&[repository().join("fixtures").join(path)]);
        let books = run.stacks.as_ref().unwrap();
        let options = options(StackChoice::Always);
        let names = loader::display_names(&run.merged, &options.root);
        let sources = loader::source_folders(&options);
        let recording = Recording { run: &run, names, sources: &sources };
        let stacks = FlameStacks::new(&recording, books, CodeFilter::ALL, None);
        let graph = flame::flame(&recording, &stacks, None, path, 0.0);
        let folded = flame::flame(&recording, &stacks, None, path, 0.01);
        assert!(0 < folded["leftOut"].as_u64().unwrap(), "{path}");
        for graph in [&graph, &folded] {
            for metric in graph["metrics"].as_array().unwrap() {
                let sum =
                    i64::try_from(numbers(&metric["amount"]).into_iter().sum::<usize>()).unwrap();
                let kept = StackBooks::amounts().find(|it| metric["id"] == it.id());
                let expected = match kept.unwrap() {
                    StackAmount::Of(metric) => run.merged.totals.get(metric),
                    StackAmount::Peak => books.total(StackAmount::Peak),
                };
                assert_eq!(sum, expected, "{path} {}", metric["id"]);
            }
        }
        let by_id = |id: &str| {
            let metrics = graph["metrics"].as_array().unwrap();
            metrics.iter().find(|it| it["id"] == id).map(|it| sums_by_line(&graph, it))
        };
        let holds = |id: &str, amount: &dyn Fn(&LineBooks) -> i64| {
            let mut expected: BTreeMap<(String, u32), i64> = BTreeMap::new();
            for (key, line) in run.merged.lines.iter().filter(|(_, it)| amount(it) != 0) {
                let shown = recording.names.get(key.file.as_str()).unwrap().clone();
                *expected.entry((shown, key.line)).or_default() += amount(line);
            }
            assert_eq!(by_id(id).unwrap_or_default(), expected, "{id} of {path}");
        };
        holds("cpu", &|it| it.cpu_self.0);
        holds("cuda", &|it| it.cuda_self.0);
    }
}

#[test]
fn stacks_of_a_ledger_file_are_left_out_where_they_are_only_welcome() {
    let trace = repository().join("fixtures/cpu/torch2.15.0/slow_model.json.gz");
    let run = load(&[trace]);
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("slow_model.perfline");
    let sources = loader::source_folders(&options(StackChoice::No));
    std::fs::write(&ledger, loader::to_ledger_file(&run, &sources).unwrap()).unwrap();
    let watch = Watch { progress: &|_| (), cancelled: &AtomicBool::new(false) };
    let load = |choice| loader::load(std::slice::from_ref(&ledger), &options(choice), &watch);
    let loaded = load(StackChoice::WherePossible).unwrap();
    assert!(loaded.stacks.is_none());
    assert!(!loaded.merged.lines.is_empty());
    assert!(load(StackChoice::Always).is_err());
}
