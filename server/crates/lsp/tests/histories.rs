//! Numbers stay on their lines, and sums on functions and loops, through edits of a program, with its file open and with a reload
//! between: none that is unmarked stands in a wrong place, and of a hundred unchanged lines at least 95 keep theirs.
//!
//! The edits are beside this file, as diffs. A line of context is the same line before and after; a line that was added has a number
//! only if the diff takes it away elsewhere, or spells the same code otherwise.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // A test that cannot go on says why, and what it measured.

#[path = "../../loader/tests/repository/mod.rs"]
mod repository;
mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use pysource::Module;
use serde_json::json;
use support::{Client, Kept, all_capabilities};

const HISTORIES: &str = include_str!("histories/slow_model.diff");

/// The program's file and its recording's.
const PROGRAM: &str = "slow_model.py";
const TRACE: &str = "run.json.gz";

/// Lines that were replaced.
struct Block<'a> {
    /// How many lines of the program stand before them.
    at: usize,
    removed: Vec<&'a str>,
    added: Vec<&'a str>,
}

/// An edit of the program.
struct History<'a> {
    name: &'a str,
    blocks: Vec<Block<'a>>,
    /// The program after it.
    text: String,
    /// Lines (from 1) that were not touched, with where they are now.
    unchanged: BTreeMap<u32, u32>,
    /// Which line each line was whose numbers it may have.
    origins: BTreeMap<u32, u32>,
}

impl<'a> History<'a> {
    fn new(section: &'a str, program: &'a str) -> Self {
        let (name, hunks) = section.split_once('\n').unwrap();
        let before: Vec<&str> = program.lines().collect();
        let blocks = blocks(hunks, &before);
        let (mut text, mut at, mut line) = (String::new(), 0, 0);
        let mut unchanged = BTreeMap::new();
        let mut places: Vec<Vec<u32>> = Vec::new();
        let mut add = |it: &str| {
            text.push_str(it);
            text.push('\n');
            line += 1;
            line
        };
        for block in &blocks {
            for (was, it) in (1..).zip(&before).take(block.at).skip(at) {
                unchanged.insert(was, add(it));
            }
            places.push(block.added.iter().map(|it| add(it)).collect());
            at = block.at + block.removed.len();
        }
        for (was, it) in (1..).zip(&before).skip(at) {
            unchanged.insert(was, add(it));
        }
        let mut origins: BTreeMap<u32, u32> =
            unchanged.iter().map(|(&was, &now)| (now, was)).collect();
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for (block, now) in blocks.iter().zip(&places) {
            removed.extend((block.at as u32 + 1..).zip(block.removed.iter().map(|it| it.trim())));
            added.extend(now.iter().copied().zip(block.added.iter().map(|it| it.trim())));
        }
        // What was moved.
        for &(now, text) in &added {
            let is_it = |it: &&(u32, &str)| it.1 == text;
            let was: Vec<_> = removed.iter().filter(is_it).collect();
            if let ([(was, _)], 1) = (&was[..], added.iter().filter(is_it).count()) {
                origins.insert(now, *was);
            }
        }
        // What is spelled otherwise.
        for (block, now) in blocks.iter().zip(&places) {
            let is_code = |it: &&str| !code(&[it]).is_empty();
            let rows = |texts: &[&str]| {
                texts
                    .iter()
                    .enumerate()
                    .filter(|(_, it)| is_code(it))
                    .map(|(row, _)| row)
                    .collect::<Vec<_>>()
            };
            let (old, new) = (rows(&block.removed), rows(&block.added));
            if code(&block.removed) == code(&block.added) {
                let n = if old.len() == new.len() { old.len() } else { old.len().min(1) };
                for (was, row) in old.into_iter().zip(new).take(n) {
                    origins.insert(now[row], (block.at + was) as u32 + 1);
                }
            }
        }
        Self { name, blocks, text, unchanged, origins }
    }

    /// The changes of an editor, one for each block, from the top on.
    fn changes(&self) -> serde_json::Value {
        let mut shift = 0;
        let change = |block: &Block<'_>| {
            let start = block.at as i64 + shift;
            let end = start + block.removed.len() as i64;
            shift += block.added.len() as i64 - block.removed.len() as i64;
            let text: String = block.added.iter().map(|it| format!("{it}\n")).collect();
            let place = |line: i64| json!({"line": line, "character": 0});
            json!({"range": {"start": place(start), "end": place(end)}, "text": text})
        };
        self.blocks.iter().map(change).collect()
    }
}

/// The blocks of a unified diff, which must be one of `before`.
fn blocks<'a>(hunks: &'a str, before: &[&str]) -> Vec<Block<'a>> {
    let mut blocks: Vec<Block<'a>> = Vec::new();
    let mut at = 0;
    for line in hunks.lines() {
        if let Some(head) = line.strip_prefix("@@ -") {
            at = head.split([',', ' ']).next().unwrap().parse::<usize>().unwrap() - 1;
            continue;
        }
        let (sign, text) = line.split_at_checked(1).unwrap_or((" ", ""));
        if sign == " " {
            assert_eq!(before[at], text, "line {}", at + 1);
            at += 1;
            continue;
        }
        if blocks.last().is_none_or(|it| it.at + it.removed.len() != at) {
            blocks.push(Block { at, removed: Vec::new(), added: Vec::new() });
        }
        let block = blocks.last_mut().unwrap();
        if sign == "-" {
            assert_eq!(before[at], text, "line {}", at + 1);
            block.removed.push(text);
            at += 1;
        } else {
            block.added.push(text);
        }
    }
    blocks
}

