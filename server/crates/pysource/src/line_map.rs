//! Carrying lines through edits.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::iter::Copied;
use std::ops::{Range, RangeInclusive};
use std::slice;

use imara_diff::{Algorithm, Diff, Hunk, InternedInput, TokenSource};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::LineIndex;
use crate::line_tokens::{LogicalLine, canonical, logical_lines};

/// Where the lines of a recorded text are in the current one.
///
/// The map is strictly monotone: of two recorded lines that still exist the earlier one stands before the later one. A
/// line that is not marked as edited has the tokens that were recorded, or begins a statement that has: comments, white
/// space, kinds of quotes, and how a formatter breaks a statement into lines make no difference.
///
/// It is kept as runs of neighbouring lines, so a file that was edited in ten places takes some twenty short rows, and
/// a hash of each recorded line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineMap {
    /// In line order, none empty, neighbours joined where they can be.
    runs: Vec<LineRun>,
    /// Lines of the current text.
    n_lines: u32,
    /// The recorded lines, to know again what was changed and changed back; none where the recorded text is in doubt.
    recorded: Vec<u64>,
}

/// Where a recorded line is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carried {
    /// 1-based line in the current text.
    pub line: u32,
    /// Whether the line was changed since, so that its numbers are stale.
    pub is_edited: bool,
}

impl LineMap {
    /// The map of a text that was not changed since it was recorded.
    #[must_use]
    pub fn identity(recorded: &str) -> Self {
        let recorded: Vec<u64> = lines(recorded).into_iter().map(hash).collect();
        let n_lines = recorded.len() as u32;
        let mut runs = Vec::new();
        push(&mut runs, LineRun { old: 1, new: 1, len: n_lines, is_edited: false });
        Self { runs, n_lines, recorded }
    }

    /// The map from one text to another, by a histogram diff of their lines. Changed lines are paired as in
    /// [`Self::edit`]. Lines of which it is in doubt which ones they are, because lines like them were added or taken
    /// away in their function, are marked as edited.
    #[must_use]
    pub fn between(recorded: &str, current: &str) -> Self {
        let (old, new) = (TextLines::new(lines(recorded)), TextLines::new(lines(current)));
        let hunks = diff(&old.keys(), &new.keys());
        let runs = step(&old, &new, &hunks, 1);
        let runs = marked(&runs, &doubtful(&old, &new, &runs));
        let recorded = old.raw.into_iter().map(hash).collect();
        Self { runs, n_lines: new.raw.len() as u32, recorded }
    }

    /// The same where the current text is a part of a longer one: it begins on the 1-based line `first` of `n_lines` lines.
    #[must_use]
    pub fn inside(mut self, first: u32, n_lines: u32) -> Self {
        self.runs.iter_mut().for_each(|run| run.new += first - 1);
        self.n_lines = n_lines;
        self
    }

    /// The same with each line marked as edited, now and after further edits: where the recorded text is only believed to be
    /// the one that ran, a line that was not changed since may have been another one. An empty line of it leads nowhere: what
    /// ran on it was something else.
    #[must_use]
    pub fn doubted(self) -> Self {
        let blank = hash("");
        let is_blank = |line: u32| self.recorded.get(line as usize - 1) == Some(&blank);
        let mut runs = Vec::with_capacity(self.runs.len());
        for LineRun { old, new, len, .. } in self.runs {
            for row in (0..len).filter(|row| !is_blank(old + row)) {
                let line = LineRun { old: old + row, new: new + row, len: 1, is_edited: true };
                push(&mut runs, line);
            }
        }
        // Without the recorded lines, none is known again.
        Self { runs, recorded: Vec::new(), ..self }
    }

    /// Whether this is one that [`Self::doubted`] gave.
    #[must_use]
    pub fn is_doubted(&self) -> bool {
        self.recorded.is_empty()
    }

    /// Applies one change of an editor: the bytes `range` of `text`, the current text before the change, were replaced
    /// by `replacement`. `index` is the index of `text`. A range that does not fit the text is cut to it.
    ///
    /// A line that reads as before is not marked, whatever the range was: Enter at the end or the start of a line, or a
    /// whole file that is replaced by a formatted one, marks only what differs. Where lines changed and as many are
    /// there as before, they are taken for one another and marked; else each goes with the new line that has most of
    /// it, if any has half. What is changed back (undo) is as if it had never been changed.
    ///
    /// Takes time linear in the lines that `range` and `replacement` touch and in the places edited before.
    pub fn edit(&mut self, text: &str, index: &LineIndex, range: Range<usize>, replacement: &str) {
        let start = text.floor_char_boundary(range.start.min(text.len()));
        let end = text.floor_char_boundary(range.end.min(text.len())).max(start);
        // A `\n` put after a `\r` makes one line end of the two, so the line before is part of the change.
        let first = index.line(start - usize::from(text[..start].ends_with('\r')));
        let last = index.line(end);
        let (Some(head), Some(tail)) = (index.full_line_range(first), index.full_line_range(last))
        else {
            return;
        };
        let changed = [&text[head.start..start], replacement, &text[end..tail.end]].concat();
        let (mut old, mut new) = (lines(&text[head.start..tail.end]), lines(&changed));
        if last < index.n_lines() {
            // What follows the last line end is the next line of the text.
            old.pop();
            new.pop();
        }
        // Where whole lines are put in front of a line or taken away there, that line is the one that stays; else
        // it is the line on which the change begins.
        let is_before_last =
            end == tail.start && (start == head.start || replacement.ends_with(['\n', '\r']));
        let (old, new) = (TextLines::new(old), TextLines::new(new));
        let hunks = trimmed_diff(&old.keys(), &new.keys(), is_before_last);
        let n_lines = self.n_lines - old.raw.len() as u32 + new.raw.len() as u32;
        let after = LineRun {
            old: last + 1,
            new: first + new.raw.len() as u32,
            len: index.n_lines() - last,
            is_edited: false,
        };
        let mut change = Vec::new();
        push(&mut change, LineRun { old: 1, new: 1, len: first - 1, is_edited: false });
        step(&old, &new, &hunks, first).into_iter().for_each(|run| push(&mut change, run));
        push(&mut change, after);
        if 1 < hunks.len() {
            // Much was replaced at once, as formatters do, so that the editor does not say what became of what.
            let doubtful = doubtful_in(&old, &new, &hunks, first);
            change = marked(&change, &doubtful);
        }
        self.runs = compose(&self.runs, &change);
        self.n_lines = n_lines;
        let shift = new.raw.len() as u32;
        let changed: Vec<u64> = new.canonical.iter().map(|it| hash_of(it)).collect();
        let hash_before = |line| hash(index.line_range(line).map_or("", |range| &text[range]));
        self.restore(first..first + shift, |line| match line.checked_sub(first) {
            Some(row) if row < shift => changed[row as usize],
            // Behind the change, the lines moved.
            Some(row) => hash_before(row - shift + last + 1),
            None => hash_before(line),
        });
    }

