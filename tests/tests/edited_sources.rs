//! Numbers stay on their lines when files are edited, with the session open and with a reload between: no unmarked number
//! stands on a wrong line, and of a hundred unchanged lines at least 95 keep theirs.
//!
//! The edits are made by operations on lines that know where each line went, so that the truth needs no guess.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // A test that cannot go on says why, and what it measured.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use ledger::SourceFit;
use loader::{LoadOptions, Run, TextOrigin, Watch};
use pysource::{Carried, LineIndex, LineMap};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The programs whose sources are edited.
fn programs() -> Vec<(String, String)> {
    let folder = repository().join("fixtures/workloads");
    let mut programs: Vec<(String, String)> = fs::read_dir(folder)
        .unwrap()
        .map(|it| it.unwrap().path())
        .filter(|it| it.extension().is_some_and(|it| it == "py"))
        .map(|it| {
            (
                it.file_name().unwrap().to_string_lossy().into_owned(),
                fs::read_to_string(it).unwrap(),
            )
        })
        .collect();
    programs.sort();
    programs
}

/// A line of an edited text.
#[derive(Debug, Clone)]
struct EditedLine {
    text: String,
    /// The line (from 1) that it was; `None` of a new one.
    was: Option<u32>,
    /// Whether its tokens are other ones.
    is_changed: bool,
}

impl EditedLine {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), was: None, is_changed: true }
    }

    fn changed(&self, text: impl Into<String>) -> Self {
        Self { text: text.into(), was: self.was, is_changed: true }
    }

    fn spelled(&self, text: impl Into<String>) -> Self {
        Self { text: text.into(), ..self.clone() }
    }

    fn indentation(&self) -> &str {
        &self.text[..self.text.len() - self.text.trim_start().len()]
    }

    fn is_code(&self) -> bool {
        let text = self.text.trim_start();
        !text.is_empty() && !text.starts_with('#')
    }

    /// A statement on one line, within a function.
    fn is_simple(&self) -> bool {
        let text = self.text.trim();
        let balanced = |open, close| text.matches(open).count() == text.matches(close).count();
        self.indentation().len() >= 4
            && self.is_code()
            && !text.contains(['"', '\'', '\\', '#'])
            && !text.ends_with([':', ',', '(', '[', '{'])
            && !text.starts_with(['@', ')', ']', '}'])
            && [('(', ')'), ('[', ']'), ('{', '}')]
                .into_iter()
                .all(|(open, close)| balanced(open, close))
    }
}

type EditedText = Vec<EditedLine>;

/// Numbers without a pattern, always the same.
struct Random(u64);

