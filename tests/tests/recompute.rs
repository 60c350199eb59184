//! Activation checkpointing: what is computed again, in recordings of `fixtures/workloads/recomputing.py`, of which it is known by
//! construction how often each block runs in the forward pass and again.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use ledger::{LineBooks, Metric, Ns};
use loader::{LoadOptions, Run, StackChoice, Watch, load};
use stack_books::{StackBooks, TrainingPhase};
use tests::fixtures::repository;

const FILE: &str = "recomputing.py";

fn recording(version: &str) -> Run {
    let folder = repository().join("fixtures");
    let trace = folder.join(format!("cpu/torch{version}/recomputing.json.gz"));
    let root = folder.join("workloads");
    let options =
        LoadOptions { stacks: StackChoice::Always, ..LoadOptions::new(root, Some(Vec::new())) };
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    let run = load(&[trace], &options, &watch).unwrap();
    assert!(run.inputs.iter().all(|it| it.complete), "{:?}", run.inputs);
    run
}

/// How often operators ran, by name.
fn operators(books: &StackBooks) -> BTreeMap<String, u64> {
    let mut operators: BTreeMap<String, u64> = BTreeMap::new();
    for stack in books.stacks() {
        if let Some((name, _)) = books.frame_of(stack).operator() {
            *operators.entry(name.to_owned()).or_default() += books.events(stack);
        }
    }
    operators
}

#[test]
fn blocks_run_again_as_often_as_they_are_checkpointed() {
    for version in ["2.1.2", "2.15.0"] {
        let run = recording(version);
        let stacks = run.stacks.as_ref().unwrap();
        let of_phase = |phase| operators(&stacks.of_phase(phase));
        let forward = of_phase(TrainingPhase::Forward);
        let again = of_phase(TrainingPhase::Recompute);
        let backward = of_phase(TrainingPhase::Backward);
        // In each of two steps: `Block` runs alone, nested and three times in a sequence, the last of which is kept; nested it runs
        // again for both checkpoints. So does `Deferred`, in a sequence of two. `Kept` is in no checkpoint.
        for (operator, runs, runs_again) in
            [("aten::gelu", 10, 10), ("aten::silu", 8, 8), ("aten::tanh", 2, 0)]
        {
            let counts = [&forward, &again].map(|it| it.get(operator).copied().unwrap_or(0));
            assert_eq!(counts, [runs, runs_again], "{operator}, {version}");
            assert!(!backward.contains_key(operator), "{operator}, {version}");
        }
        for node in ["GeluBackward0", "SiluBackward0"] {
            assert!(backward.contains_key(node), "{node}, {version}");
            assert!(!again.contains_key(node), "{node}, {version}");
        }
    }
}

#[test]
fn forward_recompute_and_backward_of_a_line_stand_apart() {
    for version in ["2.1.2", "2.15.0"] {
        let run = recording(version);
        let ledger = &run.merged;
        assert!(ledger.balances().iter().all(ledger::Balance::is_balanced), "{version}");
        let of_function = |function: &str| -> Vec<&LineBooks> {
            let lines = ledger.lines_with_books();
            let lines = lines.filter(|(key, it)| key.file == FILE && it.function == function);
            lines.map(|(_, it)| it).collect()
        };
        let sum = |function: &str, of: fn(&LineBooks) -> Ns| -> Ns {
            of_function(function).into_iter().map(of).sum()
        };
        for (function, is_again) in [
            ("Block.forward", true),
            ("Deferred.forward", true),
            ("Nested.forward", true),
            ("Kept.forward", false),
            ("Model.forward", false),
        ] {
            let again = sum(function, |it| it.recompute.cpu);
            assert_eq!(again != Ns::ZERO, is_again, "{function}, {version}");
            assert!(again < sum(function, |it| it.cpu_own), "{function}, {version}");
        }
        for function in ["Block.forward", "Deferred.forward", "Kept.forward"] {
            assert!(sum(function, |it| it.cpu_backward) != Ns::ZERO, "{function}, {version}");
        }
        // The same time by frames of whole stacks, which know nothing of events.
        let again: Ns = ledger.lines.values().map(|it| it.recompute.cpu).sum();
        let stacks = run.stacks.as_ref().unwrap();
        let of_phase = |phase| Ns(stacks.of_phase(phase).total(Metric::Cpu));
        assert_eq!(again, of_phase(TrainingPhase::Recompute), "{version}");
        // Nodes hold nothing that is computed again, so that they fit into the rest of the backward pass.
        let backward: Ns = ledger.lines.values().map(|it| it.cpu_backward).sum();
        assert!(backward < of_phase(TrainingPhase::Backward), "{version}");
    }
}
