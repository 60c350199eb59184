//! The stacks of the operations in each kernel, as the log has them.

use profile::{Interner, OriginFrame};
use rustc_hash::FxHashMap;
use serde_json::Value;

/// By kernel with number: the stacks of its operations, each outermost frame first.
pub(crate) type OriginsByKernel = FxHashMap<String, Vec<Vec<OriginFrame>>>;

/// What the names of kernels begin with that are one operation: calls of libraries, and templates such as that of `flex_attention`.
/// The log lists the stack of that operation first, and then those of what made its inputs (seen with PyTorch 2.11 and 2.15),
/// which the kernel does not compute.
const ONE_OPERATION: [&str; 3] = ["extern_kernels.", "torch.ops.", "triton_tem_"];

/// Reads the payload of a record: `{"cpp_fused_add_0:2": ["  File \"t.py\", line 9, in forward\n    z = y * 2\n", …]}`.
///
/// # Errors
/// If it is no JSON object.
pub(crate) fn read_origins(
    payload: &[u8],
    strings: &mut Interner,
) -> Result<OriginsByKernel, serde_json::Error> {
    let kernels: serde_json::Map<String, Value> = serde_json::from_slice(payload)?;
    let mut origins = OriginsByKernel::default();
    for (kernel, stacks) in kernels {
        let is_one_operation = ONE_OPERATION.iter().any(|it| kernel.starts_with(it));
        let stacks = stacks.as_array().into_iter().flatten().filter_map(Value::as_str);
        let stacks = stacks.take(if is_one_operation { 1 } else { usize::MAX });
        let mut of_kernel: Vec<Vec<OriginFrame>> = Vec::new();
        for stack in stacks {
            let frames = frames(stack, strings);
            if !frames.is_empty() && !of_kernel.contains(&frames) {
                of_kernel.push(frames);
            }
        }
        origins.insert(kernel, of_kernel);
    }
    Ok(origins)
}

/// The frames of a stack as Python prints it; the texts of lines, and the carets below them, are left out.
fn frames(stack: &str, strings: &mut Interner) -> Vec<OriginFrame> {
    let frame = |line: &str| {
        let (file, rest) = line.trim_start().strip_prefix("File \"")?.split_once("\", line ")?;
        let (number, function) = rest.split_once(", in ").unwrap_or((rest, ""));
        let line = number.trim().parse().ok().filter(|&it| it > 0)?;
        let (file, function) = (strings.intern(file), strings.intern(function.trim()));
        Some(OriginFrame { file, line, function })
    };
    stack.lines().filter_map(frame).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_of_one_operation_has_the_stack_of_that_alone() {
        let stack =
            |line: u32| format!("\"  File \\\"t.py\\\", line {line}, in forward\\n    y\\n\"");
        let payload = format!(
            "{{\"extern_kernels.convolution:3\": [{}, {}], \"triton_poi_fused_add_mul_0:4\": [{}, {}]}}",
            stack(26),
            stack(25),
            stack(26),
            stack(25),
        );
        let mut strings = Interner::default();
        let origins = read_origins(payload.as_bytes(), &mut strings).unwrap();
        let lines =
            |kernel: &str| -> Vec<u32> { origins[kernel].iter().map(|it| it[0].line).collect() };
        assert_eq!(lines("extern_kernels.convolution:3"), [26]);
        assert_eq!(lines("triton_poi_fused_add_mul_0:4"), [26, 25]);
    }
}
