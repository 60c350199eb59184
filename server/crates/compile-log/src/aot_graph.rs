//! Graphs of operations, as AOTAutograd prints them for the log and for its cache.

use rustc_hash::FxHashMap;

/// Operations that give another view of memory: no kernel runs for them.
const VIEWS: [&str; 22] = [
    "_reshape_alias",
    "_unsafe_view",
    "alias",
    "as_strided",
    "detach",
    "diagonal",
    "expand",
    "movedim",
    "narrow",
    "permute",
    "reshape",
    "select",
    "slice",
    "split",
    "split_with_sizes",
    "squeeze",
    "t",
    "transpose",
    "unbind",
    "unfold",
    "unsqueeze",
    "view",
];

/// What AOTAutograd calls the gradients that a backward pass begins with, before their number.
pub(crate) const GRADIENT: &str = "tangents_";

/// A place of the user's program, as a comment in the graph names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GraphPlace {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) function: String,
    /// What the line said when the graph was made.
    pub(crate) text: String,
}

/// A node of a graph.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GraphNode {
    pub(crate) name: String,
    /// `addmm` of `torch.ops.aten.addmm.default`; empty of an input, of an item and of what is computed with numbers.
    pub(crate) operator: String,
    /// The nodes that it reads, in the order of the text.
    pub(crate) arguments: Vec<usize>,
    /// Of an item of another node, its number.
    pub(crate) item: Option<u32>,
    /// The place that asked for it: a row of [`AotGraph::places`].
    pub(crate) place: Option<usize>,
    /// Whether that is another one than its own comment names.
    pub(crate) is_corrected: bool,
    pub(crate) is_input: bool,
    /// Whether it is a number: a size that is not fixed.
    pub(crate) is_number: bool,
    /// The node whose memory it is: itself, or what it is a view of.
    pub(crate) root: usize,
}

/// A graph: what is computed from what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AotGraph {
    /// Each behind those that it reads.
    pub(crate) nodes: Vec<GraphNode>,
    /// The inputs, in order.
    pub(crate) inputs: Vec<usize>,
    /// What it returns; `None` of what is no node.
    pub(crate) outputs: Vec<Option<usize>>,
    pub(crate) places: Vec<GraphPlace>,
}

impl AotGraph {
    /// Reads the text of a graph: the first function in it, up to what that returns.
    pub(crate) fn parse(text: &str) -> Self {
        let mut reader = GraphReader::default();
        let mut lines = text.lines().map(str::trim);
        let is_begin = |it: &&str| it.starts_with("def forward(");
        let Some(begin) = lines.by_ref().find(is_begin) else { return reader.graph };
        let parameters = begin.strip_prefix("def forward(").unwrap_or_default();
        let parameters = up_to_end(parameters, &mut lines);
        for parameter in split(&parameters, ',') {
            let (name, kind) = parameter.split_once(':').unwrap_or((parameter, ""));
            let name = name.trim();
            if !name.is_empty() && name != "self" {
                reader.input(name, is_number(kind.trim()));
            }
        }
        while let Some(line) = lines.next() {
            if let Some(comment) = line.strip_prefix('#') {
                reader.comment(comment);
            } else if let Some(values) = line.strip_prefix("return") {
                let values = values.trim().trim_start_matches('(');
                let values = up_to_end(values, &mut lines);
                let values = split(&values, ',').into_iter().map(str::trim);
                let outputs = values.filter(|it| !it.is_empty());
                reader.graph.outputs = outputs.map(|it| reader.by_name.get(it).copied()).collect();
                break;
            } else {
                reader.node(line);
            }
        }
        reader.graph
    }

    /// Whether it has inputs of these names, in this order.
    pub(crate) fn has_inputs(&self, names: &[&str]) -> bool {
        let own = self.inputs.iter().map(|&it| self.nodes[it].name.as_str());
        own.eq(names.iter().copied())
    }

