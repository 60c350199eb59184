//! The distinct line stacks of a recording, as a prefix tree.

use std::sync::Arc;

use ledger::Evidence;
use profile::{Interner, StrId};
use rustc_hash::{FxHashMap, FxHashSet};

/// A source file: a row of [`Lines::files`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// A line of a source file: a row of [`Lines`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LineId(pub u32);

impl Default for LineId {
    fn default() -> Self {
        Self::NONE
    }
}

impl LineId {
    /// No line.
    pub const NONE: Self = Self(u32::MAX);

    /// The row of the line, by which vectors are indexed.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The line, unless it is none.
    #[must_use]
    pub fn get(self) -> Option<Self> {
        (self != Self::NONE).then_some(self)
    }
}

/// A line stack: a node of [`Stacks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node(pub u32);

impl Node {
    /// The stack without a line.
    pub const EMPTY: Self = Self(0);

    /// The row of the stack, by which vectors are indexed.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Whether it has no line.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::EMPTY
    }
}

/// What is kept of a file.
#[derive(Debug, Clone)]
pub struct StackFile {
    /// Key in the ledger.
    pub key: String,
    /// Path as recorded; of several that lead to one key, the first.
    pub recorded: String,
    /// Whether it is user code.
    pub is_user_code: bool,
}

/// The distinct lines of a recording.
#[derive(Debug, Default)]
pub struct Lines {
    /// The files, by [`FileId`].
    pub files: Vec<StackFile>,
    file_of_key: FxHashMap<String, FileId>,
    rows: Vec<(FileId, u32)>,
    /// Name of the function that was on the line when it was first seen there.
    function: Vec<StrId>,
    functions: Interner,
    index: FxHashMap<(FileId, u32), LineId>,
    /// The parts of the lines that stand for several.
    fused: FxHashMap<LineId, FusedLines>,
    fused_index: FxHashMap<FusedLines, LineId>,
}

/// What a handle stands for that is several lines at once: what is on it belongs to all of them in equal parts. Each part is
/// the end of a stack, the lines that the others do not have, outermost first.
pub type FusedLines = Arc<[Vec<LineId>]>;

impl Lines {
    /// The handle of a file, by its key in the ledger. A file is user code if any path that leads to it is.
    pub fn file(&mut self, file: StackFile) -> FileId {
        if let Some(&id) = self.file_of_key.get(&file.key) {
            self.files[id.0 as usize].is_user_code |= file.is_user_code;
            return id;
        }
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        self.file_of_key.insert(file.key.clone(), id);
        self.files.push(file);
        id
    }

    /// The handle of a 1-based line.
    pub fn line(&mut self, file: FileId, line: u32) -> LineId {
        let Self { rows, function, index, .. } = self;
        *index.entry((file, line)).or_insert_with(|| {
            rows.push((file, line));
            function.push(StrId::NONE);
            LineId(u32::try_from(rows.len() - 1).unwrap_or(u32::MAX))
        })
    }

    /// The handle of several lines at once. Where one line is asked for, it is the last one of user code in the first of `parts`
    /// that has one, else the first of all; `None` where there is no line.
    pub fn fused(&mut self, parts: &[Vec<LineId>]) -> Option<LineId> {
        if let Some(&known) = self.fused_index.get(parts) {
            return Some(known);
        }
        let of_user = parts.iter().find_map(|it| self.last_of_user(it));
        let first = of_user.or_else(|| parts.iter().flatten().next().copied())?;
        let parts: FusedLines = parts.into();
        let line = LineId(u32::try_from(self.rows.len()).unwrap_or(u32::MAX));
        self.rows.push(self.rows[first.index()]);
        self.function.push(self.function[first.index()]);
        self.fused.insert(line, Arc::clone(&parts));
        self.fused_index.insert(parts, line);
        Some(line)
    }

    /// The last line of user code among `lines`.
    #[must_use]
    pub fn last_of_user(&self, lines: &[LineId]) -> Option<LineId> {
        lines.iter().rev().copied().find(|&line| self.is_user_code(line))
    }

    /// The parts of a line that stands for several; `None` of others.
    #[must_use]
    pub fn parts(&self, line: LineId) -> Option<&FusedLines> {
        self.fused.get(&line)
    }