    /// Where a recorded line is now; `None` if it was deleted or never was.
    #[must_use]
    pub fn current(&self, recorded_line: u32) -> Option<Carried> {
        let after = self.runs.partition_point(|run| run.old <= recorded_line);
        let run = self.runs[..after].last()?;
        let row = recorded_line - run.old;
        (row < run.len).then_some(Carried { line: run.new + row, is_edited: run.is_edited })
    }

    /// The recorded line that a line of the current text was; `None` if it is new or there is none.
    #[must_use]
    pub fn recorded(&self, current_line: u32) -> Option<u32> {
        let after = self.runs.partition_point(|run| run.new <= current_line);
        let run = self.runs[..after].last()?;
        let row = current_line - run.new;
        (row < run.len).then_some(run.old + row)
    }

    /// Whether statements were added, changed or taken away among some lines of the current text, whose lines `has_code`
    /// distinguishes from blank ones and comments.
    #[must_use]
    pub fn is_edited(&self, lines: RangeInclusive<u32>, has_code: impl Fn(u32) -> bool) -> bool {
        let blank = hash("");
        let mut before = None;
        for line in lines {
            let Some(recorded) = self.recorded(line) else {
                if has_code(line) {
                    return true;
                }
                continue;
            };
            let is_edited = self.current(recorded).is_none_or(|it| it.is_edited);
            let mut gone = before.map_or(recorded, |it| it + 1)..recorded;
            let is_code = |it: u32| self.recorded.get(it as usize - 1) != Some(&blank);
            if is_edited && has_code(line) || gone.any(is_code) {
                return true;
            }
            before = Some(recorded);
        }
        false
    }

    /// Lines of the current text, as [`LineIndex::n_lines`].
    #[must_use]
    pub fn n_lines(&self) -> u32 {
        self.n_lines
    }

    /// Finds recorded lines again that were changed or deleted: between two lines that were not, both texts have some
    /// lines of which some may be the same. Looks where the lines `changed` of the current text are, whose hashes
    /// `hash_at` gives.
    fn restore(&mut self, changed: Range<u32>, hash_at: impl Fn(u32) -> u64) {
        let blank = hash("");
        let n_recorded = self.recorded.len() as u32;
        let end = LineRun { old: n_recorded + 1, new: self.n_lines + 1, len: 0, is_edited: false };
        // Lines of the change that are not known to be recorded ones.
        let is_known = |line| {
            self.recorded(line).and_then(|it| self.current(it)).is_some_and(|it| !it.is_edited)
        };
        let written = changed.clone().filter(|&line| !is_known(line)).map(&hash_at);
        let written = counts(written);
        let before = std::mem::take(&mut self.runs);
        let (mut at_old, mut at_new) = (1, 1);
        let mut edited = Vec::new();
        for run in before.into_iter().chain([end]) {
            if run.is_edited {
                edited.push(run);
                continue;
            }
            let (old, new) = (at_old..run.old, at_new..run.new);
            let is_changed = new.start <= changed.end && changed.start <= new.end;
            if is_changed && !old.is_empty() && !new.is_empty() {
                let hashes: Vec<u64> = new.clone().map(&hash_at).collect();
                let recorded = &self.recorded[old.start as usize - 1..old.end as usize - 1];
                // Where more lines read so than did, it is in doubt which ones these are: others are copies.
                let beside = new.clone().filter(|line| !changed.contains(line)).map(&hash_at);
                let (ran, beside) = (counts(recorded.iter().copied()), counts(beside));
                let n =
                    |counts: &FxHashMap<u64, u32>, hash| counts.get(&hash).copied().unwrap_or(0);
                let is_doubtful = |hash: u64| {
                    hash != blank && n(&ran, hash) < n(&beside, hash) + n(&written, hash)
                };
                edited = with_found(edited, recorded, &hashes, (old.start, new.start), is_doubtful);
            }
            edited.drain(..).chain([run]).for_each(|run| push(&mut self.runs, run));
            (at_old, at_new) = (run.old + run.len, run.new_end());
        }
    }
}

/// How often each key is there.
fn counts(keys: impl Iterator<Item = u64>) -> FxHashMap<u64, u32> {
    let mut counts = FxHashMap::default();
    keys.for_each(|it| *counts.entry(it).or_default() += 1);
    counts
}

/// `edited` and the lines that are the same in `old` and `new`, which begin at the lines `first`. What the edits say
/// holds where it does not cross what is the same. Lines of `new` that are in doubt are marked as edited.
fn with_found(
    edited: Vec<LineRun>,
    old: &[u64],
    new: &[u64],
    first: (u32, u32),
    is_doubtful: impl Fn(u64) -> bool,
) -> Vec<LineRun> {
    let hunks = diff(old, new);
    let found = unchanged(&hunks, old.len() as u32).filter(|run| run.len > 0);
    let found = found.flat_map(|run| (0..run.len).map(move |row| run.line(row)));
    let mut runs: Vec<LineRun> = Vec::new();
    for run in found {
        let at = first.1 + run.new;
        let is_edited = is_doubtful(new[run.new as usize]);
        push(&mut runs, LineRun { old: first.0 + run.old, new: at, len: 1, is_edited });
    }
    if runs.is_empty() {
        return edited;
    }
    let lines = edited.iter().flat_map(|run| (0..run.len).map(|row| run.line(row)));
    let lines: Vec<LineRun> = lines.filter(|it| !crosses_any(&runs, it)).collect();
    runs.extend(lines);
    runs.sort_unstable_by_key(|run| run.new);
    runs
}

/// Lines `old..old + len` of one text that are the lines `new..new + len` of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LineRun {
    old: u32,
    new: u32,
    len: u32,
    is_edited: bool,
}

impl LineRun {
    fn new_end(&self) -> u32 {
        self.new + self.len
    }

    /// One line of the run.
    fn line(&self, row: u32) -> Self {
        Self { old: self.old + row, new: self.new + row, len: 1, is_edited: self.is_edited }
    }

    fn old_end(&self) -> u32 {
        self.old + self.len
    }
}

/// Whether `run` cannot hold together with one of `runs`, which are in order in both texts. Takes time logarithmic in their number: a text
/// of which every second line was changed has as many runs as edited lines.
fn crosses_any(runs: &[LineRun], run: &LineRun) -> bool {
    let before = runs.partition_point(|it| it.old_end() <= run.old);
    let before = before.min(runs.partition_point(|it| it.new_end() <= run.new));
    let after = runs.partition_point(|it| it.old < run.old_end());
    let after = after.max(runs.partition_point(|it| it.new < run.new_end()));
    before < after
}

/// Adds a run at the end, joined with the last one where the two are neighbours on both sides.
fn push(runs: &mut Vec<LineRun>, run: LineRun) {
    if run.len == 0 {
        return;
    }
    match runs.last_mut() {
        Some(last)
            if last.is_edited == run.is_edited
                && last.old + last.len == run.old
                && last.new_end() == run.new =>
        {
            last.len += run.len;
        }
        _ => runs.push(run),
    }
}

