//! What a `perfline.toml` says applies in the terminal, below what the command line says.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// A folder with a program and a recording of it, two steps in each of two folders, and a `perfline.toml` of this text.
fn project(text: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    let fixtures = repository().join("fixtures");
    let trace = fixtures.join("simulated_cuda/torch2.15.0/slow_model.json.gz");
    fs::copy(fixtures.join("workloads/slow_model.py"), folder.path().join("slow_model.py"))
        .unwrap();
    for name in ["new", "old"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::copy(&trace, folder.path().join(name).join("trace.json.gz")).unwrap();
    }
    fs::write(folder.path().join("perfline.toml"), text).unwrap();
    folder
}

fn run(folder: &TempDir, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_perfline"))
        .args(arguments)
        .current_dir(folder.path())
        .env("PERFLINE_CACHE_DIR", folder.path().join("cache"))
        .env("VIRTUAL_ENV", "none")
        .env("CONDA_PREFIX", "none")
        .env("PATH", "")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn stdout(folder: &TempDir, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_setting_applies_and_an_option_goes_before() {
    let folder = project("[view]\nper = 'run'\nthreshold = 90\n");
    let plain = project("");
    let shown = |folder, more: &[&str]| stdout(folder, &[&["annotate", "new"], more].concat());
    assert_eq!(shown(&folder, &[]), shown(&plain, &["--per", "run", "--threshold", "90"]));
    assert_ne!(shown(&folder, &[]), shown(&plain, &[]));
    let given = ["--per", "step", "--threshold", "0.5"];
    assert_eq!(shown(&folder, &given), shown(&plain, &[]));
}

#[test]
fn a_search_leaves_out_what_the_settings_do() {
    let folder = project("[recordings]\nexclude = ['new/**']\n");
    let named = |arguments: &[&str]| {
        String::from_utf8(run(&folder, arguments).stderr)
            .unwrap()
            .lines()
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(named(&["report"]), "perfline: reading ./old/trace.json.gz");
    assert_eq!(named(&["report", "."]), "perfline: reading ./old/trace.json.gz");
    let list = stdout(&folder, &["list"]);
    assert!(list.contains("old/trace.json.gz") && !list.contains("new/trace.json.gz"), "{list}");
    // From another folder, patterns are of paths below the root.
    let root = folder.path().to_str().unwrap();
    let elsewhere = TempDir::new().unwrap();
    let output = run(&elsewhere, &["report", root, "--root", root]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.ends_with("old/trace.json.gz\n"), "{error}");
    // A file that is named is read.
    assert!(run(&folder, &["report", "new/trace.json.gz"]).status.success());
    let output = run(&folder, &["report", "new"]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    let expected = "perfline: new: all recordings below this folder are left out by recordings.include and recordings.exclude in \
                    perfline.toml; name one of their files, or change the settings\n";
    assert_eq!(error, expected);
}

#[test]
fn findings_are_those_that_the_settings_want() {
    let rules = |folder: &TempDir| -> Vec<(String, String)> {
        let text = stdout(folder, &["report", "new", "--format", "json"]);
        let report: Value = serde_json::from_str(&text).unwrap();
        let text = |it: &Value, key: &str| it[key].as_str().unwrap().to_owned();
        let findings = report["findings"].as_array().unwrap();
        findings.iter().map(|it| (text(it, "rule"), text(it, "severity"))).collect()
    };
    let plain = project("[budget.findings]\nsync = 0\n");
    let sync = |found: &[(String, String)]| found.iter().find(|it| it.0 == "sync").cloned();
    assert_eq!(sync(&rules(&plain)).unwrap().1, "information");
    assert_eq!(run(&plain, &["check", "new"]).status.code(), Some(1));
    let hint = project("[diagnostics.severity]\nsync = 'hint'\n");
    assert_eq!(sync(&rules(&hint)).unwrap().1, "hint");
    let off = project("[diagnostics.severity]\nsync = 'off'\n[budget.findings]\nsync = 0\n");
    assert_eq!(sync(&rules(&off)), None);
    assert_eq!(run(&off, &["check", "new"]).status.code(), Some(0));
    assert!(!stdout(&off, &["show", "slow_model.py:46", "new"]).contains("sync: the CPU waits"));
    assert!(stdout(&plain, &["show", "slow_model.py:46", "new"]).contains("sync: the CPU waits"));
}

#[test]
fn nothing_is_kept_if_the_settings_say_so() {
    let folder = project("cache = false\nsources.keep = false\n");
    stdout(&folder, &["report", "new"]);
    assert!(!folder.path().join("cache").exists());
    fs::write(folder.path().join("perfline.toml"), "").unwrap();
    stdout(&folder, &["report", "new"]);
    assert!(folder.path().join("cache").exists());
}

#[test]
fn a_memory_limit_is_lowered_and_an_option_goes_before() {
    let folder = project("memoryLimit = '1M'\n");
    assert_eq!(run(&folder, &["report", "new", "--strict"]).status.code(), Some(2));
    let given = ["report", "new", "--strict", "--memory-limit", "auto"];
    assert_eq!(run(&folder, &given).status.code(), Some(0));
}

#[test]
fn faults_are_reported_with_their_line() {
    for (text, expected) in [
        (
            "[view]\nmetric = 'gpu'\n",
            "perfline.toml:2: view.metric: unknown metric `gpu`, expected one of: auto, cpu",
        ),
        (
            "\n[vew]\n",
            "perfline.toml:2: unknown setting `vew`, expected one of: recordings, python",
        ),
        (
            "[view]\n\nsteps = 1\n",
            "perfline.toml:3: unknown setting `view.steps`, expected one of: view.metric",
        ),
        ("[budget]\nstep = '1 s'\n[rules.sync]\nwarn = 1\n", "perfline.toml:4: rules: "),
        (
            "[python]\nsitePackages = ['/env']\n",
            "perfline.toml:2: python.sitePackages: `/env` is not below the folder of this file",
        ),
        ("[view\n", "perfline.toml:1: "),
    ] {
        let folder = project(text);
        for arguments in [&["report", "new"][..], &["check", "new"], &["mcp"], &["list"], &["diff"]]
        {
            let output = run(&folder, arguments);
            let error = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{arguments:?} {error}");
            assert!(error.starts_with(&format!("perfline: {expected}")), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_link_widens_nothing() {
    let folder = project("[python]\nsitePackages = ['env']\n");
    std::os::unix::fs::symlink("/", folder.path().join("env")).unwrap();
    let error = String::from_utf8(run(&folder, &["report", "new"]).stderr).unwrap();
    assert!(error.contains("perfline.toml:2: python.sitePackages: `env` is not below"), "{error}");
    let path = folder.path().join("perfline.toml");
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
    let output = run(&folder, &["report", "new"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(
        error.starts_with("perfline: perfline.toml: cannot read the settings: it is a link"),
        "{error}"
    );
}
