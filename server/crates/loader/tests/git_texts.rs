//! The text that ran, from the git repository that holds the root.

#![allow(clippy::expect_used)] // A test that cannot go on says why.

#[path = "repository/mod.rs"]
mod repository;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use gix_hash::ObjectId;
use ledger::SourceFit;
use loader::{LedgerCache, LoadOptions, RankChoice, Run, TextOrigin, Watch, load_kept, load_timed};
use repository::{Repository, set_time};
use serde_json::json;

/// When the recordings of these tests began: 2026-03-04.
const BEGAN: i64 = 1_772_600_000;
const MINUTE: i64 = 60;
const DAY: i64 = 24 * 60 * MINUTE;

/// A function that begins on line 1, and one that begins on line `second`; what they do says `what`.
fn text(what: &str, second: usize) -> String {
    let body = format!("    {what} = 1\n").repeat(second - 2);
    format!("def main():\n{body}def work():\n    return {what:?}\n")
}

/// A trace of a program `file` with such functions.
fn trace(file: &str, second: usize) -> String {
    let event = |name: &str, at: usize, length: usize, args: serde_json::Value| json!({"ph": "X", "cat": "python_function", "name": name, "pid": 1, "tid": 1, "ts": at, "dur": length, "args": args});
    let args = json!({"Python id": 2, "Python parent id": 1});
    let events = [
        event(&format!("{file}(1): main"), 0, 1000, json!({"Python id": 1})),
        event(&format!("{file}({second}): work"), 100, 500, args),
    ];
    let base = BEGAN * 1_000_000_000;
    json!({"schemaVersion": 1, "baseTimeNanoseconds": base, "traceEvents": events}).to_string()
}

/// A side-car that names a commit.
fn side_car(commit: ObjectId) -> String {
    let git = json!({"revision": commit.to_string(), "dirty": true});
    let sources = json!({"git": git, "files": []});
    json!({"schema": "perfline.callers/1", "strings": [], "threads": [], "sources": sources})
        .to_string()
}

/// A folder with a recording of its `train.py`.
struct Project {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Project {
    /// `work` was recorded to begin on line 4.
    fn new() -> Self {
        Self::below("")
    }

    /// The root is this folder of the one that holds it.
    fn below(folder: &str) -> Self {
        let holder = tempfile::tempdir().expect("a folder");
        let root = holder.path().canonicalize().expect("a folder").join(folder);
        fs::create_dir_all(&root).expect("a folder");
        let project = Self { _folder: holder, root };
        project.record("train.py");
        project
    }

    fn record(&self, file: &str) {
        self.write("run.json", &trace(file, 4), BEGAN + 1);
    }

    fn write(&self, name: &str, text: &str, time: i64) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, text).expect("written");
        set_time(&path, time);
    }

    /// `train.py` as it is now, long after the recording.
    fn now(&self, text: &str) {
        self.write("train.py", text, BEGAN + 30 * DAY);
    }

    fn options(&self) -> LoadOptions {
        LoadOptions { git_texts: true, ..LoadOptions::new(&self.root, Some(Vec::new())) }
    }

    fn load(&self) -> Run {
        self.load_with(&self.options()).0
    }

    /// The run, and whether nothing was read.
    fn load_with(&self, options: &LoadOptions) -> (Run, bool) {
        let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
        let loaded = load_timed(&[self.root.join("run.json")], options, &watch);
        let (run, timing) = loaded.expect("the recording loads");
        (run, timing.inputs.is_empty())
    }

    /// Where the text that ran comes from, and the text.
    fn ran(&self) -> Option<(TextOrigin, String)> {
        let run = self.load();
        let text = run.texts.values().next()?;
        Some((text.origin, text.text.to_string()))
    }

    /// The text that ran, which is that of a commit.
    fn committed(&self) -> Option<String> {
        let (origin, text) = self.ran()?;
        matches!(origin, TextOrigin::Git(_)).then_some(text)
    }
}