/// From the first text to the third, by way of the second.
fn compose(first: &[LineRun], second: &[LineRun]) -> Vec<LineRun> {
    let mut runs = Vec::with_capacity(first.len() + 2);
    let mut rest = second.iter().peekable();
    for one in first {
        while let Some(two) = rest.peek() {
            let (start, end) = (one.new.max(two.old), one.new_end().min(two.old + two.len));
            if start < end {
                let (old, new) = (one.old + (start - one.new), two.new + (start - two.old));
                push(
                    &mut runs,
                    LineRun {
                        old,
                        new,
                        len: end - start,
                        is_edited: one.is_edited || two.is_edited,
                    },
                );
            }
            if two.old + two.len > one.new_end() {
                break;
            }
            rest.next();
        }
    }
    runs
}

/// The lines of a text, and what of them matters.
struct TextLines<'a> {
    raw: Vec<&'a str>,
    canonical: Vec<String>,
}

impl<'a> TextLines<'a> {
    fn new(raw: Vec<&'a str>) -> Self {
        let canonical = raw.iter().map(|it| canonical(it)).collect();
        Self { raw, canonical }
    }

    /// The function or class that each line is in, with those around it, by indentation alone; a `def` and what stands
    /// between functions is in what is around.
    fn functions(&self) -> Vec<String> {
        let mut open: Vec<(usize, String)> = Vec::new();
        let mut functions = Vec::with_capacity(self.raw.len());
        for line in &self.canonical {
            let code = line.trim_start();
            let depth = line.len() - code.len();
            if !code.is_empty() {
                // Lines of a statement that is broken may stand further left than it; brackets that close do mostly.
                let closes = code.starts_with([')', ']', '}']);
                while open.last().is_some_and(|it| depth <= it.0 && !closes) {
                    open.pop();
                }
            }
            functions.push(open.last().map_or(String::new(), |it| it.1.clone()));
            let code = code.strip_prefix("async ").unwrap_or(code);
            let head = code.strip_prefix("def ").or_else(|| code.strip_prefix("class "));
            if let Some(name) = head.and_then(|it| it.split(' ').next()) {
                let path = format!("{}.{name}", functions.last().map_or("", String::as_str));
                open.push((depth, path));
            }
        }
        functions
    }

    fn keys(&self) -> Vec<&str> {
        self.canonical.iter().map(String::as_str).collect()
    }
}

/// The runs from the lines `old` to the lines `new`, both of which begin at line `first`.
fn step(old: &TextLines<'_>, new: &TextLines<'_>, hunks: &[Hunk], first: u32) -> Vec<LineRun> {
    let changed = hunks.iter().flat_map(|hunk| changed(&old.raw, &new.raw, hunk));
    let mut parts: Vec<LineRun> = unchanged(hunks, old.raw.len() as u32).chain(changed).collect();
    parts.sort_unstable_by_key(|run| (run.new, run.len));
    let mut runs = Vec::new();
    parts.into_iter().for_each(|run| {
        push(&mut runs, LineRun { old: first + run.old, new: first + run.new, ..run })
    });
    runs
}

/// What became of the lines of a hunk: first of its statements, which may be broken into other lines now, then of the lines
/// between those that are still there.
fn changed(old: &[&str], new: &[&str], hunk: &Hunk) -> Vec<LineRun> {
    let mut runs = Vec::new();
    let mut at = (hunk.before.start, hunk.after.start);
    for (rows, mut lines) in statements(old, new, hunk) {
        let between = Hunk { before: at.0..rows.before.start, after: at.1..rows.after.start };
        runs.extend(edited_pairs(old, new, &between));
        runs.append(&mut lines);
        at = (rows.before.end, rows.after.end);
    }
    let rest = Hunk { before: at.0..hunk.before.end, after: at.1..hunk.after.end };
    runs.extend(edited_pairs(old, new, &rest));
    runs
}

fn edited_pairs(old: &[&str], new: &[&str], hunk: &Hunk) -> impl Iterator<Item = LineRun> + use<> {
    let pairs = pairs(old, new, hunk).into_iter();
    pairs.map(|(old, new)| LineRun { old, new, len: 1, is_edited: true })
}

/// The statements of a hunk that have the same tokens in both texts: their rows, and where their lines went. Where lines
/// were joined, the first of them stays and is marked, because it has what the others had.
fn statements(old: &[&str], new: &[&str], hunk: &Hunk) -> Vec<(Hunk, Vec<LineRun>)> {
    let part = |lines: &[&str], rows: &Range<u32>| {
        rows.start as usize..(rows.end as usize).min(lines.len())
    };
    let before = logical_lines(&old[part(old, &hunk.before)]);
    let after = logical_lines(&new[part(new, &hunk.after)]);
    let keys = |it: &[LogicalLine<'_>]| it.iter().map(|it| hash_of(&it.key)).collect::<Vec<_>>();
    let (old_keys, new_keys) = (keys(&before), keys(&after));
    let (n_old, n_new) = (counts(old_keys.iter().copied()), counts(new_keys.iter().copied()));
    let is_one = |key: u64| n_old.get(&key) == Some(&1) && n_new.get(&key) == Some(&1);
    let hunks = diff(&old_keys, &new_keys);
    let same = unchanged(&hunks, before.len() as u32);
    let same = same.flat_map(|run| (0..run.len).map(move |it| (run.old + it, run.new + it)));
    let mut found = Vec::new();
    for (old_row, new_row) in same {
        let (one, two) = (&before[old_row as usize], &after[new_row as usize]);
        let key = old_keys[old_row as usize];
        // A line that stands elsewhere in the structure is the same only if no other one can be.
        let is_certain = one.indentation == two.indentation || is_one(key);
        let mut lines: Vec<LineRun> = Vec::new();
        let mut last_row = None;
        for (&from, &to) in one.at.iter().zip(&two.at) {
            if last_row.replace(from) == Some(from) {
                continue;
            }
            let (from, to) = (hunk.before.start + from as u32, hunk.after.start + to as u32);
            match lines.last_mut() {
                Some(last) if last.new == to => last.is_edited = true,
                _ => lines.push(LineRun { old: from, new: to, len: 1, is_edited: !is_certain }),
            }
        }
        let rows =
            |start: u32, rows: &Range<usize>| start + rows.start as u32..start + rows.end as u32;
        let (before, after) =
            (rows(hunk.before.start, &one.rows), rows(hunk.after.start, &two.rows));
        found.push((Hunk { before, after }, lines));
    }
    found
}

/// The lines (counted from `first`) of a replaced part that are in it more, or less, often than before.
fn doubtful_in(old: &TextLines<'_>, new: &TextLines<'_>, hunks: &[Hunk], first: u32) -> Vec<u32> {
    let mut counts: FxHashMap<&str, i64> = FxHashMap::default();
    let changed = |lines: &TextLines<'_>, rows: &Range<u32>| {
        rows.start as usize..(rows.end as usize).min(lines.raw.len())
    };
    for hunk in hunks {
        old.canonical[changed(old, &hunk.before)]
            .iter()
            .for_each(|it| *counts.entry(it.trim_start()).or_default() -= 1);
        new.canonical[changed(new, &hunk.after)]
            .iter()
            .for_each(|it| *counts.entry(it.trim_start()).or_default() += 1);
    }
    let lines = (first..).zip(&old.canonical);
    let is_doubtful = |it: &str| !it.is_empty() && counts.get(it).is_some_and(|n| *n != 0);
    lines.filter(|(_, it)| is_doubtful(it.trim_start())).map(|(line, _)| line).collect()
}

