//! The stacks of lines that launched the kernels of graphs, on the way from one recording to another.

use ledger::Evidence;
use line_stacks::{LineId, Node, Stacks};
use profile::{CapturedEvidence, CapturedLine, Interner, OriginFrame, Profile};
use rustc_hash::FxHashMap;

/// The distinct stacks of lines of one or several traces, outermost line first.
#[derive(Debug, Default)]
pub(crate) struct StackTable {
    /// The text of every path and function.
    pub(crate) strings: Interner,
    stacks: Vec<Vec<CapturedLine>>,
    /// The row of each stack.
    rows: FxHashMap<Vec<CapturedLine>, u32>,
}

impl StackTable {
    /// Whether there is a line.
    pub(crate) fn has_lines(&self) -> bool {
        self.stacks.iter().any(|it| !it.is_empty())
    }

    /// The lines of the stack in `row`.
    pub(crate) fn lines(&self, row: u32) -> &[CapturedLine] {
        &self.stacks[row as usize]
    }

    /// The row of the lines of `stack` below those that it has in common with `around`.
    pub(crate) fn row(&mut self, stacks: &Stacks, stack: Node, around: Node) -> u32 {
        let (path, around) = (path(stacks, stack), path(stacks, around));
        let n_common = path.iter().zip(&around).take_while(|(one, other)| one.0 == other.0).count();
        let mut captured = Vec::with_capacity(path.len() - n_common);
        for &(line, evidence) in &path[n_common..] {
            let mut frame = |&line: &LineId| {
                let file = &stacks.lines.files[stacks.lines.file_of(line).0 as usize].recorded;
                OriginFrame {
                    file: self.strings.intern(file),
                    line: stacks.lines.number(line),
                    function: self.strings.intern(stacks.lines.function(line)),
                }
            };
            let parts = match stacks.lines.parts(line) {
                Some(parts) => parts.to_vec(),
                None => vec![vec![line]],
            };
            let parts = parts.iter().map(|it| it.iter().map(&mut frame).collect()).collect();
            captured.push(CapturedLine { parts, evidence });
        }
        self.row_of(captured)
    }

    /// The row of the lines that all stacks in `rows` have in common, with which they begin and with which they end; `None` if there is
    /// none.
    pub(crate) fn row_in_common(&mut self, rows: impl IntoIterator<Item = u32>) -> Option<u32> {
        let mut rows = rows.into_iter();
        let first = rows.next()?;
        let lines = self.lines(first);
        let (mut n_first, mut n_last) = (lines.len(), lines.len());
        for other in rows.filter(|it| *it != first).map(|it| self.lines(it)) {
            n_first = n_first.min(n_same(lines.iter().zip(other)));
            let room = other.len() - n_same(lines.iter().zip(other));
            let n_same_last = n_same(lines.iter().rev().zip(other.iter().rev()));
            n_last = n_last.min(n_same_last.min(room));
        }
        let from = (lines.len() - n_last).max(n_first);
        let common = [&lines[..n_first], &lines[from..]].concat();
        if common.is_empty() { None } else { Some(self.row_of(common)) }
    }

    fn row_of(&mut self, lines: Vec<CapturedLine>) -> u32 {
        let Self { stacks, rows, .. } = self;
        *rows.entry(lines).or_insert_with_key(|lines| {
            stacks.push(lines.clone());
            u32::try_from(stacks.len() - 1).unwrap_or(u32::MAX)
        })
    }
}

/// How many pairs from the first on are of the same lines.
fn n_same<'a>(pairs: impl Iterator<Item = (&'a CapturedLine, &'a CapturedLine)>) -> usize {
    pairs.take_while(|(one, other)| one == other).count()
}

/// The lines of a stack, outermost first, with how each is known.
fn path(stacks: &Stacks, stack: Node) -> Vec<(LineId, CapturedEvidence)> {
    let evidence = |at: Node| match stacks.evidence(at) {
        Evidence::Exact => CapturedEvidence::Exact,
        Evidence::Inferred => CapturedEvidence::Inferred,
        Evidence::Function => CapturedEvidence::Function,
    };
    let outwards = stacks.outwards(stack).map(|at| (stacks.line(at), evidence(at)));
    let mut path: Vec<_> = outwards.collect();
    path.reverse();
    path
}

/// Writes stacks of a table into a recording, each once.
pub(crate) struct StackWriter<'a> {
    table: &'a StackTable,
    /// Whether they begin where the program does, rather than where a capture began.
    are_whole: bool,
    numbers: FxHashMap<(u32, bool), u32>,
}

impl<'a> StackWriter<'a> {
    pub(crate) fn new(table: &'a StackTable, are_whole: bool) -> Self {
        Self { table, are_whole, numbers: FxHashMap::default() }
    }

    /// One more than the number of the stack in `row` in the recording. What is not certain is at best inferred.
    pub(crate) fn number(&mut self, profile: &mut Profile, row: u32, is_certain: bool) -> u32 {
        if let Some(&known) = self.numbers.get(&(row, is_certain)) {
            return known;
        }
        let strings = &self.table.strings;
        let mut stack = self.table.lines(row).to_vec();
        for CapturedLine { parts, evidence } in &mut stack {
            for OriginFrame { file, function, .. } in parts.iter_mut().flatten() {
                *file = profile.strings.intern(strings.get(*file));
                *function = profile.strings.intern(strings.get(*function));
            }
            if !is_certain {
                *evidence = (*evidence).max(CapturedEvidence::Inferred);
            }
        }
        profile.captured.stacks.push(stack);
        profile.captured.are_whole.push(self.are_whole);
        let number = u32::try_from(profile.captured.stacks.len()).unwrap_or(u32::MAX);
        self.numbers.insert((row, is_certain), number);
        number
    }
}