/// Code without what a formatter changes.
fn code(lines: &[&str]) -> String {
    let parts = lines.iter().map(|it| it.split('#').next().unwrap());
    let code: String = parts.flat_map(|it| it.chars()).filter(|it| !it.is_whitespace()).collect();
    code.replace(",)", ")").replace('\'', "\"")
}

/// How the edited program comes to be looked at.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// It is edited in the window in which its numbers are shown.
    Open,
    /// The recording is loaded when the program was edited, and Perfline kept a copy of the text.
    Kept,
    /// Likewise, and a commit has the text.
    Git,
    /// Likewise, and nothing has it.
    Unknown,
}

/// A folder with the recording of a day ago, and what ran.
struct Project {
    folder: tempfile::TempDir,
    began: i64,
    program: String,
}

impl Project {
    fn new(recording: &str) -> Self {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures");
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(fixtures.join(recording), folder.path().join(TRACE)).unwrap();
        let program = std::fs::read_to_string(fixtures.join("workloads").join(PROGRAM)).unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
        let began = now - 24 * 60 * 60;
        repository::set_time(&folder.path().join(TRACE), began + 1);
        Self { folder, began, program }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(PROGRAM)
    }

    /// What a new session shows of the program as `text`, then edited: hints and lenses.
    async fn shown(
        &self,
        texts: Option<PathBuf>,
        text: &str,
        history: Option<&History<'_>>,
    ) -> Shown {
        std::fs::write(self.path(), text).unwrap();
        if text == self.program {
            repository::set_time(&self.path(), self.began - 60);
        }
        let recordings = Arc::new(Kept { texts, ..Kept::default() });
        let mut client = Client::new(recordings);
        client.settings = json!({
            "view": {"metric": "cpu", "charge": "total", "threshold": 0},
            "hints": {"format": "{cpu} ×{calls}"},
        });
        client.initialize(self.folder.path(), all_capabilities()).await;
        client.command("perfline.load", json!([])).await.unwrap();
        let uri = support::uri(&self.path());
        client.open(&uri, text).await;
        let mut hints = client.hints(&uri).await;
        if let Some(history) = history {
            client.change_with(&uri, 2, history.changes()).await;
            hints = client.hints(&uri).await;
        }
        let lenses = client.lenses(&uri).await;
        client.hang_up().await;
        let hint = |it: &String| {
            let (place, label) = it.split_once(' ').unwrap();
            (place.split(':').next().unwrap().parse::<u32>().unwrap() + 1, label.to_owned())
        };
        Shown { hints: hints.iter().map(hint).collect(), lenses }
    }
}

/// What is shown, by line.
struct Shown {
    hints: BTreeMap<u32, String>,
    lenses: BTreeMap<u32, String>,
}

/// The code below each line that has a lens: of a function, a class or a loop.
fn blocks_of(text: &str) -> BTreeMap<u32, String> {
    let module = Module::parse(text);
    let lines: Vec<&str> = text.lines().collect();
    let code = |first: u32, last: u32| {
        let last = (last as usize).min(lines.len());
        code(&lines[first as usize - 1..last])
    };
    let functions = module.functions().iter().skip(1);
    let functions = functions.map(|it| (it.def_line, code(it.def_line, it.last_line)));
    let loops = module.loops().iter();
    let loops = loops.map(|it| (it.header_line, code(it.header_line, it.last_line)));
    functions.chain(loops).collect()
}

/// What became of the numbers of the program's lines.
#[derive(Debug, Clone, Copy, Default)]
struct Figures {
    /// Unmarked numbers on a line that is not theirs.
    wrong: usize,
    /// Lines with a number that were not touched.
    unchanged: usize,
    /// Of these, those that have it, unmarked.
    kept: usize,
    /// Of these, those that have it with a mark.
    marked: usize,
    /// Lenses of functions and loops that were not touched.
    lenses: usize,
    /// Of these, those that are as they were.
    kept_lenses: usize,
    /// Marked numbers on a line that is neither theirs nor one that was changed.
    misplaced: usize,
}

