//! Traces and memory snapshots of the same run, joined: the lines that they assign are compared with the true ones,
//! and snapshots of anything else are refused. The pairs are simulated (`fixtures/add_snapshot.py`).

#![expect(clippy::unwrap_used, reason = "a test may fail anywhere")]

mod seeds;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use attribution::{AttributionOptions, event_lines, join_callers, join_snapshot};
use ledger::{Evidence, Ns};
use profile::{HostKind, Profile, Snapshot, SnapshotAction, SnapshotEvent, StrId};
use proptest::prelude::*;
use snapshot_reader::read_snapshot;
use tests::fixtures::{read_gz, repository};
use trace_reader::TraceReader;
use trace_reader::callers::read_callers;

const VERSIONS: [&str; 2] = ["2.11.0", "2.15.0"];
const WORKLOADS: [&str; 2] = ["slow_model", "transformer"];

fn fixture(folder: &str, version: &str, file: &str) -> PathBuf {
    repository().join("fixtures").join(folder).join(format!("torch{version}")).join(file)
}

/// A simulated trace without any exact line.
fn trace(version: &str, workload: &str) -> Profile {
    let mut reader = TraceReader::new();
    let path = fixture("simulated_cuda", version, &format!("{workload}.json.gz"));
    reader.feed(&read_gz(&path).unwrap());
    let mut profile = reader.finish().profile;
    profile.host.python.caller.fill(StrId::NONE);
    profile
}

fn snapshot(version: &str, workload: &str) -> Snapshot {
    let file = format!("{workload}.snapshot.pickle.gz");
    read_snapshot(&read_gz(&fixture("simulated_snapshots", version, &file)).unwrap()).unwrap().0
}

/// The true line of each operator directly below a frame of the workload, by `External id`.
fn truth(version: &str, workload: &str) -> HashMap<i64, String> {
    let text = std::fs::read(fixture("truth", version, &format!("{workload}.truth.json"))).unwrap();
    let rows: Vec<(i64, String, String, u32)> = serde_json::from_slice(&text).unwrap();
    let line = |(id, _, frame, line): (_, _, String, _)| {
        (id, format!("{}:{line}", frame.split('(').next().unwrap()))
    };
    rows.into_iter().map(line).collect()
}

/// The lines of calls as the side-car has them, by row.
fn true_callers(version: &str, workload: &str) -> Vec<String> {
    let mut profile = trace(version, workload);
    let path = fixture("simulated_cuda", version, &format!("{workload}.callers.json.gz"));
    let (callers, _) = read_callers(&read_gz(&path).unwrap()).unwrap();
    assert!(join_callers(&mut profile, &callers).is_empty());
    texts(&profile, &profile.host.python.caller)
}

fn texts(profile: &Profile, ids: &[StrId]) -> Vec<String> {
    ids.iter().map(|&id| profile.strings.get(id).to_owned()).collect()
}

/// `External id` and line of each operator that has an exact line.
fn assigned(profile: &Profile) -> Vec<(i64, String)> {
    let operators = &profile.host.operators;
    let ids = operators.external_id.iter().copied();
    let lines = texts(profile, &operators.line);
    ids.zip(lines).filter(|(_, line)| !line.is_empty()).collect()
}

#[test]
fn operators_get_the_lines_of_the_snapshot() {
    // Of the operators whose true line is known: how many there are, how many have an exact line, and how many the
    // right one without and with the snapshot.
    let expected = [(102, 81, 102, 102), (1006, 642, 1006, 1006)];
    for version in VERSIONS {
        for (workload, expected) in WORKLOADS.into_iter().zip(expected) {
            let (mut profile, truth) = (trace(version, workload), truth(version, workload));
            let right = |profile: &Profile| {
                let root = repository().join("fixtures/workloads");
                let sources = loader::find_sources(profile, &root, &[]);
                let host = &profile.host;
                let assigned =
                    event_lines(profile, &sources, AttributionOptions::default()).into_iter();
                let operators =
                    assigned.filter(|it| host.kind[it.event.index()] == HostKind::Operator);
                let mut right = 0;
                for it in operators.filter(|it| it.evidence != Evidence::Function) {
                    let id = host.operators.external_id[host.detail_row(it.event)];
                    let Some(line) = truth.get(&id) else { continue };
                    assert_eq!(*line, format!("{}:{}", it.file, it.line), "{id}");
                    right += 1;
                }
                right
            };
            let before = right(&profile);
            let warnings = join_snapshot(&mut profile, &snapshot(version, workload));
            assert!(warnings.is_empty(), "{warnings:?}");
            let assigned = assigned(&profile);
            let own = assigned.iter().filter(|(id, _)| truth.contains_key(id));
            for (id, line) in own.clone() {
                assert_eq!(truth[id], *line, "{version} {workload}: {id}");
            }
            assert_eq!((truth.len(), own.count(), before, right(&profile)), expected, "{workload}");
            // Every call around an allocation has its caller too.
            let callers = texts(&profile, &profile.host.python.caller);
            let both = callers.iter().zip(true_callers(version, workload));
            let assigned: Vec<_> = both.filter(|(assigned, _)| !assigned.is_empty()).collect();
            assert!(assigned.len() > 800, "{}", assigned.len());
            for (assigned, truth) in assigned {
                assert_eq!(*assigned, truth, "{version} {workload}");
            }
        }
    }
}