    /// The lines that what is charged to `line` belongs to: the last of user code of each part, or `line` itself.
    pub fn own_lines(&self, line: LineId) -> impl Iterator<Item = LineId> {
        let parts = self.parts(line);
        let own = parts.into_iter().flat_map(|parts| parts.iter());
        let own = own.filter_map(|part| self.last_of_user(part));
        own.chain(parts.is_none().then_some(line))
    }

    /// The lines that stand for several.
    pub fn all_fused(&self) -> impl Iterator<Item = (LineId, &FusedLines)> {
        // In the order of handles: remainders go to parts, and the order of a table of hashes would be another each time.
        self.ids().filter_map(|line| Some((line, self.fused.get(&line)?)))
    }

    /// Notes the function that `line` is in, unless one is noted.
    pub fn name(&mut self, line: LineId, function: &str) {
        if self.function[line.index()] == StrId::NONE {
            self.function[line.index()] = self.functions.intern(function);
        }
    }

    /// The function that `line` is in; empty where the recording does not say.
    #[must_use]
    pub fn function(&self, line: LineId) -> &str {
        self.functions.get(self.function[line.index()])
    }

    /// Notes that `line` is in the function that `definition` is the first line of, if they are of one file.
    pub fn name_like(&mut self, line: LineId, definition: LineId) {
        if self.file_of(line) == self.file_of(definition)
            && self.function[line.index()] == StrId::NONE
        {
            self.function[line.index()] = self.function[definition.index()];
        }
    }

    /// The file of a line.
    #[must_use]
    pub fn file_of(&self, line: LineId) -> FileId {
        self.rows[line.index()].0
    }

    /// The 1-based number of a line.
    #[must_use]
    pub fn number(&self, line: LineId) -> u32 {
        self.rows[line.index()].1
    }

    /// Whether a line is user code.
    #[must_use]
    pub fn is_user_code(&self, line: LineId) -> bool {
        self.files[self.file_of(line).0 as usize].is_user_code
    }

    /// How many lines there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// All lines.
    pub fn ids(&self) -> impl Iterator<Item = LineId> + use<> {
        (0..self.rows.len()).map(|index| LineId(u32::try_from(index).unwrap_or(u32::MAX)))
    }
}

/// All distinct line stacks. Parents stand before their children; node 0 is the empty stack.
#[derive(Debug)]
pub struct Stacks {
    /// The lines that the stacks are made of.
    pub lines: Lines,
    parent: Vec<Node>,
    line: Vec<LineId>,
    evidence: Vec<Evidence>,
    /// The line that an amount on this stack is charged to: the last one of user code, else the first of all.
    charged_line: Vec<LineId>,
    index: FxHashMap<(Node, LineId, Evidence), Node>,
}

impl Stacks {
    /// The empty stack alone.
    #[must_use]
    pub fn new(lines: Lines) -> Self {
        Self {
            lines,
            parent: vec![Node::EMPTY],
            line: vec![LineId::NONE],
            evidence: vec![Evidence::Exact],
            charged_line: vec![LineId::NONE],
            index: FxHashMap::default(),
        }
    }

    /// The stack `parent` with `line` added as its last.
    pub fn push(&mut self, parent: Node, line: LineId, evidence: Evidence) -> Node {
        if let Some(&node) = self.index.get(&(parent, line, evidence)) {
            return node;
        }
        let node = Node(u32::try_from(self.parent.len()).unwrap_or(u32::MAX));
        let inherited = self.charged_line[parent.index()];
        let charged_line =
            if self.lines.is_user_code(line) { line } else { inherited.get().unwrap_or(line) };
        self.parent.push(parent);
        self.line.push(line);
        self.evidence.push(evidence);
        self.charged_line.push(charged_line);
        self.index.insert((parent, line, evidence), node);
        node
    }

    /// The stack `stack` of a Python event, now that the event is known to be at `line`: the line takes the place of a
    /// frame's definition line, and is added to the stack of a call that has no line of its own.
    pub fn with_line(
        &mut self,
        stack: Node,
        is_frame: bool,
        line: LineId,
        evidence: Evidence,
    ) -> Node {
        if is_frame {
            if let Some(definition) = self.line(stack).get() {
                self.lines.name_like(line, definition);
            }
            return self.push(self.parent(stack), line, evidence);
        }
        if self.line(stack) == line { stack } else { self.push(stack, line, evidence) }
    }

