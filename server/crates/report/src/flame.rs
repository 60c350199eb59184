//! The flame graph: whole stacks as the object `perfline.flame/1` (docs/pictures.md), which the page of the report and editors
//! draw. It holds the lines of libraries too; what draws it folds them.

use std::borrow::Cow;

use ledger::{Evidence, Metric};
use loader::StackBooks;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use stack_books::{StackFrame, StackRow};

use crate::export::fitting;
use crate::filter::{CodeFilter, StackFilter, part_of};
use crate::frame_table::{FrameTable, KINDS, SMALLER};
use crate::part::RecordingPart;
use crate::recording::Recording;
use crate::terminal::clean;

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

/// The stacks of a recording. What is below `min_share` (of 1) of the total of every metric is summed below its parent
/// in one frame, so that nothing is lost of any sum; nothing is summed with 0.
#[must_use]
pub fn flame(
    recording: &Recording<'_>,
    stacks: &FlameStacks<'_>,
    title: &str,
    min_share: f64,
) -> Value {
    let books = &*stacks.books;
    let first = fitting(&recording.run.merged);
    let others = StackBooks::METRICS.into_iter().filter(|it| *it != first);
    let metrics: Vec<Metric> =
        [first].into_iter().chain(others).filter(|it| books.total(*it) != 0).collect();
    let mut tree = ShownStacks::new(recording);
    let is_shown = shown(books, &metrics, min_share);
    // By stack of the books: the node that has its amounts.
    let mut node = vec![0_u32; books.len()];
    let mut left_out = 0_u32;
    let frames: Vec<(&StackFrame, Evidence)> = books.frames().collect();
    for stack in books.stacks() {
        let parent = books.parent(stack);
        node[stack.index()] = match is_shown[stack.index()] {
            Fit::Shown => {
                let frame = books.innermost(stack);
                let (entry, evidence) = frames[frame.index()];
                let row = tree.frames.frame(frame.index(), entry, evidence);
                tree.push(node[parent.index()], row)
            }
            Fit::Smaller => {
                left_out += 1;
                match is_shown[parent.index()] {
                    Fit::Smaller => node[parent.index()],
                    _ => tree.smaller(node[parent.index()]),
                }
            }
            Fit::Nothing => 0,
        };
    }
    let metrics: Vec<Value> = metrics.iter().map(|&it| column(books, it, &node)).collect();
    json!({
        "schema": "perfline.flame/1",
        "title": clean(title),
        "part": stacks.part.as_deref().map(clean),
        "kinds": KINDS,
        "strings": tree.frames.strings(),
        "frames": tree.frames.columns(),
        "nodes": {"parent": tree.node_parent, "frame": tree.node_frame},
        "metrics": metrics,
        "minShare": min_share,
        "leftOut": left_out,
    })
}

/// The amounts of a metric on the nodes themselves.
fn column(books: &StackBooks, metric: Metric, node: &[u32]) -> Value {
    let n_nodes = node.iter().max().map_or(1, |it| *it as usize + 1);
    let mut amounts = vec![0_i64; n_nodes];
    for stack in books.stacks() {
        let sum = &mut amounts[node[stack.index()] as usize];
        *sum = sum.saturating_add(books.amount(metric, stack));
    }
    let (nodes, amounts): (Vec<usize>, Vec<i64>) =
        amounts.into_iter().enumerate().filter(|(_, it)| *it != 0).unzip();
    json!({
        "id": metric.id(),
        "label": metric.label(),
        "unit": metric.unit().name(),
        "total": books.total(metric),
        "node": nodes,
        "amount": amounts,
    })
}

/// Whether a stack has a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    Shown,
    /// It is summed with others.
    Smaller,
    /// There is no amount on it or below it.
    Nothing,
}

/// By stack. What is below a stack that is not shown is not shown either.
fn shown(books: &StackBooks, metrics: &[Metric], min_share: f64) -> Vec<Fit> {
    let mut fits = vec![Fit::Nothing; books.len()];
    for &metric in metrics {
        let least = min_share * books.total(metric) as f64;
        for (fit, amount) in fits.iter_mut().zip(books.inclusive(metric)) {
            match amount {
                0 => {}
                it if least <= it as f64 => *fit = Fit::Shown,
                _ if *fit == Fit::Nothing => *fit = Fit::Smaller,
                _ => {}
            }
        }
    }
    fits[StackRow::ROOT.index()] = Fit::Shown;
    fits
}

/// The nodes and frames that are shown, as columns.
struct ShownStacks<'a> {
    frames: FrameTable<'a>,
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
            smaller: None,
            smaller_nodes: FxHashMap::default(),
            node_parent: vec![0],
            node_frame: vec![0],
        }
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
        let mut graph = flame(&recording, &stacks, "trace.json.gz", 0.0);
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
        let graph = flame(&recording, &stacks, "", 0.0);
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
        let graph = flame(&recording, &stacks, "", 0.1);
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
