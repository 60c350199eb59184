//! The flame graph: whole stacks as the object `perfline.flame/1` (docs/pictures.md), which the page of the report and editors
//! draw; of two runs with the amounts of both. It holds the lines of libraries too; what draws it folds them.

mod stack_tree;

use std::borrow::Cow;

use comparison::{Difference, LeastDifference};
use ledger::Evidence;
use loader::StackBooks;
use metrics::{Period, Scale};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use stack_books::{StackAmount, StackFrame};

use crate::export::fitting;
use crate::filter::{CodeFilter, StackFilter, part_of};
use crate::frame_table::{FrameTable, KINDS, SMALLER};
use crate::part::RecordingPart;
use crate::recording::Recording;
use crate::terminal::clean;

use stack_tree::{AlignedFrames, StackTree, TreeFrame, quantities};

/// The smallest share of what is shown in a page, which is one file that is sent around.
pub const PAGE_MIN_SHARE: f64 = 0.0001;
/// The smallest share of what is shown elsewhere: a recording has up to a million stacks, and a picture some thousand pixels.
pub const EDITOR_MIN_SHARE: f64 = 0.000_01;

/// The stacks that a flame graph shows.
#[derive(Debug, Clone)]
pub struct FlameStacks<'a> {
    books: Cow<'a, StackBooks>,
    /// Which part of the recording they are: `with --phase backward: 1.2 ms of 5 ms of thread time`; `None` for all of it.
    part: Option<String>,
}

/// The run that a flame graph compares with.
#[derive(Clone, Copy)]
pub struct FlameBase<'a> {
    /// What it is.
    pub recording: &'a Recording<'a>,
    /// What it is called.
    pub title: &'a str,
    /// All of its stacks.
    pub books: &'a StackBooks,
    /// The comparison of it with the run that is shown.
    pub difference: &'a Difference,
}

impl<'a> FlameStacks<'a> {
    /// Of the stacks `books` of a recording, or of the `part` that is in its place, those on which a line passes `code`.
    #[must_use]
    pub fn new(
        recording: &Recording<'_>,
        books: &'a StackBooks,
        code: &CodeFilter,
        part: Option<&RecordingPart>,
    ) -> Self {
        let filter = StackFilter { code: code.clone(), ..StackFilter::default() };
        let books = if filter.is_empty() {
            Cow::Borrowed(books)
        } else {
            Cow::Owned(filter.apply(books, &recording.names))
        };
        let whole = part.map_or(&recording.run.merged, |it| &it.whole);
        let texts = [code.text(), part.map_or_else(String::new, |it| it.text.clone())];
        let texts: Vec<&str> = texts.iter().map(|it| &**it).filter(|it| !it.is_empty()).collect();
        let is_part = !texts.is_empty();
        let part = is_part.then(|| format!("with {}: {}", texts.join(" "), part_of(&books, whole)));
        Self { books, part }
    }

    /// The same, of which is known that they are of a rank.
    #[must_use]
    pub fn of_rank(self, rank: Option<u32>) -> Self {
        let Some(rank) = rank else { return self };
        let part = match self.part {
            Some(part) => format!("of rank {rank} {part}"),
            None => format!("of rank {rank}"),
        };
        Self { part: Some(part), ..self }
    }
}