    /// The stack without its last line.
    #[must_use]
    pub fn parent(&self, node: Node) -> Node {
        self.parent[node.index()]
    }

    /// The stack and those that it begins with, longest first, without the empty one.
    pub fn outwards(&self, node: Node) -> impl Iterator<Item = Node> {
        let nonempty = |it: Node| (!it.is_empty()).then_some(it);
        std::iter::successors(nonempty(node), move |&it| nonempty(self.parent(it)))
    }

    /// The last line, or [`LineId::NONE`] of the empty stack.
    #[must_use]
    pub fn line(&self, node: Node) -> LineId {
        self.line[node.index()]
    }

    /// How the last line is known.
    #[must_use]
    pub fn evidence(&self, node: Node) -> Evidence {
        self.evidence[node.index()]
    }

    /// The line that an amount on the stack is charged to, or [`LineId::NONE`] of the empty stack.
    #[must_use]
    pub fn charged_line(&self, node: Node) -> LineId {
        self.charged_line[node.index()]
    }

    /// How many stacks there are, the empty one included: at least 1.
    #[expect(clippy::len_without_is_empty, reason = "there always is the empty stack")]
    #[must_use]
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// All stacks but the empty one, parents first.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = Node> + use<> {
        (1..self.len()).map(|index| Node(u32::try_from(index).unwrap_or(u32::MAX)))
    }

    /// Of each stack, whether no line below its last one is the same line: amounts count once however deep the recursion. The
    /// empty stack is not. Each stack is entered and left once, however deep.
    #[must_use]
    pub fn outermost(&self) -> Vec<bool> {
        // The stacks above each, as lists: the first, and of each the next above the same stack.
        let none = Node::EMPTY;
        let (mut first, mut next) = (vec![none; self.len()], vec![none; self.len()]);
        for node in self.nodes().rev() {
            let above = &mut first[self.parent(node).index()];
            next[node.index()] = std::mem::replace(above, node);
        }
        let mut is_outermost = vec![false; self.len()];
        let mut open: FxHashSet<LineId> = FxHashSet::default();
        let (mut at, mut enters) = (first[none.index()], true);
        while !at.is_empty() {
            if enters {
                is_outermost[at.index()] = open.insert(self.line(at));
                let above = first[at.index()];
                if !above.is_empty() {
                    at = above;
                    continue;
                }
            }
            if is_outermost[at.index()] {
                open.remove(&self.line(at));
            }
            let beside = next[at.index()];
            enters = !beside.is_empty();
            at = if enters { beside } else { self.parent(at) };
        }
        is_outermost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stack on each row of `rows`: the row that it is above (0: the empty one), and its line.
    fn stacks(rows: impl IntoIterator<Item = (u32, u32)>) -> Stacks {
        let mut lines = Lines::default();
        let key = "train.py".to_owned();
        let file = lines.file(StackFile { recorded: key.clone(), key, is_user_code: true });
        (0..1000).for_each(|it| {
            lines.line(file, it);
        });
        let mut stacks = Stacks::new(lines);
        for (parent, line) in rows {
            stacks.push(Node(parent), LineId(line), Evidence::Exact);
        }
        stacks
    }

    #[test]
    fn a_line_is_outermost_where_it_is_on_no_stack_below() {
        // Rows 1 to 7; the line 5 calls itself by way of 6, beside another call of 6, and is called on its own.
        let stacks = stacks([(0, 5), (1, 6), (2, 5), (3, 7), (1, 7), (0, 6), (6, 5)]);
        let expected = [false, true, true, false, true, true, true, true];
        assert_eq!(stacks.outermost(), expected);
    }

    #[test]
    fn the_outermost_lines_are_found_however_deep_the_stack() {
        let depth = 1_000_000;
        let deep = stacks((0..depth).map(|at| (at, at % 1000)));
        assert_eq!(deep.outermost().iter().filter(|it| **it).count(), 1000);
        assert_eq!(stacks([]).outermost(), [false]);
    }
}
