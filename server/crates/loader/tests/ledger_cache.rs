//! A recording that was read before is not read again, and says the same; what changed since is seen.

#![allow(clippy::expect_used)] // A test that cannot go on says why.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ledger::SourceFit;
use loader::{LedgerCache, LoadOptions, Run, TextOrigin, Watch, cache_contents, load_timed};

/// Longer than what the times of files need to distinguish two changes.
const SETTLED: Duration = Duration::from_millis(700);

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures").join(path)
}

/// A project with a trace, its source, and a cache.
struct Project {
    folder: tempfile::TempDir,
    options: LoadOptions,
}

impl Project {
    /// `slow_model.py` was recorded by `torch`.
    fn new(torch: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = folder.path().join(".cache");
        let ledger_cache = Some(Arc::new(LedgerCache::with_least(cache.clone(), 0)));
        let options = LoadOptions {
            text_cache: Some(cache),
            ledger_cache,
            ..LoadOptions::new(folder.path(), Some(Vec::new()))
        };
        let project = Self { folder, options };
        let trace = format!("cpu/{torch}/slow_model.json.gz");
        fs::copy(fixture(&trace), project.path("run.json.gz")).expect("copied");
        fs::copy(fixture("workloads/slow_model.py"), project.path("slow_model.py"))
            .expect("copied");
        std::thread::sleep(SETTLED);
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path("slow_model.py")).expect("source")
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("written");
    }

    /// The run, and whether nothing was read. It must be what a load without kept ledgers gives.
    fn load_with(&self, options: &LoadOptions, inputs: &[&str]) -> (Run, bool) {
        let inputs: Vec<PathBuf> = inputs.iter().map(|it| self.path(it)).collect();
        let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
        let load = |options: &LoadOptions| load_timed(&inputs, options, &watch).expect("loads");
        let (run, timing) = load(options);
        if let Some(cache) = &options.ledger_cache {
            cache.write_pending();
        }
        let is_kept = timing.inputs.is_empty();
        if is_kept {
            let (fresh, _) = load(&LoadOptions { ledger_cache: None, ..options.clone() });
            assert!(format!("{run:?}") == format!("{fresh:?}"), "as if it were read");
        }
        (run, is_kept)
    }

    fn load(&self) -> (Run, bool) {
        self.load_with(&self.options, &["run.json.gz"])
    }

    fn is_kept(&self) -> bool {
        self.load().1
    }

    /// The file of the only entry.
    fn entry(&self) -> PathBuf {
        let files = fs::read_dir(self.path(".cache")).expect("a folder");
        let mut paths = files.map(|it| it.expect("an entry").path());
        paths.find(|it| it.to_string_lossy().ends_with(".ledger.gz")).expect("an entry")
    }
}

#[test]
fn the_second_load_reads_no_recording() {
    let project = Project::new("torch2.15.0");
    let (first, is_kept) = project.load();
    assert!(!is_kept);
    let (second, is_kept) = project.load();
    assert!(is_kept);
    assert!(second.merged == first.merged);
    assert_eq!(second.texts["slow_model.py"].origin, TextOrigin::Kept);
    // Another name of the same file.
    fs::hard_link(project.path("run.json.gz"), project.path("same.json.gz")).expect("linked");
    std::thread::sleep(SETTLED);
    project.load();
    let (other, is_kept) = project.load_with(&project.options, &["same.json.gz"]);
    assert!(is_kept);
    assert_eq!(other.inputs[0].path, project.path("same.json.gz"));
    // Both at once are one.
    let (both, is_kept) = project.load_with(&project.options, &["run.json.gz", "same.json.gz"]);
    assert!(is_kept);
    assert_eq!(both.inputs[0].warnings.len(), 1);
}

#[test]
fn a_log_of_the_compiler_that_comes_or_goes_or_changes_is_seen() {
    let project = Project::new("torch2.15.0");
    let recorded = fixture("cpu/torch2.15.0/inductor");
    let log = fs::read_dir(&recorded).expect("a folder").map(|it| it.expect("an entry").path());
    let log = log.into_iter().find(|it| it.to_string_lossy().contains(".log")).expect("a log");
    fs::copy(recorded.join("inductor.json.gz"), project.path("run.json.gz")).expect("copied");
    fs::copy(fixture("workloads/inductor.py"), project.path("inductor.py")).expect("copied");
    fs::create_dir(project.path("torch_trace")).expect("a folder");
    let place = project.path("torch_trace").join(log.file_name().expect("a name"));
    std::thread::sleep(SETTLED);
    let own = |run: &Run| {
        let product =
            run.merged.lines.iter().find(|(key, _)| (&*key.file, key.line) == ("inductor.py", 42));
        product.map_or(0, |(_, books)| books.cpu_own.0)
    };
    let (without, _) = project.load();
    assert!(project.is_kept());
    assert_eq!(own(&without), 0);
    fs::copy(&log, &place).expect("copied");
    std::thread::sleep(SETTLED);
    let (with, is_kept) = project.load();
    assert!(!is_kept);
    assert!(0 < own(&with));
    let kinds: Vec<_> = with.inputs.iter().map(|it| it.kind.name()).collect();
    assert_eq!(kinds, ["kineto", "compile-log"]);
    let (again, is_kept) = project.load();
    assert!(is_kept);
    assert_eq!(again.inputs[1].path, place);
    fs::write(&place, "V1 1 1 x.py:1] {\"str\": [\"x\", 1]}\n").expect("written");
    std::thread::sleep(SETTLED);
    let (other, is_kept) = project.load();
    assert!(!is_kept);
    assert_eq!(own(&other), 0);
    fs::remove_file(&place).expect("removed");
    assert!(project.is_kept());
}