impl Random {
    /// So that a program is edited as before when others are added: FNV-1a.
    fn of_name(name: &str) -> Self {
        let hash = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(name.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, hash))
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

/// The rows of statements on one line, outside of strings.
fn simple_rows(text: &EditedText) -> Vec<usize> {
    let begin_in_string = begin_in_string(text);
    (0..text.len()).filter(|&row| !begin_in_string[row] && text[row].is_simple()).collect()
}

/// By row, whether it begins within a string of several lines, such as a docstring: nothing that runs stands there.
fn begin_in_string(text: &EditedText) -> Vec<bool> {
    let mut is_string = false;
    let begins = |line: &EditedLine| {
        let begins = is_string;
        is_string ^= line.text.matches("\"\"\"").count() % 2 == 1;
        begins
    };
    text.iter().map(begins).collect()
}

/// A line without the comment that an edit put there.
fn without_comment(line: &str) -> &str {
    line.split("  # perfline:").next().unwrap_or(line)
}

/// Rows of functions: from the `def` (or decorator) to after the last line.
fn functions(text: &EditedText) -> Vec<std::ops::Range<usize>> {
    blocks(text, &["def "])
}

/// Rows of blocks that begin with one of `words` (or a decorator), to after the last line.
fn blocks(text: &EditedText, words: &[&str]) -> Vec<std::ops::Range<usize>> {
    let begins = |it: &EditedLine| words.iter().any(|word| it.text.trim_start().starts_with(word));
    let mut found = Vec::new();
    for row in (0..text.len()).filter(|&row| begins(&text[row])) {
        let depth = text[row].indentation().len();
        let is_inside = |it: &EditedLine| {
            !it.is_code() || it.indentation().len() > depth || it.text.trim_start().starts_with(')')
        };
        let mut end = row + 1 + text[row + 1..].iter().take_while(|it| is_inside(it)).count();
        while !text[end - 1].is_code() {
            end -= 1;
        }
        let decorators =
            text[..row].iter().rev().take_while(|it| it.text.trim_start().starts_with('@')).count();
        found.push(row - decorators..end);
    }
    found
}

/// What an edit does to a text.
type Operation = fn(&mut EditedText, &mut Random);

/// The kinds of edits.
const EDITS: &[(&str, Operation)] = &[
    ("docstring on top", |text, _| {
        let lines =
            ["\"\"\"What this is.", "", "And how it is used.", "\"\"\""].map(EditedLine::new);
        text.splice(0..0, lines);
    }),
    ("import", |text, random| {
        let name = ["os", "math", "typing", "logging"][random.below(4)];
        text.insert(0, EditedLine::new(format!("import {name}")));
    }),
    ("insert a statement", |text, random| {
        let rows = simple_rows(text);
        let row = rows[random.below(rows.len())];
        let line = format!("{}log({})", text[row].indentation(), random.below(1000));
        text.insert(row, EditedLine::new(line));
    }),
    ("delete a statement", |text, random| {
        let rows = simple_rows(text);
        text.remove(rows[random.below(rows.len())]);
    }),
    ("swap two statements", |text, random| {
        let rows = simple_rows(text);
        let pairs: Vec<usize> = rows
            .iter()
            .copied()
            .filter(|&it| {
                rows.contains(&(it + 1)) && text[it].indentation() == text[it + 1].indentation()
            })
            .collect();
        if let Some(&row) = pairs.get(random.below(pairs.len())) {
            // Of two that are alike nobody can see which one is first.
            if text[row].text != text[row + 1].text {
                text.swap(row, row + 1);
            }
        }
    }),
    ("copy a statement", |text, random| {
        let rows = simple_rows(text);
        let row = rows[random.below(rows.len())];
        let line = EditedLine::new(text[row].text.clone());
        // Above or below: the texts are the same, and only one of the two lines ran.
        text.insert(row + random.below(2), line);
    }),
    ("change a statement", |text, random| {
        let rows = simple_rows(text);
        let row = rows[random.below(rows.len())];
        let line = format!("{} if True else None", text[row].text);
        text[row] = text[row].changed(line);
    }),
    ("rename a variable", |text, random| {
        let rows = simple_rows(text);
        let row = rows[random.below(rows.len())];
        let mut words = text[row].text.split(|it: char| !it.is_alphanumeric() && it != '_');
        let Some(name) = words
            .rfind(|it| it.len() > 1 && !it.starts_with(|it: char| it.is_numeric()))
            .map(str::to_owned)
        else {
            return;
        };
        for line in text.iter_mut() {
            let (code, comment) = line.text.split_at(without_comment(&line.text).len());
            let mut parts = Vec::new();
            for part in code.split_inclusive(|it: char| !it.is_alphanumeric() && it != '_') {
                let word = part.trim_end_matches(|it: char| !it.is_alphanumeric() && it != '_');
                parts.push(if word == name {
                    part.replacen(word, &format!("{word}_renamed"), 1)
                } else {
                    part.to_owned()
                });
            }
            let renamed = parts.concat() + comment;
            if renamed != line.text {
                *line = line.changed(renamed);
            }
        }
    }),
    ("comments", |text, random| {
        for row in (0..text.len()).rev() {
            match (text[row].is_simple(), random.below(6)) {
                (true, 0) => {
                    text[row] =
                        text[row].spelled(format!("{}  # perfline: ignore[sync]", text[row].text))
                }
                (true, 1) => {
                    let line = format!("{}# What follows is slow.", text[row].indentation());
                    text.insert(row, EditedLine::new(line));
                }
                _ => {}
            }
        }
    }),
    ("formatter", |text, random| {
        let mut row = 0;
        while row < text.len() {
            let line = text[row].clone();
            let body = line.text.trim_end();
            if line.is_simple() && body.ends_with(')') && random.below(2) == 0 {
                // The last call is broken into lines, one argument each, unless there are brackets in it.
                let open = body.rfind('(').unwrap();
                let arguments = &body[open + 1..body.len() - 1];
                if !arguments.is_empty()
                    && !arguments.contains([')', '[', '{'])
                    && body[..open].matches('(').count() == body[..open].matches(')').count()
                {
                    let indentation = line.indentation();
                    let mut lines = vec![line.spelled(&body[..=open])];
                    lines.extend(
                        arguments
                            .split(", ")
                            .map(|it| EditedLine::new(format!("{indentation}    {it},"))),
                    );
                    lines.push(EditedLine::new(format!("{indentation})")));
                    let n_lines = lines.len();
                    text.splice(row..=row, lines);
                    row += n_lines;
                    continue;
                }
            }
            text[row] = line.spelled(body.replace(" = ", "  =  ").replace(", ", " ,  "));
            row += 1;
        }
    }),
    ("wrap in a block", |text, random| {
        let rows = simple_rows(text);
        let row = rows[random.below(rows.len())];
        let indentation = text[row].indentation().to_owned();
        text[row] = text[row].spelled(format!("    {}", text[row].text));
        text.insert(
            row,
            EditedLine::new(format!("{indentation}with context({}):", random.below(1000))),
        );
    }),
    ("move a function to the end", |text, random| {
        let all = functions(text);
        let Some(rows) = all.get(random.below(all.len())).cloned() else { return };
        if !text[rows.start].indentation().is_empty() {
            return;
        }
        let function: Vec<EditedLine> = text.drain(rows).collect();
        append(text, function);
    }),
    ("extract a function", |text, random| {
        let rows = simple_rows(text);
        let row = rows[random.below(rows.len())];
        let statement = text[row].text.trim().to_owned();
        let call = format!("{}extracted_{}()", text[row].indentation(), random.below(1000));
        let mut moved = text[row].clone();
        moved.text = format!("    {statement}");
        text[row] = EditedLine::new(call);
        append(text, vec![EditedLine::new("def extracted():"), moved]);
    }),
    ("delete a function", |text, random| {
        let all = functions(text);
        if let Some(rows) = all.get(random.below(all.len())) {
            text.drain(rows.clone());
        }
    }),
    ("copy a function", |text, random| {
        let all = functions(text);
        let Some(rows) = all.get(random.below(all.len())).cloned() else { return };
        let mut copy: Vec<EditedLine> =
            text[rows.clone()].iter().map(|it| EditedLine::new(it.text.clone())).collect();
        for line in &mut copy {
            line.text = line.text.replacen("def ", "def another_", 1);
        }
        copy.push(EditedLine::new(""));
        text.splice(rows.start..rows.start, copy);
    }),
    ("add a parameter", |text, random| {
        let all = functions(text);
        let Some(rows) = all.get(random.below(all.len())) else { return };
        let Some(row) = rows
            .clone()
            .find(|&row| text[row].text.contains("def ") && text[row].text.contains("):"))
        else {
            return;
        };
        text[row] = text[row].changed(text[row].text.replacen("):", ", *, verbose=False):", 1));
    }),
];

/// Adds a function at the end.
fn append(text: &mut EditedText, function: Vec<EditedLine>) {
    let end = text.len() - 1;
    let blank = [EditedLine::new(""), EditedLine::new("")];
    text.splice(end..end, blank.into_iter().chain(function));
}

fn joined(text: &EditedText) -> String {
    text.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join("\n")
}

/// One change of an editor: the lines that are other ones are replaced. All texts end with a line end.
fn edit(map: &mut LineMap, before: &EditedText, after: &EditedText) {
    let text = joined(before);
    let index = LineIndex::new(&text);
    let is_same = |(a, b): &(&EditedLine, &EditedLine)| a.was == b.was && a.text == b.text;
    let prefix = before.iter().zip(after).take_while(is_same).count();
    let rest = before[prefix..].iter().rev().zip(after[prefix..].iter().rev());
    let suffix = rest.take_while(is_same).count();
    let start = |row: usize| index.line_range(row as u32 + 1).map_or(text.len(), |it| it.start);
    let range = start(prefix)..start(before.len() - suffix);
    let lines = after[prefix..after.len() - suffix].iter();
    let replacement: String = lines.map(|it| it.text.clone() + "\n").collect();
    map.edit(&text, &index, range.clone(), &replacement);
    let mut edited = text.clone();
    edited.replace_range(range, &replacement);
    assert_eq!(edited, joined(after), "the edit leads to the text");
}

/// What became of the lines of code of a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Figures {
    /// Unmarked numbers on a line that was another one, or is another one now.
    wrong: usize,
    /// Lines that were not changed and stand behind those that they stood behind before.
    unchanged: usize,
    /// Of these, those that have their number, unmarked.
    kept: usize,
    /// Of these, those that have it with a mark.
    marked: usize,
}

