//! Code between a compiled function and what was generated of it: the backend that it was compiled with, as vLLM's, which
//! splits the graph of a model in pieces and calls what Inductor made of each. It is the user's code where the package is, yet
//! what the pieces cost is the compiled function's.

use line_stacks::{LineId, Lines, Node, Stacks};
use recorded::is_inductor_file;
use rustc_hash::FxHashMap;

/// The stacks of calls of generated code without what is in the backend.
#[derive(Debug, Default)]
pub(crate) struct CompilerBackends {
    known: FxHashMap<Node, Node>,
}

/// What the file of a line has to do with compiled code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CompiledRole {
    /// TorchDynamo, which a compiled function calls to run its graph.
    Entry,
    /// The Python text of a graph (`<eval_with_key>.50`), which calls the pieces of it.
    Graph,
    /// Inductor itself.
    Inductor,
    /// What Inductor generated.
    Generated,
    Other,
}

impl CompiledRole {
    fn of(line: LineId, lines: &Lines) -> Self {
        let file = lines.files[lines.file_of(line).0 as usize].recorded.as_str();
        match file {
            _ if file.ends_with("torch/_dynamo/eval_frame.py") => Self::Entry,
            _ if file.starts_with("<eval_with_key>") => Self::Graph,
            _ if file.contains("torch/_inductor/") => Self::Inductor,
            _ if is_inductor_file(file) => Self::Generated,
            _ => Self::Other,
        }
    }
}

/// Whether a line is one of a file that Inductor generated.
pub(crate) fn is_generated(line: LineId, lines: &Lines) -> bool {
    CompiledRole::of(line, lines) == CompiledRole::Generated
}

impl CompilerBackends {
    /// The stack of a call of generated code, without lines of the user's code between the compiled function and the call,
    /// so that what is generated is charged to the function.
    pub(crate) fn left_out(&mut self, stack: Node, stacks: &mut Stacks) -> Node {
        if let Some(&known) = self.known.get(&stack) {
            return known;
        }
        let node = compiled_function(stack, stacks)
            .map_or(stack, |function| without_user_code(stack, function, stacks));
        self.known.insert(stack, node);
        node
    }
}

/// The stack of the compiled function of which `stack` runs a part by way of the text of its graph; `None` where the graph is not
/// in pieces.
///
/// A function that a piece calls may be compiled as well: it enters TorchDynamo again. So does what Inductor compiled by itself,
/// for a backend (`torch/_inductor/standalone_compile.py`), which is no function of the user's.
fn compiled_function(stack: Node, stacks: &Stacks) -> Option<Node> {
    let mut is_in_piece = false;
    for node in stacks.outwards(stack) {
        match CompiledRole::of(stacks.line(node), &stacks.lines) {
            CompiledRole::Graph => is_in_piece = true,
            CompiledRole::Entry if is_in_piece => {
                let is_of_user = |it: &Node| stacks.lines.is_user_code(stacks.line(*it));
                return stacks.outwards(node).find(is_of_user);
            }
            CompiledRole::Entry => {
                let caller = stacks.outwards(node).nth(1)?;
                if CompiledRole::of(stacks.line(caller), &stacks.lines) != CompiledRole::Inductor {
                    return None;
                }
            }
            CompiledRole::Generated => return None,
            CompiledRole::Inductor | CompiledRole::Other => {}
        }
    }
    None
}

/// `stack` without the lines of the user's code below its part `function`.
fn without_user_code(stack: Node, function: Node, stacks: &mut Stacks) -> Node {
    let below: Vec<Node> = stacks.outwards(stack).take_while(|&it| it != function).collect();
    let mut node = function;
    for at in below.into_iter().rev() {
        let (line, evidence) = (stacks.line(at), stacks.evidence(at));
        if !stacks.lines.is_user_code(line) {
            node = stacks.push(node, line, evidence);
        }
    }
    node
}