#[test]
fn a_file_that_was_edited_in_place_has_the_text_of_the_commit_that_was_checked_out() {
    let project = Project::new();
    let mut git = Repository::new(&project.root);
    git.commit(&[("train.py", &text("older", 4))], BEGAN - 9 * DAY);
    let commit = git.commit(&[("train.py", &text("ran", 4))], BEGAN - DAY);
    // Whether its functions begin on other lines now or not.
    for second in [6, 4] {
        project.now(&text("edited", second));
        let run = project.load();
        let ran = &run.texts["train.py"];
        let TextOrigin::Git(blob) = ran.origin else { panic!("{ran:?}") };
        assert_eq!((&*ran.text, &blob.commit.0[..]), (&*text("ran", 4), commit.as_slice()));
        assert_eq!(run.merged.files["train.py"].fit, SourceFit::Edited);
        assert_eq!(run.source_doubts(), [""; 0]);
        let said = run.texts_from_git().expect("it is said");
        assert!(said.starts_with("train.py is taken as it is in git revision "), "{said}");
        assert!(said.contains(&format!(" {} (2026-03-03)", &commit.to_string()[..7])), "{said}");
    }
    // Who does not ask for it does without.
    let options = LoadOptions { git_texts: false, ..project.options() };
    assert_eq!(project.load_with(&options).0.texts["train.py"].origin, TextOrigin::NewerFile);
}

#[test]
fn a_file_that_was_not_changed_since_is_the_text_that_ran() {
    let project = Project::new();
    let mut git = Repository::new(&project.root);
    git.commit(&[("train.py", &text("committed", 4))], BEGAN - DAY);
    // It was recorded before it is committed.
    project.write("train.py", &text("recorded", 4), BEGAN - MINUTE);
    assert_eq!(project.ran(), Some((TextOrigin::File, text("recorded", 4))));
    // It was checked out again since.
    project.now(&text("committed", 4));
    assert_eq!(project.ran(), Some((TextOrigin::File, text("committed", 4))));
    assert_eq!(project.load().merged.files["train.py"].fit, SourceFit::Fits);
}

#[test]
fn what_was_recorded_before_it_was_committed_is_found_in_the_next_commit() {
    let project = Project::new();
    let mut git = Repository::new(&project.root);
    git.commit(&[("train.py", &text("before", 9))], BEGAN - DAY);
    git.commit(&[("train.py", &text("ran", 4))], BEGAN + MINUTE);
    git.commit(&[("train.py", &text("later", 4))], BEGAN + DAY);
    project.now(&text("now", 7));
    assert_eq!(project.committed(), Some(text("ran", 4)));
}

#[test]
fn what_was_checked_out_then_counts_after_a_switch() {
    let project = Project::new();
    let mut git = Repository::new(&project.root);
    let first = git.commit(&[("train.py", &text("first", 4))], BEGAN - 9 * DAY);
    let ran = git.commit(&[("train.py", &text("ran", 4))], BEGAN - 8 * DAY);
    git.check_out(first, BEGAN - 7 * DAY);
    git.check_out(ran, BEGAN - DAY);
    git.check_out(first, BEGAN + MINUTE);
    project.now(&text("first", 4));
    assert_eq!(project.committed(), Some(text("ran", 4)));
}

#[test]
fn without_a_log_the_dates_of_commits_count() {
    let project = Project::new();
    let mut git = Repository::new(&project.root);
    for (days, what) in [(-9, "older"), (-1, "ran"), (2, "later"), (3, "newest")] {
        git.commit(&[("train.py", &text(what, 4))], BEGAN + days * DAY);
    }
    fs::remove_file(git.git.join("logs/HEAD")).expect("removed");
    project.now(&text("now", 4));
    assert_eq!(project.committed(), Some(text("ran", 4)));
    // A log that begins later, as that of a clone.
    let head = fs::read_to_string(git.git.join("refs/heads/main")).expect("a commit");
    let (nothing, cloned) = ("0".repeat(40), BEGAN + 4 * DAY);
    let line = format!("{nothing} {} A <a@b.c> {cloned} +0000\tclone: it\n", head.trim());
    fs::write(git.git.join("logs/HEAD"), line).expect("written");
    assert_eq!(project.committed(), Some(text("ran", 4)));
}