/// The old lines (from 1) of which it is in doubt which new line they are: in their function there are more, or fewer, lines
/// like them than before; or the line that they went to is in another function, though theirs is still there, or though
/// other lines are like them.
fn doubtful(old: &TextLines<'_>, new: &TextLines<'_>, runs: &[LineRun]) -> Vec<u32> {
    let (before, after) = (old.functions(), new.functions());
    let mut counts: FxHashMap<(&str, &str), [u32; 2]> = FxHashMap::default();
    let mut everywhere: FxHashMap<&str, [u32; 2]> = FxHashMap::default();
    for (side, lines, functions) in [(0, old, &before), (1, new, &after)] {
        for (line, function) in lines.canonical.iter().zip(functions) {
            let key = line.trim_start();
            counts.entry((function, key)).or_default()[side] += 1;
            everywhere.entry(key).or_default()[side] += 1;
        }
    }
    let still: FxHashSet<&str> = after.iter().map(String::as_str).collect();
    let is_doubtful = |line: &LineRun| {
        let (from, to) = (line.old as usize - 1, line.new as usize - 1);
        let key = old.canonical[from].trim_start();
        if key.is_empty() || line.is_edited {
            return false;
        }
        let now = new.canonical[to].trim_start();
        if key != now {
            // A statement that was broken into other lines has no line like it. Where more statements of the function begin
            // like it now, it may be any of them.
            let alike = counts.get(&(&*after[to], now)).copied().unwrap_or_default();
            return before[from] != after[to] || alike[0] + 1 < alike[1];
        }
        if before[from] == after[to] {
            return counts
                .get(&(&*before[from], key))
                .is_some_and(|[before, after]| before != after);
        }
        still.contains(&*before[from]) || everywhere.get(key) != Some(&[1, 1])
    };
    let lines = runs.iter().flat_map(|run| (0..run.len).map(|row| run.line(row)));
    lines.filter(is_doubtful).map(|line| line.old).collect()
}

/// The runs, with some old lines (ascending) marked as edited.
fn marked(runs: &[LineRun], lines: &[u32]) -> Vec<LineRun> {
    let mut marked = Vec::with_capacity(runs.len() + lines.len());
    for line in runs.iter().flat_map(|run| (0..run.len).map(|row| run.line(row))) {
        let is_edited = line.is_edited || lines.binary_search(&line.old).is_ok();
        push(&mut marked, LineRun { is_edited, ..line });
    }
    marked
}

/// What lies between the hunks; 0-based, some of it empty.
fn unchanged(hunks: &[Hunk], n_old: u32) -> impl Iterator<Item = LineRun> {
    let starts =
        std::iter::once((0, 0)).chain(hunks.iter().map(|hunk| (hunk.before.end, hunk.after.end)));
    let ends = hunks.iter().map(|hunk| hunk.before.start).chain([n_old]);
    starts.zip(ends).map(|((old, new), end)| LineRun { old, new, len: end - old, is_edited: false })
}

/// Lines of both texts up to which they are compared as a whole.
const MAX_COMPARED_WHOLE: usize = 16_384;

/// Lines of each text that are compared at once in longer ones.
const WINDOW: usize = 4096;

/// What differs between two sequences of lines.
pub(crate) fn diff<T: Copy + Eq + Hash>(old: &[T], new: &[T]) -> Vec<Hunk> {
    if old.len() + new.len() <= MAX_COMPARED_WHOLE {
        // Finds the parts that people see, in time quadratic in the number of places that differ.
        diff_by(Algorithm::Histogram, old, new)
    } else {
        long_diff(old, new, WINDOW)
    }
}

fn diff_by<T: Copy + Eq + Hash>(algorithm: Algorithm, old: &[T], new: &[T]) -> Vec<Hunk> {
    let input = InternedInput::new(Tokens(old), Tokens(new));
    let mut diff = Diff::compute(algorithm, &input);
    diff.postprocess_no_heuristic(&input);
    diff.hunks().collect()
}

/// [`diff`] in time proportional to the lengths, but for a logarithm: lines that are there once in both sequences hold these together
/// (patience diff); what lies between two such lines is compared in windows, of at most `window` lines of each sequence: where few
/// lines are distinct, the Myers diff of `imara-diff` takes time quadratic in them.
fn long_diff<T: Copy + Eq + Hash>(old: &[T], new: &[T], window: usize) -> Vec<Hunk> {
    let mut same = Vec::new();
    let mut at = (0, 0);
    let end = (old.len(), new.len());
    for (old_row, new_row) in anchors(old, new).into_iter().chain([end]) {
        // A line that holds the sequences together is the first one of the next part.
        push_same(&mut same, &old[at.0..old_row], &new[at.1..new_row], at, window);
        at = (old_row, new_row);
    }
    let starts = std::iter::once((0, 0)).chain(same.iter().map(|it| (it.old_end(), it.new_end())));
    let ends = same.iter().map(|it| (it.old, it.new)).chain([(end.0 as u32, end.1 as u32)]);
    let hunks =
        starts.zip(ends).map(|(start, end)| Hunk { before: start.0..end.0, after: start.1..end.1 });
    hunks.filter(|it| !it.before.is_empty() || !it.after.is_empty()).collect()
}

