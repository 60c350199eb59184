//! Processes that are killed while they write: under the final name is what was there before or all of the new, whenever it happens, and
//! what they leave is deleted later.
//!
//! `PERFLINE_KILLS` sets how many are killed of each kind.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use flate2::read::MultiGzDecoder;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").canonicalize().unwrap()
}

fn kills() -> u64 {
    std::env::var("PERFLINE_KILLS").ok().and_then(|it| it.parse().ok()).unwrap_or(4)
}

fn start(arguments: &[&str], cache: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_perfline"))
        .args(arguments)
        .current_dir(fixtures())
        .env("PERFLINE_CACHE_DIR", cache)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().map(|it| it.unwrap().path()).collect()
}

/// Numbers that look random, the same in every run (splitmix64).
fn random(seed: u64) -> u64 {
    let mixed = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb)
}

/// Kills `child` at a moment that `seed` says: every other one at any moment of `usual`, the others some microseconds after it
/// began to write a file in `folder`.
fn kill(mut child: Child, seed: u64, usual: Duration, folder: &Path) {
    let fraction = (random(seed) % 1000) as f64 / 1000.0;
    if seed.is_multiple_of(2) {
        std::thread::sleep(usual.mul_f64(fraction));
    } else {
        let before = files(folder).len();
        while files(folder).len() <= before && child.try_wait().unwrap().is_none() {}
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(2).mul_f64(fraction * fraction) {}
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// How long the command takes that writes to `folder`.
fn duration(arguments: &[&str], cache: &Path) -> Duration {
    let begin = Instant::now();
    assert!(start(arguments, cache).wait().unwrap().success(), "{arguments:?}");
    begin.elapsed()
}

/// Makes what killed processes left look as if it were an hour old.
fn age(folder: &Path) {
    for path in files(folder) {
        let file = File::options().append(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(2 * 60 * 60)).unwrap();
    }
}

#[test]
fn outputs_are_old_or_new() {
    let trace = "simulated_cuda/torch2.15.0/slow_model.json.gz";
    let snapshot = "simulated_snapshots/torch2.15.0/slow_model.snapshot.pickle.gz";
    let nowhere = Path::new("");
    let commands: [(&str, &[&str]); 6] = [
        ("run.perfline", &["ledger", trace, "--output"]),
        ("stacks.json", &["export", trace, "--format", "speedscope", "--output"]),
        ("stacks.pb.gz", &["export", trace, "--format", "pprof", "--output"]),
        ("report.html", &["report", trace, "--html"]),
        ("memory.svg", &["memory", snapshot, "--svg"]),
        ("part.json.gz", &["bug-report", trace, "--output"]),
    ];
    let mut abandoned = 0;
    for (name, command) in commands {
        let mut is_deleted_later = false;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let arguments: Vec<&str> = command.iter().copied().chain(path.to_str()).collect();
        let usual = duration(&arguments, nowhere);
        let new = fs::read(&path).unwrap();
        for seed in 0..kills() {
            let has_old = seed % 4 < 2 && command[0] != "bug-report";
            files(folder.path()).iter().for_each(|it| fs::remove_file(it).unwrap());
            if has_old {
                fs::write(&path, "old").unwrap();
            }
            kill(start(&arguments, nowhere), seed, usual, folder.path());
            let found = fs::read(&path).ok();
            let is_whole = found.as_deref().is_none_or(|it| it == new || has_old && it == b"old");
            assert!(is_whole, "{name}, seed {seed}: half of it is there");
            assert!(found.is_some() || !has_old, "{name}, seed {seed}: the old file is gone");
            let others = files(folder.path()).into_iter().filter(|it| *it != path);
            let others: Vec<PathBuf> =
                others.filter(|it| !it.to_string_lossy().contains("part.")).collect();
            assert!(others.len() <= 1, "{name}, seed {seed}: {others:?}");
            abandoned += others.len();
            if !others.is_empty() && !is_deleted_later {
                is_deleted_later = true;
                // The next run deletes what has not been written to for an hour.
                age(folder.path());
                if command[0] == "bug-report" {
                    files(folder.path()).iter().filter(|it| !others.contains(it)).for_each(|it| {
                        fs::remove_file(it).unwrap();
                    });
                }
                duration(&arguments, nowhere);
                let left: Vec<PathBuf> = others.into_iter().filter(|it| it.exists()).collect();
                assert!(left.is_empty(), "{name}, seed {seed}: {left:?}");
            }
        }
    }
    println!("{abandoned} processes left a file that was being written");
}

#[test]
fn entries_of_the_cache_are_whole() {
    let trace = "simulated_cuda/torch2.15.0/slow_model.json.gz";
    let arguments = ["lines", trace, "--root", "workloads"];
    let printed = |cache: &Path| {
        let output = Command::new(env!("CARGO_BIN_EXE_perfline"))
            .args(arguments)
            .current_dir(fixtures())
            .env("PERFLINE_CACHE_DIR", cache)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(output.status.success());
        output.stdout
    };
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let expected = printed(Path::new(""));
    let usual = duration(&arguments, &cache);
    for seed in 0..2 * kills() {
        files(&cache).iter().for_each(|it| fs::remove_file(it).unwrap());
        kill(start(&arguments, &cache), seed, usual, &cache);
        for path in files(&cache) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !name.starts_with('.') {
                let unpacked = std::io::copy(
                    &mut MultiGzDecoder::new(File::open(&path).unwrap()),
                    &mut std::io::sink(),
                );
                assert!(unpacked.is_ok(), "seed {seed}: {name} is half: {unpacked:?}");
            }
        }
        assert!(printed(&cache) == expected, "seed {seed}");
        if files(&cache).iter().all(|it| it.to_string_lossy().ends_with(".gz")) {
            continue;
        }
        // What was being written is deleted when something is written an hour later.
        age(&cache);
        files(&cache)
            .iter()
            .filter(|it| it.to_string_lossy().ends_with(".gz"))
            .for_each(|it| fs::remove_file(it).unwrap());
        assert!(printed(&cache) == expected, "seed {seed}");
        let left = files(&cache).into_iter();
        let left: Vec<PathBuf> = left.filter(|it| !it.to_string_lossy().ends_with(".gz")).collect();
        assert!(left.is_empty(), "seed {seed}: {left:?}");
    }
}