#[test]
fn the_commit_that_the_recording_names_comes_first() {
    let project = Project::new();
    let mut git = Repository::new(&project.root);
    let aside = git.commit_aside(&[("train.py", &text("aside", 4))], BEGAN - 2 * DAY);
    git.commit(&[("train.py", &text("checked_out", 4))], BEGAN - DAY);
    project.now(&text("now", 4));
    assert_eq!(project.committed(), Some(text("checked_out", 4)));
    project.write("run.callers.json", &side_car(aside), BEGAN + 1);
    assert_eq!(project.committed(), Some(text("aside", 4)));
}

#[test]
fn a_run_has_the_commit_of_the_first_rank_that_names_one() {
    let project = Project::new();
    let [first, second] = [0x1a, 0x2b].map(|it| ObjectId::from([it; 20]));
    let mut inputs = Vec::new();
    for (rank, commit) in [(2, Some(second)), (0, None), (1, Some(first))] {
        let name = format!("run.rank{rank}");
        project.write(&format!("{name}.json"), &trace("train.py", 4 + rank), BEGAN + 1);
        if let Some(commit) = commit {
            project.write(&format!("{name}.callers.json"), &side_car(commit), BEGAN + 1);
        }
        inputs.push(project.root.join(format!("{name}.json")));
    }
    let ledgers = Arc::new(LedgerCache::with_least(project.root.join(".cache"), 0));
    let options = LoadOptions { ledger_cache: Some(Arc::clone(&ledgers)), ..project.options() };
    let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
    // What was written a moment ago is not kept.
    std::thread::sleep(Duration::from_millis(700));
    let load = |ranks: &[u32]| {
        let ranks = RankChoice { ranks: ranks.iter().copied().collect(), groups: Vec::new() };
        let options = LoadOptions { ranks, ..options.clone() };
        let (run, _) = load_timed(&inputs, &options, &watch).expect("the recording loads");
        ledgers.write_pending();
        let kept = load_kept(&inputs, &options, &watch).expect("it was kept");
        assert_eq!(run.commit, kept.commit);
        run.commit.map(|it| it.to_string())
    };
    assert_eq!(load(&[]).as_deref(), Some("1a1a1a1-dirty"), "of all ranks");
    assert_eq!(load(&[0, 2]).as_deref(), Some("2b2b2b2-dirty"));
    assert_eq!(load(&[0]), None);
}

#[test]
fn files_that_were_moved_or_deleted_are_found_where_they_were() {
    let project = Project::new();
    project.record("models/net.py");
    let mut git = Repository::new(&project.root);
    let files = [("src/models/net.py", &*text("ran", 4)), ("tools/net.py", &*text("other", 4))];
    git.commit(&files, BEGAN - DAY);
    assert_eq!(project.committed(), Some(text("ran", 4)));
    let file = &project.load().merged.files["models/net.py"];
    assert_eq!((file.fit, file.is_user_code), (SourceFit::Missing, true));
    project.write("lib/models/net.py", &text("now", 8), BEGAN + DAY);
    assert_eq!(project.committed(), Some(text("ran", 4)));
    assert_eq!(project.load().merged.files["lib/models/net.py"].fit, SourceFit::Edited);
}

#[test]
fn only_what_lies_below_the_root_is_looked_at() {
    let project = Project::below("packages/mine");
    let top = project.root.parent().and_then(Path::parent).expect("a folder").to_owned();
    let mut git = Repository::new(&top);
    let outside = [("train.py", &*text("outside", 4)), ("packages/other/train.py", "x = 1\n")];
    git.commit(&outside, BEGAN - 2 * DAY);
    project.now(&text("now", 9));
    assert_eq!(project.committed(), None);
    git.commit(&[outside[0], ("packages/mine/train.py", &*text("ran", 4))], BEGAN - DAY);
    assert_eq!(project.committed(), Some(text("ran", 4)));
}

#[test]
fn objects_and_branches_that_were_packed_are_read() {
    let project = Project::new();
    let mut git = Repository::new(&project.root);
    for day in -9..0 {
        git.commit(&[("train.py", &text(&format!("day_{}", -day), 4))], BEGAN + day * DAY);
    }
    git.pack();
    project.now(&text("now", 5));
    assert_eq!(project.committed(), Some(text("day_1", 4)));
    fs::remove_file(git.git.join("logs/HEAD")).expect("removed");
    assert_eq!(project.committed(), Some(text("day_1", 4)));
}