/// The rows of most lines that are there once in each of two sequences and stand in the same order in both.
fn anchors<T: Copy + Eq + Hash>(old: &[T], new: &[T]) -> Vec<(usize, usize)> {
    let (of_old, of_new) = (rows_of_single(old), rows_of_single(new));
    let rows =
        new.iter().filter_map(|it| Some((of_old.get(it)?.as_ref()?, of_new.get(it)?.as_ref()?)));
    let both: Vec<(usize, usize)> = rows.map(|(old, new)| (*old, *new)).collect();
    // The longest subsequence that ascends in `old`, too: for each length, where the one ends that ends first there.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(both.len());
    for (index, (row, _)) in both.iter().enumerate() {
        let length = ends.partition_point(|&end| both[end].0 < *row);
        before.push(length.checked_sub(1).map(|it| ends[it]));
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let backwards = std::iter::successors(ends.last().copied(), |&it| before[it]);
    let mut anchors: Vec<_> = backwards.map(|it| both[it]).collect();
    anchors.reverse();
    anchors
}

/// The row of each line; `None` where several are alike.
fn rows_of_single<T: Copy + Eq + Hash>(lines: &[T]) -> FxHashMap<T, Option<usize>> {
    let mut rows = FxHashMap::default();
    for (row, line) in lines.iter().enumerate() {
        rows.entry(*line).and_modify(|it| *it = None).or_insert(Some(row));
    }
    rows
}

/// Adds the lines that are the same in two parts, which begin at the rows `at`. What is found in the last quarter of a window is looked
/// for again with what follows it.
fn push_same<T: Copy + Eq + Hash>(
    same: &mut Vec<LineRun>,
    mut old: &[T],
    mut new: &[T],
    mut at: (usize, usize),
    window: usize,
) {
    let mut push_run = |at: (usize, usize), len: usize| {
        let (old, new) = (at.0 as u32, at.1 as u32);
        push(same, LineRun { old, new, len: len as u32, is_edited: false });
    };
    let prefix = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    push_run(at, prefix);
    at = (at.0 + prefix, at.1 + prefix);
    (old, new) = (&old[prefix..], &new[prefix..]);
    let back = old.iter().rev().zip(new.iter().rev());
    let suffix = back.take_while(|(old, new)| old == new).count();
    (old, new) = (&old[..old.len() - suffix], &new[..new.len() - suffix]);
    let end = (at.0 + old.len(), at.1 + new.len());
    while !old.is_empty() && !new.is_empty() && old.len().max(new.len()) > 1 {
        let is_last = old.len().max(new.len()) <= window;
        let limit = if is_last { window } else { window - window / 4 };
        let (of_old, of_new) = (&old[..old.len().min(window)], &new[..new.len().min(window)]);
        let hunks = diff_by(Algorithm::Myers, of_old, of_new);
        let found = unchanged(&hunks, of_old.len() as u32);
        let found = found.map(|it| (it.old as usize, it.new as usize, it.len as usize));
        let mut done = (0, 0);
        for (old_row, new_row, len) in found.chain([(of_old.len(), of_new.len(), 0)]) {
            let start = (old_row.min(limit), new_row.min(limit));
            let len = len.min(limit - start.0.max(start.1));
            push_run((at.0 + start.0, at.1 + start.1), len);
            done = (start.0 + len, start.1 + len);
            if done.0.max(done.1) == limit {
                break;
            }
        }
        at = (at.0 + done.0, at.1 + done.1);
        (old, new) = (&old[done.0..], &new[done.1..]);
    }
    push_run(end, suffix);
}

/// [`diff`], after equal lines at both ends were set aside; `suffix_first` shows which end may take a line that is at
/// both.
fn trimmed_diff(old: &[&str], new: &[&str], suffix_first: bool) -> Vec<Hunk> {
    let count = |old: &[&str], new: &[&str]| {
        old.iter().zip(new).take_while(|(old, new)| old == new).count()
    };
    let count_back = |old: &[&str], new: &[&str]| {
        old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count()
    };
    let (prefix, suffix) = if suffix_first {
        let suffix = count_back(old, new);
        (count(&old[..old.len() - suffix], &new[..new.len() - suffix]), suffix)
    } else {
        let prefix = count(old, new);
        (prefix, count_back(&old[prefix..], &new[prefix..]))
    };
    let shift = prefix as u32;
    let (old, new) = (&old[prefix..old.len() - suffix], &new[prefix..new.len() - suffix]);
    let moved = |range: Range<u32>| range.start + shift..range.end + shift;
    if old.is_empty() && new.is_empty() {
        Vec::new()
    } else if old.len() <= 1 || new.len() <= 1 {
        vec![Hunk { before: moved(0..old.len() as u32), after: moved(0..new.len() as u32) }]
    } else {
        let hunks = diff(old, new).into_iter();
        hunks.map(|hunk| Hunk { before: moved(hunk.before), after: moved(hunk.after) }).collect()
    }
}

/// Most pairs of lines that are compared to find out what became of the lines of one hunk.
const MAX_COMPARED: usize = 4096;

/// Which old line of a hunk became which new one.
fn pairs(old: &[&str], new: &[&str], hunk: &Hunk) -> Vec<(u32, u32)> {
    if hunk.before.len() == hunk.after.len() {
        return hunk.before.clone().zip(hunk.after.clone()).collect();
    }
    if hunk.before.len() * hunk.after.len() > MAX_COMPARED {
        return Vec::new();
    }
    let old = &old[hunk.before.start as usize..hunk.before.end as usize];
    let new = &new[hunk.after.start as usize..hunk.after.end as usize];
    // The pairing in order that keeps most text: `best[row][column]` for the lines from `row` and `column` on.
    let width = new.len() + 1;
    let mut best = vec![0; (old.len() + 1) * width];
    let kept: Vec<usize> =
        old.iter().flat_map(|old| new.iter().map(|new| kept(old, new))).collect();
    for row in (0..old.len()).rev() {
        for column in (0..new.len()).rev() {
            let at = row * width + column;
            let paired = match kept[row * new.len() + column] {
                0 => 0,
                kept => kept + best[at + width + 1],
            };
            best[at] = paired.max(best[at + 1]).max(best[at + width]);
        }
    }
    let mut pairs = Vec::new();
    let (mut row, mut column) = (0, 0);
    while row < old.len() && column < new.len() {
        let at = row * width + column;
        let kept = kept[row * new.len() + column];
        if kept > 0 && best[at] == kept + best[at + width + 1] {
            pairs.push((hunk.before.start + row as u32, hunk.after.start + column as u32));
            (row, column) = (row + 1, column + 1);
        } else if best[at] == best[at + width] {
            row += 1;
        } else {
            column += 1;
        }
    }
    pairs
}

/// Bytes that two lines share at their beginnings and ends, indentation aside; 0 if that is less than half of them.
fn kept(old: &str, new: &str) -> usize {
    let (old, new) = (old.trim().as_bytes(), new.trim().as_bytes());
    let prefix = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let rest = old[prefix..].iter().rev().zip(new[prefix..].iter().rev());
    let kept = prefix + rest.take_while(|(old, new)| old == new).count();
    if 4 * kept >= old.len() + new.len() { kept } else { 0 }
}

/// The lines of a text without their line ends.
fn lines(text: &str) -> Vec<&str> {
    let index = LineIndex::new(text);
    (1..=index.n_lines()).filter_map(|line| text.get(index.line_range(line)?)).collect()
}

/// Of what of a line matters.
fn hash(line: &str) -> u64 {
    hash_of(&canonical(line))
}

fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// A sequence as the diff wants it.
struct Tokens<'a, T>(&'a [T]);

impl<'a, T: Copy + Eq + Hash> TokenSource for Tokens<'a, T> {
    type Token = T;
    type Tokenizer = Copied<slice::Iter<'a, T>>;

    fn tokenize(&self) -> Self::Tokenizer {
        self.0.iter().copied()
    }

