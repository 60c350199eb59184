//! Amounts by stack, as columns by node of a prefix tree.

use std::collections::BTreeMap;

use ledger::{Evidence, LineKey, Metric, Reason, Unit};
use rustc_hash::FxHashMap;

/// One entry of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum StackFrame {
    /// A source line.
    Line(FramedLine),
    /// The outermost entry of what has no line: why it has none.
    NoLine(Reason),
    /// A Python call that is no function of a source file: `<built-in method sleep>`.
    Call(String),
    /// An operator.
    Operator(String),
    /// An operator with the sizes of its inputs, where books distinguish operators by them.
    SizedOperator(SizedOperator),
    /// A call of the runtime of a device: `cudaLaunchKernel`.
    Runtime(String),
    /// What ran on a device: a kernel, a copy or a fill.
    Device(String),
}

/// An operator that ran with inputs of these sizes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SizedOperator {
    /// Its name.
    pub name: String,
    /// `Input Dims` as recorded, a space after each comma: the sizes of each input, empty of what is no tensor.
    pub sizes: String,
}

impl std::fmt::Display for SizedOperator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.name, self.sizes)
    }
}

impl StackFrame {
    /// The name and the sizes of an operator; sizes are empty where they are not known or not asked for.
    #[must_use]
    pub fn operator(&self) -> Option<(&str, &str)> {
        match self {
            Self::Operator(name) => Some((name, "")),
            Self::SizedOperator(it) => Some((&it.name, &it.sizes)),
            _ => None,
        }
    }
}

/// A source line on a stack: the line that made the call which is open, or that the amount itself is on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FramedLine {
    /// The line, as the ledger names it.
    pub key: LineKey,
    /// The function that it is in; empty where that is not known.
    pub function: String,
    /// Whether it is user code.
    pub is_user_code: bool,
}

/// A distinct [`StackFrame`] of a [`StackBooks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameRow(u32);

/// A stack: a node of the tree of a [`StackBooks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StackRow(u32);

impl FrameRow {
    /// The row, by which vectors are indexed.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl StackRow {
    /// The stack without an entry, which is the root of the tree and has no amount.
    pub const ROOT: Self = Self(0);

    /// The row, by which vectors are indexed.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What is kept by stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StackAmount {
    /// A metric of the ledger, one of [`StackBooks::METRICS`].
    Of(Metric),
    /// Bytes that were in use at the peak of their memory, by the stack that allocated them.
    Peak,
}

impl StackAmount {
    /// Stable name.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Of(metric) => metric.id(),
            Self::Peak => "peak",
        }
    }

    /// What people call it.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Of(metric) => metric.label(),
            Self::Peak => "bytes at the peak",
        }
    }

    /// What it counts.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Self::Of(metric) => metric.unit(),
            Self::Peak => Unit::Bytes,
        }
    }
}

impl From<Metric> for StackAmount {
    fn from(metric: Metric) -> Self {
        Self::Of(metric)
    }
}

/// Amounts by stack. Parents stand before their children.
#[derive(Debug, Clone)]
pub struct StackBooks {
    frames: Vec<StackFrame>,
    /// By frame: the weakest evidence with which it is on a stack. Of what is no line it is exact.
    evidence: Vec<Evidence>,
    frame_index: FxHashMap<StackFrame, FrameRow>,
    /// By stack. The root, at 0, has itself and a frame that is never read.
    parent: Vec<StackRow>,
    frame: Vec<FrameRow>,
    index: FxHashMap<(StackRow, FrameRow), StackRow>,
    /// By stack, what is on it and on none of its children; may be shorter than the tree: what is missing is 0.
    amounts: BTreeMap<StackAmount, Vec<i64>>,
    /// By stack, how many events its innermost entry stands for, by the rule of `amounts`.
    events: Vec<u64>,
    /// Of `amounts` what was in each step, where that was asked for.
    in_steps: FxHashMap<(u32, Metric, StackRow), i64>,
    /// Whether it was.
    has_steps: bool,
}

