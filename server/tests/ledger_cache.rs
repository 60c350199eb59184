//! Every command prints the same, to the byte, for a recording that was read and for one whose ledger was kept; and what is kept is
//! shown and cleared.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use loader::{LedgerCache, LoadOptions, Run, Timing, Watch};
use metrics::Period;
use report::terminal::{Colours, Terminal};
use report::{Recording, annotate, json, lines, memory, ranks};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").canonicalize().unwrap()
}

/// All traces and snapshots below `folder`, each alone.
fn recordings(folder: &Path, found: &mut Vec<Vec<PathBuf>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.to_string_lossy().into_owned();
        let is_trace = name.ends_with(".json.gz") && !name.ends_with(".callers.json.gz");
        if path.is_dir() {
            recordings(&path, found);
        } else if is_trace || name.ends_with(".pickle.gz") {
            found.push(vec![path]);
        }
    }
}

fn load(inputs: &[PathBuf], cache: &Arc<LedgerCache>) -> (Run, Timing) {
    let ledger_cache = Some(Arc::clone(cache));
    let root = fixtures().join("workloads");
    let options = LoadOptions { ledger_cache, ..LoadOptions::new(root, Some(Vec::new())) };
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    loader::load_timed(inputs, &options, &watch).unwrap()
}

/// What all commands that take a recording print of it.
fn printed(run: &Run) -> Vec<(&'static str, Vec<u8>)> {
    let root = fixtures().join("workloads");
    let sources = loader::source_folders(&LoadOptions::new(&root, Some(Vec::new())));
    let names = loader::display_names(&run.merged, &root);
    let it = Recording { run, names, sources: &sources };
    let terminal = Terminal { colours: Colours::Plain, width: None };
    let options = report::ReportOptions::new(20, insights::RuleOptions::default());
    let annotated = annotate::AnnotateOptions {
        period: Period::Mean,
        context: 2,
        threshold: 0.0,
        all: true,
        files: Vec::new(),
        code: report::CodeFilter::default(),
        root: String::new(),
    };
    let mut printed = Vec::new();
    let mut add = |name, write: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        printed.push((name, out));
    };
    add("report", &|out| json::write_report(out, &report::build(&it, &options), &[]));
    add("lines", &|out| lines::write_json(out, &it, &report::CodeFilter::default(), None));
    add("memory", &|out| memory::write_json(out, &it));
    add("ranks", &|out| ranks::write_json(out, &it, None));
    add("annotate", &|out| annotate::write_text(out, &annotate::build(&it, &annotated), &terminal));
    add("ledger", &|out| {
        out.extend(loader::to_ledger_file(run, &sources).map_err(std::io::Error::other)?);
        Ok(())
    });
    printed
}

#[test]
fn what_was_kept_prints_what_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Arc::new(LedgerCache::with_least(folder.path().join("cache"), 0));
    let mut inputs = Vec::new();
    for folder in ["cpu", "lines", "simulated_cuda", "simulated_snapshots"] {
        recordings(&fixtures().join(folder), &mut inputs);
    }
    inputs.sort();
    assert!(35 <= inputs.len(), "{} recordings", inputs.len());
    // A trace with the snapshot of its run, and the ranks of a run.
    let name = |it: &str| fixtures().join(it);
    inputs.push(vec![
        name("simulated_cuda/torch2.15.0/slow_model.json.gz"),
        name("simulated_snapshots/torch2.15.0/slow_model.snapshot.pickle.gz"),
    ]);
    let is_rank = |it: &&PathBuf| it.to_string_lossy().contains("late_rank.slow_line");
    let ranks: Vec<PathBuf> = inputs.iter().flatten().filter(is_rank).cloned().collect();
    assert_eq!(ranks.len(), 4);
    inputs.push(ranks);
    for inputs in inputs {
        let (cold, _) = load(&inputs, &cache);
        cache.write_pending();
        let (warm, timing) = load(&inputs, &cache);
        assert_eq!(timing.kept.len(), inputs.len(), "{inputs:?}: {timing:?}");
        for ((command, cold), (_, warm)) in printed(&cold).into_iter().zip(printed(&warm)) {
            assert!(cold == warm, "{command} of {inputs:?}");
        }
    }
}

fn perfline(arguments: &[&str], cache: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_perfline"))
        .args(arguments)
        .env("PERFLINE_CACHE_DIR", cache)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn what_is_kept_is_shown_and_cleared() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let trace = fixtures().join("cpu/torch2.15.0/transformer.json.gz");
    let workloads = fixtures().join("workloads");
    let [trace, root] = [&trace, &workloads].map(|it| it.to_str().unwrap());
    let report = || perfline(&["report", trace, "--root", root, "--site", root], &cache);
    let (cold, warm) = (report(), report());
    assert!(cold.status.success() && cold.stdout == warm.stdout);
    let timing = perfline(&["report", trace, "--root", root, "--site", root, "--timing"], &cache);
    let timing = String::from_utf8(timing.stdout).unwrap();
    assert!(timing.contains("take the kept ledger"), "{timing}");
    let shown = String::from_utf8(perfline(&["cache"], &cache).stdout).unwrap();
    let rows: Vec<&str> = shown.lines().collect();
    assert_eq!(rows[0], cache.to_str().unwrap());
    let counts: Vec<Vec<&str>> =
        rows[1..].iter().map(|it| it.split_whitespace().take(2).collect()).collect();
    assert_eq!(counts, [["ledgers", "1"], ["texts", "1"]], "{shown}");
    assert!(perfline(&["cache", "clear"], &cache).status.success());
    assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 0);
    let none = perfline(&["cache"], Path::new(""));
    let message = String::from_utf8(none.stderr).unwrap();
    assert!(message.contains("nothing is kept"), "{message}");
}

#[cfg(unix)]
#[test]
fn a_folder_that_others_can_enter_is_named_with_what_to_do() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mode =
        |mode| std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(mode)).unwrap();
    let said = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_perfline"))
            .current_dir(fixtures())
            .args(arguments)
            .env("PERFLINE_CACHE_DIR", folder.path())
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let lines = ["lines", "simulated_cuda/torch2.15.0/slow_model.json.gz"];
    let expected = format!(
        "perfline: {}: others can enter it (mode 0755), so nothing is kept in it and nothing of it is used; close it: chmod 700\n",
        folder.path().display()
    );
    mode(0o755);
    assert_eq!(said(&lines), expected);
    assert_eq!(said(&["cache"]), expected);
    // Of a small recording nothing would be kept.
    assert_eq!(said(&["lines", "simulated_cuda/torch2.15.0/starved.json.gz"]), "");
    mode(0o700);
    assert_eq!((said(&lines), said(&["cache"])), (String::new(), String::new()));
}
