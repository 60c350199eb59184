//! The stacks of a run, or of two runs as one tree: what is one in both has one place there.

use comparison::{ComparedLine, Difference};
use ledger::{LineKey, Metric};
use loader::StackBooks;
use metrics::Quantity;
use rustc_hash::FxHashMap;
use stack_books::{FrameRow, FramedLine, StackAmount, StackFrame};

/// A frame of the tree: a row of the books of the run that is shown, or of its base where that run has no such frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TreeFrame {
    /// Whether the base alone has it.
    pub(super) is_gone: bool,
    pub(super) row: FrameRow,
}

/// A run in the tree.
struct TreeSide<'a> {
    books: &'a StackBooks,
    /// By stack, its node.
    nodes: Vec<usize>,
}

/// Stacks of one or two runs. Node 0 is the root, and its own parent; parents stand before their children.
pub(super) struct StackTree<'a> {
    /// The run that is shown, and its base if there is one.
    sides: Vec<TreeSide<'a>>,
    parent: Vec<usize>,
    /// By node; nothing of the root.
    frame: Vec<Option<TreeFrame>>,
    index: FxHashMap<(usize, TreeFrame), usize>,
}

impl<'a> StackTree<'a> {
    /// The root alone.
    fn without_stacks() -> Self {
        Self { sides: Vec::new(), parent: vec![0], frame: vec![None], index: FxHashMap::default() }
    }

    /// The stacks of one run.
    pub(super) fn of_run(books: &'a StackBooks) -> Self {
        let mut tree = Self::without_stacks();
        tree.add(books, |row| TreeFrame { is_gone: false, row });
        tree
    }

    /// The stacks of a run and of its base: lines of it go by the names that `aligned` gives them.
    pub(super) fn of_two(books: [&'a StackBooks; 2], aligned: &AlignedFrames) -> Self {
        let mut tree = Self::without_stacks();
        for (books, frames) in books.into_iter().zip([&aligned.new, &aligned.base]) {
            tree.add(books, |row| frames[row.index()]);
        }
        tree
    }

    fn add(&mut self, books: &'a StackBooks, frame: impl Fn(FrameRow) -> TreeFrame) {
        let Self { parent: parents, frame: frames, index, .. } = self;
        let mut nodes = vec![0; books.len()];
        for stack in books.stacks() {
            let parent = nodes[books.parent(stack).index()];
            let frame = frame(books.innermost(stack));
            nodes[stack.index()] = *index.entry((parent, frame)).or_insert_with(|| {
                parents.push(parent);
                frames.push(Some(frame));
                parents.len() - 1
            });
        }
        self.sides.push(TreeSide { books, nodes });
    }

    /// How many nodes there are, the root included.
    pub(super) fn len(&self) -> usize {
        self.parent.len()
    }

    /// All nodes but the root, with their parents and frames, parents first.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (usize, usize, TreeFrame)> {
        let nodes = self.frame.iter().zip(&self.parent).enumerate();
        nodes.filter_map(|(node, (frame, parent))| Some((node, *parent, (*frame)?)))
    }

    /// By node, what is on it itself, of the run that is shown or of its base: nanoseconds or bytes.
    pub(super) fn amounts(&self, is_base: bool, kept: StackAmount) -> Vec<i64> {
        let mut amounts = vec![0_i64; self.len()];
        if let Some(side) = self.sides.get(usize::from(is_base)) {
            for stack in side.books.stacks() {
                let sum = &mut amounts[side.nodes[stack.index()]];
                *sum = sum.saturating_add(side.books.amount(kept, stack));
            }
        }
        amounts
    }

    /// By node, the sum of `amounts` on it and on all below it.
    pub(super) fn inclusive(&self, amounts: &[i64]) -> Vec<i64> {
        let mut sums = amounts.to_vec();
        for node in (1..self.len()).rev() {
            let amount = sums[node];
            let parent = &mut sums[self.parent[node]];
            *parent = parent.saturating_add(amount);
        }
        sums
    }
}

