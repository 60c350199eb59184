//! Which operations of a graph each call in generated code computes. Neither names the other; what is computed from what is the same in
//! both.
//!
//! Inputs have the same names, and values are returned in the same order. A call of a library is the node with its operator that
//! reads the same values. A kernel that was generated computes what lies in the graph between what it reads and what it writes.

use std::cell::Cell;
use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::aot_graph::{AotGraph, GraphNode};
use crate::wrapper::{ValueId, ValueSource, Wrapper, WrapperCall};

/// Operators that call a library in the same way but for what is added to the result.
const PRODUCTS: [&[&str]; 2] = [&["mm", "addmm", "bias_addmm"], &["bmm", "baddbmm"]];

/// Operators whose result may be their argument.
const COPIES: [&str; 3] = ["clone", "_to_copy", "copy"];

/// Operators that end a loop: what reads their result is mostly another kernel.
const REDUCTIONS: [&str; 19] = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "logsumexp",
    "max",
    "mean",
    "min",
    "prod",
    "sort",
    "std",
    "sum",
    "var",
    "var_mean",
    "welford",
];

/// Nodes that are looked at in all, so that no graph takes long: about a second of work. What is not understood by then stays unknown.
const MAX_STEPS: u64 = 20_000_000;

/// By call, the nodes that it computes, in the order of the graph; empty where that is not known.
pub(crate) fn nodes_of_calls(graph: &AotGraph, wrapper: &Wrapper) -> Vec<Vec<usize>> {
    let mut flow = Dataflow::new(graph, wrapper);
    // Each round may say more of the values that the next one begins with.
    while flow.find_libraries() || flow.find_between_kernels() {}
    (0..wrapper.calls.len()).map(|call| flow.nodes_of(call)).collect()
}

/// The operators that a call of `operator` may be in the graph.
fn alike(operator: &str) -> Vec<&str> {
    let products = PRODUCTS.iter().find(|it| it.contains(&operator));
    products.map_or_else(|| vec![operator], |it| it.to_vec())
}

struct Dataflow<'a> {
    graph: &'a AotGraph,
    wrapper: &'a Wrapper,
    /// By value, the nodes whose result it may hold, views left out; empty of one that is not known.
    nodes: Vec<Vec<usize>>,
    /// By call of a library, its node.
    library: Vec<Option<usize>>,
    /// By node, whether a call of a library is it.
    is_taken: Vec<bool>,
    /// The operators that are calls of libraries.
    of_libraries: FxHashSet<&'a str>,
    /// The nodes with an operator.
    by_operator: FxHashMap<&'a str, Vec<usize>>,
    /// By number of the whole value, the items of it that are used, with their numbers.
    items: FxHashMap<ValueId, Vec<(ValueId, u32)>>,
    /// By value, the calls that read it.
    readers: Vec<Vec<usize>>,
    /// Nodes that may still be looked at.
    steps: Cell<u64>,
}

impl<'a> Dataflow<'a> {
    fn new(graph: &'a AotGraph, wrapper: &'a Wrapper) -> Self {
        let mut flow = Self {
            graph,
            wrapper,
            nodes: vec![Vec::new(); wrapper.values.len()],
            library: vec![None; wrapper.calls.len()],
            is_taken: vec![false; graph.nodes.len()],
            of_libraries: wrapper.calls.iter().map(|it| it.operator.as_str()).collect(),
            by_operator: FxHashMap::default(),
            items: FxHashMap::default(),
            readers: vec![Vec::new(); wrapper.values.len()],
            steps: Cell::new(MAX_STEPS),
        };
        for (at, node) in graph.nodes.iter().enumerate() {
            flow.by_operator.entry(&node.operator).or_default().push(at);
        }
        for (at, call) in wrapper.calls.iter().enumerate() {
            call.reads.iter().for_each(|&it| flow.readers[it].push(at));
        }
        for (value, source) in wrapper.values.iter().enumerate() {
            match source {
                ValueSource::Input(name) => {
                    let input = graph.inputs.iter().find(|&&it| graph.nodes[it].name == *name);
                    flow.nodes[value].extend(input);
                }
                ValueSource::Call { over: Some(over), .. } => {
                    let copied = flow.copied_over(*over);
                    flow.nodes[value].extend(copied);
                }
                ValueSource::Item { of, item } => {
                    flow.items.entry(*of).or_default().push((value, *item));
                }
                ValueSource::Call { over: None, .. } => {}
            }
        }
        if wrapper.outputs.len() == graph.outputs.len() {
            for (value, node) in wrapper.outputs.iter().zip(&graph.outputs) {
                let (Some(value), Some(node)) = (*value, *node) else { continue };
                let root = flow.root(node);
                if flow.nodes[value].is_empty() && !graph.nodes[root].is_input {
                    flow.nodes[value].push(root);
                }
            }
        }
        flow
    }

