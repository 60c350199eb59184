//! What `torch.compile` logged: from which lines of the user each kernel of a generated file was made, what compiling took, and why.

use crate::{CompilePhases, Interner, Ns, RecordedText, StrId};

/// A frame of the user's program while an operation of a compiled graph was traced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OriginFrame {
    /// Path of the file, absolute as logged; in a [`crate::Profile`] as the trace spells it, where that names the file.
    pub file: StrId,
    /// The line that was executing, 1-based.
    pub line: u32,
    /// Name of the function.
    pub function: StrId,
}

/// Lines of a generated file that call one kernel, and where its operations came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedCall {
    /// First line, 1-based.
    pub first_line: u32,
    /// Last line.
    pub last_line: u32,
    /// The stacks of the operations that were fused into the kernel, in the order of the log, each outermost frame first. One that
    /// was inferred mostly has the innermost frame alone: graphs name no other.
    pub origins: Vec<Vec<OriginFrame>>,
    /// Where they were inferred from the graph of operations: by origin, the number of a run of operations of the kernel that follow one
    /// another in the graph. Empty where the compiler noted the origins.
    pub runs: Vec<u32>,
    /// Whether all that it computes was computed before, in the forward pass, and is computed again for the backward pass. False where no
    /// graph says so.
    pub is_recomputed: bool,
}

impl GeneratedCall {
    /// Whether the origins were inferred from the graph of operations.
    #[must_use]
    pub fn is_inferred(&self) -> bool {
        !self.runs.is_empty()
    }
}

/// What a line of the user's program said when a graph was compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompiledLine {
    /// Path of the file, as in [`OriginFrame::file`].
    pub file: StrId,
    /// Its number then, 1-based.
    pub line: u32,
    /// Its text, without the spaces around it.
    pub text: StrId,
}

/// A file that `torch.compile` generated for one graph.
///
/// A graph that is taken from a cache keeps the line numbers of the files as they were when it was compiled, whatever was edited
/// since (seen with PyTorch 2.15): the texts of these lines say where they are in the program that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedFile {
    /// Path as logged; in a [`crate::Profile`] as the trace spells it.
    pub path: StrId,
    /// Whether it was made of the graph of a backward pass.
    pub is_backward: bool,
    /// The texts of lines in [`GeneratedCall::origins`], where they are known, each line once.
    pub lines: Vec<CompiledLine>,
    /// The calls of kernels whose origins are known, in the order of lines; their lines do not overlap.
    pub calls: Vec<GeneratedCall>,
}

/// One run of the compiler for a function (`compilation_metrics`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionCompile {
    /// Path of the function's file, absolute as logged; in a [`crate::Profile`] as the trace spells it.
    pub file: StrId,
    /// The first line of its code, 1-based: that of its first decorator, else of its `def`.
    pub line: u32,
    /// Its name. What resumes a function behind a graph break is `torch_dynamo_resume_in_<function>_at_<line>`.
    pub function: StrId,
    /// Number of the function in its process: the first of `Torch-Compiled Region: 2/5`.
    pub frame: u32,
    /// How long it took, all phases together, the backward pass included where that was compiled.
    pub time: Ns,
    /// What of it each phase took.
    pub phases: CompilePhases,
    /// The guard that failed, so that it was compiled again; [`StrId::NONE`] of a first time.
    pub reason: StrId,
}

/// Why a graph ends (`dynamo_graph_break_reason`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GraphBreak {
    /// Path of the file of the line that cannot be compiled, as of [`FunctionCompile::file`].
    pub file: StrId,
    /// The line, 1-based.
    pub line: u32,
    /// The reason, in a line of text.
    pub reason: StrId,
}

/// The log that PyTorch writes while `torch.compile` works (`TORCH_TRACE`), as far as it is used.
#[derive(Debug, Default)]
pub struct CompileLog {
    /// The text of every path and name.
    pub strings: Interner,
    /// Ids of the processes that wrote records, ascending.
    pub processes: Vec<u32>,
    /// The generated files, in the order of the log.
    pub files: Vec<GeneratedFile>,
    /// Their texts, in the same order.
    pub texts: Vec<RecordedText>,
    /// What was compiled, in the order of the log.
    pub compiles: Vec<FunctionCompile>,
    /// Why graphs end, in the order of the log, each line with a reason once.
    pub breaks: Vec<GraphBreak>,
}