/// The stacks of a recording, beside all of those of `base` if there is one. What is below `min_share` (of 1) of the total of every
/// metric, of both runs, is summed below its parent in one frame, so that nothing is lost of any sum; nothing is summed with 0.
#[must_use]
pub fn flame(
    recording: &Recording<'_>,
    stacks: &FlameStacks<'_>,
    base: Option<FlameBase<'_>>,
    title: &str,
    min_share: f64,
) -> Value {
    let books = &*stacks.books;
    let aligned = base.map(|it| AlignedFrames::new([books, it.books], it.difference));
    let tree = match (&base, &aligned) {
        (Some(base), Some(aligned)) => StackTree::of_two([books, base.books], aligned),
        _ => StackTree::of_run(books),
    };
    let first = fitting(&recording.run.merged);
    let others = StackBooks::METRICS.into_iter().filter(|it| *it != first);
    let compared = [first].into_iter().chain(others).map(StackAmount::Of);
    // Peaks are no amounts of a mean step.
    let peak = base.is_none().then_some(StackAmount::Peak);
    let is_there = |it: &StackAmount| {
        books.total(*it) != 0 || base.is_some_and(|base| base.books.total(*it) != 0)
    };
    let metrics: Vec<FlameMetric> = compared
        .chain(peak)
        .filter(is_there)
        .map(|kept| {
            let sides = [Some(false), base.map(|_| true)].into_iter().flatten();
            FlameMetric { kept, amounts: sides.map(|it| tree.amounts(it, kept)).collect() }
        })
        .collect();
    let mut shown = ShownStacks::new(recording);
    let fits = fits(&tree, &metrics, min_share);
    // By node of the tree: the node that has its amounts.
    let mut node = vec![0_u32; tree.len()];
    let mut left_out = 0_u32;
    let sides = [Some((recording, books)), base.map(|it| (it.recording, it.books))];
    let frames = sides
        .map(|side| side.map(|(recording, books)| (recording, books.frames().collect::<Vec<_>>())));
    for (place, parent, frame) in tree.nodes() {
        node[place] = match fits[place] {
            Fit::Shown => {
                let Some((named_by, rows)) = &frames[usize::from(frame.is_gone)] else { continue };
                let row = shown.frame(frame, named_by, rows[frame.row.index()]);
                shown.push(node[parent], row)
            }
            Fit::Smaller => {
                left_out += 1;
                match fits[parent] {
                    Fit::Smaller => node[parent],
                    _ => shown.smaller(node[parent]),
                }
            }
            Fit::Nothing => 0,
        };
    }
    let n_nodes = shown.node_parent.len();
    let columns = metrics.iter().map(|it| {
        let mut column = it.column(&node, n_nodes);
        if let (Some(base), StackAmount::Of(metric)) = (&base, it.kept) {
            let compared = quantities(metric);
            let differing = tree.differing(base.difference, compared);
            let least = base.difference.least(compared[0]);
            column["base"] = it.compared(least, &differing, &node, n_nodes);
        }
        column
    });
    let columns: Vec<Value> = columns.collect();
    let compared = base.zip(aligned).map(|(base, aligned)| {
        let steps = [base.recording, recording]
            .map(|it| Scale::new(&it.run.merged, Period::Mean).n_steps());
        shown.base(&base, &aligned, steps)
    });
    let mut graph = json!({
        "schema": "perfline.flame/1",
        "title": clean(title),
        "part": stacks.part.as_deref().map(clean),
        "kinds": KINDS,
        "strings": shown.frames.strings(),
        "frames": shown.frames.columns(),
        "nodes": {"parent": shown.node_parent, "frame": shown.node_frame},
        "metrics": columns,
        "minShare": min_share,
        "leftOut": left_out,
    });
    if let Some(base) = compared {
        graph["base"] = base;
    }
    graph
}

/// An amount that is shown.
struct FlameMetric {
    kept: StackAmount,
    /// Of the run that is shown and of its base: by node of the tree, what is on it itself.
    amounts: Vec<Vec<i64>>,
}

impl FlameMetric {
    /// The amounts of a run on the nodes that are shown.
    fn amounts(&self, side: usize, node: &[u32], n_nodes: usize) -> (Vec<usize>, Vec<i64>, i64) {
        let mut sums = vec![0_i64; n_nodes];
        let mut total = 0_i64;
        for (&node, &amount) in node.iter().zip(self.amounts.get(side).into_iter().flatten()) {
            let sum = &mut sums[node as usize];
            *sum = sum.saturating_add(amount);
            total = total.saturating_add(amount);
        }
        let (nodes, amounts) = sums.into_iter().enumerate().filter(|(_, it)| *it != 0).unzip();
        (nodes, amounts, total)
    }

    /// What is said of it, of the run that is shown.
    fn column(&self, node: &[u32], n_nodes: usize) -> Value {
        let (nodes, amounts, total) = self.amounts(0, node, n_nodes);
        json!({
            "id": self.kept.id(),
            "label": self.kept.label(),
            "unit": self.kept.unit().name(),
            "total": total,
            "node": nodes,
            "amount": amounts,
        })
    }