    /// Gives operations the places that they have in `joint`, the graph that this one was cut out of. Where PyTorch takes out an
    /// operation that does nothing (`x * 1.0`), what it was done to gets the place of that (`torch/_inductor/fx_passes/joint_graph.py`). What is
    /// copied over an input in the end has no place of its own in `joint`.
    pub(crate) fn correct_places(&mut self, joint: &Self) {
        let before: FxHashMap<&str, &GraphNode> =
            joint.nodes.iter().map(|it| (it.name.as_str(), it)).collect();
        for node in self.nodes.iter_mut().filter(|it| it.operator != "copy_") {
            let same = before.get(node.name.as_str()).filter(|it| it.operator == node.operator);
            let place = same.and_then(|it| it.place).map(|it| &joint.places[it]);
            let (Some(place), Some(own)) = (place, node.place) else { continue };
            if self.places[own] != *place {
                node.place = Some(row_of(&mut self.places, place));
                node.is_corrected = true;
            }
        }
    }

    /// Whether any operation was given another place than its comment names.
    pub(crate) fn is_corrected(&self) -> bool {
        self.nodes.iter().any(|it| it.is_corrected)
    }

    /// Whether it is the graph of a backward pass: gradients of results are among its inputs.
    pub(crate) fn is_backward(&self) -> bool {
        self.inputs.iter().any(|&it| self.nodes[it].name.starts_with(GRADIENT))
    }

    /// By node, whether `forward`, the graph of the forward pass, computes the same: both were cut out of one graph, in which each
    /// operation has a name of its own.
    pub(crate) fn is_in(&self, forward: &Self) -> Vec<bool> {
        let computed = forward.nodes.iter().filter(|it| !it.operator.is_empty());
        let computed: FxHashMap<&str, &str> =
            computed.map(|it| (it.name.as_str(), it.operator.as_str())).collect();
        let is_in = |it: &GraphNode| computed.get(it.name.as_str()) == Some(&it.operator.as_str());
        self.nodes.iter().map(is_in).collect()
    }
}

/// The row of a place, which is added if it is not there.
fn row_of(places: &mut Vec<GraphPlace>, place: &GraphPlace) -> usize {
    places.iter().position(|it| it == place).unwrap_or_else(|| {
        places.push(place.clone());
        places.len() - 1
    })
}

#[derive(Default)]
struct GraphReader {
    graph: AotGraph,
    by_name: FxHashMap<String, usize>,
    place: Option<usize>,
}

impl GraphReader {
    fn input(&mut self, name: &str, is_number: bool) {
        let node =
            GraphNode { name: name.to_owned(), is_input: true, is_number, ..Default::default() };
        let at = self.add(node);
        self.graph.inputs.push(at);
    }

    fn add(&mut self, node: GraphNode) -> usize {
        let at = self.graph.nodes.len();
        let is_view = VIEWS.contains(&node.operator.as_str());
        let of_view = |it: usize| VIEWS.contains(&self.graph.nodes[it].operator.as_str());
        let root = match (node.arguments.first(), node.item) {
            (Some(&of), None) if is_view => self.graph.nodes[of].root,
            (Some(&of), Some(_)) if of_view(of) => self.graph.nodes[of].root,
            _ => at,
        };
        self.by_name.insert(node.name.clone(), at);
        self.graph.nodes.push(GraphNode { root, ..node });
        at
    }

    /// `File: /w/t.py:9 in forward, code: z = y * 2`, `Backward of forward node: File: …`. All nodes up to the next comment are from there.
    fn comment(&mut self, comment: &str) {
        self.place = None;
        let place = || {
            let (_, rest) = comment.split_once("File: ")?;
            let (place, text) = rest.split_once(", code: ")?;
            let (place, function) = place.rsplit_once(" in ")?;
            let (file, line) = place.rsplit_once(':')?;
            let line = line.parse().ok().filter(|&it| it > 0)?;
            let (function, text) = (function.to_owned(), text.trim().to_owned());
            Some(GraphPlace { file: file.to_owned(), line, function, text })
        };
        let Some(place) = place() else { return };
        self.place = Some(row_of(&mut self.graph.places, &place));
    }

