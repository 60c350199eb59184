//! The distinct line stacks of a recording, as a prefix tree.

use ledger::Evidence;
use profile::{Interner, StrId};
use rustc_hash::FxHashMap;

/// A source file: a row of [`Lines::files`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FileId(pub(crate) u32);

/// A line of a source file: a row of [`Lines`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct LineId(pub(crate) u32);

impl Default for LineId {
    fn default() -> Self {
        Self::NONE
    }
}

impl LineId {
    pub(crate) const NONE: Self = Self(u32::MAX);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn get(self) -> Option<Self> {
        (self != Self::NONE).then_some(self)
    }
}

/// A line stack: a node of [`Stacks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Node(pub(crate) u32);

impl Node {
    /// The stack without a line.
    pub(crate) const EMPTY: Self = Self(0);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn is_empty(self) -> bool {
        self == Self::EMPTY
    }
}

/// What is kept of a file.
#[derive(Debug, Clone)]
pub(crate) struct File {
    /// Key in the ledger.
    pub(crate) key: String,
    /// Path as recorded; of several that lead to one key, the first.
    pub(crate) recorded: String,
    /// Whether it is your code.
    pub(crate) is_own: bool,
}

/// The distinct lines of a recording.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pub(crate) files: Vec<File>,
    file_of_key: FxHashMap<String, FileId>,
    rows: Vec<(FileId, u32)>,
    /// Name of the function that was on the line when it was first seen there.
    function: Vec<StrId>,
    functions: Interner,
    index: FxHashMap<(FileId, u32), LineId>,
}

impl Lines {
    pub(crate) fn file(&mut self, file: File) -> FileId {
        if let Some(&id) = self.file_of_key.get(&file.key) {
            self.files[id.0 as usize].is_own |= file.is_own;
            return id;
        }
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        self.file_of_key.insert(file.key.clone(), id);
        self.files.push(file);
        id
    }

    pub(crate) fn line(&mut self, file: FileId, line: u32) -> LineId {
        let Self { rows, function, index, .. } = self;
        *index.entry((file, line)).or_insert_with(|| {
            rows.push((file, line));
            function.push(StrId::NONE);
            LineId(u32::try_from(rows.len() - 1).unwrap_or(u32::MAX))
        })
    }

    /// Notes the function that `line` is in, unless one is noted.
    pub(crate) fn name(&mut self, line: LineId, function: &str) {
        if self.function[line.index()] == StrId::NONE {
            self.function[line.index()] = self.functions.intern(function);
        }
    }

    /// The function that `line` is in; empty where the recording does not say.
    pub(crate) fn function(&self, line: LineId) -> &str {
        self.functions.get(self.function[line.index()])
    }

    /// Notes that `line` is in the function that `definition` is the first line of, if they are of one file.
    pub(crate) fn name_like(&mut self, line: LineId, definition: LineId) {
        if self.file_of(line) == self.file_of(definition)
            && self.function[line.index()] == StrId::NONE
        {
            self.function[line.index()] = self.function[definition.index()];
        }
    }

    pub(crate) fn file_of(&self, line: LineId) -> FileId {
        self.rows[line.index()].0
    }

    pub(crate) fn number(&self, line: LineId) -> u32 {
        self.rows[line.index()].1
    }

    pub(crate) fn is_own(&self, line: LineId) -> bool {
        self.files[self.file_of(line).0 as usize].is_own
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = LineId> + use<> {
        (0..self.rows.len()).map(|index| LineId(u32::try_from(index).unwrap_or(u32::MAX)))
    }
}

/// All distinct line stacks. Parents stand before their children; node 0 is the empty stack.
#[derive(Debug)]
pub(crate) struct Stacks {
    pub(crate) lines: Lines,
    parent: Vec<Node>,
    line: Vec<LineId>,
    evidence: Vec<Evidence>,
    /// The line that an amount on this stack is charged to: the last one of your code, else the first of all.
    own: Vec<LineId>,
    index: FxHashMap<(Node, LineId, Evidence), Node>,
}

impl Stacks {
    pub(crate) fn new(lines: Lines) -> Self {
        Self {
            lines,
            parent: vec![Node::EMPTY],
            line: vec![LineId::NONE],
            evidence: vec![Evidence::Exact],
            own: vec![LineId::NONE],
            index: FxHashMap::default(),
        }
    }

    /// The stack `parent` with `line` added as its last.
    pub(crate) fn push(&mut self, parent: Node, line: LineId, evidence: Evidence) -> Node {
        if let Some(&node) = self.index.get(&(parent, line, evidence)) {
            return node;
        }
        let node = Node(u32::try_from(self.parent.len()).unwrap_or(u32::MAX));
        let inherited = self.own[parent.index()];
        let own = if self.lines.is_own(line) { line } else { inherited.get().unwrap_or(line) };
        self.parent.push(parent);
        self.line.push(line);
        self.evidence.push(evidence);
        self.own.push(own);
        self.index.insert((parent, line, evidence), node);
        node
    }

    /// The stack `inside` of a Python event, now that the event is known to be at `line`: the line takes the place of a
    /// frame's definition line, and is added to the stack of a call that has no line of its own.
    pub(crate) fn at(
        &mut self,
        inside: Node,
        is_frame: bool,
        line: LineId,
        evidence: Evidence,
    ) -> Node {
        if is_frame {
            if let Some(definition) = self.line(inside).get() {
                self.lines.name_like(line, definition);
            }
            return self.push(self.parent(inside), line, evidence);
        }
        if self.line(inside) == line { inside } else { self.push(inside, line, evidence) }
    }

    /// The stack without its last line.
    pub(crate) fn parent(&self, node: Node) -> Node {
        self.parent[node.index()]
    }

    /// The last line, or [`LineId::NONE`] of the empty stack.
    pub(crate) fn line(&self, node: Node) -> LineId {
        self.line[node.index()]
    }

    /// How the last line is known.
    pub(crate) fn evidence(&self, node: Node) -> Evidence {
        self.evidence[node.index()]
    }

    /// The own line, or [`LineId::NONE`] of the empty stack.
    pub(crate) fn own(&self, node: Node) -> LineId {
        self.own[node.index()]
    }

    pub(crate) fn len(&self) -> usize {
        self.parent.len()
    }

    /// All stacks but the empty one, parents first.
    pub(crate) fn nodes(&self) -> impl DoubleEndedIterator<Item = Node> + use<> {
        (1..self.len()).map(|index| Node(u32::try_from(index).unwrap_or(u32::MAX)))
    }

    /// Whether no line below the last one of `node` is the same line: amounts count once however deep the recursion.
    pub(crate) fn is_outermost(&self, node: Node) -> bool {
        let line = self.line(node);
        let mut at = self.parent(node);
        while !at.is_empty() {
            if self.line(at) == line {
                return false;
            }
            at = self.parent(at);
        }
        true
    }
}
