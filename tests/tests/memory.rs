//! Peaks of memory snapshots, held against what PyTorch itself computes (`memory_viz/expected.py`), and what the
//! made-up snapshots beside it must show.

#![expect(clippy::unwrap_used, reason = "a test may fail anywhere")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use device_memory::{HistoryRange, HolderPhase, SegmentMap};
use ledger::{Bytes, DeviceKey, DeviceMemory, Fragmentation, LineKey, Phase};
use loader::{LoadOptions, MemoryHistory, Run, Watch};
use tests::fixtures::repository;

/// A snapshot of `expected.json`: beside it, or among the recordings of others, which may be missing.
fn path(name: &str) -> Option<PathBuf> {
    let folders = ["tests/memory_viz", "../shared/data/snapshots"];
    folders.into_iter().map(|it| repository().join(it).join(name)).find(|path| path.is_file())
}

fn load(path: PathBuf) -> Run {
    let root = tempfile::tempdir().unwrap();
    let mut options = LoadOptions::new(root.path().to_owned(), Some(Vec::new()));
    options.histories = true;
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

/// The snapshots that are committed, and those of others that are there.
fn all_snapshots() -> Vec<PathBuf> {
    let folders = [
        "tests/memory_viz",
        "fixtures/simulated_snapshots/torch2.11.0",
        "fixtures/simulated_snapshots/torch2.15.0",
        "../shared/data/snapshots",
    ];
    let files = folders.into_iter().filter_map(|it| std::fs::read_dir(repository().join(it)).ok());
    let paths = files.flatten().map(|it| it.unwrap().path());
    paths.filter(|it| it.to_string_lossy().ends_with(".pickle.gz")).collect()
}

/// Bytes of each holder after an event, by looking at every allocation.
fn alive_after(history: &MemoryHistory, event: Option<u32>) -> BTreeMap<u32, Bytes> {
    let mut held: BTreeMap<u32, Bytes> = BTreeMap::new();
    for it in &history.allocations {
        if it.from <= event && it.to.is_none_or(|to| event < Some(to)) {
            *held.entry(it.holder).or_default() += it.bytes;
        }
    }
    held.retain(|_, bytes| *bytes != Bytes::ZERO);
    held
}

#[test]
fn what_lines_hold_over_time_is_what_is_alive_and_the_books_of_the_peak() {
    let mut n_histories = 0;
    for path in all_snapshots() {
        let name = path.display().to_string();
        let run = load(path);
        for history in &run.histories {
            n_histories += 1;
            let key = DeviceKey { rank: history.rank, device: history.device };
            let memory = &run.merged.memory[&key];
            let (peak_at, peak) = history.peak();
            assert_eq!(peak, memory.peak, "{name}");
            let mut at_peak: BTreeMap<Option<LineKey>, Bytes> = BTreeMap::new();
            for (row, bytes) in alive_after(history, peak_at) {
                let holder = &history.holders[row as usize];
                let line = holder.line.as_ref().map(|(line, _)| line.clone());
                assert!(line.is_none() || holder.phase != HolderPhase::Before, "{name}");
                *at_peak.entry(line).or_default() += bytes;
            }
            assert_eq!(
                at_peak.remove(&None).unwrap_or(Bytes::ZERO),
                memory.unattributed_peak,
                "{name}"
            );
            let of_books = memory.lines.iter().filter(|(_, it)| it.peak != Bytes::ZERO);
            let of_books: BTreeMap<Option<LineKey>, Bytes> =
                of_books.map(|(line, it)| (Some(line.clone()), it.peak)).collect();
            assert_eq!(at_peak, of_books, "{name}");

            let end = history.end() + 1;
            let third = (end / 3, end / 3 + end / 50 + 1);
            for range in [None, Some(third), Some((end - 1, end)), Some((0, 0))] {
                for (parts, holders) in [(1, 1_000), (7, 2), (300, 1_000), (100_000, 5)] {
                    let wanted = HistoryRange { range, parts, holders, blocks: 10 };
                    check_levels(history, &wanted, &name);
                }
            }
            check_segments(history, &memory.fragmentation, &name);
        }
    }
    assert!(6 <= n_histories, "the committed snapshots have histories");
}

/// A fused kernel allocates for several lines.
#[test]
fn what_compiled_code_holds_over_time_is_on_the_lines_of_the_books() {
    let run = load(repository().join("fixtures/cpu/torch2.15.0/inductor/inductor.json.gz"));
    let history = run.histories.first().unwrap();
    let mut allocated: BTreeMap<&LineKey, i64> = BTreeMap::new();
    for it in history.allocations.iter().filter(|it| it.from.is_some()) {
        if let Some((line, _)) = &history.holders[it.holder as usize].line {
            *allocated.entry(line).or_default() += it.bytes.0;
        }
    }
    let events: BTreeSet<u32> = history.allocations.iter().filter_map(|it| it.from).collect();
    assert!(events.len() < history.allocations.len(), "no allocation is of several lines");
    let n = i64::try_from(history.allocations.len()).unwrap();
    let lines = run.merged.lines.iter().filter(|(_, it)| it.alloc != Bytes::ZERO);
    for (line, it) in lines {
        // Each allocation is divided by itself here, and all of them together in the ledger.
        let found = allocated.remove(line).unwrap_or(0);
        assert!((found - it.alloc.0).abs() <= n, "{line:?}: {found} {:?}", it.alloc);
    }
    assert!(allocated.is_empty(), "{allocated:?}");
}

/// Of traces, the memory of devices and of the host.
#[test]
fn what_lines_of_a_trace_hold_over_time_is_the_books_of_the_peak() {
    let mut seen = Vec::new();
    for trace in [
        "simulated_cuda/torch2.11.0/slow_model.json.gz",
        "simulated_cuda/torch2.15.0/transformer.json.gz",
        "cuda/torch2.11.0/slow_model.json.gz",
        "cpu/torch1.13.1/slow_model.json.gz",
        "cpu/torch2.15.0/transformer.json.gz",
    ] {
        let run = load(repository().join("fixtures").join(trace));
        for history in &run.histories {
            seen.push((trace, history.name.clone()));
            let (peak_at, peak) = history.peak();
            let mut at_peak: BTreeMap<LineKey, Bytes> = BTreeMap::new();
            let mut without_line = Bytes::ZERO;
            for (row, bytes) in alive_after(history, peak_at) {
                match &history.holders[row as usize].line {
                    Some((line, _)) => *at_peak.entry(line.clone()).or_default() += bytes,
                    None => without_line += bytes,
                }
            }
            let lines = run.merged.lines.iter();
            let of_books: BTreeMap<LineKey, Bytes> = lines
                .filter_map(|(line, it)| {
                    Some((line.clone(), it.allocations.get(&history.name)?.peak))
                })
                .filter(|(_, bytes)| *bytes != Bytes::ZERO)
                .collect();
            assert_eq!(at_peak, of_books, "{trace} {}", history.name);
            let key = DeviceKey { rank: history.rank, device: history.device };
            let memory = run.merged.memory.get(&key);
            assert_eq!(memory.is_none(), history.device == MemoryHistory::HOST, "{trace}");
            if let Some(memory) = memory {
                assert_eq!(
                    (peak, without_line),
                    (memory.peak, memory.unattributed_peak),
                    "{trace}"
                );
                assert_eq!(history.steps, memory.steps, "{trace}");
            }
            for range in [None, Some((history.end() / 3, history.end() / 2))] {
                let wanted = HistoryRange { range, parts: 300, holders: 1_000, blocks: 10 };
                check_levels(history, &wanted, trace);
            }
            let phases: BTreeSet<HolderPhase> = history.holders.iter().map(|it| it.phase).collect();
            for phase in [Phase::Forward, Phase::Backward, Phase::Optimizer] {
                assert!(phases.contains(&HolderPhase::In(phase)), "{trace} {phase:?}");
            }
            assert!(history.segments(peak_at, 1_000).is_empty(), "{trace}");
        }
    }
    let devices = seen.iter().filter(|(_, name)| name == "cuda:0").count();
    assert_eq!((devices, seen.len()), (3, 6), "{seen:?}");
}

fn check_levels(history: &MemoryHistory, wanted: &HistoryRange, name: &str) {
    let levels = history.levels(wanted);
    let (from, to) = levels.range;
    assert!(levels.at.is_sorted() && levels.at.first() == Some(&from), "{name} {wanted:?}");
    assert!(levels.at.len() <= wanted.parts.max(1), "{name} {wanted:?}");
    // A few are enough: looking at every allocation is slow.
    let stride = (levels.at.len() / 12).max(1);
    for moment in (0..levels.at.len()).step_by(stride) {
        let event = levels.events[moment];
        let alive = alive_after(history, event);
        assert_eq!(alive.values().sum::<Bytes>(), levels.active[moment], "{name} {wanted:?}");
        for (row, bytes) in &levels.holders {
            let expected = alive.get(row).copied().unwrap_or(Bytes::ZERO);
            assert_eq!(bytes[moment], expected, "{name} {wanted:?} holder {row}");
        }
        if levels.left_out == 0 {
            let shown: Bytes = levels.holders.iter().map(|(_, bytes)| bytes[moment]).sum();
            assert_eq!(shown, levels.active[moment], "{name} {wanted:?}");
        }
        // Nothing that was in use in this part is more than what is shown of it.
        let begin = levels.at[moment];
        let until = levels.at.get(moment + 1).copied().unwrap_or(to);
        let inside = (0..).zip(&history.at).filter(|(_, at)| (begin..until).contains(*at));
        let most = inside.map(|(event, _): (usize, _)| history.active[event]).max();
        assert!(most.is_none_or(|it| it <= levels.active[moment]), "{name} {wanted:?}");
    }
    if wanted.range.is_none() {
        assert_eq!(levels.active.iter().max(), Some(&history.peak().1), "{name} {wanted:?}");
    }
    let is_alive_in_view = |row: &usize| {
        let it = &history.allocations[*row];
        levels
            .events
            .iter()
            .any(|&event| it.from <= event && it.to.is_none_or(|to| event < Some(to)))
    };
    assert!(levels.blocks.iter().all(is_alive_in_view), "{name} {wanted:?}");
    let sizes: Vec<Bytes> =
        levels.blocks.iter().map(|&row| history.allocations[row].bytes).collect();
    assert!(sizes.is_sorted_by(|a, b| a >= b), "{name} {wanted:?}");
}

/// What is laid out is what was reserved and what is in use, however finely; at the end it is cut up as the books say.
fn check_segments(history: &MemoryHistory, at_end: &Fragmentation, name: &str) {
    let n_events = u32::try_from(history.at.len()).unwrap();
    let stride = (history.at.len() / 20).max(1);
    let last = n_events.checked_sub(1);
    let events = (0..n_events).step_by(stride).map(Some).chain([None, last]);
    for event in events {
        let at = |amounts: &[Bytes], at_start| event.map_or(at_start, |it| amounts[it as usize]);
        let segments = history.segments(event, u64::MAX);
        let reserved: Bytes = segments.iter().map(|it| it.bytes).sum();
        assert_eq!(reserved, at(&history.reserved, history.reserved_at_start), "{name} {event:?}");
        let used: Bytes = segments.iter().flat_map(|it| &it.blocks).map(|it| it.used).sum();
        assert_eq!(used, at(&history.active, history.active_at_start), "{name} {event:?}");
        for it in &segments {
            let used: Bytes = it.blocks.iter().map(|it| it.used).sum();
            assert_eq!(it.free, it.bytes - used, "{name} {event:?}");
            assert!(it.largest_free <= it.free, "{name} {event:?}");
        }
        let count = |it: &[SegmentMap]| -> (usize, Bytes, usize) {
            let blocks = || it.iter().flat_map(|it| &it.blocks);
            let allocations = blocks().map(|it| it.allocations).sum();
            (it.len(), blocks().map(|it| it.used).sum(), allocations)
        };
        let merged = history.segments(event, 50);
        assert_eq!(count(&merged), count(&segments), "{name} {event:?}");
        if event == last {
            let free: Bytes = segments.iter().map(|it| it.free).sum();
            let largest = segments.iter().map(|it| it.largest_free).max().unwrap_or_default();
            let found = (segments.len() as u64, free, largest);
            assert_eq!(found, (at_end.segments, at_end.free, at_end.largest_free), "{name}");
        }
    }
}