    fn root(&self, node: usize) -> usize {
        self.graph.nodes[node].root
    }

    /// What is copied over an input in the end.
    fn copied_over(&self, value: ValueId) -> Option<usize> {
        let [input] = self.nodes[value][..] else { return None };
        let copies = self.by_operator.get("copy_")?;
        let mut copies = copies.iter().map(|&it| &self.graph.nodes[it]);
        let copy =
            copies.find(|it| it.arguments.first().is_some_and(|&it| self.root(it) == input))?;
        copy.arguments.get(1).map(|&it| self.root(it)).filter(|_| self.graph.nodes[input].is_input)
    }

    /// Finds nodes of calls of libraries; whether one was found.
    fn find_libraries(&mut self) -> bool {
        let mut is_new = false;
        for call in 0..self.wrapper.calls.len() {
            if self.library[call].is_none()
                && let [node] = self.candidates(call)[..]
                && (self.is_supported(call, node) || self.are_as_many(call))
            {
                self.take(call, node);
                is_new = true;
            }
        }
        is_new
    }

    /// The nodes that a call of a library may be.
    fn candidates(&self, call: usize) -> Vec<usize> {
        let of_call = &self.wrapper.calls[call];
        if of_call.operator.is_empty() {
            return Vec::new();
        }
        let nodes = alike(&of_call.operator);
        let nodes = nodes.iter().filter_map(|it| self.by_operator.get(it)).flatten();
        let may_be = |it: &usize| !self.is_taken[*it] && self.take_step() && self.may_be(call, *it);
        nodes.copied().filter(may_be).collect()
    }

    /// Whether anything is known of what a call reads or writes, which is that of `node`.
    fn is_supported(&self, call: usize, node: usize) -> bool {
        let pairs = self.pairs(call, node);
        let mut values = pairs.iter().map(|it| it.0).chain(self.wrapper.calls[call].writes.clone());
        values.any(|it| !self.nodes[it].is_empty())
    }

    /// Whether as many nodes as calls with the operator of a call are left, so that each call is one of them.
    fn are_as_many(&self, call: usize) -> bool {
        let operators = alike(&self.wrapper.calls[call].operator);
        let nodes = operators.iter().filter_map(|it| self.by_operator.get(it)).flatten();
        let n_nodes = nodes.filter(|it| !self.is_taken[**it]).count();
        let calls = self.wrapper.calls.iter().zip(&self.library);
        let left =
            calls.filter(|(it, node)| node.is_none() && operators.contains(&it.operator.as_str()));
        left.count() == n_nodes
    }

    /// What a call of a library reads, each with the argument of `node` that it is.
    fn pairs(&self, call: usize, node: usize) -> Vec<(ValueId, usize)> {
        let reads = &self.wrapper.calls[call].reads;
        let arguments = &self.graph.nodes[node].arguments;
        let is_product = alike(&self.graph.nodes[node].operator).len() > 1;
        let values: Vec<usize> =
            arguments.iter().copied().filter(|&it| !self.graph.nodes[it].is_number).collect();
        match is_product {
            // What is added comes first.
            true => reads.iter().rev().copied().zip(values.into_iter().rev()).take(2).collect(),
            false if reads.len() == values.len() => reads.iter().copied().zip(values).collect(),
            false => Vec::new(),
        }
    }

    fn may_be(&self, call: usize, node: usize) -> bool {
        let reads = &self.wrapper.calls[call].reads;
        let pairs = self.pairs(call, node);
        let arguments = &self.graph.nodes[node].arguments;
        let may_read = |value: ValueId| {
            self.nodes[value].is_empty() || arguments.iter().any(|&it| self.may_hold(value, it))
        };
        let are_read = match pairs.is_empty() {
            true => reads.iter().all(|&it| may_read(it)),
            false => pairs.iter().all(|&(value, node)| self.may_hold(value, node)),
        };
        let writes = &self.wrapper.calls[call].writes;
        let result = self.result(call, node);
        are_read && writes.iter().all(|&it| self.may_hold(it, result))
    }