    /// What is said of it in the base, and on which nodes something differs by `least` at least, as `differing` says by node of the tree.
    fn compared(
        &self,
        least: LeastDifference,
        differing: &[bool],
        node: &[u32],
        n_nodes: usize,
    ) -> Value {
        let (nodes, amounts, total) = self.amounts(1, node, n_nodes);
        let mut differs = vec![false; n_nodes];
        for (place, (&node, is_differing)) in node.iter().zip(differing).enumerate() {
            let is_there = self.amounts.iter().any(|it| it[place] != 0);
            differs[node as usize] |= *is_differing && is_there;
        }
        let differs = differs.iter().enumerate().filter(|(_, it)| **it).map(|(node, _)| node);
        json!({
            "total": total,
            "node": nodes,
            "amount": amounts,
            "differs": differs.collect::<Vec<_>>(),
            "least": least.amount,
            "leastShare": least.share,
        })
    }
}

/// Whether a node of the tree is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    Shown,
    /// It is summed with others.
    Smaller,
    /// There is no amount on it or below it.
    Nothing,
}

/// By node. What is below a node that is not shown is not shown either.
fn fits(tree: &StackTree<'_>, metrics: &[FlameMetric], min_share: f64) -> Vec<Fit> {
    let mut fits = vec![Fit::Nothing; tree.len()];
    for amounts in metrics.iter().flat_map(|it| &it.amounts) {
        let sums = tree.inclusive(amounts);
        let least = min_share * sums[0] as f64;
        for (fit, amount) in fits.iter_mut().zip(sums) {
            match amount {
                0 => {}
                it if least <= it as f64 => *fit = Fit::Shown,
                _ if *fit == Fit::Nothing => *fit = Fit::Smaller,
                _ => {}
            }
        }
    }
    fits[0] = Fit::Shown;
    fits
}

/// The nodes and frames that are shown, as columns.
struct ShownStacks<'a> {
    frames: FrameTable<'a>,
    /// Rows of frames of the tree.
    rows: FxHashMap<TreeFrame, usize>,
    smaller: Option<usize>,
    smaller_nodes: FxHashMap<u32, u32>,
    node_parent: Vec<u32>,
    node_frame: Vec<usize>,
}

impl<'a> ShownStacks<'a> {
    /// The root alone.
    fn new(recording: &'a Recording<'a>) -> Self {
        Self {
            frames: FrameTable::new(recording),
            rows: FxHashMap::default(),
            smaller: None,
            smaller_nodes: FxHashMap::default(),
            node_parent: vec![0],
            node_frame: vec![0],
        }
    }

    /// The row of a frame, whose file is named as in a recording.
    fn frame(
        &mut self,
        frame: TreeFrame,
        named_by: &Recording<'_>,
        (entry, evidence): (&StackFrame, Evidence),
    ) -> usize {
        let Self { rows, frames, .. } = self;
        *rows.entry(frame).or_insert_with(|| frames.push(named_by, entry, evidence))
    }

    fn push(&mut self, parent: u32, frame: usize) -> u32 {
        self.node_parent.push(parent);
        self.node_frame.push(frame);
        u32::try_from(self.node_parent.len() - 1).unwrap_or(u32::MAX)
    }

    /// The node below `parent` that stands for what is too small.
    fn smaller(&mut self, parent: u32) -> u32 {
        if let Some(node) = self.smaller_nodes.get(&parent) {
            return *node;
        }
        let frame = match self.smaller {
            Some(frame) => frame,
            None => self.frames.add("[smaller]", SMALLER, None, Evidence::Exact),
        };
        self.smaller = Some(frame);
        let node = self.push(parent, frame);
        self.smaller_nodes.insert(parent, node);
        node
    }

