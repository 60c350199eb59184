//! The recordings in `fixtures/`: every row of a side-car is a Python call of its trace.

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use profile::HostKind;
use trace_reader::callers::{looks_like_callers, read_callers};
use trace_reader::{TraceReader, looks_like_trace};

#[test]
fn recordings_are_read_whole() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/cpu");
    let mut n_traces = 0;
    for version in std::fs::read_dir(fixtures).unwrap() {
        for entry in std::fs::read_dir(version.unwrap().path()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.to_string_lossy().into_owned();
            // The smaller ones of each version: a workload in two windows, and on two ranks.
            let is_chosen = name.contains("scheduled") || name.contains("two_ranks");
            if name.ends_with(".json.gz") && !name.ends_with(".callers.json.gz") && is_chosen {
                check(
                    &text(&path),
                    &text(Path::new(&name.replace(".json.gz", ".callers.json.gz"))),
                    &name,
                );
                n_traces += 1;
            }
        }
    }
    assert!(n_traces > 0);
}

fn check(trace: &[u8], callers: &[u8], name: &str) {
    assert!(looks_like_trace(&trace[..4096]) && !looks_like_callers(&trace[..4096]), "{name}");
    assert!(
        looks_like_callers(&callers[..100])
            && !looks_like_trace(&callers[..4096.min(callers.len())]),
        "{name}"
    );
    let mut reader = TraceReader::new();
    trace.chunks(100_000).for_each(|it| reader.feed(it));
    let trace = reader.finish();
    assert!(trace.complete && trace.lost_bytes == 0 && trace.looks_like_trace, "{name}");
    assert!(trace.warnings.is_empty(), "{name}: {:?}", trace.warnings);
    let (callers, warnings) = read_callers(callers).unwrap();
    assert!(warnings.is_empty(), "{name}: {warnings:?}");
    let profile = trace.profile;
    let mut called: Vec<&str> = profile
        .host
        .ids()
        .filter(|id| profile.host.kind[id.index()] == HostKind::Python)
        .map(|id| profile.strings.get(profile.host.name[id.index()]))
        .collect();
    let mut calls: Vec<&str> =
        callers.threads.iter().flat_map(|it| &it.name).map(|&it| callers.strings.get(it)).collect();
    called.sort_unstable();
    calls.sort_unstable();
    assert_eq!(called, calls, "{name}");
}

fn text(path: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_end(&mut text).unwrap();
    text
}
