//! The flame graph: whole stacks as the object `perfline.flame/1` (docs/pictures.md), which the page of the report and editors
//! draw. It holds the lines of libraries too; what draws it folds them.

use ledger::{Evidence, Metric};
use loader::StackBooks;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use stack_books::{StackFrame, StackRow};

use crate::export::fitting;
use crate::frame_table::{FrameTable, KINDS, SMALLER};
use crate::recording::Recording;
use crate::terminal::clean;

/// The smallest share of what is shown in a page, which is one file that is sent around.
pub const PAGE_MIN_SHARE: f64 = 0.0001;
/// The smallest share of what is shown elsewhere: a recording has up to a million stacks, and a picture some thousand pixels.
pub const EDITOR_MIN_SHARE: f64 = 0.000_01;

/// The stacks `books` of a recording. What is below `min_share` (of 1) of the total of every metric is summed below its parent
/// in one frame, so that nothing is lost of any sum; nothing is summed with 0.
#[must_use]
pub fn flame(recording: &Recording<'_>, books: &StackBooks, title: &str, min_share: f64) -> Value {
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
        let mut graph = flame(&recording, books, "trace.json.gz", 0.0);
        graph["kinds"].take();
        expect![[r#"{"frames":{"evidence":[0,1,0,0,0,0,0],"file":[2,2,5,0,0,0,0],"kind":[0,0,1,4,6,2,6],"line":[25,17,114,0,0,0,0],"name":[1,3,4,6,7,8,9]},"kinds":null,"leftOut":0,"metrics":[{"amount":[70000,5],"id":"cuda","label":"CUDA time","node":[5,7],"total":70005,"unit":"ns"},{"amount":[100,20,7,3000],"id":"cpu","label":"thread time","node":[1,2,3,4],"total":3127,"unit":"ns"},{"amount":[64],"id":"alloc","label":"allocated bytes","node":[4],"total":64,"unit":"bytes"}],"minShare":0.0,"nodes":{"frame":[0,0,1,2,3,4,5,6],"parent":[0,0,1,2,3,4,0,6]},"schema":"perfline.flame/1","strings":["","train","train.py","Model.forward","Linear.forward","torch/nn/modules/linear.py","aten::addmm","void gemm<float; 4>(�[2J)","[not on a line: no_launch]","Memcpy DtoH"],"title":"trace.json.gz"}"#]].assert_eq(&graph.to_string());
    }

    #[test]
    fn what_is_too_small_is_summed_below_its_parent() {
        let (run, sources) = (training_with_stacks(), sources());
        let recording = recording(&run, &sources);
        let books = run.stacks.as_ref().unwrap();
        let graph = flame(&recording, books, "", 0.1);
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
