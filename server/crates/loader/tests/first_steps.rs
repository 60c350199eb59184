//! The first steps of recordings, read before all of them: their numbers are those that all of the recording gives these steps.

#![allow(clippy::expect_used)] // A test that cannot go on says why.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ledger::{Balance, Ledger, LineKey, Ns};
use loader::{
    FirstStepsChoice, LedgerCache, LoadOptions, PartialRun, Watch, load, load_first_steps,
};

/// Recordings with several steps, and what part of each holds the first of them, in percent.
const RECORDINGS: [(&str, u64); 10] = [
    ("cpu/torch1.13.1/slow_model.json.gz", 70),
    ("cpu/torch2.1.2/prefetch.json.gz", 70),
    ("cpu/torch2.11.0/slow_model.json.gz", 85),
    ("cpu/torch2.15.0/losses_of_time.json.gz", 95),
    ("cpu/torch2.15.0/slow_model.json.gz", 55),
    ("cpu/torch2.15.0/uploads.json.gz", 70),
    ("cuda/torch2.11.0/graphs.json.gz", 85),
    ("cuda/torch2.11.0/slow_model.json.gz", 95),
    ("cuda/torch2.11.0/transformer.json.gz", 85),
    ("cuda/torch2.11.0/uploads.json.gz", 70),
];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures")
}

/// A fixture without what lies beside it, as a file of its own in `folder`, uncompressed.
fn unpacked(path: &str, folder: &Path) -> PathBuf {
    let file = fs::File::open(fixtures().join(path)).expect("the fixture is there");
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut text).expect("it is compressed");
    let path = folder.join("trace.json");
    fs::write(&path, text).expect("it can be written");
    path
}

fn options() -> LoadOptions {
    LoadOptions::new(fixtures().join("workloads"), Some(Vec::new()))
}

fn first_steps(path: &Path, percent: u64) -> Option<PartialRun> {
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    let bytes = fs::metadata(path).expect("it is there").len();
    let choice = FirstStepsChoice { min_bytes: 1 << 20, read_bytes: bytes / 100 * percent };
    load_first_steps(&[path.to_owned()], &options(), choice, &watch)
}

/// Time of threads and of devices, and waits, that a line has in a step.
fn of_line(ledger: &Ledger, key: &LineKey, step: u32) -> Option<(Ns, Ns, Ns)> {
    let step = ledger.lines.get(key)?.steps.get(&step)?;
    Some((step.cpu, step.cuda, step.sync)).filter(|it| *it != (Ns(0), Ns(0), Ns(0)))
}

#[test]
fn the_first_steps_have_the_numbers_that_they_have_in_all_of_the_recording() {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, percent) in RECORDINGS {
        let trace = unpacked(path, folder.path());
        let first = first_steps(&trace, percent).expect("there are steps");
        let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
        let all = load(&[trace], &options(), &watch).expect("loads");
        let (some, all) = (&first.run.merged, &all.merged);
        assert!(some.balances().iter().all(Balance::is_balanced), "{path}");
        assert_eq!(some.steps.len(), first.so_far.n_steps, "{path}");
        assert!(!some.steps.is_empty() && some.steps.len() < all.steps.len(), "{path}");
        assert!(all.steps.keys().take(some.steps.len()).eq(some.steps.keys()), "{path}");
        let keys: BTreeSet<&LineKey> = some.lines.keys().chain(all.lines.keys()).collect();
        let mut n_lines = 0;
        for (step, length) in &some.steps {
            assert_eq!(all.steps.get(step), Some(length), "{path}");
            for key in &keys {
                let numbers = of_line(some, key, *step);
                assert_eq!(numbers, of_line(all, key, *step), "{path}: {key:?}");
                n_lines += usize::from(numbers.is_some());
            }
        }
        assert!(n_lines > 3, "{path}");
    }
}

#[test]
fn it_is_said_that_the_rest_is_not_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = unpacked("cpu/torch2.15.0/slow_model.json.gz", folder.path());
    let first = first_steps(&trace, 70).expect("there are steps");
    assert_eq!(first.so_far.to_string(), "first step, 31.0 % of the recording");
    let [input] = &first.run.inputs[..] else { panic!("{:?}", first.run.inputs) };
    assert!(!input.complete);
    let warnings: Vec<&str> = input.warnings.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(warnings, ["read so far: first step, 31.0 % of the recording"]);
}

#[test]
fn without_complete_steps_there_are_none() {
    let folder = tempfile::tempdir().expect("a folder");
    // The part that is read holds no step, or the recording has none.
    let trace = unpacked("cpu/torch2.15.0/slow_model.json.gz", folder.path());
    assert!(first_steps(&trace, 1).is_none());
    let text = fs::read_to_string(&trace).expect("it is there");
    fs::write(&trace, text.replace("ProfilerStep#", "step ")).expect("it can be written");
    assert!(first_steps(&trace, 70).is_none());
    // Where each list ends cannot be seen in what is compressed.
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    let compressed = fixtures().join("cpu/torch2.15.0/slow_model.json.gz");
    let choice = FirstStepsChoice { min_bytes: 1, read_bytes: 200_000 };
    assert!(load_first_steps(&[compressed], &options(), choice, &watch).is_none());
}

#[test]
fn what_was_kept_needs_no_first_steps() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = unpacked("cpu/torch2.15.0/slow_model.json.gz", folder.path());
    // A file that changed a moment ago is not kept.
    std::thread::sleep(Duration::from_millis(600));
    let cache = Arc::new(LedgerCache::with_least(folder.path().join("cache"), 0));
    let options = LoadOptions { ledger_cache: Some(Arc::clone(&cache)), ..options() };
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    let choice = FirstStepsChoice { min_bytes: 1 << 20, read_bytes: 4 << 20 };
    let first = || load_first_steps(std::slice::from_ref(&trace), &options, choice, &watch);
    assert!(first().is_some());
    cache.write_pending();
    assert!(first().is_some(), "the first steps are not kept in place of all");
    load(std::slice::from_ref(&trace), &options, &watch).expect("loads");
    cache.write_pending();
    assert!(first().is_none());
}