    /// `mul: "f32[8]cpu" = torch.ops.aten.mul.Tensor(y, 2);  y = None`
    fn node(&mut self, line: &str) {
        let end = line.find(|it: char| !is_of_name(it)).unwrap_or(line.len());
        let (name, rest) = line.split_at(end);
        let rest = rest.trim_start();
        let (kind, value) = match rest.strip_prefix(':') {
            None => ("", rest.strip_prefix('=')),
            Some(rest) => {
                match rest.trim_start().strip_prefix('"').and_then(|it| it.split_once('"')) {
                    None => ("", None),
                    Some((kind, rest)) => (kind, rest.trim_start().strip_prefix('=')),
                }
            }
        };
        let Some(value) = value.map(str::trim).filter(|_| !name.is_empty()) else { return };
        // What is forgotten behind it.
        let value = split(value, ';')[0].trim();
        let end = value.find(|it: char| !is_of_name(it) && it != '.').unwrap_or(value.len());
        let (head, rest) = value.split_at(end);
        let operator = match head.strip_prefix("torch.ops.") {
            Some(operator) if rest.starts_with('(') => {
                operator.split('.').nth(1).unwrap_or_default()
            }
            _ => "",
        };
        let item = match (self.by_name.get(head), rest.strip_prefix('[')) {
            (Some(_), Some(item)) => item.strip_suffix(']').and_then(|it| it.trim().parse().ok()),
            _ => None,
        };
        let arguments = names(value).filter_map(|it| self.by_name.get(it).copied()).collect();
        self.add(GraphNode {
            name: name.to_owned(),
            operator: operator.to_owned(),
            arguments,
            item,
            place: self.place,
            is_number: is_number(kind),
            ..Default::default()
        });
    }
}

/// Whether the annotation of a value says that it is a number.
fn is_number(kind: &str) -> bool {
    kind.trim_matches('"').starts_with("Sym(")
}

/// The text up to the bracket that closes one which was opened before it, over several lines, without comments.
fn up_to_end<'a>(first: &'a str, lines: &mut impl Iterator<Item = &'a str>) -> String {
    let (mut text, mut depth) = (String::new(), 1);
    let mut next = Some(first);
    while let Some(line) = next {
        let mut quote = None;
        for it in line.chars() {
            match (quote, it) {
                (Some(begin), _) if begin == it => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') => quote = Some(it),
                (None, '#') => break,
                (None, '(' | '[' | '{') => depth += 1,
                (None, ')' | ']' | '}') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return text;
            }
            text.push(it);
        }
        text.push(' ');
        next = lines.next();
    }
    text
}

/// The parts of `text` between `separator`s that stand in no brackets and quotes; at least one.
pub(crate) fn split(text: &str, separator: char) -> Vec<&str> {
    let (mut depth, mut quote, mut begin) = (0, None, 0);
    let mut parts = Vec::new();
    for (at, it) in text.char_indices() {
        match (quote, it) {
            (Some(opened), _) if opened == it => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(it),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, _) if it == separator && depth <= 0 => {
                parts.push(&text[begin..at]);
                begin = at + it.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}

/// The names in `text` that stand alone: no attributes, names of arguments, and nothing in quotes.
pub(crate) fn names(text: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = text.get(at..)?;
            let begin = rest.find(|it: char| is_of_name(it) || it == '"' || it == '\'')?;
            let from = &rest[begin..];
            if let Some(quoted) = from.strip_prefix(['"', '\'']) {
                at += begin + 2 + quoted.find(&from[..1])?;
                continue;
            }
            let end = from.find(|it: char| !is_of_name(it)).unwrap_or(from.len());
            let before = text[..at + begin].trim_end();
            let behind = from[end..].trim_start();
            at += begin + end;
            let is_keyword = behind.starts_with('=') && !behind.starts_with("==");
            if !before.ends_with('.') && !is_keyword {
                return Some(&from[..end]);
            }
        }
    })
}

