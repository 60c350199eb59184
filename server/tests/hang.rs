//! `perfline hang` on recorded dumps.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/flight_recorder")
}

fn perfline(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_perfline"));
    command.args(arguments).env("PERFLINE_CACHE_DIR", "").current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_verdict_names_ranks_calls_and_lines() {
    for (folder, verdict, place) in [
        (
            "late",
            "Ranks 0, 1 wait in all_reduce #4, which rank 2 has not called.",
            "hanging.py:11 average",
        ),
        (
            "skipping",
            "The ranks made different collectives their call 6 of this group: they cannot end.",
            "hanging.py:29 train_skipping",
        ),
        (
            "uneven",
            "There is no dump of rank 2: did it end, or could it not write?",
            "hanging.py:11",
        ),
        ("finished", "All calls have ended, #6 last.", "hanging.py:11 average"),
    ] {
        let output = perfline(&["hang", folder], &fixtures());
        assert!(output.status.success());
        let printed = text(&output.stdout);
        assert!(printed.contains(verdict) && printed.contains(place), "{printed}");
    }
}

#[test]
fn what_cannot_be_read_costs_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    for rank in 0..3 {
        let name = format!("nccl_trace_rank_{rank}.gz");
        fs::copy(fixtures().join("late").join(&name), folder.path().join(&name)).unwrap();
    }
    let whole = fs::read(folder.path().join("nccl_trace_rank_2.gz")).unwrap();
    fs::write(folder.path().join("nccl_trace_rank_2.gz"), &whole[..whole.len() / 8]).unwrap();
    fs::write(folder.path().join("notes_7"), "seven").unwrap();
    let named =
        ["hang", "nccl_trace_rank_0.gz", "nccl_trace_rank_1.gz", "nccl_trace_rank_2.gz", "notes_7"];
    let output = perfline(&named, folder.path());
    let (printed, said) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}");
    assert!(said.contains("nccl_trace_rank_2.gz: ") && said.contains("notes_7: "), "{said}");
    assert!(printed.contains("All ranks with dumps called all_reduce #4"), "{printed}");
    assert!(printed.contains("There is no dump of rank 2"), "{printed}");

    // Of a folder, what is no dump is passed over.
    fs::remove_file(folder.path().join("nccl_trace_rank_2.gz")).unwrap();
    let output = perfline(&["hang"], folder.path());
    assert_eq!(text(&output.stderr), "");
    fs::remove_dir_all(folder.path()).unwrap();
}

#[test]
fn where_nothing_is_it_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let output = perfline(&["hang", "."], folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains(".: no dump of the flight recorder is here"));
    // Other commands say which one it is for.
    let output = perfline(&["report", "late/nccl_trace_rank_0.gz"], &fixtures());
    let said = text(&output.stderr);
    assert!(said.contains("`perfline hang` reads it"), "{said}");
}
