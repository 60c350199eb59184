//! Recordings with random faults in their structure: each is refused with one line, or loads with books that balance and
//! numbers that are possible, the same every time, and everything that is printed of it can be printed.
//!
//! `PERFLINE_MUTANTS=50000 cargo test --release -p tests --test mutants` tries more of them, `PERFLINE_FIRST_MUTANT=4711` others.
//! A fault is reported with the number of its mutant, and with the folder where it is kept.

#![expect(clippy::unwrap_used, reason = "a test may fail anywhere")]

use std::collections::BTreeMap;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use loader::{Error, LoadOptions, Run, SourceFolders, StackChoice, TimelineChoice, Watch, load};
use report::html::{PictureData, served_page};
use report::{Recording, ReportOptions, SourceTexts};
use tests::fixtures::{gzip, read_gz, repository, unpacked};
use tests::mutants::{TraceParts, json_mutant, lines_mutant, mutate_bytes, pickle_mutant};
use tests::random::Random;

/// Mutants of one run.
const MUTANTS: u64 = 1000;

/// After which a load counts as one that does not end. The slowest takes a second in a build without optimisation.
const PATIENCE: Duration = Duration::from_secs(60);

/// More memory than any mutant of a recording of a megabyte may take, in KiB, with all that the test itself holds.
const MAX_MEMORY_KIB: u64 = 1 << 20;

#[test]
fn mutants_are_refused_or_make_sense() {
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |it| {
            it.parse().unwrap_or_else(|_| panic!("{name} is no number: {it}"))
        })
    };
    let first = number("PERFLINE_FIRST_MUTANT", 0);
    let end = first + number("PERFLINE_MUTANTS", MUTANTS);
    let parents = Parents::read();
    let (next, loaded) = (AtomicU64::new(first), AtomicU64::new(0));
    let (sender, receiver) = channel();
    let faults = std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, std::num::NonZero::get) {
            let sender = sender.clone();
            let (next, loaded, parents) = (&next, &loaded, &parents);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= end {
                        break;
                    }
                    let result = fault(parents, number);
                    loaded.fetch_add(u64::from(matches!(result, Ok(true))), Ordering::Relaxed);
                    if sender.send((number, result.err())).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut faults = Vec::new();
        loop {
            match receiver.recv_timeout(PATIENCE) {
                Ok((number, Some(fault))) => faults.push((number, fault)),
                Ok((_, None)) => {}
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    // A thread that does not end cannot be ended: the scope would wait for it.
                    eprintln!(
                        "none of the mutants before {} came to an end",
                        next.load(Ordering::Relaxed)
                    );
                    std::process::abort();
                }
            }
        }
        faults
    });
    let folder = repository().join("target/mutants");
    for (number, _) in &faults {
        let files = parents.mutant(*number);
        let folder = folder.join(number.to_string());
        fs::create_dir_all(&folder).unwrap();
        write(&files, &folder);
    }
    assert!(faults.is_empty(), "kept below {}: {faults:#?}", folder.display());
    // Were all refused, nothing would have been tested.
    let loaded = loaded.into_inner();
    assert!(3 * loaded > end - first, "only {loaded} were loaded");
    if let Some(memory) = peak_memory_kib() {
        assert!(memory < MAX_MEMORY_KIB, "{memory} KiB");
    }
}

