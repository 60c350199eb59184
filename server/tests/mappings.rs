//! Sources that the paths of a recording do not lead to, as the command line finds them.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// A folder with a recording, and the program that was recorded in each of `places`.
fn folder(places: &[&str]) -> tempfile::TempDir {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let folder = tempfile::tempdir().unwrap();
    let recording = "simulated_cuda/torch2.15.0/slow_model.json.gz";
    fs::create_dir(folder.path().join("project")).unwrap();
    fs::copy(fixtures.join(recording), folder.path().join("project/run.json.gz")).unwrap();
    for place in places {
        let place = folder.path().join(place);
        fs::create_dir_all(&place).unwrap();
        let to = place.join("slow_model.py");
        fs::copy(fixtures.join("workloads/slow_model.py"), to).unwrap();
    }
    folder
}

/// What a command prints.
fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_perfline"))
        .args(arguments)
        .args(["--site", "no-libraries"])
        .current_dir(folder.join("project"))
        .env("PERFLINE_CACHE_DIR", "")
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8(text).unwrap()
}

/// The head of the program in its annotated source, and a line of it with its text.
fn annotated(folder: &Path, options: &[&str]) -> (String, Option<String>) {
    let text = printed(folder, &[&["annotate", "run.json.gz"], options].concat());
    let head = text.lines().skip_while(|it| !it.contains("slow_model.py ·"));
    let line = text.lines().find(|it| it.contains("x.max().item() > 100"));
    let head: Vec<&str> = head.take_while(|it| !it.contains("per step")).collect();
    (head.join("\n"), line.map(str::to_owned))
}

#[test]
fn of_two_copies_one_is_taken_and_the_output_says_how_to_choose_the_other() {
    let folder = folder(&["project/a", "project/b"]);
    let (head, line) = annotated(folder.path(), &[]);
    let said = "another file goes with what was recorded as well; --map slow_model.py=b/slow_model.py chooses the other";
    assert!(head.starts_with("a/slow_model.py ·") && head.ends_with(said), "{head}");
    assert!(line.is_some());
    let report = printed(folder.path(), &["report", "run.json.gz", "--section", "inputs"]);
    let said = "slow_model.py is a/slow_model.py or b/slow_model.py by its functions, and is taken for the former; --map \
                slow_model.py=b/slow_model.py chooses the other";
    assert!(report.contains(said), "{report}");
    let (head, line) = annotated(folder.path(), &["--map", "slow_model.py=b/slow_model.py"]);
    assert!(head.starts_with("b/slow_model.py ·") && !head.contains("--map"), "{head}");
    assert!(line.is_some());
}

#[test]
fn a_project_file_maps_to_places_below_it_alone() {
    let folder = folder(&["project/code", "outside"]);
    let code = folder.path().join("project/code");
    fs::rename(code.join("slow_model.py"), code.join("renamed.py")).unwrap();
    let (head, line) = annotated(folder.path(), &[]);
    assert!(head.contains("not found here (see --root, --map, --site)"), "{head}");
    assert_eq!(line, None);
    let settings = |place: &str| {
        let text = format!("[sources.map]\n\"slow_model.py\" = \"{place}\"\n");
        fs::write(folder.path().join("project/perfline.toml"), text).unwrap();
    };
    settings("code/renamed.py");
    let text = printed(folder.path(), &["annotate", "run.json.gz"]);
    assert!(
        text.contains("\ncode/renamed.py ·") && text.contains("x.max().item() > 100"),
        "{text}"
    );
    settings("../outside/slow_model.py");
    let text = printed(folder.path(), &["annotate", "run.json.gz"]);
    let said = "perfline.toml:1: sources.map: `../outside/slow_model.py` is not below the folder of this file, and only such paths \
                are taken from it; name it with --map, or in the settings of your editor";
    assert!(text.contains(said) && !text.contains("x.max()"), "{text}");
}

#[test]
fn what_is_named_on_the_command_line_may_be_anywhere() {
    let folder = folder(&["outside"]);
    let place = folder.path().canonicalize().unwrap().join("outside/slow_model.py");
    let mapping = format!("slow_model.py={}", place.display());
    assert!(annotated(folder.path(), &["--map", &mapping]).1.is_some());
    // What it holds is not read where nobody named it.
    assert_eq!(annotated(folder.path(), &[]).1, None);
}