    /// What is said of the base: which frames it alone has, and where lines were in it that stand elsewhere now.
    fn base(&mut self, base: &FlameBase<'_>, aligned: &AlignedFrames, steps: [u64; 2]) -> Value {
        let mut rows: Vec<(TreeFrame, usize)> =
            self.rows.iter().map(|(it, row)| (*it, *row)).collect();
        rows.sort_unstable_by_key(|(_, row)| *row);
        let gone: Vec<usize> =
            rows.iter().filter(|(it, _)| it.is_gone).map(|(_, row)| *row).collect();
        let lines = aligned.base_lines(base.books);
        let (mut frames, mut files, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        for (frame, row) in &rows {
            let before = lines.get(frame).into_iter().flatten();
            let places: Vec<(usize, u32)> = before
                .map(|it| (self.frames.string(base.recording.file(&it.file)), it.line))
                .collect();
            if let Some(&(file, line)) = places.first()
                && !places.contains(&self.frames.place(*row))
            {
                frames.push(*row);
                files.push(file);
                numbers.push(line);
            }
        }
        json!({
            "title": clean(base.title),
            "steps": steps,
            "isTested": base.difference.step.significant.is_some(),
            "gone": gone,
            "was": {"frame": frames, "file": files, "line": numbers},
        })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::testing::{recording, sources, training_with_stacks};

    #[test]
    fn nodes_have_the_amounts_of_their_stacks() {
        let (run, sources) = (training_with_stacks(), sources());
        let recording = recording(&run, &sources);
        let books = run.stacks.as_ref().unwrap();
        let stacks = FlameStacks::new(&recording, books, CodeFilter::ALL, None);
        let mut graph = flame(&recording, &stacks, None, "trace.json.gz", 0.0);
        graph["kinds"].take();
        expect![[r#"{"frames":{"evidence":[0,1,0,0,0,0,0],"file":[2,2,5,0,0,0,0],"kind":[0,0,1,4,6,2,6],"line":[25,17,114,0,0,0,0],"name":[1,3,4,6,7,8,9]},"kinds":null,"leftOut":0,"metrics":[{"amount":[70000,5],"id":"cuda","label":"CUDA time","node":[5,7],"total":70005,"unit":"ns"},{"amount":[100,20,7,3000],"id":"cpu","label":"thread time","node":[1,2,3,4],"total":3127,"unit":"ns"},{"amount":[64],"id":"alloc","label":"allocated bytes","node":[4],"total":64,"unit":"bytes"}],"minShare":0.0,"nodes":{"frame":[0,0,1,2,3,4,5,6],"parent":[0,0,1,2,3,4,0,6]},"part":null,"schema":"perfline.flame/1","strings":["","train","train.py","Model.forward","Linear.forward","torch/nn/modules/linear.py","aten::addmm","void gemm<float; 4>(�[2J)","[not on a line: no_launch]","Memcpy DtoH"],"title":"trace.json.gz"}"#]].assert_eq(&graph.to_string());
    }

    #[test]
    fn stacks_of_some_files_say_how_much_of_the_recording_they_are() {
        let (run, sources) = (training_with_stacks(), sources());
        let recording = recording(&run, &sources);
        let books = run.stacks.as_ref().unwrap();
        let code = CodeFilter { files: vec!["train.py".parse().unwrap()], functions: Vec::new() };
        let stacks = FlameStacks::new(&recording, books, &code, None);
        let graph = flame(&recording, &stacks, None, "", 0.0);
        expect![
            "with --file 'train.py': 3.13 µs of 20.5 ms of thread time, 70 µs of 24 ms of CUDA time"
        ]
        .assert_eq(graph["part"].as_str().unwrap());
        let cuda = graph["metrics"].as_array().unwrap().iter().find(|it| it["id"] == "cuda");
        assert_eq!(cuda.unwrap()["total"], 70_000);
    }

    #[test]
    fn what_is_too_small_is_summed_below_its_parent() {
        let (run, sources) = (training_with_stacks(), sources());
        let recording = recording(&run, &sources);
        let books = run.stacks.as_ref().unwrap();
        let stacks = FlameStacks::new(&recording, books, CodeFilter::ALL, None);
        let graph = flame(&recording, &stacks, None, "", 0.1);
        assert_eq!(graph["leftOut"], 2);
        let names = &graph["strings"];
        assert!(names.as_array().unwrap().iter().any(|it| it == "[smaller]"), "{names}");
        for metric in graph["metrics"].as_array().unwrap() {
            let sum: i64 =
                metric["amount"].as_array().unwrap().iter().filter_map(Value::as_i64).sum();
            assert_eq!(metric["total"], sum, "{metric}");
        }
    }
}