impl Default for StackBooks {
    /// The root alone.
    fn default() -> Self {
        Self {
            frames: Vec::new(),
            evidence: Vec::new(),
            frame_index: FxHashMap::default(),
            parent: vec![StackRow::ROOT],
            frame: vec![FrameRow(u32::MAX)],
            index: FxHashMap::default(),
            amounts: BTreeMap::new(),
            events: Vec::new(),
            in_steps: FxHashMap::default(),
            has_steps: false,
        }
    }
}

impl StackBooks {
    /// The metrics that are kept by stack, of those of the ledger.
    pub const METRICS: [Metric; 6] =
        [Metric::Cpu, Metric::Cuda, Metric::GpuIdle, Metric::Sync, Metric::Waiting, Metric::Alloc];

    /// All that is kept by stack.
    pub fn amounts() -> impl Iterator<Item = StackAmount> {
        Self::METRICS.into_iter().map(StackAmount::Of).chain([StackAmount::Peak])
    }

    /// The row of a frame.
    pub fn frame(&mut self, frame: StackFrame) -> FrameRow {
        if let Some(&row) = self.frame_index.get(&frame) {
            return row;
        }
        let row = FrameRow(u32::try_from(self.frames.len()).unwrap_or(u32::MAX));
        self.frames.push(frame.clone());
        self.evidence.push(Evidence::Exact);
        self.frame_index.insert(frame, row);
        row
    }

    /// Notes that `frame` is on a stack with this evidence.
    pub fn add_evidence(&mut self, frame: FrameRow, evidence: Evidence) {
        let weakest = &mut self.evidence[frame.index()];
        *weakest = evidence.max(*weakest);
    }

    /// The stack `parent` with `frame` as its innermost entry.
    pub fn push(&mut self, parent: StackRow, frame: FrameRow) -> StackRow {
        let Self { parent: parents, frame: frames, index, .. } = self;
        *index.entry((parent, frame)).or_insert_with(|| {
            parents.push(parent);
            frames.push(frame);
            StackRow(u32::try_from(parents.len() - 1).unwrap_or(u32::MAX))
        })
    }

    /// Adds to what is on `stack` itself: nanoseconds or bytes, not negative. A sum stops at the largest number that fits, as
    /// those of the ledger do.
    pub fn add(&mut self, kept: impl Into<StackAmount>, stack: StackRow, amount: i64) {
        if amount == 0 {
            return;
        }
        let column = self.amounts.entry(kept.into()).or_default();
        if column.len() <= stack.index() {
            column.resize(self.parent.len(), 0);
        }
        column[stack.index()] = column[stack.index()].saturating_add(amount);
    }

    /// Says that what stacks have in each step will be added.
    pub fn keep_steps(&mut self) {
        self.has_steps = true;
    }

    /// Whether it is known what stacks have in each step.
    #[must_use]
    pub fn has_steps(&self) -> bool {
        self.has_steps
    }

    /// Says that of what is on `stack` itself an amount was in a step.
    pub fn add_in_step(&mut self, step: u32, metric: Metric, stack: StackRow, amount: i64) {
        if amount != 0 {
            let sum = self.in_steps.entry((step, metric, stack)).or_default();
            *sum = sum.saturating_add(amount);
        }
    }

    /// What is on stacks themselves in each step: its number, the metric, the stack, and nanoseconds. In no order. Of allocated bytes nothing is known by step.
    pub fn in_steps(&self) -> impl Iterator<Item = (u32, Metric, StackRow, i64)> {
        self.in_steps.iter().map(|(&(step, metric, stack), &amount)| (step, metric, stack, amount))
    }

    /// Counts events that the innermost entry of `stack` stands for: calls, operators, what ran on a device.
    pub fn count(&mut self, stack: StackRow, events: u64) {
        if events == 0 {
            return;
        }
        if self.events.len() <= stack.index() {
            self.events.resize(self.parent.len(), 0);
        }
        let count = &mut self.events[stack.index()];
        *count = count.saturating_add(events);
    }

