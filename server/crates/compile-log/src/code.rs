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

/// Reads generated code line by line.
///
/// The functions of a generated file that run are straight lines of code: memory is allocated and sizes are checked, then a
/// kernel is called, below a comment that names it. What allocates belongs to the kernel that comes next, what stands below
/// a call up to the next allocation to that call. What comes before the first kernel and is no allocation belongs to none.
#[derive(Debug, Default)]
pub(crate) struct CodeReader {
    line: u32,
    /// Whether a function that calls kernels is being read.
    is_in_call: bool,
    /// Lines of allocations since the last kernel.
    waiting: Vec<u32>,
    /// The kernel that was named last.
    current: Option<Vec<String>>,
    found: Vec<KernelLines>,
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
        if let Some(name) = text.strip_prefix("def ") {
            let is_call = name.starts_with("call(") || name.starts_with("partition_");
            (self.is_in_call, self.current) = (is_call, None);
            self.waiting.clear();
            return;
        }
        if !self.is_in_call || text.is_empty() {
            return;
        }
        if let Some(handles) = text.strip_prefix(HANDLES) {
            let handles: Vec<String> = handles.split(',').map(|it| it.trim().to_owned()).collect();
            for line in std::mem::take(&mut self.waiting) {
                self.add(line, &handles);
            }
            self.current = Some(handles);
        } else if text.starts_with("return") {
            (self.is_in_call, self.current) = (false, None);
        } else if ["#", "del ", "assert_"].iter().any(|it| text.starts_with(it)) {
            // A comment runs nothing; what is released, or checked, may belong to any kernel.
        } else if text.contains("= empty_strided") {
            self.waiting.push(self.line);
        } else if let Some(handles) = self.current.clone() {
            // Behind an allocation for the next kernel, the last one is over.
            if self.waiting.is_empty() {
                self.add(self.line, &handles);
            }
        }
    }

    fn add(&mut self, line: u32, handles: &[String]) {
        match self.found.last_mut() {
            Some(last) if last.handles == handles && last.last_line + 1 == line => {
                last.last_line = line;
            }
            _ => {
                let handles = handles.to_vec();
                self.found.push(KernelLines { first_line: line, last_line: line, handles });
            }
        }
    }

    /// What was read.
    pub(crate) fn finish(self) -> GeneratedCode {
        GeneratedCode { kernels: self.found, text: self.text }
    }
}
