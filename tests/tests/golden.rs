//! The ledger of every recording in `fixtures/`, line by line of the workloads, against what is written down in
//! `tests/golden/`. After a change that is meant: `UPDATE_EXPECT=1 cargo test -p tests --test golden`, and read the
//! difference.

#![allow(clippy::expect_used)] // A test that cannot go on says why.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use expect_test::expect_file;
use ledger::{Ledger, LineBooks, LineKey, Ns};
use loader::{LoadOptions, Watch, load};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All traces below `folder`, side-cars left out.
fn traces(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.to_string_lossy().into_owned();
        if path.is_dir() {
            traces(&path, found);
        } else if name.ends_with(".json.gz") && !name.ends_with(".callers.json.gz") {
            found.push(path);
        }
    }
}

fn ledger(trace: &Path) -> Ledger {
    let root = repository().join("fixtures/workloads");
    let options = LoadOptions::new(root, Some(Vec::new()));
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    let run = load(&[trace.to_owned()], &options, &watch).expect("loads");
    assert!(run.inputs.iter().all(|input| input.complete), "{:?}", run.inputs);
    run.merged
}

/// Totals, the unattributed rest, steps, and every line of the workloads; times in nanoseconds.
fn listing(ledger: &Ledger) -> String {
    let mut text = String::new();
    let totals = &ledger.totals;
    let _never_fails = writeln!(
        text,
        "total cpu={} cuda={} gpu_idle={} sync={} alloc={}",
        totals.cpu.0, totals.cuda.0, totals.gpu_idle.0, totals.sync.0, totals.alloc.0
    );
    for (reason, rest) in ledger.unattributed.iter() {
        let _never_fails = writeln!(
            text,
            "{} cpu={} cuda={} gpu_idle={} sync={} alloc={}",
            reason.name(),
            rest.cpu.0,
            rest.cuda.0,
            rest.gpu_idle.0,
            rest.sync.0,
            rest.alloc.0
        );
    }
    for (step, Ns(time)) in &ledger.steps {
        let _never_fails = writeln!(text, "step {step} {time}");
    }
    for (key, books) in &ledger.lines {
        if ledger.files.get(&key.file).is_some_and(|file| file.is_user_code) {
            line(&mut text, key, books);
        }
    }
    text
}

fn line(text: &mut String, key: &LineKey, books: &LineBooks) {
    let _never_fails = write!(
        text,
        "{}:{} {} {} calls={} ops={} cpu={}/{}/{}",
        key.file,
        key.line,
        books.function,
        books.evidence.name(),
        books.calls,
        books.ops,
        books.cpu_self.0,
        books.cpu_own.0,
        books.cpu_total.0
    );
    let amounts = [
        ("cpu_backward", books.cpu_backward.0),
        ("cuda_self", books.cuda_self.0),
        ("cuda_own", books.cuda_own.0),
        ("cuda_total", books.cuda_total.0),
        ("cuda_backward", books.cuda_backward.0),
        ("cpu_recompute", books.recompute.cpu.0),
        ("cuda_recompute", books.recompute.cuda.0),
        ("kernels", books.kernels.cast_signed()),
        ("sync", books.sync.0),
        ("syncs", books.syncs.cast_signed()),
        ("waiting", books.waiting.0),
        ("idle_after_sync", books.idle_after_sync.0),
        ("gpu_idle", books.gpu_idle.0),
        ("alloc", books.alloc.0),
        ("freed", books.freed.0),
        ("peak", books.peak.0),
        ("live", books.live.0),
    ];
    for (name, amount) in amounts.into_iter().filter(|(_, amount)| *amount != 0) {
        let _never_fails = write!(text, " {name}={amount}");
    }
    text.push('\n');
}

/// The functions of the workload whose lines together have more time in the steps than the steps last. Those that call
/// themselves are left out: their lines stand in a stack together.
fn longer_than_the_steps(ledger: &Ledger) -> Vec<String> {
    let steps: Ns = match ledger.steps.is_empty() {
        true => ledger.threads.values().copied().max().unwrap_or(Ns(0)),
        false => ledger.steps.values().sum(),
    };
    let mut functions: BTreeMap<(&str, &str), (Ns, bool)> = BTreeMap::new();
    let is_user_code =
        |line: &LineKey| ledger.files.get(&line.file).is_some_and(|it| it.is_user_code);
    for (line, books) in ledger.lines.iter().filter(|(line, _)| is_user_code(line)) {
        let (elapsed, calls_itself) =
            functions.entry((line.file.as_str(), books.function.as_str())).or_default();
        *elapsed += books.elapsed;
        *calls_itself |= books.callers.keys().any(|caller| {
            let function = ledger.lines.get(caller).map(|it| it.function.as_str());
            caller.file == line.file && function == Some(books.function.as_str())
        });
    }
    let too_long = functions
        .into_iter()
        .filter(|(_, (elapsed, calls_itself))| !calls_itself && *elapsed > steps);
    too_long.map(|((file, function), _)| format!("{file}: {function}")).collect()
}

#[test]
fn every_recording_gives_the_ledger_that_is_written_down() {
    let mut found = Vec::new();
    for folder in ["cpu", "lines", "simulated_cuda"] {
        traces(&repository().join("fixtures").join(folder), &mut found);
    }
    found.sort();
    assert!(found.len() >= 30, "{} recordings", found.len());
    for trace in found {
        let relative = trace.strip_prefix(repository().join("fixtures")).expect("below").to_owned();
        let name = relative.to_string_lossy().replace('\\', "/").replace(".json.gz", ".txt");
        let path = repository().join("tests/golden").join(&name);
        let ledger = ledger(&trace);
        assert!(ledger.adds_up(), "{name}");
        assert_eq!(longer_than_the_steps(&ledger), [""; 0], "{name}");
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        expect_file![path].assert_eq(&listing(&ledger));
    }
}