#[test]
fn another_run_is_refused() {
    for (of_trace, of_snapshot) in [
        (("2.15.0", "transformer"), ("2.11.0", "transformer")),
        (("2.15.0", "transformer"), ("2.15.0", "slow_model")),
        (("2.11.0", "slow_model"), ("2.15.0", "slow_model")),
    ] {
        let mut profile = trace(of_trace.0, of_trace.1);
        let warnings = join_snapshot(&mut profile, &snapshot(of_snapshot.0, of_snapshot.1));
        assert_eq!(warnings.iter().count(), 1, "{warnings:?}");
        assert!(assigned(&profile).is_empty());
        assert!(profile.host.python.caller.iter().all(|it| it.get().is_none()));
    }
}

#[test]
fn the_loader_joins_what_is_of_one_run() {
    let trace = fixture("simulated_cuda", "2.15.0", "transformer.json.gz");
    let load = |snapshot: &Path| {
        let options =
            loader::LoadOptions::new(repository().join("fixtures/workloads"), Some(Vec::new()));
        let watch = loader::Watch { progress: &|_| (), cancelled: &AtomicBool::new(false) };
        loader::load(&[trace.clone(), snapshot.to_owned()], &options, &watch).unwrap()
    };
    let own = load(&fixture("simulated_snapshots", "2.15.0", "transformer.snapshot.pickle.gz"));
    assert_eq!(own.inputs[0].path, trace, "inputs stay in their order");
    assert!(own.inputs.iter().all(|it| it.warnings.is_empty()), "{:?}", own.inputs);
    // The scores of attention: `q @ k`, which no version of PyTorch names the line of.
    let line = |run: &loader::Run| {
        let mut lines = run.merged.lines.iter();
        let found = lines.find(|(key, _)| key.file == "transformer.py" && key.line == 76);
        found.map(|(_, books)| (books.evidence, books.ops))
    };
    let (evidence, ops) = line(&own).unwrap();
    assert_eq!(evidence, Evidence::Exact);
    assert!(own.merged.balances().iter().all(|it| it.is_balanced()));
    let other = load(&fixture("simulated_snapshots", "2.15.0", "slow_model.snapshot.pickle.gz"));
    assert!(other.inputs[0].warnings[0].message.contains("another run"), "{:?}", other.inputs[0]);
    assert_eq!(line(&other), Some((Evidence::Inferred, ops)));
}

/// The pair of the property below.
struct Pair {
    profile: Profile,
    snapshot: Snapshot,
    /// What the allocator did.
    events: Vec<SnapshotEvent>,
    /// The lines that it assigns to operators.
    lines: HashMap<i64, String>,
}

fn pair() -> MutexGuard<'static, Pair> {
    static PAIR: LazyLock<Mutex<Pair>> = LazyLock::new(|| {
        let (mut profile, snapshot) =
            (trace("2.15.0", "slow_model"), snapshot("2.15.0", "slow_model"));
        join_snapshot(&mut profile, &snapshot);
        let (events, lines) =
            (snapshot.devices[0].events.clone(), assigned(&profile).into_iter().collect());
        Mutex::new(Pair { profile, snapshot, events, lines })
    });
    PAIR.lock().unwrap_or_else(PoisonError::into_inner)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..seeds::kept() })]

    /// Whatever is missing from a snapshot, in disorder, or at other times: no operator gets another line than the
    /// whole snapshot gives it, and what is refused is said.
    #[test]
    fn a_damaged_snapshot_never_gives_another_line(
        from in 0.0..1.0_f64,
        length in 0.0..1.0_f64,
        swaps in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..400),
        drift in prop_oneof![Just(0), -3_000..3_000_i64],
        shift in prop_oneof![Just(0), -3_000_000_000..3_000_000_000_i64],
    ) {
        let mut pair = pair();
        let Pair { profile, snapshot, events, lines } = &mut *pair;
        let mut events = events.clone();
        let n = events.len() as f64;
        events.drain(..(from * n) as usize);
        events.truncate((length * n) as usize);
        for (one, other) in swaps {
            if let (false, len) = (events.is_empty(), events.len()) {
                let (one, other) = (one.index(len), other.index(len));
                let (first, second) = (events[one].at, events[other].at);
                events.swap(one, other);
                (events[one].at, events[other].at) = (first, second);
            }
        }
        // Another run: what lies between two events differs.
        for (index, event) in (0..).zip(&mut events) {
            event.at += Ns(shift + index * drift);
        }
        let n_allocs = events.iter().filter(|it| it.action == SnapshotAction::Alloc).count();
        snapshot.devices[0].events = events;
        profile.host.python.caller.fill(StrId::NONE);
        profile.host.operators.line.clear();
        let warnings = join_snapshot(profile, snapshot);
        let assigned = assigned(profile);
        prop_assert!(assigned.len() <= n_allocs);
        // Without an allocation nothing is refused, because there is nothing to join.
        prop_assert!(assigned.len() == lines.len() || !warnings.is_empty() || n_allocs == 0);
        for (id, line) in assigned {
            prop_assert_eq!(lines.get(&id), Some(&line), "{}", id);
        }
    }
}