    /// Adds all amounts of `other`.
    pub fn merge(&mut self, other: &Self) {
        let mut rows = vec![StackRow::ROOT];
        let mut frames = Vec::with_capacity(other.frames.len());
        for (frame, &evidence) in other.frames.iter().zip(&other.evidence) {
            let row = self.frame(frame.clone());
            self.add_evidence(row, evidence);
            frames.push(row);
        }
        for stack in other.stacks() {
            let parent = rows[other.parent(stack).index()];
            rows.push(self.push(parent, frames[other.frame[stack.index()].index()]));
        }
        self.add_all(other, &rows);
    }

    /// The same amounts on the lines of user code alone, with calls, operators and kernels below them: what is in a library
    /// is on the innermost line of user code that led there. Of a stack without user code the outermost line stays, which is
    /// the line that the ledger charges.
    #[must_use]
    pub fn of_user_code(&self) -> Self {
        self.of_user_code_with_rows().0
    }

    /// Like [`Self::of_user_code`], with the place there of each stack, by [`StackRow`].
    #[must_use]
    pub fn of_user_code_with_rows(&self) -> (Self, Vec<StackRow>) {
        let mut folded = Self::default();
        let mut frames: Vec<Option<FrameRow>> = vec![None; self.frames.len()];
        // By stack: the folded one, and whether it holds nothing but the outermost line of a library.
        let mut rows = vec![(StackRow::ROOT, false)];
        for stack in self.stacks() {
            let (parent, is_library) = rows[self.parent(stack).index()];
            let (base, is_library) = match self.frame_of(stack) {
                StackFrame::Line(line) if line.is_user_code => {
                    (if is_library { StackRow::ROOT } else { parent }, false)
                }
                StackFrame::Line(_) if parent == StackRow::ROOT => (parent, true),
                StackFrame::Line(_) => {
                    rows.push((parent, is_library));
                    continue;
                }
                _ => (parent, is_library),
            };
            let innermost = self.innermost(stack).index();
            let frame = *frames[innermost].get_or_insert_with(|| {
                let frame = folded.frame(self.frames[innermost].clone());
                folded.add_evidence(frame, self.evidence[innermost]);
                frame
            });
            rows.push((folded.push(base, frame), is_library));
        }
        let rows: Vec<StackRow> = rows.into_iter().map(|(row, _)| row).collect();
        folded.add_all(self, &rows);
        (folded, rows)
    }

    /// Adds the amounts of `other`, whose stacks are `rows` here.
    fn add_all(&mut self, other: &Self, rows: &[StackRow]) {
        for (&kept, column) in &other.amounts {
            for (&row, &amount) in rows.iter().zip(column) {
                self.add(kept, row, amount);
            }
        }
        for (&row, &events) in rows.iter().zip(&other.events) {
            self.count(row, events);
        }
        self.has_steps |= other.has_steps;
        for (step, metric, stack, amount) in other.in_steps() {
            self.add_in_step(step, metric, rows[stack.index()], amount);
        }
    }

    /// How many stacks there are, the root included.
    #[expect(clippy::len_without_is_empty, reason = "there always is the root")]
    #[must_use]
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// All stacks but the root, parents first.
    pub fn stacks(&self) -> impl DoubleEndedIterator<Item = StackRow> + use<> {
        (1..self.len()).map(|index| StackRow(u32::try_from(index).unwrap_or(u32::MAX)))
    }

    /// The stack without its innermost entry; of the root the root.
    #[must_use]
    pub fn parent(&self, stack: StackRow) -> StackRow {
        self.parent[stack.index()]
    }

    /// The row of the innermost entry of a stack, which is not the root.
    #[must_use]
    pub fn innermost(&self, stack: StackRow) -> FrameRow {
        self.frame[stack.index()]
    }

    /// The innermost entry of a stack, which is not the root.
    #[must_use]
    pub fn frame_of(&self, stack: StackRow) -> &StackFrame {
        &self.frames[self.frame[stack.index()].index()]
    }

