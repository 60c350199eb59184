//! Whole stacks, with the lines that inference finds: the sums over them are those of the ledger, to the nanosecond and the byte.

#![expect(clippy::unwrap_used, reason = "a test may fail anywhere")]

mod stack_sums;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use ledger::Metric;
use loader::{LoadOptions, Run, Watch};
use tests::fixtures::{repository, traces};

use stack_sums::differences;

fn load(inputs: &[PathBuf]) -> Run {
    let fixtures = repository().join("fixtures");
    let sites = vec![fixtures.join("workloads/site-packages")];
    let options = LoadOptions {
        has_stacks: true,
        ..LoadOptions::new(fixtures.join("workloads"), Some(sites))
    };
    let watch = Watch { progress: &|_| (), cancelled: &AtomicBool::new(false) };
    loader::load(inputs, &options, &watch).unwrap()
}

/// Which metrics the stacks of `inputs` have anything of, after they were compared with the ledger.
fn compared(inputs: &[PathBuf], wrong: &mut String) -> Vec<Metric> {
    let run = load(inputs);
    let stacks = run.stacks.as_ref().unwrap();
    let differences = differences(&run.merged, stacks);
    if !differences.is_empty() {
        *wrong += &format!("{inputs:?}\n{differences}");
    }
    Metric::ALL.into_iter().filter(|it| stacks.total(*it) != 0).collect()
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
    for metric in stack_books::StackBooks::METRICS {
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