#[test]
fn a_source_that_was_edited_shows_what_ran() {
    // Without the side-car, operators and calls are inferred from the text.
    let project = Project::new("torch2.11.0");
    let ran = project.text();
    let (before, _) = project.load();
    for edited in [format!("import os\n{ran}"), ran.replace("pred", "guess")] {
        project.write("slow_model.py", edited);
        let (after, is_kept) = project.load();
        assert!(is_kept, "the text that ran is kept, so an edit changes no number");
        assert!(after.merged.lines == before.merged.lines);
        assert_eq!(after.merged.files["slow_model.py"].fit, SourceFit::Edited);
    }
    project.write("slow_model.py", &ran);
    let (after, is_kept) = project.load();
    assert!(is_kept);
    assert_eq!(after.merged.files["slow_model.py"].fit, SourceFit::Fits);
    fs::remove_file(project.path("slow_model.py")).expect("removed");
    let (after, _) = project.load();
    assert_eq!(after.merged.files["slow_model.py"].fit, SourceFit::Missing);
}

#[test]
fn lines_are_inferred_anew_where_the_text_that_ran_is_not_kept() {
    let project = Project::new("torch2.11.0");
    let ran = project.text();
    let options = LoadOptions { text_cache: None, ..project.options.clone() };
    let load = || project.load_with(&options, &["run.json.gz"]);
    let (before, _) = load();
    assert!(load().1);
    // All functions stay where they are.
    let edited = ran.replace(
        "    opt.zero_grad()\n    pred = model(x)\n",
        "    pred = model(x)\n    opt.zero_grad()\n",
    );
    assert_eq!(edited.len(), ran.len());
    project.write("slow_model.py", &edited);
    let (after, is_kept) = load();
    assert!(!is_kept);
    assert_eq!(&*after.texts["slow_model.py"].text, edited);
    assert!(load().1);
    // A source that was not there.
    fs::remove_file(project.path("slow_model.py")).expect("removed");
    assert!(!load().1);
    assert!(load().1);
    project.write("slow_model.py", &ran);
    let (after, is_kept) = load();
    assert!(!is_kept);
    assert!(after.merged == before.merged);
}

#[test]
fn texts_that_may_not_be_kept_are_not() {
    let project = Project::new("torch2.15.0");
    let text = project.text().replace('\n', "\\n").replace('"', "\\\"");
    let side_car = format!(
        r#"{{"schema": "perfline.callers/1", "strings": ["slow_model.py"], "threads": [],
        "sources": {{"git": null, "files": [{{"file": 0, "sha256": "0", "text": "{text}"}}]}}}}"#
    );
    project.write("run.callers.json", side_car);
    std::thread::sleep(SETTLED);
    let options = LoadOptions { text_cache: None, ..project.options.clone() };
    project.load_with(&options, &["run.json.gz"]);
    assert!(!project.load_with(&options, &["run.json.gz"]).1);
    project.load();
    let (run, is_kept) = project.load();
    assert!(is_kept);
    assert_eq!(run.texts["slow_model.py"].origin, TextOrigin::Recorded);
    // Another side-car.
    project.write(
        "run.callers.json",
        r#"{"schema": "perfline.callers/1", "strings": [], "threads": []}"#,
    );
    let (run, is_kept) = project.load();
    assert!(!is_kept);
    assert_ne!(run.texts["slow_model.py"].origin, TextOrigin::Recorded);
}