impl Figures {
    fn add(&mut self, other: Self) {
        self.wrong += other.wrong;
        self.unchanged += other.unchanged;
        self.kept += other.kept;
        self.marked += other.marked;
    }
}

fn figures(map: &LineMap, n_lines: u32, ran: &EditedText, now: &EditedText, what: &str) -> Figures {
    let mut figures = Figures::default();
    let went: BTreeMap<u32, (u32, bool)> =
        (1..).zip(now).filter_map(|(line, it)| Some((it.was?, (line, it.is_changed)))).collect();
    let in_order = in_order(&went);
    // An equal statement in the place of one that was taken away from its function, or from the body of its class, is the
    // same text: nobody can see it, or needs to.
    let spelled = |text: &str| without_comment(text).split_whitespace().collect::<String>();
    let count = |text: &EditedText, row: usize| {
        let line = spelled(&text[row].text);
        let rows = blocks(text, &["def ", "class "]).into_iter().rfind(|it| it.contains(&row));
        let rows = rows.unwrap_or(0..text.len());
        (text[rows].iter().filter(|it| spelled(&it.text) == line).count(), line)
    };
    let is_same = |line: u32, at: u32| count(ran, line as usize - 1) == count(now, at as usize - 1);
    let begin_in_string = begin_in_string(ran);
    let may_run = |row: usize| ran[row].is_code() && !begin_in_string[row];
    for line in (1..=n_lines).filter(|&line| may_run(line as usize - 1)) {
        let truth = went.get(&line);
        let carried = map.current(line);
        if let Some(Carried { line: at, is_edited: false }) = carried
            && truth != Some(&(at, false))
            && !is_same(line, at)
        {
            figures.wrong += 1;
            println!(
                "wrong: {what}: {line} `{}` on {at} `{}`, not {truth:?}",
                ran[line as usize - 1].text,
                now[at as usize - 1].text
            );
        }
        if truth.is_some_and(|it| !it.1) && in_order.contains(&line) {
            figures.unchanged += 1;
            let place = carried.filter(|it| truth.is_some_and(|truth| truth.0 == it.line));
            figures.kept += usize::from(place.is_some_and(|it| !it.is_edited));
            figures.marked += usize::from(place.is_some_and(|it| it.is_edited));
        }
    }
    figures
}