#[test]
fn work_trees_and_submodules_are_repositories_too() {
    let holder = tempfile::tempdir().expect("a folder");
    let at = holder.path().canonicalize().expect("a folder");
    let project = Project::new();
    project.now(&text("now", 6));
    let link = project.root.join(".git");
    let main = at.join("main/.git");
    let mut git = Repository::at(&main);
    git.commit(&[("train.py", &text("ran", 4))], BEGAN - DAY);
    // The folder of a work tree has what is checked out there, and names the work tree.
    let own = main.join("worktrees/name");
    fs::create_dir_all(own.join("logs")).expect("a folder");
    for file in ["HEAD", "logs/HEAD"] {
        fs::copy(main.join(file), own.join(file)).expect("copied");
    }
    fs::write(&link, format!("gitdir: {}\n", own.display())).expect("written");
    assert_eq!(project.committed(), None, "another repository cannot be chosen");
    fs::write(own.join("gitdir"), format!("{}\n", link.display())).expect("written");
    assert_eq!(project.committed(), Some(text("ran", 4)));

    let super_project = Project::below("parts/sub");
    super_project.now(&text("now", 6));
    let top = super_project.root.parent().and_then(Path::parent).expect("a folder");
    let mut git = Repository::at(&top.join(".git/modules/parts/sub"));
    git.commit(&[("train.py", &text("ran", 4))], BEGAN - DAY);
    let link = super_project.root.join(".git");
    fs::write(&link, "gitdir: ../../.git/modules/parts/sub\n").expect("written");
    assert_eq!(super_project.committed(), Some(text("ran", 4)));
    fs::write(&link, format!("gitdir: {}\n", main.display())).expect("written");
    assert_eq!(super_project.committed(), None);
}

#[test]
fn what_lies_elsewhere_is_not_read() {
    let project = Project::new();
    let elsewhere = Project::new();
    let mut git = Repository::new(&elsewhere.root);
    git.commit(&[("train.py", &text("secret", 4))], BEGAN - DAY);
    project.now(&text("now", 6));
    let own = project.root.join(".git");
    // Another object database.
    let empty = Repository::new(&project.root);
    for file in ["refs/heads/main", "logs/HEAD"] {
        fs::copy(git.git.join(file), own.join(file)).expect("copied");
    }
    let place = format!("{}\n", git.git.join("objects").display());
    fs::write(own.join("objects/info/alternates"), place).expect("written");
    assert_eq!(project.committed(), None);
    drop(empty);
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        fs::remove_dir_all(own.join("objects")).expect("removed");
        symlink(git.git.join("objects"), own.join("objects")).expect("linked");
        assert_eq!(project.committed(), None);
        // Each folder of objects by itself.
        fs::remove_file(own.join("objects")).expect("removed");
        fs::create_dir(own.join("objects")).expect("a folder");
        for entry in fs::read_dir(git.git.join("objects")).expect("a folder") {
            let entry = entry.expect("an entry");
            symlink(entry.path(), own.join("objects").join(entry.file_name())).expect("linked");
        }
        assert_eq!(project.committed(), None);
        fs::remove_dir_all(&own).expect("removed");
        symlink(&git.git, &own).expect("linked");
        assert_eq!(project.committed(), None);
    }
}

#[cfg(unix)]
#[test]
fn pipes_are_not_waited_for() {
    let project = Project::new();
    project.now(&text("now", 6));
    let make = || {
        fs::remove_dir_all(project.root.join(".git")).ok();
        let mut git = Repository::new(&project.root);
        git.commit(&[("train.py", &text("ran", 4))], BEGAN - DAY)
    };
    let commit = make().to_string();
    let object = format!("objects/{}/{}", &commit[..2], &commit[2..]);
    for file in
        ["HEAD", "logs/HEAD", "refs/heads/main", "packed-refs", "objects/pack/a.idx", &object]
    {
        make();
        let path = project.root.join(".git").join(file);
        fs::remove_file(&path).ok();
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.is_ok_and(|it| it.success()));
        project.load();
    }
    // Another file is not taken for the log, and the branch is not needed where there is one.
    assert_eq!(project.committed(), None);
}

