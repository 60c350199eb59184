//! What `torch.compile` logged of the files that it generated: from which lines of the user each kernel was made.

use crate::{Interner, RecordedText, StrId};

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
    /// The stacks of the operations that were fused into the kernel, in the order of the log, each outermost frame first.
    pub origins: Vec<Vec<OriginFrame>>,
}

/// A file that `torch.compile` generated for one graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedFile {
    /// Path as logged; in a [`crate::Profile`] as the trace spells it.
    pub path: StrId,
    /// The calls of kernels whose origins are known, in the order of lines; their lines do not overlap.
    pub calls: Vec<GeneratedCall>,
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
}