impl Figures {
    fn add(
        &mut self,
        ran: &BTreeMap<u32, String>,
        now: &BTreeMap<u32, String>,
        history: &History<'_>,
        way: Way,
    ) {
        let is_of_function = |it: &str| it.contains("fn ");
        for (line, label) in
            now.iter().filter(|(_, it)| !it.starts_with('≈') && !is_of_function(it))
        {
            let was = history.origins.get(line);
            if was.and_then(|it| ran.get(it)) != Some(label) {
                self.wrong += 1;
                let text = history.text.lines().nth(*line as usize - 1).unwrap();
                println!(
                    "wrong: {way:?}, {}: {line} `{text}` has {label}; it was {was:?}",
                    history.name
                );
            }
        }
        for (line, label) in now.iter().filter(|(_, it)| it.starts_with('≈')) {
            let number = |it: &str| it.trim_start_matches(['~', '≈']).to_owned();
            let was = history.origins.get(line).and_then(|it| ran.get(it)).map(|it| number(it));
            let is_changed = !history.origins.contains_key(line);
            let is_it = was.as_ref() == Some(&number(label));
            if !is_it && !is_changed && !is_of_function(label) {
                self.misplaced += 1;
                let text = history.text.lines().nth(*line as usize - 1).unwrap();
                println!(
                    "misplaced: {way:?}, {}: {line} `{text}` has {label}; it was {was:?}",
                    history.name
                );
            }
        }
        for (was, label) in ran.iter().filter(|(_, it)| !is_of_function(it)) {
            let Some(line) = history.unchanged.get(was) else { continue };
            self.unchanged += 1;
            let there = now.get(line).map_or("", String::as_str);
            self.kept += usize::from(there == label);
            self.marked +=
                usize::from(there.strip_prefix('≈') == Some(label.trim_start_matches('~')));
        }
    }
}

impl Figures {
    /// Adds what became of lenses; `program` is what ran.
    fn add_lenses(
        &mut self,
        [ran, now]: [&BTreeMap<u32, String>; 2],
        history: &History<'_>,
        program: &str,
        way: Way,
    ) {
        let (before, after) = (blocks_of(program), blocks_of(&history.text));
        let is_same = |was: &u32, line: &u32| before.get(was) == after.get(line);
        for (line, title) in now.iter().filter(|(_, it)| !it.starts_with('≈')) {
            let was = history.origins.get(line);
            if was.is_none_or(|was| ran.get(was) != Some(title) || !is_same(was, line)) {
                self.wrong += 1;
                println!("wrong: {way:?}, {}: the lens of {line} says {title}", history.name);
            }
        }
        for (was, title) in ran {
            let line = history.origins.iter().find(|(_, it)| *it == was).map(|(line, _)| line);
            let Some(line) = line.filter(|line| is_same(was, line)) else { continue };
            self.lenses += 1;
            self.kept_lenses += usize::from(now.get(line) == Some(title));
        }
    }
}

/// Of each way, what became of the numbers of a recording through all edits.
async fn figures(recording: &str) -> [Figures; 4] {
    let project = Project::new(recording);
    let cache = tempfile::tempdir().unwrap();
    let texts = Some(cache.path().join("cache"));
    let ran = project.shown(texts.clone(), &project.program, None).await;
    assert!(30 < ran.hints.len() && 8 < ran.lenses.len(), "{:#?} {:#?}", ran.hints, ran.lenses);
    let mut figures = [Figures::default(); 4];
    for section in HISTORIES.split("=== ").skip(1) {
        let history = History::new(section, &project.program);
        for (way, figures) in
            [Way::Open, Way::Kept, Way::Git, Way::Unknown].into_iter().zip(&mut figures)
        {
            let git = project.folder.path().join(".git");
            let now = match way {
                Way::Open => project.shown(None, &project.program, Some(&history)).await,
                Way::Kept => project.shown(texts.clone(), &history.text, None).await,
                Way::Git => {
                    let mut git = repository::Repository::at(&git);
                    git.commit(&[(PROGRAM, &project.program)], 1_600_000_000);
                    project.shown(None, &history.text, None).await
                }
                Way::Unknown => project.shown(None, &history.text, None).await,
            };
            let _ = std::fs::remove_dir_all(git);
            figures.add(&ran.hints, &now.hints, &history, way);
            figures.add_lenses([&ran.lenses, &now.lenses], &history, &project.program, way);
        }
    }
    figures
}

async fn check(recording: &str) {
    let [open, kept, git, unknown] = figures(recording).await;
    println!("open {open:?}\nkept {kept:?}\ngit {git:?}\nunknown {unknown:?}");
    for figures in [open, kept, git] {
        assert_eq!(figures.wrong, 0, "{figures:?}");
        assert!(figures.unchanged * 95 <= figures.kept * 100, "{figures:?}");
        assert!(figures.lenses * 95 <= figures.kept_lenses * 100, "{figures:?}");
    }
    // Where nobody knows the text that ran, no line has a number without a mark; lines that were not touched have theirs
    // with one, and few of those that have a mark are on another line.
    assert_eq!((unknown.wrong, unknown.kept, unknown.kept_lenses), (0, 0, 0), "{unknown:?}");
    assert!(unknown.unchanged * 95 <= unknown.marked * 100, "{unknown:?}");
    assert!(unknown.misplaced * 100 <= unknown.marked * 2, "{unknown:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_of_calls_whose_lines_are_recorded() {
    check("cpu/torch2.15.0/slow_model.json.gz").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_of_lines_that_are_inferred() {
    check("cpu/torch2.11.0/slow_model.json.gz").await;
}