/// What the mutants are made from.
struct Parents {
    traces: Vec<TraceParts>,
    /// Another input of a trace, with the trace itself, which stays whole.
    side_cars: Vec<(Kind, &'static str, String, Files)>,
    timelines: [(&'static str, String); 2],
    /// A small one and a large one.
    snapshots: [Vec<u8>; 2],
    /// Without its compression, whose checksum would find all that was changed.
    ledger: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Json,
    Lines,
}

/// Name and bytes.
type Files = Vec<(&'static str, Vec<u8>)>;

impl Parents {
    fn read() -> Self {
        let text = |name: &str| String::from_utf8(read_gz(&fixture(name)).unwrap()).unwrap();
        let traces = [
            "simulated_cuda/torch2.15.0/slow_model.json.gz",
            "simulated_cuda/torch2.15.0/uploads.json.gz",
            "cpu/torch1.13.1/slow_model.json.gz",
            "cpu/torch2.1.2/idle_threads.json.gz",
            "cpu/torch2.15.0/two_ranks.rank1.json.gz",
            "cpu/torch2.15.0/two_devices.json.gz",
            "cpu/torch2.15.0/losses_of_time.json.gz",
            "cpu/torch2.15.0/late_rank.slow_line/node_13982.1795342109691409261.pt.trace.json.gz",
        ];
        let trace = |name: &str| ("t.json", read_gz(&fixture(name)).unwrap());
        let log = fs::read_dir(fixture("cpu/torch2.15.0/inductor"))
            .unwrap()
            .map(|it| it.unwrap().path())
            .find(|it| it.to_string_lossy().contains("dedicated_log"))
            .unwrap();
        let log = match log.extension().is_some_and(|it| it == "gz") {
            true => String::from_utf8(read_gz(&log).unwrap()).unwrap(),
            false => fs::read_to_string(log).unwrap(),
        };
        let folder = tempfile::tempdir().unwrap();
        let whole = vec![trace("cpu/torch2.15.0/scheduled.0.json.gz")];
        write(&whole, folder.path());
        let run = load_files(&whole, folder.path(), false, false).unwrap();
        let packed_ledger = loader::to_ledger_file(&run, &SourceFolders::default()).unwrap();
        Self {
            traces: traces.iter().map(|it| TraceParts::of(&text(it)).unwrap()).collect(),
            side_cars: vec![
                (
                    Kind::Json,
                    "t.callers.json",
                    text("cpu/torch2.11.0/scheduled.0.callers.json.gz"),
                    vec![trace("cpu/torch2.11.0/scheduled.0.json.gz")],
                ),
                (
                    Kind::Lines,
                    "dedicated_log_torch_trace_x.log",
                    log,
                    vec![trace("cpu/torch2.15.0/inductor/inductor.json.gz")],
                ),
            ],
            timelines: timelines(),
            // Written by `benches/inputs.py snapshot 100K`.
            snapshots: [
                repository().join("tests/tests/cases/generated.snapshot.pickle.gz"),
                fixture("simulated_snapshots/torch2.15.0/slow_model.snapshot.pickle.gz"),
            ]
            .map(|it| read_gz(&it).unwrap()),
            ledger: unpacked(&*packed_ledger).unwrap(),
        }
    }

    /// The mutant of this number: always the same.
    fn mutant(&self, number: u64) -> Files {
        let mut random = Random::new(number);
        let random = &mut random;
        match random.below(20) {
            0..11 => vec![("t.json", random.of(&self.traces).unwrap().clone().mutant(random))],
            11..14 => {
                let snapshot = &self.snapshots[usize::from(random.once_in(12))];
                vec![("s.pickle", pickle_mutant(snapshot, random))]
            }
            14..17 => {
                // The log of torch.compile takes a trace that is large.
                let side_car = &self.side_cars[usize::from(random.once_in(6))];
                let (kind, name, text, whole) = side_car;
                let bytes = match kind {
                    Kind::Json => json_mutant(text, random),
                    Kind::Lines => lines_mutant(text, random),
                };
                let mut files = whole.clone();
                files.push((name, bytes));
                files
            }
            17 => {
                let mut bytes = self.ledger.clone();
                mutate_bytes(&mut bytes, random);
                vec![("run.perfline", bytes)]
            }
            _ => {
                let (name, text) = random.of(&self.timelines).unwrap();
                vec![(name, json_mutant(text, random))]
            }
        }
    }
}

/// Memory timelines, in both forms, of 40 changes.
fn timelines() -> [(&'static str, String); 2] {
    let time = |n: u64| 1_795_342_109_000_000 + 20 * n;
    let times: Vec<u64> = (0..40).map(time).collect();
    let sizes: Vec<_> = (0..40).map(|n| [0, 512, 64 * n, 0, 100, 3 * n, 0, 0, 9]).collect();
    let changes: Vec<_> = (0..40).map(|n| [time(n), 1 + n % 4, 512 * (n % 7), n % 8]).collect();
    [("t.json", format!("[{times:?}, {sizes:?}]")), ("t.raw.json", format!("{changes:?}"))]
}
/// Whether the mutant is loaded (else it is refused), or what is wrong with how it is taken.
fn fault(parents: &Parents, number: u64) -> Result<bool, String> {
    let files = parents.mutant(number);
    let folder = tempfile::tempdir().unwrap();
    write(&files, folder.path());
    let [ignore_exact, has_pictures] = [3, 4].map(|it| number.is_multiple_of(it));
    let load = || load_files(&files, folder.path(), ignore_exact, has_pictures);
    let run = match load() {
        Ok(run) => run,
        Err(error @ Error::Panicked { .. }) => return Err(error.to_string()),
        Err(error) if error.to_string().lines().count() != 1 => return Err(error.to_string()),
        Err(_) => return Ok(false),
    };
    if let Some(fault) = report::faults(&run).first() {
        return Err(fault.clone());
    }
    let printed = catch_unwind(|| printed(&run)).map_err(|_| "cannot be printed".to_owned())?;
    // As gzip: other blocks, so other pieces, on other cores.
    let packed: Files = files.iter().map(|(name, it)| (*name, gzip(it).unwrap())).collect();
    write(&packed, folder.path());
    let again = load().map_err(|error| format!("is refused as gzip: {error}"))?;
    if again.merged != run.merged {
        return Err("another ledger as gzip".to_owned());
    }
    let again =
        catch_unwind(|| self::printed(&again)).map_err(|_| "cannot be printed".to_owned())?;
    if again != printed {
        return Err(format!("printed otherwise as gzip: {printed}\n{again}"));
    }
    Ok(true)
}

/// The report as text, and its page with the pictures for which the run was loaded.
fn printed(run: &Run) -> String {
    struct NoTexts;
    impl SourceTexts for NoTexts {
        fn read(&self, _: &Path) -> Option<String> {
            None
        }
    }
    let names =
        run.merged.files.keys().map(|it| (it.as_str(), it.clone())).collect::<BTreeMap<_, _>>();
    let recording = Recording { run, names, sources: &NoTexts };
    let rules = insights::RuleOptions::default();
    let options = ReportOptions::new(20, rules.clone());
    let mut out = Vec::new();
    let report = report::build(&recording, &options);
    report::json::write_report(&mut out, &report, &[]).unwrap();
    report::lines::write_json(&mut out, &recording, &report::CodeFilter::default(), None).unwrap();
    let data = PictureData::of_run(run, report::CodeFilter::ALL, None);
    String::from_utf8(out).unwrap() + &served_page(&recording, rules, &data, 0).unwrap()
}

fn load_files(
    files: &Files,
    folder: &Path,
    ignore_exact: bool,
    has_pictures: bool,
) -> Result<Run, Error> {
    let inputs: Vec<PathBuf> = files.iter().map(|(name, _)| folder.join(name)).collect();
    let mut options = LoadOptions { ignore_exact, ..LoadOptions::new(folder, Some(Vec::new())) };
    if has_pictures {
        options.stacks = StackChoice::WherePossible;
        options.timeline = TimelineChoice::First;
        options.histories = true;
    }
    load(&inputs, &options, &Watch { progress: &|_| (), cancelled: &AtomicBool::new(false) })
}

fn write(files: &Files, folder: &Path) {
    for (name, bytes) in files {
        fs::write(folder.join(name), bytes).unwrap();
    }
}

fn fixture(name: &str) -> PathBuf {
    repository().join("fixtures").join(name)
}

/// The most memory that this process ever had; `None` where the system does not say.
fn peak_memory_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}