/// The lines that are still in the order in which they were: most of them, as a map that keeps the order can.
fn in_order(went: &BTreeMap<u32, (u32, bool)>) -> Vec<u32> {
    let lines: Vec<(u32, u32)> = went.iter().map(|(&was, &(now, _))| (was, now)).collect();
    // The longest ascending part, by the ends of those of each length.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![usize::MAX; lines.len()];
    for (row, &(_, now)) in lines.iter().enumerate() {
        let length = ends.partition_point(|&it| lines[it].1 < now);
        before[row] = length.checked_sub(1).map_or(usize::MAX, |it| ends[it]);
        if length == ends.len() {
            ends.push(row);
        } else {
            ends[length] = row;
        }
    }
    let mut found = Vec::new();
    let mut row = ends.last().copied().unwrap_or(usize::MAX);
    while row != usize::MAX {
        found.push(lines[row].0);
        row = before[row];
    }
    found.sort_unstable();
    found
}

/// What a sequence of edits leaves, with the session open and after a reload.
fn edited(name: &str, ran: &str, kinds: &[usize], random: &mut Random) -> [Figures; 2] {
    let original: EditedText = (1..)
        .zip(ran.split('\n'))
        .map(|(line, text)| EditedLine {
            text: text.to_owned(),
            was: Some(line),
            is_changed: false,
        })
        .collect();
    let mut now = original.clone();
    let mut open = LineMap::identity(ran);
    for &kind in kinds {
        if simple_rows(&now).len() < 4 {
            break;
        }
        let before = now.clone();
        EDITS[kind].1(&mut now, random);
        edit(&mut open, &before, &now);
    }
    let what: Vec<&str> = kinds.iter().map(|&it| EDITS[it].0).collect();
    let what = format!("{name}: {}", what.join(", "));
    let reloaded = LineMap::between(ran, &joined(&now));
    let n_lines = original.len() as u32;
    [
        figures(&open, n_lines, &original, &now, &format!("open: {what}")),
        figures(&reloaded, n_lines, &original, &now, &format!("reloaded: {what}")),
    ]
}

