//! Peaks of memory snapshots, held against what PyTorch itself computes (`memory_viz/expected.py`), and what the
//! made-up snapshots beside it must show.

#![expect(clippy::unwrap_used, reason = "a test may fail anywhere")]

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use ledger::{Bytes, DeviceKey, DeviceMemory, LineKey};
use loader::{LoadOptions, Run, Watch};
use tests::fixtures::repository;

/// A snapshot of `expected.json`: beside it, or among the recordings of others, which may be missing.
fn path(name: &str) -> Option<PathBuf> {
    let folders = ["tests/memory_viz", "../shared/data/snapshots"];
    folders.into_iter().map(|it| repository().join(it).join(name)).find(|path| path.is_file())
}

fn load(path: PathBuf) -> Run {
    let root = tempfile::tempdir().unwrap();
    let options = LoadOptions::new(root.path().to_owned(), Some(Vec::new()));
    let watch = Watch { progress: &|_| (), cancelled: &AtomicBool::new(false) };
    loader::load(&[path], &options, &watch).unwrap()
}

fn memory(name: &str) -> DeviceMemory {
    let run = load(path(name).unwrap());
    run.merged.memory[&DeviceKey { rank: 0, device: 0 }].clone()
}

fn line(line: u32) -> LineKey {
    LineKey { file: "train.py".to_owned(), line }
}

const MIB: i64 = 1 << 20;

#[test]
fn peaks_are_those_that_pytorch_computes() {
    let text =
        std::fs::read_to_string(repository().join("tests/memory_viz/expected.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut n_compared = 0;
    for (name, devices) in expected.as_object().unwrap() {
        let Some(path) = path(name) else { continue };
        n_compared += 1;
        let run = load(path);
        for (key, memory) in &run.merged.memory {
            let on_lines: Bytes = memory.lines.values().map(|it| it.peak).sum();
            assert_eq!(on_lines + memory.unattributed_peak, memory.peak, "{name}");
            assert!(memory.requested_peak <= memory.peak, "{name}");
            assert!(memory.before_at_peak <= memory.unattributed_peak, "{name}");
            let found = serde_json::json!({
                "device": key.device,
                "peak_bytes": memory.requested_peak.0,
                "active_bytes": memory.end.0,
                "reserved_bytes": memory.reserved.0,
            });
            assert!(
                devices.as_array().unwrap().contains(&found),
                "{name}: {found} not in {devices}"
            );
        }
        assert_eq!(run.merged.memory.len(), devices.as_array().unwrap().len(), "{name}");
    }
    assert!(3 <= n_compared, "the snapshots beside expected.json are there in any case");
}

#[test]
fn a_training_run_shows_its_leak_and_its_losses() {
    let memory = memory("training.pickle.gz");
    let names: Vec<&str> = memory.steps.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names[0], "ProfilerStep#0");
    assert_eq!(names.len(), 6);
    // Four parameters; eight of the optimizer's; a loss and 1 MiB of each step; four gradients and, while the last but
    // one is made, one activation that is not given back yet.
    assert_eq!(memory.before, Bytes(32 * MIB));
    assert_eq!(memory.end, Bytes(32 * MIB + 64 * MIB + 6 * (MIB + 512)));
    let activations = &memory.lines[&line(17)];
    assert_eq!((activations.alloc, activations.saved), (Bytes(72 * MIB), Bytes(72 * MIB)));
    let cache = &memory.lines[&line(43)];
    let held: Vec<i64> = cache.live_by_step.iter().map(|it| it.bytes.0 / MIB).collect();
    assert_eq!(held, [1, 2, 3, 4, 5, 6]);
    assert_eq!(memory.lines[&line(42)].rounding, Bytes(6 * 508));
    assert!(!memory.is_history_cut);
}

#[test]
fn failed_requests_are_reported_with_what_held_the_memory() {
    let memory = memory("out_of_memory.pickle.gz");
    let [in_pieces, too_large] = &memory.out_of_memory[..] else {
        panic!("{:?}", memory.out_of_memory)
    };
    assert_eq!((in_pieces.requested, in_pieces.largest_free), (Bytes(48 * MIB), Bytes(16 * MIB)));
    assert_eq!((in_pieces.reserved, in_pieces.active), (Bytes(128 * MIB), Bytes(64 * MIB)));
    assert_eq!(in_pieces.line, Some(line(70)));
    assert_eq!((too_large.requested, too_large.device_free), (Bytes(192 * MIB), Bytes(4 * MIB)));
    assert_eq!(too_large.holders[0].0, line(17));
}

#[test]
fn a_history_that_lost_its_beginning_is_noticed() {
    let memory = memory("ring_buffer.pickle.gz");
    assert!(memory.is_history_cut);
    // The first event that was dropped was given back within the history: its line is no longer known.
    assert_eq!(memory.before, Bytes(MIB + 2 * MIB));
    assert_eq!(memory.lines[&line(17)].live, Bytes(4 * MIB));
    // Memory that waits for a stream is in use until its release is completed.
    assert_eq!(memory.peak, Bytes(MIB + 3 * 2 * MIB + 2 * MIB));
}

#[test]
fn an_exported_timeline_gives_the_peak_by_category() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("timeline.raw.json");
    std::fs::write(&path, "[[-1, 1, 100, 0], [5000, 2, 64, 4], [9000, 4, -64, 4]]").unwrap();
    let run = load(path);
    assert_eq!(run.inputs[0].kind.name(), "timeline");
    let memory = &run.merged.categories[&0];
    assert_eq!(
        (memory.peak, memory.at_peak[0], memory.at_peak[4]),
        (Bytes(164), Bytes(100), Bytes(64))
    );
    assert_eq!(memory.at_end[4], Bytes(0));
    assert!(loader::discover(folder.path()).is_empty(), "a list of numbers may be anything");
}