    /// Whether a value may be the result of a node: nothing else is known of it.
    fn may_hold(&self, value: ValueId, node: usize) -> bool {
        let known = &self.nodes[value];
        let mut node = self.root(node);
        loop {
            if known.is_empty() || known.contains(&node) {
                return true;
            }
            let of = &self.graph.nodes[node];
            match of.arguments.first() {
                Some(&copied) if COPIES.contains(&of.operator.as_str()) => node = self.root(copied),
                _ => return false,
            }
        }
    }

    /// What a call gives that computes `node`: of a product to which something is added that the graph adds to it, the sum.
    fn result(&self, call: usize, node: usize) -> usize {
        let WrapperCall { operator, reads, .. } = &self.wrapper.calls[call];
        let is_sum_of = |it: &&GraphNode| {
            let mut arguments = it.arguments.iter();
            let other = arguments.clone().find(|&&it| self.root(it) != node);
            it.operator == "add"
                && arguments.any(|&it| self.root(it) == node)
                && other
                    .zip(reads.first())
                    .is_some_and(|(&other, &read)| self.may_hold(read, other))
        };
        let mut nodes = self.graph.nodes[node..].iter();
        match self.graph.nodes[node].operator != *operator && operator.contains("add") {
            true => nodes.find(is_sum_of).map_or(node, |it| it.root),
            false => node,
        }
    }

    fn take(&mut self, call: usize, node: usize) {
        self.library[call] = Some(node);
        self.is_taken[node] = true;
        let result = self.result(call, node);
        for (value, argument) in self.pairs(call, node) {
            self.learn(value, argument);
        }
        for &value in &self.wrapper.calls[call].writes {
            self.learn(value, result);
            for (item_value, item) in self.items.get(&value).cloned().unwrap_or_default() {
                if let Some(node) = self.item(node, item) {
                    self.learn(item_value, node);
                }
            }
        }
    }

    /// Whether another node may be looked at.
    fn take_step(&self) -> bool {
        let left = self.steps.get();
        self.steps.set(left.saturating_sub(1));
        left > 0
    }

    /// The node that is an item of another one.
    fn item(&self, node: usize, item: u32) -> Option<usize> {
        let is_item = |it: &usize| {
            let of = &self.graph.nodes[*it];
            of.item == Some(item) && of.arguments.first() == Some(&node)
        };
        (node..self.graph.nodes.len()).find(is_item)
    }

    fn learn(&mut self, value: ValueId, node: usize) {
        let root = self.root(node);
        if self.nodes[value].is_empty() && !self.graph.nodes[root].is_input {
            self.nodes[value].push(root);
        }
    }

    /// Finds what passes from one kernel to the next; whether something was found. The last ones come first: what they write is known.
    fn find_between_kernels(&mut self) -> bool {
        let mut is_new = false;
        for call in (0..self.wrapper.calls.len()).rev() {
            // A library may be called for something that the graph does not name.
            if self.library[call].is_some() {
                continue;
            }
            let reads = self.wrapper.calls[call].reads.iter();
            let unknown: Vec<ValueId> =
                reads.copied().filter(|&it| self.nodes[it].is_empty()).collect();
            for value in unknown {
                let nodes = self.first_computed_before(call, value);
                is_new |= !nodes.is_empty();
                self.nodes[value] = nodes;
            }
        }
        is_new
    }

    /// The nodes that `value`, which `call` reads, may hold: going back from what the call writes, the first that can be computed from
    /// what the call could read that wrote it, and not from what this one reads. A reduction is taken even so: it would
    /// not be computed again.
    fn first_computed_before(&self, call: usize, value: ValueId) -> Vec<usize> {
        let before = self.reachable(value);
        let own = self.known_reads(call);
        let mut found = BTreeSet::new();
        let mut seen = FxHashSet::default();
        let writes: Vec<usize> = self.written(call);
        let mut next = writes.clone();
        while let Some(node) = next.pop() {
            let root = self.root(node);
            let is_written = writes.contains(&root);
            let is_known = own.contains(&root) || before.contains(&root);
            if !seen.insert(root) || is_known && !is_written || !self.take_step() {
                continue;
            }
            let of = &self.graph.nodes[root];
            if !is_written && !of.is_input && self.is_computable(root, &before) {
                let is_reduction = REDUCTIONS.contains(&self.operator_of(root));
                if is_reduction || !self.is_computable(root, &own) {
                    found.insert(root);
                    continue;
                }
            }
            next.extend(of.arguments.iter().copied());
        }
        if found.is_empty() {
            // A reduction in two kernels: between them is a part of the result.
            let is_part = |it: &usize| {
                REDUCTIONS.contains(&self.operator_of(*it)) && self.is_computable(*it, &before)
            };
            found.extend(writes.into_iter().filter(is_part));
        }
        found.into_iter().collect()
    }