    fn estimate_tokens(&self) -> u32 {
        self.0.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The current text with the recorded line before each line, `~` where it was edited, `-` where it is new.
    fn dump(map: &LineMap, text: &str) -> String {
        let lines = (1..).zip(lines(text)).map(|(line, text)| match map.recorded(line) {
            None => format!("- {text}"),
            Some(recorded) => {
                let carried = map.current(recorded).unwrap();
                assert_eq!(carried.line, line);
                format!("{recorded}{} {text}", if carried.is_edited { "~" } else { "" })
            }
        });
        lines.collect::<Vec<_>>().join("|").trim_end().to_owned()
    }

    /// Whether both cannot hold.
    fn crosses(run: &LineRun, other: &LineRun) -> bool {
        let is_before = run.old_end() <= other.old && run.new_end() <= other.new;
        let is_after = other.old_end() <= run.old && other.new_end() <= run.new;
        !is_before && !is_after
    }

    /// Whether both texts are the same outside of the hunks, which have gaps between them.
    fn check_hunks(old: &[u8], new: &[u8], hunks: &[Hunk]) -> Result<(), TestCaseError> {
        let mut at = (0, 0);
        let end = Hunk {
            before: old.len() as u32..old.len() as u32,
            after: new.len() as u32..new.len() as u32,
        };
        for (index, hunk) in hunks.iter().chain([&end]).enumerate() {
            let same = at.0 as usize..hunk.before.start as usize;
            prop_assert_eq!(&old[same], &new[at.1 as usize..hunk.after.start as usize]);
            if index < hunks.len() {
                prop_assert!(index == 0 || at.0 < hunk.before.start, "neighbours are one");
                prop_assert!(!hunk.before.is_empty() || !hunk.after.is_empty());
            }
            at = (hunk.before.end, hunk.after.end);
        }
        Ok(())
    }

    /// Lines that are the same.
    fn n_same(old: &[u8], hunks: &[Hunk]) -> usize {
        old.len() - hunks.iter().map(|it| it.before.len()).sum::<usize>()
    }

    proptest! {
        #[test]
        fn what_long_diffs_leave_is_the_same(
            old in prop::collection::vec(0_u8..30, 0..80),
            new in prop::collection::vec(0_u8..30, 0..80),
            window in 4_usize..40,
        ) {
            check_hunks(&old, &new, &long_diff(&old, &new, window))?;
        }

        #[test]
        fn long_diffs_find_all_lines_but_those_taken_away_and_added(
            kept in prop::collection::btree_map(0_u8..200, prop::sample::select(vec!["both", "old", "new"]), 0..100),
            window in 4_usize..40,
        ) {
            // Lines of which each is there once.
            let side = |side| kept.iter().filter(|it| *it.1 == "both" || *it.1 == side).map(|it| *it.0).collect::<Vec<_>>();
            let (old, new) = (side("old"), side("new"));
            let hunks = long_diff(&old, &new, window);
            check_hunks(&old, &new, &hunks)?;
            prop_assert_eq!(n_same(&old, &hunks), kept.values().filter(|it| **it == "both").count());
        }

        #[test]
        fn a_run_crosses_one_of_many_where_it_crosses_any(
            gaps in prop::collection::vec((0_u32..3, 0_u32..3, 1_u32..4), 0..8),
            old in 0_u32..20,
            new in 0_u32..20,
            len in 1_u32..4,
        ) {
            let (mut at_old, mut at_new) = (0, 0);
            let mut runs = Vec::new();
            for (gap_old, gap_new, len) in gaps {
                let run = LineRun { old: at_old + gap_old, new: at_new + gap_new, len, is_edited: false };
                (at_old, at_new) = (run.old_end(), run.new_end());
                runs.push(run);
            }
            let run = LineRun { old, new, len, is_edited: true };
            prop_assert_eq!(crosses_any(&runs, &run), runs.iter().any(|it| crosses(it, &run)));
        }
    }

    #[test]
    fn what_is_in_doubt_stays_so_through_edits() {
        let text = "a()\nb()\n";
        let mut map = LineMap::between(text, text).doubted();
        assert!(map.is_doubted() && !LineMap::identity("").is_doubted());
        assert_eq!(dump(&map, text), "1~ a()|2~ b()|-");
        map.edit(text, &LineIndex::new(text), 0..0, "new()\n");
        let edited = "new()\na()\nb()\n";
        assert_eq!(dump(&map, edited), "- new()|1~ a()|2~ b()|-");
        map.edit(edited, &LineIndex::new(edited), 0..edited.len(), text);
        assert_eq!(dump(&map, text), "1~ a()|2~ b()|-");
        assert!(map.is_doubted());
    }

    #[test]
    fn long_diffs_find_most_lines_where_none_is_there_once() {
        let old: Vec<u8> = (0..200).map(|it| (it / 2 % 5) as u8).collect();
        for every in [2, 10, 50] {
            let mut replaced = old.clone();
            replaced.iter_mut().step_by(every).for_each(|it| *it = 100);
            let hunks = long_diff(&old, &replaced, 32);
            check_hunks(&old, &replaced, &hunks).unwrap();
            assert_eq!(n_same(&old, &hunks), 200 - 200 / every, "{every}");
        }
        // More is put in front than a window holds.
        let longer = [&[100; 50][..], &old].concat();
        assert_eq!(n_same(&old, &long_diff(&old, &longer, 32)), 200);
        assert_eq!(n_same(&longer, &long_diff(&longer, &old, 32)), 200);
    }

    #[test]
    fn a_long_text_of_which_every_second_line_is_changed_back_is_carried() {
        let text = |change: &dyn Fn(u32) -> bool, mark: &str| -> String {
            let mark = |it| if change(it) { mark } else { "" };
            (0..50_000).map(|it| format!("value_{it}{} = {it}\n", mark(it))).collect()
        };
        let recorded = text(&|_| false, "");
        let mut buffer = Buffer::new(&recorded);
        for now in
            [text(&|it| it % 2 == 0, "_a"), text(&|_| true, "_b"), text(&|it| it % 2 == 0, "_c")]
        {
            buffer.replace(0..buffer.text.len(), &now);
        }
        for line in 1..=50_000 {
            let is_edited = line % 2 == 1;
            assert_eq!(buffer.map.current(line), Some(Carried { line, is_edited }));
        }
    }

    /// A text and its map, edited as an editor does.
    struct Buffer {
        text: String,
        map: LineMap,
    }

    impl Buffer {
        fn new(recorded: &str) -> Self {
            Self { text: recorded.to_owned(), map: LineMap::identity(recorded) }
        }

        fn replace(&mut self, range: Range<usize>, replacement: &str) {
            self.map.edit(&self.text, &LineIndex::new(&self.text), range.clone(), replacement);
            self.text.replace_range(range, replacement);
        }

        /// Replaces the first `old` in the text.
        #[track_caller]
        fn change(mut self, old: &str, new: &str) -> Self {
            let start = self.text.find(old).expect("the text to replace");
            self.replace(start..start + old.len(), new);
            self
        }

        /// Inserts at the `^` of `place`, the first such place in the text.
        #[track_caller]
        fn insert(mut self, place: &str, new: &str) -> Self {
            let (head, tail) = place.split_once('^').expect("a cursor");
            let start = self.text.find(&(head.to_owned() + tail)).expect("the place") + head.len();
            self.replace(start..start, new);
            self
        }

        #[track_caller]
        fn check(self, expected: &str) -> Self {
            assert_eq!(dump(&self.map, &self.text), expected);
            assert_eq!(self.map.n_lines(), LineIndex::new(&self.text).n_lines());
            self
        }
    }

    const TEXT: &str = "def f(x):\n    y = g(x)\n    return y\n";
    const SAME: &str = "1 def f(x):|2     y = g(x)|3     return y|4";

    fn buffer() -> Buffer {
        Buffer::new(TEXT)
    }

    #[test]
    fn enter() {
        buffer()
            .insert("g(x)^\n", "\n    ")
            .check("1 def f(x):|2     y = g(x)|-     |3     return y|4");
        buffer().insert("^    y =", "\n").check("1 def f(x):|- |2     y = g(x)|3     return y|4");
        // Inside a line: the part with most of it keeps the number, of equal ones the first.
        buffer().insert("y = g(^x)", "\n").check("1 def f(x):|2     y = g(|- x)|3     return y|4");
        buffer()
            .insert("y = ^g(x)", "(\n")
            .check("1 def f(x):|2~     y = (|- g(x)|3     return y|4");
        Buffer::new("a\r\nb\r\n").insert("a^\r", "\r\n").check("1 a|- |2 b|3");
    }

    #[test]
    fn typing() {
        buffer().insert("g(x^)", ", 1").check("1 def f(x):|2~     y = g(x, 1)|3     return y|4");
        buffer().change("    y = g(x)", "z").check("1 def f(x):|2~ z|3     return y|4");
        buffer()
            .change("return y\n", "return y")
            .check("1 def f(x):|2     y = g(x)|3     return y");
        buffer()
            .insert("return y\n^", "f(1)")
            .check("1 def f(x):|2     y = g(x)|3     return y|4~ f(1)");
    }

    #[test]
    fn whole_lines() {
        let pasted = "- import a|- import b|1 def f(x):|2     y = g(x)|3     return y|4";
        buffer().insert("^def f", "import a\nimport b\n").check(pasted);
        buffer().change("    y = g(x)\n", "").check("1 def f(x):|3     return y|4");
        buffer().change("\n    y = g(x)", "").check("1 def f(x):|3     return y|4");
        buffer()
            .change(")\n    return", "); return")
            .check("1 def f(x):|2~     y = g(x); return y|4");
        Buffer::new("a()\na()\n").insert("^a()", "a()\nb()\n").check("- a()|- b()|1 a()|2 a()|3");
        Buffer::new("a()\n").insert("a()^", "\na()").check("1 a()|- a()|2");
        Buffer::new("a\nb\na\nc").change("a\nb\n", "").check("3 a|4 c");
    }

    #[test]
    fn changed_blocks() {
        // As many lines as before: each is taken for the one in its place.
        Buffer::new("one\ntwo\nthree\n")
            .change("one\ntwo", "eins\nzwei")
            .check("1~ eins|2~ zwei|3 three|4");
        // Else by what the lines share.
        let loads =
            Buffer::new("x = load(a)\ny = x\n").change("x = load(a)", "import io\nx = io.load(a)");
        loads.check("- import io|1~ x = io.load(a)|2 y = x|3");
        Buffer::new("a()\nb()\nc()\n")
            .change("a()\nb()", "entirely(different)")
            .check("- entirely(different)|3 c()|4");
        // A formatter that replaces the whole file.
        let formatted = buffer().change(TEXT, "def f(x):\n\n    y = g( x )\n    return y\n");
        formatted.check("1 def f(x):|- |2     y = g( x )|3     return y|4");
    }

    #[test]
    fn undo() {
        buffer().insert("g(x^)", ", 1").change(", 1", "").check(SAME);
        buffer().change("    y = g(x)\n", "").insert("^    return", "    y = g(x)\n").check(SAME);
        buffer().change(TEXT, "").insert("^", TEXT).check(SAME);
        buffer().insert("g(^x", "\n").change("(\n", "(").check(SAME);
        // A line that comes back elsewhere is new: it would cross others.
        Buffer::new("a()\nb()\nc()\n")
            .change("a()\n", "")
            .insert("c()^", "\na()")
            .check("2 b()|3 c()|- a()|4");
    }

    #[test]
    fn line_ends() {
        let joined = Buffer::new("a\rb\rc").insert("^b", "\n").check("1 a|2 b|3 c");
        joined.change("\n", "").check("1 a|2 b|3 c").change("\r", "").check("1~ ab|3 c");
        assert_eq!(dump(&LineMap::between("a\r\nb\r\n", "a\nb\n"), "a\nb\n"), "1 a|2 b|3");
    }

    #[test]
    fn between_texts() {
        let dump = |old: &str, new: &str| dump(&LineMap::between(old, new), new);
        assert_eq!(dump("", ""), "1");
        assert_eq!(dump("a\nb\nc", "a\nX\nb\nc"), "1 a|- X|2 b|3 c");
        assert_eq!(dump("a\nf(1)\nc\nd", "a\nf(2)\nd"), "1 a|2~ f(2)|4 d");
        let (f, g) = ("def f():\n    a()\n    b()\n\n", "def g():\n    c()\n\n");
        let moved = "- def g():|-     c()|- |1 def f():|2     a()|3     b()|4 |8";
        assert_eq!(dump(&[f, g].concat(), &[g, f].concat()), moved);
    }

    #[test]
    fn what_means_nothing_marks_nothing() {
        let dump = |old: &str, new: &str| dump(&LineMap::between(old, new), new);
        let commented = "y = g(x)  # perfline: ignore[sync]\n# why\nz\n";
        assert_eq!(
            dump("y = g(x)\nz\n", commented),
            "1 y = g(x)  # perfline: ignore[sync]|- # why|2 z|3"
        );
        let broken =
            dump("a()\nx = f(y.a(), y.b())\nc()", "a()\nx = f(\n    y.a(),\n    y.b(),\n)\nc()");
        assert_eq!(broken, "1 a()|2 x = f(|-     y.a(),|-     y.b(),|- )|3 c()");
        // What several lines had is on one now.
        let joined = dump("a()\nx = f(\n    y.a(),\n)\nc()", "a()\nx = f(y.a())\nc()");
        assert_eq!(joined, "1 a()|2~ x = f(y.a())|5 c()");
        let indented = dump("a()\nb()\nc()\n", "a()\nif x:\n    b()\nc()\n");
        assert_eq!(indented, "1 a()|- if x:|2     b()|3 c()|4");
        // One of several statements of a reformatted part was changed, too.
        let mixed = dump("f(a,\n  b)\ng(1)\nh(a,\n  b)\n", "f(a, b)\ng(2)\nh(a, b)\n");
        assert_eq!(mixed, "1~ f(a, b)|3~ g(2)|4~ h(a, b)|6");
    }

    #[test]
    fn lines_that_were_added_among_lines_like_them_are_in_doubt() {
        let dump = |old: &str, new: &str| dump(&LineMap::between(old, new), new);
        assert_eq!(
            dump("a\nx = f(x)\nb", "a\nx = f(x)\nx = f(x)\nb"),
            "1 a|2~ x = f(x)|- x = f(x)|3 b"
        );
        assert_eq!(dump("a\nx\nx\nb", "a\nx\nb"), "1 a|2~ x|4 b");
        assert_eq!(dump("a\n\nb", "a\n\n\nb"), "1 a|2 |- |3 b");
    }

    #[test]
    fn lines_that_are_none() {
        let mut map = LineMap::identity("a\nb");
        assert_eq!(
            (map.current(0), map.current(3), map.recorded(0), map.recorded(3)),
            (None, None, None, None)
        );
        map.edit("a\nb", &LineIndex::new("a\nb"), 3..99, "");
        assert_eq!(map, LineMap::identity("a\nb"));
        let (text, reversed) = ("éa", std::ops::Range { start: 1, end: 0 });
        let mut map = LineMap::identity(text);
        map.edit(text, &LineIndex::new(text), reversed, "x");
        assert_eq!(map.current(1), Some(Carried { line: 1, is_edited: true }));
    }

    /// Lines that are often alike, so that diffs have choices.
    fn text() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec!["", "a", "b", "f(x)", "  y = g(x)", "é"]);
        let end = prop::sample::select(vec!["\n", "\n", "\r\n", "\r"]);
        let lines = prop::collection::vec((line.clone(), end), 0..12);
        (lines, line).prop_map(|(lines, last)| {
            lines.into_iter().flat_map(|(line, end)| [line, end]).chain([last]).collect()
        })
    }

    /// A byte range of a text.
    fn range_in(text: &str, start: usize, len: usize) -> Range<usize> {
        let start = text.floor_char_boundary(start.min(text.len()));
        start..text.floor_char_boundary((start + len).min(text.len()))
    }

    /// What holds for every map from `recorded` to `current`.
    fn check_sound(map: &LineMap, recorded: &str, current: &str) -> Result<(), TestCaseError> {
        let (old, new) = (lines(recorded), lines(current));
        prop_assert_eq!(map.n_lines() as usize, new.len());
        let mut last = 0;
        for line in 1..=old.len() as u32 {
            if let Some(carried) = map.current(line) {
                prop_assert!(last < carried.line && carried.line <= map.n_lines(), "monotone");
                prop_assert_eq!(map.recorded(carried.line), Some(line));
                if !carried.is_edited {
                    // A statement may be broken into other lines; what it begins with stays.
                    let begins = |line: &str| line.trim_start().chars().next();
                    let (old, new) = (old[line as usize - 1], new[carried.line as usize - 1]);
                    prop_assert_eq!(begins(old), begins(new));
                }
                last = carried.line;
            }
        }
        for line in 1..=map.n_lines() {
            if let Some(recorded) = map.recorded(line) {
                prop_assert_eq!(map.current(recorded).map(|carried| carried.line), Some(line));
            }
        }
        prop_assert_eq!(map.current(old.len() as u32 + 1), None);
        prop_assert_eq!(map.recorded(map.n_lines() + 1), None);
        Ok(())
    }

    fn n_unchanged(map: &LineMap, recorded: &str) -> usize {
        let lines = 1..=lines(recorded).len() as u32;
        lines.filter(|&line| map.current(line).is_some_and(|carried| !carried.is_edited)).count()
    }

    proptest! {
        #[test]
        fn diffs_are_sound(old in text(), new in text()) {
            check_sound(&LineMap::between(&old, &new), &old, &new)?;
            prop_assert_eq!(LineMap::between(&old, &old), LineMap::identity(&old));
        }

        #[test]
        fn edits_are_sound(
            recorded in text(),
            edits in prop::collection::vec((0usize..60, 0usize..20, "(a|b|\n|\r|\r\n|f\\(x\\)\n){0,4}"), 1..8),
        ) {
            let mut buffer = Buffer::new(&recorded);
            for (start, len, replacement) in edits {
                let range = range_in(&buffer.text, start, len);
                let (map, before) = (buffer.map.clone(), buffer.text.clone());
                buffer.replace(range.clone(), &replacement);
                check_sound(&buffer.map, &recorded, &buffer.text)?;

                // Lines that the change does not touch go where the editor puts them. (Those that read as recorded:
                // others may be found again.)
                let (index, moved) = (LineIndex::new(&before), LineIndex::new(&buffer.text));
                let by = i64::from(moved.n_lines()) - i64::from(index.n_lines());
                let is_joined = before[..range.start].ends_with('\r');
                let first = index.line(range.start - usize::from(is_joined));
                for line in (1..first).chain(index.line(range.end) + 1..=index.n_lines()) {
                    let now = if line < first { line } else { (i64::from(line) + by) as u32 };
                    let recorded = map.recorded(line);
                    if let Some(recorded) = recorded.filter(|&it| map.current(it).is_some_and(|it| !it.is_edited)) {
                        let carried = Carried { line: now, is_edited: false };
                        prop_assert_eq!(buffer.map.current(recorded), Some(carried));
                    }
                }
            }
        }

        #[test]
        fn an_edit_inside_a_line_marks_that_line_alone(recorded in text(), at in 0usize..60, typed in "[x-z]{1,3}") {
            let mut buffer = Buffer::new(&recorded);
            let index = LineIndex::new(&recorded);
            let line = index.line(at);
            let range = index.line_range(line).unwrap();
            let at = recorded.floor_char_boundary(at.clamp(range.start, range.end));
            buffer.replace(at..at, &typed);
            for other in 1..=index.n_lines() {
                prop_assert_eq!(buffer.map.current(other), Some(Carried { line: other, is_edited: other == line }));
            }
            buffer.replace(at..at + typed.len(), "");
            prop_assert_eq!(buffer.map, LineMap::identity(&recorded), "undone");
        }

        #[test]
        fn enter_at_an_end_of_a_line_marks_none(recorded in text(), line in 1u32..14, at_start: bool) {
            let index = LineIndex::new(&recorded);
            let line = line.min(index.n_lines());
            let range = index.line_range(line).unwrap();
            let at = if at_start { range.start } else { range.end };
            let mut buffer = Buffer::new(&recorded);
            buffer.replace(at..at, "\n");
            prop_assert_eq!(n_unchanged(&buffer.map, &recorded), index.n_lines() as usize);
        }

        #[test]
        fn an_undone_edit_leaves_no_trace(
            n_lines in 1u32..12, start in 0usize..60, len in 0usize..30, new in "(1|2|\\(\\)|b|\n|1\\(\\)\n){0,6}",
        ) {
            // The lines differ: of equal ones another may be found again, which reads the same.
            let recorded: String = (0..n_lines).map(|line| format!("{line}()\n")).collect();
            let mut buffer = Buffer::new(&recorded);
            let range = range_in(&recorded, start, len);
            buffer.replace(range.clone(), &new);
            buffer.replace(range.start..range.start + new.len(), &recorded[range]);
            prop_assert_eq!(buffer.map, LineMap::identity(&recorded));
        }

        #[test]
        fn replacing_the_whole_text_is_as_good_as_a_diff(recorded in text(), new in text()) {
            let mut buffer = Buffer::new(&recorded);
            buffer.replace(0..recorded.len(), &new);
            let diff = LineMap::between(&recorded, &new);
            prop_assert!(n_unchanged(&buffer.map, &recorded) >= n_unchanged(&diff, &recorded));
        }
    }
}
