//! One record: the line that it begins with.

use memchr::memmem;
use profile::{CompilePhases, Ns};
use serde_json::Value;

/// What begins a record: `V1121 20:49:57.438000 17948 torch/_inductor/compile_fx.py:1961] {…}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordLine<'a> {
    /// Id of the process that wrote it.
    pub(crate) process: u32,
    /// The JSON object.
    pub(crate) json: &'a [u8],
}

impl<'a> RecordLine<'a> {
    /// The record that `line` begins, or `None` where it begins none.
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        let (level, rest) = line.split_first()?;
        if !level.is_ascii_uppercase() || !rest.first()?.is_ascii_digit() {
            return None;
        }
        let end = memmem::find(rest, b"] {")?;
        let (prefix, json) = (&rest[..end], &rest[end + 2..]);
        let mut words = prefix.split(|&it| it == b' ').filter(|it| !it.is_empty());
        let (_day, _time, process) = (words.next()?, words.next()?, words.next()?);
        let process = std::str::from_utf8(process).ok()?.parse().ok()?;
        Some(Self { process, json })
    }
}

/// What a record holds that is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    /// A file name, which later records name by its number.
    Interned {
        /// The name.
        text: String,
        /// Its number.
        number: u64,
    },
    /// The text of a generated file follows.
    OutputCode {
        /// Its path.
        path: String,
        /// What it was compiled for.
        graph: GraphKey,
    },
    /// The stacks of the operations in each kernel follow.
    KernelStacks {
        /// What they were compiled for.
        graph: GraphKey,
    },
    /// A graph of operations follows.
    Graph {
        /// What it was made for.
        graph: GraphKey,
        /// Whether it is that of both passes, before it was cut.
        is_joint: bool,
    },
    /// A function was compiled.
    Compiled(Compiled),
    /// The backward pass of a function was compiled.
    CompiledBackward {
        /// Number of the function.
        frame: u32,
        /// How long it took.
        time: Ns,
        /// What of it each phase took.
        phases: CompilePhases,
    },
    /// Why a graph ends follows.
    GraphBreak,
}

/// A function that was compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Compiled {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) function: String,
    pub(crate) frame: u32,
    pub(crate) time: Ns,
    pub(crate) phases: CompilePhases,
    /// The guard that failed, as logged.
    pub(crate) reason: Option<String>,
}

impl Compiled {
    /// The value of `compilation_metrics`, if it says what was compiled.
    fn parse(metrics: &Value, frame: i64) -> Option<Self> {
        let text = |key: &str| metrics.get(key).and_then(Value::as_str).map(str::to_owned);
        let line = metrics.get("co_firstlineno").and_then(Value::as_u64)?;
        // That is the time of all phases, of which others are parts.
        let time = duration(metrics, "entire_frame_compile_time_s", 1e9).unwrap_or_default();
        Some(Self {
            file: text("co_filename")?,
            line: u32::try_from(line).ok()?,
            function: text("co_name")?,
            frame: u32::try_from(frame).ok()?,
            time,
            phases: phases(metrics, time, "aot_autograd_cumulative_compile_time_us"),
            reason: text("recompile_reason"),
        })
    }
}

/// The value of `key`, in units of so many nanoseconds, if it is a number.
fn duration(metrics: &Value, key: &str, nanos: f64) -> Option<Ns> {
    let value = metrics.get(key).and_then(Value::as_f64)?;
    Some(Ns((value.max(0.0) * nanos).round() as i64))
}

/// What of `time` each phase took. The log has the time of each with all that it calls: Dynamo calls the backend, whose time is that of
/// `backend`, that Inductor, and that the writing of code (PyTorch 2.6 and later). Null is a phase that was not reached; all are zero
/// where the log names none.
fn phases(metrics: &Value, time: Ns, backend: &str) -> CompilePhases {
    const INDUCTOR: &str = "inductor_cumulative_compile_time_us";
    const KERNELS: &str = "inductor_code_gen_cumulative_compile_time_us";
    if metrics.get(INDUCTOR).is_none() {
        return CompilePhases::default();
    }
    let within = |key: &str, whole: Ns| duration(metrics, key, 1e3).unwrap_or_default().min(whole);
    let backend = within(backend, time);
    let inductor = within(INDUCTOR, backend);
    let kernels = within(KERNELS, inductor);
    CompilePhases {
        tracing: time - backend,
        autograd: backend - inductor,
        inductor: inductor - kernels,
        kernels,
    }
}