    /// The stack, then the stacks without its innermost entries; not the root.
    pub fn outwards(&self, stack: StackRow) -> impl Iterator<Item = StackRow> {
        let parents = std::iter::successors(Some(stack), |it| Some(self.parent(*it)));
        parents.take_while(|it| *it != StackRow::ROOT)
    }

    /// The entries of a stack, outermost first.
    #[must_use]
    pub fn entries(&self, stack: StackRow) -> Vec<FrameRow> {
        let mut entries: Vec<FrameRow> =
            self.outwards(stack).map(|it| self.innermost(it)).collect();
        entries.reverse();
        entries
    }

    /// All distinct frames with the weakest evidence of each, by [`FrameRow`].
    pub fn frames(&self) -> impl Iterator<Item = (&StackFrame, Evidence)> {
        self.frames.iter().zip(self.evidence.iter().copied())
    }

    /// The rows of all distinct frames, in the order of [`Self::frames`].
    pub fn frame_rows(&self) -> impl Iterator<Item = FrameRow> + use<> {
        (0..self.frames.len()).map(|row| FrameRow(u32::try_from(row).unwrap_or(u32::MAX)))
    }

    /// What is on a stack itself, in nanoseconds or bytes.
    #[must_use]
    pub fn amount(&self, kept: impl Into<StackAmount>, stack: StackRow) -> i64 {
        self.amounts.get(&kept.into()).and_then(|it| it.get(stack.index())).copied().unwrap_or(0)
    }

    /// How many events the innermost entry of a stack stands for; 0 of lines.
    #[must_use]
    pub fn events(&self, stack: StackRow) -> u64 {
        self.events.get(stack.index()).copied().unwrap_or(0)
    }

    /// The sum over all stacks, in nanoseconds or bytes.
    #[must_use]
    pub fn total(&self, kept: impl Into<StackAmount>) -> i64 {
        let column = self.amounts.get(&kept.into());
        column.into_iter().flatten().fold(0, |sum, it| sum.saturating_add(*it))
    }

    /// What is on each stack and on all below it, by [`StackRow`].
    #[must_use]
    pub fn inclusive(&self, metric: Metric) -> Vec<i64> {
        let mut amounts: Vec<i64> = self.amounts.get(&metric.into()).cloned().unwrap_or_default();
        amounts.resize(self.len(), 0);
        for stack in self.stacks().rev() {
            let amount = amounts[stack.index()];
            let parent = &mut amounts[self.parent(stack).index()];
            *parent = parent.saturating_add(amount);
        }
        amounts
    }

