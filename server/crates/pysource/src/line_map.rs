//! Carrying lines through edits.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::iter::Copied;
use std::ops::Range;
use std::slice;

use imara_diff::{Algorithm, Diff, Hunk, InternedInput, TokenSource};

use crate::LineIndex;

/// Where the lines of a recorded text are in the current one.
///
/// The map is strictly monotone: of two recorded lines that still exist the earlier one stands before the later one. A
/// line that is not marked as edited has the text that was recorded (how it ends aside).
///
/// It is kept as runs of neighbouring lines, so a file that was edited in ten places takes some twenty short rows, and
/// a hash of each recorded line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineMap {
    /// In line order, none empty, neighbours joined where they can be.
    runs: Vec<Run>,
    /// Lines of the current text.
    n_lines: u32,
    /// The recorded lines, to know again what was changed and changed back.
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
        push(&mut runs, Run { old: 1, new: 1, len: n_lines, is_edited: false });
        Self { runs, n_lines, recorded }
    }

    /// The map from one text to another, by a histogram diff of their lines. How lines end does not matter. Changed
    /// lines are paired as in [`Self::edit`].
    #[must_use]
    pub fn between(recorded: &str, current: &str) -> Self {
        let (old, new) = (lines(recorded), lines(current));
        let runs = step(&old, &new, &diff(&old, &new), 1);
        Self { runs, n_lines: new.len() as u32, recorded: old.into_iter().map(hash).collect() }
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
        let hunks = trimmed_diff(&old, &new, is_before_last);
        let n_lines = self.n_lines - old.len() as u32 + new.len() as u32;
        let after = Run {
            old: last + 1,
            new: first + new.len() as u32,
            len: index.n_lines() - last,
            is_edited: false,
        };
        let mut change = Vec::new();
        push(&mut change, Run { old: 1, new: 1, len: first - 1, is_edited: false });
        step(&old, &new, &hunks, first).into_iter().for_each(|run| push(&mut change, run));
        push(&mut change, after);
        self.runs = compose(&self.runs, &change);
        self.n_lines = n_lines;
        for hunk in hunks {
            let lines = &new[hunk.after.start as usize..hunk.after.end as usize];
            self.restore(first + hunk.after.start, lines);
        }
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

    /// Lines of the current text, as [`LineIndex::n_lines`].
    #[must_use]
    pub fn n_lines(&self) -> u32 {
        self.n_lines
    }

    /// Finds recorded lines again in `lines`, which stand at `first` in the current text and are new or edited: those
    /// between the lines that are carried before and after.
    fn restore(&mut self, first: u32, lines: &[&str]) {
        let end = first + lines.len() as u32;
        let from = self.runs.partition_point(|run| run.new_end() <= first);
        let to = self.runs.partition_point(|run| run.new < end);
        let recorded_first = self.runs[..from].last().map_or(1, |run| run.old + run.len);
        let recorded_end = self.runs.get(to).map_or(self.recorded.len() as u32 + 1, |run| run.old);
        let gap = recorded_first as usize - 1
            ..(recorded_end as usize - 1).max(recorded_first as usize - 1);
        let old = &self.recorded[gap];
        let new: Vec<u64> = lines.iter().copied().map(hash).collect();
        let hunks = diff(old, &new);
        let found = unchanged(&hunks, old.len() as u32).map(|run| Run {
            old: recorded_first + run.old,
            new: first + run.new,
            ..run
        });
        let mut found: Vec<Run> = found.filter(|run| run.len > 0).collect();
        if found.is_empty() {
            return;
        }
        // What the edits say about the other lines holds where it does not cross what was found.
        let edited =
            self.runs[from..to].iter().flat_map(|run| (0..run.len).map(|row| run.part(row, 1)));
        let edited: Vec<Run> =
            edited.filter(|it| found.iter().all(|found| !found.crosses(it))).collect();
        found.extend(edited);
        found.sort_unstable_by_key(|run| run.new);
        let mut runs = self.runs[..from].to_vec();
        found
            .into_iter()
            .chain(self.runs[to..].iter().copied())
            .for_each(|run| push(&mut runs, run));
        self.runs = runs;
    }
}

/// Lines `old..old + len` of one text that are the lines `new..new + len` of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    old: u32,
    new: u32,
    len: u32,
    is_edited: bool,
}

impl Run {
    fn new_end(&self) -> u32 {
        self.new + self.len
    }

    /// `len` lines from line `from` of the run.
    fn part(&self, from: u32, len: u32) -> Self {
        Self { old: self.old + from, new: self.new + from, len, is_edited: self.is_edited }
    }

    /// Whether both cannot hold.
    fn crosses(&self, other: &Self) -> bool {
        let is_before = self.old + self.len <= other.old && self.new_end() <= other.new;
        let is_after = other.old + other.len <= self.old && other.new_end() <= self.new;
        !is_before && !is_after
    }
}

/// Adds a run at the end, joined with the last one where the two are neighbours on both sides.
fn push(runs: &mut Vec<Run>, run: Run) {
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
fn compose(first: &[Run], second: &[Run]) -> Vec<Run> {
    let mut runs = Vec::with_capacity(first.len() + 2);
    let mut rest = second.iter().peekable();
    for one in first {
        while let Some(two) = rest.peek() {
            let (start, end) = (one.new.max(two.old), one.new_end().min(two.old + two.len));
            if start < end {
                let (old, new) = (one.old + (start - one.new), two.new + (start - two.old));
                push(
                    &mut runs,
                    Run { old, new, len: end - start, is_edited: one.is_edited || two.is_edited },
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

/// The runs from the lines `old` to the lines `new`, both of which begin at line `first`.
fn step(old: &[&str], new: &[&str], hunks: &[Hunk], first: u32) -> Vec<Run> {
    let edited = hunks.iter().flat_map(|hunk| pairs(old, new, hunk));
    let edited = edited.map(|(old, new)| Run { old, new, len: 1, is_edited: true });
    let mut parts: Vec<Run> = unchanged(hunks, old.len() as u32).chain(edited).collect();
    parts.sort_unstable_by_key(|run| (run.new, run.len));
    let mut runs = Vec::new();
    parts
        .into_iter()
        .for_each(|run| push(&mut runs, Run { old: first + run.old, new: first + run.new, ..run }));
    runs
}

/// What lies between the hunks; 0-based, some of it empty.
fn unchanged(hunks: &[Hunk], n_old: u32) -> impl Iterator<Item = Run> {
    let starts =
        std::iter::once((0, 0)).chain(hunks.iter().map(|hunk| (hunk.before.end, hunk.after.end)));
    let ends = hunks.iter().map(|hunk| hunk.before.start).chain([n_old]);
    starts.zip(ends).map(|((old, new), end)| Run { old, new, len: end - old, is_edited: false })
}

/// What differs between two sequences of lines.
fn diff<T: Copy + Eq + Hash>(old: &[T], new: &[T]) -> Vec<Hunk> {
    let input = InternedInput::new(Tokens(old), Tokens(new));
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_no_heuristic(&input);
    diff.hunks().collect()
}

/// [`diff`], after equal lines at both ends were set aside; `suffix_first` tells which end may take a line that is at
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
const MOST_COMPARED: usize = 4096;

/// Which old line of a hunk became which new one.
fn pairs(old: &[&str], new: &[&str], hunk: &Hunk) -> Vec<(u32, u32)> {
    if hunk.before.len() == hunk.after.len() {
        return hunk.before.clone().zip(hunk.after.clone()).collect();
    }
    if hunk.before.len() * hunk.after.len() > MOST_COMPARED {
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

fn hash(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
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