#[test]
fn a_damaged_repository_costs_nothing_but_its_texts() {
    let project = Project::new();
    project.now(&text("now", 6));
    let ran = project.ran().map(|it| it.0);
    assert_eq!(ran, Some(TextOrigin::ArrangedFile), "there is no repository");
    let make = |is_packed: bool| {
        fs::remove_dir_all(project.root.join(".git")).ok();
        let mut git = Repository::new(&project.root);
        git.commit(&[("train.py", &text("first", 4))], BEGAN - 2 * DAY);
        git.commit(&[("train.py", &text("ran", 4))], BEGAN - DAY);
        if is_packed {
            git.pack();
        }
        git.git
    };
    let mut n_found = 0;
    for is_packed in [false, true] {
        let git = make(is_packed);
        let mut files = Vec::new();
        let mut folders = vec![git];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() { folders.push(path) } else { files.push(path) }
            }
        }
        assert!(5 < files.len() || is_packed);
        for file in files {
            make(is_packed);
            let whole = fs::read(&file).expect("read");
            let half = whole[..whole.len() / 2].to_vec();
            let mut flipped = whole.clone();
            flipped.iter_mut().skip(12).step_by(7).for_each(|it| *it ^= 0x55);
            for bytes in [Vec::new(), b"ref: refs/../../x".to_vec(), half, flipped] {
                fs::remove_file(&file).expect("removed");
                fs::write(&file, bytes).expect("written");
                let run = project.load();
                assert!(run.inputs[0].complete, "{file:?}");
                n_found += usize::from(!run.texts.is_empty());
            }
        }
    }
    // By the dates of commits, for example, where the log is damaged.
    assert!(0 < n_found);
}

#[test]
fn a_kept_ledger_follows_the_repository() {
    let project = Project::new();
    let cache = project.root.join(".cache");
    let ledgers = Arc::new(LedgerCache::with_least(cache.clone(), 0));
    let options = LoadOptions {
        text_cache: Some(cache),
        ledger_cache: Some(Arc::clone(&ledgers)),
        ..project.options()
    };
    let load = || {
        std::thread::sleep(Duration::from_millis(700));
        let (run, is_kept) = project.load_with(&options);
        ledgers.write_pending();
        let fresh = LoadOptions { ledger_cache: None, ..options.clone() };
        assert!(format!("{run:?}") == format!("{:?}", project.load_with(&fresh).0));
        (run.texts.values().next().map(|it| it.text.to_string()), is_kept)
    };
    let mut git = Repository::new(&project.root);
    git.commit(&[("train.py", &text("before", 9))], BEGAN - DAY);
    project.now(&text("now", 6));
    let arranged = "def main():\n    now = 1\n    now = 1\ndef work():\n    return \"now\"\n";
    assert_eq!(load(), (Some(arranged.to_owned()), false));
    assert_eq!(load(), (Some(arranged.to_owned()), false), "it is made of the recording");
    // The text that ran is committed: the ledger is another one.
    git.commit(&[("train.py", &text("ran", 4))], BEGAN + MINUTE);
    assert_eq!(load(), (Some(text("ran", 4)), false));
    assert_eq!(load(), (Some(text("ran", 4)), true));
    // What is committed later is another text of the file, and changes nothing.
    git.commit(&[("train.py", &text("later", 4))], BEGAN + DAY);
    assert_eq!(load(), (Some(text("ran", 4)), true));
    // Nor does an edit.
    project.now(&text("later", 4));
    assert_eq!(load(), (Some(text("ran", 4)), true));
    // What git has deleted is not known any more, and not to the ledger either.
    fs::remove_dir_all(git.git.join("objects")).expect("removed");
    fs::create_dir(git.git.join("objects")).expect("a folder");
    let (found, is_kept) = load();
    assert_eq!((found, is_kept), (Some(text("later", 4)), false));
}