pub(crate) fn is_of_name(it: char) -> bool {
    it.is_ascii_alphanumeric() || it == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAPH: &str = "\
class GraphModule(torch.nn.Module):
    def forward(
        self,
        primals_1: \"f32[8, 4][4, 1]cpu\",  # PlainAOTInput(idx=0)
        primals_2: \"Sym(s77)\",
    ):
        # File: /w/t.py:9 in forward, code: y, z = x.t().split(4)
        permute: \"f32[4, 8][1, 4]cpu\" = torch.ops.aten.permute.default(primals_1, [1, 0]);  primals_1 = None
        split = torch.ops.aten.split.Tensor(permute, 4, dim = 1);  permute = None
        getitem: \"f32[4, 4][1, 4]cpu\" = split[0]
        getitem_1: \"f32[4, 4][1, 4]cpu\" = split[1];  split = None

        # No stacktrace found for following nodes
        mul: \"Sym(8*s77)\" = 8 * primals_2
        # Backward of forward node: File: /w/my in t.py:10 in f, code: return y @ z
        mm: \"f32[4, 4]\" = torch.ops.aten.mm.default(getitem, getitem_1);  getitem = getitem_1 = None
        full: \"f32[8]\" = torch.ops.aten.full.default([mul], 0.0, device = device(type='mm'), mul = False)
        return (
            mm,  # PlainAOTOutput(idx=0)
            None, full,
        )
class other(torch.nn.Module):
    def forward(self, x):
        return x
";

    #[test]
    fn a_graph_is_read() {
        let graph = AotGraph::parse(GRAPH);
        assert!(graph.has_inputs(&["primals_1", "primals_2"]));
        let names: Vec<&str> = graph.nodes.iter().map(|it| it.name.as_str()).collect();
        let expected = [
            "primals_1",
            "primals_2",
            "permute",
            "split",
            "getitem",
            "getitem_1",
            "mul",
            "mm",
            "full",
        ];
        assert_eq!(names, expected);
        let operators: Vec<&str> = graph.nodes.iter().map(|it| it.operator.as_str()).collect();
        assert_eq!(operators, ["", "", "permute", "split", "", "", "", "mm", "full"]);
        let arguments: Vec<&[usize]> = graph.nodes.iter().map(|it| &it.arguments[..]).collect();
        let expected: [&[usize]; 9] = [&[], &[], &[0], &[2], &[3], &[3], &[1], &[4, 5], &[6]];
        assert_eq!(arguments, expected);
        let items: Vec<Option<u32>> = graph.nodes.iter().map(|it| it.item).collect();
        assert_eq!(items[3..6], [None, Some(0), Some(1)]);
        let roots: Vec<usize> = graph.nodes.iter().map(|it| it.root).collect();
        assert_eq!(roots, [0, 1, 0, 0, 0, 0, 6, 7, 8]);
        let line = |it: &GraphNode| it.place.map_or(0, |at| graph.places[at].line);
        let lines: Vec<u32> = graph.nodes.iter().map(line).collect();
        assert_eq!(lines, [0, 0, 9, 9, 9, 9, 0, 10, 10]);
        assert_eq!(graph.outputs, [Some(7), None, Some(8)]);
        let numbers = graph.nodes.iter().filter(|it| it.is_number).map(|it| it.name.as_str());
        assert_eq!(numbers.collect::<Vec<_>>(), ["primals_2", "mul"]);
        let place = &graph.places[1];
        let said = (place.file.as_str(), place.function.as_str(), place.text.as_str());
        assert_eq!(said, ("/w/my in t.py", "f", "return y @ z"));
    }

    #[test]
    fn what_is_no_graph_is_empty() {
        assert_eq!(AotGraph::parse("def forward(self, a"), AotGraph::parse("def forward(self, a)"));
        assert_eq!(AotGraph::parse("x = 1"), AotGraph::default());
    }
}