    /// The operator of a node, of an item that of the node that it is an item of.
    fn operator_of(&self, node: usize) -> &str {
        let of = &self.graph.nodes[node];
        match (of.item, of.arguments.first()) {
            (Some(_), Some(&whole)) => &self.graph.nodes[whole].operator,
            _ => &of.operator,
        }
    }

    /// What the calls may have read that wrote an unknown value.
    fn reachable(&self, value: ValueId) -> FxHashSet<usize> {
        let (mut found, mut seen) = (FxHashSet::default(), FxHashSet::default());
        let mut next = vec![value];
        while let Some(value) = next.pop() {
            if !seen.insert(value) || !self.take_step() {
                continue;
            }
            match self.wrapper.values[value] {
                _ if !self.nodes[value].is_empty() => found.extend(&self.nodes[value]),
                ValueSource::Call { call, .. } => next.extend(&self.wrapper.calls[call].reads),
                _ => {}
            }
        }
        found
    }

    fn known_reads(&self, call: usize) -> FxHashSet<usize> {
        self.wrapper.calls[call]
            .reads
            .iter()
            .flat_map(|&it| self.nodes[it].iter().copied())
            .collect()
    }

    fn written(&self, call: usize) -> Vec<usize> {
        self.wrapper.calls[call]
            .writes
            .iter()
            .flat_map(|&it| self.nodes[it].iter().copied())
            .collect()
    }

    /// Whether a node can be computed from `known` nodes, numbers and constants.
    fn is_computable(&self, node: usize, known: &FxHashSet<usize>) -> bool {
        let mut seen = FxHashSet::default();
        let mut next = vec![node];
        while let Some(node) = next.pop() {
            let root = self.root(node);
            if known.contains(&root) || !seen.insert(root) {
                continue;
            }
            if !self.take_step() {
                return false;
            }
            let of = &self.graph.nodes[root];
            if of.is_input && !of.is_number {
                return false;
            }
            next.extend(of.arguments.iter().copied());
        }
        true
    }

    /// The nodes that a call computes.
    fn nodes_of(&self, call: usize) -> Vec<usize> {
        if let Some(node) = self.library[call] {
            return vec![node];
        }
        let candidates = self.candidates(call);
        let place = |it: usize| self.graph.nodes[it].place;
        if let [first, rest @ ..] = &candidates[..]
            && rest.iter().all(|&it| place(it) == place(*first))
        {
            return vec![*first];
        }
        if self.written(call).is_empty() {
            return self.only_reader(call).into_iter().collect();
        }
        let of_library = |it: usize| {
            let operator = self.graph.nodes[it].operator.as_str();
            !operator.is_empty() && self.of_libraries.contains(operator)
        };
        let known = self.between(call, &|it| self.is_taken[it]);
        known.or_else(|| self.between(call, &of_library)).unwrap_or_default()
    }

    /// The node of the library call that alone reads what a kernel writes. What the graph has no node for is made for that: a copy in
    /// another layout.
    fn only_reader(&self, call: usize) -> Option<usize> {
        let writes = &self.wrapper.calls[call].writes;
        let mut readers = writes.iter().flat_map(|&it| &self.readers[it]);
        let &reader = readers.next()?;
        if readers.any(|it| *it != reader) {
            return None;
        }
        self.library[reader]
    }

