//! The stacks of the operations in each kernel, as the log has them.

use profile::{Interner, OriginFrame};
use rustc_hash::FxHashMap;
use serde_json::Value;

/// By kernel with number: the stacks of its operations, each outermost frame first.
pub(crate) type OriginsByKernel = FxHashMap<String, Vec<Vec<OriginFrame>>>;

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
        let stacks = stacks.as_array().into_iter().flatten().filter_map(Value::as_str);
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