#[test]
fn no_number_stands_on_a_wrong_line_and_unchanged_lines_keep_theirs() {
    let programs = programs();
    let mut by_kind = vec![[Figures::default(); 2]; EDITS.len() + 1];
    for (name, ran) in &programs {
        let mut random = Random::of_name(name);
        for (kind, sums) in by_kind.iter_mut().enumerate().take(EDITS.len()) {
            for _ in 0..3 {
                let found = edited(name, ran, &[kind], &mut random);
                sums.iter_mut().zip(found).for_each(|(sum, it)| sum.add(it));
            }
        }
        // A branch switch, or a day of work.
        for _ in 0..12 {
            let kinds: Vec<usize> =
                (0..2 + random.below(6)).map(|_| random.below(EDITS.len())).collect();
            let found = edited(name, ran, &kinds, &mut random);
            by_kind[EDITS.len()].iter_mut().zip(found).for_each(|(sum, it)| sum.add(it));
        }
    }
    let names = EDITS.iter().map(|it| it.0).chain(["several of these"]);
    let mut sums = [Figures::default(); 2];
    for (name, found) in names.zip(&by_kind) {
        println!("{name:28} open {:?}  reloaded {:?}", found[0], found[1]);
        sums.iter_mut().zip(found).for_each(|(sum, it)| sum.add(*it));
    }
    println!("all: open {:?}, reloaded {:?}", sums[0], sums[1]);
    for sum in sums {
        assert_eq!(sum.wrong, 0, "{sum:?}");
        assert!(sum.unchanged * 95 <= sum.kept * 100, "{sum:?}");
    }
}

/// The books of a recording do not depend on what became of its sources after it was loaded for the first time.
#[test]
fn a_reload_after_an_edit_changes_no_number() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.json.gz");
    let fixture = repository().join("fixtures/cpu/torch2.11.0/slow_model.json.gz");
    fs::copy(fixture, &trace).unwrap();
    let source = folder.path().join("slow_model.py");
    let ran = fs::read_to_string(repository().join("fixtures/workloads/slow_model.py")).unwrap();
    fs::write(&source, &ran).unwrap();
    let text_cache = Some(folder.path().join(".cache"));
    // Without the side-car, operators and calls are inferred from the text.
    let options = LoadOptions { text_cache, ..LoadOptions::new(folder.path(), Some(Vec::new())) };
    let load = || -> Run {
        let watch = Watch { progress: &|_| {}, cancelled: &AtomicBool::new(false) };
        loader::load(std::slice::from_ref(&trace), &options, &watch).unwrap()
    };
    let before = load();
    assert_eq!(before.texts["slow_model.py"].origin, TextOrigin::File);
    // A docstring on top, and two lines swapped.
    let swapped = ran.replace(
        "    opt.zero_grad()\n    pred = model(x)\n",
        "    pred = model(x)\n    opt.zero_grad()\n",
    );
    assert_ne!(swapped, ran);
    for edited in [format!("\"\"\"Slow.\n\n\"\"\"\n{ran}"), swapped, "import os\n".to_owned()] {
        fs::write(&source, edited).unwrap();
        let after = load();
        assert_eq!(after.texts["slow_model.py"].origin, TextOrigin::Kept);
        assert_eq!(after.merged.files["slow_model.py"].fit, SourceFit::Edited);
        assert_eq!(after.merged.lines, before.merged.lines);
    }
}
