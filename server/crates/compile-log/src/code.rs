//! Generated code: which of its lines call which kernel.

/// What stands before the names of kernels in the comment above a call.
const HANDLES: &str = "# [Provenance debug handles] ";

/// Lines that call one kernel, or make the memory that it writes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KernelLines {
    pub(crate) first_line: u32,
    pub(crate) last_line: u32,
    /// Names with number, `cpp_fused_add_0:2`, by which the log lists their operations.
    pub(crate) handles: Vec<String>,
}

/// Which lines of a function belong to which of its calls of kernels.
///
/// The functions of a generated file that run are straight lines of code: memory is allocated and sizes are checked, then a
/// kernel is called. What allocates belongs to the kernel that comes next, what stands behind a call up to the next allocation to
/// that call. What comes before the first kernel and is no allocation belongs to none.
#[derive(Debug, Default)]
pub(crate) struct LinesOfCalls {
    /// Whether a function that calls kernels is being read.
    is_in_call: bool,
    /// Lines of allocations since the last kernel.
    waiting: Vec<u32>,
    /// The last call of the function.
    current: Option<usize>,
    /// First and last line, and the call.
    found: Vec<(u32, u32, usize)>,
}

impl LinesOfCalls {
    /// Whether `text`, a line without the spaces around it, runs in a function that calls kernels. A line that begins one, or ends it, does not.
    pub(crate) fn runs(&mut self, text: &str) -> bool {
        if let Some(name) = text.strip_prefix("def ") {
            self.is_in_call = name.starts_with("call(") || name.starts_with("partition_");
            self.current = None;
            self.waiting.clear();
            return false;
        }
        if text.starts_with("return") {
            (self.is_in_call, self.current) = (false, None);
        }
        self.is_in_call && !text.is_empty()
    }

    /// The lines that come next belong to `call`, and so do the allocations before them.
    pub(crate) fn begin(&mut self, call: usize) {
        for line in std::mem::take(&mut self.waiting) {
            self.add(line, call);
        }
        self.current = Some(call);
    }

    /// The next line that runs.
    pub(crate) fn line(&mut self, line: u32, text: &str) {
        if ["#", "del ", "assert_"].iter().any(|it| text.starts_with(it)) {
            // A comment runs nothing; what is released, or checked, may belong to any kernel.
        } else if text.contains("= empty_strided") {
            self.waiting.push(line);
        } else if let Some(call) = self.current.filter(|_| self.waiting.is_empty()) {
            // Behind an allocation for the next kernel, the last one is over.
            self.add(line, call);
        }
    }

    fn add(&mut self, line: u32, call: usize) {
        match self.found.last_mut() {
            Some((_, last, of)) if *of == call && *last + 1 == line => *last = line,
            _ => self.found.push((line, line, call)),
        }
    }

    /// First and last line of each part, and the call that it belongs to, in the order of lines.
    pub(crate) fn finish(self) -> Vec<(u32, u32, usize)> {
        self.found
    }
}

/// Whether a line calls one of the kernels of these names: `extern_kernels.addmm:3` as `extern_kernels.addmm(`, a Triton kernel by its `run`.
fn calls_one(text: &str, handles: &[String]) -> bool {
    let name = |it: &String| it.rsplit_once(':').map_or(it.clone(), |(name, _)| name.to_owned());
    handles.iter().map(name).any(|it| {
        text.match_indices(&it).any(|(at, _)| {
            let rest = &text[at + it.len()..];
            rest.starts_with('(') || rest.starts_with(".run(")
        })
    })
}

/// The operator of a library that a line calls, if it calls one: `buf1 = torch.ops.aten.topk.default(buf0, 2)`.
pub(crate) fn called_operator(text: &str) -> Option<&str> {
    let value = match text.split_once(" = ") {
        Some((variable, value)) if !variable.contains('(') => value,
        _ => text,
    };
    let (head, _) = value.split_once('(')?;
    let mut parts = head.split('.');
    match (parts.next()?, parts.next()?) {
        ("extern_kernels" | "aten", operator) => Some(operator),
        ("torch", "ops") => parts.nth(1),
        _ => None,
    }
}

/// Reads generated code line by line. The kernels are named in comments above their calls.
#[derive(Debug, Default)]
pub(crate) struct CodeReader {
    line: u32,
    /// By call: the kernels that it was named with; none of a call that was not named.
    handles: Vec<Vec<String>>,
    /// Whether the last of them was not called yet.
    is_called_next: bool,
    lines: LinesOfCalls,
    text: String,
}

/// What generated code says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GeneratedCode {
    /// Lines that call kernels, in their order.
    pub(crate) kernels: Vec<KernelLines>,
    pub(crate) text: String,
}

impl CodeReader {
    /// Reads the next line.
    pub(crate) fn line(&mut self, line: &str) {
        self.line += 1;
        self.text.push_str(line);
        self.text.push('\n');
        let text = line.trim();
        if !self.lines.runs(text) {
            return;
        }
        if let Some(handles) = text.strip_prefix(HANDLES) {
            self.handles.push(handles.split(',').map(|it| it.trim().to_owned()).collect());
            self.lines.begin(self.handles.len() - 1);
            self.is_called_next = true;
        } else if self.is_called_next && self.handles.last().is_some_and(|it| calls_one(text, it)) {
            self.is_called_next = false;
        } else if !self.is_called_next && called_operator(text).is_some() {
            // PyTorch 2.9 does not name all calls of libraries.
            self.handles.push(Vec::new());
            self.lines.begin(self.handles.len() - 1);
        }
        self.lines.line(self.line, text);
    }

    /// What was read.
    pub(crate) fn finish(self) -> GeneratedCode {
        let kernel = |(first_line, last_line, call): (u32, u32, usize)| {
            let handles = self.handles.get(call).cloned().unwrap_or_default();
            KernelLines { first_line, last_line, handles }
        };
        let kernels = self.lines.finish().into_iter().map(kernel).collect();
        GeneratedCode { kernels, text: self.text }
    }
}
