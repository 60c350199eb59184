//! The stacks of the operations in each kernel, as the log has them.

use profile::{CompiledLine, Interner, OriginFrame, StrId};
use rustc_hash::FxHashMap;
use serde_json::Value;

/// What the log says of the kernels of a graph.
#[derive(Debug, Default)]
pub(crate) struct KernelOrigins {
    /// By kernel with number: the stacks of its operations, each outermost frame first.
    pub(crate) by_kernel: FxHashMap<String, Vec<Vec<OriginFrame>>>,
    /// By file and number, what the lines in these stacks say.
    texts: FxHashMap<(StrId, u32), StrId>,
}

impl KernelOrigins {
    /// The stacks of the operations in `kernels`.
    pub(crate) fn of(&self, kernels: &[String]) -> impl Iterator<Item = &Vec<OriginFrame>> {
        kernels.iter().filter_map(|it| self.by_kernel.get(it)).flatten()
    }

    /// What the lines say that `stacks` name, each once, by file and number.
    pub(crate) fn lines<'a>(
        &self,
        stacks: impl Iterator<Item = &'a Vec<OriginFrame>>,
    ) -> Vec<CompiledLine> {
        let line = |it: &OriginFrame| {
            let text = *self.texts.get(&(it.file, it.line))?;
            Some(CompiledLine { file: it.file, line: it.line, text })
        };
        let mut lines: Vec<CompiledLine> = stacks.flatten().filter_map(line).collect();
        lines.sort_by_key(|it| (it.file, it.line));
        lines.dedup();
        lines
    }
}

/// Whether a kernel is one operation: a call of a library, a template such as that of `flex_attention`, or a kernel that the user wrote
/// in Triton, whose name is that of its function. The log lists the stack of that operation first, and then those of what made its
/// inputs (seen with PyTorch 2.11 and 2.15), which the kernel does not compute.
fn is_one_operation(kernel: &str) -> bool {
    let is_generated = ["cpp_", "triton_"].iter().any(|it| kernel.starts_with(it));
    !is_generated || kernel.starts_with("triton_tem_")
}

/// Reads the payload of a record: `{"cpp_fused_add_0:2": ["  File \"t.py\", line 9, in forward\n    z = y * 2\n", …]}`.
///
/// # Errors
/// If it is no JSON object.
pub(crate) fn read_origins(
    payload: &[u8],
    strings: &mut Interner,
) -> Result<KernelOrigins, serde_json::Error> {
    let kernels: serde_json::Map<String, Value> = serde_json::from_slice(payload)?;
    let mut origins = KernelOrigins::default();
    for (kernel, stacks) in kernels {
        let stacks = stacks.as_array().into_iter().flatten().filter_map(Value::as_str);
        let stacks = stacks.take(if is_one_operation(&kernel) { 1 } else { usize::MAX });
        let mut of_kernel: Vec<Vec<OriginFrame>> = Vec::new();
        for stack in stacks {
            let frames = frames(stack, strings, &mut origins.texts);
            if !frames.is_empty() && !of_kernel.contains(&frames) {
                of_kernel.push(frames);
            }
        }
        origins.by_kernel.insert(kernel, of_kernel);
    }
    Ok(origins)
}

/// The frames of a stack as Python prints it. The text of the line, which follows each, is added to `texts`; the carets below it are
/// left out.
fn frames(
    stack: &str,
    strings: &mut Interner,
    texts: &mut FxHashMap<(StrId, u32), StrId>,
) -> Vec<OriginFrame> {
    let mut frames: Vec<OriginFrame> = Vec::new();
    let mut is_begin = false;
    for line in stack.lines() {
        if let Some(frame) = frame(line, strings) {
            frames.push(frame);
            is_begin = true;
        } else if let Some(it) = frames.last().filter(|_| std::mem::take(&mut is_begin)) {
            texts.insert((it.file, it.line), strings.intern(line.trim()));
        }
    }
    frames
}

/// The frame of a line `File "t.py", line 9, in forward`.
fn frame(line: &str, strings: &mut Interner) -> Option<OriginFrame> {
    let (file, rest) = line.trim_start().strip_prefix("File \"")?.split_once("\", line ")?;
    let (number, function) = rest.split_once(", in ").unwrap_or((rest, ""));
    let line = number.trim().parse().ok().filter(|&it| it > 0)?;
    let (file, function) = (strings.intern(file), strings.intern(function.trim()));
    Some(OriginFrame { file, line, function })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_of_one_operation_has_the_stack_of_that_alone() {
        let stack =
            |line: u32| format!("\"  File \\\"t.py\\\", line {line}, in forward\\n    y\\n\"");
        let payload = format!(
            "{{\"extern_kernels.convolution:3\": [{first}, {second}], \"triton_poi_fused_add_mul_0:4\": [{first}, {second}], \"scaled_add_0:5\": [{first}, {second}]}}",
            first = stack(26),
            second = stack(25),
        );
        let mut strings = Interner::default();
        let origins = read_origins(payload.as_bytes(), &mut strings).unwrap();
        let lines = |kernel: &str| -> Vec<u32> {
            origins.by_kernel[kernel].iter().map(|it| it[0].line).collect()
        };
        assert_eq!(lines("extern_kernels.convolution:3"), [26]);
        assert_eq!(lines("triton_poi_fused_add_mul_0:4"), [26, 25]);
        assert_eq!(lines("scaled_add_0:5"), [26], "written in Triton");
        let texts = origins.lines(origins.by_kernel.values().flatten());
        let texts: Vec<(u32, &str)> =
            texts.iter().map(|it| (it.line, strings.get(it.text))).collect();
        assert_eq!(texts, [(25, "y"), (26, "y")]);
    }
}
