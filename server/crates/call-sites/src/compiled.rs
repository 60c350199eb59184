//! Frames whose code `torch.compile` wrote. It does not follow the source: guards, the compiled graph, then what broke
//! the graph and a function for the rest. Everything has the line where the frame begins, but for what broke the graph.

use recorded::Frame;

/// Whether the names of a frame's children show that `torch.compile` wrote its code: it begins by notifying the profiler
/// so. Up to torch 2.12 that is done by way of a wrapper, which hides the name.
pub(crate) fn is_compiled<'a>(children: impl IntoIterator<Item = &'a str>) -> bool {
    let mut children = children.into_iter();
    let first = [children.next(), children.next(), children.next()].map(Option::unwrap_or_default);
    let is_wrapper =
        |name: &str| name.starts_with("torch/_compile.py(") && name.ends_with("): inner");
    first[0].ends_with("): record_pregraph_bytecode_enter")
        || (is_wrapper(first[0]) && is_wrapper(first[1]) && first[2].ends_with("): _fn"))
}

/// The lines of a frame's children by their names, for a frame that begins on line `start`.
pub(crate) fn lines(children: &[&str], start: u32) -> Vec<u32> {
    let mut lines = vec![start; children.len()];
    let graph = children.iter().position(|name| name.ends_with("): _fn"));
    let after_graph = graph.map_or(0, |graph| graph + 1);
    let broken = children.iter().enumerate().find_map(|(at, name)| Some((at, resumed(name)?)));
    if let Some((at, line)) = broken {
        lines[after_graph.min(at)..=at].fill(line);
    }
    lines
}

/// The line where a function goes on that was made for what follows a graph break.
fn resumed(name: &str) -> Option<u32> {
    name.contains("): torch_dynamo_resume_in_").then(|| Frame::parse(name))?.map(|frame| frame.line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_broke_the_graph_has_the_line_of_what_follows() {
        let children = [
            "torch/_dynamo/utils.py(6122): record_pregraph_bytecode_enter",
            "torch/_dynamo/utils.py(6132): record_pregraph_bytecode_exit",
            "torch/_dynamo/eval_frame.py(1527): _fn",
            "aten::is_nonzero",
            "torch/_dynamo/guards.py(2882): fn",
            "train.py(63): torch_dynamo_resume_in_normalize_at_63",
        ];
        assert!(is_compiled(children));
        assert_eq!(lines(&children, 60), [60, 60, 60, 63, 63, 63]);
        let wrapper = "torch/_compile.py(42): inner";
        assert!(is_compiled([wrapper, wrapper, "torch/_dynamo/eval_frame.py(1240): _fn"]));
        assert!(!is_compiled([wrapper, "aten::add"]));
        assert!(!is_compiled(["train.py(63): normalize", "aten::add"]));
    }
}
