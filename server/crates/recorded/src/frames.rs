//! How event names, call stacks, exact callers and snapshots spell a place in Python.

use profile::{HostEventId, HostKind, Profile, Snapshot, SnapshotFrame};

/// A frame as event names and call stacks spell it: `file(line): function`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Path as recorded.
    pub file: &'a str,
    /// 1-based; mostly that of the function's definition.
    pub line: u32,
    /// Name of the function.
    pub function: &'a str,
}

impl<'a> Frame<'a> {
    /// `None` for everything else that a Python event can be called (`nn.Module: X_0`, `<built-in …>`).
    ///
    /// Where `torch.compile` breaks a graph, the rest of the function runs in one made for it, called
    /// `torch_dynamo_resume_in_step_at_76`: that is the frame of `step`, going on at line 76.
    #[must_use]
    pub fn parse(name: &'a str) -> Option<Self> {
        // A path may hold parentheses and a function name may not, so the last match is the right one.
        let (head, function) = name.rsplit_once("): ")?;
        let (file, line) = head.rsplit_once('(')?;
        let function = function_of(function);
        (!file.is_empty()).then_some(Self { file, line: line.parse().ok()?, function })
    }
}

/// The function that a recorded one is, or goes on. IPython 8 calls the code of a cell `<cell line: 1>`, by the line that it
/// begins on.
#[must_use]
pub fn function_of(recorded: &str) -> &str {
    if recorded.starts_with("<cell line: ") {
        return "<module>";
    }
    let resumed = recorded.strip_prefix("torch_dynamo_resume_in_");
    resumed.and_then(|it| it.rsplit_once("_at_")).map_or(recorded, |it| it.0)
}

/// What stands in place of the name of an event that holds what C's `isprint` does not know, as all that is not ASCII: a function
/// `σ`, a script `lüs.py` (Kineto's `output_json.cpp`).
pub const UNNAMED: &str = "unknown";

/// Whether a trace has [`UNNAMED`] in place of this name.
#[must_use]
pub fn is_left_unnamed(name: &str) -> bool {
    !name.bytes().all(|it| it == b' ' || it.is_ascii_graphic())
}

/// How many Python calls of a trace have [`UNNAMED`] in place of their name.
#[must_use]
pub fn unnamed_calls(profile: &Profile) -> usize {
    let Some(unnamed) = profile.strings.find(UNNAMED) else { return 0 };
    let host = &profile.host;
    let is_unnamed = |it: &HostEventId| {
        host.kind[it.index()] == HostKind::Python && host.name[it.index()] == unnamed
    };
    host.ids().filter(is_unnamed).count()
}

/// The file of PyTorch's profiler.
pub const PROFILER_FILE: &str = "torch/profiler/profiler.py";

/// Whether `path` is the file that a trace calls `recorded`, which has no folder of `sys.path` before it.
#[must_use]
pub fn is_path_of(path: &str, recorded: &str) -> bool {
    let before = path.strip_suffix(recorded);
    before.is_some_and(|it| it.is_empty() || it.ends_with(['/', '\\']))
}

/// An exact caller: `file:line`.
#[must_use]
pub fn parse_caller(caller: &str) -> Option<(&str, u32)> {
    let (file, line) = caller.rsplit_once(':')?;
    let line = line.parse().ok().filter(|&line| line > 0)?;
    (!file.is_empty()).then_some((file, line))
}

/// The frames of a device event's `stack` (Inductor provenance), innermost last: `File "x.py", line 3, in f` and
/// `x.py:3` and `x.py(3): f`, in a JSON string or list of strings, with or without line breaks.
#[must_use]
pub fn provenance(json: &str) -> Vec<(String, u32, String)> {
    let texts: Vec<String> = match serde_json::from_str(json) {
        Ok(serde_json::Value::String(text)) => vec![text],
        Ok(serde_json::Value::Array(items)) => {
            items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    };
    let mut frames = Vec::new();
    for line in texts.iter().flat_map(|text| text.lines()) {
        let line = line.trim();
        if let Some(frame) = Frame::parse(line) {
            frames.push((frame.file.to_owned(), frame.line, frame.function.to_owned()));
        } else if let Some((file, rest)) =
            line.strip_prefix("File \"").and_then(|rest| rest.split_once("\", line "))
        {
            let (number, function) = rest.split_once(", in ").unwrap_or((rest, ""));
            if let Ok(number) = number.trim_end_matches(',').parse() {
                frames.push((file.to_owned(), number, function.to_owned()));
            }
        } else if let Some((file, number)) = parse_caller(line) {
            frames.push((file.to_owned(), number, String::new()));
        }
    }
    frames
}

/// Whether a frame is Python's: C++ frames have no line, or a file of another language.
#[must_use]
pub fn is_python(snapshot: &Snapshot, frame: &SnapshotFrame) -> bool {
    let file = snapshot.strings.get(frame.file);
    let is_source =
        [".py", ".pyx"].iter().any(|ending| file.ends_with(ending)) || file.starts_with('<');
    frame.line > 0 && is_source
}

/// Whether an operator of this name is a range in which `torch.compile` looks for, or runs, what it wrote for a function.
#[must_use]
pub fn is_compiled_range(operator: &str) -> bool {
    operator.starts_with("Torch-Compiled Region") || operator == "TorchDynamo Cache Lookup"
}

/// The name by which Inductor keeps what it made of a graph, of the range in which that runs: `## Call CompiledFxGraph f… ##`
/// (PyTorch 2.9 and later).
#[must_use]
pub fn compiled_graph(operator: &str) -> Option<&str> {
    operator.strip_prefix("## Call CompiledFxGraph ")?.strip_suffix(" ##")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_distinguished_from_other_calls() {
        let frame = |file, line, function| Some(Frame { file, line, function });
        let cases = [
            ("train.py(29): train_step", frame("train.py", 29, "train_step")),
            ("a (copy)/b(1).py(7): <lambda>", frame("a (copy)/b(1).py", 7, "<lambda>")),
            (r"D:\x\y.py(3): f", frame(r"D:\x\y.py", 3, "f")),
            ("<string>(2): __init__", frame("<string>", 2, "__init__")),
            ("nn.Module: Linear_0", None),
            ("<built-in method run_backward of torch._C._EngineBase object at 0x7f>", None),
            ("(3): f", None),
            ("x.py(-3): f", None),
        ];
        for (name, expected) in cases {
            assert_eq!(Frame::parse(name), expected, "{name}");
        }
    }

    #[test]
    fn a_caller_is_a_path_and_a_line() {
        let cases = [
            ("train.py:9", Some(("train.py", 9))),
            (r"D:\train.py:9", Some((r"D:\train.py", 9))),
            ("train.py:0", None),
            ("train.py", None),
            (":9", None),
        ];
        for (caller, expected) in cases {
            assert_eq!(parse_caller(caller), expected, "{caller}");
        }
    }

    #[test]
    fn provenance_is_read_in_every_spelling() {
        let json = r#"["File \"m.py\", line 3, in forward", "n.py:4", "o.py(5): g", "no frame"]"#;
        let frame = |file: &str, line, function: &str| (file.to_owned(), line, function.to_owned());
        assert_eq!(
            provenance(json),
            [frame("m.py", 3, "forward"), frame("n.py", 4, ""), frame("o.py", 5, "g")]
        );
        assert_eq!(provenance(r#""File \"m.py\", line 3""#), [frame("m.py", 3, "")]);
        assert_eq!(provenance("{}"), []);
    }
}
