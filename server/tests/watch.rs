//! `--watch`: a command prints again when what it reads has changed.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use tempfile::TempDir;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name)
}

/// A command that runs on, and the lines that it prints.
struct Watching {
    child: Child,
    lines: Receiver<String>,
}

impl Watching {
    fn start(folder: &TempDir, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_perfline"))
            .args(arguments)
            .arg("--watch")
            .current_dir(folder.path())
            .env("PERFLINE_CACHE_DIR", "")
            .env("VIRTUAL_ENV", "none")
            .env("CONDA_PREFIX", "none")
            .env("PATH", "")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let pipes: [Box<dyn Read + Send>; 2] =
            [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
        for pipe in pipes {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                    let _ = sender.send(line);
                }
            });
        }
        Self { child, lines }
    }

    /// Waits for a line that begins so.
    fn wait(&self, start: &str) {
        let began = Instant::now();
        let mut seen = Vec::new();
        while began.elapsed() < Duration::from_secs(60) {
            let Ok(line) = self.lines.recv_timeout(Duration::from_secs(1)) else { continue };
            if line.starts_with(start) {
                return;
            }
            seen.push(line);
        }
        panic!("no line begins with {start:?}: {seen:#?}");
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    let trace = fixture("simulated_cuda/torch2.15.0/slow_model.json.gz");
    fs::copy(trace, folder.path().join("a.json.gz")).unwrap();
    fs::copy(fixture("workloads/slow_model.py"), folder.path().join("slow_model.py")).unwrap();
    folder
}

#[test]
fn a_recording_that_is_replaced_a_newer_one_and_a_source_are_shown() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let watching = Watching::start(&folder, &["annotate", "--root", "."]);
    watching.wait("perfline: reading ./a.json.gz");
    watching.wait("a.json.gz · 3 steps");
    watching.wait("slow_model.py · ");
    // What is half-written is no end.
    fs::write(at("a.json.gz"), [0x1f, 0x8b, 8]).unwrap();
    watching.wait("perfline: ");
    fs::copy(fixture("simulated_cuda/torch2.15.0/uploads.json.gz"), at("b.json.gz")).unwrap();
    watching.wait("perfline: reading ./b.json.gz");
    watching.wait("b.json.gz · ");
    fs::write(at("slow_model.py"), "# changed\n").unwrap();
    watching.wait("perfline: reading ./b.json.gz");
    fs::write(at("perfline.toml"), "[view]\nmetric = 'gpu'\n").unwrap();
    watching.wait("perfline: perfline.toml:2: view.metric: ");
}

#[test]
fn the_standard_input_cannot_be_watched() {
    let folder = folder();
    let watching = Watching::start(&folder, &["report", "-"]);
    watching.wait("perfline: --watch needs files: ");
}