    /// The nodes between what a kernel reads and what it writes, those of `other` calls left out; `None` if it would have to read more.
    fn between(&self, call: usize, other: &dyn Fn(usize) -> bool) -> Option<Vec<usize>> {
        let reads = self.known_reads(call);
        let mut found = BTreeSet::new();
        let writes = self.written(call);
        let mut next = writes.clone();
        while let Some(node) = next.pop() {
            let of = &self.graph.nodes[node];
            let is_read = reads.contains(&node);
            let is_other = is_read && !writes.contains(&node) || other(node);
            if of.is_number || found.contains(&node) || is_other {
                continue;
            }
            if is_read {
                // It finishes what another call began.
                found.insert(node);
                continue;
            }
            if of.is_input || !self.take_step() {
                return None;
            }
            found.insert(node);
            next.extend(of.arguments.iter().copied());
        }
        Some(found.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By call, the names of the nodes that it computes.
    fn nodes(graph: &str, code: &str) -> Vec<Vec<String>> {
        let (graph, wrapper) =
            (AotGraph::parse(graph), Wrapper::parse(&format!("{KERNELS}{code}")));
        let names = |it: &Vec<usize>| it.iter().map(|&it| graph.nodes[it].name.clone()).collect();
        nodes_of_calls(&graph, &wrapper).iter().map(names).collect()
    }

    const KERNELS: &str = r#"
cpp_fused_0 = async_compile.cpp_pybinding(['float*'], r'''
extern "C"  void  kernel(const float* in_ptr0, float* out_ptr0)
''')
cpp_fused_1 = async_compile.cpp_pybinding(['float*'], r'''
extern "C"  void  kernel(float* in_out_ptr0, const float* in_ptr0)
''')
def call(self, args):
"#;

    #[test]
    fn products_are_known_by_what_they_read_and_kernels_by_what_is_between() {
        let graph = "\
def forward(self, x, v, w):
    permute = torch.ops.aten.permute.default(v, [1, 0])
    mm = torch.ops.aten.mm.default(x, permute)
    relu = torch.ops.aten.relu.default(mm)
    sin = torch.ops.aten.sin.default(relu)
    mm_1 = torch.ops.aten.mm.default(sin, w)
    add = torch.ops.aten.add.Tensor(mm_1, x)
    return (add, sin)";
        // The sum is part of the second product.
        let code = "
    x, v, w = args
    buf0 = empty_strided_cpu((8, 8), (8, 1), torch.float32)
    extern_kernels.mm(x, reinterpret_tensor(v, (8, 8), (1, 8), 0), out=buf0)
    buf1 = empty_strided_cpu((8, 8), (8, 1), torch.float32)
    cpp_fused_0(buf0, buf1)
    buf2 = buf0; del buf0  # reuse
    extern_kernels.addmm(x, buf1, w, alpha=1, beta=1, out=buf2)
    return (buf2, buf1, )";
        let expected = [vec!["mm"], vec!["relu", "sin"], vec!["mm_1"]];
        assert_eq!(nodes(graph, code), expected);
    }

    #[test]
    fn what_passes_between_kernels_is_found() {
        let graph = "\
def forward(self, x, y):
    sum_1 = torch.ops.aten.sum.dim_IntList(x, [1])
    exp = torch.ops.aten.exp.default(y)
    div = torch.ops.aten.div.Tensor(exp, sum_1)
    return (div,)";
        // The sum is begun by one kernel and finished by the next.
        let code = "
    x, y = args
    buf0 = empty_strided_cpu((8, 2), (2, 1), torch.float32)
    cpp_fused_0(x, buf0)
    buf1 = empty_strided_cpu((8, 1), (1, 1), torch.float32)
    cpp_fused_0(buf0, buf1)
    cpp_fused_1(buf1, y)
    return (buf1, )";
        let expected = [vec!["sum_1"], vec!["sum_1"], vec!["exp", "div"]];
        assert_eq!(nodes(graph, code), expected);
    }

    #[test]
    fn what_may_be_several_nodes_is_none() {
        let graph = "\
def forward(self, x, y):
    mm = torch.ops.aten.mm.default(x, x)
    # File: t.py:2 in f, code: b = x @ x
    mm_1 = torch.ops.aten.mm.default(x, x)
    return (mm, mm_1)";
        let code = "
    x, y = args
    extern_kernels.mm(x, x, out=buf0)
    extern_kernels.mm(x, x, out=buf1)
    return (None, None, )";
        let nothing: [Vec<String>; 2] = [Vec::new(), Vec::new()];
        assert_eq!(nodes(graph, code), nothing);
        // Nor is anything known of a kernel that would have to read what it does not.
        let graph = "\
def forward(self, x, y):
    add = torch.ops.aten.add.Tensor(x, y)
    return (add,)";
        let code = "
    x, y = args
    buf0 = empty_strided_cpu((8, 2), (2, 1), torch.float32)
    cpp_fused_0(x, buf0)
    return (buf0, )";
        assert_eq!(nodes(graph, code), nothing[..1]);
    }

    #[test]
    fn what_is_copied_over_an_input_is_what_is_written_to_it() {
        let graph = "\
def forward(self, x, y):
    sin = torch.ops.aten.sin.default(y)
    add = torch.ops.aten.add.Tensor(x, sin)
    copy_ = torch.ops.aten.copy_.default(x, add)
    return ()";
        let code = "
    x, y = args
    cpp_fused_1(x, y)
    return ()";
        assert_eq!(nodes(graph, code), [["sin", "add"]]);
    }
}
