//! Recordings whose sources were edited in place between them, in a git repository.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

#[path = "../crates/loader/tests/repository/mod.rs"]
mod repository;

use std::path::Path;
use std::process::Command;

use repository::{Repository, set_time};
use serde_json::Value;

/// When the recordings began, as they say: 2026-11-22.
const BASE_BEGAN: i64 = 1_795_360_091;
const NEW_BEGAN: i64 = 1_795_360_108;
const DAY: i64 = 24 * 60 * 60;

#[test]
fn the_base_is_compared_with_its_text_from_git() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/comparison");
    let folder = tempfile::tempdir().unwrap();
    let copy = |from: &str, to: &str, time: i64| {
        let to = folder.path().join(to);
        std::fs::copy(data.join(from), &to).unwrap();
        set_time(&to, time);
    };
    let text = |from: &str| std::fs::read_to_string(data.join(from)).unwrap();
    let diff = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_perfline"));
        command.args(["diff", "base.json.gz", "new.json.gz"]).args(arguments);
        command.env("PERFLINE_CACHE_DIR", "").current_dir(folder.path());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    copy("base/trace.json.gz", "base.json.gz", BASE_BEGAN + 1);
    copy("faster/trace.json.gz", "new.json.gz", NEW_BEGAN + 1);
    copy("faster/train.py", "train.py", NEW_BEGAN - 1);
    let base = data.join("base");
    let as_kept = diff(&["--format", "json", "--base-root", base.to_str().unwrap()]);
    let value: Value = serde_json::from_str(&as_kept).unwrap();
    assert_eq!(value["edits"][0]["base_line"], 12, "{value}");
    assert_ne!(diff(&["--format", "json"]), as_kept, "without a repository");

    let mut git = Repository::new(folder.path());
    let commit = git.commit(&[("train.py", &text("base/train.py"))], BASE_BEGAN - DAY);
    assert_eq!(diff(&["--format", "json"]), as_kept);
    let shown = diff(&[]);
    let expected = format!(
        "(1 from git revision {} (2026-11-21) of the base; 1 on disk of the new run)",
        &commit.to_string()[..7]
    );
    assert!(shown.split_whitespace().collect::<Vec<_>>().join(" ").contains(&expected), "{shown}");
    // Committed afterwards, and edited again.
    git.commit(&[("train.py", &text("faster/train.py"))], NEW_BEGAN + DAY);
    copy("moved/train.py", "train.py", NEW_BEGAN + 2 * DAY);
    assert_eq!(diff(&["--format", "json"]), as_kept);
}