#[test]
fn another_recording_and_other_options_are_read() {
    let project = Project::new("torch2.15.0");
    project.load();
    assert!(project.is_kept());
    let options = LoadOptions { ignore_exact: true, ..project.options.clone() };
    assert!(!project.load_with(&options, &["run.json.gz"]).1);
    let mine = vec!["torch".parse().expect("a pattern")];
    let options = LoadOptions { mine, ..project.options.clone() };
    assert!(!project.load_with(&options, &["run.json.gz"]).1);
    let root = tempfile::tempdir().expect("a folder");
    let options = LoadOptions { root: root.path().to_owned(), ..project.options.clone() };
    assert!(!project.load_with(&options, &["run.json.gz"]).1);
    assert!(project.is_kept());
    // The same name, size and time of another recording.
    let trace = project.path("run.json.gz");
    let modified = trace.metadata().and_then(|it| it.modified()).expect("a time");
    let mut bytes = fs::read(&trace).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    project.write("run.json.gz", &bytes);
    let file = fs::File::options().append(true).open(&trace).expect("opened");
    file.set_modified(modified).expect("set");
    let (run, is_kept) = project.load();
    assert!(!is_kept && !run.inputs[0].complete);
    std::thread::sleep(SETTLED);
    project.load();
    assert!(project.is_kept(), "a damaged recording is kept with its warnings");
}

#[test]
fn a_damaged_entry_is_as_if_it_were_not_there() {
    let project = Project::new("torch2.15.0");
    project.load();
    let entry = project.entry();
    let whole = fs::read(&entry).expect("read");
    let mut flipped = whole.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x55;
    let empty = Vec::new();
    for bytes in [&whole[..whole.len() / 2], &flipped, &empty, b"text"] {
        fs::write(&entry, bytes).expect("written");
        assert!(!project.is_kept());
        assert!(project.is_kept(), "it was written again");
    }
    assert!(fs::read(&entry).expect("read") == whole);
}

#[test]
fn a_cache_that_cannot_be_written_changes_nothing() {
    let project = Project::new("torch2.15.0");
    project.write("file", "");
    let cache = Some(Arc::new(LedgerCache::with_least(project.path("file/cache"), 0)));
    let options = LoadOptions { ledger_cache: cache, ..project.options.clone() };
    for _ in 0..2 {
        assert!(!project.load_with(&options, &["run.json.gz"]).1);
    }
}

#[test]
fn small_recordings_are_not_kept() {
    let project = Project::new("torch2.15.0");
    let cache = project.path(".other");
    let ledger_cache = Some(Arc::new(LedgerCache::with_least(cache.clone(), 1 << 30)));
    let options = LoadOptions { ledger_cache, text_cache: None, ..project.options.clone() };
    project.load_with(&options, &["run.json.gz"]);
    assert_eq!(cache_contents(&cache).ledgers.files, 0);
}

#[test]
fn a_trace_goes_with_its_snapshot() {
    let project = Project::new("torch2.15.0");
    let snapshot = "simulated_snapshots/torch2.15.0/slow_model.snapshot.pickle.gz";
    let trace = "simulated_cuda/torch2.15.0/slow_model.json.gz";
    fs::copy(fixture(trace), project.path("run.json.gz")).expect("copied");
    fs::copy(fixture(snapshot), project.path("run.snapshot.pickle.gz")).expect("copied");
    std::thread::sleep(SETTLED);
    let both = ["run.json.gz", "run.snapshot.pickle.gz"];
    assert!(!project.load_with(&project.options, &both).1);
    assert!(project.load_with(&project.options, &both).1);
    // The trace alone has other books than with its snapshot.
    assert!(!project.load().1);
    assert!(project.is_kept());
    // A trace that is read needs its snapshot.
    let bytes = fs::read(project.path("run.json.gz")).expect("read");
    project.write("run.json.gz", bytes);
    let (run, is_kept) = project.load_with(&project.options, &both);
    assert!(!is_kept);
    let fresh = LoadOptions { ledger_cache: None, ..project.options.clone() };
    assert!(run.merged == project.load_with(&fresh, &both).0.merged);
}

#[test]
fn an_unchanged_rank_is_not_read_again() {
    let project = Project::new("torch2.15.0");
    let ranks = fs::read_dir(fixture("cpu/torch2.15.0/late_rank.slow_line")).expect("a folder");
    let mut names = Vec::new();
    for path in ranks.map(|it| it.expect("an entry").path()) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        fs::copy(&path, project.path(&name)).expect("copied");
        if name.ends_with(".pt.trace.json.gz") {
            names.push(name);
        }
    }
    names.sort();
    std::thread::sleep(SETTLED);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    project.load_with(&project.options, &names);
    assert!(project.load_with(&project.options, &names).1);
    let bytes = fs::read(project.path(names[1])).expect("read");
    project.write(names[1], bytes);
    let inputs: Vec<PathBuf> = names.iter().map(|it| project.path(it)).collect();
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    let (_, timing) = load_timed(&inputs, &project.options, &watch).expect("loads");
    let read: Vec<PathBuf> = timing.inputs.into_iter().map(|it| it.path).collect();
    assert_eq!(read, [project.path(names[1])]);
}