/// What was compiled: the numbers of the function, of its version, and of the attempt; -1 where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct GraphKey {
    frame: i64,
    version: i64,
}

/// Whether the JSON of a record may be one that is used, so that it is parsed: most are not.
pub(crate) fn may_be_used(json: &[u8]) -> bool {
    json.starts_with(b"{\"str\"")
        || json.starts_with(b"{\"compilation_metrics\"")
        || json.starts_with(b"{\"bwd_compilation_metrics\"")
        || memmem::find(json, GRAPH_BREAK.as_bytes()).is_some()
        || memmem::find(json, b"\"inductor_output_code\"").is_some()
        || memmem::find(json, KERNEL_STACKS.as_bytes()).is_some()
        || is_graph(json)
}

fn is_graph(json: &[u8]) -> bool {
    let name = json.strip_prefix(b"{\"").unwrap_or_default();
    GRAPHS.iter().chain([&JOINT_GRAPH]).any(|it| name.starts_with(it.as_bytes()))
}

/// Records with the graphs that code is generated for.
const GRAPHS: [&str; 3] = ["aot_forward_graph", "aot_backward_graph", "aot_inference_graph"];

/// The record with the graph that those of both passes are cut out of.
const JOINT_GRAPH: &str = "aot_joint_graph";

/// Name of the artifact with the reason of a graph break.
const GRAPH_BREAK: &str = "dynamo_graph_break_reason";

/// Name of the artifact with the stacks.
const KERNEL_STACKS: &str = "inductor_provenance_tracking_kernel_stack_traces";

impl Record {
    /// The record of a JSON object. `name` gives a file name by its number.
    ///
    /// # Errors
    /// If it is no JSON.
    pub(crate) fn parse(
        json: &[u8],
        name: impl Fn(u64) -> Option<String>,
    ) -> Result<Option<Self>, serde_json::Error> {
        let value: Value = serde_json::from_slice(json)?;
        if let Some([text, number]) = value.get("str").and_then(Value::as_array).map(Vec::as_slice)
        {
            let interned = text.as_str().zip(number.as_u64());
            let interned =
                interned.map(|(text, number)| Self::Interned { text: text.to_owned(), number });
            return Ok(interned);
        }
        let number = |key: &str| value.get(key).and_then(Value::as_i64).unwrap_or(-1);
        let graph = GraphKey { frame: number("frame_id"), version: number("frame_compile_id") };
        if let Some(code) = value.get("inductor_output_code") {
            // `filename` was a path from the beginning; `file_path` is there since torch 2.10.
            let path = code.get("file_path").or_else(|| code.get("filename"));
            let path = path.and_then(|it| match it {
                Value::String(path) => Some(path.clone()),
                other => name(other.as_u64()?),
            });
            return Ok(path.map(|path| Self::OutputCode { path, graph }));
        }
        let is_joint = value.get(JOINT_GRAPH).is_some();
        if is_joint || GRAPHS.iter().any(|it| value.get(it).is_some()) {
            return Ok(Some(Self::Graph { graph, is_joint }));
        }
        if let Some(metrics) = value.get("compilation_metrics") {
            return Ok(Compiled::parse(metrics, graph.frame).map(Self::Compiled));
        }
        if let Some(metrics) = value.get("bwd_compilation_metrics") {
            let id = metrics.get("compile_id").and_then(Value::as_str);
            let frame = id.and_then(|it| it.split_once('/')).and_then(|(it, _)| it.parse().ok());
            let time = duration(metrics, "duration_us", 1e3).unwrap_or_default();
            // Nothing is traced: AOTAutograd holds the graph from the forward pass.
            let phases = phases(metrics, time, "duration_us");
            return Ok(frame.map(|frame| Self::CompiledBackward { frame, time, phases }));
        }
        let artifact = value.get("artifact").and_then(|it| it.get("name")).and_then(Value::as_str);
        Ok(match artifact {
            Some(KERNEL_STACKS) => Some(Self::KernelStacks { graph }),
            Some(GRAPH_BREAK) => Some(Self::GraphBreak),
            _ => None,
        })
    }
}