/// What the frames of two runs are called in one tree.
pub(super) struct AlignedFrames {
    /// By row of the run that is shown.
    new: Vec<TreeFrame>,
    /// By row of its base.
    base: Vec<TreeFrame>,
}

impl AlignedFrames {
    /// Lines are one as `difference` has it, other frames by their names.
    pub(super) fn new([new, base]: [&StackBooks; 2], difference: &Difference) -> Self {
        let mut lines: FxHashMap<&LineKey, usize> = FxHashMap::default();
        let mut others: FxHashMap<&StackFrame, usize> = FxHashMap::default();
        for (row, (frame, _)) in new.frames().enumerate() {
            match frame {
                StackFrame::Line(line) => lines.entry(&line.key).or_insert(row),
                _ => others.entry(frame).or_insert(row),
            };
        }
        let new_row = |frame: &StackFrame, is_new: bool| match frame {
            StackFrame::Line(FramedLine { key, .. }) => {
                lines.get(difference.shown_as(key, is_new)?).copied()
            }
            _ => others.get(frame).copied(),
        };
        let new_rows: Vec<FrameRow> = new.frame_rows().collect();
        let aligned = |books: &StackBooks, is_new: bool| {
            let rows = books.frame_rows().zip(books.frames());
            let aligned = rows.map(|(own, (frame, _))| match new_row(frame, is_new) {
                Some(row) => TreeFrame { is_gone: false, row: new_rows[row] },
                None => TreeFrame { is_gone: !is_new, row: own },
            });
            aligned.collect()
        };
        Self { new: aligned(new, true), base: aligned(base, false) }
    }

    /// Where lines that both runs have were in the base, by frame.
    pub(super) fn base_lines<'b>(
        &self,
        base: &'b StackBooks,
    ) -> FxHashMap<TreeFrame, Vec<&'b LineKey>> {
        let mut found: FxHashMap<TreeFrame, Vec<&LineKey>> = FxHashMap::default();
        for (frame, (own, _)) in self.base.iter().zip(base.frames()) {
            if let (StackFrame::Line(line), false) = (own, frame.is_gone) {
                found.entry(*frame).or_default().push(&line.key);
            }
        }
        found
    }
}

/// Whether a line differs by more than the noise; where steps are too few to say what that is, each line does.
fn differs(line: &ComparedLine, quantities: &[Quantity]) -> bool {
    let mut amounts = line.amounts.iter().filter(|it| quantities.contains(&it.quantity));
    amounts.any(|it| it.significant != Some(false))
}

/// What is compared of lines, where a flame graph has a metric. The first has the unit of the metric.
pub(super) fn quantities(metric: Metric) -> &'static [Quantity] {
    match metric {
        // A thread that waits takes time, too.
        Metric::Cpu => &[Quantity::CpuBusy, Quantity::Waiting],
        Metric::Cuda => &[Quantity::CudaOwn],
        Metric::Sync => &[Quantity::Wait],
        Metric::GpuIdle => &[Quantity::Idle],
        Metric::Waiting => &[Quantity::Waiting],
        _ => &[Quantity::Alloc],
    }
}

impl StackTree<'_> {
    /// By node, whether the line differs in one of `quantities` that what is on the node itself is charged to. What has no line is taken for different, since
    /// nothing says what its noise is.
    pub(super) fn differing(&self, difference: &Difference, quantities: &[Quantity]) -> Vec<bool> {
        let frames = self.sides.iter().map(|it| it.books.frames().map(|(it, _)| it));
        let frames: Vec<Vec<&StackFrame>> = frames.map(Iterator::collect).collect();
        let mut found = vec![false; self.len()];
        for (node, parent, frame) in self.nodes() {
            found[node] = match frames[usize::from(frame.is_gone)][frame.row.index()] {
                StackFrame::Line(line) if line.is_user_code || parent == 0 => difference
                    .of_line(&line.key, !frame.is_gone)
                    .is_some_and(|it| differs(it, quantities)),
                StackFrame::NoLine(_) => true,
                _ => found[parent],
            };
        }
        found
    }
}