    /// The stacks that have an amount of their own, depth first, of siblings the one with the larger sum first: as a flame
    /// graph shows them from left to right. What is on a stack itself comes before what is below it.
    #[must_use]
    pub fn in_order(&self, metric: Metric) -> Vec<StackRow> {
        let inclusive = self.inclusive(metric);
        let mut children: Vec<Vec<StackRow>> = vec![Vec::new(); self.len()];
        for stack in self.stacks().filter(|stack| inclusive[stack.index()] != 0) {
            children[self.parent(stack).index()].push(stack);
        }
        // The last one of the list is taken first; of equal ones the one that was seen first.
        children.iter_mut().for_each(|it| {
            it.sort_by_key(|stack| (inclusive[stack.index()], std::cmp::Reverse(*stack)));
        });
        let mut ordered = Vec::new();
        let mut open = std::mem::take(&mut children[StackRow::ROOT.index()]);
        while let Some(stack) = open.pop() {
            if self.amount(metric, stack) != 0 {
                ordered.push(stack);
            }
            open.append(&mut children[stack.index()]);
        }
        ordered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(file: &str, line: u32, is_user_code: bool) -> StackFrame {
        let key = LineKey { file: file.to_owned(), line };
        StackFrame::Line(FramedLine { key, function: String::new(), is_user_code })
    }

    fn operator(name: &str) -> StackFrame {
        StackFrame::Operator(name.to_owned())
    }

    /// Adds thread time to a stack.
    fn add(books: &mut StackBooks, frames: &[StackFrame], amount: i64) {
        let mut stack = StackRow::ROOT;
        for frame in frames {
            let frame = books.frame(frame.clone());
            stack = books.push(stack, frame);
        }
        books.add(Metric::Cpu, stack, amount);
    }

    /// Stacks as text with their thread time, in order.
    fn text(books: &StackBooks) -> Vec<(String, i64)> {
        let name = |frame: &StackFrame| match frame {
            StackFrame::Line(it) => format!("{}:{}", it.key.file, it.key.line),
            StackFrame::NoLine(reason) => reason.name().to_owned(),
            StackFrame::Call(it)
            | StackFrame::Operator(it)
            | StackFrame::Runtime(it)
            | StackFrame::Device(it) => it.clone(),
            StackFrame::SizedOperator(it) => it.to_string(),
        };
        let names: Vec<String> = books.frames().map(|(frame, _)| name(frame)).collect();
        let stacks = books.in_order(Metric::Cpu).into_iter().map(|stack| {
            let entries = books.entries(stack);
            let entries: Vec<&str> = entries.iter().map(|it| &*names[it.index()]).collect();
            (entries.join(";"), books.amount(Metric::Cpu, stack))
        });
        stacks.collect()
    }

    fn books() -> StackBooks {
        let (main, model) = (line("train.py", 3, true), line("model.py", 7, true));
        let (start, torch) = (line("threading.py", 1, false), line("torch.py", 9, false));
        let mut books = StackBooks::default();
        add(&mut books, &[main.clone(), torch.clone(), operator("add")], 5);
        add(&mut books, &[main.clone(), torch.clone(), model.clone()], 20);
        add(&mut books, &[main], 1);
        add(&mut books, &[start.clone(), torch.clone()], 4);
        add(&mut books, std::slice::from_ref(&start), 2);
        add(&mut books, &[start, torch, model, operator("mul")], 8);
        add(&mut books, &[StackFrame::NoLine(Reason::NoPythonFrame), operator("add")], 3);
        books
    }

    fn expected(rows: &[(&str, i64)]) -> Vec<(String, i64)> {
        rows.iter().map(|(stack, amount)| ((*stack).to_owned(), *amount)).collect()
    }

    #[test]
    fn stacks_are_in_the_order_of_a_flame_graph() {
        let rows = [
            ("train.py:3", 1),
            ("train.py:3;torch.py:9;model.py:7", 20),
            ("train.py:3;torch.py:9;add", 5),
            ("threading.py:1", 2),
            ("threading.py:1;torch.py:9", 4),
            ("threading.py:1;torch.py:9;model.py:7;mul", 8),
            ("no_python_frame;add", 3),
        ];
        assert_eq!(text(&books()), expected(&rows));
        assert_eq!(books().total(Metric::Cpu), 43);
        assert_eq!(books().total(Metric::Cuda), 0);
    }

    #[test]
    fn libraries_fold_into_the_user_code_that_called_them() {
        let rows = [
            ("train.py:3", 1),
            ("train.py:3;model.py:7", 20),
            ("train.py:3;add", 5),
            ("model.py:7;mul", 8),
            // Without user code the outermost line is charged.
            ("threading.py:1", 6),
            ("no_python_frame;add", 3),
        ];
        assert_eq!(text(&books().of_user_code()), expected(&rows));
    }

    #[test]
    fn merged_books_add_up_and_keep_the_weakest_evidence() {
        let (mut sum, mut other) = (books(), books());
        let main = other.frame(line("train.py", 3, true));
        other.add_evidence(main, Evidence::Inferred);
        add(&mut other, &[line("new.py", 1, true)], 100);
        sum.merge(&other);
        let mut twice: Vec<(String, i64)> =
            text(&books()).into_iter().map(|(stack, amount)| (stack, 2 * amount)).collect();
        twice.insert(0, ("new.py:1".to_owned(), 100));
        assert_eq!(text(&sum), twice);
        let weakest: Vec<Evidence> = sum.frames().map(|(_, evidence)| evidence).collect();
        assert_eq!(weakest[0], Evidence::Inferred);
        assert!(weakest[1..].iter().all(|it| *it == Evidence::Exact));
    }
}
